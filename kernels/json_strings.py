"""A JSON string literal in UTF-8 to the UTF-8 of its value, in one pass and without a Python string on the way.

Strict, as RFC 8259 (sections 7 and 8) and RFC 3629 have it: escapes are those of JSON, the bytes are well-formed UTF-8.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import int64, njit, types, uint8

_U8 = types.Array(uint8, 1, "C", readonly=True)
_BLOCK: Final = 64
_END: Final = np.uint8(_BLOCK)
SPACE: Final = _BLOCK
"""Bytes that `unescape` may write behind the end of the value."""

_QUOTE8, _BACKSLASH8, _DELETE8, _32 = np.uint8(34), np.uint8(92), np.uint8(127), np.uint8(32)
_80, _C0, _C2, _E0, _ED, _F0 = (np.uint8(c) for c in (0x80, 0xC0, 0xC2, 0xE0, 0xED, 0xF0))
_1, _2, _3 = np.uint64(1), np.uint64(2), np.uint64(3)
_QUOTE: Final = 34
_BACKSLASH: Final = 92
_DELETE: Final = 127


@njit(int64(int64), nogil=True, cache=True)
def _hex(c: Any) -> Any:
    """Value of a hexadecimal digit, -1 where it is none."""
    if 48 <= c <= 57:
        return c - 48
    c |= 32
    return c - 87 if 97 <= c <= 102 else int64(-1)


@njit(int64(int64), nogil=True, cache=True)
def _short_escape(c: Any) -> Any:
    """The character that `\\c` stands for, -1 where there is no such escape."""
    if c in (_QUOTE, _BACKSLASH, 47):
        return c
    if c == 110:
        return int64(10)
    if c == 116:
        return int64(9)
    if c == 114:
        return int64(13)
    if c == 98:
        return int64(8)
    return int64(12) if c == 102 else int64(-1)


@njit(int64(int64), nogil=True, cache=True)
def _is_control(c: Any) -> Any:
    """C0 without tab, line feed, form feed and carriage return, or DEL."""
    return int64((c < 32 and c != 9 and c != 10 and c != 12 and c != 13) or c == _DELETE)


@njit(int64(int64, int64, int64, int64), nogil=True, cache=True)
def _utf8_size(c: Any, second: Any, third: Any, fourth: Any) -> Any:
    """Bytes of the well-formed sequence that begins with `c` (RFC 3629, section 4), 0 where there is none."""
    if 0xC2 <= c <= 0xDF:
        return int64(2) if second & 0xC0 == 0x80 else int64(0)
    if c & 0xF0 == 0xE0:
        least, most = 0xA0 if c == 0xE0 else 0x80, 0x9F if c == 0xED else 0xBF
        return int64(3) if least <= second <= most and third & 0xC0 == 0x80 else int64(0)
    if 0xF0 <= c <= 0xF4:
        least, most = 0x90 if c == 0xF0 else 0x80, 0x8F if c == 0xF4 else 0xBF
        good = least <= second <= most and third & 0xC0 == 0x80 and fourth & 0xC0 == 0x80
        return int64(4) if good else int64(0)
    return int64(0)


@njit(int64(_U8, int64), nogil=True, cache=True)
def _unit(line: Any, at: Any) -> Any:
    """The four hexadecimal digits at `at`, -1 where there are none."""
    if at + 4 > len(line):
        return int64(-1)
    value = int64(0)
    for k in range(4):
        digit = _hex(int64(line[at + k]))
        if digit < 0:
            return int64(-1)
        value = value << 4 | digit
    return value


@njit(int64(_U8, int64), nogil=True, cache=True)
def _code_point(line: Any, at: Any) -> Any:
    """The character of the `\\u` escape (or pair) whose digits begin at `at`; -1: none, or half a pair."""
    unit = _unit(line, at)
    if unit & 0xF800 != 0xD800 or unit < 0:
        return unit
    if unit >= 0xDC00 or at + 6 > len(line) or line[at + 4] != _BACKSLASH or line[at + 5] != 117:
        return int64(-1)
    low = _unit(line, at + 6)
    return 0x10000 + ((unit & 0x3FF) << 10 | low & 0x3FF) if low & 0xFC00 == 0xDC00 and low >= 0 else int64(-1)


@njit(int64(int64, uint8[::1], int64), nogil=True, cache=True)
def _put(c: Any, out: Any, o: Any) -> Any:
    """Writes a character as UTF-8; where it ends."""
    if c < 0x80:
        out[o] = c
        return o + 1
    if c < 0x800:
        out[o], out[o + 1] = 0xC0 | c >> 6, 0x80 | c & 0x3F
        return o + 2
    if c < 0x10000:
        out[o], out[o + 1], out[o + 2] = 0xE0 | c >> 12, 0x80 | c >> 6 & 0x3F, 0x80 | c & 0x3F
        return o + 3
    out[o], out[o + 1], out[o + 2], out[o + 3] = (
        0xF0 | c >> 18,
        0x80 | c >> 12 & 0x3F,
        0x80 | c >> 6 & 0x3F,
        0x80 | c & 0x3F,
    )
    return o + 4


@njit(types.UniTuple(int64, 3)(_U8, int64, uint8[::1], int64), nogil=True, cache=True)
def unescape(line: Any, start: Any, out: Any, o: Any) -> Any:
    """The literal whose first byte behind the quote is line[start] (start >= 0), written to `out` from position `o` on.

    `out` has room for all that `line` has behind `start`, and `SPACE` bytes more.

    (position of the closing quote, end of what was written, control characters in it); the first is -1 where the
    literal is not closed or not valid, or holds U+0000 or half a surrogate pair. Control characters are C0 without tab,
    line feed, form feed and carriage return, and DEL.
    """
    i, controls, n = start, int64(0), len(line)
    while i < n:
        while i >= 2 and i + _BLOCK < n:  # up to the first byte that is not plain; what is copied beyond is overwritten
            first, at, to = _END, np.uint64(i), np.uint64(o)  # unsigned: an index that may be negative is checked
            for k in range(_BLOCK):
                here = at + np.uint64(k)
                c, c1, c2 = line[here], line[here - _1], line[here - _2]
                inside = (c1 >= _C2) | (c2 >= _E0)  # a character that began one or two bytes before goes on
                special = (c == _QUOTE8) | (c == _BACKSLASH8) | (c < _32) | (c == _DELETE8)
                limited = ((c >= _C0) & (c < _C2)) | (c == _E0) | (c == _ED) | (c >= _F0)
                odd = special | limited | (((c & _C0) == _80) != inside)
                first = np.uint8(min(first, np.uint8(k) if odd else _END))  # of one byte, or it is not vectorised
            for k in range(_BLOCK):
                out[to + np.uint64(k)] = line[at + np.uint64(k)]
            end = i + int64(first)
            if line[end - 1] >= _C2:  # a character that the block or an odd byte cuts
                end -= 1
            elif line[end - 2] >= _E0:
                end -= 2
            o += end - i
            i = end
            if first < _END:
                break
        while i < n:
            b = int64(line[np.uint64(i)])
            if b >= 0x80:
                if i + 4 >= n:  # a closing quote and the object's bracket stand behind every sequence of valid JSON
                    return int64(-1), o, controls
                at, to = np.uint64(i), np.uint64(o)
                second, third, fourth = line[at + _1], line[at + _2], line[at + _3]
                size = _utf8_size(b, int64(second), int64(third), int64(fourth))
                if size == 0:
                    return int64(-1), o, controls
                out[to], out[to + _1], out[to + _2], out[to + _3] = b, second, third, fourth  # some are overwritten
                i += size
                o += size
                break
            if b == _QUOTE:
                return i, o, controls
            if b < 32:
                return int64(-1), o, controls
            size = int64(1)
            if b == _BACKSLASH:
                if i + 1 >= n:
                    return int64(-1), o, controls
                b, size = _short_escape(int64(line[i + 1])), int64(2)
                if b < 0:
                    b = _code_point(line, i + 2) if line[i + 1] == 117 else int64(-1)
                    if b <= 0:
                        return int64(-1), o, controls
                    size = int64(6) if b < 0x10000 else int64(12)
            i += size
            controls += _is_control(b)
            if b < 0x80:
                out[o] = b
                o += 1
            else:
                o = _put(b, out, o)
            if i + _BLOCK < n and line[i] != _BACKSLASH:
                break
    return int64(-1), o, controls
