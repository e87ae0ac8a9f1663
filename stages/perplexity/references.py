"""Reference text: which files, which language, which of their documents; and its words as an array of ids."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal

import fsspec
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import zstandard
from numpy.typing import NDArray
from pydantic import Field

from pipeline.stage import InputPath, Params
from stages.language import identify
from stages.perplexity.columns import Column
from stages.perplexity.counts import END, SPECIALS, Words
from stages.perplexity.normalise import MAX_LINE_TOKENS, Normaliser, Units

MOST_SPLIT: Final = 1 << 22  # characters of text that are split at once
_BLOCK: Final = 1 << 16  # bytes of a file that are read at once
_SEEN_BY_IDENTIFIER: Final = 20_000  # characters of a file that settle its language
_SURE: Final = 0.5
TRUSTED: Final = "reference.u64"


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


def digest(text: str | memoryview) -> int:
    """What a document is known by: the first 64 bits of BLAKE2b of its UTF-8."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


def in_sample(text: str, share: float) -> bool:
    """Does a document belong to the hash-chosen share? Its digest, as a fraction, lies below."""
    return digest(text) < share * 2**64


def digests_of(column: pa.ChunkedArray) -> NDArray[np.uint64]:
    """Digest of each text of a string column."""
    found = [digest(text.as_buffer()) for chunk in column.chunks for text in chunk.cast(pa.large_string())]
    return np.array(found, np.uint64)


def write_trusted(digests: NDArray[np.uint64], folder: Path) -> None:
    """Keep what reference documents are known by: sorted, each once, 8 bytes each, little-endian."""
    (folder / TRUSTED).write_bytes(np.unique(digests).astype("<u8").tobytes())


def trusted(column: pa.ChunkedArray, folder: Path) -> NDArray[np.bool_]:
    """Which of these texts a model of the artefact has learned."""
    known = np.fromfile(folder / TRUSTED, "<u8")
    if not len(known):
        return np.zeros(len(column), bool)
    wanted = digests_of(column)
    return known[np.minimum(np.searchsorted(known, wanted), len(known) - 1)] == wanted


def texts(reference: Reference, file: str) -> Iterator[str]:
    """The documents of one file that the reference asks for. Raises ReferenceTextError."""
    for text in _documents(reference, file):
        if reference.sample is None or in_sample(text, reference.sample.share):
            yield text


def _documents(reference: Reference, file: str) -> Iterator[str]:
    name = file.removesuffix(".gz").removesuffix(".zst")
    if reference.format == "text" or (reference.format == "auto" and not name.endswith((".jsonl", ".ndjson"))):
        try:
            yield b"".join(_content(file)).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ReferenceTextError(
                f"{file}: reference text must be UTF-8, byte {error.start} is not; convert the file"
            ) from error
        return
    for number, line in enumerate(_lines(_content(file)), start=1):
        if line.strip():
            yield _field(line, reference.text_field, f"{file}:{number}")


def _lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """What stands between line feeds."""
    begun: list[bytes] = []
    for block in blocks:
        first, *others = block.split(b"\n")
        begun.append(first)
        if others:
            yield b"".join(begun)
            yield from others[:-1]
            begun = [others[-1]]
    yield b"".join(begun)


def _field(line: bytes, field: str, place: str) -> str:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ReferenceTextError(f"{place}: not a JSON record ({error}); mend or remove the line") from error
    if not isinstance(value, dict) or not isinstance(value.get(field), str):
        raise ReferenceTextError(f"{place}: no text in field {field!r}; set text_field to the field that holds it")
    return str(value[field])


def _content(file: str) -> Iterator[bytes]:
    """The bytes of a file, unpacked, some at a time; a stream that breaks off is an error."""
    try:
        with fsspec.open(file, "rb") as f:
            if file.endswith(".zst"):
                yield from _unpacked_zstd(f)
                return
            unpacked = gzip.GzipFile(fileobj=f) if file.endswith(".gz") else f
            while block := unpacked.read(_BLOCK):
                yield block
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise ReferenceTextError(f"{file}: reference file cannot be read: {error}") from error


def _unpacked_zstd(packed: BinaryIO) -> Iterator[bytes]:
    frame = None
    while rest := packed.read(_BLOCK):
        while rest:
            frame = frame or zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj()
            yield frame.decompress(rest)
            rest = frame.unused_data
            if frame.eof:
                frame = None
    if frame is not None:
        raise EOFError("the zstd stream ends inside a frame; the file is truncated")


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
    """Text as ids, in a file of a work folder: in order of first appearance; `rank` says what they are in the model.

    vocabulary: a string for each word of the model. digests: of the documents, sorted, each once. documents, lines,
    tokens: how many went in.
    """

    ids: Column
    rank: Words
    vocabulary: pa.Array
    documents: int
    lines: int
    tokens: int
    digests: NDArray[np.uint64]

    def blocks(self, size: int) -> Iterator[Words]:
        """The text as the model's ids (see `counts.count`), in blocks of whole lines of `size` ids or a little less."""
        at = 0
        while at < len(self.ids):
            block = self.rank[self.ids.read(at, at + max(size, MAX_LINE_TOKENS + 2))]
            if at + len(block) < len(self.ids):
                block = block[: int(np.flatnonzero(block == END)[-1]) + 1]
            at += len(block)
            yield block


def corpus(documents: Iterable[str], normaliser: Normaliser, work: Path, size: int = MOST_SPLIT) -> Corpus:
    """Words of these documents; ids follow the words' bytes, so that they do not depend on the order of documents.

    size: characters of text that are split at once.
    """
    interned = Interned(Column(work / "ids", np.int32))
    digests = array("Q")
    lines = tokens = 0
    for batch in batches(noted(documents, digests), size):
        units = normaliser.units_of(batch)
        interned.add(units)
        lines, tokens = lines + int(units.lines.sum()), tokens + int(units.tokens.sum())
    rank, vocabulary = interned.finished()
    return Corpus(interned.stream, rank, vocabulary, len(digests), lines, tokens, unique(digests))


def noted(documents: Iterable[str], digests: array[int]) -> Iterator[str]:
    """The documents; their digests are noted as they pass."""
    for text in documents:
        digests.append(digest(text))
        yield text


def unique(digests: array[int]) -> NDArray[np.uint64]:
    """Each of them once, sorted."""
    return np.unique(np.frombuffer(digests, np.uint64)) if digests else np.empty(0, np.uint64)


def batches(documents: Iterable[str], size: int = MOST_SPLIT) -> Iterator[list[str]]:
    """Documents, about `size` characters at a time; longer ones in pieces of whole lines, whose units are the same."""
    batch: list[str] = []
    filled = 0
    for text in documents:
        for piece in _pieces(text, size):
            batch.append(piece)
            filled += len(piece)
            if filled > size:
                yield batch
                batch, filled = [], 0
    if batch:
        yield batch


def _pieces(text: str, size: int) -> Iterator[str]:
    start = 0
    while len(text) - start > size:
        end = text.find("\n", start + size) + 1
        if not end:
            break
        yield text[start:end]
        start = end
    yield text[start:] if start else text


class Interned:
    """Words seen so far; the text goes to `stream` as their ids, in order of first appearance until `finished`."""

    def __init__(self, stream: Column) -> None:
        self.keys, self.ids = np.zeros(1 << 16, np.int64), np.zeros(1 << 16, np.int32)
        self.known = 0
        self.words: list[bytes] = []
        self.stream = stream

    def add(self, units: Units) -> None:
        from kernels.lm_units import intern, rehash

        stream = np.empty(int(units.tokens.sum() + 2 * units.lines.sum()), np.int32)
        words = np.empty(len(units.text), np.uint8)
        written = np.array([self.known, 0, 0], np.int64)
        at = 0
        while (at := intern(units.text, at, self.keys, self.ids, stream, words, written)) < len(units.text):
            keys, ids = np.zeros(2 * len(self.keys), np.int64), np.zeros(2 * len(self.ids), np.int32)
            rehash(self.keys, self.ids, keys, ids)
            self.keys, self.ids = keys, ids
        self.known = int(written[0])
        self.words.append(words[: written[2]].tobytes())
        self.stream.append(stream)

    def finished(self) -> tuple[Words, pa.Array]:
        """What becomes of each id, and the vocabulary: SPECIALS first, then words in order of their bytes."""
        data = np.frombuffer(b"".join(self.words), np.uint8)
        ends = np.flatnonzero(data == ord("\n"))
        offsets = np.concatenate([[0], ends - np.arange(len(ends))]).astype(np.int64)
        letters = pa.py_buffer(data[data != ord("\n")].tobytes())
        seen = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(ends), [None, pa.py_buffer(offsets.tobytes()), letters]
        )
        order = pc.sort_indices(seen)
        rank = np.arange(len(seen) + len(SPECIALS), dtype=np.int32)
        rank[order.to_numpy().astype(np.int64) + len(SPECIALS)] = np.arange(len(seen), dtype=np.int32) + len(SPECIALS)
        words = seen.take(order).cast(pa.large_string()).cast(pa.string())
        return rank, pa.concat_arrays([pa.array(SPECIALS, pa.string()), words])
