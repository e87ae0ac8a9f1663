"""What both judges share: the declared order of documents, the table of removed ones, and its way into verdicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

CLUSTERS = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),  # removed
        pa.field("kept_id", pa.string(), nullable=False),  # the kept document it duplicates
        pa.field("jaccard", pa.float64(), nullable=False),  # of the two
        pa.field("containment", pa.float64(), nullable=False),  # share of the removed one that the kept one holds
        pa.field("run", pa.string()),  # the earlier run that has the kept document, NULL: this one
    ]
)
"""State of a deduplicating judge, ordered by doc_id. Judges may add columns."""


def ranks(names: pa.ChunkedArray, sources: Sequence[str]) -> pa.ChunkedArray:
    """Place of each document's source in the declared order, int64."""
    found = pc.index_in(names, value_set=pa.array(sources, names.type))
    return pc.cast(pc.fill_null(found, len(sources)), pa.int64())


def entries(doc_ids: pa.ChunkedArray, state: pa.Table) -> NDArray[np.int64]:
    """Row of `state` that speaks of each document, -1 where it removes none."""
    found = pc.index_in(doc_ids, value_set=state["doc_id"].combine_chunks())
    rows: NDArray[np.int64] = pc.cast(pc.fill_null(found, -1), pa.int64()).to_numpy()
    return rows


def at(column: pa.ChunkedArray, rows: NDArray[np.int64]) -> pa.ChunkedArray:
    """The values in those rows, NULL where the row is -1."""
    return column.take(pa.array(rows, pa.int64(), mask=rows < 0))


def kept(state: pa.Table, rows: NDArray[np.int64]) -> tuple[NDArray[np.bool_], list[str | None]]:
    """Of each document: is its kept one in an earlier run? And the kept one's name, `run:doc_id` where it is."""
    runs, ids = at(state["run"], rows), at(state["kept_id"], rows).to_pylist()
    names = [i if r is None else f"{r}:{i}" for r, i in zip(runs.to_pylist(), ids, strict=True)]
    return pc.is_valid(runs).to_numpy(), names


def largest(kept_ids: pa.ChunkedArray) -> int:
    """Members of the largest cluster, the kept document included; 0 where there is none."""
    counts = pc.value_counts(kept_ids)
    return int(pc.max(counts.field("counts")).as_py()) + 1 if len(counts) else 0
