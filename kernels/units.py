"""Units of UTF-8 text as 64-bit hashes: words, or single characters of unspaced scripts (`kernels.normaliser`).

A word is the polynomial of its folded characters in STEP, mixed once. Stretches of ASCII are hashed without a branch on
any byte: a running sum of code * STEP^k is taken, and the difference at a word's ends, divided by STEP^(beginning), is
the word's polynomial. Groups of eight bytes are worked on side by side, so that the loops become loops over vectors.
All arithmetic is int64; products wrap around.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from kernels.normaliser import CHARACTER, IGNORED, KIND_SHIFT, WORD

STEP = 0x2545F4914F6CDD1D  # odd; a word is the polynomial of its characters in STEP
MIX = 0x1E3779B97F4A7C15  # odd, from the golden ratio; spreads a finished word
CODE = (1 << KIND_SHIFT) - 1
WIDTH = 1 << 10  # bytes of ASCII that are hashed together: a longer run costs cache, a shorter one more runs
GROUPS = WIDTH // 8
RUN = WIDTH - 8  # so that the end of a run has a place as well
SHORT = 64  # a shorter stretch of ASCII is read byte by byte
CODES = 64  # where the codes of a run begin: behind a zero, and where a vector does

BYTES = types.Array(types.uint8, 1, "C", readonly=True)
TABLE = types.Array(types.int32, 1, "C", readonly=True)
I64, OUT_INTEGERS = types.int64, types.int64[::1]

Bytes = NDArray[np.uint8]
Table = NDArray[np.int32]
I64s = NDArray[np.int64]


def _place(k: int) -> int:
    """Where byte k of a run stands: bytes 0, 8, 16, ... first, then 1, 9, 17, ..."""
    return k % 8 * GROUPS + k // 8


def _powers(factor: int) -> NDArray[np.int64]:
    """factor^k mod 2^64 at the place of byte k, int64, shape (WIDTH,)."""
    found, power = np.empty(WIDTH, np.uint64), 1
    for k in range(WIDTH):
        found[_place(k)] = power
        power = power * factor & (1 << 64) - 1
    return found.view(np.int64)


def _edges_in() -> NDArray[np.int64]:
    """For each byte of eight marks, the places of the set bits, 16 bits each: the first four, the other four."""
    found = np.zeros((256, 2), np.int64)
    for marks in range(256):
        for n, bit in enumerate(k for k in range(8) if marks >> k & 1):
            found[marks, n // 4] |= _place(bit) << n % 4 * 16
    return found


POWERS = _powers(STEP)
INVERSES = _powers(pow(STEP, -1, 1 << 64))
EDGES = _edges_in()
COUNTS = np.array([marks.bit_count() for marks in range(256)], np.int64)


@njit(nogil=True)
def finished(word: Any) -> Any:
    """A word's polynomial, mixed."""
    return (word ^ (word >> 32 & 0xFFFFFFFF)) * MIX


@njit(nogil=True)
def _ascii(c: Any) -> Any:
    """The folded code of an ASCII character of a word, else 0: what the normaliser's table says, as arithmetic."""
    lower = np.uint8(c | 0x20)
    letter = np.uint8(lower - 97) < 26
    other = (np.uint8(c - 48) < 10) | (np.uint8(c - 60) < 3) | (c == 36) | (c == 43) | (c == 94) | (c == 96)
    return lower if letter else c if other | (c == 124) | (c == 126) else np.uint8(0)


@njit(nogil=True)
def scratch() -> Any:
    """Room for a run: powers, inverses, codes (from CODES on), marks, sums in groups, sums of groups, edges.

    Powers and inverses are copied, for constants of compiled code do not stand where vectors are loaded fast.
    """
    codes, marks = np.zeros(CODES + WIDTH, np.uint8), np.zeros(WIDTH + 8, np.uint8)
    sums, before = np.zeros(9 * GROUPS, np.int64), np.zeros(GROUPS, np.int64)
    return POWERS.copy(), INVERSES.copy(), codes, marks, sums, before, np.zeros(WIDTH + 8, np.uint16)


@njit(nogil=True)
def _plain_end(data: Bytes, first: int, last: int) -> int:
    """End of the ASCII that starts at `first`, at most RUN bytes, cut behind a separator so that no word crosses it."""
    i, end = first, min(first + RUN, last)
    while i < end:
        block = data[i : min(i + RUN // 4, end)]
        high = np.uint8(0)
        for k in range(len(block)):
            high = np.uint8(high | block[k])  # narrowed at once, so that the loop becomes one over vectors
        if high >= 0x80:
            while data[i] < 0x80:
                i += 1
            break
        i += len(block)
    if i < last:
        while i > first and _ascii(data[i - 1]) != 0:
            i -= 1
    return i


@njit(nogil=True)
def _likely(data: Bytes, i: int, last: int) -> bool:
    """Do three looks say that a stretch of ASCII begins at i that is not short?"""
    return i + SHORT <= last and data[i + 1] < 0x80 and data[i + SHORT // 2] < 0x80 and data[i + SHORT - 1] < 0x80


@njit(nogil=True)
def _codes(data: Bytes, first: int, end: int, codes: Bytes, marks: Bytes) -> None:
    """Codes of the run's bytes, and marks where a word begins or has ended."""
    width = min((end - first + 63) & -64, len(data) - first)  # in whole vectors, as far as there are bytes
    text = data[first : first + width]
    for k in range(width):
        codes[CODES + k] = _ascii(text[k])
    for k in range(width):
        marks[k] = np.uint8((codes[CODES + k] == 0) != (codes[CODES - 1 + k] == 0))
    for k in range(end - first, end - first + 8):
        marks[k] = 0


@njit(nogil=True)
def _edges(marks: Bytes, groups: int, edges: Any) -> Any:
    """Places of the marks in these groups, ascending; returns how many."""
    wide = marks.view(np.int64)
    found, base = np.int64(0), np.int64(0)
    for g in range(groups):
        bits = (wide[g] * 0x0102040810204080) >> 56 & 255  # the lowest bits of eight bytes side by side
        at, four = found & (2 * WIDTH - 1), EDGES[bits, 0] + base  # `&` says that the index is not negative
        edges[at], edges[at + 1] = four & 0xFFFF, four >> 16 & 0xFFFF
        edges[at + 2], edges[at + 3] = four >> 32 & 0xFFFF, four >> 48 & 0xFFFF
        if COUNTS[bits] > 4:
            four = EDGES[bits, 1] + base
            edges[at + 4], edges[at + 5] = four & 0xFFFF, four >> 16 & 0xFFFF
            edges[at + 6], edges[at + 7] = four >> 32 & 0xFFFF, four >> 48 & 0xFFFF
        found += COUNTS[bits]
        base += 0x0001000100010001
    return found


@njit(nogil=True)
def _running_sums(codes: Bytes, powers: I64s, groups: int, sums: I64s, before: I64s) -> None:
    """sums[_place(k)]: sum of code * STEP^j over bytes j < k of k's group; before[g]: over all earlier groups."""
    wide, width = codes.view(np.int64), (groups + 31) & -32  # whole turns of the loop as it is unrolled
    for i in range(8):
        at = i * GROUPS
        for g in range(width):
            term = (wide[CODES // 8 + g] >> 8 * i & 255) * powers[at + g]
            sums[at + GROUPS + g] = sums[at + g] + term
    total = np.int64(0)
    for g in range(groups):
        before[g] = total
        total += sums[8 * GROUPS + g]


@njit(nogil=True)
def _plain_units(data: Bytes, first: int, end: int, room: Any, units: I64s, found: Any) -> Any:
    """Write the hashes of the words of at most RUN bytes of ASCII to units[found:]; returns the place behind them."""
    powers, inverses, codes, marks, sums, before, edges = room
    n = end - first
    _codes(data, first, end, codes, marks)
    count = _edges(marks, (n + 7) >> 3, edges)
    if count & 1:
        edges[count] = (n & 7) * GROUPS + (n >> 3)
        count += 1
    _running_sums(codes, powers, (n >> 3) + 1, sums, before)
    own = units[found : found + (count >> 1)]
    last = np.int64(0)  # between two words nothing is added: one begins with the sum at which the other ended
    for q in range(len(own)):
        behind = np.int64(edges[2 * q + 1])
        total = sums[behind] + before[behind & (GROUPS - 1)]
        own[q] = (total - last) * inverses[np.int64(edges[2 * q])]
        last = total
    for q in range(len(own)):
        own[q] = finished(own[q])
    return found + len(own)


@njit(nogil=True)
def units_of(data: Bytes, first: int, last: int, table: Table, room: Any, units: I64s) -> tuple[Any, Any]:
    """Hashes of the units of valid UTF-8; returns how many there are and how many are single characters."""
    found, characters, i, slow = np.int64(0), np.int64(0), first, first
    word, power = np.int64(0), np.int64(0)  # power 0: no word is open
    while i < last:
        code = np.int64(data[i])
        if code < 0x80 and power == 0 and i >= slow and _likely(data, i, last):
            slow = _plain_end(data, i, last)
            if slow - i >= SHORT:
                found = _plain_units(data, i, slow, room, units, found)
                i = slow
                continue
        i += 1
        if code >= 0x80:
            size = 1 if code < 0xE0 else 2 if code < 0xF0 else 3
            code &= 0x3F >> size
            for k in range(i, i + size):
                code = code << 6 | (data[k] & 0x3F)
            i += size
        entry = np.int64(table[code])
        kind = entry >> KIND_SHIFT
        if kind == WORD:
            if power == 0:
                word, power = np.int64(0), np.int64(1)
            word += (entry & CODE) * power
            power *= STEP
        elif kind != IGNORED:
            if power != 0:
                units[found] = finished(word)
                found += 1
                power = np.int64(0)
            if kind == CHARACTER:
                units[found] = finished(entry & CODE)
                found += 1
                characters += 1
    if power != 0:
        units[found] = finished(word)
        found += 1
    return found, characters


@njit([types.UniTuple(I64, 2)(BYTES, TABLE, OUT_INTEGERS, OUT_INTEGERS)], nogil=True, cache=True)
def unit_places(text: Bytes, table: Table, starts: I64s, ends: I64s) -> tuple[int, int]:
    """Where the units stand that `shingles` sees of one text: unit k is text[starts[k]:ends[k]], in bytes.

    starts, ends: int64, with room for half the bytes of text and one more. Returns how many units there are and how
    many of them are single characters.
    """
    found = characters = i = 0
    within = False
    while i < len(text):
        first = i
        code = np.int64(text[i])
        i += 1
        if code >= 0x80:
            size = 1 if code < 0xE0 else 2 if code < 0xF0 else 3
            code &= 0x3F >> size
            for k in range(i, i + size):
                code = code << 6 | (text[k] & 0x3F)
            i += size
        kind = np.int64(table[code]) >> KIND_SHIFT
        if kind == WORD:
            if not within:
                starts[found] = first
                found += 1
                within = True
            ends[found - 1] = i
        elif kind != IGNORED:
            within = False
            if kind == CHARACTER:
                starts[found], ends[found] = first, i
                found += 1
                characters += 1
    return found, characters
