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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tokenizer.counts import PieceCounter
from tokenizer.documents import Skipped, read_documents
from tokenizer.export import write_exports
from tokenizer.model import Tokenizer
from tokenizer.patterns import DEFAULT
from tokenizer.patterns import pattern as find_pattern
from tokenizer.tokens import write_tokens
from tokenizer.trainer import DEFAULT_TIE_RULE, Training, check_limits, check_specials, check_vocab_size, train

MANIFEST = "manifest.json"
_BATCH_CHARACTERS = 1 << 22
_SHOWN = 100  # skipped records listed in the report; all are counted


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
) -> dict[str, Any]:
    """Train a tokenizer from files and write its folder; returns the report.

    The report holds all of manifest.json and, beside it: `shortfall` (a sentence or None), `skipped_records` (the
    first hundred, with file, record, reason, detail), `refused` (exports and why) and `files` (names written).

    Raises ValueError for unusable parameters, before any file is read; FileNotFoundError or ValueError for a file that
    cannot be read at all; ExportError where an export disagrees with our encoder.
    """
    specials = check_specials(specials)
    check_vocab_size(vocab_size, specials)
    check_limits(tie_rule, min_frequency, max_token_bytes, max_piece_bytes)
    chosen = find_pattern(pattern)
    counter, skipped, size, inputs = _count(paths, PieceCounter(chosen, specials), text_field)
    pieces = counter.table()
    training = train(pieces, vocab_size, specials, tie_rule, min_frequency, max_token_bytes, max_piece_bytes)
    tokenizer = Tokenizer(chosen, training.merges, specials)
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
    written, refused = _publish(tokenizer, training, manifest, Path(out), name)
    return {
        **manifest,
        "shortfall": training.shortfall,
        "skipped_records": [vars(record) for record in skipped[:_SHOWN]],
        "refused": refused,
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
    paths: Sequence[str | Path], counter: PieceCounter, text_field: str
) -> tuple[PieceCounter, list[Skipped], int, list[dict[str, Any]]]:
    """The counter after all documents, what was skipped, bytes of text, and name and hash of every file."""
    skipped: list[Skipped] = []
    inputs: list[dict[str, Any]] = []
    size = 0
    for path in sorted(map(Path, paths)):
        batch: list[str] = []
        waiting = 0
        for text in read_documents(path, text_field, skipped.append):
            batch.append(text)
            waiting += len(text)
            if waiting >= _BATCH_CHARACTERS:
                size += _add(counter, batch)
                batch, waiting = [], 0
        size += _add(counter, batch)
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
        inputs.append({"name": path.name, "blake2b": digest, "bytes": path.stat().st_size})
    inputs.sort(key=lambda entry: (entry["name"], entry["blake2b"]))
    return counter, skipped, size, inputs


def _add(counter: PieceCounter, batch: list[str]) -> int:
    texts = pa.array(batch, pa.large_string())
    counter.add_plain(texts)
    return sum(len(text.encode()) for text in batch)


def _publish(
    tokenizer: Tokenizer, training: Training, manifest: dict[str, Any], out: Path, name: str
) -> tuple[list[str], dict[str, str]]:
    """Write everything beside the folder first, then move it in, the manifest last."""
    out.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        exports = write_exports(tokenizer, work, name)
        paths = [tokenizer.save(work), *exports.paths, write_tokens(tokenizer, work, training.merges[:, 2])]
        text = json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        (work / MANIFEST).write_text(text, "utf-8", newline="\n")
        out.mkdir(exist_ok=True)
        for path in [*paths, work / MANIFEST]:
            os.replace(path, out / path.name)
    finally:
        shutil.rmtree(work)
    return [path.name for path in paths] + [MANIFEST], exports.refused
