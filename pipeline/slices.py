"""A state by document, cut into one slice for each shard: a shard's step then reads its own rows and no others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pipeline.hashing import table_hash
from pipeline.storage import read_table

ROWS: Final = 1 << 16  # of a table that is streamed, at a time
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


def spilled(batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path) -> pa.Table:
    """These rows as a table that lies in the new file `path`, mapped: its pages are the system's to take back."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for batch in batches:
            writer.write_table(pa.Table.from_batches([batch]).cast(schema))
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def by_shard(
    root: Path, table: pa.Table, documents: Sequence[str], memory: int, workspace: Path
) -> tuple[pa.Table, list[tuple[int, int, str]]]:
    """The rows of `table` (column doc_id) in the order of the shards' documents, and each shard's slice.

    They are sorted within `memory` and lie in a mapped file in `workspace`. A slice is (first row, number of rows,
    content hash). Raises ValueError for a row that no document fits.
    """
    import duckdb

    counts = np.zeros(len(documents), np.int64)

    def batches(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        for batch in reader:
            counts[:] += np.bincount(batch.column("shard").to_numpy(), minlength=len(documents))
            yield batch.drop_columns(["shard"])

    columns = ", ".join(f'state."{name}"' for name in table.column_names)
    with duckdb.connect(config=spilling(memory, workspace)) as connection:
        connection.register("state", table.append_column("position", pa.array(np.arange(table.num_rows))))
        connection.register("documents", pa.RecordBatchReader.from_batches(_PLACES, _places(root, documents)))
        found = connection.sql(
            f"select shard, {columns} from documents join state on documents.doc_id = state.doc_id "
            "order by shard, row, position"
        )
        ordered = spilled(batches(found.to_arrow_reader(ROWS)), table.schema, workspace / "ordered.arrow")
    if ordered.num_rows != table.num_rows:
        raise ValueError(f"the state has {table.num_rows} rows, and {ordered.num_rows} of them speak of a document")
    slices, first = [], 0
    for count in counts.tolist():
        slices.append((first, count, table_hash(ordered.slice(first, count))))
        first += count
    return ordered, slices


_PLACES: Final = pa.schema([("doc_id", pa.string()), ("shard", pa.int64()), ("row", pa.int64())])


def _places(root: Path, documents: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for number, path in enumerate(documents):
        ids = read_table(root / path, ["doc_id"])["doc_id"]
        shard, row = np.full(len(ids), number, np.int64), np.arange(len(ids))
        yield from pa.Table.from_arrays([ids, pa.array(shard), pa.array(row)], schema=_PLACES).to_batches()
