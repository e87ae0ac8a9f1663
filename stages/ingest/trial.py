"""What ingest makes of a file as it is: documents, refusals with their reasons, and the setting that would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import orjson

from pipeline.inputs import spelled
from pipeline.sources import Source, UnreadableFileError
from stages.ingest import Ingest, IngestParams, format_of, streams
from stages.ingest.archives import is_archive

RECORDS: Final = 1_000
"""After how many records, usable or not, a trial ends."""

_BEGINNING: Final = 1 << 20  # bytes in which the cause of a refusal is looked for


@dataclass(frozen=True)
class Refusal:
    """Records that one reason keeps out: how many, and the first of them with what is known of it."""

    reason: str
    records: int
    first: str
    detail: str


@dataclass(frozen=True)
class Trial:
    """format: the reader's name. whole: was the file read to its end? excerpt: text of a page's document, unmasked."""

    format: str
    documents: int
    refusals: tuple[Refusal, ...]
    whole: bool
    excerpt: str | None
    advice: tuple[str, ...]


def try_file(path: str, declared: Sequence[str] = (), text_field: str = "text") -> Trial:
    """Read the first records of a file as a source without other settings would."""
    given = {"name": "file", "path": path, "text_field": text_field, "encoding": declared[0] if declared else None}
    source = Source.model_validate(given)
    label = spelled(path)
    form = "archive" if is_archive(path) else format_of(path, source)
    refused: dict[str, Refusal] = {}
    documents, whole, excerpt = 0, True, None
    try:
        for read in Ingest.read(path, label, source, IngestParams.model_validate({})):
            if form == "html" and read.documents.num_rows:
                excerpt = read.documents["text"][0].as_py()
            documents += read.documents.num_rows
            for row in read.quarantine.to_pylist():
                _count(refused, row["reason"], row["record"], row["detail"])
            if documents + sum(r.records for r in refused.values()) >= RECORDS:
                whole = False
                break
    except UnreadableFileError as error:
        _count(refused, error.reason, label, error.detail)
    advice = tuple(_advice(path, form, documents, refused)) if refused else ()
    return Trial(form, documents, tuple(refused.values()), whole, excerpt, advice)


def _count(refused: dict[str, Refusal], reason: str, record: str, detail: str | None) -> None:
    old = refused.get(reason)
    refused[reason] = Refusal(reason, 1, record, detail or "") if old is None else Refusal(
        reason, old.records + 1, old.first, old.detail
    )  # fmt: skip


def _advice(path: str, form: str, documents: int, refused: dict[str, Refusal]) -> Iterator[str]:
    beginning = _beginning(path)
    if form == "jsonl" and beginning.lstrip().startswith(b"["):
        yield "a source reads one JSON object a line; of one array make lines: jq -c '.[]' FILE > FILE.jsonl"
    elif form == "jsonl" and b"\r" in beginning and b"\n" not in beginning:
        yield "its lines end in a carriage return alone; make line feeds of them: tr '\\r' '\\n' < FILE > FILE.jsonl"
    elif form == "jsonl" and not documents and "text_missing" in refused:
        name = _longest_string(beginning)
        if name is not None:
            yield f"text_field: {name}   # on the source: the longest string of its first record"


def _beginning(path: str) -> bytes:
    parts: list[bytes] = []
    try:
        for block in islice(streams.blocks(path, path), 4):
            parts.append(block)
            if sum(map(len, parts)) >= _BEGINNING:
                break
    except (streams.StreamError, UnreadableFileError):
        pass
    return b"".join(parts)


def _longest_string(beginning: bytes) -> str | None:
    for line in beginning.split(b"\n"):
        try:
            record: Any = orjson.loads(line)
        except ValueError:
            continue
        strings = {k: v for k, v in record.items() if isinstance(v, str)} if isinstance(record, dict) else {}
        if strings:
            return max(strings, key=lambda name: (len(strings[name]), name))
    return None
