"""Reference text: which files, which language, which of their documents; and its words as an array of ids."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import fsspec
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import zstandard
from pydantic import Field

from pipeline.stage import InputPath, Params
from stages.language import identify
from stages.perplexity.counts import BEGIN, END, SPECIALS, Words
from stages.perplexity.normalise import Normaliser

_BATCH: Final = 1 << 23  # characters of normalised text that are split at once
_SEEN_BY_IDENTIFIER: Final = 20_000  # characters of a file that settle its language
_SURE: Final = 0.5


class ReferenceTextError(ValueError):
    """Reference text that cannot be used: which file, why, and what to do."""


class Sample(Params):
    """A part of a file's documents, chosen by a hash of their text: the same documents wherever they stand."""

    share: float = Field(gt=0, le=1, description="Documents whose hash, as a number from 0 to 1, lies below this.")


class Reference(Params):
    """Trusted text of one language."""

    path: InputPath | list[InputPath] = Field(description="File or glob of UTF-8 text (`.txt`) or JSON Lines.")
    language: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9-]+$",
        description="Code of its language, as the language judge names it; identified for each file where absent.",
    )
    format: Literal["auto", "text", "jsonl"] = Field(
        default="auto",
        description="`auto`: .jsonl and .ndjson, also .gz and .zst, are JSON Lines; else one text a file.",
    )
    text_field: str = Field(default="text", description="Field of a JSON line that holds the text.")
    sample: Sample | None = Field(
        default=None, description="Use only a hash-chosen share; the rest stays unseen by the model."
    )

    def files(self) -> list[str]:
        return [self.path] if isinstance(self.path, str) else list(self.path)


def in_sample(text: str, share: float) -> bool:
    """Does a document belong to the hash-chosen share? The first 64 bits of BLAKE2b of its UTF-8, as a fraction."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2**64


def texts(reference: Reference, file: str) -> Iterator[str]:
    """The documents of one file that the reference asks for. Raises ReferenceTextError."""
    for text in _documents(reference, file):
        if reference.sample is None or in_sample(text, reference.sample.share):
            yield text


def _documents(reference: Reference, file: str) -> Iterator[str]:
    content = _content(file)
    name = file.removesuffix(".gz").removesuffix(".zst")
    if reference.format == "text" or (reference.format == "auto" and not name.endswith((".jsonl", ".ndjson"))):
        try:
            yield content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ReferenceTextError(
                f"{file}: reference text must be UTF-8, byte {error.start} is not; convert the file"
            ) from error
        return
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            yield _field(line, reference.text_field, f"{file}:{number}")


def _field(line: bytes, field: str, place: str) -> str:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ReferenceTextError(f"{place}: not a JSON record ({error}); mend or remove the line") from error
    if not isinstance(value, dict) or not isinstance(value.get(field), str):
        raise ReferenceTextError(f"{place}: no text in field {field!r}; set text_field to the field that holds it")
    return str(value[field])


def _content(file: str) -> bytes:
    """All bytes of a file, unpacked; a stream that breaks off is an error."""
    try:
        with fsspec.open(file, "rb") as f:
            raw: bytes = f.read()
        if file.endswith(".gz"):
            return gzip.decompress(raw)
        return _unpacked_zstd(raw) if file.endswith(".zst") else raw
    except (OSError, EOFError, zstandard.ZstdError) as error:
        raise ReferenceTextError(f"{file}: reference file cannot be read: {error}") from error


def _unpacked_zstd(raw: bytes) -> bytes:
    parts = []
    while raw:
        frame = zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj()
        parts.append(frame.decompress(raw))
        if not frame.eof:
            raise EOFError("the zstd stream ends inside a frame; the file is truncated")
        raw = frame.unused_data
    return b"".join(parts)


def by_language(references: Iterable[Reference]) -> dict[str, list[tuple[Reference, str]]]:
    """Files of each language, languages in alphabetical order. Raises ReferenceTextError."""
    found: dict[str, list[tuple[Reference, str]]] = {}
    for reference in references:
        for file in reference.files():
            found.setdefault(reference.language or identified(reference, file), []).append((reference, file))
    if not found:
        raise ReferenceTextError("perplexity: reference names no file that exists; check its paths")
    return dict(sorted(found.items()))


def identified(reference: Reference, file: str) -> str:
    """Language of a file by its first characters (lid.176.ftz). Raises ReferenceTextError where it is not sure."""
    start, length = [], 0
    for text in texts(reference, file):
        start.append(text[: _SEEN_BY_IDENTIFIER - length])
        length += len(start[-1])
        if length >= _SEEN_BY_IDENTIFIER:
            break
    language, score, _ = identify("\n".join(start))
    if score < _SURE:
        raise ReferenceTextError(f"{file}: its language is not clear; write {{path: ..., language: en}} in `reference`")
    return language


@dataclass(frozen=True)
class Corpus:
    """Text as ids: `stream` (see `counts.count`), `vocabulary` (a string for each id), numbers of what went in."""

    stream: Words
    vocabulary: pa.Array
    documents: int
    lines: int
    tokens: int


def corpus(documents: Iterable[str], normaliser: Normaliser) -> Corpus:
    """Words of these documents; ids follow the words' bytes, so that they do not depend on the order of documents."""
    chunks: list[pa.Array] = []
    lengths: list[np.ndarray[Any, np.dtype[np.int64]]] = []
    lines: list[str] = []
    size = number = 0
    for text in documents:
        number += 1
        fresh = normaliser.lines(text)
        lines += fresh
        size += sum(map(len, fresh))
        if size > _BATCH:
            _split(lines, chunks, lengths)
            lines, size = [], 0
    _split(lines, chunks, lengths)
    words = pa.chunked_array(chunks, pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
    known = words.chunk(0).dictionary
    rank = np.empty(len(known), np.int32)
    order = pc.sort_indices(known)
    rank[order.to_numpy()] = np.arange(len(known), dtype=np.int32) + len(SPECIALS)
    ids = rank[np.concatenate([c.indices.to_numpy() for c in words.chunks])]
    per_line = np.concatenate(lengths)
    vocabulary = pa.concat_arrays([pa.array(SPECIALS, pa.string()), known.take(order)])
    return Corpus(_stream(ids, per_line), vocabulary, number, len(per_line), len(ids))


def _split(lines: list[str], chunks: list[pa.Array], lengths: list[Any]) -> None:
    listed = pc.split_pattern(pa.array(lines, pa.string()), " ")
    chunks.append(listed.flatten().dictionary_encode())
    lengths.append(pc.list_value_length(listed).to_numpy().astype(np.int64))


def _stream(ids: Words, per_line: np.ndarray[Any, np.dtype[np.int64]]) -> Words:
    """Ids with BEGIN before and END after each line."""
    stream = np.empty(len(ids) + 2 * len(per_line), np.int32)
    ends = np.cumsum(per_line + 2) - 1
    begins = ends - per_line - 1
    inside = np.ones(len(stream), bool)
    inside[begins] = inside[ends] = False
    stream[begins], stream[ends], stream[inside] = BEGIN, END, ids
    return stream
