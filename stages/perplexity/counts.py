"""Counts of n-grams of all orders from one sort, as interpolated Kneser-Ney needs them.

Every token of the text ends one n-gram of each order. The columns of a token are its own word, the word before it, and
so on, back to the beginning of its line. Sorting tokens by their columns (suffix order) brings equal n-grams of every
order together: an n-gram is a run of tokens equal in the first n columns, and the run it lies in with n - 1 columns is
its suffix. No dictionary, no strings: arrays of integers only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

UNKNOWN, BEGIN, END = 0, 1, 2  # ids of <unk>, <s>, </s>; the words of the text follow, in order of their UTF-8 bytes
SPECIALS: Final = ("<unk>", "<s>", "</s>")

Integers = NDArray[np.int64]
Words = NDArray[np.int32]


@dataclass(frozen=True)
class Order:
    """The distinct n-grams of one order n >= 2, in suffix order.

    words: shape (n-grams, n), ids in reading order.
    raw: occurrences. adjusted: Kneser-Ney's count: distinct words seen before the n-gram; occurrences for the highest
    order and for n-grams that begin with <s> (Chen & Goodman 1998, section 4.1.6; Heafield et al. 2013, section 3.2).
    suffix, context: index, within the order below, of the n-gram without its first (last) word; word ids when n = 2.
    """

    words: Words
    raw: Integers
    adjusted: Integers
    suffix: Integers
    context: Integers


@dataclass(frozen=True)
class Counts:
    """unigrams: adjusted count of every word id, 0 for <unk> and <s>; orders: from 2 to the highest."""

    unigrams: Integers
    orders: list[Order]


def count(stream: Words, vocabulary: int, order: int) -> Counts:
    """Count a text of ids: each line is BEGIN, its words, END. `vocabulary`: number of ids, specials included."""
    if not 2 <= order <= 6:
        raise ValueError(f"order must be from 2 to 6, got {order}")
    places, columns = _sorted_columns(stream, vocabulary, order)
    depth = _first_difference(columns)
    row_of = np.empty(len(stream), np.int64)
    row_of[places] = np.arange(len(places))
    unigrams = np.zeros(vocabulary, np.int64)
    top = np.flatnonzero(depth < 1)
    unigrams[columns[0][top]] = _distinct_before(top, depth, 1)
    orders: list[Order] = []
    below = columns[0].astype(np.int64)  # of each row: index of its n-gram in the order below
    for n in range(2, order + 1):
        starts = np.flatnonzero((depth < n) & (columns[n - 1] >= 0))
        raw = _run_lengths(np.flatnonzero(depth < n), starts, len(places))
        adjusted = raw
        if n < order:
            adjusted = np.where(columns[n - 1][starts] == BEGIN, raw, _distinct_before(starts, depth, n))
        before = places[starts] - 1
        context = stream[before].astype(np.int64) if n == 2 else below[row_of[before]]
        words = np.stack([columns[k][starts] for k in range(n - 1, -1, -1)], axis=1)
        orders.append(Order(words, raw, adjusted, below[starts], context))
        first = np.zeros(len(places), np.int64)
        first[starts] = 1
        below = np.cumsum(first) - 1  # rows whose line is too short for order n are never asked for
    return Counts(unigrams, orders)


def _sorted_columns(stream: Words, vocabulary: int, order: int) -> tuple[Integers, list[Words]]:
    """Places of all tokens but BEGIN, in suffix order, and their columns; -1 stands for what lies before the line."""
    places = np.flatnonzero(stream != BEGIN)
    lines = np.flatnonzero(stream == BEGIN)
    distance = places - np.repeat(lines, np.diff(np.append(lines, len(stream))) - 1)
    columns = [np.where(distance >= k, stream[np.maximum(places - k, 0)], -1).astype(np.int32) for k in range(order)]
    width = max(1, vocabulary).bit_length()
    per_key = max(1, 63 // width)
    keys = []
    for first in range(0, order, per_key):
        key = np.zeros(len(places), np.int64)
        for column in columns[first : first + per_key]:
            key = (key << width) | (column + 1)
        keys.append(key)
    rank = np.lexsort(keys[::-1])
    return places[rank], [column[rank] for column in columns]


def _first_difference(columns: list[Words]) -> NDArray[np.int8]:
    """For each row: the first column in which it differs from the row before; 0 for the first row."""
    depth = np.full(len(columns[0]), len(columns), np.int8)
    for k in range(len(columns) - 1, -1, -1):
        depth[1:][columns[k][1:] != columns[k][:-1]] = k
    depth[:1] = 0
    return depth


def _run_lengths(all_starts: Integers, starts: Integers, rows: int) -> Integers:
    """Lengths of the runs that begin at `starts`; a run ends where any run begins."""
    ends = np.append(all_starts, rows)
    return ends[np.searchsorted(all_starts, starts) + 1] - starts


def _distinct_before(starts: Integers, depth: NDArray[np.int8], n: int) -> Integers:
    """How many different n+1-grams lie in each run of equal n-grams."""
    begins = np.append(0, np.cumsum(depth < n + 1, dtype=np.int64))
    runs = np.flatnonzero(depth < n)
    ends = np.append(runs, len(depth))[np.searchsorted(runs, starts) + 1]
    return begins[ends] - begins[starts]
