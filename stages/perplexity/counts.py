"""Counts of n-grams of all orders, out of core, as interpolated Kneser-Ney needs them.

Every token of the text ends one n-gram of each order. The columns of a token are its own word, the word before it, and
so on, back to the beginning of its line. Blocks of the text are sorted by these columns (suffix order) and written as
runs of distinct rows with their occurrences; the runs are merged, and in the merged stream an n-gram is a run of rows
equal in the first n columns, whose suffix is the run it lies in with n - 1 columns. So one pass gives the tables of all
orders (the counting of Heafield et al. 2013, sections 3.1 and 3.2). No dictionary, no strings: integers only
(`kernels.lm_counts`). How the text is cut into blocks changes nothing in the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stages.perplexity.columns import Column

UNKNOWN, BEGIN, END = 0, 1, 2  # ids of <unk>, <s>, </s>; the words of the text follow, in order of their UTF-8 bytes
SPECIALS: Final = ("<unk>", "<s>", "</s>")
CHUNK: Final = 1 << 15  # rows that are handled at once
MOST_TOKENS: Final = 2**31
_MOST_RUNS: Final = 128  # that are merged at once

Integers = NDArray[np.int64]
Words = NDArray[np.int32]


class Table:
    """The distinct n-grams of one order, in suffix order, in files of a work folder.

    suffix: number, within the order below, of the n-gram without its first word (0 for single words). first: its first
    word. size: Kneser-Ney's adjusted count, that is distinct words seen before the n-gram, but occurrences for the
    highest order and for n-grams that begin with <s> (Chen & Goodman 1998, section 4.1.6; Heafield et al. 2013, section
    3.2); below zero where the n-gram occurs `limit` times or less and is pruned. words: ids of those that are not
    pruned, in reading order. classes: how many n-grams have an adjusted count of 0, 1, ... 4, and of 5 and more.
    """

    def __init__(self, work: Path, n: int, limit: int = 0, highest: bool = False) -> None:
        self.n, self.limit, self.highest = n, limit, highest
        self.suffix, self.first, self.size = (
            Column(work / f"{name}-{n}", np.int32) for name in ("suffix", "first", "size")
        )
        self.words = Column(work / f"words-{n}", np.int32, n)
        self.classes = np.zeros(6, np.int64)

    def __len__(self) -> int:
        return len(self.suffix)

    def add(self, found: Words) -> None:
        """Take n-grams as `kernels.lm_counts.split` describes them."""
        from kernels.lm_counts import BEFORE, RAW, SUFFIX, WORDS

        first, raw = found[:, WORDS + self.n - 1], found[:, RAW]
        adjusted = raw if self.highest else np.where(first == BEGIN, raw, found[:, BEFORE])
        kept = raw > self.limit
        self.suffix.append(found[:, WORDS if self.n == 2 else SUFFIX])  # single words are numbered by their ids
        self.first.append(first)
        self.size.append(np.where(kept, adjusted, -adjusted))
        self.words.append(found[kept, WORDS : WORDS + self.n][:, ::-1])
        self.classes += np.bincount(np.minimum(adjusted, 5), minlength=6)

    def remove(self) -> None:
        for column in (self.suffix, self.first, self.size, self.words):
            column.remove()


@dataclass(frozen=True)
class Counts:
    """unigrams: adjusted count of every word id, 0 for <unk> and <s>; tables: of the orders from 2 to the highest."""

    unigrams: Integers
    tables: list[Table]


def count(blocks: Iterable[Words], vocabulary: int, limits: Sequence[int], work: Path, room: int) -> Counts:
    """Count a text of ids, given in blocks of whole lines: each line is BEGIN, its words, END.

    vocabulary: number of ids, specials included. limits: for each order, up to which number of occurrences n-grams are
    pruned. work: an empty folder for files. room: bytes that merging may take for its buffers.
    """
    if not 2 <= len(limits) <= 6:
        raise ValueError(f"order must be from 2 to 6, got {len(limits)}")
    runs = [_run(stream, vocabulary, len(limits), work / f"run-{k}") for k, stream in enumerate(blocks)]
    while len(runs) > _MOST_RUNS:
        groups = [runs[k : k + _MOST_RUNS] for k in range(0, len(runs), _MOST_RUNS)]
        runs = [_merged_run(group, room) for group in groups]
    counts = _tables(merged(runs, room), vocabulary, limits, work)
    for run in runs:
        run.remove()
    return counts


def _run(stream: Words, vocabulary: int, order: int, path: Path) -> Column:
    """The distinct rows of one block of text, sorted."""
    from kernels.lm_counts import distinct, order_by, pack

    packed = np.empty(len(stream), np.int64)
    pack(stream, BEGIN, packed)
    places = np.flatnonzero(stream != BEGIN).astype(np.int32)
    ordered = np.empty_like(places)
    for column in range(order - 1, -1, -1):
        order_by(packed, places, column, vocabulary, ordered)
        places, ordered = ordered, places
    run = Column(path, np.int32, order + 1)
    rows, written, at = np.empty((CHUNK, order + 1), np.int32), np.zeros(1, np.int64), 0
    while at < len(places):
        at = distinct(packed, places, at, rows, written)
        run.append(rows[: written[0]])
    return run


def _merged_run(runs: list[Column], room: int) -> Column:
    """Several runs as one, in place of the first of them."""
    path = runs[0].path.with_name(f"{runs[0].path.name}-merged")
    whole = Column(path, np.int32, runs[0].width)
    for rows in merged(runs, room):
        whole.append(rows)
    for run in runs:
        run.remove()
    return whole


def merged(runs: list[Column], room: int) -> Iterator[Words]:
    """Distinct rows of sorted runs, in order, with their occurrences; each block is valid until the next one."""
    from kernels.lm_counts import merge

    runs = [run for run in runs if len(run)]
    if not runs:
        return
    width = runs[0].width
    buffers = np.empty((len(runs), max(64, min(CHUNK, room // (8 * width * len(runs)))), width), np.int32)
    at, filled, read = np.zeros(len(runs), np.int64), np.zeros(len(runs), np.int64), [0] * len(runs)

    def refill(k: int) -> bool:
        rows = runs[k].read(read[k], read[k] + buffers.shape[1])
        buffers[k, : len(rows)] = rows
        at[k], filled[k] = 0, len(rows)
        read[k] += len(rows)
        return len(rows) > 0

    for k in range(len(runs)):
        refill(k)
    heap = np.array(sorted(range(len(runs)), key=lambda k: buffers[k, 0].tolist()), np.int64)
    live, rows, written = len(runs), np.empty((CHUNK, width), np.int32), np.zeros(1, np.int64)
    while live:
        empty = merge(buffers, at, filled, heap, live, rows, written)
        if empty < 0:  # `rows` is full; its last row may still grow
            yield rows[:-1]
            rows[0], written[0] = rows[-1], 1
        elif not refill(empty):
            live -= 1
            heap[0] = heap[live]
    yield rows[: written[0]]


def _tables(blocks: Iterable[Words], vocabulary: int, limits: Sequence[int], work: Path) -> Counts:
    """Tables of all orders from the rows of the whole text."""
    from kernels.lm_counts import BEFORE, WORDS, split

    order = len(limits)
    unigrams = np.zeros(vocabulary, np.int64)
    tables = [Table(work, n, limits[n - 1], n == order) for n in range(2, order + 1)]
    found = np.empty((order + 1, CHUNK + 1, order + 3), np.int32)
    previous, begun, sizes = np.full(order, -2, np.int32), np.zeros(order + 1, np.int64), np.zeros(order + 1, np.int64)
    begun[0] = 1

    def take(n: int, size: int) -> None:
        if n == 1:
            unigrams[found[1, :size, WORDS]] = found[1, :size, BEFORE]
        else:
            tables[n - 2].add(found[n, :size])

    for rows in blocks:
        split(rows, previous, begun, found, sizes)
        for n in np.flatnonzero(sizes).tolist():  # the last of each order may go on
            take(n, sizes[n] - 1)
            found[n, 0], sizes[n] = found[n, sizes[n] - 1], 1
    for n in np.flatnonzero(sizes).tolist():
        take(n, sizes[n])
    return Counts(unigrams, tables)
