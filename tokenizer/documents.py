"""Documents from plain files, for training without a pipeline. A whole document is the unit, in every format.

  *.jsonl, *.ndjson, *.json   one JSON object per line, split at \\n only
  *.parquet                   one document per row
  anything else               one document per file
All but Parquet may be compressed (.gz, .zst). What cannot be used costs one record and is reported with a reason:
  invalid_json     the line is no JSON object
  no_text          the text field is absent, null or not a string
  invalid_utf8     the bytes are not UTF-8
  truncated        a compressed stream ends early; a text file of that kind is not used, lines before the end are
  damaged          a Parquet file cannot be read from this row on; the rows before it are used
"""

import codecs
import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

JSON_SUFFIXES = frozenset({".jsonl", ".ndjson", ".json"})
COMPRESSED = frozenset({".gz", ".zst"})
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Skipped:
    """A record that was not used: file name, line or row (from 1; 0: the whole file), reason, detail."""

    file: str
    record: int
    reason: str
    detail: str


def name_of(path: Path) -> str:
    """A file's name, which can be stored: bytes of it that are no UTF-8 are spelled out."""
    return path.name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


class TruncatedError(Exception):
    """A compressed stream ends early or is damaged."""


def read_documents(path: Path, text_field: str, skip: Callable[[Skipped], None]) -> Iterator[str]:
    """The documents of one file; unusable records go to skip.

    Raises FileNotFoundError or ValueError where the file as a whole cannot be read.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; check the path")
    kind = Path(path.stem).suffix.lower() if path.suffix.lower() in COMPRESSED else path.suffix.lower()
    if kind == ".parquet":
        yield from _rows(path, text_field, skip)
    elif kind in JSON_SUFFIXES:
        yield from _json_lines(path, text_field, skip)
    else:
        yield from _whole(path, skip)


def _whole(path: Path, skip: Callable[[Skipped], None]) -> Iterator[str]:
    try:
        data = b"".join(_chunks(path))
        yield data.decode("utf-8-sig")
    except TruncatedError as error:
        skip(Skipped(name_of(path), 0, "truncated", str(error)))
    except UnicodeDecodeError as error:
        skip(Skipped(name_of(path), 0, "invalid_utf8", f"byte {error.start}: {error.reason}"))


def _json_lines(path: Path, text_field: str, skip: Callable[[Skipped], None]) -> Iterator[str]:
    import orjson

    number = 0
    try:
        for line in _lines(path):
            number += 1
            if not line.strip():
                continue
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                try:
                    line.decode()
                except UnicodeDecodeError as bad:
                    skip(Skipped(name_of(path), number, "invalid_utf8", f"byte {bad.start}: {bad.reason}"))
                else:
                    skip(Skipped(name_of(path), number, "invalid_json", error.msg))
                continue
            if not isinstance(record, dict):
                skip(Skipped(name_of(path), number, "invalid_json", "not an object"))
            elif not isinstance(record.get(text_field), str):
                skip(Skipped(name_of(path), number, "no_text", f"no string in {text_field!r}"))
            else:
                yield record[text_field]
    except TruncatedError as error:
        skip(Skipped(name_of(path), number + 1, "truncated", str(error)))


def _rows(path: Path, text_field: str, skip: Callable[[Skipped], None]) -> Iterator[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}: not a readable Parquet file ({error})") from error
    with file:
        names = file.schema_arrow.names
        if text_field not in names:
            raise ValueError(f"{path}: no column {text_field!r}; the file has {', '.join(names)}")
        kind = file.schema_arrow.field(text_field).type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise ValueError(f"{path}: the column {text_field!r} is {kind}, not a string")
        row, batches = 0, file.iter_batches(columns=[text_field], batch_size=1024)
        while True:
            try:
                texts = next(batches).column(0).to_pylist()
            except StopIteration:
                return
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                skip(Skipped(name_of(path), row + 1, "damaged", f"no row can be read from here on: {error}"))
                return
            for text in texts:
                row += 1
                if text is None:
                    skip(Skipped(name_of(path), row, "no_text", f"{text_field!r} is null"))
                else:
                    yield text


def _lines(path: Path) -> Iterator[bytes]:
    """Lines without their \\n; a UTF-8 byte order mark at the start of the file is dropped."""
    parts: list[bytes] = []  # of the line that has not ended yet
    for chunk in _without_mark(_chunks(path)):
        *lines, rest = chunk.split(b"\n")
        if lines:
            yield b"".join([*parts, lines[0]])
            yield from lines[1:]
            parts = []
        parts.append(rest)
    if last := b"".join(parts):
        yield last


def _without_mark(chunks: Iterator[bytes]) -> Iterator[bytes]:
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= len(codecs.BOM_UTF8):
            break
    yield head.removeprefix(codecs.BOM_UTF8)
    yield from chunks


def _chunks(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        if path.suffix.lower() == ".zst":
            yield from _zstd(file)
        elif path.suffix.lower() == ".gz":
            yield from _gzip(file)
        else:
            while chunk := file.read(_CHUNK):
                yield chunk


def _gzip(file: IO[bytes]) -> Iterator[bytes]:
    try:
        with gzip.GzipFile(fileobj=file) as stream:
            while chunk := stream.read1(_CHUNK):  # read() would keep back what came before a damage
                yield chunk
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TruncatedError(str(error)) from error


def _zstd(file: IO[bytes]) -> Iterator[bytes]:
    """Every frame to its end; the library itself is silent about a frame that ends early."""
    import zstandard

    frame = None
    data = file.read(_CHUNK)
    try:
        while data:
            frame = frame or zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj()
            if out := frame.decompress(data):
                yield out
            if frame.eof:
                data, frame = frame.unused_data, None
            else:
                data = b""
            data = data or file.read(_CHUNK)
    except zstandard.ZstdError as error:
        raise TruncatedError(str(error)) from error
    if frame is not None:
        raise TruncatedError("the zstd frame ends early")
