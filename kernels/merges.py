"""Byte-pair merges from distinct pieces with counts: the exact greedy loop, incrementally.

The pieces of two bytes or more lie in one array of cells, with a gap before each and one at the end; a symbol fills
the first and the last cell of its bytes, so that both neighbours are found in one step. The gap is the number above all
symbols, and takes part in the lists of neighbours, which saves two jumps. Pieces that occur once, most of all, lie
behind the others and need no weights. Every pair that occurs often enough has a row with its count. A new symbol keeps
the positions where it arose; they are sorted out by neighbour only when one of its pairs is to be merged, which most
never are, and what was merged away until then is left out. A run of equal symbols counts every adjacent pair, overlaps
included.

The large arrays are made by NumPy, which asks the kernel for huge pages; memory that numba allocates has none.
"""

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from kernels.merge_layout import byte_pairs, lay_out, seed
from kernels.merge_queue import (
    COUNT,
    FIRST,
    GREATEST_BYTES,
    KEY,
    MANY,
    ROW,
    SMALLEST_IDS,
    beside,
    drop_top,
    push,
    settle,
    slot_of,
    wider,
)  # fmt: skip

__all__ = ["GREATEST_BYTES", "SMALLEST_IDS", "merges"]

BLOCK = 64  # positions that are looked at, without a jump, before they are merged

BYTES = types.Array(types.uint8, 1, "C", readonly=True)
INTEGERS = types.Array(types.int64, 1, "C", readonly=True)
READ_CELLS = types.Array(types.int32, 1, "C", readonly=True)
CELLS = types.Array(types.int32, 1, "C")
ROWS = types.Array(types.int64, 2, "C")


@njit(nogil=True)
def longer(a: Any, n: Any) -> Any:
    """a, or a longer copy if it has fewer than n values."""
    if n <= len(a):
        return a
    b = np.empty(max(n, len(a) + (len(a) >> 1)), a.dtype)
    for k in range(len(a)):  # an assignment of slices takes seconds to compile
        b[k] = a[k]
    return b


@njit(nogil=True)
def more_rows(a: Any, n: Any) -> Any:
    """a, or a longer copy if it has fewer than n rows."""
    if n <= len(a):
        return a
    b = np.empty((max(n, len(a) + (len(a) >> 1)), a.shape[1]), a.dtype)
    for k in range(len(a)):
        for j in range(a.shape[1]):
            b[k, j] = a[k, j]
    return b


@njit(nogil=True)
def replace(
    cells: Any, weight: Any, large: Any, singles: Any, sizes: Any, places: Any, left: Any, right: Any, new: Any,
    near: Any, gain: Any,
) -> Any:  # fmt: skip
    """Put new for each left, right at places; note the neighbours.

    The positions of new take the place of the first of these. For side 0 and 1 near lists the different neighbours
    (the gap is one), and gain says how often each was met. Returns how many neighbours a side has, and how many
    positions.
    """
    kinds0 = kinds1 = met = 0
    a, b, gap = sizes[left], sizes[right], len(sizes)
    held = np.empty(BLOCK, np.int64)
    weights = np.empty(BLOCK, np.int64)
    for first in range(0, len(places), BLOCK):
        some = np.int64(0)
        for k in range(first, min(first + BLOCK, len(places))):
            p = np.int64(places[k])
            held[some] = p
            weights[some] = weight[min(p, singles)]
            some += cells[p] == left
        for k in range(some):
            p = held[k]
            r = p + a
            if cells[p] != left or cells[r] != right:  # in a run of equal symbols the merge before may have taken it
                continue
            w = weights[k]
            if w < 0:
                w = large[~w]
            x = np.int64(cells[p - 1])
            y = np.int64(cells[r + b])
            cells[r] = gap  # nothing looks inside a symbol, except to find that what was here is gone
            cells[p] = new
            cells[r + b - 1] = new
            places[met] = p
            met += 1
            near[0, kinds0] = x
            kinds0 += gain[0, x] == 0
            gain[0, x] += w
            near[1, kinds1] = y
            kinds1 += gain[1, y] == 0
            gain[1, y] += w
    return (kinds0, kinds1), met


@njit(nogil=True)
def sort_out(
    side: Any, symbol: Any, cells: Any, sizes: Any, homes: Any, near: Any, number: Any, seen: Any, where: Any,
    rows: Any, slots: Any, places: Any, used: Any,
) -> Any:  # fmt: skip
    """Give the pairs of a symbol with older ones on one side their positions; there must be room.

    homes: the positions of the symbol, of which those that still hold are kept. Returns how many these are, and how
    many places are used.
    """
    kinds = met = still = 0
    step = sizes[symbol] if side == 1 else -1
    newest = symbol - side  # a pair with a newer symbol arose with that one; two equal ones belong to side 0
    for k in range(len(homes)):
        p = np.int64(homes[k])
        x = np.int64(cells[p + step])
        here = cells[p] == symbol
        homes[still] = p
        still += here
        seen[met] = x
        where[met] = p
        met += here & (x <= newest)
    for k in range(met):
        x = np.int64(seen[k])
        near[side, kinds] = x
        kinds += number[x] == 0
        number[x] += 1
    for k in range(kinds):
        x = near[side, k]
        s = slot_of(slots, beside(side, x, symbol))
        row = slots[s, ROW]
        if slots[s, KEY] == -1 or rows[row, COUNT] == 0:
            number[x] = -1
            continue
        rows[row, FIRST] = used
        rows[row, MANY] = number[x]
        used += number[x]
        number[x] = used - number[x]  # from here on: where its next position goes
    for k in range(met):
        x = np.int64(seen[k])
        if number[x] >= 0:
            places[number[x]] = where[k] if side == 1 else where[k] - sizes[x]
            number[x] += 1
    for k in range(kinds):
        number[near[side, k]] = 0
    return still, used


@njit(nogil=True)
def add_name(names: Any, start: Any, left: Any, right: Any, new: Any) -> Any:
    """Store the bytes of a new token; returns the store, larger if it had no room."""
    middle = start[new] + start[left + 1] - start[left]
    start[new + 1] = middle + start[right + 1] - start[right]
    if start[new + 1] > len(names):
        wide = np.empty(2 * start[new + 1], np.uint8)
        for k in range(start[new]):
            wide[k] = names[k]
        names = wide
    for k in range(middle - start[new]):
        names[start[new] + k] = names[start[left] + k]
    for k in range(start[new + 1] - middle):
        names[middle + k] = names[start[right] + k]
    return names


@njit(nogil=True)
def update_counts(
    left: Any, right: Any, new: Any, kinds: Any, near: Any, gain: Any, rows: Any, slots: Any, pairs: Any, made: Any,
    min_count: Any,
) -> Any:  # fmt: skip
    """Give the pairs of new their rows; what they gained, the pairs with the old symbols lost.

    A pair that arises less often than min_count never gets there, and gets no row. Returns how many rows there are;
    made lists the pairs of the new ones.
    """
    fresh = 0
    for side in range(2):
        for k in range(kinds[side]):
            x = near[side, k]
            if gain[side, x] >= min_count and x <= new:
                key = beside(side, x, new)
                s = slot_of(slots, key)
                slots[s, KEY] = key
                slots[s, ROW] = pairs + fresh
                rows[pairs + fresh, COUNT] = gain[side, x]
                rows[pairs + fresh, MANY] = 0
                made[fresh] = key
                fresh += 1
    for side in range(2):
        for k in range(kinds[side]):
            x = near[side, k]
            s = slot_of(slots, beside(side, x, right if side else left))
            if slots[s, KEY] != -1:
                rows[slots[s, ROW], COUNT] -= gain[side, x]
            gain[side, x] = 0
    return pairs + fresh


@njit(
    ROWS(
        CELLS, READ_CELLS, INTEGERS, types.int64, ROWS, ROWS, types.int64, CELLS, BYTES, types.int64, types.int64,
        types.int64, types.int64, INTEGERS,
    ),
    nogil=True,
    cache=True,
)  # fmt: skip
def learn(
    cells: Any, weight: Any, large: Any, singles: Any, rows: Any, slots: Any, pairs: Any, places: Any, symbols: Any,
    wanted: Any, order: Any, min_count: Any, max_bytes: Any, old: Any,
) -> Any:  # fmt: skip
    """The merges, best pair after best pair; see `merges`."""
    vocabulary = 256 + wanted
    used = rows[:pairs, MANY].sum()
    names = np.empty(4096, np.uint8)  # the bytes of every token, one after the other, for GREATEST_BYTES
    start = np.zeros(vocabulary + 1, np.int64)
    for b in range(256):
        names[symbols[b]] = b
        start[b + 1] = b + 1
    heap = np.empty((pairs + 1024, 2), np.int64)
    live = np.int64(0)
    for s in range(len(slots)):
        if slots[s, KEY] != -1 and max_bytes >= 2:
            push(heap, live, rows[slots[s, ROW], COUNT], slots[s, KEY], order, (names, start))
            live += 1
    sizes = np.ones(vocabulary, np.int64)
    home = np.zeros((vocabulary + 1, 2), np.int64)  # of a symbol: where its positions begin in places, how many
    out = np.empty((wanted, 4), np.int64)
    near = np.empty((2, vocabulary + 2), np.int64)
    gain = np.zeros((2, vocabulary + 1), np.int64)
    number = np.zeros(vocabulary, np.int64)
    made = np.empty(2 * vocabulary, np.int64)
    seen = np.empty(1 << 12, np.int32)
    where = np.empty(1 << 12, np.int32)
    new = np.int64(256)
    while new < vocabulary:
        live = settle(heap, live, rows, slots, order, (names, start))
        chosen = new - 256 >= len(old)
        if chosen and (live == 0 or heap[0, 0] < min_count):
            break
        key = heap[0, 1] if chosen else old[new - 256]
        row = slots[slot_of(slots, key), ROW]  # -1 for an old pair that never occurred
        top = rows[row, COUNT] if row >= 0 else 0
        if chosen:
            live = drop_top(heap, live, order, (names, start))
            live = settle(heap, live, rows, slots, order, (names, start))  # now the first entry is the runner-up
        left, right = key >> 32, key & 0xFFFFFFFF
        out[new - 256, 0], out[new - 256, 1], out[new - 256, 2] = left, right, top
        out[new - 256, 3] = chosen and live > 0 and heap[0, 0] == top
        sizes[new] = sizes[left] + sizes[right]
        names = add_name(names, start, left, right, new)
        if top == 0:
            new += 1
            continue
        if rows[row, MANY] == 0:
            symbol, side = max(left, right), 1 if left > right else 0
            first, n = home[symbol, 0], home[symbol, 1]
            seen, where = longer(seen, n + 1), longer(where, n + 1)
            places = longer(places, used + n)
            home[symbol, 1], used = sort_out(
                side, symbol, cells, sizes, places[first : first + n], near, number, seen, where, rows, slots, places,
                used,
            )  # fmt: skip
        here = places[rows[row, FIRST] : rows[row, FIRST] + rows[row, MANY]]
        kinds, met = replace(cells, weight, large, singles, sizes, here, left, right, new, near, gain)
        home[new, 0] = rows[row, FIRST]
        home[new, 1] = met
        rows = more_rows(rows, pairs + kinds[0] + kinds[1])
        heap = more_rows(heap, live + kinds[0] + kinds[1])
        slots = wider(slots, pairs + kinds[0] + kinds[1])
        least = min_count if chosen else 1
        known, pairs = pairs, update_counts(left, right, new, kinds, near, gain, rows, slots, pairs, made, least)
        rows[row, COUNT] = 0
        for k in range(pairs - known):
            now, key = rows[known + k, COUNT], made[k]
            if now > 0 and sizes[key >> 32] + sizes[key & 0xFFFFFFFF] <= max_bytes:
                push(heap, live, now, key, order, (names, start))
                live += 1
        new += 1
    return out[: new - 256].copy()


def merges(
    store: NDArray[np.uint8],
    ends: NDArray[np.int64],
    counts: NDArray[np.int64],
    symbols: NDArray[np.uint8],
    wanted: int,
    order: int,
    min_count: int,
    max_bytes: int,
    old: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The merges of pieces store[:ends[0]], store[ends[0]:ends[1]], … that occur counts times (above 0).

    symbols gives the id of each byte (a permutation of 0..255). Stops after `wanted` merges, or when the best pair
    occurs less than min_count times. A pair whose bytes would be more than max_bytes is never merged. Returns one row
    per merge: left id, right id, count when it was merged, 1 if another pair had the same count. The first merges are
    the pairs `old` (left << 32 | right), even if they do not occur. There must be fewer than 2**31 bytes and pieces
    together.
    """
    large = counts >= 2**31  # a weight below 0 says where among these it is
    weights = np.where(large, ~(np.cumsum(large) - 1), counts).astype(np.int32)
    cells = np.empty(len(store) + len(ends) + 1, np.int32)
    weight = np.empty(len(cells), np.int32)
    n, singles = lay_out(store, ends, weights, symbols, cells, weight, 256 + wanted)
    cells, weight, counts = cells[:n], weight[:n], counts[large]
    count, many = byte_pairs(cells, weight, counts, singles)
    if not len(old):
        many[count < min_count] = 0
    places = np.empty(2 * int(many.sum()) + 1024, np.int32)  # memory that is not written costs nothing
    rows, slots, pairs = seed(count, many, cells, places)
    found: NDArray[np.int64] = learn(
        cells, weight, counts, singles, rows, slots, pairs, places, symbols, wanted, order, min_count, max_bytes, old
    )
    return found
