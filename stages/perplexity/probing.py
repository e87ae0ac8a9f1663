"""Models as KenLM's probing hash tables: a file that every process maps, so that loading is paid once for a machine.

KenLM's Python module reads such files but writes none, and an ARPA file costs every worker the time and memory of
building the same tables. The layout is that of KenLM 0.3 (`lm/binary_format.cc`, `lm/vocab.hh`, `lm/search_hashed.hh`),
the bytes are those of `build_binary probing`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

MAGIC: Final = b"mmap lm http://kheafield.com/code format version 5\n"
_SANITY: Final = struct.Struct("<56s3f3IQ")
_FIXED: Final = struct.Struct("<B3xfiB3xI")
_MULTIPLIER: Final = 1.5
_BLOCK: Final = 1 << 18
_MINUS_ZERO: Final = np.int32(-(1 << 31))  # bits of -0.0
_UNKNOWN: Final = (b"<unk>", b"<UNK>")

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class UnsuitableError(ValueError):
    """An ARPA file that these tables cannot be made of; KenLM itself may read it."""


def write(arpa: Path, target: Path) -> None:
    """Write the model of an ARPA file as probing tables. Raises UnsuitableError, and then leaves no file.

    In memory stand the tables of two neighbouring orders, 12 or 16 bytes for each of 1.5 times their n-grams.
    """
    try:
        with arpa.open("rb") as f, target.open("wb") as out:
            _tables(out, f, *_layout(f))
    except BaseException as error:
        target.unlink(missing_ok=True)
        if isinstance(error, ValueError):  # a number or a line that cannot be read
            raise UnsuitableError(str(error)) from error
        raise


def words(path: Path) -> bytes:
    """The words of a probing file that lists them, in order of their ids, each closed by NUL; empty for other files."""
    with path.open("rb") as f:
        begin = f.read(_SANITY.size + _FIXED.size)
        if len(begin) < _SANITY.size + _FIXED.size or not begin.startswith(MAGIC):
            return b""
        order, multiplier, kind, listed, _ = _FIXED.unpack_from(begin, _SANITY.size)
        if kind or not listed or multiplier != _MULTIPLIER:
            return b""
        sizes = struct.unpack(f"<{order}Q", f.read(8 * order))
        f.seek(_header_size(order) + 8 + 12 * _buckets(sizes[0]) + 8 * (sizes[0] + 1))
        f.seek(sum(16 * _buckets(size) for size in sizes[1:-1]) + 12 * _buckets(sizes[-1]), 1)
        return f.read()


def _layout(f: BinaryIO) -> tuple[list[int], list[tuple[int, int]]]:
    """Number of n-grams of each order, and where its lines begin and end."""
    heads, at, rest = [], 0, b""
    while block := f.read(_BLOCK):
        block = rest + block
        heads += [at + m.start() + 1 for m in re.finditer(rb"\n\\", block)]
        rest = block[-1:]
        at += len(block) - 1
    sizes, sections = [], []
    f.seek(0)
    for line in iter(f.readline, b""):
        if line.startswith(b"\\1-grams:"):
            break
        if line.startswith(b"ngram "):
            sizes.append(int(line.split(b"=")[1]))
    for n, head in enumerate(heads[: len(sizes)], start=1):
        f.seek(head)
        if f.readline().rstrip() != b"\\%d-grams:" % n:
            break
        sections.append((f.tell(), heads[n] if n < len(heads) else at))
    if len(sections) < max(len(sizes), 2):
        raise UnsuitableError("no sections of n-grams as its beginning announces them")
    return sizes, sections


def _buckets(entries: int) -> int:
    return max(entries + 1, int(np.float32(_MULTIPLIER) * np.float32(entries)))


def _header_size(order: int) -> int:
    return -(-(_SANITY.size + _FIXED.size + 8 * order) // 8) * 8


def _tables(out: BinaryIO, arpa: BinaryIO, sizes: list[int], sections: list[tuple[int, int]]) -> None:
    """Header, vocabulary, single words, longer n-grams, the words themselves."""
    order = len(sizes)
    header = _SANITY.pack(MAGIC, 0.0, 1.0, -0.5, 1, (1 << 32) - 1, 0, 1)
    header += _FIXED.pack(order, _MULTIPLIER, 0, 1, 0) + struct.pack(f"<{order}Q", *sizes)
    out.write(header.ljust(_header_size(order), b"\0"))
    vocabulary, single, names = _single_words(arpa, sections[0], sizes[0])
    out.write(struct.pack("<II", 0, sizes[0]))
    out.write(vocabulary.data)
    at = out.tell()
    out.write(single.data)  # once more when longer n-grams have marked them
    below: NDArray[Any] = single
    for n in range(2, order + 1):
        shape = (_buckets(sizes[n - 1]), 2 if n < order else 3)
        table = np.zeros(shape, np.int64 if n < order else np.int32)
        entered = 0
        for grams, bits in _read(arpa, sections[n - 1], last=n == order):
            ids = _ids(grams, n, vocabulary)
            _enter(ids, bits, table, below)
            entered += len(ids)
        if entered != sizes[n - 1]:
            raise UnsuitableError(f"{entered} {n}-grams where {sizes[n - 1]} were announced")
        if n == 2:
            out.seek(at)
        out.write(below.data)
        below = table
    out.write(below.data)
    out.write(names)


def _read(arpa: BinaryIO, section: tuple[int, int], last: bool) -> Iterator[tuple[pa.Array, Ints]]:
    """N-grams of a section, and the bits of probability and back-off weight as 32-bit numbers, shape (n-grams, 2)."""
    if section[0] == section[1]:
        return
    types = {"p": pa.float32(), "gram": pa.large_binary(), "backoff": pa.float32()}
    names = list(types)[: 2 if last else 3]
    arpa.seek(section[0])
    reader = pyarrow.csv.open_csv(
        pa.PythonFile(_Slice(arpa, section[1] - section[0]), "r"),
        pyarrow.csv.ReadOptions(column_names=names, use_threads=False, block_size=_BLOCK),
        pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False),
        pyarrow.csv.ConvertOptions(column_types=types, null_values=[]),
    )
    for batch in reader:
        bits = np.empty((batch.num_rows, 2), np.int32)
        for k, name in enumerate(("p", "backoff")):
            values = batch[name].to_numpy() if name in names else np.zeros(len(bits), np.float32)
            if name == "p" and not (values <= 0).all():
                raise UnsuitableError("a probability above 1, or none")
            bits[:, k] = np.where(values == 0, np.float32(-0.0 if k else 0.0), values).view(np.int32)
        yield batch["gram"], bits


class _Slice:
    """The next so many bytes of an open file, as a file."""

    closed = False

    def __init__(self, f: Any, size: int) -> None:
        self.f, self.left = f, size

    def read(self, size: int) -> bytes:
        block: bytes = self.f.read(min(size, self.left))
        self.left -= len(block)
        return block

    def close(self) -> None: ...


def _bytes_of(grams: pa.Array) -> tuple[NDArray[np.uint8], Longs]:
    """All bytes, and where each value begins and the last one ends."""
    _, offsets, data = grams.buffers()
    places = np.frombuffer(offsets, np.int64)[grams.offset : grams.offset + len(grams) + 1]
    return np.frombuffer(data, np.uint8)[places[0] : places[-1]], places - places[0]


def _single_words(arpa: BinaryIO, section: tuple[int, int], size: int) -> tuple[Ints, Ints, bytes]:
    """Table of the vocabulary, bits of probability and weight by id (and a free row), words closed by NUL."""
    from kernels.lm_probing import hash_words, put_packed

    read = list(_read(arpa, section, last=False))
    grams, bits = pa.concat_arrays([g for g, _ in read]), np.concatenate([b for _, b in read])
    if len(grams) != size or grams[0].as_py() not in _UNKNOWN:
        raise UnsuitableError("the first word is not <unk>")
    data, places = _bytes_of(grams)
    hashes = np.empty(size, np.int64)
    hash_words(data, places[1:].copy(), hashes)
    table = np.zeros((_buckets(size), 3), np.int32)
    put_packed(table, hashes[1:], np.arange(1, size, dtype=np.int32))
    names: bytes = b"\0".join(grams.to_pylist()) + b"\0"
    return table, np.concatenate([bits, np.zeros((1, 2), np.int32)]), names


def _ids(grams: pa.Array, n: int, vocabulary: Ints) -> Ints:
    """Ids of n-grams, shape (n-grams, n)."""
    from kernels.lm_probing import hash_words, word_ids

    data, places = _bytes_of(grams)
    blanks = np.flatnonzero(data == ord(" "))
    if len(blanks) != (n - 1) * len(grams):
        raise UnsuitableError(f"a {n}-gram of another number of words")
    ends = np.sort(np.concatenate([blanks, places[1:]]))  # of the words, blanks still counted
    bare = ends - np.searchsorted(blanks, ends)
    hashes = np.empty(len(ends), np.int64)
    hash_words(data[data != ord(" ")], bare, hashes)
    ids = np.empty((len(grams), n), np.int32)
    if not word_ids(hashes, vocabulary, ids):
        named = [word for gram in grams.to_pylist() for word in gram.split(b" ")]
        wrong = [word for word, i in zip(named, ids.ravel().tolist(), strict=True) if not i and word not in _UNKNOWN]
        if wrong:
            raise UnsuitableError(f"the word {wrong[0]!r} is not among the single words")
    return ids


def _enter(ids: Ints, bits: Ints, table: NDArray[Any], below: NDArray[Any]) -> None:
    """Enter n-grams into the table of their order, and mark what they extend in the order below."""
    from kernels.lm_probing import combine, extend, put, put_packed

    keys, suffixes, contexts = (np.empty(len(ids), np.int64) for _ in range(3))
    combine(ids, keys, suffixes, contexts)
    probability = bits[:, 0] | _MINUS_ZERO  # a sign, until a longer n-gram ends in this one
    if table.dtype == np.int64:
        put(table, keys, bits[:, 1].astype(np.int64) << 32 | (probability.astype(np.int64) & 0xFFFFFFFF))
    else:
        put_packed(table, keys, probability)
    if ids.shape[1] == 2:
        below[ids[:, 1], 0] &= ~_MINUS_ZERO
        first = ids[:, 0]
        below[first[below[first, 1] == _MINUS_ZERO], 1] = 0
    elif not extend(below, suffixes, contexts):
        raise UnsuitableError("an n-gram without its suffix or context")
