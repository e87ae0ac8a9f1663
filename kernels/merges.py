"""Byte-pair merges from distinct pieces with counts: the exact greedy loop, incrementally.

The pieces of two bytes or more lie in one array of cells, with a gap before each and one at the end; a symbol fills
the first and the last cell of its bytes, so that both neighbours are found in one step. Every pair has a row with its
count and the positions it had when it arose (later it can only lose some). A heap holds each live pair once, with a
count that may be too high and is put right when it reaches the top. The order is total, so the result does not depend
on how the heap is laid out. A run of equal symbols counts every adjacent pair, overlaps included.
"""

from typing import Any

import numpy as np
from numba import int64, njit, types

GAP, INSIDE = -1, -2
KEY, ROW = range(2)  # of a slot: the pair (left << 32 | right), its row
COUNT, FIRST, MANY = range(3)  # of a row: how often, where in places its positions are, how many
SMALLEST_IDS, GREATEST_BYTES = range(2)  # orders of pairs with equal counts
SPREAD = 0x1E3779B97F4A7C15

BYTES = types.Array(types.uint8, 1, "C", readonly=True)
INTEGERS = types.Array(int64, 1, "C", readonly=True)
ROWS = types.Array(int64, 2, "C")


@njit(nogil=True)
def compare_bytes(a: Any, b: Any, tokens: Any) -> Any:
    """Below 0, 0 or above 0 as the bytes of token a are less than, equal to or greater than those of b."""
    names, start = tokens
    size_a, size_b = start[a + 1] - start[a], start[b + 1] - start[b]
    for k in range(min(size_a, size_b)):
        d = np.int64(names[start[a] + k]) - np.int64(names[start[b] + k])
        if d != 0:
            return d
    return size_a - size_b


@njit(nogil=True)
def before(count: Any, key: Any, other_count: Any, other_key: Any, order: Any, tokens: Any) -> Any:
    """Whether a pair is merged before another."""
    if count != other_count:
        return count > other_count
    if order == SMALLEST_IDS:
        return key < other_key
    d = compare_bytes(key >> 32, other_key >> 32, tokens)
    if d == 0:
        d = compare_bytes(key & 0xFFFFFFFF, other_key & 0xFFFFFFFF, tokens)
    return d > 0


@njit(nogil=True)
def push(heap: Any, n: Any, count: Any, key: Any, order: Any, tokens: Any) -> Any:
    """Add an entry to the n of a heap that has room."""
    i = n
    while i > 0:
        up = (i - 1) >> 1
        if not before(count, key, heap[up, 0], heap[up, 1], order, tokens):
            break
        heap[i, 0] = heap[up, 0]
        heap[i, 1] = heap[up, 1]
        i = up
    heap[i, 0] = count
    heap[i, 1] = key


@njit(nogil=True)
def replace_top(heap: Any, n: Any, count: Any, key: Any, order: Any, tokens: Any) -> Any:
    """Put an entry in place of the first of n."""
    i = 0
    while 2 * i + 1 < n:
        down = 2 * i + 1
        if down + 1 < n and before(heap[down + 1, 0], heap[down + 1, 1], heap[down, 0], heap[down, 1], order, tokens):
            down += 1
        if not before(heap[down, 0], heap[down, 1], count, key, order, tokens):
            break
        heap[i, 0] = heap[down, 0]
        heap[i, 1] = heap[down, 1]
        i = down
    heap[i, 0] = count
    heap[i, 1] = key


@njit(nogil=True)
def drop_top(heap: Any, n: Any, order: Any, tokens: Any) -> Any:
    """Remove the first of n entries; returns how many are left."""
    n -= 1
    replace_top(heap, n, heap[n, 0], heap[n, 1], order, tokens)
    return n


@njit(nogil=True)
def settle(heap: Any, n: Any, rows: Any, slots: Any, order: Any, tokens: Any) -> Any:
    """Make the first entry a true one, dropping dead pairs; returns how many entries are left."""
    while n > 0:
        now = rows[slots[slot_of(slots, heap[0, 1]), ROW], COUNT]
        if now == 0:
            n = drop_top(heap, n, order, tokens)
        elif now != heap[0, 0]:
            replace_top(heap, n, now, heap[0, 1], order, tokens)
        else:
            break
    return n


@njit(nogil=True)
def beside(side: Any, neighbour: Any, symbol: Any) -> Any:
    """The pair of a symbol and its neighbour to the left (side 0) or right."""
    return symbol << 32 | neighbour if side else neighbour << 32 | symbol


@njit(nogil=True)
def slot_of(slots: Any, key: Any) -> Any:
    """The slot of a pair, or the empty one where it belongs."""
    mask = len(slots) - 1
    s = ((key ^ key >> 32) * SPREAD) >> 24 & mask
    while slots[s, KEY] != -1 and slots[s, KEY] != key:
        s = (s + 1) & mask
    return s


@njit(nogil=True)
def longer(a: Any, n: Any) -> Any:
    """a, or a longer copy if it has fewer than n rows."""
    if n <= len(a):
        return a
    b = np.empty((max(n, len(a) + (len(a) >> 1)), a.shape[1]), a.dtype)
    b[: len(a)] = a
    return b


@njit(nogil=True)
def wider(slots: Any, n: Any) -> Any:
    """slots, or a larger copy if they would be more than half full with n."""
    while 2 * n > len(slots):
        old = slots
        slots = np.full((2 * len(old), 2), -1, np.int64)
        for o in range(len(old)):
            if old[o, KEY] != -1:
                s = slot_of(slots, old[o, KEY])
                slots[s, KEY] = old[o, KEY]
                slots[s, ROW] = old[o, ROW]
    return slots


@njit(nogil=True)
def lay_out(store: Any, ends: Any, symbols: Any) -> Any:
    """Cells of the pieces, and the piece of each cell."""
    cells = np.full(len(store) + len(ends) + 1, GAP, np.int32)
    piece = np.zeros(len(cells), np.int32)
    at = 0
    start = np.int64(0)
    for k in range(len(ends)):
        if ends[k] - start > 1:
            at += 1
            for q in range(start, ends[k]):
                cells[at] = symbols[store[q]]
                piece[at] = k
                at += 1
        start = ends[k]
    return cells[: at + 1], piece[: at + 1]


@njit(nogil=True)
def byte_pairs(cells: Any, piece: Any, counts: Any) -> Any:
    """Count and number of positions of each pair of bytes; the positions, pair by pair."""
    count = np.zeros(1 << 16, np.int64)
    stop = np.zeros((1 << 16) + 1, np.int64)
    for p in range(len(cells) - 1):
        if cells[p] >= 0 and cells[p + 1] >= 0:
            pair = cells[p] << 8 | cells[p + 1]
            count[pair] += counts[piece[p]]
            stop[pair + 1] += 1
    stop = np.cumsum(stop)
    many = np.diff(stop)
    places = np.empty((stop[-1] + 1024, 1), np.int32)
    for p in range(len(cells) - 1):
        if cells[p] >= 0 and cells[p + 1] >= 0:
            pair = cells[p] << 8 | cells[p + 1]
            places[stop[pair], 0] = p
            stop[pair] += 1
    return count, many, places


@njit(nogil=True)
def replace(
    cells: Any, piece: Any, counts: Any, sizes: Any, places: Any, left: Any, right: Any, new: Any, near: Any,
    gain: Any, number: Any, seen: Any, where: Any,
) -> Any:  # fmt: skip
    """Put new for each left, right at places; note the neighbours.

    For side 0 and 1: near lists the different neighbours, gain and number say how often and in how many places each
    was met, seen and where list all meetings in order. Returns how many neighbours and how many meetings a side has.
    """
    kinds0 = kinds1 = met0 = met1 = 0
    a, b = sizes[left], sizes[right]
    for k in range(len(places)):
        p = np.int64(places[k, 0])
        r = p + a
        if cells[p] != left or cells[r] != right:
            continue
        weight = counts[piece[p]]
        x = np.int64(cells[p - 1])
        y = np.int64(cells[r + b])
        cells[r] = INSIDE
        cells[p] = new
        cells[r + b - 1] = new
        if x >= 0:
            if number[0, x] == 0:
                near[0, kinds0] = x
                kinds0 += 1
            gain[0, x] += weight
            number[0, x] += 1
            seen[0, met0] = x
            where[0, met0] = p - sizes[x]
            met0 += 1
        if y >= 0:
            if number[1, y] == 0:
                near[1, kinds1] = y
                kinds1 += 1
            gain[1, y] += weight
            number[1, y] += 1
            seen[1, met1] = y
            where[1, met1] = p
            met1 += 1
    return (kinds0, kinds1), (met0, met1)


@njit(nogil=True)
def seed(count: Any, many: Any) -> Any:
    """Rows and slots of the pairs of bytes that occur, and how many they are."""
    n = np.count_nonzero(count)
    rows = np.empty((n + 1024, 3), np.int64)
    slots = wider(np.full((1 << 10, 2), -1, np.int64), n)
    pairs = 0
    used = np.int64(0)
    for pair in range(1 << 16):
        if count[pair] > 0:
            key = np.int64(pair >> 8) << 32 | pair & 255
            s = slot_of(slots, key)
            slots[s, KEY] = key
            slots[s, ROW] = pairs
            rows[pairs, COUNT] = count[pair]
            rows[pairs, FIRST] = used
            rows[pairs, MANY] = many[pair]
            pairs += 1
            used += many[pair]
    return rows, slots, pairs


@njit(nogil=True)
def add_name(names: Any, start: Any, left: Any, right: Any, new: Any) -> Any:
    """Store the bytes of a new token; returns the store, larger if it had no room."""
    middle = start[new] + start[left + 1] - start[left]
    start[new + 1] = middle + start[right + 1] - start[right]
    if start[new + 1] > len(names):
        wide = np.empty(2 * start[new + 1], np.uint8)
        wide[: start[new]] = names[: start[new]]
        names = wide
    names[start[new] : middle] = names[start[left] : start[left + 1]]
    names[middle : start[new + 1]] = names[start[right] : start[right + 1]]
    return names


@njit(nogil=True)
def add_pairs(
    side: Any, new: Any, kinds: Any, met: Any, near: Any, gain: Any, number: Any, seen: Any, where: Any,
    rows: Any, slots: Any, places: Any, pairs: Any, used: Any, min_count: Any,
) -> Any:  # fmt: skip
    """Give the pairs of new with its neighbours on one side their rows and positions; there must be room.

    A pair that arises less often than min_count never gets there, and gets no row.
    """
    for k in range(kinds):
        x = near[side, k]
        if gain[side, x] < min_count:
            number[side, x] = -1
            continue
        key = beside(side, x, new)
        s = slot_of(slots, key)
        slots[s, KEY] = key
        slots[s, ROW] = pairs
        rows[pairs, COUNT] = gain[side, x]
        rows[pairs, FIRST] = used
        rows[pairs, MANY] = number[side, x]
        pairs += 1
        used += number[side, x]
        number[side, x] = used - number[side, x]  # from here on: where its next position goes
    for k in range(met):
        x = seen[side, k]
        if number[side, x] >= 0:
            places[number[side, x], 0] = where[side, k]
            number[side, x] += 1
    return pairs, used


@njit(nogil=True)
def take_away(side: Any, old: Any, kinds: Any, near: Any, gain: Any, number: Any, rows: Any, slots: Any) -> None:
    """What the new pairs gained, the pairs with the old symbol lost."""
    for k in range(kinds):
        x = near[side, k]
        s = slot_of(slots, beside(side, x, old))
        if slots[s, KEY] != -1:
            rows[slots[s, ROW], COUNT] -= gain[side, x]
        gain[side, x] = 0
        number[side, x] = 0


@njit(ROWS(BYTES, INTEGERS, INTEGERS, BYTES, int64, int64, int64, int64, INTEGERS), nogil=True, cache=True)
def merges(
    store: Any, ends: Any, counts: Any, symbols: Any, wanted: Any, order: Any, min_count: Any, max_bytes: Any, old: Any
) -> Any:
    """The merges of pieces store[:ends[0]], store[ends[0]:ends[1]], … that occur counts times (above 0).

    symbols gives the id of each byte (a permutation of 0..255). Stops after `wanted` merges, or when the best pair
    occurs less than min_count times. A pair whose bytes would be more than max_bytes is never merged. Returns one row
    per merge: left id, right id, count when it was merged, 1 if another pair had the same count. The first merges are
    the pairs `old` (left << 32 | right), even if they do not occur. There must be fewer than 2**31 bytes and pieces
    together.
    """
    vocabulary = 256 + wanted
    cells, piece = lay_out(store, ends, symbols)
    count, many, places = byte_pairs(cells, piece, counts)
    rows, slots, pairs = seed(count, many)
    used = np.int64(many.sum())
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
    out = np.empty((wanted, 4), np.int64)
    near = np.empty((2, vocabulary), np.int64)
    gain = np.zeros((2, vocabulary), np.int64)
    number = np.zeros((2, vocabulary), np.int64)
    seen = np.empty((2, 1 << 12), np.int32)
    where = np.empty((2, 1 << 12), np.int32)
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
        first, n = rows[row, FIRST], rows[row, MANY]
        if n > seen.shape[1]:
            seen = np.empty((2, 2 * n), np.int32)
            where = np.empty((2, 2 * n), np.int32)
        here = places[first : first + n]
        kinds, met = replace(cells, piece, counts, sizes, here, left, right, new, near, gain, number, seen, where)
        rows = longer(rows, pairs + kinds[0] + kinds[1])
        heap = longer(heap, live + kinds[0] + kinds[1])
        slots = wider(slots, pairs + kinds[0] + kinds[1])
        places = longer(places, used + met[0] + met[1])
        for side in range(2):
            pairs, used = add_pairs(
                side, new, kinds[side], met[side], near, gain, number, seen, where, rows, slots, places, pairs, used,
                min_count if chosen else 1,
            )  # fmt: skip
        take_away(0, left, kinds[0], near, gain, number, rows, slots)
        take_away(1, right, kinds[1], near, gain, number, rows, slots)
        rows[row, COUNT] = 0
        for side in range(2):
            for k in range(kinds[side]):
                x = near[side, k]
                key = beside(side, x, new)
                s = slot_of(slots, key)
                now = rows[slots[s, ROW], COUNT] if slots[s, KEY] != -1 else 0
                if now > 0 and sizes[x] + sizes[new] <= max_bytes:
                    push(heap, live, now, key, order, (names, start))
                    live += 1
        new += 1
    return out[: new - 256].copy()
