"""How many distinct words of a list occur in each document: lists for many languages, one pass over those documents.

A word is that of `kernels.words`, without what is neither letter, mark nor number at its ends, in lower case character
by character. Lists are compared by 64-bit hashes.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import numpy as np
from numba import int32, int64, njit, types, uint8, void
from numpy.typing import NDArray

from kernels.word_tables import LETTER, MARK, NUMBER, SPACE, UNIT, class_table, lower_table
from kernels.words import _decode, _hash

_U8 = types.Array(uint8, 1, "C", readonly=True)
_I32, _I64 = types.Array(int32, 1, "C", readonly=True), types.Array(int64, 1, "C", readonly=True)
_OUT64 = int64[::1]
NONE: Final = -1  # a document without a list


def keys(words: Collection[str]) -> NDArray[np.int64]:
    """Sorted hashes of a list's words, lowered as those of documents are."""
    lower = lower_table()
    found = set()
    for word in words:
        points = lower[[ord(c) for c in word]].astype(np.int32)
        found.add(int(_hash(points, 0, len(points))))
    return np.array(sorted(found), np.int64)


@njit(int64(_I64, int64, int64, int64), nogil=True, cache=True)
def _find(listed: Any, first: Any, last: Any, key: Any) -> Any:
    """Place of `key` in the sorted listed[first:last], -1 if it is not there."""
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        if listed[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < last and listed[low] == key else -1


@njit(void(_I64, _U8, _U8, _I32, _I64, _I64, _I64, _OUT64), nogil=True, cache=True)
def _count(offsets: Any, data: Any, table: Any, lower: Any, lists: Any, listed: Any, starts: Any, counts: Any) -> Any:
    largest = np.int64(0)
    for d in range(len(offsets) - 1):
        if lists[d] >= 0:
            largest = max(largest, offsets[d + 1] - offsets[d])
    points = np.empty(largest + 1, np.int32)
    classes = np.empty(largest + 1, np.uint8)
    seen = np.full(len(listed), NONE, np.int64)  # the last document that held it
    for d in range(len(offsets) - 1):
        if lists[d] < 0:
            continue
        first_key, last_key = starts[lists[d]], starts[lists[d] + 1]
        n = _decode(data, offsets[d], offsets[d + 1], table, points, classes)
        i = np.int64(0)
        while i < n:
            first = np.int64(-1)
            last = np.int64(-1)
            while not classes[i] & (SPACE | UNIT):
                if classes[i] & (LETTER | NUMBER | MARK):
                    last = i
                    if first < 0:
                        first = i
                points[i] = lower[points[i]]
                i += 1
            if first >= 0:
                at = _find(listed, first_key, last_key, _hash(points, first, last + 1))
                if at >= 0 and seen[at] != d:
                    seen[at] = d
                    counts[d] += 1
            i += 1


def count(
    offsets: NDArray[np.int64],
    data: NDArray[np.uint8],
    lists: NDArray[np.int64],
    listed: NDArray[np.int64],
    starts: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Distinct words of its list in each document, 0 where it has none.

    offsets, data: buffers of an Arrow large_string array. lists: each document's list, NONE for none. listed: the
    lists' `keys` one after the other; starts: where each begins, and the end.
    """
    counts = np.zeros(len(offsets) - 1, np.int64)
    if (lists >= 0).any():
        _count(offsets, data, class_table(), lower_table(), lists, listed, starts, counts)
    return counts
