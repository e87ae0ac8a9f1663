"""Suffix order, merged runs, tables of n-grams and sums by context equal what plain Python gives."""

from __future__ import annotations

import bisect
from collections import Counter, defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.lm_counts import BEFORE, RAW, SUFFIX, WORDS, context_sums, distinct, find, merge, order_by, pack, split

BEGIN, END, VOCABULARY = 1, 2, 8
LINES = st.lists(st.lists(st.integers(3, VOCABULARY - 1), max_size=6), max_size=8)
Gram = tuple[int, ...]


def stream_of(lines: list[list[int]]) -> np.ndarray:
    return np.array([x for line in lines for x in (BEGIN, *line, END)], np.int32)


def columns(stream: np.ndarray, place: int, order: int) -> Gram:
    """The ids from a place back to its line's BEGIN; -1 for what lies before."""
    found: list[int] = []
    while len(found) < order:
        found.append(int(stream[place]))
        if found[-1] == BEGIN:
            break
        place -= 1
    return tuple(found + [-1] * (order - len(found)))


def counted(lines: list[list[int]], order: int) -> list[tuple[Gram, int]]:
    """Distinct columns in order, with their occurrences."""
    stream = stream_of(lines)
    places = [p for p in range(len(stream)) if stream[p] != BEGIN]
    return sorted(Counter(columns(stream, p, order) for p in places).items())


def as_rows(found: list[tuple[Gram, int]], order: int) -> np.ndarray:
    return np.array([(*gram, count) for gram, count in found], np.int32).reshape(-1, order + 1)


def added_up(rows: list[np.ndarray]) -> list[tuple[Gram, int]]:
    total: dict[Gram, int] = {}
    for row in np.concatenate(rows).tolist() if rows else []:
        total[tuple(row[:-1])] = total.get(tuple(row[:-1]), 0) + row[-1]
    return list(total.items())


@settings(max_examples=200, deadline=None)
@given(LINES, st.integers(2, 6), st.integers(1, 40))
def test_the_rows_of_a_block_are_its_distinct_columns_in_order(lines: list[list[int]], order: int, room: int) -> None:
    stream = stream_of(lines)
    packed = np.empty(len(stream), np.int64)
    pack(stream, BEGIN, packed)
    places = np.flatnonzero(stream != BEGIN).astype(np.int32)
    for column in range(order - 1, -1, -1):
        ordered = np.empty_like(places)
        order_by(packed, places, column, VOCABULARY, ordered)
        places = ordered
    rows, written, found, at = np.empty((room, order + 1), np.int32), np.zeros(1, np.int64), [], 0
    while at < len(places):
        at = distinct(packed, places, at, rows, written)
        found.append(rows[: written[0]].copy())
    assert added_up(found) == counted(lines, order)
    assert all(len(r) == room for r in found[:-1])


@settings(max_examples=200, deadline=None)
@given(st.lists(LINES, min_size=1, max_size=5), st.integers(2, 5), st.integers(1, 7), st.integers(2, 30))
def test_runs_are_merged_and_equal_rows_added_up(
    texts: list[list[list[int]]], order: int, buffer: int, room: int
) -> None:
    left = [rows for lines in texts if len(rows := as_rows(counted(lines, order), order))]
    runs = np.empty((len(left), buffer, order + 1), np.int32)
    at, filled = np.zeros(len(left), np.int64), np.zeros(len(left), np.int64)

    def refill(k: int) -> bool:
        at[k], filled[k] = 0, min(buffer, len(left[k]))
        runs[k, : filled[k]] = left[k][:buffer]
        left[k] = left[k][buffer:]
        return bool(filled[k])

    for k in range(len(left)):
        refill(k)
    heap = np.array(sorted(range(len(left)), key=lambda k: runs[k, 0].tolist()), np.int64)
    live, rows, written, found = len(left), np.empty((room, order + 1), np.int32), np.zeros(1, np.int64), []
    while live:
        empty = merge(runs, at, filled, heap, live, rows, written)
        if empty < 0:
            assert written[0] == room
            found += rows[:-1].tolist()
            rows[0], written[0] = rows[-1], 1
        elif not refill(empty):
            live -= 1
            heap[0] = heap[live]
    found += rows[: written[0]].tolist()
    assert found == as_rows(counted([line for lines in texts for line in lines], order), order).tolist()


@settings(max_examples=200, deadline=None)
@given(LINES, st.integers(2, 5), st.integers(1, 9))
def test_tables_are_the_ngrams_of_every_order_with_occurrences_left_neighbours_and_suffixes(
    lines: list[list[int]], order: int, size: int
) -> None:
    rows = as_rows(counted(lines, order), order)
    tables = np.empty((order + 1, size + 1, order + 3), np.int32)
    previous, sizes, begun = np.full(order, -2, np.int32), np.zeros(order + 1, np.int64), np.zeros(order + 1, np.int64)
    begun[0] = 1
    found: dict[int, list[list[int]]] = defaultdict(list)
    for start in range(0, len(rows), size):
        split(rows[start : start + size], previous, begun, tables, sizes)
        for n in np.flatnonzero(sizes).tolist():
            found[n] += tables[n, : sizes[n] - 1].tolist()
            tables[n, 0], sizes[n] = tables[n, sizes[n] - 1], 1
    for n in np.flatnonzero(sizes).tolist():
        found[n] += tables[n, : sizes[n]].tolist()
    stream = stream_of(lines)
    places = [p for p in range(len(stream)) if stream[p] != BEGIN]
    for n in range(1, order + 1):
        grams = Counter(g for p in places if -1 not in (g := columns(stream, p, n)))
        left = {(g[:n], g) for p in places if -1 not in columns(stream, p, n) for g in [columns(stream, p, n + 1)]}
        before = Counter(gram for gram, _ in left)
        assert [tuple(row[WORDS : WORDS + n]) for row in found[n]] == sorted(grams)
        assert [row[RAW] for row in found[n]] == [grams[g] for g in sorted(grams)]
        if n < order:
            assert [row[BEFORE] for row in found[n]] == [before[g] for g in sorted(grams)]
        if n > 1:
            lower = [tuple(row[WORDS : WORDS + n - 1]) for row in found[n - 1]]
            assert [lower[row[SUFFIX]] for row in found[n]] == [g[:-1] for g in sorted(grams)]


@given(st.sets(st.tuples(st.integers(3, 60), st.integers(1, 9)), min_size=1), st.integers(0, 4))
def test_an_ngram_is_found_by_its_suffix_and_first_word(grams: set[tuple[int, int]], shift: int) -> None:
    known = sorted(grams)
    keys = np.array([suffix << 32 | first for suffix, first in known], np.int64)
    suffixes, lowest = [suffix for suffix, _ in known], known[0][0]
    slots = range(((known[-1][0] - lowest) >> shift) + 2)
    index = np.array([bisect.bisect_left(suffixes, lowest + (k << shift)) for k in slots], np.int64)
    wanted = np.array(list(grams), np.int32)
    found = np.empty(len(wanted), np.int32)
    find(wanted[:, 0].copy(), wanted[:, 1].copy(), keys, index, lowest, shift, found)
    assert [known[place] for place in found] == list(grams)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-6, 6).filter(bool)), max_size=20))
def test_sums_by_context_are_those_of_a_plain_loop(rows: list[tuple[int, int]]) -> None:
    contexts, counts = (np.array([r[k] for r in rows], np.int32) for k in range(2))
    sums = np.zeros((5, 5), np.int32)
    context_sums(contexts, counts, sums)
    expected = [[0] * 5 for _ in range(5)]
    for c, count in rows:
        expected[c][0] += abs(count)
        if count < 0:
            expected[c][1] -= count
        else:
            expected[c][1 + min(count, 3)] += 1
    assert sums.tolist() == expected
