"""A state by document, cut into one slice for each shard: a shard's step then reads its own rows and no others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pipeline.hashing import table_hash
from pipeline.storage import read_table

_MEBIBYTE: Final = 1 << 20
_MEMORY_PER_THREAD: Final = 150 * _MEBIBYTE  # what DuckDB needs to spill instead of failing


def spilling(memory: int, workspace: Path) -> dict[str, Any]:
    """DuckDB settings that keep a sort or join within `memory` bytes and let it spill into `workspace`."""
    return {
        "memory_limit": f"{max(64, memory // _MEBIBYTE)}MiB",
        "threads": max(1, min(4, memory // _MEMORY_PER_THREAD)),
        "temp_directory": str(workspace),
        "preserve_insertion_order": False,
    }


def by_shard(
    root: Path, table: pa.Table, documents: Sequence[str], memory: int, workspace: Path
) -> tuple[pa.Table, list[tuple[int, int, str]]]:
    """The rows of `table` (column doc_id) in the order of the shards' documents, and each shard's slice.

    A slice is (first row, number of rows, content hash). Raises ValueError for a row that no document fits.
    """
    import duckdb

    ids = pa.table({"doc_id": table["doc_id"].cast(pa.string()), "position": np.arange(table.num_rows)})
    with duckdb.connect(config=spilling(memory, workspace)) as connection:
        connection.register("state", ids)
        connection.register("documents", pa.RecordBatchReader.from_batches(_PLACES, _places(root, documents)))
        found = connection.sql(
            "select shard, position from documents join state using (doc_id) order by shard, row, position"
        ).to_arrow_table()
    if found.num_rows != table.num_rows:
        raise ValueError(f"the state has {table.num_rows} rows, and {found.num_rows} of them speak of a document")
    ordered = table.take(found["position"]).combine_chunks()
    counts = np.bincount(found["shard"].to_numpy(), minlength=len(documents)).tolist()
    slices, first = [], 0
    for count in counts:
        slices.append((first, count, table_hash(ordered.slice(first, count))))
        first += count
    return ordered, slices


_PLACES: Final = pa.schema([("doc_id", pa.string()), ("shard", pa.int64()), ("row", pa.int64())])


def _places(root: Path, documents: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for number, path in enumerate(documents):
        ids = read_table(root / path, ["doc_id"])["doc_id"]
        shard, row = np.full(len(ids), number, np.int64), np.arange(len(ids))
        yield from pa.Table.from_arrays([ids, pa.array(shard), pa.array(row)], schema=_PLACES).to_batches()
