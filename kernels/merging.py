"""Byte-pair encoding of pieces with learned merges.

Of all pairs of neighbours the one that was learned first is merged, the leftmost of equals, until none is left. A new
symbol has a larger id than the pair it came from, so its own pairs are always merged later. Short pieces are searched
from end to end each time; a long piece keeps its pairs in a heap and its symbols in a linked list, O(n log n).

Where no token can join a part of a character to its neighbour, a piece begins with the tokens of whole characters
instead of bytes: see `first_symbols`.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

SHORT = 127  # bytes of a piece that is searched from end to end: seven bits
ID_BITS = 21  # an id and the pair it was made from lie in one number
NO_ID = (1 << ID_BITS) - 1
MANY = 1 << 31  # above every id
NONE = np.int64(MANY)
SPREAD = 0x1E3779B97F4A7C15
LISTED = np.int64(-1 << 63)  # of an entry: the ids lie in a list

PAIRS = types.Array(types.int64, 1, "C")
CHARACTERS = types.Array(types.int32, 1, "C")
ACROSS = types.Array(types.bool_, 1, "C")
TABLES = types.Tuple((PAIRS, CHARACTERS, ACROSS))

Tables = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.bool_]]


@njit(PAIRS(types.Array(types.int64, 2, "C", readonly=True)), nogil=True, cache=True)
def pair_slots(merges: Any) -> Any:
    """Hash table of the merges (left id, right id), whose ids follow from 256: pair << ID_BITS | new id, 0 if free."""
    size = 16
    while size < 4 * len(merges):
        size *= 2
    slots = np.zeros(size, np.int64)
    for k in range(len(merges)):
        pair = merges[k, 0] << ID_BITS | merges[k, 1]
        s = (pair * SPREAD) >> 29 & (size - 1)
        while slots[s] != 0:
            s = (s + 1) & (size - 1)
        slots[s] = pair << ID_BITS | 256 + k
    return slots


@njit(nogil=True, inline="always")
def joined(slots: Any, left: Any, right: Any) -> Any:
    """Id of the merge of two symbols, or NONE."""
    pair = left << ID_BITS | right
    mask = len(slots) - 1
    s = (pair * SPREAD) >> 29 & mask
    slot = slots[s]
    while slot >> ID_BITS != pair and slot != 0:  # as a rule false at once, whatever the answer: no jump to guess
        s = (s + 1) & mask
        slot = slots[s]
    return slot & NO_ID if slot != 0 else NONE


@njit(nogil=True, inline="always")
def character(text: Any, i: Any, end: Any) -> Any:
    """Code point and bytes of the character at i, if it has two or three and no stray byte follows it; else 0, 1."""
    a, b, c = np.int64(text[i]), np.int64(text[i + 1]), np.int64(text[i + 2])
    if 0xC2 <= a < 0xE0 and b & 0xC0 == 0x80 and i + 2 <= end and (i + 2 == end or c & 0xC0 != 0x80):
        return (a & 0x1F) << 6 | b & 0x3F, 2
    code = (a & 0x0F) << 12 | (b & 0x3F) << 6 | c & 0x3F
    whole = a & 0xF0 == 0xE0 and b & 0xC0 == 0x80 and c & 0xC0 == 0x80 and code >= 0x800 and i + 3 <= end
    if whole and (i + 3 == end or text[i + 3] & 0xC0 != 0x80):
        return code, 3
    return np.int64(0), 1


@njit(nogil=True)
def first_symbols(
    text: Any, start: Any, ends: Any, missed: Any, fresh: Any, n: Any, tables: Any, symbols: Any, pairs: Any, sizes: Any
) -> Any:
    """The symbols that n pieces begin with, one after the other, the merge of each with the next, and their numbers.

    A character is one symbol if it is a token and no token joins a part of a character to its neighbour on either
    side. All that is ever merged with it is then merged after it has become whole, since it has a larger id, so it may
    as well be whole from the start. text must have two bytes more.
    """
    slots, characters, across = tables
    at = 0
    for j in range(n):
        k = missed[fresh[j]]
        first, end = (ends[k - 1] - start if k > 0 else np.int64(0)), ends[k] - start
        i, before = first, at
        while i < end:
            byte = np.int64(text[i])
            size = np.int64(1)
            symbols[at] = byte
            if byte >= 0xC2:
                code, size = character(text, i, end)
                after = i + size
                if (
                    characters[code] >= 0
                    and (i == first or not across[np.int64(text[i - 1]) << 8 | byte])
                    and (after == end or not across[np.int64(text[after - 1]) << 8 | text[after]])
                ):
                    symbols[at] = characters[code]
                else:
                    for q in range(1, size):
                        at += 1
                        symbols[at] = text[i + q]
            at += 1
            i += size
        sizes[j] = at - before
    symbols[at] = NO_ID
    for q in range(at):
        pairs[q] = joined(slots, symbols[q], symbols[q + 1])


@njit(nogil=True)
def push(heap: Any, n: Any, entry: Any) -> Any:
    """Add an entry to the n of a heap (smallest first)."""
    i = n
    while i > 0:
        up = (i - 1) >> 1
        if heap[up] <= entry:
            break
        heap[i] = heap[up]
        i = up
    heap[i] = entry
    return n + 1


@njit(nogil=True)
def drop_top(heap: Any, n: Any) -> Any:
    """Remove the first of n entries; returns how many are left."""
    n -= 1
    entry = heap[n]
    i = 0
    while 2 * i + 1 < n:
        down = 2 * i + 1
        if down + 1 < n and heap[down + 1] < heap[down]:
            down += 1
        if heap[down] >= entry:
            break
        heap[i] = heap[down]
        i = down
    heap[i] = entry
    return n


@njit(nogil=True)
def merge_long(symbols: Any, firsts: Any, slots: Any, out: Any, at: Any) -> Any:
    """Encode one piece into out[at:] with a heap of (id of the merge, place of its left symbol). Returns the new at."""
    n = len(symbols)
    ids = np.empty(n, np.int64)
    after = np.empty(n, np.int64)
    ahead = np.empty(n, np.int64)
    pairs = np.full(n, NONE, np.int64)
    heap = np.empty(3 * n, np.int64)
    waiting = 0
    for k in range(n):
        ids[k] = symbols[k]
        after[k] = k + 1
        ahead[k] = k - 1
    for k in range(n - 1):
        pairs[k] = firsts[k]
        if pairs[k] < NONE:
            waiting = push(heap, waiting, pairs[k] << 32 | k)
    while waiting > 0:
        best, i = heap[0] >> 32, heap[0] & 0xFFFFFFFF
        waiting = drop_top(heap, waiting)
        if pairs[i] != best:
            continue
        gone = after[i]
        ids[i] = best
        pairs[gone] = NONE
        pairs[i] = NONE
        after[i] = after[gone]
        if after[i] < n:
            ahead[after[i]] = i
            pairs[i] = joined(slots, best, ids[after[i]])
            if pairs[i] < NONE:
                waiting = push(heap, waiting, pairs[i] << 32 | i)
        if i > 0:
            k = ahead[i]
            pairs[k] = joined(slots, ids[k], best)
            if pairs[k] < NONE:
                waiting = push(heap, waiting, pairs[k] << 32 | k)
    i = np.int64(0)
    while i < n:
        out[at] = ids[i]
        at += 1
        i = after[i]
    return at


@njit(nogil=True)
def merge_all(
    symbols: Any, firsts: Any, sizes: Any, begin: Any, end: Any, slots: Any, work: Any, out: Any, at: Any, entries: Any
) -> Any:
    """Encode the pieces begin..end whose symbols follow one another; work has four rows of SHORT + 2.

    The symbols form a linked list over places 1..n; NO_ID, which merges with nothing, stands at 0 and n + 1. Writes an
    entry for each piece, with up to three ids in it; more go to out[at:]. Returns the new at.
    """
    ids, after, ahead, pairs = work[0], work[1], work[2], work[3]  # pairs: id of the merge << 8 | place of its left
    first = np.int64(0)
    for j in range(begin):
        first += sizes[j]
    for j in range(begin, end):
        n = sizes[j]
        before = at
        if n > SHORT:
            at = merge_long(symbols[first : first + n], firsts[first : first + n], slots, out, at)
            entries[j] = LISTED | before << 31 | at - before
            first += n
            continue
        for k in range(1, n + 1):
            ids[k] = symbols[first + k - 1]
            pairs[k] = firsts[first + k - 1] << 8 | k
            after[k] = k + 1
            ahead[k] = k - 1
        first += n
        ids[0] = ids[n + 1] = NO_ID
        least = pairs[n] = NONE << 8
        for k in range(1, n):
            least = min(least, pairs[k])
        while least >> 8 < NONE:
            i, best = least & 255, least >> 8
            gone, k = after[i], ahead[i]
            q = after[gone]
            ids[i] = best
            after[i] = q
            ahead[q] = i
            pairs[gone] = pairs[i] = pairs[k] = NONE << 8
            to_right = joined(slots, best, ids[q]) << 8 | i
            to_left = joined(slots, ids[k], best) << 8 | k
            least = min(to_left, to_right)
            for p in range(1, n):  # before the two are stored, which the reads would have to wait for
                least = min(least, pairs[p])
            pairs[i] = to_right
            pairs[k] = to_left
        symbol = np.int64(1)
        while symbol <= n:
            out[at] = ids[symbol]
            at += 1
            symbol = after[symbol]
        many = at - before
        entries[j] = LISTED | before << 31 | many
        if many <= 3:
            second = np.int64(out[before + 1]) if many > 1 else NO_ID
            third = np.int64(out[before + 2]) if many > 2 else NO_ID
            entries[j] = np.int64(out[before]) | second << ID_BITS | third << 2 * ID_BITS
            at = before
    return at


def tables_of(merges: NDArray[np.int64]) -> Tables:
    """The tables that encoding takes, from merges of shape (n, 2).

    All pairs hashed; by code point below 2**16 the token that is this character alone, -1 where there is none; by the
    two bytes where two characters meet (of which the second begins one), whether a token joins the two and ends or
    begins inside a character. Raises ValueError for more than 2**21 ids.
    """
    if 256 + len(merges) > NO_ID:
        raise ValueError(f"{len(merges)} merges: the encoder takes at most {NO_ID - 256}")
    merges = np.ascontiguousarray(merges, np.int64)
    tokens = [bytes([byte]) for byte in range(256)]
    for left, right in merges.tolist():
        tokens.append(tokens[left] + tokens[right])
    ids = {(left, right): 256 + k for k, (left, right) in enumerate(merges.tolist())}
    characters = np.full(1 << 16, -1, np.int32)
    across = np.zeros(1 << 16, np.bool_)
    for id_ in range(256, len(tokens)):
        token = tokens[id_]
        try:
            text = token.decode()
        except UnicodeDecodeError:
            for before, byte in pairwise(token):
                across[before << 8 | byte] |= byte & 0xC0 != 0x80
            continue
        if len(text) == 1 and len(token) < 4 and slow_ids(token, ids) == [id_]:
            characters[ord(text)] = id_
    slots: NDArray[np.int64] = pair_slots(merges)
    return slots, characters, across


def slow_ids(piece: bytes, ids: dict[tuple[int, int], int]) -> list[int]:
    """Ids of a piece, from the ids of all merges by their pairs."""
    symbols = list(piece)
    while True:
        found = [(ids.get(pair, MANY), k) for k, pair in enumerate(pairwise(symbols))]
        best, k = min(found, default=(MANY, 0))
        if best == MANY:
            return symbols
        symbols[k : k + 2] = [best]
