"""Counting of distinct pieces: an open-addressing table over raw bytes.

A slot holds a key and the number of a row; rows lie in order of first sight, so that those of frequent pieces are close
together and a listing is a slice. A piece of up to seven bytes is its own key; a longer one has a hash below zero, and
its first and last eight bytes in its row tell it from others with that hash, with the bytes between if there are any.

Pieces are counted in blocks, each in short passes (keys, first look, rows, counts): in a loop that only looks, the
processor waits for many slots at once, and only pieces that are not known by their first slot take the slow way. All
arithmetic is int64 and products wrap around. The arrays are made by NumPy, which asks the kernel for huge pages; memory
that numba allocates has none.
"""

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

BLOCK = 1 << 10  # pieces found before they are counted
PACKED = 7  # pieces up to this many bytes are their own key
ENDS = 16  # pieces up to this many bytes are known by their first and last eight
SPARE = 8  # words that may be read behind the last one
MANY_SLOTS, MANY_ROWS, MANY_BYTES = 1 << 18, 1 << 20, 1 << 25  # up to these, arrays grow in large steps
SPREAD = 0x1E3779B97F4A7C15
HASHED = np.int64(-1 << 63)
KEY, ROW = range(2)  # of a slot: the key (0: free), the row
# Columns of a row: occurrences, documents that hold the piece, the last of them, where the bytes begin in the store
# (they end where those of the next row begin), the first eight bytes of a longer piece, the last eight.
COUNT, DOCUMENTS, LAST, START, HEAD, TAIL = range(6)

BYTES = types.Array(types.uint8, 1, "C", readonly=True)
INTEGERS = types.Array(types.int64, 1, "C", readonly=True)
ROWS = types.Array(types.int64, 2, "C")
STORE = types.Array(types.uint8, 1, "C")
PLACE = types.UniTuple(types.int64, 3)
RESULT = types.Tuple((PLACE, types.int64, types.int64))


@njit(nogil=True)
def find_keys(data: Any, start: Any, ends: Any, words: Any, keys: Any) -> Any:
    """The key of each piece: its bytes and their number where that fits, else a hash below 0.

    words gets the eight bytes that end at each byte; it must have SPARE more.
    """
    word = np.int64(0)
    for k in range(start, ends[-1]):
        word = word << 8 | data[k]
        words[k - start] = word
    first = 0
    for k in range(len(ends)):
        after = ends[k] - start
        size = after - first
        last = words[after - 1]
        if size <= ENDS:
            few = min(size, PACKED)
            short = last & ((1 << 8 * few) - 1) | size << 56
            key = (size ^ words[first + 7]) * SPREAD
            key ^= key >> 32
            keys[k] = short if size <= PACKED else (key ^ last) * SPREAD | HASHED
        else:
            key = size
            for q in range(first + 7, after, 8):
                key = (key ^ words[q]) * SPREAD
                key ^= key >> 32
            keys[k] = (key ^ last) * SPREAD | HASHED
        first = after


@njit(nogil=True, inline="always")
def first_slot(key: Any, mask: Any) -> Any:
    return (key * SPREAD) >> 29 & mask


@njit(nogil=True)
def look(keys: Any, n: Any, slots: Any, rows: Any, found: Any, unsure: Any) -> Any:
    """For each of n keys the row in its first slot, or -1 if another key or none is there.

    unsure gets the pieces that are not known by that: with another key there, or a hash for a key. Returns how many;
    there must be room for one more.
    """
    mask = len(slots) - 1
    some = 0
    for k in range(n):
        key = keys[k]
        s = first_slot(key, mask)
        row = slots[s, ROW]
        hit = slots[s, KEY] == key
        row = row if hit else np.int64(-1)
        found[k] = row
        unsure[some] = k
        some += (not hit) | (key < 0)
    return some


@njit(nogil=True)
def confirm(start: Any, ends: Any, words: Any, rows: Any, found: Any, unsure: Any, some: Any) -> Any:
    """Take out of unsure the pieces of up to ENDS bytes that are those of the rows found; returns how many are left."""
    left = 0
    for u in range(some):
        k = unsure[u]
        first = ends[k - 1] - start if k > 0 else 0
        after = ends[k] - start
        size = after - first
        row = max(found[k], 0)
        same = rows[row, HEAD] == words[first + 7] and rows[row, TAIL] == words[after - 1]
        same &= rows[row + 1, START] - rows[row, START] == size
        unsure[left] = k
        left += not (same & (found[k] >= 0) & (size <= ENDS))
    return left


@njit(nogil=True)
def place(
    data: Any, origin: Any, ends: Any, keys: Any, words: Any, found: Any, unsure: Any, some: Any, slots: Any,
    rows: Any, store: Any, pieces: Any, used: Any,
) -> Any:  # fmt: skip
    """Give the unsure pieces their rows in found; new ones are added, and there must be room."""
    mask = len(slots) - 1
    for u in range(some):
        k = unsure[u]
        start = ends[k - 1] if k > 0 else origin
        end = ends[k]
        key = keys[k]
        size = end - start
        head, tail = words[start + 7 - origin], words[end - 1 - origin]
        s = first_slot(key, mask)
        while slots[s, KEY] != 0:
            if slots[s, KEY] == key:
                row = slots[s, ROW]
                a = rows[row, START]
                if key > 0:
                    break
                if rows[row + 1, START] - a == size and rows[row, HEAD] == head and rows[row, TAIL] == tail:
                    a += 8
                    q = start + 8
                    while q < end - 8 and store[a] == data[q]:
                        q += 1
                        a += 1
                    if q >= end - 8:
                        break
            s = (s + 1) & mask
        if slots[s, KEY] == 0:
            slots[s, KEY] = key
            slots[s, ROW] = pieces
            rows[pieces, COUNT] = 0
            rows[pieces, DOCUMENTS] = 0
            rows[pieces, LAST] = 0
            rows[pieces, HEAD] = head
            rows[pieces, TAIL] = tail
            for q in range(start, end):
                store[used] = data[q]
                used += 1
            pieces += 1
            rows[pieces, START] = used
        found[k] = slots[s, ROW]
    return pieces, used


@njit(nogil=True)
def full(pieces: Any, used: Any, more: Any, size: Any, slots: Any, rows: Any, store: Any) -> Any:
    """Whether there is no room for so many more pieces of so many bytes in all."""
    return 3 * (pieces + more) > 2 * len(slots) or pieces + more >= len(rows) or used + size > len(store)


@njit(
    RESULT(
        BYTES, INTEGERS, INTEGERS, INTEGERS, INTEGERS, PLACE, ROWS, ROWS, STORE, types.int64, types.int64
    ),
    nogil=True,
    cache=True,
)  # fmt: skip
def count(
    data: Any, starts: Any, ends: Any, before: Any, documents: Any, at: Any, slots: Any, rows: Any, store: Any,
    pieces: Any, used: Any,
) -> Any:  # fmt: skip
    """Count the pieces of segments as long as there is room.

    at: the segment to go on with, the piece, and the byte where it begins. Returns that place, the number of distinct
    pieces and the bytes they fill in the store.
    """
    keys = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    places = np.empty(BLOCK + 1, np.int64)
    words = np.empty(1 << 14, np.int64)
    segment, piece, start = at
    while segment < len(starts):
        if piece == before[segment]:
            start = starts[segment]
        document = documents[segment]
        while piece < before[segment + 1]:
            some = ends[piece : min(piece + BLOCK, before[segment + 1])]
            size = some[-1] - start
            if full(pieces, used, len(some), size, slots, rows, store):
                return (segment, piece, start), pieces, used
            if size + SPARE > len(words):
                words = np.empty(2 * size + SPARE, np.int64)
            find_keys(data, start, some, words, keys)
            unsure = look(keys, len(some), slots, rows, found, places)
            unsure = confirm(start, some, words, rows, found, places, unsure)
            pieces, used = place(
                data, start, some, keys, words, found, places, unsure, slots, rows, store, pieces, used
            )
            for k in range(len(some)):
                row = found[k]
                rows[row, COUNT] += 1
                rows[row, DOCUMENTS] += rows[row, LAST] != document
                rows[row, LAST] = document
            start = some[-1]
            piece += len(some)
        segment += 1
    return (segment, piece, start), pieces, used


@njit(
    RESULT(BYTES, INTEGERS, INTEGERS, INTEGERS, PLACE, ROWS, ROWS, STORE, types.int64, types.int64),
    nogil=True,
    cache=True,
)
def absorb(
    data: Any, ends: Any, counts: Any, documents: Any, at: Any, slots: Any, rows: Any, store: Any, pieces: Any,
    used: Any,
) -> Any:  # fmt: skip
    """Add pieces with their counts and documents as long as there is room; at as in `count`, with one segment."""
    keys = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.int64)
    places = np.empty(BLOCK + 1, np.int64)
    words = np.empty(1 << 14, np.int64)
    segment, piece, start = at
    while piece < len(ends):
        some = ends[piece : piece + BLOCK]
        size = some[-1] - start
        if full(pieces, used, len(some), size, slots, rows, store):
            return (segment, piece, start), pieces, used
        if size + SPARE > len(words):
            words = np.empty(2 * size + SPARE, np.int64)
        find_keys(data, start, some, words, keys)
        unsure = look(keys, len(some), slots, rows, found, places)
        unsure = confirm(start, some, words, rows, found, places, unsure)
        pieces, used = place(data, start, some, keys, words, found, places, unsure, slots, rows, store, pieces, used)
        for k in range(len(some)):
            rows[found[k], COUNT] += counts[piece + k]
            rows[found[k], DOCUMENTS] += documents[piece + k]
        start = some[-1]
        piece += len(some)
    return (segment + 1, piece, start), pieces, used


@njit(types.void(types.Array(types.int64, 2, "C", readonly=True), ROWS), nogil=True, cache=True)
def copy_slots(slots: Any, wide: Any) -> None:
    """Put all keys and rows into a larger, empty array of slots."""
    mask = len(wide) - 1
    for o in range(len(slots)):
        key = slots[o, KEY]
        if key != 0:
            s = first_slot(key, mask)
            while wide[s, KEY] != 0:
                s = (s + 1) & mask
            wide[s, KEY] = key
            wide[s, ROW] = slots[o, ROW]


def larger(size: int, many: int) -> int:
    """The next size of an array that is filled from its beginning: what is not written costs nothing, a copy does."""
    return max(2 * size, min(8 * size, many))


class PieceTable:
    """Distinct pieces with their counts. `pieces`: how many; `used`: their bytes."""

    def __init__(self) -> None:
        self.pieces = self.used = 0
        self._slots: NDArray[np.int64] = np.zeros((1 << 12, 2), np.int64)
        self._rows: NDArray[np.int64] = np.zeros((1 << 11, 6), np.int64)
        self._store: NDArray[np.uint8] = np.empty(1 << 16, np.uint8)

    @property
    def capacity(self) -> int:
        """Bytes of distinct pieces for which there is room."""
        return len(self._store)

    def count(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        before: NDArray[np.int64],
        documents: NDArray[np.int64],
    ) -> None:
        """Add the pieces of segments, as `scanners.scan` gives them.

        Segment s begins at starts[s] and belongs to document documents[s] (a number above 0, the segments of one
        document next to each other).
        """
        at = (0, 0, int(starts[0]) if len(starts) else 0)
        while at[0] < len(starts):
            self._make_room(ends, at)
            at, self.pieces, self.used = count(
                data, starts, ends, before, documents, at, self._slots, self._rows, self._store, self.pieces, self.used
            )

    def absorb(self, other: "PieceTable") -> None:
        """Add the counts of another table, of other documents."""
        store, offsets, counts, documents = other.listing()
        ends = offsets[1:]
        at = (0, 0, 0)
        while at[0] == 0:
            self._make_room(ends, at)
            at, self.pieces, self.used = absorb(
                store, ends, counts, documents, at, self._slots, self._rows, self._store, self.pieces, self.used
            )

    def _make_room(self, ends: NDArray[np.int64], at: tuple[int, int, int]) -> None:
        """Room for the next block at least."""
        _, piece, start = at
        last = min(piece + BLOCK, len(ends))
        if last == piece:
            return
        pieces, used = self.pieces + BLOCK, self.used + int(ends[last - 1]) - start
        while 3 * pieces > 2 * len(self._slots):
            slots = np.zeros((len(self._slots) * (4 if len(self._slots) < MANY_SLOTS else 2), 2), np.int64)
            copy_slots(self._slots, slots)
            self._slots = slots
        if pieces >= len(self._rows):
            rows = np.empty((larger(len(self._rows), MANY_ROWS), 6), np.int64)
            rows[: self.pieces + 1] = self._rows[: self.pieces + 1]
            self._rows = rows
        if used > len(self._store):
            store = np.empty(max(used, larger(len(self._store), MANY_BYTES)), np.uint8)
            store[: self.used] = self._store[: self.used]
            self._store = store

    def listing(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The pieces in order of first sight: their bytes in one array, offsets (n + 1), counts, documents."""
        rows = self._rows[: self.pieces + 1]
        return (
            self._store[: self.used],
            rows[:, START].copy(),
            rows[:-1, COUNT].copy(),
            rows[:-1, DOCUMENTS].copy(),
        )
