"""Hash tables of KenLM's probing model: words by MurmurHash64A, n-grams by words combined from the last to the first.

Open addressing with linear probing from `key mod buckets`, key 0 for a free bucket, as `util/probing_hash_table.hh` and
`lm/search_hashed.hh` of KenLM lay it out. All arithmetic is on 64 bits that wrap; int64 stands for KenLM's uint64.
"""

from __future__ import annotations

from typing import Any, Final

from numba import boolean, int32, int64, njit, types, uint8, uint64, void

_M: Final = 0xC6A4A7935BD1E995 - (1 << 64)  # MurmurHash64A
_LOW17: Final = (1 << 17) - 1  # what is left of 64 bits after a shift by 47
_CURRENT: Final = 8978948897894561157
_NEXT: Final = 17894857484156487943 - (1 << 64)
_LOW32: Final = (1 << 32) - 1
_SIGN: Final = 1 << 31
_UNSIGNED: Final = ~_SIGN  # clears the sign of the lower 32 bits

_U8 = types.Array(uint8, 1, "C", readonly=True)
_I64 = types.Array(int64, 1, "C", readonly=True)
_I32 = types.Array(int32, 1, "C", readonly=True)
_ROWS = types.Array(int32, 2, "C", readonly=True)


@njit(void(_U8, _I64, int64[::1]), nogil=True, cache=True)
def hash_words(data: Any, ends: Any, hashes: Any) -> None:
    """MurmurHash64A (seed 0) of words that lie one after the other in `data`."""
    start = int64(0)
    for w in range(len(ends)):
        end = ends[w]
        h = (end - start) * _M
        i = start
        while i < end:
            k, size = int64(0), min(end - i, 8)
            for b in range(size):
                k |= int64(data[i + b]) << 8 * b
            if size == 8:
                k *= _M
                k ^= (k >> 47) & _LOW17
                k *= _M
                h = (h ^ k) * _M
            else:
                h = (h ^ k) * _M
            i += 8
        h ^= (h >> 47) & _LOW17
        h *= _M
        hashes[w] = h ^ ((h >> 47) & _LOW17)
        start = end


@njit(void(int32[:, ::1], _I64, _I32), nogil=True, cache=True)
def put_packed(table: Any, keys: Any, values: Any) -> None:
    """Enter keys with values of 32 bits; a bucket is three numbers: key (lower half first), value."""
    buckets = uint64(len(table))
    for i in range(len(keys)):
        at = int64(uint64(keys[i]) % buckets)
        while table[at, 0] != 0 or table[at, 1] != 0:
            at = at + 1 if at + 1 < len(table) else 0
        table[at, 0], table[at, 1] = int32(keys[i] & _LOW32), int32(keys[i] >> 32)
        table[at, 2] = values[i]


@njit(void(int64[:, ::1], _I64, _I64), nogil=True, cache=True)
def put(table: Any, keys: Any, values: Any) -> None:
    """Enter keys with values of 64 bits: the bits of a probability, and above bit 32 those of a back-off weight."""
    buckets = uint64(len(table))
    for i in range(len(keys)):
        at = int64(uint64(keys[i]) % buckets)
        while table[at, 0] != 0:
            at = at + 1 if at + 1 < len(table) else 0
        table[at, 0], table[at, 1] = keys[i], values[i]


@njit(boolean(_I64, _ROWS, int32[:, ::1]), nogil=True, cache=True)
def word_ids(hashes: Any, table: Any, ids: Any) -> Any:
    """Ids of words given by their hashes, row by row; 0 (<unk>) for what the vocabulary's table lacks; says whether all
    were found."""
    buckets, n, complete = uint64(len(table)), ids.shape[1], True
    for i in range(len(hashes)):
        low, high = int32(hashes[i] & _LOW32), int32(hashes[i] >> 32)
        at = int64(uint64(hashes[i]) % buckets)
        while (table[at, 0] != 0 or table[at, 1] != 0) and (table[at, 0] != low or table[at, 1] != high):
            at = at + 1 if at + 1 < len(table) else 0
        found = table[at, 0] == low and table[at, 1] == high
        ids[i // n, i % n] = table[at, 2] if found else 0
        complete = complete and found
    return complete


@njit(void(_ROWS, int64[::1], int64[::1], int64[::1]), nogil=True, cache=True)
def combine(ids: Any, keys: Any, suffixes: Any, contexts: Any) -> None:
    """Keys of n-grams (n >= 2, in reading order), of them without their first, and without their last word."""
    n = ids.shape[1]
    for i in range(len(ids)):
        key = int64(ids[i, n - 1])
        for k in range(n - 2, -1, -1):
            suffixes[i] = key
            key = (key * _CURRENT) ^ ((1 + int64(ids[i, k])) * _NEXT)
        keys[i] = key
        key = int64(ids[i, n - 2])
        for k in range(n - 3, -1, -1):
            key = (key * _CURRENT) ^ ((1 + int64(ids[i, k])) * _NEXT)
        contexts[i] = key


@njit(boolean(int64[:, ::1], _I64, _I64), nogil=True, cache=True)
def extend(table: Any, suffixes: Any, contexts: Any) -> Any:
    """Note in the order below that suffixes extend to the left (their probability loses its sign) and contexts to the
    right (a back-off weight of -0 becomes 0). Says whether the table holds all of them."""
    buckets = uint64(len(table))
    for i in range(len(suffixes)):
        at = int64(uint64(suffixes[i]) % buckets)
        while table[at, 0] != suffixes[i]:
            if table[at, 0] == 0:
                return False
            at = at + 1 if at + 1 < len(table) else 0
        table[at, 1] &= _UNSIGNED
        at = int64(uint64(contexts[i]) % buckets)
        while table[at, 0] != contexts[i]:
            if table[at, 0] == 0:
                return False
            at = at + 1 if at + 1 < len(table) else 0
        if (table[at, 1] >> 32) & _LOW32 == _SIGN:
            table[at, 1] &= _LOW32
    return True
