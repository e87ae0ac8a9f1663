"""Where an entity of personal data could begin: one pass over UTF-8 text in Arrow buffers, no Python string.

A *candidate* is a place and a kind. The scan looks at the bytes round it for what every match of that kind must hold
(a dotted quad, twelve digits in card groups, a number followed by capitalised words and "Street"). It may name places
where nothing stands, never miss one. What is accepted is for the caller's patterns, tried at these places alone.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import boolean, int64, njit, types, uint8, void
from numpy.typing import NDArray

from kernels.candidate_tables import (
    ALL,
    ALNUM,
    BOX,
    CARD,
    CN_HOUSE,
    CN_ID,
    DIGIT,
    EMAIL,
    HEX,
    HIGH,
    HOT,
    IBAN,
    IPV4,
    IPV6,
    LOWER,
    MOBILE,
    NATIONAL,
    PASSWORD,
    PHONE,
    PHONE_SIGN,
    UPPER,
    US_ADDRESS,
    US_NUMBER,
    WIDE,
    WORD,
    Tables,
)

_HAN_NUMERALS: Final = tuple(int.from_bytes(c.encode(), "big") for c in "一二三四五六七八九十百零")
_HAN_ENDS: Final = tuple(int.from_bytes(c.encode(), "big") for c in "号號室")
_AT, _COLON, _X_LOWER, _X_UPPER, _PLUS, _OPEN = (ord(c) for c in "@:xX+(")
_DOT, _HYPHEN, _BLANK, _SLASH = (ord(c) for c in ".- /")
_BEFORE_NO_HOUSE: Final = tuple(b".,$#/:-")

_U8 = types.Array(uint8, 1, "C", readonly=True)
_I64 = types.Array(int64, 1, "C", readonly=True)
_OUT8, _OUT64 = uint8[::1], int64[::1]


@njit(int64(_U8, int64, int64, _U8), nogil=True, cache=True)
def _digits(data: Any, i: Any, end: Any, classes: Any) -> Any:
    """Length of the run of digits at i, at most 40."""
    j = i
    while j < end and j - i < 40 and classes[data[j]] & DIGIT:
        j += 1
    return j - i


@njit(boolean(_U8, int64, int64, _U8), nogil=True, cache=True)
def _is_quad(data: Any, i: Any, end: Any, classes: Any) -> Any:
    """Four groups of one to three digits with dots between them, no word character behind."""
    for group in range(4):
        size = _digits(data, i, end, classes)
        if size < 1 or size > 3:
            return False
        i += size
        if group < 3:
            if i >= end or data[i] != _DOT:
                return False
            i += 1
    return i >= end or not classes[data[i]] & WORD


@njit(boolean(_U8, int64, int64, int64, _U8), nogil=True, cache=True)
def _is_v6(data: Any, start: Any, i: Any, end: Any, classes: Any) -> Any:
    """Round the colon i, from at most five hexadecimal digits before it: `::` and a digit, or six colons?"""
    k = i
    while k > start and i - k < 5 and classes[data[k - 1]] & HEX:
        k -= 1
    if k > start and (classes[data[k - 1]] & WORD or data[k - 1] == _DOT or data[k - 1] == _COLON):
        return False
    colons, double, hexadecimal = 0, False, False
    j = k
    while j < end and j - k < 48:
        if data[j] == _COLON:
            colons += 1
            double |= j > k and data[j - 1] == _COLON
        elif classes[data[j]] & HEX:
            hexadecimal = True
        else:
            break
        j += 1
    return hexadecimal and (double or colons >= 6)


@njit(boolean(_U8, int64, int64, int64, _U8), nogil=True, cache=True)
def _is_email(data: Any, start: Any, i: Any, end: Any, classes: Any) -> Any:
    """Something to stand before the @ i, and a dot in the run of domain characters behind it."""
    if i == start or i + 1 >= end or data[i - 1] <= _BLANK:
        return False
    j = i + 1
    while j < end and j - i < 1024 and (classes[data[j]] & (ALNUM | HIGH) or data[j] == _HYPHEN or data[j] == _DOT):
        if data[j] == _DOT:
            return True
        j += 1
    return False


@njit(boolean(_U8, int64, int64), nogil=True, cache=True)
def _is_password(data: Any, i: Any, end: Any) -> Any:
    """`://name:password@` at the colon i."""
    if i + 2 >= end or data[i + 1] != _SLASH or data[i + 2] != _SLASH:
        return False
    colon = False
    for j in range(i + 3, min(end, i + 560)):
        b = data[j]
        if b == _AT:
            return colon
        if b <= _BLANK or b == _SLASH or b == 0x22 or b == 0x27 or b == 0x3C or b == 0x3E:
            return False
        colon |= b == _COLON
    return False


@njit(int64(_U8, int64, int64, _U8), nogil=True, cache=True)
def _numbers(data: Any, i: Any, end: Any, classes: Any) -> Any:
    """Kinds of numbers, as bits, that the run of digits at i may begin; nothing word-like stands before it."""
    size = _digits(data, i, end, classes)
    j = i + size
    mark = np.int64(data[j]) if j < end else 0
    if mark == 0xC2 and j + 1 < end and data[j + 1] == 0xA0:
        mark = _BLANK
        j += 1
    separated = mark in (_BLANK, _HYPHEN)
    second = _digits(data, j + 1, end, classes) if separated or mark == _DOT else 0
    kinds = 0
    last = mark == 0x58 or mark == 0x78
    if size == 18 or (size == 17 and last) or (size == 6 and separated and second >= 8) or (size == 14 and separated):
        kinds |= 1 << CN_ID
    if size == 9 or (size == 5 and second == 4) or (size == 3 and (second == 2 or second == 6)):
        kinds |= 1 << US_NUMBER
    if 12 <= size <= 19 or (separated and ((size == 4 and second in (4, 6)) or (size == 6 and second == 13))):
        kinds |= 1 << CARD
    if size == 11 or (size == 3 and separated and second == 4) or (size == 7 and second == 4):
        kinds |= 1 << MOBILE
    bare = 9 <= size <= 13 or (separated and ((size == 3 and second >= 3) or (size == 4 and second == 4)))
    checked = (size == 8 and (mark == _HYPHEN or (0x41 <= mark <= 0x5A))) or (size == 6 and mark in (43, 45, 65))
    if bare or checked or (size == 2 and separated and second == 3):
        kinds |= 1 << NATIONAL
    if size <= 3 and mark == _DOT and _is_quad(data, i, end, classes):
        kinds |= 1 << IPV4
    return kinds


@njit(boolean(_U8, int64, int64, _U8, _I64), nogil=True, cache=True)
def _is_street(data: Any, i: Any, end: Any, classes: Any, streets: Any) -> Any:
    """A house number at i, up to six words with capitals or ordinals behind it, and then a street word?"""
    j = i + _digits(data, i, end, classes)
    if j - i > 6:
        return False
    if j < end and data[j] == _HYPHEN:
        j += 1 + _digits(data, j + 1, end, classes)
    if j < end and classes[data[j]] & UPPER:
        j += 1
    for names in range(7):
        if j >= end or data[j] != _BLANK:
            return False
        while j < end and data[j] == _BLANK:
            j += 1
        k = j
        key = np.int64(0)
        while k < end and classes[data[k]] & (UPPER | LOWER):
            key = key << 5 | (data[k] & 31)
            k += 1
        # U+017F and U+212A are s and k in another letter case
        if names and k < end and (data[k] == 0xC5 or data[k] == 0xE2):
            return True
        # without a name before it only a capitalised one: `9 Avenue de Lyon`
        if 2 <= k - j <= 12 and (names or classes[data[j]] & UPPER):
            for street in streets:
                if street == key:
                    return True
        if j >= end or not classes[data[j]] & (UPPER | DIGIT):
            return False
        while k < end and (classes[data[k]] & (WORD | HIGH) or data[k] in (0x27, _HYPHEN, _DOT)) and k - j < 128:
            k += 1
        if classes[data[j]] & DIGIT and classes[data[k - 1]] & DIGIT:
            return False
        j = k
    return False


@njit(int64(_U8, int64, int64, _U8), nogil=True, cache=True)
def _phone_run(data: Any, i: Any, end: Any, classes: Any) -> Any:
    """End of the run of digits and telephone separators at i, negative if it holds less than a number needs."""
    digits = 0
    j = i + 1 if data[i] == _PLUS else i
    while j < end:
        if classes[data[j]] & PHONE_SIGN:
            digits += classes[data[j]] & DIGIT
            j += 1
        elif data[j] == 0xC2 and j + 1 < end and data[j + 1] == 0xA0:
            j += 2
        elif data[j] == 0xE2 and j + 2 < end and data[j + 1] == 0x80 and 0x90 <= data[j + 2] <= 0x93:
            j += 3
        else:
            break
    extension = j < end and (data[j] == 0x78 or (data[j] == 0x65 and j + 1 < end and data[j + 1] == 0x78))
    return j if digits >= 7 or extension else -j


@njit(int64(_U8, int64, int64, int64, _U8), nogil=True, cache=True)
def _lettered(data: Any, start: Any, i: Any, end: Any, classes: Any) -> Any:
    """Letters before the digit i with which an IBAN (2, or -2 in lower case) or a national id (1, 3, 6) begins."""
    size = _digits(data, i, end, classes)
    k = i
    kind = classes[data[i - 1]] & (UPPER | LOWER)
    while k > start and i - k < 7 and classes[data[k - 1]] & kind:
        k -= 1
    if k > start and classes[data[k - 1]] & ALNUM:
        return 0
    letters = i - k
    if letters == 2 and size >= 2:
        return 2 if kind == UPPER else -2
    return letters if kind == UPPER and ((letters == 1 and size >= 7) or (letters == 6 and size == 2)) else 0


@njit(boolean(_U8, int64, int64, _U8, boolean), nogil=True, cache=True)
def _is_iban(data: Any, i: Any, end: Any, classes: Any, upper: Any) -> Any:
    """Two digits at i and eleven more letters or digits behind them."""
    more, j = 0, i + 2
    kind = DIGIT | (UPPER if upper else LOWER)
    while j < end and more < 11:
        if upper and (data[j] == _BLANK or data[j] == _HYPHEN):
            j += 1
        if j >= end or not classes[data[j]] & kind:
            return False
        more += 1
        j += 1
    return more == 11


@njit(boolean(_U8, int64, int64), nogil=True, cache=True)
def _is_house(data: Any, start: Any, i: Any) -> Any:
    """A numeral, or anything that is no Han character, before i?"""
    if i == start or data[i - 1] < 0x80:
        return i > start and (data[i - 1] <= _BLANK or 0x30 <= data[i - 1] <= 0x39)
    if i - start >= 3 and 0xE4 <= data[i - 3] <= 0xE9:
        return (np.int64(data[i - 3]) << 16 | np.int64(data[i - 2]) << 8 | np.int64(data[i - 1])) in _HAN_NUMERALS
    return True


@njit(boolean(_U8, int64, int64, int64, _U8), nogil=True, cache=True)
def _is_box(data: Any, start: Any, i: Any, end: Any, classes: Any) -> Any:
    """`bo` before the x i, and a number behind it?"""
    if i - start < 4 or i + 2 >= end or data[i + 1] != _BLANK or data[i - 1] | 32 != 0x6F or data[i - 2] | 32 != 0x62:
        return False
    j = i + 1
    while j < end and data[j] == _BLANK:
        j += 1
    return j < end and (classes[data[j]] & DIGIT) > 0


@njit(int64(_U8, int64, int64, int64, _U8, _I64, _I64, _U8), nogil=True, cache=True)
def _literals(data: Any, start: Any, i: Any, end: Any, classes: Any, first: Any, about: Any, text: Any) -> Any:
    """Kinds, as bits, of the literals whose trigger is the byte i."""
    kinds = 0
    for k in range(first[data[i]], first[data[i] + 1]):
        at = i - about[4 * k + 2]
        size = about[4 * k + 1]
        if at < start or at + size > end:
            continue
        if about[4 * k + 3] & 64 and at > start and classes[data[at - 1]] & WORD:
            continue
        same = 0
        while same < size and data[at + same] == text[about[4 * k] + same]:
            same += 1
        if same == size:
            kinds |= 1 << (about[4 * k + 3] & 63)
    return kinds


@njit(int64(_U8, int64, int64, _U8, _I64, _I64, _U8, _I64, int64, _OUT64, _OUT8), nogil=True, cache=True)
def _scan(
    data: Any,
    start: Any,
    end: Any,
    classes: Any,
    first: Any,
    about: Any,
    text: Any,
    streets: Any,
    wanted: Any,
    places: Any,
    kinds: Any,
) -> Any:
    """Candidates of one document, until `places` is full; returns how many."""
    found, point = 0, -1
    run_end, run_good = start, False
    for i in range(start, end):
        b = data[i]
        point += (b & 0xC0) != 0x80
        c = classes[b]
        if not c & HOT:
            continue
        bits, back = 0, 0
        before = classes[data[i - 1]] if i > start else 0
        if c & DIGIT or b in (_PLUS, _OPEN):
            if i >= run_end:
                run_end = _phone_run(data, i, end, classes)
                run_good = run_end > 0
                run_end = abs(run_end)
            if not before & ALNUM:
                touching = i - start >= 2 and data[i - 1] in (_PLUS, _OPEN)
                if not (touching and (classes[data[i - 2]] & ALNUM or data[i - 2] == _PLUS)):
                    bits |= run_good << PHONE
                if c & DIGIT:
                    decimal = i - start >= 2 and data[i - 1] == _DOT and classes[data[i - 2]] & DIGIT
                    if not decimal:
                        bits |= _numbers(data, i, end, classes)
                    if b != 0x30 and not (before & WORD or (i > start and data[i - 1] in _BEFORE_NO_HOUSE)):
                        bits |= _is_street(data, i, end, classes, streets) << US_ADDRESS
            elif c & DIGIT and before & (UPPER | LOWER):
                back = _lettered(data, start, i, end, classes)
                if abs(back) == 2 and _is_iban(data, i, end, classes, back > 0):
                    bits |= 1 << IBAN
                if back > 0:
                    bits |= 1 << NATIONAL
                back = abs(back)
        elif b == _AT:
            bits |= _is_email(data, start, i, end, classes) << EMAIL
        elif b == _COLON:
            bits |= _is_v6(data, start, i, end, classes) << IPV6
            bits |= _is_password(data, i, end) << PASSWORD
        elif b in (_X_LOWER, _X_UPPER):
            bits |= _is_box(data, start, i, end, classes) << BOX
        elif (b == 0xE5 or b == 0xE8) and i + 2 < end:
            code = np.int64(b) << 16 | np.int64(data[i + 1]) << 8 | np.int64(data[i + 2])
            if code in _HAN_ENDS:
                bits |= _is_house(data, start, i) << CN_HOUSE
        elif b == 0xEF and i + 2 < end and data[i + 1] == 0xBC:
            bits |= (0x90 <= data[i + 2] <= 0x99 or data[i + 2] == 0xA0) << WIDE
        if first[b] < first[np.int64(b) + 1]:
            bits |= _literals(data, start, i, end, classes, first, about, text)
        bits &= wanted
        kind = 0
        while bits:
            if bits & 1:
                if found == len(places):
                    return found
                places[found] = point - back
                kinds[found] = kind
                found += 1
            bits >>= 1
            kind += 1
    return found


@njit(void(_I64, _U8, _U8, _I64, _I64, _U8, _I64, int64, _OUT8), nogil=True, cache=True)
def _flags(
    offsets: Any, data: Any, classes: Any, first: Any, about: Any, text: Any, streets: Any, wanted: Any, out: Any
) -> Any:
    places = np.empty(1, np.int64)
    kinds = np.empty(1, np.uint8)
    for d in range(len(offsets) - 1):
        begin, end = offsets[d], offsets[d + 1]
        out[d] = _scan(data, begin, end, classes, first, about, text, streets, wanted, places, kinds)


def any_in(
    offsets: NDArray[np.int64], data: NDArray[np.uint8], looked_for: Tables, wanted: int = ALL
) -> NDArray[np.bool_]:
    """Which documents, data[offsets[d]:offsets[d + 1]] in UTF-8, hold a candidate of a wanted kind (bits)."""
    out = np.empty(len(offsets) - 1, np.uint8)
    _flags(offsets, data, *looked_for, wanted, out)
    return out.astype(np.bool_)


def candidates(text: bytes, looked_for: Tables, wanted: int = ALL) -> dict[int, list[int]]:
    """Places, in code points and rising, of the candidates of one text by kind; kinds without any are absent."""
    data = np.frombuffer(text, np.uint8)
    size = 256
    while True:
        places, kinds = np.empty(size, np.int64), np.empty(size, np.uint8)
        found = _scan(data, 0, len(data), *looked_for, wanted, places, kinds)
        if found < size:
            break
        size *= 8
    places, kinds = places[:found], kinds[:found]
    return {int(kind): np.sort(places[kinds == kind]).tolist() for kind in np.unique(kinds)}
