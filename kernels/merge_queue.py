"""The queue of pairs to merge: a heap in a total order, and the table from a pair to its row.

The heap holds each live pair once, with a count that may be too high and is put right when it reaches the top. The
order is total, so the result does not depend on how the heap is laid out.
"""

from typing import Any

import numpy as np
from numba import njit

KEY, ROW = range(2)  # of a slot: the pair (left << 32 | right; -1: free), its row
COUNT, FIRST, MANY = range(
    3
)  # of a row: how often, where in places its positions are, how many (0: not yet sorted out)
SMALLEST_IDS, GREATEST_BYTES = range(2)  # orders of pairs with equal counts
SPREAD = 0x1E3779B97F4A7C15


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
