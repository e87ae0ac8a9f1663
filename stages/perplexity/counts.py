"""Counts of n-grams of all orders from one sort, as interpolated Kneser-Ney needs them.

Every token of the text ends one n-gram of each order. The columns of a token are its own word, the word before it, and
so on, back to the beginning of its line. Sorting tokens by their columns (suffix order) brings equal n-grams of every
order together: an n-gram is a run of tokens equal in the first n columns, and the run it lies in with n - 1 columns is
its suffix. No dictionary, no strings: arrays of integers only (`kernels.lm_counts`).
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
Indices = Integers | Words


@dataclass(frozen=True)
class Order:
    """The distinct n-grams of one order n >= 2, in suffix order.

    ends: place in the text of each n-gram's last word, where it was met in suffix order.
    raw: occurrences. adjusted: Kneser-Ney's count: distinct words seen before the n-gram; occurrences for the highest
    order and for n-grams that begin with <s> (Chen & Goodman 1998, section 4.1.6; Heafield et al. 2013, section 3.2).
    suffix, context: index, within the order below, of the n-gram without its first (last) word; word ids when n = 2.
    """

    stream: Words
    n: int
    ends: Words
    raw: Words
    adjusted: Words
    suffix: Words
    context: Words

    def words(self, wanted: NDArray[np.bool_] | None = None) -> Words:
        """Ids in reading order, shape (n-grams, n), of all or of the wanted n-grams."""
        ends = self.ends if wanted is None else self.ends[wanted]
        return np.stack([self.stream[ends - k] for k in range(self.n - 1, -1, -1)], axis=1)


@dataclass(frozen=True)
class Counts:
    """unigrams: adjusted count of every word id, 0 for <unk> and <s>; orders: from 2 to the highest."""

    unigrams: Integers
    orders: list[Order]


def count(stream: Words, vocabulary: int, order: int) -> Counts:
    """Count a text of ids: each line is BEGIN, its words, END. `vocabulary`: number of ids, specials included."""
    if not 2 <= order <= 6:
        raise ValueError(f"order must be from 2 to 6, got {order}")
    if len(stream) >= 2**31:
        raise ValueError(
            f"{len(stream):,} tokens are more than this estimator counts; sample less, or estimator: lmplz"
        )
    from kernels.lm_counts import runs

    places, depth, room = _suffix_order(stream, vocabulary, order)
    unigrams = np.zeros(vocabulary, np.int64)
    below = stream.copy()  # of each place: index, within the order below, of the n-gram that ends there
    starts, raw, before = (np.empty(len(places), np.int32) for _ in range(3))
    size = runs(places, depth, room, 1, starts, raw, before, np.empty(0, np.int32))
    unigrams[stream[places[starts[:size]]]] = before[:size]
    orders: list[Order] = []
    for n in range(2, order + 1):
        here = np.zeros(len(stream) if n < order else 0, np.int32)
        size = runs(places, depth, room, n, starts, raw, before, here)
        ends = places[starts[:size]]
        occurrences = raw[:size].copy()
        adjusted = occurrences
        if n < order:
            adjusted = np.where(stream[ends - (n - 1)] == BEGIN, occurrences, before[:size])
        orders.append(Order(stream, n, ends, occurrences, adjusted, below[ends], below[ends - 1]))
        below = here
    return Counts(unigrams, orders)


def _suffix_order(stream: Words, vocabulary: int, order: int) -> tuple[Words, NDArray[np.int8], NDArray[np.int8]]:
    """Places of all tokens but BEGIN in suffix order; of each row its first difference and its distance to BEGIN."""
    from kernels.lm_counts import first_difference, order_by, pack

    packed = np.empty(len(stream), np.int64)
    pack(stream, BEGIN, packed)
    places = np.flatnonzero(stream != BEGIN).astype(np.int32)
    for column in range(order - 1, -1, -1):
        ordered = np.empty_like(places)
        order_by(packed, places, column, vocabulary, ordered)
        places = ordered
    depth, room = np.empty(len(places), np.int8), np.empty(len(places), np.int8)
    first_difference(packed, places, order, depth, room)
    return places, depth, room
