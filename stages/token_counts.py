"""The counts of all shards, summed out of core: DuckDB within the run's `memory`, spilling to disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.slices import spilling

if TYPE_CHECKING:
    import duckdb

_ROWS: Final = 1 << 18  # rows handed out at once


class SummedCounts:
    """Counts per piece, source and licence over all shards' tables; close it, or use it in a `with` block.

    workspace: an existing folder for what does not fit into `memory` bytes.
    """

    def __init__(self, parts: list[Path], memory: int, workspace: Path) -> None:
        import duckdb

        self._db: duckdb.DuckDBPyConnection = duckdb.connect(config=spilling(memory, workspace))
        self._file = workspace / "summed.parquet"
        if not parts:
            raise ValueError("there are no counts; the run has no shard")
        self._db.execute(
            "copy (select piece, source, license, sum(count)::bigint as count, sum(documents)::bigint as documents "
            "from read_parquet($parts) group by all) to $file (format parquet, compression zstd)",
            {"parts": [str(part) for part in parts], "file": str(self._file)},
        )

    def __enter__(self) -> SummedCounts:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def source_bytes(self) -> dict[str, int]:
        """Bytes of all counted pieces per source."""
        rows = self._db.execute(
            "select source, sum(count * octet_length(piece))::bigint from read_parquet($1) group by 1 order by 1",
            [str(self._file)],
        ).fetchall()
        return {str(source): int(size) for source, size in rows}

    def totals(self, multipliers: Mapping[str, int]) -> pa.Table:
        """Counts per piece (piece, count, documents), each source's count times its multiplier (default 1).

        documents is not multiplied. In no fixed order: training does not depend on it.
        """
        factors = pa.table({"source": list(multipliers), "factor": pa.array(multipliers.values(), pa.int64())})
        self._db.register("factors", factors.cast(pa.schema([("source", pa.string()), ("factor", pa.int64())])))
        found: pa.Table = self._db.sql(
            "select piece, sum(count * coalesce(factor, 1))::bigint as count, sum(documents)::bigint as documents "
            "from read_parquet($1) left join factors using (source) group by piece",
            params=[str(self._file)],
        ).to_arrow_table()
        return found

    def batches(self) -> Iterator[pa.Table]:
        """All counts, some rows at a time."""
        with pq.ParquetFile(self._file) as file:
            for batch in file.iter_batches(batch_size=_ROWS):
                yield pa.Table.from_batches([batch])
