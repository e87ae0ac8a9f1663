"""Which of some words stand in bytes, in one pass that looks at two bytes a step.

Of every word four bytes next to each other are looked for, once beginning at an even place of the data and once at an
odd one; where they go beyond the word, any byte will do. A table says of each pair of bytes in which groups of words it
may be the first half of these four, and in which the second; only where both have a group in common are its words
compared.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import int64, njit, types, uint8, uint16

GROUPS: Final = 7
CONTROL: Final = 1 << GROUPS
"""The bit of pairs with a byte that ends the search."""

_U8 = types.Array(uint8, 1, "C", readonly=True)
_U16 = types.Array(uint16, 1, "C", readonly=True)
_I64 = types.Array(int64, 1, "C", readonly=True)
_ROWS = types.Array(int64, 2, "C", readonly=True)
_ALL: Final = (1 << GROUPS) - 1


@njit(int64(int64), nogil=True, cache=True)
def _in_word(c: Any) -> Any:
    """Letters, digits, `-`, `_` and bytes beyond ASCII."""
    lower = c | 32
    return int64(97 <= lower <= 122 or 48 <= c <= 57 or c == 45 or c == 95 or c >= 128)


@njit(int64(int64, int64), nogil=True, cache=True)
def _goes_on(c: Any, kind: Any) -> Any:
    """Does `c` go on with a word (kind 1) or a number (kind 2)?"""
    return _in_word(c) if kind == 1 else int64(48 <= c <= 57)


@njit(int64(_U8, int64, int64, _I64, _ROWS, _U8, int64), nogil=True, cache=True)
def _compared(data: Any, place: Any, groups: Any, firsts: Any, words: Any, letters: Any, found: Any) -> Any:
    """`found` with the words of `groups` whose four bytes begin at `place`."""
    size = len(data)
    for group in range(GROUPS):
        if not groups >> group & 1:
            continue
        for row in range(firsts[group], firsts[group + 1]):
            begin, length, first = place - words[row, 1], words[row, 3], words[row, 2]
            end = begin + length
            if found >> words[row, 0] & 1 or begin < 0 or end > size:
                continue
            i = 0
            while i < length:
                c = int64(data[begin + i])
                if c != letters[first + i] and (c < 65 or c > 90 or c + 32 != letters[first + i]):
                    break
                i += 1
            if i < length or (words[row, 4] and begin > 0 and _in_word(int64(data[begin - 1]))):
                continue
            if words[row, 5] and end < size and _goes_on(int64(data[end]), words[row, 5]):
                continue
            found |= 1 << words[row, 0]
    return found


@njit(int64(_U8, _U16, _I64, _ROWS, _U8), nogil=True, cache=True)
def occurring(data: Any, table: Any, firsts: Any, words: Any, letters: Any) -> Any:
    """Bits of the words that occur in `data`, letters of either case; -1 where a pair of it is CONTROL in `table`.

    table: by two bytes as a uint16 of the machine, the groups in which they may be the first half, CONTROL, and times
    256 the groups in which they may be the second half. words: rows `firsts[g]` to `firsts[g + 1]` for the group g:
    (bit, where the four bytes begin in the word (-1 or more), first and number of its `letters`, 1 where nothing of a
    word may stand before it, 1 where none may behind it or 2 where no digit may).
    """
    size = len(data)
    pairs = data[: size & ~1].view(np.uint16)
    found, before = 0, 0
    for j in range(len(pairs)):
        now = int64(table[pairs[j]])
        common = before & (now >> 8 | CONTROL)
        if common:
            if common & CONTROL:
                return int64(-1)
            found = _compared(data, 2 * j - 2, common, firsts, words, letters, found)
        before = now
    if before & CONTROL:
        return int64(-1)
    return _compared(data, 2 * len(pairs) - 2, before & _ALL, firsts, words, letters, found)
