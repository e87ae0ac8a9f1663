"""Batches of records: columns as lists while a file is read, one table of each kind when a batch is full."""

from __future__ import annotations

from collections import Counter
from itertools import repeat
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.documents import DOCUMENTS, QUARANTINE
from pipeline.sources import Read, Source
from stages.ingest.decode import Decoded, binary_content, check_text, passes_control_share, remove_nuls
from stages.ingest.fields import Fields
from stages.ingest.identities import Identities
from stages.ingest.mojibake import badness_of, repaired
from stages.ingest.texts import Texts

BATCH_ROWS: Final = 1_000
BATCH_BYTES: Final = 16 << 20
UNKNOWN: Final = 1 << 62
Row = tuple[str | None, str | None, str | None, str, str, str, int, int, int, int | None, str]
_VARYING: Final = [  # what a Row holds
    *("license", "url", "title", "metadata", "encoding", "encoding_by"),
    *("replacements", "surrogates", "nuls", "repairs", "record"),
]
_NO_PLACEHOLDERS: Final = pa.array([], DOCUMENTS.field("placeholders").type.value_type)


class Rows:
    """Collects accepted and rejected records of one file; `take` gives them as one Read and starts anew."""

    def __init__(self, source: Source, label: str, max_control_share: float | None = None) -> None:
        """`max_control_share`: texts with more control characters are rejected when the batch is full.

        None: the reader has looked.
        """
        self._source, self._label, self._repair = source.name, label, source.mojibake == "repair"
        self._controls = max_control_share
        self.identities = Identities(source.name)
        self._taken = False
        self._begin()

    def _begin(self) -> None:
        self._accepted: list[Row] = []
        self.texts = Texts()
        self._rejected: list[tuple[str, ...]] = []
        self._before: list[int] = []  # how many were accepted before each that was rejected
        self._within: list[int] = []
        self._bytes = 0
        self.blank = 0
        self.ignored: Counter[str] = Counter()

    def accept(
        self,
        own_id: str | None,
        raw: bytes,
        record: str,
        decoded: Decoded,
        fields: Fields,
        surrogates: int = 0,
        within: int = UNKNOWN,
    ) -> None:
        """One document.

        `own_id`, `raw`: what its identity is made of. `surrogates`: how many were replaced in all its fields.
        `within`: the text has no more control characters than it has fewer bytes than this.
        """
        text = decoded.text
        nuls, title, repairs = 0, fields.title, None
        if self._repair:
            if self._controls is not None:
                check_text(text, self._controls)
            text, nuls = remove_nuls(text)
            text, repairs = repaired(text)
            if title is not None:
                title, more = repaired(title)
                repairs += more
        _, codec, by, replacements = decoded
        self._bytes += len(raw)
        self.identities.add(own_id, raw)
        self._within.append(within)
        _, license, url, _, metadata, more_nuls = fields
        self.texts.append(text)
        nuls += more_nuls
        self._accepted.append(
            (license, url, title, metadata, codec, by, replacements, surrogates, nuls, repairs, record)
        )

    def accept_all(self, records: list[Row], within: list[int], size: int) -> None:
        """Documents whose texts a kernel has written and whose identities were added; `size`: of their records."""
        self._accepted += records
        self._within += within
        self._bytes += size

    def reject(self, record: str, reason: str, detail: str) -> None:
        """One record that cannot be used."""
        self._before.append(len(self._accepted))
        self._rejected.append((self._source, self._label, record, reason, detail))

    def full_with(self, size: int) -> bool:
        """Must the batch go before another record of `size` bytes comes?"""
        count = len(self._accepted) + len(self._rejected)
        return count >= BATCH_ROWS or (count > 0 and self._bytes + size > BATCH_BYTES)

    @property
    def empty(self) -> bool:
        """Was nothing accepted or rejected yet?"""
        return not self._accepted and not self._rejected

    @property
    def rows_left(self) -> int:
        """How many records the batch has room for."""
        return max(0, BATCH_ROWS - len(self._accepted) - len(self._rejected))

    @property
    def bytes_left(self) -> int:
        """How many bytes of raw records the batch has room for; a single record may have more."""
        return BATCH_BYTES - self._bytes

    @property
    def pending(self) -> bool:
        """Is there anything to take? Of a file without records, one empty batch."""
        return bool(self._accepted or self._rejected or self.blank or self.ignored) or not self._taken

    def take(self) -> Read:
        """The batch so far."""
        blank, ignored = self.blank, dict(self.ignored)
        texts, written_only = self.texts.column(), self.texts.written_only
        ids = pa.array(self.identities.take(), pa.string())
        if self._controls is not None and (bad := _binary(texts, self._within, self._controls)):
            self._turn_down(bad, self._controls)
            kept = _all_but(bad, len(texts))
            texts, ids = texts.filter(kept), ids.filter(kept)
        if not written_only and _has_nul(texts):
            texts = self._without_nuls(texts)
        columns = _columns(self._accepted, _VARYING, DOCUMENTS) | {"doc_id": ids, "text": texts}
        quarantine = pa.table(_columns(self._rejected, QUARANTINE.names, QUARANTINE), schema=QUARANTINE)
        self._taken = True
        self._begin()
        return Read(_completed(columns, self._source), quarantine, blank, ignored)

    def _turn_down(self, bad: list[int], share: float) -> None:
        """Moves accepted rows to where they stand among those rejected."""
        said = binary_content(share)
        late = [(i, 1, (self._source, self._label, self._accepted[i][-1], said.reason, said.detail)) for i in bad]
        order = sorted([*zip(self._before, repeat(0), self._rejected), *late], key=lambda item: item[:2])
        self._rejected = [row for _, _, row in order]
        gone = set(bad)
        self._accepted = [row for i, row in enumerate(self._accepted) if i not in gone]

    def _without_nuls(self, texts: pa.LargeStringArray) -> pa.LargeStringArray:
        cleaned = [remove_nuls(text) for text in texts.to_pylist()]
        for i, (row, (_, nuls)) in enumerate(zip(self._accepted, cleaned, strict=True)):
            self._accepted[i] = (*row[:8], row[8] + nuls, *row[9:])  # the ninth of a Row
        return pa.array([text for text, _ in cleaned], pa.large_string())


def _completed(columns: dict[str, pa.Array], source: str) -> pa.Table:
    """With what all rows share: the source, and no placeholders; and with mojibake, all texts at once."""
    count = len(columns["text"])
    columns["source"] = pa.repeat(source, count)
    columns["placeholders"] = pa.ListArray.from_arrays(np.zeros(count + 1, np.int32), _NO_PLACEHOLDERS)
    columns["mojibake"] = badness_of(columns["text"])
    return pa.table([columns[name] for name in DOCUMENTS.names], schema=DOCUMENTS)


def _binary(texts: pa.LargeStringArray, within: list[int], share: float) -> list[int]:
    """Numbers of the texts whose control characters pass `share` of their bytes; only those are read that may."""
    if not len(texts):
        return []
    lengths = pc.binary_length(texts).to_numpy()
    suspects = np.flatnonzero(np.array(within) - lengths > share * lengths)
    return [i for i in suspects.tolist() if passes_control_share(texts[i].as_buffer().to_pybytes(), share)]


def _has_nul(texts: pa.LargeStringArray) -> bool:
    data = texts.buffers()[2]
    return data is not None and len(data) > 0 and not np.frombuffer(data, np.uint8).all()


def _all_but(rows: list[int], count: int) -> pa.Array:
    mask = np.ones(count, np.bool_)
    mask[rows] = False
    return pa.array(mask)


def _columns(rows: list[tuple[Any, ...]], names: list[str], schema: pa.Schema) -> dict[str, pa.Array]:
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return {name: pa.array(column, schema.field(name).type) for name, column in zip(names, columns, strict=True)}
