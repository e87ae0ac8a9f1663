"""Byte-pair encoding of pieces with learned merges.

Of all pairs of neighbours the one that was learned first is merged, the leftmost of equals, until none is left. A new
symbol has a larger id than the pair it came from, so its own pairs are always merged later. Short pieces are searched
from end to end each time; a long piece keeps its pairs in a heap and its symbols in a linked list, O(n log n).
"""

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

SHORT = 48  # bytes of a piece that is searched from end to end
NONE = np.int64(1 << 31)  # above every id
SPREAD = 0x1E3779B97F4A7C15

BYTES = types.Array(types.uint8, 1, "C", readonly=True)
INTEGERS = types.Array(types.int64, 1, "C", readonly=True)
SLOTS = types.Array(types.int64, 2, "C", readonly=True)
ROWS = types.Array(types.int64, 2, "C")
RESULT = types.Tuple((types.Array(types.int32, 1, "C"), types.Array(types.int64, 1, "C")))


@njit(ROWS(types.Array(types.int64, 2, "C", readonly=True)), nogil=True, cache=True)
def pair_slots(merges: Any) -> Any:
    """Hash table of the merges (left id, right id), whose ids follow from 256: rows of left << 32 | right, new id."""
    size = 16
    while size < 3 * len(merges):
        size *= 2
    slots = np.full((size, 2), -1, np.int64)
    for k in range(len(merges)):
        key = merges[k, 0] << 32 | merges[k, 1]
        s = ((key ^ key >> 32) * SPREAD) >> 24 & (size - 1)
        while slots[s, 0] != -1:
            s = (s + 1) & (size - 1)
        slots[s, 0] = key
        slots[s, 1] = 256 + k
    return slots


@njit(nogil=True)
def joined(slots: Any, left: Any, right: Any) -> Any:
    """Id of the merge of two symbols, or NONE."""
    key = left << 32 | right
    mask = len(slots) - 1
    s = ((key ^ key >> 32) * SPREAD) >> 24 & mask
    while slots[s, 0] != key:
        if slots[s, 0] == -1:
            return NONE
        s = (s + 1) & mask
    return slots[s, 1]


@njit(nogil=True)
def encode_short(data: Any, start: Any, end: Any, slots: Any, ids: Any, pairs: Any, out: Any, at: Any) -> Any:
    """Encode one piece of two to SHORT bytes into out[at:]; ids and pairs are workspace. Returns the new at."""
    n = end - start
    for k in range(n):
        ids[k] = data[start + k]
    for k in range(n - 1):
        pairs[k] = joined(slots, ids[k], ids[k + 1])
    while n > 1:
        best = NONE
        i = 0
        for k in range(n - 1):
            if pairs[k] < best:
                best = pairs[k]
                i = k
        if best == NONE:
            break
        ids[i] = best
        n -= 1
        for k in range(i + 1, n):
            ids[k] = ids[k + 1]
            pairs[k - 1] = pairs[k]
        if i > 0:
            pairs[i - 1] = joined(slots, ids[i - 1], best)
        if i < n - 1:
            pairs[i] = joined(slots, best, ids[i + 1])
    for k in range(n):
        out[at + k] = ids[k]
    return at + n


@njit(nogil=True)
def push(heap: Any, n: Any, entry: Any) -> Any:
    """Add an entry to the n of a heap (smallest first)."""
    i = n
    while i > 0:
        up = (i - 1) >> 1
        if heap[up] <= entry:
            break
        heap[i] = heap[up]
        i = up
    heap[i] = entry
    return n + 1


@njit(nogil=True)
def drop_top(heap: Any, n: Any) -> Any:
    """Remove the first of n entries; returns how many are left."""
    n -= 1
    entry = heap[n]
    i = 0
    while 2 * i + 1 < n:
        down = 2 * i + 1
        if down + 1 < n and heap[down + 1] < heap[down]:
            down += 1
        if heap[down] >= entry:
            break
        heap[i] = heap[down]
        i = down
    heap[i] = entry
    return n


@njit(nogil=True)
def encode_long(data: Any, start: Any, end: Any, slots: Any, out: Any, at: Any) -> Any:
    """Encode one piece into out[at:] with a heap of (id of the merge, place of its left symbol)."""
    n = end - start
    ids = np.empty(n, np.int64)
    after = np.empty(n, np.int64)
    ahead = np.empty(n, np.int64)
    pairs = np.full(n, NONE, np.int64)
    heap = np.empty(3 * n, np.int64)
    waiting = 0
    for k in range(n):
        ids[k] = data[start + k]
        after[k] = k + 1
        ahead[k] = k - 1
    for k in range(n - 1):
        pairs[k] = joined(slots, ids[k], ids[k + 1])
        if pairs[k] < NONE:
            waiting = push(heap, waiting, pairs[k] << 32 | k)
    while waiting > 0:
        best, i = heap[0] >> 32, heap[0] & 0xFFFFFFFF
        waiting = drop_top(heap, waiting)
        if pairs[i] != best:
            continue
        gone = after[i]
        ids[i] = best
        pairs[gone] = NONE
        pairs[i] = NONE
        after[i] = after[gone]
        if after[i] < n:
            ahead[after[i]] = i
            pairs[i] = joined(slots, best, ids[after[i]])
            if pairs[i] < NONE:
                waiting = push(heap, waiting, pairs[i] << 32 | i)
        if i > 0:
            k = ahead[i]
            pairs[k] = joined(slots, ids[k], best)
            if pairs[k] < NONE:
                waiting = push(heap, waiting, pairs[k] << 32 | k)
    i = np.int64(0)
    while i < n:
        out[at] = ids[i]
        at += 1
        i = after[i]
    return at


@njit(
    RESULT(BYTES, INTEGERS, INTEGERS, INTEGERS, INTEGERS, SLOTS),
    nogil=True,
    cache=True,
)
def encode(data: Any, starts: Any, ends: Any, before: Any, specials: Any, slots: Any) -> Any:
    """Ids of the pieces of segments, as `scanners.scan` gives them.

    specials: per segment the id that stands there instead of text, or -1. Returns the ids and, per segment and once
    more at the end, the number of ids before it.
    """
    total = np.int64(0)
    for s in range(len(starts)):
        total += 1 if before[s] == before[s + 1] else ends[before[s + 1] - 1] - starts[s]
    out = np.empty(total, np.int32)
    offsets = np.zeros(len(starts) + 1, np.int64)
    ids = np.empty(SHORT, np.int64)
    pairs = np.empty(SHORT, np.int64)
    at = np.int64(0)
    for s in range(len(starts)):
        if specials[s] >= 0:
            out[at] = specials[s]
            at += 1
        start = starts[s]
        for k in range(before[s], before[s + 1]):
            end = ends[k]
            if end - start == 1:
                out[at] = data[start]
                at += 1
            elif end - start <= SHORT:
                at = encode_short(data, start, end, slots, ids, pairs, out, at)
            else:
                at = encode_long(data, start, end, slots, out, at)
            start = end
        offsets[s + 1] = at
    return out[:at].copy(), offsets


def table_of(merges: NDArray[np.int64]) -> NDArray[np.int64]:
    """The hash table that `encode` takes, from merges of shape (n, 2)."""
    slots: NDArray[np.int64] = pair_slots(np.ascontiguousarray(merges, np.int64))
    return slots
