"""Counting the n-grams of a text of ids: blocks in suffix order, sorted runs merged, all orders in one pass.

The columns of a token are its own id, the id before it, and so on back to the beginning of its line; before that stands
NOTHING, which sorts first. A row is a token's columns and how often they occur. Rows in the order of their columns are
in suffix order: an n-gram is a run of rows that agree in n columns.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import int32, int64, njit, types, void

NOTHING: Final = -1
SUFFIX, RAW, BEFORE, WORDS = range(4)  # columns of the tables that `split` fills
_ID: Final = (1 << 32) - 1

_I64 = types.Array(int64, 1, "C", readonly=True)
_I32 = types.Array(int32, 1, "C", readonly=True)
_ROWS = types.Array(int32, 2, "C", readonly=True)
_RUNS = types.Array(int32, 3, "C", readonly=True)


@njit(void(_I32, int32, int64[::1]), nogil=True, cache=True)
def pack(stream: Any, begin: Any, packed: Any) -> None:
    """Each token's id, and above bit 32 its distance behind the last `begin`: neighbours share a cache line."""
    far: Any = int64(0)
    for i in range(len(stream)):
        far = int64(0) if stream[i] == begin else far + 1
        packed[i] = far << 32 | stream[i]


@njit(void(_I64, _I32, int64, int64, int32[::1]), nogil=True, cache=True)
def order_by(packed: Any, places: Any, column: Any, vocabulary: Any, ordered: Any) -> None:
    """`places` (all but those of distance 0) in the order of one column, equal ones as they stand."""
    slots = np.zeros(vocabulary + 2, np.int64)
    for i in range(len(packed)):  # in the order of memory, not of `places`: the sums are the same
        far = packed[i] >> 32
        if far:
            slots[((packed[i - column] & _ID) + 1 if far >= column else 0) + 1] += 1
    for key in range(vocabulary):
        slots[key + 1] += slots[key]
    for place in places:
        key = (packed[place - column] & _ID) + 1 if packed[place] >> 32 >= column else 0
        ordered[slots[key]] = place
        slots[key] += 1


@njit(int64(_I64, _I32, int64, int32[:, ::1], int64[::1]), nogil=True, cache=True)
def distinct(packed: Any, places: Any, start: Any, rows: Any, written: Any) -> Any:
    """Rows of sorted `places` from index `start` on, neighbours of equal columns as one, until `rows` is full.

    rows: shape (any, order + 1); written[0]: how many were written. Returns the index it stopped at.
    """
    order, size = rows.shape[1] - 1, int64(0)
    stopped: Any = int64(len(places))
    for i in range(start, len(places)):
        if size == len(rows):
            stopped = int64(i)
            break
        place = places[i]
        far = packed[place] >> 32
        same = size > 0
        for k in range(order):
            own = packed[place - k] & _ID if far >= k else NOTHING
            same = same and own == rows[size - 1, k]
            rows[size, k] = own
        if same:
            rows[size - 1, order] += 1
        else:
            rows[size, order] = 1
            size += 1
    written[0] = size
    return stopped


@njit(int64(_RUNS, int64[::1], _I64, int64[::1], int64, int32[:, ::1], int64[::1]), nogil=True, cache=True)
def merge(runs: Any, at: Any, filled: Any, heap: Any, live: Any, rows: Any, written: Any) -> Any:
    """Merge sorted runs of rows, equal columns as one, until `rows` is full or a run has no row left.

    runs: shape (runs, buffer, order + 1). at, filled: next row and number of rows of each buffer. heap: the `live`
    runs, a binary heap by their next rows but perhaps at its root. written[0]: rows written so far; the last one may
    still grow. Returns the run at the heap's root that has no row left, or -1.
    """
    order, size = rows.shape[1] - 1, written[0]
    empty: Any = int64(-1)
    while live:
        run, i = heap[0], 0
        if at[run] == filled[run]:
            empty = run
            break
        while 2 * i + 1 < live:
            child = 2 * i + 1
            if child + 1 < live:
                one, other, k = heap[child], heap[child + 1], 0
                while k < order and runs[one, at[one], k] == runs[other, at[other], k]:
                    k += 1
                if k < order and runs[other, at[other], k] < runs[one, at[one], k]:
                    child += 1
            one, k = heap[child], 0
            while k < order and runs[one, at[one], k] == runs[run, at[run], k]:
                k += 1
            if k == order or runs[run, at[run], k] < runs[one, at[one], k]:
                break
            heap[i] = one
            i = child
        heap[i] = run
        run = heap[0]
        row = at[run]
        same = size > 0
        for k in range(order):
            same = same and runs[run, row, k] == rows[size - 1, k]
        if same:
            rows[size - 1, order] += runs[run, row, order]
        elif size == len(rows):
            break
        else:
            for k in range(order + 1):
                rows[size, k] = runs[run, row, k]
            size += 1
        at[run] = row + 1
    written[0] = size
    return empty


@njit(void(_ROWS, int32[::1], int64[::1], int32[:, :, ::1], int64[::1]), nogil=True, cache=True)
def split(rows: Any, previous: Any, begun: Any, tables: Any, sizes: Any) -> None:
    """The n-grams of every order in sorted, distinct rows; the last one of each order may go on in later rows.

    previous: columns of the row before. begun: n-grams of each order met so far, those of earlier calls too. tables:
    shape (order + 1, rows + 1, order + 3): of each n-gram the number of its suffix within the order below, its
    occurrences, how many n+1-grams end in it (nothing before counts as one), and its columns. sizes: n-grams in each.
    """
    order = rows.shape[1] - 1
    for r in range(len(rows)):
        depth, length = 0, 0
        while depth < order and rows[r, depth] == previous[depth]:
            depth += 1
        while length < order and rows[r, length] != NOTHING:
            length += 1
        for k in range(depth, order):
            previous[k] = rows[r, k]
        for n in range(depth + 1, length + 1):
            i = sizes[n]
            sizes[n] += 1
            begun[n] += 1
            tables[n, i, SUFFIX] = begun[n - 1] - 1
            tables[n, i, RAW] = tables[n, i, BEFORE] = 0
            for k in range(n):
                tables[n, i, WORDS + k] = rows[r, k]
        for n in range(1, length + 1):
            tables[n, sizes[n] - 1, RAW] += rows[r, order]
            tables[n, sizes[n] - 1, BEFORE] += depth <= n


@njit(void(_I32, _I32, _I64, _I64, int64, int64, int32[::1]), nogil=True, cache=True)
def find(suffixes: Any, firsts: Any, keys: Any, index: Any, lowest: Any, shift: Any, found: Any) -> None:
    """Place of each n-gram, given as its suffix's number and its first word, in `keys`, which must hold it.

    keys: sorted, suffix above bit 32, first word below. index: where the suffixes from `lowest + (i << shift)` begin.
    """
    for i in range(len(suffixes)):
        slot = (suffixes[i] - lowest) >> shift
        key = int64(suffixes[i]) << 32 | firsts[i]
        low, high = index[slot], index[slot + 1]
        while low < high:
            middle = (low + high) >> 1
            if keys[middle] < key:
                low = middle + 1
            else:
                high = middle
        found[i] = low


@njit(void(_I32, _I32, int32[:, ::1]), nogil=True, cache=True)
def context_sums(contexts: Any, counts: Any, sums: Any) -> None:
    """Add up by context, columns of `sums`: adjusted counts; those of pruned n-grams, whose count is given below zero;
    and how many others have an adjusted count of 1, 2, 3 and more."""
    for i in range(len(contexts)):
        count, row = int64(counts[i]), contexts[i]
        sums[row, 0] += abs(count)
        if count < 0:
            sums[row, 1] -= count
        else:
            sums[row, 1 + min(count, 3)] += 1
