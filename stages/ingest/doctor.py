"""One file under examination: what it is, how its bytes read, what is damaged, what to write into the config."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from stages.ingest import streams
from stages.ingest.damage import Place
from stages.ingest.examine import Findings, Reading, label_of, look, read_bytes

EXAMINED: Final = 8 << 20
"""How many bytes of a file's content are looked at."""

RECORDS: Final = 1_000
"""How many records of a JSON Lines or Parquet file are looked at."""

_MAGIC: Final = (
    (b"PAR1", "parquet"), (b"PK\x03\x04", "zip archive"), (b"WARC/", "web archive (WARC)"), (b"%PDF-", "PDF"),
    (b"\x89PNG", "PNG image"), (b"\xff\xd8\xff", "JPEG image"), (b"GIF8", "GIF image"),
    (b"SQLite format 3", "SQLite file"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"), (b"Rar!", "RAR archive"), (b"\xd0\xcf\x11\xe0", "old Office file"),
)  # fmt: skip
_COMPRESSED: Final = (
    (b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\x5d\x2a\x4d\x18", "zstd"),
    (b"BZh", "bzip2"), (b"\xfd7zXZ", "xz"),
)  # fmt: skip
_MEMBERS: Final = frozenset({"zip archive", "tar archive"})
_META: Final = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})", re.I)


@dataclass(frozen=True)
class Report:
    """All that is found; `places` is the text by line or record, unmasked."""

    kind: str  # text | json lines | parquet | what else its first bytes say
    compression: str | None
    examined: int
    complete: bool  # was the whole content looked at?
    broken: str | None  # why the stream ends early
    reading: Reading | None  # None where the file is not read as text
    findings: Findings | None
    places: tuple[Place, ...]
    advice: tuple[str, ...]


def examine_file(path: str, declared: Sequence[str] = (), text_field: str = "text") -> Report:
    """Examine one file. Raises UnreadableFileError where it cannot be opened."""
    with streams.open_input(path, path) as file:
        first = file.read(8)
    compression = next((name for magic, name in _COMPRESSED if first.startswith(magic)), None)
    raw, complete, broken = _content(path)
    kind = _kind(path, raw)
    if kind == "parquet":
        places = tuple(_parquet_places(path, text_field))
        seen = look(places)
        return Report(kind, compression, len(raw), complete, broken, None, seen, places, tuple(_damage_advice(seen)))
    if kind not in ("text", "json lines", "html"):
        return Report(kind, compression, len(raw), complete, broken, None, None, (), (_other_kind(kind),))
    reading = read_bytes(raw, [*declared, *(_declared_inside(raw) if kind == "html" else ())])
    places = tuple(_places(reading.text, kind, text_field)) if reading.rejected is None else ()
    findings = look(places) if reading.rejected is None else None
    advice = (*_reading_advice(reading), *(_damage_advice(findings) if findings else ()))
    return Report(kind, compression, len(raw), complete, broken, reading, findings, places, advice)


def _content(path: str) -> tuple[bytes, bool, str | None]:
    parts: list[bytes] = []
    size = 0
    try:
        for block in streams.blocks(path, path):
            parts.append(block)
            size += len(block)
            if size > EXAMINED:
                return _whole_lines(b"".join(parts)[:EXAMINED]), False, None
    except streams.StreamError as error:
        return b"".join(parts), False, str(error)
    return b"".join(parts), True, None


def _whole_lines(raw: bytes) -> bytes:
    """Without the last line, which may be cut within a character (four bytes are the longest unit of UTF-16 and 32)."""
    end = raw.rfind(b"\n") + 1
    return raw[: end + -end % 4] if end else raw


def _kind(path: str, raw: bytes) -> str:
    for magic, kind in _MAGIC:
        if raw.startswith(magic):
            return kind
    if raw[257:262] == b"ustar":
        return "tar archive"
    name = streams.plain_name(path)
    if name.endswith((".jsonl", ".ndjson", ".json")):
        return "json lines"
    return "html" if name.endswith((".html", ".htm", ".xhtml")) else "text"


def _declared_inside(raw: bytes) -> list[str]:
    found = _META.search(raw[:4096])
    return [found[1].decode("ascii")] if found else []


def _places(text: str, kind: str, text_field: str) -> Iterator[Place]:
    for number, line in enumerate(text.split("\n"), 1):
        if kind == "json lines":
            if number > RECORDS:
                return
            yield from ((number, part) for part in _field(line, text_field).split("\n"))
        else:
            yield number, line.removesuffix("\r")


def _field(line: str, text_field: str) -> str:
    """The text of a record; all its strings where it has no such field; the line itself where it is no record."""
    try:
        record: Any = orjson.loads(line)
    except (ValueError, UnicodeEncodeError):
        return line
    if not isinstance(record, dict):
        return line
    value = record.get(text_field)
    return value if isinstance(value, str) else "\n".join(v for v in record.values() if isinstance(v, str))


def _parquet_places(path: str, text_field: str) -> Iterator[Place]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        strings = [f.name for f in file.schema_arrow if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
        wanted = [text_field] if text_field in strings else strings
        batch = next(file.iter_batches(RECORDS, columns=wanted), None) if wanted else None
    except (pa.ArrowException, OSError):
        return
    for number, row in enumerate(batch.to_pylist() if batch is not None else (), 1):
        for value in row.values():
            yield from ((number, line) for line in (value or "").split("\n"))


def _other_kind(kind: str) -> str:
    if kind in _MEMBERS:
        return "a source reads the files inside; to examine one of them, unpack it"
    if kind.startswith("web archive"):
        return (
            "a source reads its records, each with the charset that it declares; to examine one page, save it to a file"
        )
    return f"a {kind} is no text: take the text out with a tool for such files, and give that to curate"


def _reading_advice(reading: Reading) -> Iterator[str]:
    match reading.by:
        case "bom" | "pattern" | "utf-8":
            yield "nothing about the encoding: it is found without help"
        case "declared":
            chosen = label_of(reading.codec or "")
            yield f"encoding: {chosen}   # on the source; a page that declares it itself needs no such line"
        case "detected":
            yield f"encoding: {label_of(reading.codec or '')}   # on the source, if the text reads well: it is a guess"
        case "replacement":
            yield "encoding: LABEL   # on the source, if you know a charset that gives all characters"
            yield "- ingest: {max_replacement_share: 0}   # refuses such files instead of writing U+FFFD"
    if reading.rejected == "binary_content":
        yield (
            "leave the file out of the source's path: it is not text, or it is text in an encoding such as UTF-16 that "
            "only a declaration can tell (encoding: utf-16le)"
        )
    elif reading.rejected is not None:
        likely = ", ".join(g.label for g in reading.guesses) or "none that fits every byte"
        yield f"encoding: LABEL   # on the source; no charset was certain; the detector names: {likely}"


def _damage_advice(findings: Findings) -> Iterator[str]:
    if findings.spelling:
        yield (
            "nothing is damaged: this is how vocabularies write bytes (`Ġ` is a space, `Ċ` a line feed); decode the "
            "tokens with their tokenizer, and leave such files out of a corpus"
        )
    wrong = findings.mojibake
    if wrong and wrong.repairable:
        yield "mojibake: repair   # on the source, or `- normalise: {mojibake: true}` among the stages"
    elif wrong:
        undo = f"text.encode({wrong.read_as!r}).decode({wrong.written!r})"
        yield (
            f"take the file as it was before the conversion (it was {label_of(wrong.written)}), or undo it: {undo}; "
            "`mojibake: repair` cannot"
        )
    if findings.inherited:
        yield "take the file from its origin: U+FFFD stands for characters that were lost before it came here"
