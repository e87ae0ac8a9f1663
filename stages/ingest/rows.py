"""Batches of records: columns as lists while a file is read, one table of each kind when a batch is full."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pipeline.documents import DOCUMENTS, QUARANTINE
from pipeline.sources import Read, Source
from stages.ingest.decode import Decoded, remove_nuls
from stages.ingest.fields import Fields
from stages.ingest.mojibake import badness_of, repaired

BATCH_ROWS: Final = 1_000
BATCH_BYTES: Final = 16 << 20
_VARYING: Final = [
    *("doc_id", "license", "url", "title", "text", "metadata", "encoding", "encoding_by"),
    *("replacements", "surrogates", "nuls", "repairs", "record"),
]
_NO_PLACEHOLDERS: Final = pa.array([], DOCUMENTS.field("placeholders").type.value_type)


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
        _, codec, by, replacements = decoded
        _, license, url, _, metadata, more_nuls = fields
        self._accepted.append(
            (
                *(identity, license, url, title, text, metadata, codec, by),
                *(replacements, surrogates, nuls + more_nuls, repairs, record),
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
        quarantine = pa.table(_columns(rejected, QUARANTINE.names, QUARANTINE), schema=QUARANTINE)
        return Read(self._documents(accepted), quarantine, blank, ignored)

    def _documents(self, accepted: list[tuple[Any, ...]]) -> pa.Table:
        """The batch as a table; empties `accepted`, whose texts are in the table then.

        All rows have the source and no placeholders; mojibake of all texts at once is measured much faster than one by
        one.
        """
        count = len(accepted)
        columns = _columns(accepted, _VARYING, DOCUMENTS)
        accepted.clear()
        columns["source"] = pa.repeat(self._source, count)
        columns["placeholders"] = pa.ListArray.from_arrays(np.zeros(count + 1, np.int32), _NO_PLACEHOLDERS)
        columns["mojibake"] = badness_of(columns["text"])
        return pa.table([columns[name] for name in DOCUMENTS.names], schema=DOCUMENTS)


def _columns(rows: list[tuple[Any, ...]], names: list[str], schema: pa.Schema) -> dict[str, pa.Array]:
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return {name: pa.array(column, schema.field(name).type) for name, column in zip(names, columns, strict=True)}
