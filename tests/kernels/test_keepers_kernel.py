"""The choice of kept documents against a slow, obvious twin that looks at every edge."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import keepers

Sets = list[list[int]]


class Result(NamedTuple):
    kept: list[int]
    common: list[int]
    bucket: list[int]
    spent: list[int]

    @property
    def survivors(self) -> list[int]:
        return [d for d, keeper in enumerate(self.kept) if keeper < 0]


def choose(sets: Sets, buckets: Sets, threshold: float, limit: int = 1 << 40, fixed: int = 0) -> Result:
    """Run the kernel: documents are numbered in the declared order, buckets list documents in ascending order."""
    members = np.array([d for bucket in buckets for d in bucket], np.int64)
    sizes = np.array([len(bucket) for bucket in buckets], np.int64)
    visits = np.argsort(members, kind="stable")
    first = np.searchsorted(members[visits], np.arange(len(sets) + 1))
    values = np.array([v for s in sets for v in sorted(set(s))], np.int64)
    stops = np.cumsum([len(set(s)) for s in sets]).astype(np.int64)
    starts = np.concatenate([[0], stops[:-1]]).astype(np.int64)
    kept, common, found = (np.zeros(len(sets), np.int64) for _ in range(3))
    spent = np.zeros(len(buckets), np.int64)
    bucket = np.repeat(np.arange(len(buckets)), sizes)
    keepers.choose(
        *(members, bucket, np.cumsum(sizes), visits, first, values, starts, stops),
        *(threshold, limit, fixed, kept, common, found, spent),
    )
    return Result(kept.tolist(), common.tolist(), found.tolist(), spent.tolist())


def jaccard(a: list[int], b: list[int]) -> float:
    return len(set(a) & set(b)) / len(set(a) | set(b))


def twin(sets: Sets, buckets: Sets, threshold: float) -> list[int]:
    """Keeper of each document (-1: kept), from all verified edges: the first in order of its kept neighbours."""
    edges = {
        pair for bucket in buckets for pair in combinations(bucket, 2) if jaccard(*(sets[d] for d in pair)) >= threshold
    }
    kept: list[int] = []
    for d in range(len(sets)):
        kept.append(next((k for k in range(d) if kept[k] < 0 and (k, d) in edges), -1))
    return kept


small_sets = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=10), min_size=1, max_size=12)


@given(st.data(), small_sets, st.sampled_from([0.1, 0.3, 0.5, 2 / 3, 0.75, 0.8, 1.0]))
@settings(max_examples=300, deadline=None)
def test_choices_equal_the_twin_over_all_edges(data: st.DataObject, sets: Sets, threshold: float) -> None:
    documents = st.lists(st.sampled_from(range(len(sets))), unique=True, min_size=1).map(sorted)
    buckets = data.draw(st.lists(documents, max_size=5))
    result = choose(sets, buckets, threshold)
    assert result.kept == twin(sets, buckets, threshold)
    for d, keeper in enumerate(result.kept):
        if keeper >= 0:
            assert result.common[d] == len(set(sets[d]) & set(sets[keeper]))
            met = [g for g, bucket in enumerate(buckets) if d in bucket and keeper in bucket]
            assert result.bucket[d] == met[0]


@given(small_sets, st.sampled_from([0.3, 0.5, 0.8]))
@settings(max_examples=100, deadline=None)
def test_choosing_again_among_the_kept_removes_nothing(sets: Sets, threshold: float) -> None:
    survivors = [sets[d] for d in choose(sets, [list(range(len(sets)))], threshold).survivors]
    assert choose(survivors, [list(range(len(survivors)))], threshold).kept == [-1] * len(survivors)


@given(small_sets, st.sampled_from([0.3, 0.5, 0.8]), st.integers(0, 12))
@settings(max_examples=100, deadline=None)
def test_documents_of_an_earlier_corpus_stay_and_remove_all_that_are_like_them(
    sets: Sets, threshold: float, fixed: int
) -> None:
    fixed = min(fixed, len(sets))
    result = choose(sets, [list(range(len(sets)))], threshold, fixed=fixed)
    assert result.kept[:fixed] == [-1] * fixed
    for d in range(fixed, len(sets)):
        near = [k for k in range(d) if result.kept[k] < 0 and jaccard(sets[k], sets[d]) >= threshold]
        assert result.kept[d] == (near[0] if near else -1)


def test_a_chain_keeps_every_other_document() -> None:
    """DUP-05: neighbours at 0.818, two apart at 0.667: one component of 1,000, of which 500 are kept, in id order."""
    sets = [list(range(2 * i, 2 * i + 20)) for i in range(1000)]
    result = choose(sets, [list(range(1000))], 0.8)
    assert result.survivors == list(range(0, 1000, 2))
    assert all(result.kept[d] == d - 1 for d in range(1, 1000, 2))


def test_two_verified_pairs_of_one_bucket_stay_apart() -> None:
    """DUP-07: candidates 1, 2, 3, 4; verified edges 1-3 and 2-4."""
    a, b = list(range(10)), list(range(100, 110))
    result = choose([a, b, a, b], [[0, 1, 2, 3]], 0.8)
    assert result.kept == [-1, -1, 0, 1]


def test_a_jaccard_equal_to_the_threshold_is_a_duplicate() -> None:
    assert choose([[1, 2, 3, 4], [1, 2, 3, 4, 5]], [[0, 1]], 0.8).kept == [-1, 0]
    assert choose([[1, 2, 3], [1, 2, 3, 4]], [[0, 1]], 0.8).kept == [-1, -1]


def test_a_bucket_of_copies_costs_one_comparison_for_each_copy() -> None:
    """DUP-11."""
    result = choose([[1, 2, 3]] * 20_000, [list(range(20_000))] * 3, 0.8)
    assert result.survivors == [0]
    assert result.spent == [19_999, 0, 0]


def test_a_bucket_of_unlike_documents_stops_at_its_limit_and_says_so() -> None:
    sets = [[k] for k in range(100)]
    assert choose(sets, [list(range(100))], 0.8).spent == [4950]
    assert choose(sets, [list(range(100))], 0.8, limit=4950).spent == [4950]
    assert choose(sets, [list(range(100))], 0.8, limit=300).spent == [301]
    assert choose([*sets, [0]], [list(range(101)), [0, 100]], 0.8, limit=30).kept[-1] == 0
