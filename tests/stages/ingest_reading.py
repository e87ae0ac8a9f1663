"""Reads a file with the ingest stage, as the tests want to see it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.documents import DOCUMENTS, QUARANTINE
from pipeline.sources import Source
from stages.ingest import Ingest


@dataclass
class Result:
    documents: list[dict[str, Any]]
    quarantine: list[dict[str, Any]]
    blank: int
    batches: int
    ignored: Counter[str]

    @property
    def texts(self) -> list[str]:
        return [row["text"] for row in self.documents]

    @property
    def reasons(self) -> Counter[str]:
        return Counter(row["reason"] for row in self.quarantine)

    @property
    def records(self) -> int:
        return len(self.documents) + len(self.quarantine) + self.blank + self.ignored.total()


def read(path: Path | str, params: dict[str, Any] | None = None, label: str | None = None, **source: Any) -> Result:
    """Everything of one file; checks on the way that every batch has the declared schemas and known reasons."""
    declared = Source.model_validate({"name": "web", "path": "unused"} | source)
    name = label or str(path).rsplit("/", 1)[-1]
    batches = list(Ingest.read(str(path), name, declared, Ingest.Params.model_validate(params or {})))
    for batch in batches:
        assert batch.documents.schema == DOCUMENTS
        assert batch.quarantine.schema == QUARANTINE
        batch.documents.validate(full=True)
    documents = pa.concat_tables([b.documents for b in batches]).to_pylist()
    quarantine = pa.concat_tables([b.quarantine for b in batches]).to_pylist()
    assert {row["reason"] for row in quarantine} <= set(Ingest.reasons)
    for row in documents:
        assert row["source"] == "web" and len(row["doc_id"]) == 32 and row["record"].startswith(name)
        row["text"].encode("utf-8")
    for row in quarantine:
        assert row["source"] == "web" and row["file"] == name and row["detail"]
    ignored: Counter[str] = Counter()
    for batch in batches:
        ignored.update(batch.ignored)
    return Result(documents, quarantine, sum(b.blank for b in batches), len(batches), ignored)


def write(folder: Path, name: str, content: bytes | str) -> Path:
    """A file below the test's folder; text is written as UTF-8, line ends as they are."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
