"""The index of an earlier corpus: what deduplication against it needs, in one Parquet file that holds no text.

Columns: doc_id; characters; content_hash of the text as `exact_dedup` saw it; signature and shingles (sorted distinct
64-bit hashes) of the text as `minhash` saw it, NULL where there are none. The file's metadata say which run it is of
and with which settings it was made; other settings are refused, for their hashes do not compare.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import AfterValidator

from pipeline.stage import InputPath
from pipeline.storage import publish
from stages.dedup.verify import members

VERSION: Final = 1
NAME: Final = "index.parquet"
SIGNATURE: Final = ("permutations", "shingle", "shingle_characters", "seed", "normaliser")
_KEY: Final = b"curate.index"


class EarlierCorpusError(ValueError):
    """A file that is no index, or one made with other settings: which, what differs, and what to do."""


def _files(paths: Any) -> Any:
    """A run folder stands for the index in it."""
    return [path if path.endswith(".parquet") else f"{path.rstrip('/')}/{NAME}" for path in paths]


Against = Annotated[list[InputPath] | tuple[()], AfterValidator(_files)]


@dataclass(frozen=True)
class EarlierCorpus:
    """An index: its file, the name of its run, the settings of `minhash` there (None: it had no such stage)."""

    path: Path
    run: str
    settings: dict[str, Any] | None

    @staticmethod
    def open(path: str, settings: dict[str, Any] | None) -> EarlierCorpus:
        """The index at `path`, made with these settings of `minhash` (None: only content hashes are needed).

        Raises EarlierCorpusError.
        """
        try:
            metadata = pq.read_schema(path).metadata or {}
            about = json.loads(metadata.get(_KEY, b"{}"))
        except (OSError, pa.ArrowInvalid, ValueError):
            about = {}
        if not about:
            raise EarlierCorpusError(f"{path}: is no index of an earlier corpus; make one with: curate index RUN")
        if about["version"] != VERSION:
            raise EarlierCorpusError(
                f"{path}: is an index of version {about['version']}, and this curate reads version {VERSION}; "
                "make it again with: curate index RUN"
            )
        found = EarlierCorpus(Path(path), about["run"], about["minhash"])
        if settings is not None:
            found.check(settings)
        return found

    def check(self, settings: dict[str, Any]) -> None:
        """Raises EarlierCorpusError where signatures and shingles were made with other settings."""
        if self.settings is None:
            raise EarlierCorpusError(
                f"{self.path}: the run {self.run!r} had no stage `minhash`, its index holds no signatures; "
                "take it out of minhash's `against`"
            )
        other = [
            f"{k}: {self.settings.get(k)!r} there, {v!r} here" for k, v in settings.items() if self.settings.get(k) != v
        ]
        if other:
            raise EarlierCorpusError(
                f"{self.path}: the index of the run {self.run!r} was made with other settings ({'; '.join(other)}); "
                "use the same here, or index a run that was made with these"
            )

    def tables(self, columns: list[str]) -> Iterator[pa.Table]:
        """These columns, some row groups at a time, in the order of the file."""
        with pq.ParquetFile(self.path) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, columns).combine_chunks()


def schema(run: str, settings: dict[str, Any] | None, permutations: int) -> pa.Schema:
    """The schema of an index file, with its metadata."""
    about = {"version": VERSION, "run": run, "minhash": settings}
    fields = [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("characters", pa.int64(), nullable=False),
        pa.field("content_hash", pa.string(), nullable=False),
        pa.field("signature", pa.list_(pa.uint32(), permutations)),
        pa.field("shingles", pa.list_(pa.int64())),
    ]
    return pa.schema(fields, {_KEY: json.dumps(about, sort_keys=True).encode()})


def write(path: Path, layout: pa.Schema, tables: Iterable[pa.Table]) -> int:
    """Write an index; returns the number of documents."""
    count = 0

    def fill(temporary: Path) -> None:
        nonlocal count
        with pq.ParquetWriter(temporary, layout, compression="zstd", compression_level=3) as writer:
            for table in tables:
                writer.write_table(table.cast(layout).combine_chunks())
                count += table.num_rows

    publish(path, fill)
    return count


def stored_members(table: pa.Table, numbers: NDArray[np.int64], rank: int) -> pa.Table:
    """Candidates (verify.MEMBERS) from rows of an index."""
    lists = table["shingles"].combine_chunks()
    ends = np.concatenate([[0], np.cumsum(lists.value_lengths().to_numpy())]).astype(np.int64)
    ranks = pa.array(np.full(table.num_rows, rank, np.int64))
    return members(numbers, table["doc_id"], ranks, table["characters"], (lists.flatten().to_numpy(), ends))
