"""Byte-pair encoding of pieces with learned merges.

Of all pairs of neighbours the one that was learned first is merged, the leftmost of equals, until none is left. A new
symbol has a larger id than the pair it came from, so its own pairs are always merged later. Short pieces are searched
from end to end each time; a long piece keeps its pairs in a heap and its symbols in a linked list, O(n log n).

Most pieces of a text have been met before, so short pieces are kept with their ids, in an open-addressing table of
bounded size, with the keys, the slots and the first look over a block of `kernels/pieces.py`.
"""

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from kernels.pieces import BLOCK, KEY, ROW, SPARE, copy_slots, find_keys, first_slot, look

SHORT = 127  # bytes of a piece that is searched from end to end, and kept: seven bits
ID_BITS = 21  # an id and the pair it was made from lie in one number
MOST_IDS = (1 << ID_BITS) - 1
NONE = np.int64(1 << 31)  # above every id
SPREAD = 0x1E3779B97F4A7C15
MOST = 1 << 20  # slots of the table of kept pieces, half of them used: with their rows 32 MB
# Columns of a row: where the bytes begin in the store << 14 | how many there are << 7 | number of ids; the ids
# themselves where they are one or two, else where they begin among the kept ids; the first eight bytes of a longer
# piece, the last eight.
PLACE, IDS, HEAD, TAIL = range(4)

BYTES = types.Array(types.uint8, 1, "C", readonly=True)
INTEGERS = types.Array(types.int64, 1, "C", readonly=True)
ROWS = types.Array(types.int64, 2, "C")
STORE = types.Array(types.uint8, 1, "C")
IDS_OUT = types.Array(types.int32, 1, "C")
FILLED = types.UniTuple(types.int64, 3)
MERGES = types.UniTuple(types.Array(types.int64, 1, "C"), 2)
RESULT = types.Tuple((types.Array(types.int64, 1, "C"), FILLED))


@njit(types.Array(types.int64, 1, "C")(types.Array(types.int64, 2, "C", readonly=True)), nogil=True, cache=True)
def pair_slots(merges: Any) -> Any:
    """Hash table of the merges (left id, right id), whose ids follow from 256: pair << ID_BITS | new id, 0 if free."""
    size = 16
    while size < 4 * len(merges):
        size *= 2
    slots = np.zeros(size, np.int64)
    for k in range(len(merges)):
        pair = merges[k, 0] << ID_BITS | merges[k, 1]
        s = (pair * SPREAD) >> 29 & (size - 1)
        while slots[s] != 0:
            s = (s + 1) & (size - 1)
        slots[s] = pair << ID_BITS | 256 + k
    return slots


@njit(nogil=True)
def joined(slots: Any, left: Any, right: Any) -> Any:
    """Id of the merge of two symbols, or NONE."""
    pair = left << ID_BITS | right
    mask = len(slots) - 1
    s = (pair * SPREAD) >> 29 & mask
    slot = slots[s]
    while slot >> ID_BITS != pair and slot != 0:  # as a rule false at once, whatever the answer: no jump to guess
        s = (s + 1) & mask
        slot = slots[s]
    return slot & MOST_IDS if slot != 0 else NONE


@njit(nogil=True)
def encode_short(data: Any, start: Any, end: Any, merges: Any, work: Any, out: Any, at: Any) -> Any:
    """Encode one piece of up to SHORT bytes into out[at:]; work has four rows of SHORT + 2. Returns the new at.

    The symbols form a linked list over places 1..n; MOST_IDS, which merges with nothing, stands at 0 and n + 1.
    """
    slots, byte_pairs = merges
    ids, after, ahead, pairs = work[0], work[1], work[2], work[3]  # pairs: id of the merge << 8 | place of its left
    n = end - start
    ids[0] = MOST_IDS
    ids[n + 1] = MOST_IDS
    for k in range(1, n + 1):
        ids[k] = data[start + k - 1]
        after[k] = k + 1
        ahead[k] = k - 1
    for k in range(1, n):
        pairs[k] = byte_pairs[ids[k] << 8 | ids[k + 1]] << 8 | k
    least = NONE << 8
    for k in range(1, n):
        least = min(least, pairs[k])
    while least >> 8 < NONE:
        i, best = least & 255, least >> 8
        gone, k = after[i], ahead[i]
        j = after[gone]
        ids[i] = best
        after[i] = j
        ahead[j] = i
        pairs[gone] = pairs[i] = pairs[k] = NONE << 8
        to_right = joined(slots, best, ids[j]) << 8 | i
        to_left = joined(slots, ids[k], best) << 8 | k
        least = min(to_left, to_right)
        for q in range(1, n):  # before the two are stored, which the reads would have to wait for
            least = min(least, pairs[q])
        pairs[i] = to_right
        pairs[k] = to_left
    symbol = np.int64(1)
    while symbol <= n:
        out[at] = ids[symbol]
        at += 1
        symbol = after[symbol]
    return at


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
def encode_long(data: Any, start: Any, end: Any, merges: Any, out: Any, at: Any) -> Any:
    """Encode one piece into out[at:] with a heap of (id of the merge, place of its left symbol)."""
    slots, byte_pairs = merges
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
        pairs[k] = byte_pairs[ids[k] << 8 | ids[k + 1]]
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


@njit(nogil=True)
def encode_block(
    data: Any, start: Any, ends: Any, keys: Any, words: Any, found: Any, merges: Any, slots: Any, rows: Any,
    store: Any, kept: Any, filled: Any, work: Any, out: Any, at: Any,
) -> Any:  # fmt: skip
    """Encode pieces that follow one another into out[at:], from the table where they are kept; there must be room.

    found: from `look`. filled: how many pieces are kept, their bytes in store, their ids in kept. Returns it with the
    new at.
    """
    pieces, used, many_kept = filled
    mask = len(slots) - 1
    origin = start
    for k in range(len(ends)):
        end = ends[k]
        key = keys[k]
        row = found[k]
        if row >= 0 and key > 0:
            place, ids = rows[row, PLACE], rows[row, IDS]
            many = place & 127
            if many <= 2:
                out[at] = ids & 0xFFFFFFFF
                out[at + 1] = ids >> 32
            else:
                for q in range(many):
                    out[at + q] = kept[ids + q]
            at += many
            start = end
            continue
        size = end - start
        if size > SHORT:
            at = encode_long(data, start, end, merges, out, at)
            start = end
            continue
        head, tail = words[start + 7 - origin], words[end - 1 - origin]
        s = first_slot(key, mask)
        while slots[s, KEY] != 0:
            if slots[s, KEY] == key:
                row = slots[s, ROW]
                if key > 0:
                    break
                if rows[row, PLACE] >> 7 & 127 == size and rows[row, HEAD] == head and rows[row, TAIL] == tail:
                    a = (rows[row, PLACE] >> 14) + 8
                    q = start + 8
                    while q < end - 8 and store[a] == data[q]:
                        q += 1
                        a += 1
                    if q >= end - 8:
                        break
            s = (s + 1) & mask
        if slots[s, KEY] != 0:
            place, ids = rows[row, PLACE], rows[row, IDS]
            many = place & 127
            if many <= 2:
                out[at] = ids & 0xFFFFFFFF
                out[at + 1] = ids >> 32
            else:
                for q in range(many):
                    out[at + q] = kept[ids + q]
            at += many
        else:
            first = at
            at = encode_short(data, start, end, merges, work, out, at)
            many = at - first
            if pieces < len(slots) >> 1:
                slots[s, KEY] = key
                slots[s, ROW] = pieces
                rows[pieces, PLACE] = used << 14 | size << 7 | many
                rows[pieces, HEAD] = head
                rows[pieces, TAIL] = tail
                for q in range(start, end):
                    store[used] = data[q]
                    used += 1
                if many <= 2:
                    rows[pieces, IDS] = np.int64(out[first]) | (np.int64(out[at - 1]) << 32 if many == 2 else 0)
                else:
                    rows[pieces, IDS] = many_kept
                    for q in range(many):
                        kept[many_kept + q] = out[first + q]
                    many_kept += many
                pieces += 1
        start = end
    return (pieces, used, many_kept), at


@njit(
    RESULT(
        BYTES, INTEGERS, INTEGERS, INTEGERS, INTEGERS, MERGES, ROWS, ROWS, STORE, IDS_OUT, FILLED, IDS_OUT, types.int64
    ),
    nogil=True,
    cache=True,
)  # fmt: skip
def encode_segments(
    data: Any, starts: Any, ends: Any, before: Any, specials: Any, merges: Any, slots: Any, rows: Any, store: Any,
    kept: Any, filled: Any, out: Any, at: Any,
) -> Any:  # fmt: skip
    """Write the ids of segments into out[at:]; there must be room everywhere. See `Encoder.encode`."""
    offsets = np.empty(len(starts) + 1, np.int64)
    offsets[0] = at
    keys = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    words = np.empty(1 << 14, np.int64)
    work = np.empty((4, SHORT + 2), np.int64)
    for s in range(len(starts)):
        if specials[s] >= 0:
            out[at] = specials[s]
            at += 1
        start = starts[s]
        for block in range(before[s], before[s + 1], BLOCK):
            some = ends[block : min(block + BLOCK, before[s + 1])]
            size = some[-1] - start
            if size + SPARE > len(words):
                words = np.empty(2 * size + SPARE, np.int64)
            find_keys(data, start, some, words, keys)
            look(keys, len(some), slots, found)
            filled, at = encode_block(
                data, start, some, keys, words, found, merges, slots, rows, store, kept, filled, work, out, at
            )
            start = some[-1]
        offsets[s + 1] = at
    return offsets, filled


class Encoder:
    """Encodes with the tables of `tables_of`, and keeps pieces with their ids; of use to one thread at a time."""

    def __init__(self, merges: tuple[NDArray[np.int64], NDArray[np.int64]]) -> None:
        self._merges = merges
        self._slots: NDArray[np.int64] = np.zeros((1 << 10, 2), np.int64)
        self._rows: NDArray[np.int64] = np.empty((1 << 9, 4), np.int64)
        self._store: NDArray[np.uint8] = np.empty(0, np.uint8)
        self._kept: NDArray[np.int32] = np.empty(0, np.int32)
        self._filled = (0, 0, 0)

    def encode(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        before: NDArray[np.int64],
        specials: NDArray[np.int64],
        out: NDArray[np.int32],
        at: int,
    ) -> NDArray[np.int64]:
        """Write the ids of the pieces of segments, as `scanners.scan` gives them, into out[at:].

        specials: per segment the id that stands there instead of text, or -1. out must have room for an id for each
        byte and each segment, and 2 more. Returns, per segment and once more at the end, where its ids begin in out.
        """
        size = int(ends[-1] - starts[0]) if len(ends) else 0
        self._make_room(len(ends), size)
        offsets: NDArray[np.int64]
        offsets, self._filled = encode_segments(
            data, starts, ends, before, specials, self._merges, self._slots, self._rows, self._store, self._kept,
            self._filled, out, at,
        )  # fmt: skip
        return offsets

    def _make_room(self, more: int, size: int) -> None:
        """Room for so many more pieces, as far as they are kept, of so many bytes in all."""
        pieces, used, ids = self._filled
        while 2 * (pieces + more) > len(self._slots) and len(self._slots) < MOST:
            slots = np.zeros((2 * len(self._slots), 2), np.int64)
            copy_slots(self._slots, slots)
            self._slots = slots
        if len(self._rows) < len(self._slots) >> 1:
            rows = np.empty((len(self._slots) >> 1, 4), np.int64)
            rows[:pieces] = self._rows[:pieces]
            self._rows = rows
        if 2 * pieces >= len(self._slots):
            return  # nothing more is kept
        if used + size > len(self._store):
            store = np.empty(2 * (used + size), np.uint8)
            store[:used] = self._store[:used]
            self._store = store
        if ids + size > len(self._kept):
            kept = np.empty(2 * (ids + size), np.int32)
            kept[:ids] = self._kept[:ids]
            self._kept = kept


def tables_of(merges: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tables that `encode` takes, from merges of shape (n, 2): all pairs hashed, and pairs of bytes by number.

    Raises ValueError for more than 2**21 ids.
    """
    if 256 + len(merges) > MOST_IDS:
        raise ValueError(f"{len(merges)} merges: the encoder takes at most {MOST_IDS - 256}")
    merges = np.ascontiguousarray(merges, np.int64)
    byte_pairs = np.full(1 << 16, NONE, np.int64)
    for new in np.flatnonzero((merges < 256).all(axis=1)).tolist():
        byte_pairs[merges[new, 0] << 8 | merges[new, 1]] = 256 + new
    slots: NDArray[np.int64] = pair_slots(merges)
    return slots, byte_pairs
