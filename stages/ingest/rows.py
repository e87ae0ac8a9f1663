"""Batches of records: columns as lists while a file is read, one table of each kind when a batch is full."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import pyarrow as pa

from pipeline.documents import DOCUMENTS, QUARANTINE
from pipeline.sources import Read, Source
from stages.ingest.decode import Decoded, remove_nuls
from stages.ingest.fields import Fields
from stages.ingest.mojibake import badness_of, repaired

BATCH_ROWS: Final = 1_000
BATCH_BYTES: Final = 16 << 20


class Rows:
    """Collects accepted and rejected records of one file; `take` gives them as one Read and starts anew."""

    def __init__(self, source: Source, label: str) -> None:
        self._source, self._label, self._repair = source.name, label, source.mojibake == "repair"
        self._taken = False
        self._begin()

    def _begin(self) -> None:
        self._accepted: list[tuple[Any, ...]] = []
        self._rejected: list[tuple[str, ...]] = []
        self._bytes = 0
        self.blank = 0
        self.ignored: Counter[str] = Counter()

    def accept(
        self, identity: str, record: str, decoded: Decoded, fields: Fields, size: int, surrogates: int = 0
    ) -> None:
        """One document, its text without NULs.

        `size`: bytes of the raw record. `surrogates`: how many were replaced in all its fields.
        """
        text, nuls = remove_nuls(decoded.text)
        title, repairs = fields.title, None
        if self._repair:
            text, repairs = repaired(text)
            if title is not None:
                title, more = repaired(title)
                repairs += more
        self._bytes += size
        self._accepted.append(
            (
                *(identity, self._source, fields.license, fields.url, title, text, fields.metadata, ()),
                *(decoded.codec, decoded.by, decoded.replacements, surrogates, nuls + fields.nuls),
                *(None, repairs, record),  # mojibake is measured when the batch is full
            )
        )

    def reject(self, record: str, reason: str, detail: str) -> None:
        """One record that cannot be used."""
        self._rejected.append((self._source, self._label, record, reason, detail))

    def full_with(self, size: int) -> bool:
        """Must the batch go before another record of `size` bytes comes?"""
        count = len(self._accepted) + len(self._rejected)
        return count >= BATCH_ROWS or (count > 0 and self._bytes + size > BATCH_BYTES)

    @property
    def pending(self) -> bool:
        """Is there anything to take? Of a file without records, one empty batch."""
        return bool(self._accepted or self._rejected or self.blank or self.ignored) or not self._taken

    def take(self) -> Read:
        """The batch so far."""
        accepted, rejected, blank, ignored = self._accepted, self._rejected, self.blank, dict(self.ignored)
        self._taken = True
        self._begin()
        documents = _table(accepted, DOCUMENTS)
        accepted.clear()  # the texts are in the table now
        return Read(_measured(documents), _table(rejected, QUARANTINE), blank, ignored)


def _measured(documents: pa.Table) -> pa.Table:
    """With the column `mojibake`: all texts at once are much faster than one by one."""
    at = documents.schema.get_field_index("mojibake")
    found = [badness_of(chunk) for chunk in documents["text"].chunks]
    return documents.set_column(at, documents.schema.field(at), pa.chunked_array(found, pa.int64()))


def _table(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
