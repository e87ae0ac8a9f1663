"""Where two characters of one set meet in texts in UTF-8, or one of a second set stands alone: one pass, 4 GB/s.

Blocks in which no such character can begin are passed over at once, whatever their script.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import boolean, int64, njit, types, uint8

_U8 = types.Array(uint8, 1, "C", readonly=True)
_I64 = types.Array(int64, 1, "C", readonly=True)
_FLAGS = types.Array(boolean, 1, "C", readonly=True)
_BLOCK: Final = 64
_SEEN: Final = _BLOCK + 3  # bytes that a look at one block reads
_END: Final = np.uint8(_BLOCK)
# of one byte, or the loop is not vectorised
_C2, _DF, _E0, _E2 = np.uint8(0xC2), np.uint8(0xDF), np.uint8(0xE0), np.uint8(0xE2)
_EF, _AC, _BF, _CONTINUED = np.uint8(0xEF), np.uint8(0xAC), np.uint8(0xBF), np.uint8(0x80)
_1, _2, _3 = np.uint64(1), np.uint64(2), np.uint64(3)

BEFORE: Final = 32
BEHIND: Final = 68
"""Bytes around a suspicious character: eight characters before and sixteen from it on, whatever their length."""


def most_places(size: int, texts: int) -> int:
    """How many places there can be in `texts` texts of `size` bytes together: those of one text do not touch."""
    return size // (BEFORE + BEHIND - 6) + texts


@njit(int64(_U8, int64), nogil=True, cache=True)
def _next(data: Any, i: Any) -> Any:
    """Where from `i` on a character of C2 to E2, EF AC or EF BF may begin, or at least the end of the last block."""
    n = int64(len(data))
    while i + _SEEN <= n:
        first, at = _END, np.uint64(i)
        for k in range(_BLOCK):
            here = at + np.uint64(k)
            b, second = data[here], data[here + _1]
            three = ((b >= _E0) & (b <= _E2)) | ((b == _EF) & ((second == _AC) | (second == _BF)))
            # one of three bytes is none of `alone`: another character beyond ASCII has to follow
            special = ((b >= _C2) & (b <= _DF)) | (three & (data[here + _3] >= _CONTINUED))
            first = np.uint8(min(first, np.uint8(k) if special else _END))
        i += int64(first)
        if first < _END:
            return i
    return i


@njit(int64(_U8, int64), nogil=True, cache=True)
def _point(data: Any, i: Any) -> Any:
    """Code point of the character of two or three bytes at `i`, 0 where there is none."""
    n, at = int64(len(data)), np.uint64(i)
    if i + 2 > n or data[at] < 0xC2 or data[at] >= 0xF0:
        return int64(0)
    b, second = int64(data[at]), int64(data[at + _1]) & 0x3F
    if b < 0xE0:
        return (b & 0x1F) << 6 | second
    return (b & 0xF) << 12 | second << 6 | int64(data[at + _2]) & 0x3F if i + 3 <= n else int64(0)


@njit(int64(_U8, int64, int64), nogil=True, cache=True)
def _boundary(data: Any, at: Any, step: Any) -> Any:
    """`at` moved by `step` until a character begins there or the data ends."""
    while at < len(data) and data[at] & 0xC0 == 0x80:
        at += step
    return at


@njit(int64(_U8, _I64, _FLAGS, _FLAGS, int64[::1], int64[::1], int64[::1]), nogil=True, cache=True)
def places(data: Any, offsets: Any, members: Any, alone: Any, starts: Any, ends: Any, owners: Any) -> Any:
    """Suspicious places of the texts that `offsets` cut `data` (well-formed UTF-8) into; how many there are.

    A place begins `BEFORE` bytes before a suspicious character, ends `BEHIND` bytes from its first byte on, both moved
    outwards to where a character begins, and stays within its text; places that touch are one. `starts`, `ends` and the
    numbers of the texts, `owners`, have room for `most_places`.

    `members`, `alone`: by code point below 0x10000; members begin with a byte C2 to E2, or EF AC, or EF BF, and those
    of them that are suspicious without another one behind them have two bytes. U+0000 is neither.
    """
    n, count, owner = offsets[len(offsets) - 1], int64(0), int64(0)
    i = offsets[0]
    while i < n:
        i = _next(data, i)
        while i < n:
            b = int64(data[np.uint64(i)])
            if b < 0xC2 or b >= 0xF0:
                i += 1
                if i + _SEEN <= n:
                    break
                continue
            at, point = i, _point(data, i)
            i += 3 if b >= 0xE0 else 2
            if members[point] and (alone[point] or members[_point(data, i)]):
                while offsets[owner + 1] <= at:
                    owner += 1
                start = _boundary(data, max(at - BEFORE, offsets[owner]), int64(-1))
                if count == 0 or owners[count - 1] != owner or start > ends[count - 1]:
                    starts[count], owners[count] = start, owner
                    count += 1
                ends[count - 1] = _boundary(data, min(at + BEHIND, offsets[owner + 1]), int64(1))
            if i + _SEEN <= n and (data[i] < 0xC2 or data[i] > 0xE2):
                break
    return count
