"""Suffix order, runs and sums by context equal what sorting and counting in plain Python give."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.lm_counts import context_sums, first_difference, order_by, pack, runs

BEGIN, END, VOCABULARY = 1, 2, 8
LINES = st.lists(st.lists(st.integers(3, VOCABULARY - 1), max_size=6), max_size=8)


def stream_of(lines: list[list[int]]) -> np.ndarray:
    return np.array([x for line in lines for x in (BEGIN, *line, END)], np.int32)


def columns(stream: np.ndarray, place: int, order: int) -> tuple[int, ...]:
    """The ids from a place back to its line's BEGIN; -1 for what lies before."""
    found: list[int] = []
    while len(found) < order:
        found.append(int(stream[place]))
        if found[-1] == BEGIN:
            break
        place -= 1
    return tuple(found + [-1] * (order - len(found)))


def sorted_places(stream: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    packed = np.empty(len(stream), np.int64)
    pack(stream, BEGIN, packed)
    places = np.flatnonzero(stream != BEGIN).astype(np.int32)
    for column in range(order - 1, -1, -1):
        ordered = np.empty_like(places)
        order_by(packed, places, column, VOCABULARY, ordered)
        places = ordered
    depth, room = np.empty(len(places), np.int8), np.empty(len(places), np.int8)
    first_difference(packed, places, order, depth, room)
    return places, depth, room


@settings(max_examples=200, deadline=None)
@given(LINES, st.integers(2, 6))
def test_places_are_sorted_by_their_columns_and_differences_are_found(lines: list[list[int]], order: int) -> None:
    stream = stream_of(lines)
    places, depth, room = sorted_places(stream, order)
    rows = [columns(stream, p, order) for p in places.tolist()]
    every = [p for p in range(len(stream)) if stream[p] != BEGIN]
    assert places.tolist() == sorted(every, key=lambda p: columns(stream, p, order))
    assert depth.tolist() == [0] * bool(rows) + [
        next((k for k in range(order) if a[k] != b[k]), order) for a, b in itertools.pairwise(rows)
    ]
    assert room.tolist() == [min(order, order - 1 - row.count(-1) + (BEGIN not in row)) for row in rows]


@settings(max_examples=200, deadline=None)
@given(LINES, st.integers(1, 4))
def test_runs_are_the_distinct_ngrams_with_their_occurrences_and_left_neighbours(
    lines: list[list[int]], n: int
) -> None:
    stream = stream_of(lines)
    places, depth, room = sorted_places(stream, 4)
    starts, raw, before = (np.empty(len(places), np.int32) for _ in range(3))
    gram_of = np.full(len(stream), -1, np.int32)
    size = runs(places, depth, room, n, starts, raw, before, gram_of)
    grams: dict[int, tuple[int, ...]] = {
        p: columns(stream, p, n) for p in range(len(stream)) if stream[p] != BEGIN and -1 not in columns(stream, p, n)
    }
    left: dict[tuple[int, ...], set[tuple[int, ...]]] = defaultdict(set)
    for p, gram in grams.items():
        left[gram].add(columns(stream, p, n + 1))
    counted = Counter(grams.values())
    order = sorted(counted)
    assert [columns(stream, int(places[s]), n) for s in starts[:size]] == order
    assert raw[:size].tolist() == [counted[g] for g in order]
    if n < 4:
        assert before[:size].tolist() == [len(left[g]) for g in order]
    assert gram_of.tolist() == [order.index(grams[p]) if p in grams else -1 for p in range(len(stream))]
    assert runs(places, depth, room, n, starts, raw, before, np.empty(0, np.int32)) == size


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 6), st.integers(1, 6)), max_size=20), st.integers(0, 3))
def test_sums_by_context_are_those_of_a_plain_loop(rows: list[tuple[int, int, int]], limit: int) -> None:
    context, adjusted, raw = (np.array([r[k] for r in rows], np.int32) for k in range(3))
    sums = np.zeros((5, 5), np.int32)
    context_sums(context, adjusted, raw, limit, sums)
    expected = [[0] * 5 for _ in range(5)]
    for c, a, r in rows:
        expected[c][0] += a
        if r <= limit:
            expected[c][1] += a
        else:
            expected[c][1 + min(a, 3)] += 1
    assert sums.tolist() == expected
