"""Shingles and MinHash signatures of documents, straight from Arrow buffers (offsets + UTF-8 bytes).

Three passes a document, each one loop over arrays:
  units_of      bytes -> unit hashes        words, or single characters of unspaced scripts (`kernels.normaliser`)
  shingles_of   unit hashes -> shingles     64-bit hash of every n consecutive units, written over the units
  minima        shingles -> signature       least value of each permutation

Signatures follow datasketch's scheme `affine32`: permutation k of a 32-bit shingle hash h is
a[k] * fmix32(h) + b[k] mod 2^32, where fmix32 is MurmurHash3's finaliser, h the low half of the 64-bit hash, and the
signature its minimum over the shingles. All arithmetic is int64 (products wrap around) or explicitly uint32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from kernels.normaliser import CHARACTER, IGNORED, KIND_SHIFT, WORD

STEP = 0x2545F4914F6CDD1D  # odd; a word is the polynomial of its characters in STEP
MIX = 0x1E3779B97F4A7C15  # odd, from the golden ratio; spreads a finished word
BASE = 0x5851F42D4C957F2D  # odd; a shingle is the polynomial of its units in BASE
FMIX64_1 = 0xFF51AFD7ED558CCD - (1 << 64)  # MurmurHash3's 64-bit finaliser, as signed integers
FMIX64_2 = 0xC4CEB9FE1A85EC53 - (1 << 64)
CODE = (1 << KIND_SHIFT) - 1
BLOCK = 1 << 11  # shingles whose minima are taken together: 8 KiB, so that they stay in the first cache
RUN = 1 << 9  # bytes of ASCII that are hashed together: their tables stay in the first cache
EMPTY = 0xFFFFFFFF  # datasketch's value where there is no shingle

BYTES = types.Array(types.uint8, 1, "C", readonly=True)
INTEGERS = types.Array(types.int64, 1, "C", readonly=True)
TABLE = types.Array(types.int32, 1, "C", readonly=True)
FACTORS = types.Array(types.uint32, 1, "C", readonly=True)
MATRIX = types.Array(types.uint32, 2, "C", readonly=True)
I64, OUT_INTEGERS, OUT_MATRIX = types.int64, types.int64[::1], types.uint32[:, ::1]

Bytes = NDArray[np.uint8]
Table = NDArray[np.int32]
U32s = NDArray[np.uint32]
I64s = NDArray[np.int64]


def permutations(count: int, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Factors a (odd) and b of datasketch's `affine32` permutations, uint32, shape (count,) each."""
    generator = np.random.RandomState(seed)
    a = generator.randint(0, 1 << 31, count, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    return a, generator.randint(0, 1 << 32, count, dtype=np.uint32)


def _powers(factor: int) -> NDArray[np.int64]:
    """factor^0, factor^1, ... mod 2^64, int64, shape (RUN,)."""
    found = [1]
    while len(found) < RUN:
        found.append(found[-1] * factor & (1 << 64) - 1)
    return np.array(found, np.uint64).view(np.int64)


POWERS = _powers(STEP)
INVERSES = _powers(pow(STEP, -1, 1 << 64))


@njit(nogil=True)
def _finished(word: Any) -> Any:
    return (word ^ (word >> 32 & 0xFFFFFFFF)) * MIX


@njit(nogil=True)
def _plain(table: Table) -> I64s:
    """For each byte: the folded code where it is an ASCII character of a word, else 0."""
    plain = np.zeros(256, np.int64)
    for code in range(0x80):
        if np.int64(table[code]) >> KIND_SHIFT == WORD:
            plain[code] = table[code] & CODE
    return plain


@njit(nogil=True)
def _plain_end(text: Bytes, first: int, plain: I64s) -> int:
    """End of the ASCII that starts at `first`, at most RUN bytes, cut behind a separator so that no word crosses it."""
    i = first
    while i - first < RUN and i < len(text):
        block = text[i : min(i + 128, first + RUN)]
        high = np.uint8(0)
        for k in range(len(block)):
            high = np.uint8(high | block[k])  # narrowed at once, so that the loop becomes one over vectors
        if high >= 0x80:
            while text[i] < 0x80:
                i += 1
            break
        i += len(block)
    if i < len(text):
        while i > first and plain[text[i - 1]] != 0:
            i -= 1
    return i


@njit(nogil=True)
def _plain_units(text: Bytes, plain: I64s, units: I64s, found: int, edges: I64s, sums: I64s) -> int:
    """Hashes of the words of at most RUN bytes of ASCII, written to units[found:]; returns the place behind the last.

    A running sum of code * STEP^k is noted wherever a word begins or ends; the difference of two notes, divided by
    STEP^(beginning), is the word's polynomial. No branch depends on a byte.
    """
    total = np.int64(0)
    within = edge = np.int64(0)
    for k in range(len(text)):
        code = plain[text[k]]
        word = np.int64(code != 0)
        edges[edge] = k
        sums[edge] = total
        edge += word ^ within
        within = word
        total += code * POWERS[k]
    edges[edge] = len(text)
    sums[edge] = total
    edge += within
    for q in range(0, edge, 2):
        units[found] = _finished((sums[q + 1] - sums[q]) * INVERSES[edges[q]])
        found += 1
    return found


@njit(nogil=True)
def _units_of(text: Bytes, table: Table, plain: I64s, edges: I64s, sums: I64s, units: I64s) -> tuple[int, int]:
    """Hashes of the units of valid UTF-8; returns how many there are and how many are single characters."""
    found = characters = i = 0
    word, power = np.int64(0), np.int64(0)  # power 0: no word is open
    while i < len(text):
        code = np.int64(text[i])
        if power == 0 and code < 0x80:
            end = _plain_end(text, i, plain)
            if end > i:
                found = _plain_units(text[i:end], plain, units, found, edges, sums)
                i = end
                continue
        i += 1
        if code >= 0x80:
            size = 1 if code < 0xE0 else 2 if code < 0xF0 else 3
            code &= 0x3F >> size
            for k in range(i, i + size):
                code = code << 6 | (text[k] & 0x3F)
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
                units[found] = _finished(word)
                found += 1
                power = np.int64(0)
            if kind == CHARACTER:
                units[found] = _finished(entry & CODE)
                found += 1
                characters += 1
    if power != 0:
        units[found] = _finished(word)
        found += 1
    return found, characters


@njit(nogil=True)
def _mixed(x: Any) -> Any:
    x = (x ^ (x >> 33 & 0x7FFFFFFF)) * FMIX64_1
    x = (x ^ (x >> 33 & 0x7FFFFFFF)) * FMIX64_2
    return x ^ (x >> 33 & 0x7FFFFFFF)


@njit(nogil=True)
def _shingles_of(units: I64s, count: int, size: int) -> int:
    """Write the hashes of `size` consecutive units (of all, if they are fewer) over the units; returns how many."""
    if count == 0:
        return 0
    size = min(size, count)
    top = np.int64(1)
    window = np.int64(0)
    for k in range(size):
        window = window * BASE + units[k]
        top = top * BASE
    for k in range(size, count):
        oldest = units[k - size]
        units[k - size] = _mixed(window)
        window = window * BASE + units[k] - oldest * top
    units[count - size] = _mixed(window)
    return count - size + 1


@njit(nogil=True)
def _document(
    text: Bytes, table: Table, plain: I64s, edges: I64s, sums: I64s, words: int, characters: int, units: I64s
) -> int:
    """Shingles of one document: n = `characters` where most units are single characters, else `words`."""
    count, single = _units_of(text, table, plain, edges, sums, units)
    return _shingles_of(units, count, characters if 2 * single > count else words)


@njit(nogil=True)
def _minima(shingles: I64s, count: int, a: U32s, b: U32s, block: U32s, signature: U32s) -> None:
    """Lower each value of the signature to the least of its permutation over the shingles."""
    for first in range(0, count, BLOCK):
        size = min(BLOCK, count - first)
        for j in range(size):
            x = np.uint32(shingles[first + j] & 0xFFFFFFFF)
            x = np.uint32((x ^ (x >> np.uint32(16))) * np.uint32(0x85EBCA6B))
            x = np.uint32((x ^ (x >> np.uint32(13))) * np.uint32(0xC2B2AE35))
            block[j] = x ^ (x >> np.uint32(16))
        for k in range(len(a)):
            factor, shift, least = a[k], b[k], signature[k]
            for j in range(size):
                least = min(least, np.uint32(block[j] * factor + shift))
            signature[k] = least


@njit(nogil=True)
def _longest(offsets: I64s) -> Any:
    longest = np.int64(0)
    for d in range(len(offsets) - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    return longest


_SIGNATURES = types.void(BYTES, INTEGERS, TABLE, I64, I64, FACTORS, FACTORS, OUT_MATRIX, OUT_INTEGERS)


@njit([_SIGNATURES], nogil=True, cache=True)
def signatures(
    data: Bytes, offsets: I64s, table: Table, words: int, characters: int, a: U32s, b: U32s, out: U32s, counts: I64s
) -> None:
    """Signatures of the documents data[offsets[d]:offsets[d + 1]].

    out: uint32, shape (documents, permutations); a row of EMPTY where a document has no shingle.
    counts: int64, shape (documents,), the number of shingles, repeats included.
    """
    units = np.empty(_longest(offsets) // 2 + 2, np.int64)  # a unit takes two bytes, but for the last
    block = np.empty(BLOCK, np.uint32)
    plain, edges, sums = _plain(table), np.empty(RUN + 2, np.int64), np.empty(RUN + 2, np.int64)
    for d in range(len(offsets) - 1):
        out[d, :] = EMPTY
        counts[d] = _document(data[offsets[d] : offsets[d + 1]], table, plain, edges, sums, words, characters, units)
        _minima(units, counts[d], a, b, block, out[d])


@njit([types.void(BYTES, INTEGERS, TABLE, I64, I64, OUT_INTEGERS, OUT_INTEGERS)], nogil=True, cache=True)
def shingles(data: Bytes, offsets: I64s, table: Table, words: int, characters: int, out: I64s, ends: I64s) -> None:
    """Shingle hashes of the documents, one document after another, unsorted and with repeats.

    out: int64, with room for half the bytes of data and one more a document. ends: int64, shape (documents + 1,).
    """
    units = np.empty(_longest(offsets) // 2 + 2, np.int64)
    plain, edges, sums = _plain(table), np.empty(RUN + 2, np.int64), np.empty(RUN + 2, np.int64)
    ends[0] = 0
    for d in range(len(offsets) - 1):
        text = data[offsets[d] : offsets[d + 1]]
        count = _document(text, table, plain, edges, sums, words, characters, units)
        ends[d + 1] = ends[d] + count
        out[ends[d] : ends[d + 1]] = units[:count]


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


@njit([types.void(OUT_INTEGERS, OUT_INTEGERS)], nogil=True, cache=True)
def distinct(values: I64s, ends: I64s) -> None:
    """Close up repeats in each sorted run values[ends[d]:ends[d + 1]], in place."""
    filled = first = np.int64(0)
    for d in range(len(ends) - 1):
        last = ends[d + 1]
        for k in range(first, last):
            if k == first or values[k] != values[k - 1]:
                values[filled] = values[k]
                filled += 1
        first = last
        ends[d + 1] = filled


@njit([types.void(MATRIX, I64, I64, types.int64[:, ::1])], nogil=True, cache=True)
def band_keys(signature: U32s, bands: int, rows: int, out: I64s) -> None:
    """64-bit hash of each band of `rows` consecutive values; out: int64, shape (bands, documents)."""
    for d in range(len(signature)):
        for band in range(bands):
            key = np.int64(rows)
            for k in range(band * rows, (band + 1) * rows):
                key = _mixed(key * BASE + np.int64(signature[d, k]))
            out[band, d] = key
