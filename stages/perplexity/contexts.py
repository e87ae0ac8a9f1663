"""What an n-gram needs of its context, out of core: the sums over all n-grams that share it.

The table of an order is in suffix order, in which a context's n-grams lie far apart. The order below is cut into parts
that fit in memory, each a range of its table. Every n-gram asks the part where its context lies; a part finds the
contexts, adds up, and answers in the order it was asked; a second walk over the table collects the answers. All files
are written and read from front to back.

The context of w1 ... wn is found through numbers alone: it begins with w1 and its suffix w2 ... wn-1 is the context of
the n-gram's own suffix w2 ... wn, which the order below has found already.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stages.perplexity.columns import Column, bisect
from stages.perplexity.counts import CHUNK, Integers, Table, Words

Reals = NDArray[np.float64]
Discounts = tuple[float, float, float]
BYTES: Final = 128  # that a part takes for each n-gram of the order below
_HANDY: Final = 1 << 20  # n-grams in a part; searching larger ones is slower
_WINDOW: Final = 4 * CHUNK
_ANSWER: Final = np.dtype([("share", "<f8"), ("weight", "<f8"), ("context", "<i4")])


@dataclass(frozen=True)
class Order:
    """An order with its probabilities: n-grams, number of each one's context within the order below, p(w | context)."""

    table: Table
    contexts: Column
    probability: Column

    def remove(self) -> None:
        self.table.remove()
        self.contexts.remove()
        self.probability.remove()


@dataclass(frozen=True)
class _Block:
    """Some rows of a table: the first one's number, suffixes, what to ask for (the suffix of the context), and the rows
    in the order of the parts they ask, with the end of each part's rows."""

    start: int
    suffix: Words
    asked: Words
    order: Integers
    ends: list[int]


def interpolate(table: Table, below: Order, discounts: Discounts, work: Path, room: int) -> tuple[Order, Column]:
    """The order with its probabilities, and the back-off weights of the order below (1 where an n-gram is no context).

    room: bytes that a part of the order below may take.
    """
    most = min(room // BYTES, max(_HANDY, len(below.table) // 64))
    rows, lowest = _parts(below.table, max(CHUNK, most))
    asked = [Column(work / f"asked-{k}", np.int32, 3) for k in range(len(lowest))]
    for block in _walk(table, below, lowest):
        stop = block.start + len(block.suffix)
        columns = (block.asked, table.first.read(block.start, stop), table.size.read(block.start, stop))
        questions = np.stack(columns, axis=1)[block.order]
        for k, part in enumerate(np.split(questions, block.ends[:-1])):
            asked[k].append(part)
    backoff = Column(work / f"backoff-{table.n - 1}", np.float64)
    answers = []
    for k, column in enumerate(asked):
        answers.append(_answers(column, below.table, rows[k], rows[k + 1], discounts, backoff))
        column.remove()
    found = Order(
        table, Column(work / f"contexts-{table.n}", np.int32), Column(work / f"probability-{table.n}", np.float64)
    )
    _collect(found, below, lowest, answers)
    for column in answers:
        column.remove()
    return found, backoff


def _parts(below: Table, most: int) -> tuple[list[int], Words]:
    """Cut a table where a suffix begins: rows of the parts' ends (and 0), and the lowest suffix of each part."""
    rows = [0]
    while rows[-1] < len(below):
        stop = len(below)
        if rows[-1] + most < stop:
            suffix = int(below.suffix.read(rows[-1] + most, rows[-1] + most + 1)[0])
            stop = bisect(below.suffix, suffix)
            if stop == rows[-1]:  # one suffix alone is longer: as many rows as words precede it
                stop = bisect(below.suffix, suffix, right=True)
        rows.append(stop)
    return rows, np.array([int(below.suffix.read(row, row + 1)[0]) for row in rows[:-1]], np.int32)


def _walk(table: Table, below: Order, lowest: Words) -> Iterator[_Block]:
    start = 0
    while start < len(table):
        suffix = table.suffix.read(start, start + CHUNK)
        suffix = suffix[suffix < int(suffix[0]) + _WINDOW]  # suffixes may lie far apart
        asked = below.contexts.read(int(suffix[0]), int(suffix[-1]) + 1)[suffix - suffix[0]]
        part = np.searchsorted(lowest[1:], asked, side="right").astype(np.uint16)
        ends = np.cumsum(np.bincount(part, minlength=len(lowest))).tolist()
        yield _Block(start, suffix, asked, np.argsort(part, kind="stable"), ends)
        start += len(suffix)


def _answers(asked: Column, below: Table, start: int, stop: int, discounts: Discounts, backoff: Column) -> Column:
    """Answers of one part, rows start to stop - 1 of the order below; its back-off weights go to `backoff`."""
    from kernels.lm_counts import context_sums, find

    keys, index, lowest, shift = _keys(below, start, stop)
    places = Column(asked.path.with_name(f"{asked.path.name}-places"), np.int32)
    sums = np.zeros((stop - start, 5), np.int32)
    for at in range(0, len(asked), CHUNK):
        suffixes, firsts, sizes = np.ascontiguousarray(asked.read(at, at + CHUNK).T)
        found = np.empty(len(suffixes), np.int32)
        find(suffixes, firsts, keys, index, lowest, shift, found)
        context_sums(found, sizes, sums)
        places.append(found)
    del keys, index
    total, gamma = np.ascontiguousarray(sums[:, 0]), _weights(sums, discounts)
    del sums
    backoff.append(gamma)
    answers = Column(asked.path.with_name(f"{asked.path.name}-answers"), _ANSWER)
    for at in range(0, len(asked), CHUNK):
        place = places.read(at, at + CHUNK)
        kept = np.maximum(asked.read(at, at + CHUNK)[:, 2], 0)
        answer = np.empty(len(place), _ANSWER)
        answer["share"] = (kept - discount(kept, discounts)) / total[place]
        answer["weight"] = gamma[place]
        answer["context"] = place + start
        answers.append(answer)
    places.remove()
    return answers


def _keys(below: Table, start: int, stop: int) -> tuple[Integers, Integers, int, int]:
    """What `kernels.lm_counts.find` searches: keys, index, lowest suffix, shift."""
    suffix = below.suffix.read(start, stop).astype(np.int64)
    lowest, span = int(suffix[0]), int(suffix[-1] - suffix[0]) + 1
    shift = max(0, (span // len(suffix)).bit_length() - 1)  # at most two entries for a row
    index = np.searchsorted(suffix, lowest + (np.arange((span >> shift) + 2) << shift)).astype(np.int64)
    suffix <<= 32
    suffix |= below.first.read(start, stop)
    return suffix, index, lowest, shift


def _weights(sums: NDArray[np.int32], d: Discounts) -> Reals:
    """Back-off weight of each context; 1 where an n-gram is none."""
    total, pruned, ones, twos, more = (np.ascontiguousarray(column) for column in sums.T)
    gamma = np.ones(len(sums))
    seen = total > 0
    gamma[seen] = (d[0] * ones[seen] + d[1] * twos[seen] + d[2] * more[seen] + pruned[seen]) / total[seen]
    return gamma


def discount(adjusted: NDArray[Any], discounts: Discounts) -> Reals:
    """What is taken off each adjusted count."""
    return np.array([0.0, *discounts])[np.minimum(adjusted, 3)]


def _collect(found: Order, below: Order, lowest: Words, answers: list[Column]) -> None:
    """Probabilities of all n-grams, from the answers of the parts and the probabilities of the order below."""
    read = [0] * len(answers)
    for block in _walk(found.table, below, lowest):
        parts, begin = [], 0
        for k, end in enumerate(block.ends):
            parts.append(answers[k].read(read[k], read[k] + end - begin))
            read[k], begin = read[k] + end - begin, end
        answer = np.empty(len(block.suffix), _ANSWER)
        answer[block.order] = np.concatenate(parts)
        lower = below.probability.read(int(block.suffix[0]), int(block.suffix[-1]) + 1)[block.suffix - block.suffix[0]]
        found.probability.append(answer["share"] + answer["weight"] * lower)
        found.contexts.append(answer["context"])
