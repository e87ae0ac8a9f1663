"""The pieces as the merger wants them: cells, weights, and the pairs of bytes with their positions."""

from typing import Any

import numpy as np
from numba import njit, types

from kernels.merge_queue import COUNT, FIRST, KEY, MANY, ROW, slot_of, wider

BYTES = types.Array(types.uint8, 1, "C", readonly=True)
INTEGERS = types.Array(types.int64, 1, "C", readonly=True)
READ_CELLS = types.Array(types.int32, 1, "C", readonly=True)
CELLS = types.Array(types.int32, 1, "C")
NUMBERS = types.Array(types.int64, 1, "C")
ROWS = types.Array(types.int64, 2, "C")
PLACE = types.UniTuple(types.int64, 2)


@njit(
    PLACE(BYTES, INTEGERS, READ_CELLS, BYTES, CELLS, CELLS, types.int64),
    nogil=True,
    cache=True,
)
def lay_out(store: Any, ends: Any, weights: Any, symbols: Any, cells: Any, weight: Any, gap: Any) -> Any:
    """Fill the cells, pieces that occur once behind the others, and for each of these the weight of its piece.

    Returns how many cells there are, and where those of weight 1 begin.
    """
    at = singles = np.int64(0)
    for turn in range(2):
        start = np.int64(0)
        for k in range(len(ends)):
            if ends[k] - start > 1 and (weights[k] == 1) == (turn == 1):
                cells[at] = gap
                if turn == 0:
                    for q in range(at, at + 1 + ends[k] - start):
                        weight[q] = weights[k]
                at += 1
                for q in range(start, ends[k]):
                    cells[at] = symbols[store[q]]
                    at += 1
            start = ends[k]
        if turn == 0:
            singles = at
    cells[at] = gap
    weight[singles] = 1
    return at + 1, singles


@njit(types.UniTuple(NUMBERS, 2)(READ_CELLS, READ_CELLS, INTEGERS, types.int64), nogil=True, cache=True)
def byte_pairs(cells: Any, weight: Any, large: Any, singles: Any) -> Any:
    """Count and number of positions of each pair of bytes (left << 8 | right)."""
    count = np.zeros(1 << 16, np.int64)
    many = np.zeros(1 << 16, np.int64)
    for p in range(singles):
        if cells[p] < 256 and cells[p + 1] < 256:
            pair = cells[p] << 8 | cells[p + 1]
            w = np.int64(weight[p])
            count[pair] += w if w >= 0 else large[~w]
            many[pair] += 1
    once = np.zeros(1 << 16, np.int64)
    for p in range(singles, len(cells) - 1):
        if cells[p] < 256 and cells[p + 1] < 256:
            once[cells[p] << 8 | cells[p + 1]] += 1
    return count + once, many + once


@njit(types.Tuple((ROWS, ROWS, types.int64))(INTEGERS, INTEGERS, READ_CELLS, CELLS), nogil=True, cache=True)
def seed(count: Any, many: Any, cells: Any, places: Any) -> Any:
    """Rows and slots of the pairs of bytes of which many is above 0; their positions go to places."""
    n = np.count_nonzero(many)
    rows = np.empty((n + 1024, 3), np.int64)
    slots = wider(np.full((1 << 10, 2), -1, np.int64), n)
    next_place = np.full(1 << 16, -1, np.int64)
    pairs = 0
    used = np.int64(0)
    for pair in range(1 << 16):
        if many[pair] > 0:
            key = np.int64(pair >> 8) << 32 | pair & 255
            s = slot_of(slots, key)
            slots[s, KEY] = key
            slots[s, ROW] = pairs
            rows[pairs, COUNT] = count[pair]
            rows[pairs, FIRST] = next_place[pair] = used
            rows[pairs, MANY] = many[pair]
            pairs += 1
            used += many[pair]
    for p in range(len(cells) - 1):
        if cells[p] < 256 and cells[p + 1] < 256:
            pair = cells[p] << 8 | cells[p + 1]
            if next_place[pair] >= 0:
                places[next_place[pair]] = p
                next_place[pair] += 1
    return rows, slots, pairs
