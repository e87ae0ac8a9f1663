"""Lines of JSON to documents: text, metadata and named fields of many records in one pass, without Python objects.

Strict, as RFC 8259 has it. What the pass cannot give exactly as a JSON reader would is left to one: see `records`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import int64, njit, types, uint8

from kernels.json_strings import SPACE, unescape

_U8 = types.Array(uint8, 1, "C", readonly=True)
_I64 = types.Array(int64, 1, "C", readonly=True)
_PLACE, _KEY, _RECORD = types.UniTuple(int64, 2), types.UniTuple(int64, 3), types.UniTuple(int64, 4)

DONE, FULL, ODD = 0, 1, 2
"""Why `records` came back: no line is left; no room for the next; the next is for another reader."""

ID, LICENSE, URL, TITLE = 1, 2, 3, 4
"""Numbers of the named fields; the text is 0."""

START, END, TEXT_END, CONTROLS, META, META_END, NAMED = range(7)
WIDTH: Final = NAMED + 8
"""Columns of `found`; from `NAMED` on two for each named field."""

_MAX_KEYS: Final = 64
_MAX_DEPTH: Final = 32
_QUOTE, _COMMA, _COLON, _BACKSLASH = 34, 44, 58, 92
_OPEN_LIST, _CLOSE_LIST, _OPEN, _CLOSE = 91, 93, 123, 125
_MIX: Final = 0x9E3779B97F4A7C15 - (1 << 64)
_SHORT: Final = np.zeros(128, np.uint8)  # what stands behind the backslash, of characters that have a short escape
for _character, _letter in zip(b'\b\t\n\f\r"\\', b'btnfr"\\', strict=True):
    _SHORT[_character] = _letter


@njit(int64(_U8, int64), nogil=True, cache=True)
def _skip(data: Any, i: Any) -> Any:
    """`i` moved behind spaces, tabs and carriage returns; at the end of the data 0 follows."""
    while i < len(data) and (data[i] == 32 or data[i] == 9 or data[i] == 13):
        i += 1
    return i


@njit(int64(_U8, int64), nogil=True, cache=True)
def _byte(data: Any, i: Any) -> Any:
    return int64(data[i]) if i < len(data) else int64(0)


@njit(int64(uint8[::1], int64, int64, uint8[::1], int64), nogil=True, cache=True)
def _escaped(values: Any, i: Any, end: Any, out: Any, o: Any) -> Any:
    """Writes values[i:end] with the escapes that a JSON string needs, and no others; where they end."""
    while i < end:
        c = int64(values[i])
        i += 1
        if c >= 32 and c != _QUOTE and c != _BACKSLASH:
            out[o] = c
            o += 1
            continue
        out[o] = _BACKSLASH
        if _SHORT[c]:
            out[o + 1] = _SHORT[c]
            o += 2
        else:
            out[o + 1], out[o + 2], out[o + 3], out[o + 4] = 117, 48, 48, 48 + (c >> 4)
            out[o + 5] = 48 + (c & 15) if c & 15 < 10 else 87 + (c & 15)
            o += 6
    return o


@njit(_PLACE(_U8, int64, uint8[::1], int64, uint8[::1], int64), nogil=True, cache=True)
def _string(data: Any, i: Any, space: Any, s: Any, out: Any, o: Any) -> Any:
    """Copies the string literal at `i`; (where it ends, where the copy ends), -1 first where it is not valid.

    Its value is left in `space` from `s` on.
    """
    end, last, _ = unescape(data, i + 1, space, s)
    if end < 0:
        return int64(-1), o
    if last - s == end - i - 1:
        for k in range(i, end + 1):
            out[o + k - i] = data[k]
        return end + 1, o + end + 1 - i
    out[o] = _QUOTE
    o = _escaped(space, s, last, out, o + 1)
    out[o] = _QUOTE
    return end + 1, o + 1


@njit(int64(_U8, int64), nogil=True, cache=True)
def _digits(data: Any, i: Any) -> Any:
    """Where the digits from `i` on end; -1 where there are none."""
    start = i
    while i < len(data) and 48 <= data[i] <= 57:
        i += 1
    return i if i > start else int64(-1)


@njit(int64(_U8, int64), nogil=True, cache=True)
def _number(data: Any, i: Any) -> Any:
    """Where the number at `i` ends; -1 where there is none, or -0, which readers spell in two ways."""
    negative = _byte(data, i) == 45
    i += negative
    zero = _byte(data, i) == 48
    i = i + 1 if zero else _digits(data, i)
    if i < 0:
        return i
    whole = True
    if _byte(data, i) == 46:
        i, whole = _digits(data, i + 1), False
        if i < 0:
            return i
    if _byte(data, i) | 32 == 101:
        i, whole = i + 1, False
        i = _digits(data, i + (_byte(data, i) == 43 or _byte(data, i) == 45))
    return int64(-1) if negative and zero and whole else i


@njit(int64(_U8, int64), nogil=True, cache=True)
def _word(data: Any, i: Any) -> Any:
    """Where the literal at `i` (true, false, null) ends; -1 where there is none."""
    if i + 5 > len(data):
        return int64(-1)
    a, b, c, d, e = data[i], data[i + 1], data[i + 2], data[i + 3], data[i + 4]
    if (a == 116 and b == 114 and c == 117 and d == 101) or (a == 110 and b == 117 and c == 108 and d == 108):
        return i + 4
    return i + 5 if a == 102 and b == 97 and c == 108 and d == 115 and e == 101 else int64(-1)


@njit(_PLACE(_U8, int64, uint8[::1], int64, uint8[::1], int64), nogil=True, cache=True)
def _scalar(data: Any, i: Any, space: Any, s: Any, out: Any, o: Any) -> Any:
    """Copies the string, number or literal at `i`, numbers as they are spelled; like `_string`."""
    c = _byte(data, i)
    if c == _QUOTE:
        return _string(data, i, space, s, out, o)
    end = _number(data, i) if c == 45 or 48 <= c <= 57 else _word(data, i)
    for k in range(i, end):
        out[o + k - i] = data[k]
    return end, o + end - i


@njit(int64(uint8[::1], int64, int64, int64, int64[::1]), nogil=True, cache=True)
def _is_new(values: Any, start: Any, end: Any, owner: Any, keys: Any) -> Any:
    """Remembers the key values[start:end] of the object `owner`; 0 where it may be there already, or too many are.

    keys[0] is how many there are, hashes follow: an equal hash of another key only costs time.
    """
    h = owner * 31 + 1
    for k in range(start, end):
        h = (h ^ int64(values[k])) * _MIX
        h ^= h >> 29
    count = keys[0]
    if count == _MAX_KEYS:
        return int64(0)
    for k in range(1, count + 1):
        if keys[k] == h:
            return int64(0)
    keys[0] = count + 1
    keys[count + 1] = h
    return int64(1)


@njit(_KEY(_U8, int64, uint8[::1], int64, uint8[::1], int64, int64[::1], int64), nogil=True, cache=True)
def _key(data: Any, i: Any, space: Any, s: Any, out: Any, o: Any, keys: Any, owner: Any) -> Any:
    """Copies the key at `i` and its colon; where the value begins, where the copy ends, where the key in `space` ends.

    The first is -1 where the key is not valid or not new to the object `owner`.
    """
    if _byte(data, i) != _QUOTE:
        return int64(-1), o, s
    end, last, _ = unescape(data, i + 1, space, s)
    if end < 0 or not _is_new(space, s, last, owner, keys):
        return int64(-1), o, s
    out[o] = _QUOTE
    o = _escaped(space, s, last, out, o + 1)
    out[o], out[o + 1] = _QUOTE, _COLON
    i = _skip(data, end + 1)
    return (_skip(data, i + 1) if _byte(data, i) == _COLON else int64(-1)), o + 2, last


@njit(_PLACE(_U8, int64, uint8[::1], int64, uint8[::1], int64, int64[::1]), nogil=True, cache=True)
def _value(data: Any, i: Any, space: Any, s: Any, out: Any, o: Any, keys: Any) -> Any:
    """Copies the value at `i`, of whatever kind, without spaces; like `_string`. `keys` as `_is_new` has them.

    Bit d of `objects` says whether the container at depth d is an object; where it begins stands behind the hashes.
    """
    depth, objects, empty = int64(0), int64(0), False
    while True:
        c = _byte(data, i)
        if c in (_OPEN, _OPEN_LIST):
            if depth == _MAX_DEPTH:
                return int64(-1), o
            depth += 1
            objects = objects & ~(int64(1) << depth) | int64(c == _OPEN) << depth
            keys[_MAX_KEYS + depth] = i
            out[o] = c
            o, i = o + 1, _skip(data, i + 1)
            empty = _byte(data, i) == c + 2
        else:
            i, o = _scalar(data, i, space, s, out, o)
            empty = True
        while i >= 0 and depth > 0 and empty:  # behind a value, or where a container ends at once
            i = _skip(data, i)
            c = _byte(data, i)
            empty = c == (_CLOSE if objects >> depth & 1 else _CLOSE_LIST)
            if c == _COMMA or empty:
                out[o] = c
                o, i, depth = o + 1, i + 1, depth - empty
            else:
                i = int64(-1)
        if i < 0 or depth == 0:
            return i, o
        i = _skip(data, i)
        if objects >> depth & 1:
            i, o, _ = _key(data, i, space, s, out, o, keys, keys[_MAX_KEYS + depth])
            if i < 0:
                return i, o


@njit(int64(uint8[::1], int64, int64, _U8, _I64), nogil=True, cache=True)
def _field(values: Any, start: Any, end: Any, names: Any, bounds: Any) -> Any:
    """Number of the field that values[start:end] names, -1 where there is none."""
    for f in range(len(bounds) - 1):
        if end - start == bounds[f + 1] - bounds[f]:
            k = int64(0)
            while k < end - start and values[start + k] == names[bounds[f] + k]:
                k += 1
            if k == end - start:
                return int64(f)
    return int64(-1)


@njit(
    _RECORD(_U8, int64, _U8, _I64, uint8[::1], int64, uint8[::1], int64, int64[::1], int64[::1]),
    nogil=True,
    cache=True,
)
def _record(
    data: Any, i: Any, names: Any, bounds: Any, texts: Any, t: Any, rest: Any, r: Any, keys: Any, row: Any
) -> Any:
    """The object at `i`: (where it ends, where its text ends, where its metadata ends, control characters of the text).

    The first is -1 where another reader has to look at it. The row gets where in `data` the values of named fields are.
    """
    end, controls, seen, c = t, int64(0), False, int64(_COMMA)
    rest[r] = _OPEN
    o = r + 1
    while i >= 0 and c == _COMMA:
        begin, after, last = _key(data, _skip(data, i + 1), texts, end, rest, o, keys, int64(-1))
        if begin < 0:
            return begin, end, o, controls
        field = _field(texts, end, last, names, bounds)
        string = _byte(data, begin) == _QUOTE
        if field == 0 and string:
            i, end, controls = unescape(data, begin + 1, texts, t)
            i, seen = (i + 1 if i >= 0 else i), True
        else:
            i, after = _value(data, begin, texts, end, rest, after, keys)
            if field > 0:
                row[NAMED + 2 * field - 2], row[NAMED + 2 * field - 1] = begin, i
            if not (string and field in (URL, TITLE)):
                rest[after] = _COMMA
                o = after + 1
        if i >= 0:
            i = _skip(data, i)
            c = _byte(data, i)
    o = max(o - 1, r + 1)
    rest[o] = _CLOSE
    return (i + 1 if i >= 0 and seen and c == _CLOSE else int64(-1)), end, o + 1, controls


@njit(int64(_U8, uint8[::1], int64, int64[::1]), nogil=True, cache=True)
def _extracted(data: Any, rest: Any, r: Any, row: Any) -> Any:
    """Writes the named values behind the metadata and notes where they are: strings unescaped, an id as it is spelled.

    What is no string, and the null of an id, is noted as missing (-1). Where they end; -1: an id that is a container.
    """
    for field in range(ID, TITLE + 1):
        column = NAMED + 2 * field - 2
        begin, end = row[column], row[column + 1]
        row[column] = -1
        c = _byte(data, begin) if begin >= 0 else int64(0)
        if c == _QUOTE:
            row[column] = r
            _, r, _ = unescape(data, begin + 1, rest, r)
        elif field == ID and c in (_OPEN, _OPEN_LIST):
            return int64(-1)
        elif field == ID and c != 0 and c != 110:
            row[column] = r
            for k in range(begin, end):
                rest[r] = data[k]
                r += 1
        row[column + 1] = r
    return r


@njit(
    types.UniTuple(int64, 3)(_U8, int64, _U8, _I64, _I64, uint8[::1], int64, uint8[::1], int64[:, ::1]),
    nogil=True,
    cache=True,
)
def records(
    data: Any, start: Any, names: Any, bounds: Any, limits: Any, texts: Any, t: Any, rest: Any, found: Any
) -> Any:
    """The records in the lines of `data` from `start` on: (how many, where the next line begins, why it ends there).

    `names`: the text's field and those of id, licence, url and title, cut by `bounds`; one that nothing is called by
    has a byte that no UTF-8 has. A record is an object with the text as a string. What depends on the reader is `ODD`:
    whatever is not valid, no object or has no such text; blank and too long lines; a byte-order mark; U+0000 and lone
    surrogates; equal keys (of equal hash, that is); -0; containers as an id; more than 64 keys or 32 levels.

    Texts are written to `texts` from position `t` on, one behind the other. `rest` gets the metadata of each, the
    record without the text and without url and title where these are strings: no spaces, strings escaped where they
    must be and nowhere else, numbers as they are spelled; and the values of the named fields. It has room for twice
    what `data` has from `start` on, and `SPACE` bytes. The rows of `found` are these records (see `WIDTH`): the line
    without its end, ends in `texts`, control characters (as `unescape` counts them), begins and ends in `rest`.

    `limits`: bytes of the longest line; bytes of all lines together, but for the first so many records, which are the
    third. It also stops where `found` is full and where `texts` might not have room.
    """
    longest, budget, least = limits[0], limits[1], limits[2]
    keys = np.empty(2 * _MAX_KEYS, np.int64)
    i, n, count, r, size = start, len(data), int64(0), int64(0), int64(0)
    while i < n:
        if count == len(found) or len(texts) - t < n - i + SPACE:
            return count, i, int64(FULL)
        row = found[count]
        for column in range(NAMED, WIDTH):
            row[column] = -1
        keys[0] = 0
        begin = _skip(data, i)
        if _byte(data, begin) != _OPEN:
            return count, i, int64(ODD)
        end, after, behind, controls = _record(data, begin, names, bounds, texts, t, rest, r, keys, row)
        if end < 0:
            return count, i, int64(ODD)
        end = _skip(data, end)
        if (end < n and data[end] != 10) or end - i > longest:
            return count, i, int64(ODD)
        row[START], row[END], row[TEXT_END], row[CONTROLS] = i, end - (data[end - 1] == 13), after, controls
        row[META], row[META_END] = r, behind
        r = _extracted(data, rest, behind, row)
        if r < 0:
            return count, i, int64(ODD)
        size += end - i
        if size > budget and count >= least:
            return count, i, int64(FULL)
        i, t, count = min(end + 1, n), after, count + 1
    return count, i, int64(DONE)
