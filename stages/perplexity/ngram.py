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

All sums are of integers; real numbers are computed one by one, so the result does not depend on the machine's vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stages.perplexity.counts import BEGIN, Indices, Integers, Order, Words, count

FALLBACK: Final = (0.5, 1.0, 1.5)
Reals = NDArray[np.float64]
Discounts = tuple[float, float, float]


@dataclass(frozen=True)
class NGrams:
    """One order of a finished model, in suffix order: ids (n-grams, n), probability, back-off weight (linear)."""

    words: Words
    probability: Reals
    backoff: Reals


@dataclass(frozen=True)
class Model:
    """A model's orders from 1 up, and the discounts that made it (one triple for each order)."""

    orders: list[NGrams]
    discounts: list[Discounts]


class TooSmallError(ValueError):
    """The text holds too little for a model."""


def estimate(stream: Words, vocabulary: int, order: int, prune: Sequence[int] = (0,)) -> Model:
    """A model of order `order` from a text of ids (see `counts.count`).

    prune: for each order, n-grams that occur this often or less are left out; the last value holds for all orders
    behind it, values behind the highest order for none; the first must be 0 (no word is pruned), and values never fall.
    Raises ValueError otherwise.
    """
    limits = prune_limits(prune, order)
    counts = count(stream, vocabulary, order)
    discounts = [discounts_of(counts.unigrams), *(discounts_of(o.adjusted) for o in counts.orders)]
    limits = limits[: 1 + sum(len(o.raw) > 0 for o in counts.orders)]
    if len(limits) < 2:
        raise TooSmallError("the reference text holds no words")
    lower = _unigrams(counts.unigrams, discounts[0])
    orders = []
    words, kept = np.arange(vocabulary, dtype=np.int32)[:, None], np.ones(vocabulary, bool)
    tables = counts.orders[: len(limits) - 1]
    del counts
    for limit, d in zip(limits[1:], discounts[1:], strict=False):
        table = tables.pop(0)  # a large one, freed as soon as it is used
        p, gamma = _interpolated(table, limit, d, lower)
        orders.append(NGrams(words, lower[kept], gamma[kept]))
        kept = table.raw > limit
        words, lower = table.words(kept), p
    orders.append(NGrams(words, lower[kept], np.ones(len(words))))
    while len(orders) > 2 and not len(orders[-1].words):
        orders.pop()
    if not len(orders[1].words):
        raise TooSmallError(f"the reference text is too small for prune: {list(prune)}; no pair of words is left")
    return Model(orders, discounts[: len(orders)])


def prune_limits(prune: Sequence[int], order: int) -> list[int]:
    """One threshold for each order. Raises ValueError for a list that cannot be meant."""
    limits = [*prune, *[prune[-1] if prune else 0] * (order - len(prune))][:order]
    if limits[0] != 0 or limits != sorted(limits):
        raise ValueError(f"prune must begin with 0 and never fall, as [0, 0, 1] does, got {list(prune)}")
    return limits


def discounts_of(adjusted: Indices) -> Discounts:
    """D1, D2, D3+ from the numbers of n-grams with adjusted count 1 to 4 (Chen & Goodman 1998, equation 26)."""
    n1, n2, n3, n4 = (int(x) for x in np.bincount(np.minimum(adjusted, 5), minlength=6)[1:5])
    if not (n1 and n2 and n3):
        return FALLBACK
    y = n1 / (n1 + 2.0 * n2)
    found = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    if any(not 0 <= d <= size for size, d in enumerate(found, start=1)):
        return FALLBACK
    return found


def _unigrams(adjusted: Integers, discounts: Discounts) -> Reals:
    """p(w), interpolated with 1 / (vocabulary without <s>)."""
    total = int(adjusted.sum())
    classes = np.bincount(np.minimum(adjusted, 3), minlength=4)
    gamma = sum(d * int(c) for d, c in zip(discounts, classes[1:], strict=True)) / total
    p = (adjusted - _discount(adjusted, discounts)) / total + gamma / (len(adjusted) - 1)
    p[BEGIN] = 1.0
    return p


def _interpolated(table: Order, limit: int, d: Discounts, lower: Reals) -> tuple[Reals, Reals]:
    """Probabilities of one order, and the back-off weights of the order below (1 where an n-gram is no context)."""
    from kernels.lm_counts import context_sums

    sums = np.zeros((len(lower), 5), np.int32)
    context_sums(table.context, table.adjusted, table.raw, limit, sums)
    total, pruned, ones, twos, more = (np.ascontiguousarray(column) for column in sums.T)
    del sums
    gamma = np.ones(len(lower))
    seen = total > 0
    mass = d[0] * ones[seen] + d[1] * twos[seen] + d[2] * more[seen] + pruned[seen]
    gamma[seen] = mass / total[seen]
    kept = np.where(table.raw > limit, table.adjusted, 0)
    p = kept - _discount(kept, d)
    p /= total[table.context]
    p += gamma[table.context] * lower[table.suffix]
    return p, gamma


def _discount(adjusted: Indices, discounts: Discounts) -> Reals:
    return np.array([0.0, *discounts])[np.minimum(adjusted, 3)]


def log10(values: Reals) -> list[float]:
    """Logarithms one by one: vectorised ones differ between processors in the last digit."""
    return list(map(math.log10, values.tolist()))
