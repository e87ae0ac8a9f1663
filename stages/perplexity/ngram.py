"""Interpolated modified Kneser-Ney smoothing, with the choices of KenLM's `lmplz`.

Chen & Goodman, "An Empirical Study of Smoothing Techniques for Language Modeling" (1998), section 4.1.6, equation 26;
Heafield et al., "Scalable Modified Kneser-Ney Language Model Estimation" (2013). With a(x) the adjusted count of an
n-gram x = v w, v its context, D the discount of its order and a's size class (1, 2, 3 and more), u its suffix:

    p(w | v) = (a(vw) - D) / sum of a(v.) + gamma(v) p(w | v without its first word)
    gamma(v) = (D1 N1(v.) + D2 N2(v.) + D3 N3+(v.) + counts of pruned n-grams v.) / sum of a(v.)

Below the unigrams lies the uniform distribution over the vocabulary with <unk> and </s>, without <s>; <s> itself has
probability 1 (it is never predicted). Where a discount cannot be computed, as in small data, all three of its order
are 0.5, 1, 1.5, what `lmplz --discount_fallback` takes. n-grams are pruned by their occurrences, after the discounts
and sums are taken; their mass goes to the back-off.

All sums are of integers; real numbers are computed one by one, so the result does not depend on the machine's vectors,
nor on the memory that cut the work into parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stages.perplexity.columns import Column
from stages.perplexity.contexts import Discounts, Order, Reals, discount, interpolate
from stages.perplexity.counts import BEGIN, CHUNK, Counts, Integers, Table, Words, count

FALLBACK: Final = (0.5, 1.0, 1.5)


@dataclass(frozen=True)
class Block:
    """Some n-grams of an order, in suffix order: ids (n-grams, n), probability, back-off weight (linear)."""

    words: Words
    probability: Reals
    backoff: Reals


@dataclass(frozen=True)
class Model:
    """A model that is computed while it is read: n-grams of each order from 1 up, their number, their discounts.

    orders: to be read once, from front to back; each order is an iterator of blocks.
    """

    sizes: list[int]
    discounts: list[Discounts]
    orders: Iterator[Iterator[Block]]


class TooSmallError(ValueError):
    """The text holds too little for a model."""


def estimate(
    blocks: Iterable[Words], vocabulary: int, order: int, prune: Sequence[int], work: Path, room: int
) -> Model:
    """A model of order `order` from a text of ids, given in blocks of whole lines (see `counts.count`).

    prune: for each order, n-grams that occur this often or less are left out; the last value holds for all orders
    behind it, values behind the highest order for none; the first must be 0 (no word is pruned), and values never fall.
    work: an empty folder for files, needed until the model is read. room: bytes for buffers and tables in memory.
    Raises ValueError otherwise.
    """
    limits = prune_limits(prune, order)
    counts = count(blocks, vocabulary, limits, work, room)
    if not counts.tables or not len(counts.tables[0]):
        raise TooSmallError("the reference text holds no words")
    tables = [table for table in counts.tables if len(table.words)]  # none behind one that is empty
    if not tables:
        raise TooSmallError(f"the reference text is too small for prune: {list(prune)}; no pair of words is left")
    single = np.bincount(np.minimum(counts.unigrams, 5), minlength=6)
    discounts = [discounts_of(classes.tolist()) for classes in (single, *(table.classes for table in tables))]
    sizes = [vocabulary, *(len(table.words) for table in tables)]
    return Model(sizes, discounts, _orders(counts, tables, discounts, work, room))


def prune_limits(prune: Sequence[int], order: int) -> list[int]:
    """One threshold for each order. Raises ValueError for a list that cannot be meant."""
    limits = [*prune, *[prune[-1] if prune else 0] * (order - len(prune))][:order]
    if limits[0] != 0 or limits != sorted(limits):
        raise ValueError(f"prune must begin with 0 and never fall, as [0, 0, 1] does, got {list(prune)}")
    return limits


def discounts_of(classes: Sequence[int]) -> Discounts:
    """D1, D2, D3+ from how many n-grams have an adjusted count of 0, 1, 2, 3, 4 (Chen & Goodman 1998, equation 26)."""
    n1, n2, n3, n4 = classes[1:5]
    if not (n1 and n2 and n3):
        return FALLBACK
    y = n1 / (n1 + 2.0 * n2)
    found = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    if any(not 0 <= d <= size for size, d in enumerate(found, start=1)):
        return FALLBACK
    return found


def _orders(
    counts: Counts, tables: list[Table], discounts: list[Discounts], work: Path, room: int
) -> Iterator[Iterator[Block]]:
    """The orders of a model; files of one are gone when the next but one begins."""
    below = _single_words(counts.unigrams, discounts[0], work)
    for table, d in zip(tables, discounts[1:], strict=True):
        found, backoff = interpolate(table, below, d, work, room)
        yield _blocks(below, backoff)
        below.remove()
        backoff.remove()
        below = found
    yield _blocks(below, None)


def _single_words(adjusted: Integers, d: Discounts, work: Path) -> Order:
    """The lowest order, written as the others are."""
    ids = np.arange(len(adjusted), dtype=np.int32)
    table = Table(work, 1)
    contexts, probability = Column(work / "contexts-1", np.int32), Column(work / "probability-1", np.float64)
    for column in (table.suffix, contexts):
        column.append(np.zeros_like(ids))
    for column in (table.first, table.words):
        column.append(ids)
    table.size.append(np.ones_like(ids))
    probability.append(_unigrams(adjusted, d))
    return Order(table, contexts, probability)


def _unigrams(adjusted: Integers, discounts: Discounts) -> Reals:
    """p(w), interpolated with 1 / (vocabulary without <s>)."""
    total = int(adjusted.sum())
    classes = np.bincount(np.minimum(adjusted, 3), minlength=4)
    gamma = sum(d * int(c) for d, c in zip(discounts, classes[1:], strict=True)) / total
    p = (adjusted - discount(adjusted, discounts)) / total + gamma / (len(adjusted) - 1)
    p[BEGIN] = 1.0
    return p


def _blocks(order: Order, backoff: Column | None) -> Iterator[Block]:
    """What is not pruned of an order; back-off weights are 1 where there is no longer one."""
    at = 0
    for start in range(0, len(order.table), CHUNK):
        kept = order.table.size.read(start, start + CHUNK) > 0
        size = int(np.count_nonzero(kept))
        weights = np.ones(size) if backoff is None else backoff.read(start, start + CHUNK)[kept]
        yield Block(
            order.table.words.read(at, at + size).reshape(size, order.table.n),
            order.probability.read(start, start + CHUNK)[kept],
            weights,
        )
        at += size


def log10(values: NDArray[np.float64]) -> list[float]:
    """Logarithms one by one: vectorised ones differ between processors in the last digit."""
    return list(map(math.log10, values.tolist()))
