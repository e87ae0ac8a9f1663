"""Training alone, from text, JSON Lines and Parquet files: no pipeline, no spans.

The declared special strings are cut out of the text wherever they stand. The result folder holds model.json, the
exports, tokens.parquet and manifest.json, the tokenizer's contract with how it was trained: no times, no paths, so the
same files give the same bytes, in whatever order they come.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tokenizer.counts import ParallelCounter
from tokenizer.documents import Skipped, name_of, read_documents
from tokenizer.export import Exports, check_name, write_exports
from tokenizer.expressions import SlowExpressionError
from tokenizer.model import Tokenizer
from tokenizer.patterns import DEFAULT
from tokenizer.patterns import pattern as find_pattern
from tokenizer.tokens import Origins, tokens_table, write_table
from tokenizer.trainer import (
    DEFAULT_TIE_RULE,
    Training,
    check_limits,
    check_normalization,
    check_specials,
    check_vocab_size,
    train,
)

MANIFEST = "manifest.json"
EXPORTED = ("tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt", "*.tiktoken", "special_tokens.json")
_BATCH_CHARACTERS = 1 << 22
SHOWN = 100  # skipped records listed in the report; all are counted


def train_files(
    paths: Sequence[str | Path],
    out: str | Path,
    *,
    vocab_size: int,
    pattern: str = DEFAULT,
    specials: Sequence[str] = (),
    tie_rule: str = DEFAULT_TIE_RULE,
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    max_piece_bytes: int | None = None,
    name: str = "tokenizer",
    text_field: str = "text",
    normalization: str = "none",
    pad_to_multiple: int = 1,
    threads: int | None = None,
) -> dict[str, Any]:
    """Train a tokenizer from files and write its folder; returns the report.

    The report holds all of manifest.json and, beside it: `shortfall` (a sentence or None), `skipped_records` (the
    first hundred, with file, record, reason, detail), `refused` (exports and why) and `files` (names written).

    Raises ValueError for unusable parameters, before any file is read; FileNotFoundError or ValueError for a file that
    cannot be read at all; ExportError where an export disagrees with our encoder.
    """
    check_name(name)
    specials = check_specials(specials)
    check_vocab_size(vocab_size, specials)
    check_limits(tie_rule, min_frequency, max_token_bytes, max_piece_bytes)
    check_normalization(normalization)
    chosen = find_pattern(pattern)
    with (
        named_documents(paths, text_field),
        ParallelCounter(chosen, specials, threads, normalization) as counting,
    ):
        skipped, size, inputs = _count(paths, counting, text_field)
        counter = counting.result()
    pieces = counter.table(ordered=False)
    training = train(pieces, vocab_size, specials, tie_rule, min_frequency, max_token_bytes, max_piece_bytes)
    tokenizer = Tokenizer(chosen, training.merges, specials, normalization, pad_to_multiple)
    manifest = {
        **tokenizer.contract(),
        "training": {
            **summary(training),
            "min_frequency": min_frequency,
            "max_token_bytes": max_token_bytes,
            "max_piece_bytes": max_piece_bytes,
            "documents": counter.documents,
            "bytes": size,
            "distinct_pieces": pieces.num_rows,
            "skipped": dict(sorted(Counter(record.reason for record in skipped).items())),
            "inputs": inputs,
        },
    }
    tokens = tokens_table(tokenizer, training.merges[:, 2], Origins(), training.tied)
    written, exports = publish(tokenizer, tokens, manifest, Path(out), name)
    return {
        **manifest,
        "shortfall": training.shortfall,
        "skipped_records": [vars(record) for record in skipped[:SHOWN]],
        "refused": exports.refused,
        "unicode_differences": exports.unicode_differences,
        "files": written,
    }


def summary(training: Training) -> dict[str, Any]:
    """The facts of a training as JSON values."""
    return {
        "asked": training.asked,
        "reached": training.reached,
        "tie_rule": training.tie_rule,
        "ties": training.ties,
        "pieces_cut": training.pieces_cut,
        "occurrences_cut": training.occurrences_cut,
        "longest_piece": training.longest_piece,
    }


def _count(
    paths: Sequence[str | Path], counter: ParallelCounter, text_field: str
) -> tuple[list[Skipped], int, list[dict[str, Any]]]:
    """What was skipped, bytes of text, and name and hash of every file."""
    skipped: list[Skipped] = []
    inputs: list[dict[str, Any]] = []
    size = 0
    for path in sorted(map(Path, paths)):
        size += count_file(path, counter, text_field, skipped)
        inputs.append(identity(path))
    inputs.sort(key=lambda entry: (entry["name"], entry["blake2b"]))
    return skipped, size, inputs


def count_file(path: Path, counter: ParallelCounter, text_field: str, skipped: list[Skipped]) -> int:
    """Count the documents of a file, in batches; returns their bytes. What is not used is put into `skipped`."""
    size = waiting = 0
    batch: list[str] = []
    for text in read_documents(path, text_field, skipped.append):
        batch.append(text)
        waiting += len(text)
        if waiting >= _BATCH_CHARACTERS:
            size += _add(counter, batch)
            batch, waiting = [], 0
    return size + _add(counter, batch)


@contextmanager
def named_documents(paths: Sequence[str | Path], text_field: str) -> Iterator[None]:
    """Inside, a search that does not end is a ValueError that names file and document (unless it was normalised)."""
    try:
        yield
    except SlowExpressionError as error:
        for path in sorted(map(Path, paths)):
            for number, text in enumerate(read_documents(path, text_field, lambda skipped: None), 1):
                if error.text in text:
                    raise ValueError(f"{path}: document {number}: {error}") from error
        raise


def identity(path: Path) -> dict[str, Any]:
    """Name, BLAKE2b (16 bytes, hex) and size of a file."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    return {"name": name_of(path), "blake2b": digest, "bytes": path.stat().st_size}


def _add(counter: ParallelCounter, batch: list[str]) -> int:
    """Count a batch; returns its bytes."""
    texts = pa.array(batch, pa.large_string())
    counter.add_plain(texts)
    return int(pc.sum(pc.binary_length(texts)).as_py() or 0)


def publish(
    tokenizer: Tokenizer, tokens: pa.Table, manifest: dict[str, Any], out: Path, name: str
) -> tuple[list[str], Exports]:
    """Write everything beside the folder first, then move it in, the manifest last; returns the names of the files."""
    out.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        exports = write_exports(tokenizer, work, name)
        paths = [
            tokenizer.save(work),
            *exports.paths,
            write_table(tokens, work),
        ]
        text = json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        (work / MANIFEST).write_text(text, "utf-8", newline="\n")
        out.mkdir(exist_ok=True)
        if (out / MANIFEST).exists():  # exports of the tokenizer that lay here before, which this one lacks
            for stale in sorted({p for name in EXPORTED for p in out.glob(name)} - {out / p.name for p in paths}):
                stale.unlink()
        for path in [*paths, work / MANIFEST]:
            os.replace(path, out / path.name)
    finally:
        shutil.rmtree(work)
    return [path.name for path in paths] + [MANIFEST], exports
