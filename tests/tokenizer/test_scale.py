"""Equality with other trainers on 20 MB, and inputs that take quadratic time where nothing bounds them."""

import base64
import random
import resource
import time
from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
import regex
from reference.bpe_peers import hugging_face_merges, spelled

from tokenizer import counts, tokens
from tokenizer.model import Tokenizer
from tokenizer.patterns import pattern
from tokenizer.trainer import train

RNG = random.Random(5)


def seconds(work: Callable[[], object]) -> float:
    """Processor time: what else the machine does counts little."""
    start = time.process_time()
    work()
    return time.process_time() - start


CHINESE = "".join(chr(0x4E00 + int(1500 * RNG.random() ** 3)) for _ in range(700_000))  # 2.1 MB without a space
BASE64 = base64.b64encode(random.Random(3).randbytes(3 << 18)).decode()  # 1 MB


@pytest.mark.parametrize("text", [BASE64, "^" * 10**6, CHINESE[:200_000]], ids=["base64", "carets", "chinese"])
@pytest.mark.parametrize("name", ["o200k", "gpt2"])
def test_a_long_piece_is_counted_learned_and_encoded_in_bounded_time(text, name):
    pieces = counts.count_plain_pieces(pa.array([text]), pattern(name))
    ours = Tokenizer(pattern(name), train(pieces, 2000).merges, ())
    ours.encode("warm")

    def whole() -> None:
        train(counts.count_plain_pieces(pa.array([text]), pattern(name)), 2000)
        assert ours.decode(ours.encode(text)) == text

    assert seconds(whole) < 20


def test_encoding_a_long_piece_grows_with_its_length_and_not_with_its_square():
    pieces = counts.count_plain_pieces(pa.array([CHINESE[:50_000]]), pattern("bytes"))
    ours = Tokenizer(pattern("bytes"), train(pieces, 3000).merges, ())
    ours.encode("warm")
    short = min(seconds(lambda: ours.encode(CHINESE[:30_000])) for _ in range(3))
    long = min(seconds(lambda: ours.encode(CHINESE[:240_000])) for _ in range(3))
    assert long < 8 * short * 4  # eight times the text; a quadratic way takes 64 times as long


@pytest.mark.slow
def test_twenty_megabytes_of_chinese_without_spaces_take_bounded_time_and_memory():
    text = CHINESE * 10
    start = time.process_time()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pieces = counts.count_plain_pieces(pa.array([text]), pattern())
    found = train(pieces, 4000)
    ours = Tokenizer(pattern(), found.merges, ())
    assert ours.decode_bytes(ours.encode_batch(pa.array([text])).values.to_pylist()) == text.encode()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 4000
    assert time.process_time() - start < 120


@pytest.fixture(scope="module")
def twenty_megabytes(shared_texts):
    texts = (
        shared_texts("trusted/en", 450) + shared_texts("trusted/technical-en", 700) + shared_texts("trusted/zh", 900)
    )
    assert sum(len(text.encode()) for text in texts) > 19e6
    return texts


@pytest.mark.slow
def test_ten_thousand_tokens_of_twenty_megabytes_equal_those_of_hugging_face(twenty_megabytes):
    pieces = counts.count_plain_pieces(pa.array(twenty_megabytes), pattern("gpt2"))
    found = train(pieces, 10_000, (), "huggingface")
    assert spelled(found) == hugging_face_merges(twenty_megabytes, 10_000 - 256, 1)


@pytest.mark.slow
def test_ten_thousand_tokens_of_twenty_megabytes_equal_those_of_rustbpe(twenty_megabytes):
    rustbpe = pytest.importorskip("rustbpe", reason="rustbpe is not installed (extra `bench`)")
    theirs = rustbpe.Tokenizer()
    theirs.train_from_iterator(iter(twenty_megabytes), 10_000, pattern=pattern("cl100k").regex)
    found = train(counts.count_plain_pieces(pa.array(twenty_megabytes), pattern("cl100k")), 10_000)
    ours = Tokenizer(pattern("cl100k"), found.merges, ())
    ranks = {bytes(token): rank for token, rank in theirs.get_mergeable_ranks()}
    assert [ranks.get(ours.token_bytes(id_)) for id_ in range(10_000)] == list(range(10_000))


@pytest.mark.slow
@pytest.mark.parametrize("tie_rule", ["smallest_ids", "cs336"])
def test_every_one_of_ten_thousand_ids_comes_back_or_is_listed_with_the_reason(tie_rule, twenty_megabytes):
    pieces = counts.count_plain_pieces(pa.array(twenty_megabytes), pattern())
    ours = Tokenizer(pattern(), train(pieces, 10_000, (), tie_rule).merges, ())
    listed = tokens.unreachable(ours)
    for id_ in range(10_000):
        ids, _ = ours.encode_pieces(pa.array([ours.token_bytes(id_)], pa.large_binary()))
        assert ours.decode_bytes(ids.tolist()) == ours.token_bytes(id_)
        assert (ids.tolist() == [id_]) != (id_ in listed)
        assert listed.get(id_, "an earlier merge").count("an earlier merge") == 1


@pytest.mark.slow
def test_counts_and_ids_of_twenty_megabytes_equal_a_dictionary_and_a_fresh_encoder(twenty_megabytes):
    """More distinct pieces than the tables begin with, so that every table grows."""
    column = pa.array(twenty_megabytes)
    table = counts.count_plain_pieces(column, pattern(), threads=2)
    compiled = regex.compile(pattern().regex)
    occurrences = Counter(piece for text in twenty_megabytes for piece in compiled.findall(text))
    listed = {piece.decode(): n for piece, n in zip(*(table[c].to_pylist() for c in ("piece", "count")), strict=True)}
    assert listed == occurrences
    ours = Tokenizer(pattern(), train(table, 5000).merges, ())
    batch = ours.encode_batch(column)
    for row in range(0, len(column), 97):
        assert batch[row].as_py() == Tokenizer(pattern(), ours.merges, ()).encode(twenty_megabytes[row])


def test_twenty_trainings_over_shuffled_shards_and_any_number_of_threads_have_one_hash():
    texts = ["".join(RNG.choices("abcdé 日", k=80)) for _ in range(60)]
    found = set()
    for turn in range(20):
        RNG.shuffle(texts)
        shards = [pa.array(texts[k::4]) for k in range(4)]
        tables = [counts.count_plain_pieces(shard, pattern(), (), 1 + 3 * (turn % 2)) for shard in shards]
        RNG.shuffle(tables)
        merges = train(counts.merge_counts(tables), 400).merges
        found.add(Tokenizer(pattern(), merges, ()).vocabulary_hash)
        assert np.all(merges[:, 2] > 0)
    assert len(found) == 1
