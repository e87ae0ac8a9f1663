"""Counting of distinct pieces: an open-addressing table over raw bytes.

`count` adds the pieces of segments to a table; three short passes per block of pieces (find the keys, make room, add)
beat one long loop. A piece of up to seven bytes is its own key; a longer one has a hash below zero and is compared byte
by byte. All arithmetic is int64 and products wrap around.
"""

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

BLOCK = 1 << 10  # pieces found before they are counted
PACKED = 7  # pieces up to this many bytes are their own key
SPREAD = 0x1E3779B97F4A7C15
HASHED = np.int64(-1 << 63)
# Columns of the table: key (0: free), occurrences, where the bytes begin in the store, how many there are, documents
# that hold the piece, the last of them.
KEY, COUNT, START, SIZE, DOCUMENTS, LAST = range(6)

BYTES = types.Array(types.uint8, 1, "C", readonly=True)
INTEGERS = types.Array(types.int64, 1, "C", readonly=True)
ROWS = types.Array(types.int64, 2, "C")
STORE = types.Array(types.uint8, 1, "C")
RESULT = types.Tuple((ROWS, STORE, types.int64, types.int64))


@njit(nogil=True)
def find_keys(data: Any, start: Any, ends: Any, words: Any, keys: Any) -> Any:
    """The key of each piece: its bytes and their number where that fits, else a hash below 0."""
    word = np.int64(0)
    for k in range(start, ends[-1]):
        word = word << 8 | data[k]
        words[k - start] = word  # the eight bytes that end here
    first = 0
    for k in range(len(ends)):
        after = ends[k] - start
        size = after - first
        last = words[after - 1]
        if size <= PACKED:
            keys[k] = last & ((1 << 8 * size) - 1) | size << 56
        else:
            key = np.int64(size)
            for q in range(first + 7, after, 8):
                key = (key ^ words[q]) * SPREAD
                key ^= key >> 32
            keys[k] = (key ^ last) * SPREAD | HASHED
        first = after


@njit(nogil=True, inline="always")
def first_slot(key: Any, mask: Any) -> Any:
    return (key * SPREAD) >> 29 & mask


@njit(nogil=True)
def add(
    data: Any, start: Any, ends: Any, keys: Any, document: Any, rows: Any, store: Any, pieces: Any, used: Any
) -> Any:
    """Count the pieces data[start:ends[0]], data[ends[0]:ends[1]], … of one document; there must be room."""
    mask = len(rows) - 1
    for k in range(len(ends)):
        end = ends[k]
        key = keys[k]
        s = first_slot(key, mask)
        while rows[s, KEY] != 0:
            if rows[s, KEY] == key:
                if key > 0:
                    break
                if rows[s, SIZE] == end - start:
                    a = rows[s, START]
                    q = start
                    while q < end and store[a] == data[q]:
                        q += 1
                        a += 1
                    if q == end:
                        break
            s = (s + 1) & mask
        if rows[s, KEY] == 0:
            rows[s, KEY] = key
            rows[s, START] = used
            rows[s, SIZE] = end - start
            for q in range(start, end):
                store[used] = data[q]
                used += 1
            pieces += 1
        rows[s, COUNT] += 1
        if rows[s, LAST] != document:
            rows[s, LAST] = document
            rows[s, DOCUMENTS] += 1
        start = end
    return pieces, used


@njit(nogil=True)
def room(rows: Any, store: Any, pieces: Any, used: Any, more: Any, size: Any) -> Any:
    """The table and the store, with room for so many more pieces of so many bytes in all."""
    if used + size > len(store):
        old = store
        store = np.empty(used + max(size, used), np.uint8)
        store[:used] = old[:used]
    while 2 * (pieces + more) > len(rows):
        old_rows = rows
        rows = np.zeros((2 * len(old_rows), 6), np.int64)
        for o in range(len(old_rows)):
            if old_rows[o, KEY] != 0:
                s = first_slot(old_rows[o, KEY], len(rows) - 1)
                while rows[s, KEY] != 0:
                    s = (s + 1) & (len(rows) - 1)
                for f in range(6):
                    rows[s, f] = old_rows[o, f]
    return rows, store


@njit(
    RESULT(BYTES, INTEGERS, INTEGERS, INTEGERS, INTEGERS, ROWS, STORE, types.int64, types.int64),
    nogil=True,
    cache=True,
)
def count(
    data: Any, starts: Any, ends: Any, before: Any, documents: Any, rows: Any, store: Any, pieces: Any, used: Any
) -> Any:
    """Add the pieces of segments to a table.

    Segment s begins at starts[s], belongs to document documents[s] (a number above 0, the segments of one document next
    to each other) and holds the pieces before[s]:before[s + 1] of ends, as `scanners.scan` gives them. Returns the
    table, the store, the number of distinct pieces and the bytes they fill in the store.
    """
    keys = np.empty(BLOCK, np.int64)
    words = np.empty(1 << 14, np.int64)
    for s in range(len(starts)):
        start = starts[s]
        for block in range(before[s], before[s + 1], BLOCK):
            some = ends[block : min(block + BLOCK, before[s + 1])]
            size = some[-1] - start
            if size > len(words):
                words = np.empty(2 * size, np.int64)
            rows, store = room(rows, store, pieces, used, len(some), size)
            find_keys(data, start, some, words, keys)
            pieces, used = add(data, start, some, keys, documents[s], rows, store, pieces, used)
            start = some[-1]
    return rows, store, pieces, used


@njit(nogil=True)
def slot_of(data: Any, start: Any, end: Any, key: Any, rows: Any, store: Any) -> Any:
    """The row of a piece, or the free one where it belongs."""
    mask = len(rows) - 1
    s = first_slot(key, mask)
    while rows[s, KEY] != 0:
        if rows[s, KEY] == key:
            if key > 0:
                return s
            a = rows[s, START]
            if rows[s, SIZE] == end - start and np.array_equal(store[a : a + end - start], data[start:end]):
                return s
        s = (s + 1) & mask
    return s


@njit(
    RESULT(BYTES, INTEGERS, INTEGERS, INTEGERS, ROWS, STORE, types.int64, types.int64),
    nogil=True,
    cache=True,
)
def absorb(data: Any, ends: Any, counts: Any, documents: Any, rows: Any, store: Any, pieces: Any, used: Any) -> Any:
    """Add the pieces data[:ends[0]], data[ends[0]:ends[1]], … with their counts and documents to a table."""
    keys = np.empty(BLOCK, np.int64)
    words = np.empty(1 << 14, np.int64)
    start = np.int64(0)
    for block in range(0, len(ends), BLOCK):
        some = ends[block : block + BLOCK]
        size = some[-1] - start
        if size > len(words):
            words = np.empty(2 * size, np.int64)
        rows, store = room(rows, store, pieces, used, len(some), size)
        find_keys(data, start, some, words, keys)
        for k in range(len(some)):
            s = slot_of(data, start, some[k], keys[k], rows, store)
            if rows[s, KEY] == 0:
                rows[s, KEY] = keys[k]
                rows[s, START] = used
                rows[s, SIZE] = some[k] - start
                store[used : used + some[k] - start] = data[start : some[k]]
                used += some[k] - start
                pieces += 1
            rows[s, COUNT] += counts[block + k]
            rows[s, DOCUMENTS] += documents[block + k]
            start = some[k]
    return rows, store, pieces, used


def empty_table() -> tuple[NDArray[np.int64], NDArray[np.uint8], int, int]:
    """A table without pieces: rows, store, number of pieces, bytes in the store."""
    return np.zeros((1 << 12, 6), np.int64), np.empty(1 << 16, np.uint8), 0, 0


def listing(
    rows: NDArray[np.int64], store: NDArray[np.uint8], used: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The pieces in order of first sight: their bytes in one array, offsets (n + 1), counts, documents."""
    full = rows[rows[:, KEY] != 0]
    full = full[full[:, START].argsort()]
    offsets = np.append(full[:, START], used)
    return store[:used], offsets, full[:, COUNT].copy(), full[:, DOCUMENTS].copy()
