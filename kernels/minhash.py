"""Shingles and MinHash signatures of documents, straight from Arrow buffers (offsets + UTF-8 bytes).

Three passes a document, each of loops over arrays:
  units_of      bytes -> unit hashes        words, or single characters of unspaced scripts (`kernels.units`)
  polynomials   unit hashes -> shingles     64-bit hash of every n consecutive units, a block at a time
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

from kernels.units import BYTES, I64, OUT_INTEGERS, TABLE, Bytes, I64s, Table, scratch, units_of

BASE = 0x5851F42D4C957F2D  # odd; a shingle is the polynomial of its units in BASE
FMIX64_1 = 0xFF51AFD7ED558CCD - (1 << 64)  # MurmurHash3's 64-bit finaliser, as signed integers
FMIX64_2 = 0xC4CEB9FE1A85EC53 - (1 << 64)
BLOCK = 1 << 11  # shingles that are hashed together: the 8 KiB of their minima stay in the first cache
EMPTY = 0xFFFFFFFF  # datasketch's value where there is no shingle

INTEGERS = types.Array(types.int64, 1, "C", readonly=True)
FACTORS = types.Array(types.uint32, 1, "C", readonly=True)
MATRIX = types.Array(types.uint32, 2, "C", readonly=True)
OUT_MATRIX = types.uint32[:, ::1]

U32s = NDArray[np.uint32]


def permutations(count: int, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Factors a (odd) and b of datasketch's `affine32` permutations, uint32, shape (count,) each."""
    generator = np.random.RandomState(seed)
    a = generator.randint(0, 1 << 31, count, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    return a, generator.randint(0, 1 << 32, count, dtype=np.uint32)


@njit(nogil=True)
def _mixed(x: Any) -> Any:
    x = (x ^ (x >> 33 & 0x7FFFFFFF)) * FMIX64_1
    x = (x ^ (x >> 33 & 0x7FFFFFFF)) * FMIX64_2
    return x ^ (x >> 33 & 0x7FFFFFFF)


@njit(nogil=True)
def _polynomials(units: I64s, first: int, size: int, out: I64s) -> None:
    """Polynomials in BASE of the `size` consecutive units that begin at first, first + 1, ..."""
    for j in range(len(out)):
        out[j] = units[first + j]
    for k in range(1, size):
        further = units[first + k : first + k + len(out)]
        for j in range(len(out)):
            out[j] = out[j] * BASE + further[j]


@njit(nogil=True)
def _size(count: int, single: int, words: int, characters: int) -> int:
    """Units in a shingle: `characters` where most units are single characters, else `words`; all, if they are fewer."""
    return min(count, characters if 2 * single > count else words)


@njit(nogil=True)
def _minima(low: U32s, a: U32s, b: U32s, signature: U32s) -> None:
    """Lower each value of the signature to the least of its permutation over these spread hashes, two at a time."""
    for k in range(0, len(a) - 1, 2):
        factor, shift, least = a[k], b[k], signature[k]
        other_factor, other_shift, other_least = a[k + 1], b[k + 1], signature[k + 1]
        for j in range(len(low)):
            least = min(least, np.uint32(low[j] * factor + shift))
            other_least = min(other_least, np.uint32(low[j] * other_factor + other_shift))
        signature[k], signature[k + 1] = least, other_least
    if len(a) & 1:
        factor, shift, least = a[len(a) - 1], b[len(a) - 1], signature[len(a) - 1]
        for j in range(len(low)):
            least = min(least, np.uint32(low[j] * factor + shift))
        signature[len(a) - 1] = least


@njit(nogil=True)
def _signature(units: I64s, count: int, size: int, a: U32s, b: U32s, block: I64s, low: U32s, signature: U32s) -> None:
    """The signature of the `count` shingles of `size` units, block by block; their hashes are never written down."""
    for first in range(0, count, BLOCK):
        own = block[: min(BLOCK, count - first)]
        _polynomials(units, first, size, own)
        for j in range(len(own)):
            x = np.uint32(_mixed(own[j]) & 0xFFFFFFFF)
            x = np.uint32((x ^ (x >> np.uint32(16))) * np.uint32(0x85EBCA6B))
            x = np.uint32((x ^ (x >> np.uint32(13))) * np.uint32(0xC2B2AE35))
            low[j] = x ^ (x >> np.uint32(16))
        _minima(low[: len(own)], a, b, signature)


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
    room, block, low = scratch(), np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint32)
    for d in range(len(offsets) - 1):
        out[d, :] = EMPTY
        count, single = units_of(data, offsets[d], offsets[d + 1], table, room, units)
        size = _size(count, single, words, characters)
        counts[d] = count - size + 1 if count else 0
        _signature(units, counts[d], size, a, b, block, low, out[d])


@njit([types.void(BYTES, INTEGERS, TABLE, I64, I64, OUT_INTEGERS, OUT_INTEGERS)], nogil=True, cache=True)
def shingles(data: Bytes, offsets: I64s, table: Table, words: int, characters: int, out: I64s, ends: I64s) -> None:
    """Shingle hashes of the documents, one document after another, unsorted and with repeats.

    out: int64, with room for half the bytes of data and one more a document. ends: int64, shape (documents + 1,).
    """
    units = np.empty(_longest(offsets) // 2 + 2, np.int64)
    room, filled = scratch(), np.int64(0)
    ends[0] = 0
    for d in range(len(offsets) - 1):
        count, single = units_of(data, offsets[d], offsets[d + 1], table, room, units)
        size = _size(count, single, words, characters)
        for first in range(0, count - size + 1 if count else 0, BLOCK):
            own = out[filled : filled + min(BLOCK, count - size + 1 - first)]
            _polynomials(units, first, size, own)
            for j in range(len(own)):
                own[j] = _mixed(own[j])
            filled += len(own)
        ends[d + 1] = filled


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
