"""The documents nearest to a text: by the signatures that a run stored, then by exact Jaccard."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stages.dedup.minhash import MinHash, MinHashParams
from stages.dedup.runs import Deduplicated
from stages.dedup.shingles import Shingles


class NoShingleError(ValueError):
    """A text without a word: nothing is like it."""


def estimates(files: Sequence[Path], text: str, params: MinHashParams, most: int) -> list[tuple[str, float]]:
    """The `most` documents whose signatures agree with that of `text` in the most places, and the share of places.

    The share estimates the Jaccard (Broder 1997) with a standard error of sqrt(J (1 - J) / permutations).
    Documents of which no place agrees are left out. Raises NoShingleError.
    """
    wanted = MinHash.measure(pa.table({"text": pa.array([text], pa.large_string())}), params, None)["signature"]
    if wanted.null_count:
        raise NoShingleError("the text holds no word; give some text to look for")
    signature = pc.list_flatten(wanted).to_numpy()
    best: list[tuple[float, str]] = []
    for file in files:
        with pq.ParquetFile(file) as table:
            for batch in table.iter_batches(columns=["doc_id", "signature"]):
                full = batch.filter(batch["signature"].is_valid())
                values = full["signature"].flatten().to_numpy().reshape(-1, params.permutations)
                agreeing = (values == signature).sum(axis=1)
                top = np.flatnonzero(agreeing >= max(1, np.sort(agreeing)[-most:].min(initial=1)))
                ids = full["doc_id"].take(pa.array(top)).to_pylist()
                best += zip((-agreeing[top] / params.permutations).tolist(), ids, strict=True)
        best = sorted(best)[:most]
    return [(doc_id, -share) for share, doc_id in best]


def compared(text: str, table: pa.Table, params: MinHashParams) -> list[dict[str, Any]]:
    """doc_id, exact Jaccard with `text`, and the share of its shingles that each document (doc_id, text) holds."""
    shingling = Shingles(params.shingle, params.shingle_characters)
    own, _ = shingling.of(pa.chunked_array([pa.array([text], pa.large_string())]))
    values, ends = shingling.of(table["text"])
    found = []
    for row, doc_id in enumerate(table["doc_id"].to_pylist()):
        theirs = values[ends[row] : ends[row + 1]]
        common = len(np.intersect1d(own, theirs, assume_unique=True))
        jaccard = common / (len(own) + len(theirs) - common)
        found.append({"doc_id": doc_id, "jaccard": jaccard, "containment": common / len(own)})
    return found


def nearest(stage: Deduplicated, params: MinHashParams, text: str, n: int) -> list[dict[str, Any]]:
    """The n nearest documents of a run, nearest first: doc_id, jaccard, containment, estimate, text.

    Looks at ten times as many (at least 100) by signature before the exact comparison; documents without a common
    shingle are left out. Raises NoShingleError.
    """
    near = dict(estimates(stage.measures, text, params, max(100, 10 * n)))
    ids = pa.array(sorted(near), pa.string())
    parts = []
    for file in stage.measures:
        path = stage.root / stage.generation / "documents" / file.name
        if near and pc.any(pc.is_in(pq.read_table(path, columns=["doc_id"])["doc_id"], ids)).as_py():
            table = pq.read_table(path, columns=["doc_id", "source", "record", "text"])
            parts.append(table.filter(pc.is_in(table["doc_id"], ids)))
    if not parts:
        return []
    table = pa.concat_tables(parts)
    rows = [
        found | {"estimate": near[found["doc_id"]]} | {c: table[c][k].as_py() for c in ("source", "record", "text")}
        for k, found in enumerate(compared(text, table, params))
        if found["jaccard"] > 0
    ]
    return sorted(rows, key=lambda r: (-r["jaccard"], r["doc_id"]))[:n]
