"""Language models as ARPA text: written the same way on every machine, read back only for the vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from stages.perplexity.ngram import Model, NGrams, log10

_CHUNK: Final = 1 << 18


def write(model: Model, vocabulary: pa.Array, path: Path) -> None:
    """Write `model` as ARPA: n-grams in the model's order, numbers with seven significant digits.

    vocabulary: strings, one for each word id.
    """
    with path.open("wb") as f:
        header = "".join(f"ngram {n}={len(o.words)}\n" for n, o in enumerate(model.orders, start=1))
        f.write(f"\\data\\\n{header}".encode())
        for n, order in enumerate(model.orders, start=1):
            f.write(f"\n\\{n}-grams:\n".encode())
            _write_order(f, order, vocabulary, last=n == len(model.orders))
        f.write(b"\n\\end\\\n")


def _write_order(f: BinaryIO, order: NGrams, vocabulary: pa.Array, last: bool) -> None:
    """One section: log10 probability, n-gram, and (but for the highest order) log10 back-off, separated by tabs."""
    for start in range(0, len(order.words), _CHUNK):
        rows = slice(start, start + _CHUNK)
        words = [vocabulary.take(pa.array(column)) for column in order.words[rows].T]
        parts = [_numbers(log10(order.probability[rows])), pc.binary_join_element_wise(*words, " ")]
        if not last:
            parts.append(_numbers(log10(order.backoff[rows])))
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
