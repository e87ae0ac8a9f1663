"""Suffix order of a text of ids: which tokens end equal n-grams. One counting sort for each column, no comparisons.

The columns of a token are its own id, the id before it, and so on back to the beginning of its line; before that stands
nothing, which sorts first.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import int8, int32, int64, njit, types, void

_ID: Final = (1 << 32) - 1

_I64 = types.Array(int64, 1, "C", readonly=True)
_I32 = types.Array(int32, 1, "C", readonly=True)
_I8 = types.Array(int8, 1, "C", readonly=True)


@njit(void(_I32, int32, int64[::1]), nogil=True, cache=True)
def pack(stream: Any, begin: Any, packed: Any) -> None:
    """Each token's id, and above bit 32 its distance behind the last `begin`: neighbours share a cache line."""
    far: Any = int64(0)
    for i in range(len(stream)):
        far = int64(0) if stream[i] == begin else far + 1
        packed[i] = far << 32 | stream[i]


@njit(void(_I64, _I32, int64, int64, int32[::1]), nogil=True, cache=True)
def order_by(packed: Any, places: Any, column: Any, vocabulary: Any, ordered: Any) -> None:
    """`places` (all but those of distance 0) in the order of one column, equal ones as they stand."""
    slots = np.zeros(vocabulary + 2, np.int64)
    for i in range(len(packed)):  # in the order of memory, not of `places`: the sums are the same
        far = packed[i] >> 32
        if far:
            slots[((packed[i - column] & _ID) + 1 if far >= column else 0) + 1] += 1
    for key in range(vocabulary):
        slots[key + 1] += slots[key]
    for place in places:
        key = (packed[place - column] & _ID) + 1 if packed[place] >> 32 >= column else 0
        ordered[slots[key]] = place
        slots[key] += 1


@njit(void(_I64, _I32, int64, int8[::1], int8[::1]), nogil=True, cache=True)
def first_difference(packed: Any, places: Any, order: Any, depth: Any, room: Any) -> None:
    """For each row: the first column, below `order`, in which it differs from the row before (0 for the first row),
    and `room`, its distance behind BEGIN, `order` at most."""
    for row in range(len(places)):
        k = int64(0)
        if row:
            here, above = places[row], places[row - 1]
            far, other_far = packed[here] >> 32, packed[above] >> 32
            while k < order:
                own = packed[here - k] & _ID if far >= k else -1
                other = packed[above - k] & _ID if other_far >= k else -1
                if own != other:
                    break
                k += 1
        depth[row] = k
        room[row] = min(packed[places[row]] >> 32, order)


@njit(int64(_I32, _I8, _I8, int64, int32[::1], int32[::1], int32[::1], int32[::1]), nogil=True, cache=True)
def runs(places: Any, depth: Any, room: Any, n: Any, starts: Any, raw: Any, before: Any, gram_of: Any) -> Any:
    """The n-grams: runs of rows that agree in n columns and whose line is long enough. Returns how many there are.

    starts: first row of each. raw: its length. before: how many n+1-grams lie in it (nothing before counts as one).
    gram_of: number of the n-gram that ends at each place of the stream, untouched where the line is too short; may be
    empty where nobody asks.
    """
    count = int64(-1)
    inside = False
    for row in range(len(places)):
        if depth[row] < n:
            inside = room[row] >= n - 1
            if inside:
                count += 1
                starts[count], raw[count], before[count] = row, 0, 0
        if inside:
            raw[count] += 1
            before[count] += depth[row] <= n
            if len(gram_of):
                gram_of[places[row]] = count
    return count + 1


@njit(void(_I32, _I32, _I32, int64, int32[:, ::1]), nogil=True, cache=True)
def context_sums(context: Any, adjusted: Any, raw: Any, limit: Any, sums: Any) -> None:
    """Add up by context, columns of `sums`: adjusted counts; those of n-grams that occur `limit` times or less, which
    are pruned; and how many others have an adjusted count of 1, 2, 3 and more."""
    for i in range(len(context)):
        size, row = adjusted[i], context[i]
        sums[row, 0] += size
        if raw[i] <= limit:
            sums[row, 1] += size
        else:
            sums[row, 1 + min(size, 3)] += 1
