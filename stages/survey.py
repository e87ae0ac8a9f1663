"""What lies in files that somebody points to: formats, the fields that hold text and ids, and what cannot be used.

The knowledge behind `curate init`. Only the beginning of each file is looked at, and of many files of one kind in one
folder the first few.
"""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from pipeline.sources import Source, UnreadableFileError
from stages.ingest import format_of, streams
from stages.ingest.archives import is_archive
from stages.ingest.csv import DELIMITERS
from stages.ingest.decode import RejectedError, decode, is_utf8_prefix
from stages.ingest.examine import label_of
from stages.license import Status, read

HEAD: Final = 1 << 18
"""Bytes of content that are looked at in each file."""

SAMPLED: Final = 50
"""Files of one ending in one folder that are opened; the others count as the most frequent kind among these."""

RECORDS: Final = 100

_TEXT: Final = (
    "text",
    "content",
    "body",
    "article",
    "document",
    "raw_content",
    "markdown",
    "story",
    "passage",
    "abstract",
)
_ID: Final = ("id", "doc_id", "docid", "document_id", "uuid", "guid", "_id", "identifier", "key")
_LICENSE: Final = ("license", "licence", "license_id", "spdx", "rights", "copyright_license")
_URL: Final = ("url", "uri", "link", "source_url", "page_url", "permalink")
_TITLE: Final = ("title", "headline", "name", "subject")
_PACKED: Final = (".gz", ".zst", ".bz2", ".xz")
_NO_FOLDERS: Final = frozenset({"__pycache__", "node_modules"})


@dataclass(frozen=True)
class Fields:
    """Names of a record's fields, None where there is none; the text's mean length in characters."""

    text: str
    id: str | None = None
    url: str | None = None
    title: str | None = None
    license: str | None = None
    mean_length: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Kind:
    """What makes files one source: how they are read, their ending, their fields."""

    format: str  # as `pipeline.sources.Source.format`, or archive
    ending: str
    fields: Fields | None = None


@dataclass
class Group:
    """Files of one kind, in order of their paths; `walked`: found in a folder, not named one by one."""

    kind: Kind
    files: list[Path] = field(default_factory=list)
    walked: set[Path] = field(default_factory=set)
    bytes: int = 0
    encodings: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Survey:
    """Groups in order of format and ending, and files that cannot be used with the reason."""

    groups: tuple[Group, ...]
    skipped: tuple[tuple[Path, str], ...]


class UnusableError(Exception):
    """A file that no source should name, and why."""


def survey(paths: Sequence[Path], ignored: frozenset[Path] = frozenset()) -> Survey:
    """Look at files and at everything below folders (hidden ones and run folders left out), without `ignored`."""
    groups: dict[tuple[str, str, str], Group] = {}
    skipped: list[tuple[Path, str]] = []
    seen: Counter[tuple[Path, str]] = Counter()
    usual: dict[tuple[Path, str], Counter[Kind]] = {}
    for path, walked in _files(paths):
        if path.resolve() in ignored:
            continue
        place = (path.parent, ending(path.name))
        seen[place] += 1
        try:
            if seen[place] <= SAMPLED or not usual.get(place):
                kind, encoding = examine(path)
                usual.setdefault(place, Counter())[kind] += 1
            else:
                kind, encoding = usual[place].most_common(1)[0][0], None
        except UnusableError as error:
            skipped.append((path, str(error)))
            continue
        group = groups.setdefault((kind.format, kind.ending, repr(kind.fields and _names(kind.fields))), Group(kind))
        group.files.append(path)
        group.bytes += path.stat().st_size
        if walked:
            group.walked.add(path)
        if encoding is not None:
            group.encodings[encoding] += 1
    return Survey(tuple(groups[key] for key in sorted(groups)), tuple(skipped))


def _names(fields: Fields) -> tuple[str | None, ...]:
    return fields.text, fields.id, fields.url, fields.title, fields.license


def _files(paths: Sequence[Path]) -> Iterator[tuple[Path, bool]]:
    given: set[Path] = set()
    for path in paths:
        for file, walked in [(path, False)] if path.is_file() else [(p, True) for p in _below(path)]:
            if file.resolve() not in given:
                given.add(file.resolve())
                yield file, walked


def _below(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        here = Path(root)
        folders[:] = sorted(
            f for f in folders if f not in _NO_FOLDERS and f[0] != "." and not (here / f / "run.json").is_file()
        )
        yield from (here / name for name in sorted(names) if name[0] != ".")


def ending(name: str) -> str:
    """The ending that says how a file is read, with its compression: `.jsonl.gz`; empty where it has none."""
    suffixes = Path(name).suffixes
    if len(suffixes) >= 2 and suffixes[-1].lower() in _PACKED:
        return "".join(suffixes[-2:])
    return suffixes[-1] if suffixes else ""


def examine(path: Path) -> tuple[Kind, str | None]:
    """The kind of one file, and the charset label of a text. Raises UnusableError."""
    location = str(path)
    if is_archive(location):
        return Kind("archive", _plain_ending(path.name)), None
    form = format_of(location, Source.model_validate({"name": "x", "path": location}))
    kind = Kind(form, _plain_ending(path.name))
    if form == "parquet":
        return Kind(form, kind.ending, _parquet_fields(location)), None
    head = _head(location)
    if form == "warc":
        return kind, None
    text, encoding = _decoded(head)
    if form == "jsonl":
        return Kind(form, kind.ending, _fields(_json_records(text))), encoding
    if form == "csv":
        return Kind(form, kind.ending, _fields(_csv_records(text))), encoding
    return kind, encoding


def _plain_ending(name: str) -> str:
    found = ending(name).lower()
    return next((found.removesuffix(p) for p in _PACKED if found.endswith(p)), found) or found


def _head(location: str) -> bytes:
    parts: list[bytes] = []
    try:
        for block in streams.blocks(location, location):
            parts.append(block)
            if sum(map(len, parts)) >= HEAD:
                break
    except UnreadableFileError as error:
        raise UnusableError(f"{error.detail} ({error.reason})") from error
    except streams.StreamError as error:
        if not parts:
            raise UnusableError(str(error)) from error
    return b"".join(parts)[:HEAD]


def _decoded(head: bytes) -> tuple[str, str]:
    """Text and charset label; of a cut file without the line that the cut goes through."""
    whole = head[: head.rfind(b"\n") + 1] or head if len(head) == HEAD else head
    try:
        found = decode(whole)
    except RejectedError as error:
        if error.reason == "undecodable" and is_utf8_prefix(whole):
            return whole.decode("utf-8", "ignore"), "utf-8"
        raise UnusableError(str(error)) from error
    return found.text, label_of(found.codec)


def _json_records(text: str) -> list[dict[str, Any]]:
    lines = [line for line in text.split("\n") if line.strip()][:RECORDS]
    records = [record for line in lines if isinstance(record := _loads(line), dict)]
    if not lines:
        raise UnusableError("no record in it")
    if 2 * len(records) <= len(lines):
        raise UnusableError("no JSON Lines: write one object a line, for example with `jq -c '.[]'`")
    return records


def _loads(line: str) -> Any:
    try:
        return orjson.loads(line)
    except (ValueError, UnicodeEncodeError):
        return None


def _csv_records(text: str) -> list[dict[str, Any]]:
    """Rows under the delimiter that gives the first row most fields."""
    csv.field_size_limit(max(csv.field_size_limit(), HEAD))
    plain = text.replace("\0", "")
    first = plain.split("\n", 1)[0]
    delimiter = max(DELIMITERS, key=lambda d: len(next(csv.reader([first], delimiter=d), [])))
    rows = csv.DictReader(io.StringIO(plain, newline=""), delimiter=delimiter)
    return [{k: v for k, v in row.items() if isinstance(k, str)} for row, _ in zip(rows, range(RECORDS), strict=False)]


def _parquet_fields(location: str) -> Fields:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(location)
        simple = [f.name for f in file.schema_arrow if not pa.types.is_nested(f.type)]
        batch = next(file.iter_batches(RECORDS, columns=simple), None)
    except (pa.ArrowException, OSError) as error:
        raise UnusableError("no complete Parquet file") from error
    return _fields(batch.to_pylist() if batch is not None else [])


def _fields(records: Sequence[Mapping[str, Any]]) -> Fields:
    """The fields of records: by usual names, the text else by length. Raises UnusableError where there is no text."""
    lengths: dict[str, list[int]] = {}
    for record in records:
        for name, value in record.items():
            if isinstance(value, str) and value:
                lengths.setdefault(name, []).append(len(value))
    usual = {name: sum(n) // len(n) for name, n in lengths.items() if 2 * len(n) >= len(records)}
    if not usual:
        raise UnusableError("no field that holds strings in at least half of the records")
    spelled = {name.lower(): name for name in reversed(usual)}
    text = next((spelled[n] for n in _TEXT if n in spelled), None) or max(usual, key=lambda name: usual[name])
    others = {low: name for low, name in spelled.items() if name != text}
    return Fields(
        text=text,
        id=_id_field(records, text),
        url=next((others[n] for n in _URL if n in others), None),
        title=next((others[n] for n in _TITLE if n in others), None),
        license=next((others[n] for n in _LICENSE if n in others and _are_licences(records, others[n])), None),
        mean_length=usual[text],
    )


def _id_field(records: Sequence[Mapping[str, Any]], text: str) -> str | None:
    """A field with a usual name that every record has, each time with another string or integer."""
    spelled = {name.lower(): name for record in records for name in record}
    for name in (spelled[n] for n in _ID if n in spelled and spelled[n] != text):
        values = [record.get(name) for record in records]
        if all(isinstance(v, str | int) and not isinstance(v, bool) for v in values) and len(set(values)) == len(
            values
        ):
            return name
    return None


def _are_licences(records: Sequence[Mapping[str, Any]], name: str) -> bool:
    values = [v for record in records if isinstance(v := record.get(name), str)]
    return 2 * sum(read(value).status is Status.KNOWN for value in values) > len(values)
