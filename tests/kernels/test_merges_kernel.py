"""The fast trainer equals the reference, which counts all pairs anew in every round."""

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenizer import reference, trainer

ALPHABETS = (b"a", b"ab", b"abc", b"abcd\xc3\xa9", b" \x00\xff", bytes(range(256)))


def table(pieces: dict[bytes, int]) -> pa.Table:
    return pa.table({"piece": pa.array(pieces, pa.large_binary()), "count": pa.array(pieces.values(), pa.int64())})


def fast(pieces: dict[bytes, int], merges: int, *limits) -> list[tuple[int, int, int]]:
    found = trainer.train(table(pieces), 256 + merges, (), *limits)
    return [tuple(row) for row in found.merges.tolist()]


@pytest.mark.parametrize("rule", trainer.TIE_RULES)
def test_a_thousand_random_piece_sets_give_the_merges_of_the_reference(rule):
    """BPE-03: incremental counts equal a full recount after every merge."""
    rng = random.Random(rule)
    for _ in range(1000):
        alphabet = rng.choice(ALPHABETS)
        pieces = {
            bytes(rng.choices(alphabet, k=rng.randint(1, rng.choice([3, 8, 20])))): rng.choice([1, 1, 2, 3, 7, 2**33])
            for _ in range(rng.randint(0, 12))
        }
        limits = rng.choice([1, 1, 2, 3]), rng.choice([None, None, 1, 2, 3, 5])
        merges = rng.randint(0, 30)
        assert fast(pieces, merges, rule, *limits) == reference.train(pieces, merges, rule, *limits), pieces


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text("ab", min_size=1, max_size=30).map(str.encode), st.integers(1, 4), max_size=5))
def test_runs_of_equal_symbols_give_the_merges_of_the_reference(pieces):
    """BPE-03: incremental counts equal a full recount after every merge."""
    assert fast(pieces, 20) == reference.train(pieces, 20)


def test_every_merge_was_tied_exactly_where_another_pair_had_its_count():
    rng = random.Random(5)
    for _ in range(200):
        pieces = {bytes(rng.choices(b"abc", k=rng.randint(2, 9))): rng.randint(1, 5) for _ in range(5)}
        found = trainer.train(table(pieces), 276)
        words = [(list(piece), count) for piece, count in pieces.items()]
        for rank, (left, right, count) in enumerate(found.merges.tolist()):
            stats = reference.get_stats(words)
            assert found.tied[rank] == (sum(n == count for n in stats.values()) > 1)
            words = [(reference.merge(ids, (left, right), 256 + rank), n) for ids, n in words]


def test_merges_do_not_depend_on_the_order_of_the_pieces():
    rng = random.Random(11)
    pieces = {bytes(rng.choices(b"abcde ", k=rng.randint(1, 9))): rng.randint(1, 9) for _ in range(300)}
    wanted = fast(pieces, 100)
    for _ in range(5):
        order = rng.sample(list(pieces), len(pieces))
        assert fast({piece: pieces[piece] for piece in order}, 100) == wanted


def test_a_piece_counted_two_to_the_33_times_keeps_its_count():
    assert fast({b"ab": 2**33, b"cd": 2**33 + 1}, 2) == [(99, 100, 2**33 + 1), (97, 98, 2**33)]


def test_long_runs_take_no_quadratic_time():
    found = fast({b"^" * 1_000_000: 1, b"ab" * 300_000: 1}, 30)
    assert found[0] == (94, 94, 999_999)
    assert len(found) == 30


def test_all_pair_counts_are_64_bit_sums():
    counts = np.full(3, 2**40)
    pieces = dict(zip([b"xy", b"axy", b"xyb"], counts.tolist(), strict=True))
    assert fast(pieces, 1) == [(120, 121, 3 * 2**40)]
