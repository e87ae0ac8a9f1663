import dataclasses
import json
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenizer import counts, export, stretches
from tokenizer.compare import Batch, Comparison, compare, compare_models
from tokenizer.model import Tokenizer
from tokenizer.patterns import NAMES, pattern
from tokenizer.peers import Peer, load_peer, merges_of_ranks
from tokenizer.trainer import train

TEXTS = [
    "the cat sat on the mat; the cat's 12345",
    "",
    "été日本 日本語 ABCdef\r\n\n  x",
    "<|e|> is text",
    "the the hat",
]


def trained(name="o200k", size=300, specials=("<|e|>",), form="none", texts=TEXTS) -> Tokenizer:
    pieces = counts.count_pieces(pa.array(texts), None, pattern(name))
    return Tokenizer(pattern(name), train(pieces, size, specials).merges, specials, form)


def peer(tmp_path, ours: Tokenizer, name: str) -> Peer:
    ours.save(tmp_path / name)
    return load_peer(tmp_path / name)


def batch(texts=TEXTS, **groups) -> Batch:
    return Batch(pa.array(texts, pa.large_string()), [f"text {k}" for k in range(len(texts))], groups)


# --- what they are ------------------------------------------------------------------------------------------------


def test_tokens_specials_and_the_first_other_merge_are_told(tmp_path):
    a = peer(tmp_path, trained(size=300), "a")
    b = peer(tmp_path, trained(size=290, specials=("<|f|>", "<|e|>")), "b")
    found = compare_models(a, b)
    assert found["same"] == {
        "pattern": True, "normalization": True, "special_tokens": False, "vocabulary_hash": False,
    }  # fmt: skip
    tokens = found["tokens"]
    assert (tokens["shared"], tokens["shared_with_the_same_id"], tokens["only_a"], tokens["only_b"]) == (
        288,
        288,
        11,
        0,
    )
    assert [t["id"] for t in tokens["first_only_a"]] == list(range(288, 299)) and tokens["first_only_b"] == []
    assert found["special_tokens"] == {
        "shared": 1, "other_id": {"<|e|>": [299, 289]}, "only_a": [], "only_b": ["<|f|>"],
    }  # fmt: skip
    assert found["first_other_merge"]["rank"] == 32 and found["first_other_merge"]["b"] is None
    assert found["a"]["vocabulary_hash"] == trained().vocabulary_hash and found["a"]["pattern"] == "o200k"


def test_a_tokenizer_is_itself(tmp_path):
    a = peer(tmp_path, trained(), "a")
    found = compare(a, a, [batch()])
    assert all(found["same"].values()) and found["first_other_merge"] is None
    assert (found["groups"][0]["same_ids"], found["groups"][0]["same_cuts"]) == (1.0, 1.0)
    assert found["pieces"]["a_needs_more"] == found["pieces"]["b_needs_more"] == []


def written(folder, name):
    ours = trained(name)
    ours.save(folder)
    files = export.hugging_face_files(ours) | export.tiktoken_files(ours, "x") | export.gpt2_files(ours)
    for file, content in files.items():
        (folder / file).write_text(content, "utf-8", newline="\n")
    return folder


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    return written(tmp_path_factory.mktemp("exported"), "cl100k")


@pytest.mark.parametrize("name", NAMES)
def test_our_exports_in_their_libraries_are_the_same_tokenizer(tmp_path, name):
    written(tmp_path, name)
    ours = load_peer(tmp_path)
    others = [load_peer(tmp_path / "tokenizer.json")]
    if len(pattern(name).steps) == 1:
        others.append(load_peer(tmp_path / "x.tiktoken", name))
    for theirs in others:
        found = compare(ours, theirs, [batch()])
        assert all(found["same"].values()), found["same"]
        assert found["a"]["pattern"] == found["b"]["pattern"] == ("cl100k" if name == "llama3" else name)
        assert found["tokens"]["only_a"] == found["tokens"]["only_b"] == 0 and found["first_other_merge"] is None
        assert found["groups"][0]["same_ids"] == 1.0
        assert found["round_trip"]["a"]["failures"] == found["round_trip"]["b"]["failures"] == 0


def test_a_training_of_the_library_itself_has_our_merges_under_other_ids(tmp_path):
    import tokenizers

    theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    teacher = tokenizers.trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    theirs.train_from_iterator(TEXTS, teacher)
    theirs.save(str(tmp_path / "theirs.json"))
    pieces = counts.count_pieces(pa.array(TEXTS), None, pattern("gpt2"))
    ours = Tokenizer(pattern("gpt2"), train(pieces, 300, (), "huggingface", 1).merges, ())
    found = compare(peer(tmp_path, ours, "ours"), load_peer(tmp_path / "theirs.json"), [batch()])
    assert found["same"]["pattern"] and not found["same"]["vocabulary_hash"]
    assert found["first_other_merge"] is None and found["tokens"]["shared"] == 300
    assert 0 < found["tokens"]["shared_with_the_same_id"] < 300
    assert found["groups"][0]["same_cuts"] == 1.0 > found["groups"][0]["same_ids"]


def test_a_run_folder_stands_for_its_tokenizer(tmp_path):
    trained().save(tmp_path / "tokenizer")
    assert load_peer(tmp_path).vocab_size == 300


def test_a_tiktoken_file_needs_a_pattern_and_valid_lines(exported, tmp_path):
    with pytest.raises(ValueError, match=r"x.tiktoken: a .tiktoken file carries no pattern; say which"):
        load_peer(exported / "x.tiktoken")
    with pytest.raises(ValueError, match="is several expressions; tiktoken has one"):
        load_peer(exported / "x.tiktoken", "deepseek-v3")
    (tmp_path / "x.tiktoken").write_text("!!! 1\n")
    with pytest.raises(ValueError, match=r"x.tiktoken: no .tiktoken file"):
        load_peer(tmp_path / "x.tiktoken", "gpt2")
    (tmp_path / "x.tiktoken").write_text("QQ== 0\nQg== 0\n")
    with pytest.raises(ValueError, match="tiktoken cannot load it"):
        load_peer(tmp_path / "x.tiktoken", "gpt2")
    with pytest.raises(ValueError, match=r"holds neither model\.json nor tokenizer\.json"):
        load_peer(tmp_path)


def test_ranks_without_merges_leave_tokens_out():
    assert merges_of_ranks({b"a": 0, b"b": 1, b"ab": 2, b"abab": 3, b"aba": 4, b"xyz": 5}) == [
        (b"a", b"b"), (b"ab", b"ab"), (b"ab", b"a"),
    ]  # fmt: skip


def metaspace(tmp_path):
    """A small model of the kind of SentencePiece, with byte fallback."""
    vocab = {"<unk>": 0, "<0x0A>": 1, "\u2581": 2, "t": 3, "h": 4, "e": 5, "th": 6, "the": 7, "\u2581the": 8}
    step = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": True}
    model = {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "vocab": vocab}
    decoders = [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}]
    content = {
        "version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": step, "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": [*decoders, {"type": "Fuse"}]},
        "model": model | {"merges": [["t", "h"], ["th", "e"], ["\u2581", "the"]]},
    }  # fmt: skip
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta" / "tokenizer.json").write_text(json.dumps(content))
    return load_peer(tmp_path / "meta")


def test_a_model_of_another_kind_is_counted_and_its_losses_are_listed(tmp_path):
    theirs = metaspace(tmp_path)
    assert theirs.tokens[8] == b" the" and theirs.tokens[1] == b"\n"
    found = compare(peer(tmp_path, trained(), "a"), theirs, [batch(["the the\n", "the dog"])])
    assert found["round_trip"]["b"] == {"failures": 1, "first": [{"place": "text 1", "begins": "the dog"}]}
    assert found["groups"][0]["b"]["tokens"] > 0 and found["groups"][0]["unaligned"] == 1
    assert not found["same"]["pattern"] and "Metaspace" in found["b"]["pattern"]


def test_word_pieces_and_other_normalisers_are_described(tmp_path):
    import tokenizers

    model = tokenizers.models.WordPiece({"[UNK]": 0, "un": 1, "##do": 2}, unk_token="[UNK]")
    theirs = tokenizers.Tokenizer(model)
    theirs.normalizer = tokenizers.normalizers.Lowercase()
    theirs.save(str(tmp_path / "wp.json"))
    found = load_peer(tmp_path / "wp.json")
    assert (found.tokens[2], found.merges, found.vocabulary_hash) == (b"do", None, None)
    assert found.normalization == "Lowercase" and found.pattern == "bytes"


# --- how they cut texts -------------------------------------------------------------------------------------------


def naive(a: Tokenizer, b: Tokenizer, text: str) -> tuple[dict[bytes, list[int]], bool]:
    """Stretches with other numbers of tokens, and whether all ends agree: the slow, obvious way."""
    ends = []
    for ours in (a, b):
        at, places = 0, [0]
        for id_ in ours.encode(text):
            at += len(ours.token_bytes(id_))
            places.append(at)
        ends.append(places)
    found: dict[bytes, list[int]] = {}
    for start, stop in pairwise(sorted(set(ends[0]) & set(ends[1]))):
        numbers = [sum(start < end <= stop for end in places) for places in ends]
        if numbers[0] != numbers[1]:
            row = found.setdefault(text.encode()[start:stop], [0, 0, 0])
            for place, number in enumerate([1, *numbers]):
                row[place] += number
    return found, ends[0] == ends[1]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.text("the cas日\n ", max_size=30), max_size=6))
def test_stretches_and_shares_are_those_of_the_slow_way(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("pair")
    a, b = trained("o200k", 290), trained("bytes", 310, texts=["the cat", " the", "cats the", "s\n"])
    counted = Comparison(peer(folder, a, "a"), peer(folder, b, "b"))
    counted.add(batch(texts))
    wanted: dict[bytes, list[int]] = {}
    same = 0
    for text in texts:
        found, agree = naive(a, b, text)
        same += agree
        for piece, numbers in found.items():
            wanted[piece] = np.add(wanted.get(piece, [0, 0, 0]), numbers).tolist()
    assert counted._stretches._found == wanted
    row = counted.result()["groups"][0]
    assert row["same_cuts"] == (same / len(texts) if texts else None)
    assert row["a"]["tokens"] == sum(len(a.encode(text)) for text in texts)


def test_batches_add_up_to_the_same_figures(tmp_path):
    a, b = peer(tmp_path, trained(), "a"), peer(tmp_path, trained("gpt2", 280), "b")
    source = ["x", "y", "x", "y", "x"]
    whole = compare(a, b, [batch(TEXTS, source=source)])
    parts = compare(a, b, [batch([text], source=[name]) for text, name in zip(TEXTS, source, strict=True)])
    assert whole == parts
    rows = {(row["by"], row["group"]): row for row in whole["groups"]}
    assert list(rows) == [("all", "all"), ("source", "x"), ("source", "y")]
    assert rows["all", "all"]["documents"] == 5 and rows["source", "y"]["documents"] == 2
    assert rows["all", "all"]["a"]["tokens"] == sum(rows["source", name]["a"]["tokens"] for name in "xy")
    assert rows["source", "x"]["words"] == 9 + 8 + 3  # in 日本 日本語 each character is a word


def test_a_text_that_a_normalisation_changes_does_not_come_back_and_is_not_aligned(tmp_path):
    a, b = peer(tmp_path, trained(), "a"), peer(tmp_path, trained(form="NFC"), "b")
    found = compare(a, b, [batch(["e\u0301", "ok"])])
    assert found["round_trip"]["b"] == {"failures": 1, "first": [{"place": "text 0", "begins": "e\u0301"}]}
    assert found["round_trip"]["a"]["failures"] == 0
    assert (found["groups"][0]["unaligned"], found["groups"][0]["same_cuts"]) == (1, 0.5)
    again = compare(b, b, [batch(["e\u0301", "ok"])])
    assert again["groups"][0]["unaligned"] == 0 and again["groups"][0]["same_cuts"] == 1.0


def test_where_very_many_stretches_differ_the_largest_stay_and_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(stretches, "MOST_STRETCHES", 4)
    a = peer(tmp_path, Tokenizer(pattern("bytes"), [], ()), "a")
    b = peer(tmp_path, trained("bytes", 280, (), texts=["ab", "cd", "ef", "gh", "ij", "kl"] * 3), "b")
    found = compare(a, b, [batch(["ab" * 9 + "cd" * 8 + "ef" * 7 + "gh" * 6 + "ij" + "kl"])], 2)
    assert found["pieces"]["exact"] is False
    assert [piece["piece"] for piece in found["pieces"]["a_needs_more"]] == ["ab", "cd"]
    assert found["pieces"]["a_needs_more"][0]["difference"] == 9


def test_a_stretch_too_long_to_be_listed_is_counted(tmp_path):
    a = peer(tmp_path, Tokenizer(pattern("bytes"), [], ()), "a")
    merges = [(120, 120), *((k, k) for k in range(256, 264))]  # the last token has 512 bytes
    b = peer(tmp_path, Tokenizer(pattern("bytes"), merges, ()), "b")
    found = compare(a, b, [batch(["x" * 512, "x" * 256])])
    assert found["pieces"]["longer_than_listed"] == 1
    assert [len(piece["piece"]) for piece in found["pieces"]["a_needs_more"]] == [256]


def test_nothing_of_a_batch_is_kept(tmp_path):
    a, b = peer(tmp_path, trained(), "a"), peer(tmp_path, trained("gpt2", 280), "b")
    held = []

    def batches():
        for k in range(30):
            held.append(pa.total_allocated_bytes())
            yield batch([f"the cat sat on mat {k} " * 20_000])

    compare(a, b, batches())
    assert max(held[3:]) < held[2] + (2 << 20)


def test_a_search_that_does_not_end_names_the_text(tmp_path, monkeypatch):
    from tokenizer import expressions, patterns

    monkeypatch.setattr(expressions, "_SECONDS", 0.1)
    ours = Tokenizer(patterns.Pattern("custom", "(a|aa)+$", "1"), [], ())
    slow = dataclasses.replace(peer(tmp_path, trained(), "a"), encode=lambda texts: ours.encode_batch(texts))
    with pytest.raises(ValueError, match=r"text 1: the expression '\(a\|aa\)\+\$' did not finish"):
        compare(slow, slow, [batch(["ok", "a" * 60 + "b"])])
