"""Lines and paragraphs of UTF-8 text in Arrow buffers: where they stand, and a 128-bit hash of each.

A line ends at U+000A, a paragraph at a blank line. A unit is one of them that holds something visible; its hash is that
of its bytes without the white space at its ends (MurmurHash3_x64_128 with seed 0, Appleby 2011; unsigned arithmetic).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

BYTES = types.Array(types.uint8, 1, "C", readonly=True)
INTEGERS = types.Array(types.int64, 1, "C", readonly=True)
I64, PLACES, HASHES = types.int64, types.int64[:, ::1], types.uint64[:, ::1]

COLUMNS = 8
ROW, START, END, BEHIND, INNER, LENGTH, FIRST, LAST = range(COLUMNS)
"""Columns of a unit: its document; in code points of the document, where it starts, ends, where what separates it from
the next ends, where its hashed part starts, and how long that is; in bytes of the buffer, where that part lies."""

C1, C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
M1, M2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
A1, A2, FIVE = np.uint64(0x52DCE729), np.uint64(0x38495AB5), np.uint64(5)

Bytes = NDArray[np.uint8]
I64s = NDArray[np.int64]


@njit(nogil=True)
def _blank(data: Bytes, i: Any, end: Any) -> Any:
    """Bytes of the white space (as `str.isspace`) that begins at i, 0 where there is none."""
    c = data[i]
    if c < 0x80:
        return np.int64(c == 0x20 or 0x09 <= c <= 0x0D or 0x1C <= c <= 0x1F)
    if c == 0xC2:
        return np.int64(2) if i + 1 < end and (data[i + 1] == 0x85 or data[i + 1] == 0xA0) else np.int64(0)
    if i + 2 >= end or not 0xE1 <= c <= 0xE3:
        return np.int64(0)
    rest = np.int64(data[i + 1]) << 8 | np.int64(data[i + 2])
    if c == 0xE1:
        found = rest == 0x9A80
    elif c == 0xE3:
        found = rest == 0x8080
    else:
        found = 0x8080 <= rest <= 0x808A or rest == 0x80A8 or rest == 0x80A9 or rest == 0x80AF or rest == 0x819F
    return np.int64(3) if found else np.int64(0)


@njit(nogil=True)
def _inner(data: Bytes, first: Any, last: Any) -> Any:
    """The part of data[first:last] without the white space at its ends, and the code points cut off before and behind.

    Of a line that is blank all are cut off before.
    """
    before = behind = np.int64(0)
    while first < last:
        size = _blank(data, first, last)
        if size == 0:
            break
        first += size
        before += 1
    while first < last:
        size = np.int64(1)
        while data[last - size] & 0xC0 == 0x80:
            size += 1
        if _blank(data, last - size, last) != size:
            break
        last -= size
        behind += 1
    return first, last, before, behind


@njit(nogil=True)
def _line(data: Bytes, first: Any, last: Any) -> Any:
    """Where the line that begins at first ends, and its code points."""
    points = np.int64(0)
    while first < last:
        byte = data[first]
        if byte == 0x0A:
            break
        points += byte & 0xC0 != 0x80
        first += 1
    return first, points


@njit([types.int64(BYTES, INTEGERS, types.boolean, PLACES)], nogil=True, cache=True)
def units(data: Bytes, offsets: I64s, paragraphs: bool, out: I64s) -> Any:
    """Units of the documents data[offsets[d]:offsets[d + 1]], in order; returns how many.

    out: int64, shape (lines, COLUMNS), with room for every line feed in data and one more a document.
    """
    found = np.int64(0)
    for d in range(len(offsets) - 1):
        at, last, point = offsets[d], offsets[d + 1], np.int64(0)
        own, within = found, False
        while at < last:
            end, points = _line(data, at, last)
            first, inner, cut, trailing = _inner(data, at, end)
            behind = point + points + np.int64(end < last)
            blank = first == inner
            if paragraphs and found > own and (within or blank):
                out[found - 1, BEHIND] = behind
            elif not blank:
                out[found, ROW], out[found, START], out[found, BEHIND] = d, point, behind
                out[found, INNER], out[found, FIRST] = point + cut, first
                found += 1
            if not blank:
                out[found - 1, END], out[found - 1, LAST] = point + points, inner
                out[found - 1, LENGTH] = point + points - trailing - out[found - 1, INNER]
            within = not blank
            at, point = end + 1, behind
    return found


@njit(nogil=True)
def _eight(data: Bytes, i: Any) -> Any:
    """Eight bytes, the lowest first."""
    low = np.uint64(data[i]) | np.uint64(data[i + 1]) << np.uint64(8)
    low |= np.uint64(data[i + 2]) << np.uint64(16) | np.uint64(data[i + 3]) << np.uint64(24)
    high = np.uint64(data[i + 4]) | np.uint64(data[i + 5]) << np.uint64(8)
    high |= np.uint64(data[i + 6]) << np.uint64(16) | np.uint64(data[i + 7]) << np.uint64(24)
    return low | high << np.uint64(32)


@njit(nogil=True)
def _turned(x: Any, bits: int) -> Any:
    return x << np.uint64(bits) | x >> np.uint64(64 - bits)


@njit(nogil=True)
def _mixed(x: Any) -> Any:
    x = (x ^ x >> np.uint64(33)) * M1
    x = (x ^ x >> np.uint64(33)) * M2
    return x ^ x >> np.uint64(33)


@njit(nogil=True)
def _hash(data: Bytes, first: Any, last: Any) -> Any:
    """MurmurHash3_x64_128 of data[first:last]."""
    h1 = h2 = np.uint64(0)
    i = first
    while i + 16 <= last:
        h1 = (_turned(h1 ^ _turned(_eight(data, i) * C1, 31) * C2, 27) + h2) * FIVE + A1
        h2 = (_turned(h2 ^ _turned(_eight(data, i + 8) * C2, 33) * C1, 31) + h1) * FIVE + A2
        i += 16
    k1 = k2 = np.uint64(0)
    for j in range(min(8, last - i)):
        k1 |= np.uint64(data[i + j]) << np.uint64(8 * j)
    for j in range(8, last - i):
        k2 |= np.uint64(data[i + j]) << np.uint64(8 * j - 64)
    h1 ^= _turned(k1 * C1, 31) * C2
    h2 ^= _turned(k2 * C2, 33) * C1
    h1 ^= np.uint64(last - first)
    h2 ^= np.uint64(last - first)
    h1 += h2
    h2 += h1
    h1, h2 = _mixed(h1), _mixed(h2)
    h1 += h2
    return h1, h1 + h2


@njit([types.void(BYTES, PLACES, HASHES)], nogil=True, cache=True)
def hashes(data: Bytes, found: I64s, out: Any) -> None:
    """128-bit hashes of units as `units` found them; out: uint64, shape (units, 2)."""
    for k in range(len(found)):
        out[k, 0], out[k, 1] = _hash(data, found[k, FIRST], found[k, LAST])


@njit([types.void(INTEGERS, HASHES, types.boolean[::1])], nogil=True, cache=True)
def first_in_document(rows: I64s, given: Any, out: Any) -> None:
    """Marks the units (documents ascending) whose hash no earlier unit of the same document has."""
    size = np.int64(16)
    while size < 2 * len(rows):
        size *= 2
    slots = np.full(size, -1, np.int64)
    for k in range(len(rows)):
        slot = np.int64((given[k, 0] ^ np.uint64(rows[k]) * M1) & np.uint64(size - 1))
        out[k] = True
        while slots[slot] >= 0:
            other = slots[slot]
            if rows[other] == rows[k] and given[other, 0] == given[k, 0] and given[other, 1] == given[k, 1]:
                out[k] = False
                break
            slot = (slot + 1) & (size - 1)
        if out[k]:
            slots[slot] = k
