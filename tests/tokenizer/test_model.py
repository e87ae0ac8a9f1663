import json
import os

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenizer import counts
from tokenizer.model import Tokenizer, TokenizerError
from tokenizer.patterns import pattern
from tokenizer.trainer import train

SPECIALS = ("<|e|>", "<|e|>>", "<|mail|>")
SPAN = pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64()), ("token", pa.string())]))
TEXTS = ["the cat sat on the mat, the cat ran", "12 été été 日本 日本語 日本", "<|e|> is text", "\n\n  \n\n  x"]


def trained(name: str = "o200k", specials: tuple[str, ...] = SPECIALS, texts: list[str] = TEXTS) -> Tokenizer:
    pieces = counts.count_pieces(pa.array(texts), None, pattern(name))
    return Tokenizer(pattern(name), train(pieces, 330 + len(specials), specials).merges, specials)


TOKENIZER = trained()
some_text = st.text(st.sampled_from("the cat<|>ema il日本é12\n") | st.characters(codec="utf-8"), max_size=40)


def test_hello_without_merges_is_its_bytes():
    plain = Tokenizer(pattern(), [], ())
    assert plain.encode("hello") == [104, 101, 108, 108, 111]
    assert plain.vocab_size == len(plain) == 256


@settings(max_examples=300, deadline=None)
@given(some_text)
def test_decoding_gives_back_the_text(text):
    for allowed in (frozenset(), "all"):
        assert TOKENIZER.decode(TOKENIZER.encode(text, allowed), errors="strict") == text


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=60)
    | st.lists(st.sampled_from([b"\xff", b"\xe6\x97", b"the", b" cat", "日本".encode()])).map(b"".join)
)
def test_decoding_gives_back_any_bytes(data):
    assert TOKENIZER.decode_bytes(TOKENIZER.encode_bytes(data)) == data


@settings(max_examples=200, deadline=None)
@given(some_text)
def test_valid_bytes_are_encoded_as_their_text(text):
    assert TOKENIZER.encode_bytes(text.encode()) == TOKENIZER.encode(text)


def test_text_around_invalid_bytes_is_cut_by_the_pattern():
    assert TOKENIZER.encode_bytes(b"the cat\xff\xfethe") == [
        *TOKENIZER.encode("the cat"),
        255,
        254,
        *TOKENIZER.encode("the"),
    ]


def test_special_text_is_ordinary_unless_allowed():
    text = "a<|e|>b<|mail|>"
    ids = TOKENIZER.special_tokens
    assert not set(TOKENIZER.encode(text)) & set(ids.values())
    assert TOKENIZER.encode(text, {"<|mail|>"})[-1] == ids["<|mail|>"]
    assert ids["<|e|>"] not in TOKENIZER.encode(text, {"<|mail|>"})
    assert TOKENIZER.encode(text, "all") == [97, ids["<|e|>"], 98, ids["<|mail|>"]]
    assert TOKENIZER.encode("<|e|>", "<|e|>") == [ids["<|e|>"]]


def test_overlapping_special_tokens_match_the_longest_first():
    ids = TOKENIZER.special_tokens
    assert TOKENIZER.encode("<|e|>><|e|>", "all") == [ids["<|e|>>"], ids["<|e|>"]]
    assert TOKENIZER.encode("<|e|>>", {"<|e|>"}) == [ids["<|e|>"], ord(">")]


def test_specials_come_last_in_declared_order():
    first = TOKENIZER.first_special
    assert TOKENIZER.special_tokens == {"<|e|>": first, "<|e|>>": first + 1, "<|mail|>": first + 2}
    assert TOKENIZER.vocab_size == first + 3 == 256 + len(TOKENIZER.merges) + 3
    assert TOKENIZER.token_bytes(first + 2) == b"<|mail|>"


def test_an_allowed_token_that_is_not_declared_is_refused():
    with pytest.raises(ValueError, match=r"allowed_special: '<x>' is no special token; declared: \['<\|e\|>'"):
        TOKENIZER.encode("a", {"<x>"})


def test_trusted_spans_become_ids_and_look_alikes_stay_text():
    text = "é<|mail|> and <|mail|>"
    ids = TOKENIZER.encode_with_spans(text, [(1, 9, "<|mail|>")])
    assert ids.count(TOKENIZER.special_tokens["<|mail|>"]) == 1
    assert ids == [*TOKENIZER.encode("é"), TOKENIZER.special_tokens["<|mail|>"], *TOKENIZER.encode(" and <|mail|>")]
    assert TOKENIZER.decode(ids) == text
    with pytest.raises(ValueError, match=r"text: span 0\.\.8 does not cover '<\|mail\|>'"):
        TOKENIZER.encode_with_spans(text, [(0, 8, "<|mail|>")])


@settings(max_examples=100, deadline=None)
@given(st.lists(some_text, max_size=6))
def test_a_batch_equals_text_by_text(texts):
    for allowed in (frozenset(), {"<|e|>"}, "all"):
        for column in (pa.array(texts, pa.string()), pa.array(["x", *texts], pa.large_string()).slice(1)):
            batch = TOKENIZER.encode_batch(column, allowed_special=allowed)
            assert batch.type == pa.list_(pa.int32())
            assert batch.to_pylist() == [TOKENIZER.encode(text, allowed) for text in texts]


def test_a_batch_with_spans_equals_text_by_text():
    texts = ["a<|e|>", "<|e|>", "", None, "<|mail|><|e|>"]
    spans = [[(1, 6, "<|e|>")], [], [], [], [(0, 8, "<|mail|>"), (8, 13, "<|e|>")]]
    column = pa.array([[dict(zip(("start", "end", "token"), s, strict=True)) for s in row] for row in spans], SPAN)
    batch = TOKENIZER.encode_batch(pa.array(texts), column)
    assert batch.to_pylist() == [TOKENIZER.encode_with_spans(t or "", s) for t, s in zip(texts, spans, strict=True)]
    with pytest.raises(ValueError, match="spans or allowed_special, not both"):
        TOKENIZER.encode_batch(pa.array(texts), column, allowed_special="all")


def test_blocks_do_not_change_a_batch(monkeypatch):
    texts = [text * k for text in TEXTS for k in range(5)]
    whole = TOKENIZER.encode_batch(pa.array(texts), allowed_special="all")
    from tokenizer import splitting

    monkeypatch.setattr(splitting.blocks, "__defaults__", (30,))
    assert TOKENIZER.encode_batch(pa.array(texts), allowed_special="all").equals(whole)


def test_a_batch_with_an_id_for_every_byte_equals_text_by_text(monkeypatch):
    from tokenizer import splitting

    monkeypatch.setattr(splitting.blocks, "__defaults__", (30,))
    plain = Tokenizer(pattern(), [], ())
    texts = ["x" * 100, "日本" * 50, "", "abc def"] * 5
    assert plain.encode_batch(pa.array(texts)).to_pylist() == [list(text.encode()) for text in texts]


def test_what_no_longer_fits_among_the_kept_pieces_is_encoded_alike(monkeypatch):
    from kernels import encoding

    texts = [f"the cat {k} sat on the mats {k * k} {'日本語' * (k % 9)}" for k in range(1500)]
    whole = trained().encode_batch(pa.array(texts))
    monkeypatch.setattr(encoding, "MOST", 1 << 10)
    few = trained()
    assert few.encode_batch(pa.array(texts)).equals(whole)
    assert few._encoders[0]._filled[0] == 512
    assert few.encode_batch(pa.array(texts)).equals(whole)


def test_pieces_are_encoded_without_splitting():
    ids, offsets = TOKENIZER.encode_pieces(pa.array([b"the", b"", b"the cat"], pa.large_binary()))
    assert ids[: offsets[1]].tolist() == TOKENIZER.encode("the") and offsets[1] == offsets[2]
    assert TOKENIZER.decode_bytes(ids[offsets[2] :].tolist()) == b"the cat"


def test_every_id_decodes_and_encodes_to_itself():
    for id_ in range(TOKENIZER.first_special):
        ids, _ = TOKENIZER.encode_pieces(pa.array([TOKENIZER.token_bytes(id_)], pa.large_binary()))
        assert ids.tolist() == [id_]


def test_decoding_replaces_what_is_no_utf8_and_is_exact_as_bytes():
    assert TOKENIZER.decode([255, 97]) == "\ufffda"
    assert TOKENIZER.decode_bytes([255, 97]) == b"\xffa"
    with pytest.raises(UnicodeDecodeError):
        TOKENIZER.decode([255], errors="strict")


@pytest.mark.parametrize("id_", [-1, 10**6])
def test_an_id_out_of_range_is_refused(id_):
    with pytest.raises(
        ValueError, match=rf"id {id_} is not in the vocabulary; ids are 0\.\.{TOKENIZER.vocab_size - 1}"
    ):
        TOKENIZER.decode([id_])


def test_a_lone_surrogate_is_refused_with_its_place():
    with pytest.raises(ValueError, match=r"the text holds a lone surrogate at 1, .*use encode_bytes"):
        TOKENIZER.encode("a\ud800")


def test_saving_and_loading_keeps_everything_and_the_bytes_of_the_file(tmp_path):
    path = TOKENIZER.save(tmp_path / "one")
    again = Tokenizer.load(tmp_path / "one")
    assert again.vocabulary_hash == TOKENIZER.vocabulary_hash and again.pattern == TOKENIZER.pattern
    assert again.encode("the cat <|e|>", "all") == TOKENIZER.encode("the cat <|e|>", "all")
    assert again.save(tmp_path / "two").read_bytes() == path.read_bytes()


def test_a_pattern_of_the_users_own_is_saved_with_it(tmp_path):
    own = trained(r"\w+|\W")
    own.save(tmp_path)
    assert Tokenizer.load(tmp_path).pattern == own.pattern
    assert Tokenizer.load(tmp_path).pattern.name == "custom"


def damage(folder, **changes):
    path = TOKENIZER.save(folder)
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes), "utf-8")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(TokenizerError, match=r"model\.json: no such file; give the folder"):
        Tokenizer.load(tmp_path)


def test_a_file_that_is_not_json_is_named(tmp_path):
    (tmp_path / "model.json").write_text("{", "utf-8")
    with pytest.raises(TokenizerError, match=r"model\.json: not valid JSON"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "not a curate-tokenizer file of version 1"),
        ({"version": 2}, "not a curate-tokenizer file of version 1"),
        ({"merges": ["97 97"]}, "the vocabulary does not match its hash"),
        ({"merges": ["97"]}, "damaged"),
        ({"merges": ["97 300"]}, r"damaged \(merge 0 \(97, 300\) does not build on earlier ids\)"),
        ({"merges": ["97 98", "97 98"]}, r"damaged \(two merges make the same bytes b'ab'\)"),
        ({"specials": ["a", "a"]}, "damaged .*declared twice"),
        ({"pattern": {}}, "damaged"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, changes, message):
    damage(tmp_path, **changes)
    with pytest.raises(TokenizerError, match=message):
        Tokenizer.load(tmp_path)


def test_another_unicode_version_is_warned_of(tmp_path):
    stored = json.loads(TOKENIZER.save(tmp_path).read_text("utf-8"))["pattern"]
    damage(tmp_path, pattern=stored | {"unicode": "1.0.0"})
    with pytest.warns(UserWarning, match=r"made with Unicode 1\.0\.0, this installation has"):
        Tokenizer.load(tmp_path)


def test_the_vocabulary_hash_covers_merges_and_specials():
    hashes = {
        TOKENIZER.vocabulary_hash,
        Tokenizer(TOKENIZER.pattern, TOKENIZER.merges[:-1], SPECIALS).vocabulary_hash,
        Tokenizer(TOKENIZER.pattern, TOKENIZER.merges, SPECIALS[:-1]).vocabulary_hash,
        Tokenizer(TOKENIZER.pattern, TOKENIZER.merges, SPECIALS[::-1]).vocabulary_hash,
    }
    assert len(hashes) == 4


def test_a_megabyte_of_random_bytes_round_trips():
    data = os.urandom(1_000_000)
    assert TOKENIZER.decode_bytes(TOKENIZER.encode_bytes(data)) == data


def test_a_stream_gives_characters_when_they_are_complete():
    ids = [*"日é".encode(), 255, *b"x", 0xE6]
    parts = list(TOKENIZER.decode_stream(ids))
    assert parts == ["日", "é", "\ufffd", "x", "\ufffd"]
    assert "".join(parts) == TOKENIZER.decode(ids)


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_a_normalization_acts_between_special_tokens_and_everywhere_alike(form, tmp_path):
    import unicodedata

    ours = Tokenizer(pattern(), TOKENIZER.merges, SPECIALS, form)
    text = "e\u0301t\u00e9 ﬁ<|e|>\u0301 日"
    ids = ours.encode(text, "all")
    cut = [unicodedata.normalize(form, part) for part in text.split("<|e|>")]
    assert ours.decode(ids) == "<|e|>".join(cut)
    assert ours.encode_batch(pa.array([text]), allowed_special="all").to_pylist() == [ids]
    assert ours.encode_with_spans(text, [(6, 11, "<|e|>")]) == ids
    assert ours.encode_bytes(text.encode()) == ours.encode(text)
    assert ours.decode_bytes(ours.encode_bytes(b"e\xcc\x81\xff")) == b"\xc3\xa9\xff"
    ours.save(tmp_path)
    assert Tokenizer.load(tmp_path).encode(text, "all") == ids


def test_an_unknown_normalization_is_refused():
    with pytest.raises(ValueError, match="normalization: 'NFD' is unknown; use one of none, NFC, NFKC"):
        Tokenizer(pattern(), [], (), "NFD")


def test_padding_is_explicit_and_its_ids_are_never_produced(tmp_path):
    padded = Tokenizer(pattern(), TOKENIZER.merges, SPECIALS, pad_to_multiple=64)
    real = padded.vocab_size
    contract = json.loads(padded.save(tmp_path).read_text("utf-8"))
    assert (contract["n_real"], contract["n_padded"]) == (real, -(-real // 64) * 64)
    assert contract["reserved"] == {f"<|reserved_{k}|>": k for k in range(real, padded.n_padded)}
    assert padded.encode(f"<|reserved_{real}|>") == TOKENIZER.encode(f"<|reserved_{real}|>")
    assert Tokenizer.load(tmp_path).n_padded == padded.n_padded
    with pytest.raises(ValueError, match=f"id {real} is reserved padding; it stands for no bytes"):
        padded.decode([real])
    with pytest.raises(ValueError, match="pad_to_multiple: 0 is too small"):
        Tokenizer(pattern(), [], (), pad_to_multiple=0)
    with pytest.raises(ValueError, match="pad_to_multiple: 65537 is too large; use 65536 or less"):
        Tokenizer(pattern(), [], (), pad_to_multiple=65537)


def test_threads_share_a_tokenizer():
    from concurrent.futures import ThreadPoolExecutor

    column = pa.array([text * 50 for text in TEXTS] * 20)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: TOKENIZER.encode_batch(column), range(8)))
    assert all(batch.equals(found[0]) for batch in found)


def test_a_pickled_tokenizer_encodes_alike():
    import pickle

    again = pickle.loads(pickle.dumps(TOKENIZER))
    assert again.encode("the cat été") == TOKENIZER.encode("the cat été")
