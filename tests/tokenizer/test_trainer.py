import random

import numpy as np
import pyarrow as pa
import pytest
from reference.bpe_peers import hugging_face_merges, spelled

from tokenizer import counts, trainer
from tokenizer.model import Tokenizer
from tokenizer.patterns import pattern
from tokenizer.trainer import train


def table(pieces: dict[bytes, int]) -> pa.Table:
    return pa.table({"piece": pa.array(pieces, pa.large_binary()), "count": pa.array(pieces.values(), pa.int64())})


def test_the_worked_example_aabaab_gives_97_97_and_256_98():
    found = train(table({b"aabaab": 1}), 258)
    assert found.merges.tolist() == [[97, 97, 2], [256, 98, 2]]
    assert found.tied.tolist() == [True, False] and found.ties == 1


def test_the_course_fixture_is_reproduced_exactly(shared_data):
    text = (shared_data / "tokenizer" / "corpus.en").read_text("utf-8")
    pieces = counts.count_plain_pieces(pa.array([text]), pattern("gpt2"), ["<|endoftext|>"])
    found = train(pieces, 500, ["<|endoftext|>"], "cs336")
    lines = (shared_data / "tokenizer" / "train-bpe-reference-merges.txt").read_text("utf-8").splitlines()
    assert spelled(found) == [tuple(line.split(" ")) for line in lines if line]
    assert found.reached == 500 and found.shortfall is None


@pytest.mark.parametrize("seed", range(30))
def test_the_huggingface_rule_gives_the_merges_of_that_library(seed):
    rng = random.Random(seed)
    letters = rng.choice(["ab ", "abc d\n", "aé日 ", "a", "\x00\t !?aAbB"])
    texts = ["".join(rng.choices(letters, k=rng.randint(1, 80))) for _ in range(rng.randint(1, 5))]
    minimum, merges = rng.choice([1, 1, 2, 3]), rng.randint(1, 40)
    found = train(counts.count_pieces(pa.array(texts), None, pattern("gpt2")), 256 + merges, (), "huggingface", minimum)
    assert spelled(found) == hugging_face_merges(texts, merges, minimum)


def test_the_huggingface_rule_gives_the_merges_of_that_library_on_real_text(shared_texts):
    texts = shared_texts("web/c4-1000", 150) + shared_texts("trusted/zh", 150)
    found = train(counts.count_pieces(pa.array(texts), None, pattern("gpt2")), 256 + 3000, (), "huggingface")
    assert spelled(found) == hugging_face_merges(texts, 3000, 1)
    assert found.ties > 100


def test_repeated_and_shuffled_trainings_have_one_vocabulary_hash():
    rng = random.Random(1)
    texts = ["".join(rng.choices("abcde ", k=60)) for _ in range(50)]
    hashes = set()
    for _ in range(4):
        rng.shuffle(texts)
        parts = [counts.count_pieces(pa.array(texts[k::3]), None, pattern()) for k in range(3)]
        found = train(counts.merge_counts(parts), 400, ["<|e|>"])
        hashes.add(Tokenizer(pattern(), found.merges, ["<|e|>"]).vocabulary_hash)
    assert len(hashes) == 1


def test_a_vocabulary_smaller_than_bytes_and_specials_is_refused():
    message = r"vocab_size: 256 is too small; need at least 257 \(256 bytes and 1 special tokens\)"
    with pytest.raises(ValueError, match=message):
        train(table({}), 256, ["<|e|>"])
    assert train(table({}), 257, ["<|e|>"]).reached == 257


def test_a_vocabulary_larger_than_ids_of_32_bits_is_refused():
    with pytest.raises(
        ValueError, match="vocab_size: 2147483648 is too large; ids have 32 bits: use at most 2147483647"
    ):
        train(table({}), 2**31)


def test_min_frequency_stops_and_max_token_bytes_skips():
    pieces = {b"abcd": 5, b"xy": 2}
    assert train(table(pieces), 300, min_frequency=3).merges[:, 2].tolist() == [5, 5, 5]
    assert train(table(pieces), 300, max_token_bytes=2).merges.tolist() == [[97, 98, 5], [99, 100, 5], [120, 121, 2]]
    assert train(table(pieces), 300, max_token_bytes=1).merges.shape == (0, 3)


def test_long_pieces_are_cut_at_a_character_and_reported():
    found = train(table({"日本語".encode(): 2, b"ab": 3}), 300, max_piece_bytes=4)
    assert (found.pieces_cut, found.occurrences_cut, found.longest_piece) == (1, 2, 9)
    whole = train(table({"日".encode(): 2, "本".encode(): 2, "語".encode(): 2, b"ab": 3}), 300)
    assert np.array_equal(found.merges, whole.merges)


@pytest.mark.parametrize("limit", range(1, 12))
def test_cut_parts_join_to_the_piece_and_are_whole_characters_where_they_can_be(limit):
    piece = "aé日😀b".encode() + b"\x80\x80\x80"
    ends, found = trainer.cut_pieces(np.frombuffer(piece, np.uint8), np.array([len(piece)]), np.array([7]), limit)
    parts = [piece[a:b] for a, b in zip([0, *ends.tolist()], ends.tolist(), strict=False)]
    assert b"".join(parts) == piece and set(found.tolist()) == {7}
    assert max(map(len, parts)) <= limit
    if limit >= 4:
        assert not any(part[0] & 0xC0 == 0x80 for part in parts if part[-1] != 0x80)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tie_rule": "first_seen"}, "tie_rule: 'first_seen' is unknown; use one of smallest_ids, cs336, huggingface"),
        ({"min_frequency": 0}, "min_frequency: 0 is too small; use 1 or more"),
        ({"max_token_bytes": 0}, "max_token_bytes: 0 is too small"),
        ({"max_piece_bytes": -1}, "max_piece_bytes: -1 is too small"),
        ({"min_frequency": 2**63}, "min_frequency: 9223372036854775808 is too large; use less than"),
        ({"max_token_bytes": 10**30}, "max_token_bytes: 10+ is too large"),
        ({"specials": ["a", "a"]}, "special_tokens: 'a' is declared twice; remove one"),
        ({"specials": [""]}, "special_tokens: a special token is empty; remove it"),
        ({"specials": ["\ud800"]}, "holds a lone surrogate; use valid text"),
    ],
)
def test_unusable_parameters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        train(table({b"ab": 1}), 300, **arguments)


def test_a_negative_count_is_refused_and_zero_counts_do_not_occur():
    with pytest.raises(ValueError, match="count: row 1 is negative"):
        train(table({b"ab": 1, b"cd": -1}), 300)
    assert train(table({b"ab": 0, b"cd": 1, b"": 4}), 300).merges.tolist() == [[99, 100, 1]]


def test_counts_beyond_64_bits_are_refused():
    with pytest.raises(ValueError, match="do not fit 64-bit counts"):
        train(table({b"abcdefgh": 2**61}), 300)


def test_a_smaller_size_is_the_beginning_of_a_larger_one():
    pieces = table({b"aabaab": 3, b"abcabc": 2, b"xyz": 1})
    large = train(pieces, 300, ["<|e|>"])
    for size in range(257, 301):
        small = train(pieces, size, ["<|e|>"])
        cut = large.of_size(size)
        assert np.array_equal(cut.merges, small.merges) and np.array_equal(cut.tied, small.tied)
        assert (cut.asked, cut.reached, cut.shortfall) == (small.asked, small.reached, small.shortfall)
    with pytest.raises(ValueError, match="vocab_size: 301 is above the 300 that was trained"):
        large.of_size(301)


def test_a_piece_counted_two_to_the_33_times():
    found = train(table({b"ab": 2**33, b"bc": 2**33 - 1, b"xy": 2**33}), 259)
    assert found.merges.tolist() == [[97, 98, 2**33], [120, 121, 2**33], [98, 99, 2**33 - 1]]
    assert found.tied.tolist() == [True, False, False]


@pytest.mark.parametrize("guess", [1, 2, 3, 5, 8, 100])
@pytest.mark.parametrize("tie_rule", trainer.TIE_RULES)
def test_what_is_taken_for_rare_never_changes_the_merges(guess, tie_rule, monkeypatch):
    rng = random.Random(guess)
    pieces = {bytes(rng.choices(b"abcde", k=rng.randint(1, 9))): rng.randint(1, 6) for _ in range(200)}
    for wanted in (20, 60, 400):
        plain = train(table(pieces), 256 + wanted, (), tie_rule)
        monkeypatch.setattr(trainer, "_rare", lambda *_: guess)
        guessed = train(table(pieces), 256 + wanted, (), tie_rule)
        monkeypatch.undo()
        assert np.array_equal(plain.merges, guessed.merges) and np.array_equal(plain.tied, guessed.tied)
        known = reference_merges(pieces, wanted, tie_rule)
        assert plain.merges.tolist() == known


def reference_merges(pieces: dict[bytes, int], wanted: int, tie_rule: str) -> list[list[int]]:
    from tokenizer import reference

    return [list(merge) for merge in reference.train(pieces, wanted, tie_rule)]
