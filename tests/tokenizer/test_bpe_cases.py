"""Failure cases of comparable tools, with the values expected here."""

import base64
import json
import random
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokenizer import counts
from tokenizer.model import Tokenizer
from tokenizer.patterns import pattern
from tokenizer.trainer import train


def tokenizer(corpus: list[str], vocab_size: int, specials: tuple[str, ...] = (), name: str = "o200k") -> Tokenizer:
    pieces = counts.count_plain_pieces(pa.array(corpus, pa.string()), pattern(name), specials)
    return Tokenizer(pattern(name), train(pieces, vocab_size, specials).merges, specials)


def test_special_tokens_in_the_corpus_are_never_learned(tmp_path):
    """BPE-01."""
    found = tokenizer(["<|EMAIL|>"] * 100, 1000, ("<|EMAIL|>",))
    assert len(found.merges) == 0 and found.vocab_size == 257
    ids = found.encode("a<|EMAIL|>b", {"<|EMAIL|>"})
    assert ids == [97, 256, 98] and found.decode(ids) == "a<|EMAIL|>b"
    assert found.encode("a<|EMAIL|>b") == list(b"a<|EMAIL|>b")
    found.save(tmp_path)
    assert Tokenizer.load(tmp_path).encode("a<|EMAIL|>b", "all") == ids


def test_pairs_in_a_run_are_counted_with_overlap():
    """BPE-03."""
    pieces = pa.table({"piece": pa.array([b"aaaaa", b"bc"], pa.large_binary()), "count": [1, 3]})
    assert train(pieces, 257).merges.tolist() == [[97, 97, 4]]


@pytest.mark.parametrize(
    ("corpus", "asked", "minimum", "reached"), [(["ab"], 1000, 1, 258), (["ab"], 1000, 2, 257), ([], 300, 1, 257)]
)
def test_a_shortfall_is_reported_and_never_padded(corpus, asked, minimum, reached):
    """BPE-05."""
    pieces = counts.count_plain_pieces(pa.array(corpus, pa.string()), pattern(), ["<|e|>"])
    found = train(pieces, asked, ["<|e|>"], min_frequency=minimum)
    assert (found.asked, found.reached) == (asked, reached)
    assert found.shortfall is not None and found.shortfall.startswith(f"asked {asked}, reached {reached}")


def test_a_vocabulary_below_the_base_is_an_error_before_any_data_is_read(tmp_path):
    """BPE-05."""
    from tokenizer.train_files import train_files

    with pytest.raises(ValueError, match="need at least 257"):
        tokenizer(["ab"], 200, ("<|e|>",))
    with pytest.raises(ValueError, match="need at least 257"):
        train_files([tmp_path / "not there.txt"], tmp_path / "out", vocab_size=200, specials=["<|e|>"])


def test_the_contract_records_what_was_asked_and_what_was_reached(tmp_path):
    """BPE-05."""
    from tokenizer.train_files import train_files

    (tmp_path / "a.txt").write_text("ab")
    train_files([tmp_path / "a.txt"], tmp_path / "out", vocab_size=1000, specials=["<|e|>"], min_frequency=1)
    training = json.loads((tmp_path / "out" / "manifest.json").read_text())["training"]
    assert (training["asked"], training["reached"]) == (1000, 258)


@pytest.mark.parametrize("character", ["a", "^", " ", "好"])
def test_a_million_equal_characters_are_encoded_in_bounded_time(character):
    """BPE-06."""
    found = tokenizer(["aaaa aaaa ^^^^^^^^ 好好好好", "a" * 50 + " " * 50 + "^" * 50], 300)
    found.encode("x")
    start = time.perf_counter()
    ids = found.encode(character * 1_000_000)
    assert time.perf_counter() - start < 5
    assert found.decode(ids) == character * 1_000_000


def test_a_long_line_of_base64_is_trained_on_in_bounded_time():
    """BPE-06."""
    rng = random.Random(3)
    line = base64.b64encode(rng.randbytes(3 << 19)).decode()
    corpus = [line, *(f"an ordinary line of text, number {k}" for k in range(5000))]
    start = time.perf_counter()
    pieces = counts.count_plain_pieces(pa.array(corpus), pattern("bytes"))
    found = train(pieces, 1000)
    assert found.longest_piece == len(line) == 2 << 20
    cut = train(pieces, 1000, max_piece_bytes=4096)
    assert (cut.pieces_cut, cut.occurrences_cut, cut.longest_piece) == (1, 1, 2 << 20)
    assert time.perf_counter() - start < 60
    ours = Tokenizer(pattern("bytes"), found.merges, ())
    assert ours.decode(ours.encode(line)) == line


ROUND_TRIPS = [
    "",
    " ",
    "  lead and trail  ",
    "x != y , z .",
    "a\r\n\r\nb\r",
    "\xa0\u3000\t",
    "︰ x² ﬁ １２",
    "e\u0301 é",
    "👨\u200d👩\u200d👧🏽",
    "שָׁלוֹם مرحبا \u202bRTL\u202c",
    "می\u200cروم",
    "\x00\x1f\x7f",
    "\ufeffbom",
    "中文，English混排",
]


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "starcoder", "bytes"])
def test_every_text_and_every_byte_round_trips(name):
    """BPE-09."""
    found = tokenizer(["only ascii text here"], 270, (), name)
    for text in ROUND_TRIPS:
        assert found.decode(found.encode(text), errors="strict") == text
    assert [found.encode_bytes(bytes([b])) for b in range(256)] == [[b] for b in range(256)]


def test_newline_runs_are_learned_from_whole_documents(tmp_path):
    """BPE-10."""
    from tokenizer.train_files import train_files

    documents = ["a\n\n\nb", "a\n\n\nb"]
    for k, text in enumerate(documents):
        (tmp_path / f"{k}.txt").write_text(text, newline="")
    (tmp_path / "d.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
    pq.write_table(pa.table({"text": documents}), tmp_path / "d.parquet")
    hashes = set()
    for names in (["0.txt", "1.txt"], ["d.jsonl"], ["d.parquet"]):
        paths = [tmp_path / name for name in names]
        hashes.add(train_files(paths, tmp_path / "out", vocab_size=258, pattern="bytes")["vocabulary_hash"])
        assert [10, 10] in Tokenizer.load(tmp_path / "out").merges.tolist()
    assert len(hashes) == 1
