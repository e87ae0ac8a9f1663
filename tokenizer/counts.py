"""Counting of pieces: how often each distinct pre-token occurs, and in how many documents.

Counts are tables with the columns
  piece      large_binary   the bytes
  (groups)   string         for grouped counts: the columns of the group, `source` and `license`, say
  count      int64          occurrences
  documents  int64          documents that hold it
sorted by bytes, then by group. They do not depend on the order of the documents, and the counts of a corpus are the
sum of those of its parts (a document must lie in one part).
"""

import os
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from math import gcd, lcm

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenizer import splitting
from tokenizer.patterns import Pattern

MOST = 1 << 30  # of a multiplier
SCHEMA = pa.schema([("piece", pa.large_binary()), ("count", pa.int64()), ("documents", pa.int64())])


class PieceCounter:
    """Counts the pieces of any number of batches of texts."""

    def __init__(self, pattern: Pattern, specials: Sequence[str] = (), normalization: str = "none") -> None:
        from kernels import pieces

        self.pattern = pattern
        self.normalization = normalization
        self.specials = tuple(specials)
        self.documents = 0
        self._table = pieces.PieceTable()

    @property
    def store_bytes(self) -> int:
        """Bytes of the distinct pieces so far."""
        return self._table.used

    def add(self, texts: pa.Array | pa.ChunkedArray, spans: pa.Array | pa.ChunkedArray | None = None) -> None:
        """Count texts whose special tokens are exactly the given spans (see `splitting.span_cuts`)."""
        texts = splitting.as_large_string(texts)
        self._add(texts, splitting.span_cuts(texts, spans, self.specials))

    def add_plain(self, texts: pa.Array | pa.ChunkedArray) -> None:
        """Count texts without spans: every declared special string is one."""
        texts = splitting.as_large_string(texts)
        self._add(texts, splitting.string_cuts(texts, self.specials))

    def _add(self, texts: pa.Array, cuts: splitting.Cuts) -> None:
        for first, _, segments in splitting.segment_blocks(texts, cuts, self.normalization):
            ends, before = splitting.split(segments, self.pattern)
            documents = segments.documents + (self.documents + first + 1)
            self._table.count(segments.data, segments.starts, ends, before, documents)
        self.documents += len(texts)

    def absorb(self, other: "PieceCounter") -> None:
        """Add what another counter has counted, in other documents."""
        self._table.absorb(other._table)
        self.documents += other.documents

    def table(self, ordered: bool = True) -> pa.Table:
        """The counts so far, sorted by bytes; or in no order that means anything, which is enough to train on."""
        store, offsets, counts, documents = self._table.listing()
        column = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(counts), [None, pa.py_buffer(offsets), pa.py_buffer(store)]
        )
        table = pa.table([column, pa.array(counts), pa.array(documents)], schema=SCHEMA)
        return table.take(pc.sort_indices(column)) if ordered else table


class ParallelCounter:
    """Counts texts without spans in threads, each with a table of its own. Use it in a `with` block.

    The counts are the same for any number of threads: sums over documents.
    """

    def __init__(
        self, pattern: Pattern, specials: Sequence[str] = (), threads: int | None = None, normalization: str = "none"
    ) -> None:
        self.threads = threads or os.cpu_count() or 1
        self._counters = [PieceCounter(pattern, specials, normalization) for _ in range(self.threads)]
        self._pool = ThreadPoolExecutor(self.threads)
        self._waiting: deque[Future[None]] = deque()

    def __enter__(self) -> "ParallelCounter":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def add_plain(self, texts: pa.Array | pa.ChunkedArray) -> None:
        """As `PieceCounter.add_plain`; returns before the texts are counted, unless many wait already."""
        texts = splitting.as_large_string(texts)
        for first, end in splitting.blocks(texts):
            if len(self._waiting) >= 2 * self.threads:
                self._waiting.popleft().result()
            self._waiting.append(self._pool.submit(self._count, texts.slice(first, end - first)))

    def _count(self, texts: pa.Array) -> None:
        counter = self._counters.pop()  # one per thread, and list.pop and append are atomic
        try:
            counter.add_plain(texts)
        finally:
            self._counters.append(counter)

    def result(self) -> PieceCounter:
        """One counter with everything; nothing can be added afterwards."""
        while self._waiting:
            self._waiting.popleft().result()
        self._counters.sort(key=lambda counter: -counter.store_bytes)
        first, *others = self._counters
        for other in others:
            first.absorb(other)
        self._counters = []
        return first


def count_pieces(
    texts: pa.Array | pa.ChunkedArray,
    spans: pa.Array | pa.ChunkedArray | None,
    pattern: Pattern,
    specials: Sequence[str] = (),
    normalization: str = "none",
) -> pa.Table:
    """Counts of the pieces of texts (string or large_string).

    spans: per text a list<struct<start, end, token>> of trusted placeholder spans in code points. They are cut out,
    never counted, and no piece crosses them; text elsewhere that looks like a special token is ordinary text.
    """
    counter = PieceCounter(pattern, specials, normalization)
    counter.add(texts, spans)
    return counter.table()


def count_plain_pieces(
    texts: pa.Array | pa.ChunkedArray,
    pattern: Pattern,
    specials: Sequence[str] = (),
    threads: int = 1,
    ordered: bool = True,
) -> pa.Table:
    """As `count_pieces` for texts without spans: cut at the declared special strings, which are never counted."""
    with ParallelCounter(pattern, specials, threads) as counter:
        counter.add_plain(texts)
        return counter.result().table(ordered)


def count_pieces_by_group(
    texts: pa.Array | pa.ChunkedArray,
    spans: pa.Array | pa.ChunkedArray | None,
    groups: pa.Table,
    pattern: Pattern,
    specials: Sequence[str] = (),
    normalization: str = "none",
) -> pa.Table:
    """As `count_pieces`, apart for each distinct row of `groups` (one row per text, columns of strings)."""
    if groups.num_rows != len(texts):
        raise ValueError(f"groups: {groups.num_rows} rows for {len(texts)} texts; give one per text")
    names = groups.column_names
    numbered = groups.append_column("row", pa.array(np.arange(groups.num_rows)))
    found = numbered.group_by(names).aggregate([("row", "list")])
    tables = []
    for group in found.to_pylist():
        rows = pa.array(group["row_list"], pa.int64())
        placed = None if spans is None else spans.take(rows)
        table = count_pieces(texts.take(rows), placed, pattern, specials, normalization)
        for place, name in enumerate(names):
            value = pa.array([group[name]], groups.schema.field(name).type)
            table = table.add_column(1 + place, groups.schema.field(name), _repeated(value, table.num_rows))
        tables.append(table)
    if not tables:
        return pa.schema([SCHEMA.field(0), *groups.schema, *list(SCHEMA)[1:]]).empty_table()
    return sort_counts(pa.concat_tables(tables))


def _repeated(value: pa.Array, times: int) -> pa.Array:
    return value.take(pa.array(np.zeros(times, np.int64)))


def group_columns(counts: pa.Table) -> list[str]:
    """The columns of a counts table that name a group."""
    return [name for name in counts.column_names if name not in SCHEMA.names]


def sort_counts(counts: pa.Table) -> pa.Table:
    """The rows in order of bytes, then of group, in one chunk."""
    keys = [(name, "ascending") for name in ("piece", *group_columns(counts))]
    return counts.take(pc.sort_indices(counts, sort_keys=keys)).combine_chunks()


def merge_counts(tables: Sequence[pa.Table]) -> pa.Table:
    """The sum of counts tables with the same columns."""
    if not tables:
        return SCHEMA.empty_table()
    table = pa.concat_tables(tables)
    keys = ["piece", *group_columns(table)]
    summed = table.group_by(keys).aggregate([("count", "sum"), ("documents", "sum")])
    return sort_counts(summed.rename_columns([*keys, "count", "documents"]).cast(table.schema))


def integer_multipliers(weights: Mapping[str, float], precision: int = 1000) -> dict[str, int]:
    """The smallest whole numbers in the proportion of the weights (each a multiple of 1 / precision, at least one).

    Raises ValueError for a weight that is not above 0, and where a number would be above `MOST`.

    >>> integer_multipliers({"a": 1.0, "b": 2.5})
    {'a': 2, 'b': 5}
    """
    for source, weight in weights.items():
        if not weight > 0 or weight == float("inf"):
            raise ValueError(f"weight: {weight} of source {source!r} must be a finite number above 0")
    exact = {s: Fraction(max(round(w * precision), 1), precision) for s, w in weights.items()}
    scale = lcm(*(f.denominator for f in exact.values()))
    whole = {s: int(f * scale) for s, f in exact.items()}
    common = gcd(*whole.values()) or 1
    if (most := max(whole.values(), default=0) // common) > MOST:
        raise ValueError(f"weight: the weights of sources lie too far apart: one would count {most:.3g} times")
    return {source: value // common for source, value in whole.items()}


def tempered(weights: Mapping[str, float], sizes: Mapping[str, int], temperature: float) -> dict[str, float]:
    """Weights under which source s has a share in proportion to weight(s) * size(s) ** (1 / temperature).

    1 leaves the proportions of the sizes, larger values flatten them (Devlin et al. 2019, multilingual BERT, with
    S = 1 / temperature). A source of size 0 keeps its weight. Raises ValueError for a temperature below 1.
    """
    if not 1 <= temperature < float("inf"):
        raise ValueError(f"temperature: {temperature} must be a finite number of 1 or more")
    largest = max(sizes.values(), default=0)
    return {
        source: weight * (sizes[source] / largest) ** (1 / temperature - 1) if sizes.get(source) else weight
        for source, weight in weights.items()
    }


def total_counts(counts: pa.Table, multipliers: Mapping[str, int] | None = None) -> pa.Table:
    """Counts without groups (piece, count, documents), each source's counts times its multiplier (default 1).

    documents is not multiplied.
    """
    if multipliers:
        factors = [multipliers.get(source, 1) for source in counts["source"].to_pylist()]
        column = pc.multiply_checked(counts["count"], pa.array(factors, pa.int64()))
        counts = counts.set_column(counts.column_names.index("count"), "count", column)
    return merge_counts([counts.select(SCHEMA.names)])
