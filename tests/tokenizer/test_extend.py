import base64
import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenizer import conformance, counts, export, reference, train_files, trainer
from tokenizer.extend import Rules, extend, extend_files, tie_rule_of
from tokenizer.model import Tokenizer, TokenizerError
from tokenizer.patterns import pattern
from tokenizer.verify import verify

TEXTS = ["the cat sat on the mat; the cat's 12345", "été日本 日本語 ABCdef\r\n\n  x", "<|e|> is text"]
MORE = ["das Wetter ist heute schön, das Wetter war gestern schön", "日本語の日本語の本", "the cat <|new|> the cat"]
PIECES = st.dictionaries(st.text("abc ", min_size=1, max_size=12).map(str.encode), st.integers(1, 5), max_size=8)


def table(pieces: dict[bytes, int]) -> pa.Table:
    return pa.table({"piece": pa.array(pieces, pa.large_binary()), "count": pa.array(pieces.values(), pa.int64())})


def trained(texts=TEXTS, size=300, specials=("<|e|>",), name="o200k") -> Tokenizer:
    pieces = counts.count_plain_pieces(pa.array(texts), pattern(name), specials)
    return Tokenizer(pattern(name), trainer.train(pieces, size, specials).merges, specials)


def continued(old: Tokenizer, size: int, specials=()) -> Tokenizer:
    pieces = counts.count_plain_pieces(pa.array(MORE), old.pattern, [*old.specials, *specials])
    return extend(old, pieces, size, specials)[0]


@settings(max_examples=150, deadline=None)
@given(PIECES, st.sampled_from(trainer.TIE_RULES), st.integers(0, 12), st.integers(0, 12), st.sampled_from([1, 2]))
def test_more_merges_from_the_same_counts_are_those_of_one_training(pieces, rule, first, more, least):
    begun = reference.train(pieces, first, rule, least)
    whole = reference.train(pieces, len(begun) + more, rule, least)
    given_ids = np.array([pair[:2] for pair in begun], np.int64).reshape(-1, 2)
    found = trainer.train(table(pieces), 256 + len(begun) + more, (), rule, least, given=given_ids)
    assert [tuple(row) for row in found.merges.tolist()] == whole


@settings(max_examples=150, deadline=None)
@given(PIECES, PIECES, st.sampled_from(trainer.TIE_RULES), st.integers(0, 12), st.sampled_from([None, 3]))
def test_merges_from_other_counts_follow_the_given_ones_as_in_the_reference(pieces, others, rule, first, limit):
    begun = [pair[:2] for pair in reference.train(pieces, first, rule)]
    wanted = reference.train(others, 10, rule, 1, limit, begun)
    given_ids = np.array(begun, np.int64).reshape(-1, 2)
    found = trainer.train(table(others), 256 + len(begun) + 10, (), rule, 1, limit, given=given_ids)
    assert [tuple(row) for row in found.merges[len(begun) :].tolist()] == wanted
    assert [tuple(row[:2]) for row in found.merges[: len(begun)].tolist()] == begun


@settings(max_examples=60, deadline=None)
@given(PIECES, PIECES, st.text("abc ", max_size=40))
def test_new_ids_are_the_old_ones_with_the_new_merges_applied(pieces, others, text):
    old = Tokenizer(pattern("bytes"), trainer.train(table(pieces), 263, ["<|e|>"]).merges, ["<|e|>"])
    if not others:
        return
    new, _ = extend(old, table(others), old.vocab_size + 6, rules=Rules())
    ids = old.encode(text)
    for rank in range(len(old.merges), len(new.merges)):
        ids = reference.merge(ids, tuple(new.merges[rank].tolist()), new.ordinary_ids[256 + rank])
    assert new.encode(text) == ids and new.decode(ids) == text


def test_old_ids_keep_their_bytes_and_old_special_tokens_their_ids():
    old = trained()
    new = continued(old, 330, ["<|new|>"])
    assert (old.vocab_size, new.vocab_size, new.extended_from) == (300, 330, old.vocabulary_hash)
    assert [new.token_bytes(i) for i in range(300)] == [old.token_bytes(i) for i in range(300)]
    assert new.special_tokens == {"<|e|>": 299, "<|new|>": 329} and not new.in_order
    assert new.merges[: len(old.merges)].tolist() == old.merges.tolist()
    assert new.ordinary_ids == [*range(299), *range(300, 329)]
    text = "das Wetter <|e|> schön<|new|>"
    ids = new.encode(text, "all")
    assert ids.count(299) == 1 and ids[-1] == 329 and new.decode(ids) == text
    assert new.encode_batch(pa.array([text]), allowed_special="all").to_pylist() == [ids]
    assert len(new.encode(text)) < len(old.encode(text)) and 299 not in new.encode(text)


def test_special_tokens_alone_change_no_encoding():
    old = trained()
    new, training = extend(old, new_specials=["<|new|>"])
    assert new.in_order and new.special_tokens == {"<|e|>": 299, "<|new|>": 300}
    assert len(training.merges) == len(old.merges) and training.shortfall is None
    for text in [*TEXTS, *MORE]:
        assert new.encode(text) == old.encode(text)


def test_a_tokenizer_can_be_extended_again_and_saved(tmp_path):
    once = continued(trained(), 320, ["<|new|>"])
    twice, _ = extend(once, counts.count_plain_pieces(pa.array(["zzz zzz zzz"]), once.pattern, once.specials), 322)
    assert twice.special_tokens == {"<|e|>": 299, "<|new|>": 319}
    twice.save(tmp_path)
    loaded = Tokenizer.load(tmp_path)
    assert loaded.vocabulary_hash == twice.vocabulary_hash and loaded.extended_from == once.vocabulary_hash
    assert loaded.encode("zzz <|new|>", "all") == twice.encode("zzz <|new|>", "all")


def test_padding_stays_and_new_tokens_take_the_reserved_ids():
    plain = trained()
    old = Tokenizer(plain.pattern, plain.merges, plain.specials, pad_to_multiple=64)
    new = continued(old, 310)
    assert (old.n_padded, new.n_padded, new.vocab_size) == (320, 320, 310)


@pytest.mark.parametrize(
    ("size", "specials", "message"),
    [
        (300, (), "nothing to add: the tokenizer has 300 ids"),
        (299, (), "vocab_size: 299 is too small; the tokenizer has 300 ids and 0 special tokens join them"),
        (301, ("<|a|>", "<|b|>"), "vocab_size: 301 is too small; .* 2 special tokens join them: give more than 302"),
        (None, ("<|e|>",), "'<|e|>' is declared twice"),
    ],
)
def test_what_cannot_be_added_is_refused(size, specials, message):
    with pytest.raises(ValueError, match=message.replace("|", r"\|")):
        extend(trained(), None, size, specials)


def test_a_text_without_further_pairs_is_a_shortfall():
    _, training = extend(trained(), table({b"q": 5}), 310)
    assert training.shortfall == "asked 310, reached 300: no further pair occurs often enough to be merged"


@pytest.fixture
def fewer_conformance_texts(monkeypatch):
    every = list(conformance.conformance_texts(["<|e|>", "<|new|>"]))
    monkeypatch.setattr(export, "conformance_texts", lambda specials: every[:25] + every[-8:])


def test_exports_with_special_tokens_between_merges_encode_alike_in_their_libraries(tmp_path):
    import tiktoken
    import tokenizers

    new = continued(trained(), 330, ["<|new|>"])
    done = export.write_exports(new, tmp_path, "x", [*TEXTS, *MORE])
    assert len(done.paths) == 6 and not done.refused
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    ranks = dict(line.split() for line in (tmp_path / "x.tiktoken").read_text().splitlines())
    encoding = tiktoken.Encoding(
        "x",
        pat_str=new.pattern.regex,
        mergeable_ranks={base64.b64decode(token): int(rank) for token, rank in ranks.items()},
        special_tokens=json.loads((tmp_path / "special_tokens.json").read_text()),
        explicit_n_vocab=330,
    )
    for text in [*TEXTS, *MORE, "a <|e|> b<|new|>"]:
        ids = new.encode(text, "all")
        assert theirs.encode(text).ids == encoding.encode(text, allowed_special="all") == ids
        assert theirs.decode(ids, skip_special_tokens=False) == encoding.decode(ids) == text
    assert theirs.get_vocab_size() == encoding.n_vocab == 330 and theirs.token_to_id("<|e|>") == 299


def test_transformers_loads_an_extended_folder_and_encodes_alike(fewer_conformance_texts, tmp_path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed (extra `bench`)")
    new = continued(trained(), 330, ["<|new|>"])
    export.write_exports(new, tmp_path, "x")
    theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    assert len(theirs) == 330
    for text in [*TEXTS, *MORE, "a <|e|> b<|new|>"]:
        assert theirs.encode(text, add_special_tokens=False) == new.encode(text, "all")


@pytest.fixture
def folder(tmp_path, fewer_conformance_texts):
    (tmp_path / "a.txt").write_text("\n".join(TEXTS) * 2)
    (tmp_path / "b.txt").write_text("\n".join(MORE) * 2)
    train_files.train_files([tmp_path / "a.txt"], tmp_path / "t", vocab_size=290, tie_rule="cs336")
    return tmp_path


def test_files_give_the_folder_of_one_training_where_the_text_is_the_same(folder):
    report = extend_files(folder / "t", folder / "more", paths=[folder / "a.txt"], vocab_size=320, min_frequency=1)
    train_files.train_files([folder / "a.txt"], folder / "whole", vocab_size=320, tie_rule="cs336")
    assert report["vocabulary_hash"] == Tokenizer.load(folder / "whole").vocabulary_hash
    assert report["extension"]["tie_rule"] == "cs336"


def test_the_manifest_names_the_old_tokenizer_and_tokens_their_files(folder):
    old = Tokenizer.load(folder / "t")
    report = extend_files(
        folder / "t",
        folder / "more",
        paths=[folder / "b.txt", folder / "a.txt"],
        new_specials=["<|n|>"],
        vocab_size=310,
    )
    manifest = json.loads((folder / "more" / "manifest.json").read_text("utf-8"))
    origin = {"vocabulary_hash": old.vocabulary_hash, "vocab_size": 290, "merges": 34}
    assert manifest["extension"]["from"] == origin and manifest["extended_from"] == old.vocabulary_hash
    assert json.loads((folder / "more" / "model.json").read_text("utf-8"))["extended_from"] == old.vocabulary_hash
    assert [entry["name"] for entry in manifest["extension"]["inputs"]] == ["a.txt", "b.txt"]
    assert (report["extension"]["new_merges"], report["extension"]["new_special_tokens"]) == (19, ["<|n|>"])
    rows = pq.read_table(folder / "more" / "tokens.parquet").to_pylist()
    assert rows[:290] == pq.read_table(folder / "t" / "tokens.parquet").to_pylist()
    assert all(dict(row["sources"]).keys() <= {"a.txt", "b.txt"} and row["count"] >= 2 for row in rows[290:309])
    met = [row for row in rows[290:309] if row["sources"]]  # the others are parts of longer tokens alone
    assert len(met) > 3 and all(row["documents_min"] >= 1 for row in met)
    assert (rows[309]["kind"], rows[309]["text"]) == ("special", "<|n|>")
    assert verify(folder / "more")["problems"] == []


def test_the_order_of_files_and_the_threads_do_not_change_a_byte(folder):
    for out, paths, threads in (("one", ["a.txt", "b.txt"], 1), ("two", ["b.txt", "a.txt"], 3)):
        extend_files(folder / "t", folder / out, paths=[folder / p for p in paths], vocab_size=310, threads=threads)
    for path in (folder / "one").iterdir():
        assert path.read_bytes() == (folder / "two" / path.name).read_bytes()


def test_a_folder_without_tokens_parquet_gives_old_rows_without_origin(folder):
    (folder / "t" / "tokens.parquet").unlink()
    extend_files(folder / "t", folder / "more", paths=[folder / "b.txt"], vocab_size=300)
    rows = pq.read_table(folder / "more" / "tokens.parquet").to_pylist()
    assert {(row["count"], row["documents_min"], len(row["sources"])) for row in rows[:290]} == {(None, None, 0)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"vocab_size": 300}, "new merges need both files to learn from and a vocab_size"),
        ({"new_specials": ["<|n|>"], "paths": ["a.txt"]}, "new merges need both files to learn from and a vocab_size"),
        ({"paths": ["a.txt"], "vocab_size": 300, "tie_rule": "x"}, "tie_rule: 'x' is unknown"),
        ({}, "nothing to add"),
    ],
)
def test_unusable_settings_are_refused_before_any_file_is_read(folder, settings, message):
    with pytest.raises(ValueError, match=message):
        extend_files(folder / "t", folder / "more", **settings)


def test_a_damaged_folder_or_manifest_is_refused(folder):
    shutil.copytree(folder / "t", folder / "u")
    (folder / "u" / "manifest.json").write_text("{")
    with pytest.raises(ValueError, match=r"manifest.json: not valid JSON .* give the tie rule"):
        tie_rule_of(folder / "u")
    (folder / "u" / "manifest.json").unlink()
    assert tie_rule_of(folder / "u") == "smallest_ids"
    with pytest.raises(TokenizerError, match="no such file"):
        extend_files(folder, folder / "more", new_specials=["<|n|>"])


def test_special_ids_that_do_not_fit_are_refused():
    plain = trained()
    for ids in ([5], [300], [299, 299]):
        with pytest.raises(ValueError, match="special_ids: give 1 different ids from 256 to 299"):
            Tokenizer(plain.pattern, plain.merges, plain.specials, special_ids=ids)
