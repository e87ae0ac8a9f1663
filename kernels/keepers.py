"""Which documents are kept: a document is kept unless it has a verified edge to one already kept.

Documents are numbered in the declared order. The result is the lexicographically first maximal independent set of the
graph whose edges are the pairs that share a bucket and whose exact Jaccard reaches the threshold. Only edges from a
kept document to a later one can matter to it, so only those pairs are compared: a bucket of 100,000 copies costs
99,999 comparisons. The document that removes another is the first in order among its kept neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

INTEGERS = types.Array(types.int64, 1, "C", readonly=True)
I64, F64, OUT = types.int64, types.float64, types.int64[::1]

I64s = NDArray[np.int64]


@njit(nogil=True)
def _common(values: I64s, i: int, i_end: int, j: int, j_end: int, needed: Any) -> Any:
    """Size of the intersection of two sorted runs; -1 as soon as it cannot reach `needed`."""
    found = np.int64(0)
    while i < i_end and j < j_end:
        x, y = values[i], values[j]
        if x == y:
            found += 1
            i += 1
            j += 1
        else:
            if x < y:
                i += 1
            else:
                j += 1
            if found + min(i_end - i, j_end - j) < needed:
                return np.int64(-1)
    return found


_CHOOSE = types.void(*[INTEGERS] * 8, F64, I64, I64, *[OUT] * 4)


@njit([_CHOOSE], nogil=True, cache=True)
def choose(
    members: I64s,
    bucket: I64s,
    ends: I64s,
    visits: I64s,
    first: I64s,
    values: I64s,
    starts: I64s,
    stops: I64s,
    threshold: float,
    limit: int,
    fixed: int,
    kept: I64s,
    common: I64s,
    found_in: I64s,
    spent: I64s,
) -> None:
    """Decide every document; all arrays are int64 and one-dimensional.

    members: the documents of each bucket, ascending, bucket after bucket; bucket: the bucket of each such place;
    ends: the place after the last of each bucket. visits: the places of document 0, of document 1, ..., each
    ascending, those of document d being visits[first[d]:first[d + 1]].
    values[starts[d]:stops[d]]: the sorted distinct shingle hashes of document d, at least one.
    limit: comparisons a bucket may cost; from there on its pairs are left out (other buckets may still find them).
    fixed: the first so many documents stay whatever they are like (those of an earlier corpus).
    Out: kept[d] is the kept document that removes d, or -1; common[d] the size of their intersection; found_in[d] the
    bucket in which they met; spent[g] the comparisons that bucket g cost, limit + 1 if it would have cost more.
    """
    compared = np.full(len(kept), -1, np.int64)
    kept[:] = -1
    spent[:] = 0
    for d in range(len(kept)):
        if kept[d] >= 0:
            continue
        start, stop = starts[d], stops[d]
        for place in visits[first[d] : first[d + 1]]:
            g = bucket[place]
            for q in range(place + 1, ends[g]):
                other = members[q]
                if other < fixed or kept[other] >= 0 or compared[other] == d:
                    continue
                if spent[g] >= limit:
                    spent[g] = limit + 1
                    break
                spent[g] += 1
                compared[other] = d
                total = stop - start + stops[other] - starts[other]
                # an intersection below this cannot reach the threshold; one less, for the rounding
                needed = np.int64(threshold * total / (1.0 + threshold)) - 1
                shared = _common(values, start, stop, starts[other], stops[other], needed)
                if shared >= 0 and shared / (total - shared) >= threshold:
                    kept[other] = d
                    common[other] = shared
                    found_in[other] = g


@njit(nogil=True)
def _root(parent: I64s, d: Any) -> Any:
    while parent[d] != d:
        parent[d] = parent[parent[d]]
        d = parent[d]
    return d


@njit([types.void(INTEGERS, INTEGERS, OUT)], nogil=True, cache=True)
def unite(members: I64s, ends: I64s, parent: I64s) -> None:
    """Join the documents of each bucket: bucket g is members[ends[g - 1]:ends[g]].

    parent: int64, a forest over all documents, at first parent[d] = d; a root is the least document of its component.
    """
    start = np.int64(0)
    for g in range(len(ends)):
        if start < ends[g]:
            least = _root(parent, members[start])
            for k in range(start + 1, ends[g]):
                other = _root(parent, members[k])
                if other < least:
                    least, other = other, least
                parent[other] = least
        start = ends[g]


@njit([types.void(INTEGERS, OUT, OUT)], nogil=True, cache=True)
def roots(documents: I64s, parent: I64s, out: I64s) -> None:
    """The root of each of these documents: those of one component have the same."""
    for k in range(len(documents)):
        out[k] = _root(parent, documents[k])
