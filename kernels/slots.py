"""An open-addressing table of pieces of text, for encoding (`encoding.py`).

A slot holds two words that tell a piece from all others, a value, and where its bytes lie in a store. The two words of
a piece of up to fifteen bytes are its bytes and their number; those of a longer one are a hash and, below zero, the
number of bytes: what lies in the store decides.

Pieces are dealt with in blocks, each in short passes: in a loop that only looks, the processor waits for many slots at
once. `window` reads byte after byte, of which the compiler makes one load of eight bytes. All arithmetic is int64 and
products wrap around. The arrays are made by NumPy, which asks the kernel for huge pages; memory that numba allocates
has none.
"""

from typing import Any

import numpy as np
from numba import njit, types

BLOCK = 1 << 9  # pieces that are looked up at once: what is noted of them stays in the nearest cache
INLINE = 15  # pieces up to this many bytes are known by their two words
SPARE = 16  # bytes that may be read behind a text
SPREAD = 0x1E3779B97F4A7C15
MIX = 0x2545F4914F6CDD1D
HASHED = np.int64(-1 << 63)
HEAD, TAIL, VALUE, PLACE = range(4)  # of a slot; TAIL is 0 where it is free

SLOTS = types.Array(types.int64, 2, "C")


@njit(nogil=True, inline="always")
def window(text: Any, i: Any) -> Any:
    """The eight bytes from i on, the first one lowest."""
    q = np.uint64(i)  # no test for a negative index in between
    word = np.int64(text[q]) | np.int64(text[q + np.uint64(1)]) << 8 | np.int64(text[q + np.uint64(2)]) << 16
    word |= np.int64(text[q + np.uint64(3)]) << 24 | np.int64(text[q + np.uint64(4)]) << 32
    word |= np.int64(text[q + np.uint64(5)]) << 40 | np.int64(text[q + np.uint64(6)]) << 48
    return word | np.int64(text[q + np.uint64(7)]) << 56


@njit(nogil=True)
def find_words(text: Any, start: Any, ends: Any, heads: Any, tails: Any) -> Any:
    """The two words of pieces whose bytes follow one another in text, which has SPARE more; start: what to subtract."""
    first = np.int64(0)
    for k in range(len(ends)):
        after = ends[k] - start
        size = after - first
        head, tail = window(text, first), window(text, first + 8)
        if size <= INLINE:
            some = (np.int64(1) << 8 * (size & 7)) - 1
            heads[k] = head & (some if size < 8 else np.int64(-1))
            tails[k] = tail & (some if size > 7 else np.int64(0)) | size << 56
        else:
            for q in range(first + 8, after - 8, 8):
                head = (head ^ head >> 32) * SPREAD ^ window(text, q)
            heads[k] = (head ^ head >> 32) * SPREAD ^ window(text, after - 8)
            tails[k] = size | HASHED
        first = after


@njit(nogil=True, inline="always")
def first_slot(head: Any, tail: Any, mask: Any) -> Any:
    word = head ^ tail * MIX
    return (word ^ word >> 32) * SPREAD >> 32 & mask


@njit(nogil=True)
def look(heads: Any, tails: Any, n: Any, slots: Any, found: Any, missed: Any) -> Any:
    """For each of n pieces the value in its first slot; missed gets those that are not there or have more bytes.

    Returns how many they are; missed needs one place more than there are pieces.
    """
    mask = len(slots) - 1
    misses = np.int64(0)
    for k in range(n):
        head, tail = heads[k], tails[k]
        s = first_slot(head, tail, mask)
        found[k] = slots[s, VALUE]
        missed[misses] = k
        misses += 1 - np.int64((slots[s, HEAD] == head) & (slots[s, TAIL] == tail) & (tail > 0))
    return misses


@njit(nogil=True)
def settle(
    text: Any, start: Any, ends: Any, heads: Any, tails: Any, missed: Any, misses: Any, slots: Any, store: Any,
    filled: Any, limits: Any, where: Any, fresh: Any,
) -> Any:  # fmt: skip
    """Find the slot of each piece that was missed, or give it one.

    filled: pieces in the table, their bytes in the store. limits: how many pieces there may be, and bytes in one. where
    gets the slot of each, or -1 - n for the n-th of those that are not taken in. fresh gets, by their places among the
    missed, the pieces that are new and have a slot, and from BLOCK on those not taken in. Returns filled, and the
    numbers of both.
    """
    pieces, used = filled
    most, longest = limits
    mask = len(slots) - 1
    new = passing = 0
    for j in range(misses):
        k = missed[j]
        head, tail = heads[k], tails[k]
        first, after = (ends[k - 1] - start if k > 0 else np.int64(0)), ends[k] - start
        s = first_slot(head, tail, mask)
        while slots[s, TAIL] != 0:
            if slots[s, HEAD] == head and slots[s, TAIL] == tail:
                away = slots[s, PLACE] - first
                q = first if tail < 0 else after
                while q < after - 8 and window(store, q + away) == window(text, q):
                    q += 8
                if q >= after - 8 and (tail > 0 or window(store, after - 8 + away) == window(text, after - 8)):
                    break
            s = (s + 1) & mask
        where[j] = s
        if slots[s, TAIL] == 0:
            if pieces < most and after - first <= longest:
                slots[s, HEAD] = head
                slots[s, TAIL] = tail
                slots[s, VALUE] = pieces
                slots[s, PLACE] = used
                for q in range(first, after):
                    store[used] = text[q]
                    used += 1
                fresh[new] = j
                pieces += 1
                new += 1
            else:
                where[j] = -1 - passing
                fresh[BLOCK + passing] = j
                passing += 1
    return (pieces, used), new, passing


@njit(types.void(types.Array(types.int64, 2, "C", readonly=True), SLOTS), nogil=True, cache=True)
def copy_slots(slots: Any, wide: Any) -> None:
    """Put all pieces into a larger, empty array of slots."""
    mask = len(wide) - 1
    for o in range(len(slots)):
        if slots[o, TAIL] != 0:
            s = first_slot(slots[o, HEAD], slots[o, TAIL], mask)
            while wide[s, TAIL] != 0:
                s = (s + 1) & mask
            for column in range(4):
                wide[s, column] = slots[o, column]
