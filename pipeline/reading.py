"""What a worker does for a source stage: read files into shards, number equal records, publish documents.

Identity comes before position. Files are read into shards whose doc_ids number equal records within one task; one
merging step per source finds records that an earlier task has too, and only shards that hold such a record are written
again with the right numbers. Shards are cut where a doc_id's low bits are zero, so that one inserted record moves no
other cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa

from pipeline.documents import DOCUMENTS, QUARANTINE, STORED
from pipeline.hashing import document_id, file_hash
from pipeline.sources import Read, Source, SourceStage, UnreadableFileError
from pipeline.steps import stored
from pipeline.storage import Output, link_table, publish_table, read_table
from pipeline.tasks import Result

IDENTITIES: Final = pa.schema(
    [
        pa.field("identity", pa.string(), nullable=False),
        pa.field("ordinal", pa.int64(), nullable=False),  # among the equal records of this file or bundle, from 0
        pa.field("shard", pa.string(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
    ]
)
RENUMBERED: Final = pa.schema(
    [
        pa.field("shard", pa.string(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
        pa.field("doc_id", pa.string(), nullable=False),
    ]
)


@dataclass(frozen=True)
class Cut:
    """Where shards of a file or bundle end: at a doc_id whose low bits are zero, between a least and a largest size."""

    rows: int  # never more rows than this
    size: int  # nor more bytes of text, but for one document that has more

    @property
    def least(self) -> int:
        return self.rows // 16

    @property
    def bits(self) -> int:
        """A cut is met once in 2**bits records: rows / 8, so that the largest size is hardly ever the reason."""
        return max(1, (self.rows // 8).bit_length() - 1)

    def after(self, doc_id: str, rows: int, size: int) -> bool:
        """Does a shard of so many rows and bytes end with this document?"""
        if rows >= self.rows or size >= self.size:
            return True
        return rows >= self.least and int(doc_id[-16:], 16) & ((1 << self.bits) - 1) == 0


@dataclass
class _Reader:
    """The state of reading one file, or a bundle of them."""

    root: Path
    folder: str
    part: str
    cut: Cut
    limit: int | None
    seen: dict[str, int] = field(default_factory=dict)
    pending: list[pa.Table] = field(default_factory=list)
    rows: int = 0
    size: int = 0
    last: str = ""
    total: int = 0
    shards: list[tuple[str, Output]] = field(default_factory=list)
    identities: list[pa.Table] = field(default_factory=list)
    open_identities: list[tuple[str, int]] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Has a trial what it wanted?"""
        return self.limit is not None and self.total >= self.limit

    def add(self, documents: pa.Table) -> None:
        """Take a batch of documents in, cutting shards where they end."""
        if self.limit is not None:
            documents = documents.slice(0, self.limit - self.total)
        self.total += documents.num_rows
        given = documents["doc_id"].to_pylist()
        ordinals = [self._ordinal(identity) for identity in given]
        ids = list(map(document_id, given, ordinals))
        at = documents.schema.get_field_index("doc_id")
        batch = stored(documents.set_column(at, DOCUMENTS.field("doc_id"), pa.array(ids, pa.string())))
        start = 0
        for row, (doc_id, size) in enumerate(zip(ids, batch["bytes"].to_pylist(), strict=True)):
            if self.rows and self.size + size > self.cut.size:
                self._cut(batch.slice(start, row - start))
                start = row
            self.rows += 1
            self.size += size
            self.last = doc_id
            self.open_identities.append((given[row], ordinals[row]))
            if self.cut.after(doc_id, self.rows, self.size):
                self._cut(batch.slice(start, row + 1 - start))
                start = row + 1
        if start < len(ids):
            self.pending.append(batch.slice(start))

    def _ordinal(self, identity: str) -> int:
        ordinal = self.seen.get(identity, 0)
        self.seen[identity] = ordinal + 1
        return ordinal

    def _cut(self, rest: pa.Table) -> None:
        """A shard ends with the rows of `rest`; it is named after its last document."""
        if rest.num_rows:
            self.pending.append(rest)
        self.close(self.last[:12])

    def close(self, name: str) -> None:
        """Publish the pending rows as one shard."""
        shard = f"{self.part}-{name}"
        table = pa.concat_tables(self.pending) if self.pending else STORED.empty_table()
        self.pending = []
        pa.default_memory_pool().release_unused()
        self.shards.append((shard, publish_table(self.root, f"{self.folder}/read/{shard}.parquet", table)))
        del table
        pa.default_memory_pool().release_unused()  # what the writer needed for pages of long texts
        identities, ordinals = [i for i, _ in self.open_identities], [n for _, n in self.open_identities]
        columns = [identities, ordinals, [shard] * len(identities), list(range(len(identities)))]
        self.identities.append(
            pa.table([pa.array(c, f.type) for c, f in zip(columns, IDENTITIES, strict=True)], schema=IDENTITIES)
        )
        self.open_identities, self.rows, self.size = [], 0, 0


def read_files(
    root: Path,
    *,
    stage: type[SourceStage],
    params: Any,
    source: Source,
    files: tuple[tuple[str, str, str], ...],
    folder: str,
    part: str,
    limit: int | None,
) -> Result:
    """Read a file, or a bundle of small ones, into shards under `folder/read`, quarantine, and the records' identities.

    `files` are (location, hash of the bytes that the task's key speaks of, label).
    """
    reader = _Reader(root, folder, part, Cut(params.shard_rows, params.shard_bytes), limit)
    rejected: list[pa.Table] = []
    blank = 0
    ignored: Counter[str] = Counter()
    for location, expected, label in files:
        for read in _batches(stage, params, source, location, label):
            if reader.full:
                break
            reader.add(read.documents)
            rejected.append(read.quarantine)
            blank += read.blank
            ignored.update(read.ignored)
        if file_hash(location) != expected:
            raise UnreadableFileError(
                label, "changed", "the file changed while it was read; run again when it is at rest"
            )
        if reader.full:
            break
    if reader.rows or not reader.shards:
        reader.close("end")
    quarantine = pa.concat_tables([t.cast(QUARANTINE) for t in rejected]) if rejected else QUARANTINE.empty_table()
    outputs = [output for _, output in reader.shards]
    outputs.append(publish_table(root, f"{folder}/quarantine/{part}.parquet", quarantine))
    outputs.append(publish_table(root, f"{folder}/identities/{part}.parquet", pa.concat_tables(reader.identities)))
    reasons = Counter(quarantine["reason"].to_pylist())
    return Result(
        outputs,
        {
            "shards": [shard for shard, _ in reader.shards],
            "documents": reader.total,
            "quarantined": dict(sorted(reasons.items())),
            "blank": blank,
            "ignored": dict(sorted(ignored.items())),
        },
    )


def _batches(stage: type[SourceStage], params: Any, source: Source, location: str, label: str) -> Iterator[Read]:
    try:
        yield from stage.read(location, label, source, params)
    except UnreadableFileError as error:
        if source.on_unreadable == "stop":
            raise
        row = {"source": source.name, "file": label, "record": label, "reason": error.reason, "detail": error.detail}
        yield Read(DOCUMENTS.empty_table(), pa.Table.from_pylist([row], schema=QUARANTINE))


def number_records(root: Path, *, identities: tuple[str, ...], memory: int, output: str) -> Result:
    """Records of a source that an earlier file (in the order of labels) has too, with the doc_id they get."""
    paths = [str(root / p) for p in identities]
    with duckdb.connect(
        config={"memory_limit": f"{memory >> 20}MB", "temp_directory": str(root / ".tmp-duckdb")}
    ) as db:
        db.execute("CREATE TABLE files (filename VARCHAR, position BIGINT)")
        db.executemany("INSERT INTO files VALUES (?, ?)", [[p, i] for i, p in enumerate(paths)])
        rows = db.execute(
            """
            WITH counted AS (
                SELECT identity, position, count(*) AS n
                FROM read_parquet(?, filename = true) JOIN files USING (filename) GROUP BY ALL),
            earlier AS (
                SELECT identity, position, sum(n) OVER (PARTITION BY identity ORDER BY position) - n AS before
                FROM counted)
            SELECT identity, ordinal + before, shard, row
            FROM read_parquet(?, filename = true) JOIN files USING (filename) JOIN earlier USING (identity, position)
            WHERE before > 0 ORDER BY shard, row
            """,
            [paths, paths],
        ).fetchall()
    table = pa.Table.from_pylist(
        [{"shard": s, "row": r, "doc_id": document_id(i, int(n))} for i, n, s, r in rows], schema=RENUMBERED
    )
    return Result([publish_table(root, output, table)], {"renumbered": table.num_rows})


def publish_documents(root: Path, *, read: Output, rows: int, ids: dict[int, str], output: str) -> Result:
    """The documents shard: the one that was read, with `ids` put in for renumbered rows, cut to `rows` of a trial."""
    if not ids and rows == read.rows:
        return Result([link_table(root, output, read)], {"bytes": _text_bytes(root, read.path)})
    table = read_table(root / read.path).slice(0, rows)
    given = table["doc_id"].to_pylist()
    for row, doc_id in ids.items():
        if row < rows:
            given[row] = doc_id
    table = table.set_column(0, STORED.field("doc_id"), pa.array(given, pa.string())).cast(STORED)
    published = publish_table(root, output, table)
    return Result([published], {"bytes": int(np.sum(table["bytes"].to_numpy()))})


def _text_bytes(root: Path, path: str) -> int:
    return int(np.sum(read_table(root / path, ["bytes"])["bytes"].to_numpy()))
