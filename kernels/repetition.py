"""Repetition inside documents: lines, paragraphs and n-grams that occur more than once.

Works on what `kernels.words.Scan` found. Words, lines and paragraphs are compared by 64-bit hashes (two different ones
of a million fall together with a chance of 3 in 10^8), n-grams by exact pairs of ids: the (n-1)-gram's and the next
word's. Only an n-gram whose two (n-1)-grams both repeat can repeat itself, so the longer n-grams cost next to nothing.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import int32, int64, njit, types, void
from numpy.typing import NDArray

LONGEST: Final = 10  # words in the longest n-gram
COLUMNS: Final = (
    *("duplicate_lines", "duplicate_line_characters"),
    *("paragraphs", "duplicate_paragraphs", "duplicate_paragraph_characters", "word_characters"),
    *(f"top_{n}grams" for n in (2, 3, 4)),  # characters under the most frequent n-gram
    *(f"top3_{n}grams" for n in (2, 3)),  # occurrences of the three most frequent n-grams
    *(f"duplicate_{n}grams" for n in range(5, LONGEST + 1)),  # characters under n-grams that repeat
)
"""What is counted; characters are code points."""
DUPLICATE_LINES, PARAGRAPHS, DUPLICATE_PARAGRAPHS, WORD_CHARACTERS = 0, 2, 3, 5
TOP, TOP3, DUPLICATE = 6 - 2, 9 - 2, 11 - 5  # + n

_EMPTY: Final = -1
_SPREAD: Final = 0x1E3779B97F4A7C15
_IN32, _IN64 = types.Array(int32, 1, "C", readonly=True), types.Array(int64, 1, "C", readonly=True)
_OUT32, _OUT64 = int32[::1], int64[::1]


@njit(int64(_OUT64, _OUT64, _OUT32, _OUT32, int64, int64), nogil=True, cache=True)
def _number(keys: Any, table: Any, slots: Any, ids: Any, n: Any, used: Any) -> Any:
    """Give equal keys equal ids, 0, 1, ... by first occurrence, where `ids` is not -1 (at most `used` places)."""
    size = 16
    while size < 2 * used:
        size *= 2
    slots[:size] = _EMPTY
    distinct = 0
    for i in range(n):
        if ids[i] == _EMPTY:
            continue
        key = keys[i]
        mixed = key * _SPREAD
        at = (mixed ^ (mixed >> 32)) & (size - 1)
        while slots[at] != _EMPTY and table[at] != key:
            at = (at + 1) & (size - 1)
        if slots[at] == _EMPTY:
            slots[at] = distinct
            table[at] = key
            distinct += 1
        ids[i] = slots[at]
    return distinct


@njit(int64(_OUT32, int64, int64, _OUT32), nogil=True, cache=True)
def _keep_repeated(ids: Any, n: Any, distinct: Any, times: Any) -> Any:
    """Count each id into `times`, set the ids that occur once to -1; returns how many places are left."""
    times[:distinct] = 0
    for i in range(n):
        if ids[i] != _EMPTY:
            times[ids[i]] += 1
    left = 0
    for i in range(n):
        if ids[i] != _EMPTY:
            if times[ids[i]] < 2:
                ids[i] = _EMPTY
            else:
                left += 1
    return left


@njit(int64(_OUT32, int64, int64, int64, _OUT32, _OUT64, _OUT64, _OUT32), nogil=True, cache=True)
def _top(ids: Any, n: Any, length: Any, distinct: Any, times: Any, prefix: Any, covered: Any, last: Any) -> Any:
    """Characters under the most frequent n-gram, each once; of equally frequent ones the largest such number."""
    most: Any = np.int64(2)
    for k in range(distinct):
        most = max(most, np.int64(times[k]))
    covered[:distinct] = 0
    last[:distinct] = 0
    for i in range(n):
        k = ids[i]
        if k != _EMPTY and times[k] == most:
            covered[k] += prefix[i + length] - prefix[max(i, np.int64(last[k]))]
            last[k] = i + length
    largest = np.int64(0)
    for k in range(distinct):
        largest = max(largest, covered[k])
    return largest


@njit(int64(_OUT32, int64), nogil=True, cache=True)
def _three(times: Any, distinct: Any) -> Any:
    """Occurrences of the three most frequent n-grams, those that occur once left out."""
    a = b = c = np.int64(1)
    for k in range(distinct):
        t = np.int64(times[k])
        if t > a:
            a, b, c = t, a, b
        elif t > b:
            b, c = t, b
        elif t > c:
            c = t
    return (a if a > 1 else 0) + (b if b > 1 else 0) + (c if c > 1 else 0)


@njit(int64(_OUT32, int64, int64, _OUT64), nogil=True, cache=True)
def _covered(ids: Any, n: Any, length: Any, prefix: Any) -> Any:
    """Characters under any n-gram that repeats, each once."""
    total = np.int64(0)
    end = np.int64(0)
    for i in range(n):
        if ids[i] != _EMPTY:
            total += prefix[i + length] - prefix[max(i, end)]
            end = i + length
    return total


@njit(void(_OUT64, _OUT32, int64, _OUT64, _OUT32, _OUT32, _OUT64), nogil=True, cache=True)
def _ngrams(keys: Any, lengths: Any, n: Any, table: Any, slots: Any, times: Any, counts: Any) -> Any:
    """All n-gram counts of one document of n words, whose hashes are `keys` (overwritten)."""
    prefix = np.zeros(n + 1, np.int64)
    for i in range(n):
        prefix[i + 1] = prefix[i] + lengths[i]
    counts[WORD_CHARACTERS] = prefix[n]
    words = np.zeros(n, np.int32)
    distinct = _number(keys, table, slots, words, n, n)
    ids = words.copy()
    left = _keep_repeated(ids, n, distinct, times)
    covered = np.empty(left, np.int64)
    last = np.empty(left, np.int32)
    for length in range(2, LONGEST + 1):
        n -= 1
        if left < 2:
            return
        for i in range(n):
            if ids[i] != _EMPTY and ids[i + 1] != _EMPTY:
                keys[i] = np.int64(ids[i]) << 32 | np.int64(words[i + length - 1])
            else:
                ids[i] = _EMPTY
        distinct = _number(keys, table, slots, ids, n, left)
        left = _keep_repeated(ids, n, distinct, times)
        if length <= 4 and left > 0:
            counts[TOP + length] = _top(ids, n, length, distinct, times, prefix, covered, last)
        if length <= 3:
            counts[TOP3 + length] = _three(times, distinct)
        if length >= 5:
            counts[DUPLICATE + length] = _covered(ids, n, length, prefix)


@njit(int64(_OUT64, _OUT32, int64, _OUT64, _OUT32), nogil=True, cache=True)
def _paragraphs(hashes: Any, lengths: Any, n: Any, keys: Any, sizes: Any) -> Any:
    """Join lines up to the next blank one into `keys` (hash) and `sizes` (characters); returns how many."""
    found = 0
    inside = False
    for i in range(n):
        if lengths[i] == 0:
            inside = False
            continue
        if not inside:
            keys[found] = 0
            sizes[found] = 0
            found += 1
            inside = True
        h = (keys[found - 1] ^ hashes[i]) * _SPREAD
        keys[found - 1] = h ^ (h >> 32)
        sizes[found - 1] += lengths[i]
    return found


@njit(void(_OUT64, _OUT32, int64, _OUT64, _OUT32, _OUT32, _OUT64), nogil=True, cache=True)
def _repeats(keys: Any, sizes: Any, n: Any, table: Any, slots: Any, ids: Any, counts: Any) -> Any:
    """Into counts[0] how many keys stood before, into counts[1] their sizes; size 0 (a blank) is passed over."""
    for i in range(n):
        ids[i] = 0 if sizes[i] > 0 else _EMPTY
    _number(keys, table, slots, ids, n, n)
    seen = 0
    for i in range(n):
        if ids[i] == seen:  # ids are given by first occurrence
            seen += 1
        elif ids[i] != _EMPTY:
            counts[0] += 1
            counts[1] += sizes[i]


@njit(void(_IN64, _IN32, _IN64, _IN64, _IN32, _IN64, int64[:, ::1]), nogil=True, cache=True)
def _count(
    word_hashes: Any,
    word_lengths: Any,
    word_ends: Any,
    line_hashes: Any,
    line_lengths: Any,
    line_ends: Any,
    counts: Any,
) -> Any:
    most = np.int64(0)
    for ends in (word_ends, line_ends):
        start = np.int64(0)
        for end in ends:
            most = max(most, end - start)
            start = end
    size = 16
    while size < 2 * most:
        size *= 2
    table, slots = np.empty(size, np.int64), np.empty(size, np.int32)
    ids = np.empty(most, np.int32)
    word = line = np.int64(0)
    for d in range(len(word_ends)):
        keys, lengths = line_hashes[line : line_ends[d]].copy(), line_lengths[line : line_ends[d]].copy()
        _repeats(keys, lengths, len(keys), table, slots, ids, counts[d, DUPLICATE_LINES:])
        keys_of, sizes = np.empty(len(keys), np.int64), np.empty(len(keys), np.int32)
        found = _paragraphs(keys, lengths, len(keys), keys_of, sizes)
        counts[d, PARAGRAPHS] = found
        _repeats(keys_of, sizes, found, table, slots, ids, counts[d, DUPLICATE_PARAGRAPHS:])
        keys, lengths = word_hashes[word : word_ends[d]].copy(), word_lengths[word : word_ends[d]].copy()
        _ngrams(keys, lengths, len(keys), table, slots, ids, counts[d])
        word, line = word_ends[d], line_ends[d]


def count_repetition(scan: Any) -> NDArray[np.int64]:
    """Repetition counts (documents, COLUMNS) of a `kernels.words.Scan`."""
    counts = np.zeros((len(scan.word_ends), len(COLUMNS)), np.int64)
    words = (scan.word_hashes, scan.word_lengths, scan.word_ends)
    _count(*words, scan.line_hashes, scan.line_lengths, scan.line_ends, counts)
    return counts
