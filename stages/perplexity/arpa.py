"""Language models as ARPA text: written the same way on every machine, read back only for the vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from stages.perplexity.ngram import Block, Model, log10


def write(model: Model, vocabulary: pa.Array, path: Path) -> None:
    """Write `model` as ARPA: n-grams in the model's order, numbers with seven significant digits.

    vocabulary: strings, one for each word id. Reads the model, which can be done once.
    """
    with path.open("wb") as f:
        header = "".join(f"ngram {n}={size}\n" for n, size in enumerate(model.sizes, start=1))
        f.write(f"\\data\\\n{header}".encode())
        for n, blocks in enumerate(model.orders, start=1):
            f.write(f"\n\\{n}-grams:\n".encode())
            for block in blocks:
                _write_block(f, block, vocabulary, last=n == len(model.sizes))
        f.write(b"\n\\end\\\n")


def _write_block(f: BinaryIO, block: Block, vocabulary: pa.Array, last: bool) -> None:
    """Lines: log10 probability, n-gram, and (but for the highest order) log10 back-off, separated by tabs."""
    if not len(block.words):
        return
    words = [vocabulary.take(pa.array(column)) for column in block.words.T]
    parts = [_numbers(log10(block.probability)), pc.binary_join_element_wise(*words, " ")]
    if not last:
        parts.append(_numbers(log10(block.backoff)))
    lines = pc.binary_join_element_wise(*parts, "\t")
    f.write("\n".join(lines.to_pylist()).encode())
    f.write(b"\n")


def _numbers(values: list[float]) -> pa.Array:
    return pa.array(["%.7g" % (v or 0.0) for v in values], pa.string())  # `or` turns -0.0 into 0


def unigrams(path: Path) -> Iterator[bytes]:
    """The words of an ARPA file's first section, as written; none where the file is no ARPA text."""
    with path.open("rb") as f:
        if not is_arpa(f.read(1 << 16)):
            return
        f.seek(0)
        for line in f:
            if line.rstrip() == b"\\1-grams:":
                break
        for line in f:
            if not line.strip():
                return
            yield line.split(None, 2)[1]


def is_arpa(beginning: bytes) -> bool:
    """Do these first bytes of a file begin a model as ARPA text?"""
    return b"\\data\\" in beginning
