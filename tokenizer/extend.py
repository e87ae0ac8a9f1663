"""Continue a tokenizer: more special tokens, and more merges learned from further text.

What stays: every old id stands for the bytes it stood for, old special tokens included, and the old merges come first
in the old order. So old ids decode as before, and the new ids of a text are its old ids with the new merges applied: a
text in which no new merge applies has the same ids, every other fewer. Special text in a text is ordinary unless
allowed, as before.

New merges take the ids behind all old ones, and new special tokens those behind the merges: the old special tokens then
stand between merges. Trained on the counts of the first training, with its rule, special tokens and limits, the merges
are those of one training of the larger size.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tokenizer import tokens
from tokenizer.counts import ParallelCounter, merge_counts, total_counts
from tokenizer.documents import Skipped, name_of
from tokenizer.export import check_name
from tokenizer.model import Tokenizer
from tokenizer.train_files import MANIFEST, SHOWN, count_file, identity, named_documents, publish, summary
from tokenizer.trainer import (
    BASE,
    DEFAULT_TIE_RULE,
    TIE_RULES,
    Training,
    check_limits,
    check_specials,
    check_vocab_size,
    train,
)

_NO_COUNTS = pa.table({"piece": pa.array([], pa.large_binary()), "count": pa.array([], pa.int64())})


@dataclass(frozen=True)
class Rules:
    """How merges are learned; see `trainer.train`."""

    tie_rule: str = DEFAULT_TIE_RULE
    min_frequency: int = 1
    max_token_bytes: int | None = None
    max_piece_bytes: int | None = None


def extend(
    old: Tokenizer,
    totals: pa.Table | None = None,
    vocab_size: int | None = None,
    new_specials: Sequence[str] = (),
    rules: Rules | None = None,
) -> tuple[Tokenizer, Training]:
    """The extended tokenizer, and its training with the old merges first.

    totals: pieces and their counts as in `trainer.train`, cut with the old pattern and normalisation, all special
    tokens, old and new, cut out. vocab_size: all ids together. The counts of old merges are those in `totals`.

    Raises ValueError for a special token that is there already, for a size that leaves no room for what is there, and
    where nothing is added.
    """
    rules = rules or Rules()
    specials = check_specials([*old.specials, *new_specials])
    least = old.vocab_size + len(new_specials)
    size = least if vocab_size is None else vocab_size
    check_extension(old, new_specials, size)
    rank_of = np.zeros(old.vocab_size, np.int64)
    rank_of[old.ordinary_ids] = np.arange(old.first_special)
    limits = rules.tie_rule, rules.min_frequency, rules.max_token_bytes, rules.max_piece_bytes
    found = train(_NO_COUNTS if totals is None else totals, size, specials, *limits, given=rank_of[old.merges])
    more = len(found.merges) - len(old.merges)
    behind = old.vocab_size + more
    id_of = np.array([*old.ordinary_ids, *range(old.vocab_size, behind)], np.int64)
    special_ids = [*old.special_tokens.values(), *range(behind, behind + len(new_specials))]
    extended = Tokenizer(
        old.pattern,
        id_of[found.merges[:, :2]],
        specials,
        old.normalization,
        old.pad_to_multiple,
        special_ids,
        old.vocabulary_hash,
    )
    return extended, found


def check_extension(old: Tokenizer, new_specials: Sequence[str], vocab_size: int) -> None:
    """Raises ValueError for a size below what is there, and where nothing would be added."""
    least = old.vocab_size + len(new_specials)
    check_vocab_size(vocab_size, [*old.specials, *new_specials])
    if vocab_size < least:
        raise ValueError(
            f"vocab_size: {vocab_size} is too small; the tokenizer has {old.vocab_size} ids and "
            f"{len(new_specials)} special tokens join them: give more than {least}"
        )
    if vocab_size == old.vocab_size:
        raise ValueError(f"nothing to add: the tokenizer has {old.vocab_size} ids; give tokens or a larger vocab_size")


def extend_files(
    folder: str | Path,
    out: str | Path,
    *,
    paths: Sequence[str | Path] = (),
    new_specials: Sequence[str] = (),
    vocab_size: int | None = None,
    tie_rule: str | None = None,
    min_frequency: int = 2,
    max_token_bytes: int | None = None,
    max_piece_bytes: int | None = None,
    name: str = "tokenizer",
    text_field: str = "text",
    threads: int | None = None,
) -> dict[str, Any]:
    """Continue the tokenizer of a folder with files, each a source of its own; write a folder, return the report.

    tie_rule: by default that of the first training, as its manifest.json says. The report is that of
    `train_files.train_files`. Raises as that and as `extend`, and TokenizerError for a damaged folder.
    """
    check_name(name)
    old = Tokenizer.load(folder)
    specials = check_specials([*old.specials, *new_specials])
    rules = Rules(tie_rule or tie_rule_of(folder), min_frequency, max_token_bytes, max_piece_bytes)
    check_limits(rules.tie_rule, min_frequency, max_token_bytes, max_piece_bytes)
    check_extension(old, new_specials, old.vocab_size + len(new_specials) if vocab_size is None else vocab_size)
    if bool(paths) != (vocab_size is not None):
        raise ValueError("new merges need both files to learn from and a vocab_size; give both, or special tokens only")
    skipped: list[Skipped] = []
    inputs, parts = [], []
    for path in sorted(map(Path, paths)):
        with (
            named_documents([path], text_field),
            ParallelCounter(old.pattern, specials, threads, old.normalization) as counting,
        ):
            size = count_file(path, counting, text_field, skipped)
            counter = counting.result()
        parts.append(_with_source(counter.table(), name_of(path)))
        inputs.append({**identity(path), "documents": counter.documents, "text_bytes": size})
    facts = {
        "inputs": sorted(inputs, key=lambda entry: (entry["name"], entry["blake2b"])),
        "skipped": dict(sorted(Counter(record.reason for record in skipped).items())),
    }
    report = write_extension(folder, out, merge_counts(parts), new_specials, vocab_size, rules, name, facts)
    return {**report, "skipped_records": [vars(record) for record in skipped[:SHOWN]]}


def _with_source(counts: pa.Table, source: str) -> pa.Table:
    column = pa.array(np.full(counts.num_rows, source, object), pa.string())
    return counts.add_column(1, "source", column)


def write_extension(
    folder: str | Path,
    out: str | Path,
    counts: pa.Table,
    new_specials: Sequence[str],
    vocab_size: int | None,
    rules: Rules,
    name: str,
    facts: dict[str, Any],
) -> dict[str, Any]:
    """Extend the tokenizer of a folder by counts with the columns source and perhaps license; write, return the report.

    tokens.parquet keeps the rows of the old ids as they are; those of the new ones speak of the new text. facts: what
    manifest.json shall hold beside the training.
    """
    old = Tokenizer.load(folder)
    totals = total_counts(counts) if counts.num_rows else None
    extended, training = extend(old, totals, vocab_size, new_specials, rules)
    origins = tokens.origins(extended, [counts], totals) if totals is not None else tokens.Origins()
    fresh = tokens.tokens_table(extended, training.merges[:, 2], origins, training.tied)
    table = pa.concat_tables([_old_rows(Path(folder), old), fresh.slice(old.vocab_size)])
    manifest = {
        **extended.contract(),
        "extension": {
            "from": {"vocabulary_hash": old.vocabulary_hash, "vocab_size": old.vocab_size, "merges": len(old.merges)},
            "new_merges": len(training.merges) - len(old.merges),
            "new_special_tokens": list(new_specials),
            **summary(training),
            "min_frequency": rules.min_frequency,
            "max_token_bytes": rules.max_token_bytes,
            "max_piece_bytes": rules.max_piece_bytes,
            "distinct_pieces": 0 if totals is None else totals.num_rows,
            **facts,
        },
    }
    written, exports = publish(extended, table, manifest, Path(out), name)
    return {
        **manifest,
        "shortfall": training.shortfall,
        "refused": exports.refused,
        "unicode_differences": exports.unicode_differences,
        "files": written,
    }


def _old_rows(folder: Path, old: Tokenizer) -> pa.Table:
    """The old folder's tokens.parquet; without one, or with one that is not the model's, rows without origin."""
    path = folder / tokens.FILE
    if path.exists():
        table = pq.read_table(path)
        if table.schema.equals(tokens.SCHEMA) and table["bytes"].to_pylist() == list(
            map(old.token_bytes, range(old.vocab_size))
        ):
            return table
    return tokens.tokens_table(old, [None] * (old.first_special - BASE), tokens.Origins())


def tie_rule_of(folder: str | Path) -> str:
    """The tie rule that manifest.json of a folder names; the default where it names none."""
    path = Path(folder) / MANIFEST
    if not path.exists():
        return DEFAULT_TIE_RULE
    try:
        content = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not valid JSON ({error}); give the tie rule, or the folder as it was") from error
    for part in (content.get("training"), content.get("extension"), content.get("params")):
        if isinstance(part, dict) and part.get("tie_rule") in TIE_RULES:
            return str(part["tie_rule"])
    return DEFAULT_TIE_RULE
