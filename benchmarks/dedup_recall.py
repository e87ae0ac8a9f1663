"""What MinHash-LSH finds of real near-duplicates, by Jaccard, against the curve 1 - (1 - J^rows)^bands.

    python benchmarks/dedup_recall.py [--data FOLDER] [--seeds 20] [--threshold 0.8]

Reads neardup/debian-install-guide.*.jsonl.zst below FOLDER (default: CURATE_TEST_DATA). Pairs are those listed there;
their Jaccard is computed anew on the sets that `minhash` itself compares. Then the whole stage runs over all
documents, and the Jaccard of every removed one with its kept one is computed anew from the two texts.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import zstandard
from numpy.typing import NDArray

from kernels import minhash
from pipeline.documents import DOCUMENTS
from stages.dedup import MinHash, lsh, texts
from stages.dedup.minhash import MinHashParams
from stages.dedup.shingles import Shingles

I64s = NDArray[np.int64]


def rows(path: Path) -> list[dict[str, Any]]:
    """Records of a JSON Lines file."""
    with zstandard.open(path, "rb") as raw:
        return [json.loads(line) for line in io.TextIOWrapper(raw, encoding="utf-8", newline="\n")]


def jaccards(column: pa.ChunkedArray, left: I64s, right: I64s, shingling: Shingles) -> NDArray[np.float64]:
    """Exact Jaccard of the shingle sets of documents left[k] and right[k]."""
    values, ends = shingling.of(column)
    sets = [values[a:b] for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
    found = np.empty(len(left))
    for k, (a, b) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        common = len(np.intersect1d(sets[a], sets[b], assume_unique=True))
        found[k] = common / max(1, len(sets[a]) + len(sets[b]) - common)
    return found


def candidates(column: pa.ChunkedArray, left: I64s, right: I64s, params: MinHashParams) -> NDArray[np.bool_]:
    """Which of the pairs share a bucket in some band."""
    from kernels import normaliser

    data, offsets = texts.buffers(column)
    signatures = np.empty((len(column), params.permutations), np.uint32)
    factors = minhash.permutations(params.permutations, params.seed)
    settings = (params.shingle, params.shingle_characters)
    minhash.signatures(
        data, offsets, normaliser.load(), *settings, *factors, signatures, np.empty(len(column), np.int64)
    )
    bands, rows_ = params.shape()
    keys = np.empty((bands, len(column)), np.int64)
    minhash.band_keys(signatures, bands, rows_, keys)
    shared: NDArray[np.bool_] = (keys[:, left] == keys[:, right]).any(axis=0)
    return shared


def recall(column: pa.ChunkedArray, left: I64s, right: I64s, threshold: float, seeds: int) -> list[dict[str, float]]:
    """By bin of Jaccard: pairs, share found (mean over seeds 1, 2, ...), and what the curve says for these pairs."""
    params = MinHashParams(threshold=threshold)
    exact = jaccards(column, left, right, Shingles(params.shingle, params.shingle_characters))
    hits = np.mean(
        [candidates(column, left, right, params.model_copy(update={"seed": s + 1})) for s in range(seeds)], 0
    )
    curve = np.array([lsh.probability(j, *params.shape()) for j in exact])
    edges = [0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0001]
    found = []
    for low, high in pairwise(edges):
        inside = (exact >= low) & (exact < high)
        if inside.any():
            means = {"found": float(hits[inside].mean()), "curve": float(curve[inside].mean())}
            found.append({"from": low, "to": min(high, 1.0), "pairs": int(inside.sum()), **means})
    return found


def documents(given: list[dict[str, Any]]) -> pa.Table:
    """Documents (schema DOCUMENTS) of records with id and text."""
    count = len(given)
    columns: dict[str, Any] = {f.name: pa.nulls(count, f.type) for f in DOCUMENTS}
    columns |= {"doc_id": [r["id"] for r in given], "text": [r["text"] for r in given], "source": ["guide"] * count}
    columns |= {f.name: [0] * count for f in DOCUMENTS if f.type == pa.int64()}
    columns |= {"metadata": ["{}"] * count, "record": [""] * count, "placeholders": [[]] * count}
    return pa.table({f.name: columns[f.name] for f in DOCUMENTS}, schema=DOCUMENTS)


class Corpus:
    """Implements `pipeline.stage.Fitting` over one table in memory."""

    def __init__(self, table: pa.Table, measures: pa.Table, workspace: Path, memory: int = 2 << 30) -> None:
        self.table, self.workspace, self.memory, self.sources = table, workspace, memory, ("guide",)
        self.measured = table.select(["doc_id", "source"])
        for name in measures.column_names:
            self.measured = self.measured.append_column(name, measures[name])

    def measures(self, columns: list[str] | None = None) -> Any:
        yield self.measured if columns is None else self.measured.select(["doc_id", "source", *columns])

    def documents(self, wanted: NDArray[np.bool_]) -> Any:
        yield self.table.filter(pa.array(np.asarray(wanted)))


def removals(table: pa.Table, params: MinHashParams) -> dict[str, float]:
    """The whole stage: what it removes, the least Jaccard with a kept one (computed anew), and a second pass."""
    measured = MinHash.measure(table, params, None)
    with tempfile.TemporaryDirectory() as folder:
        state = MinHash.fit(Corpus(table, measured, Path(folder)), params).table
    ids = {d: k for k, d in enumerate(table["doc_id"].to_pylist())}
    left, right = (np.array([ids[d] for d in state[c].to_pylist()], np.int64) for c in ("doc_id", "kept_id"))
    exact = jaccards(table["text"], left, right, Shingles(params.shingle, params.shingle_characters))
    empty = (measured["shingles"].to_numpy() == 0).sum()
    kept = table.filter(pa.array(~np.isin(np.arange(len(ids)), left)))
    with tempfile.TemporaryDirectory() as folder:
        again = MinHash.fit(Corpus(kept, MinHash.measure(kept, params, None), Path(folder)), params).table
    return {
        "documents": len(ids),
        "empty": int(empty),
        "removed": len(left),
        "least_jaccard": float(exact.min()),
        "largest_difference": float(np.abs(exact - state["jaccard"].to_numpy()).max()),
        "kept_ones_that_are_removed": len(set(state["kept_id"].to_pylist()) & set(state["doc_id"].to_pylist())),
        "removed_by_a_second_pass": again.num_rows,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CURATE_TEST_DATA", "../shared/data")))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--threshold", type=float, default=0.8)
    options = parser.parse_args()
    table = documents(rows(options.data / "neardup/debian-install-guide.docs.jsonl.zst"))
    ids = {d: k for k, d in enumerate(table["doc_id"].to_pylist())}
    pairs = rows(options.data / "neardup/debian-install-guide.pairs.jsonl.zst")
    left, right = (np.array([ids[p[side]] for p in pairs], np.int64) for side in ("a", "b"))
    params = MinHashParams(threshold=options.threshold)
    print(
        f"threshold {options.threshold}, {params.shape()[0]} bands of {params.shape()[1]} rows, {options.seeds} seeds"
    )
    print("| Jaccard | pairs | found | curve | difference |\n|---|---|---|---|---|")
    for r in recall(table["text"], left, right, options.threshold, options.seeds):
        bounds = f"{r['from']:.2f}-{r['to']:.2f}"
        points = 100 * (r["found"] - r["curve"])
        print(f"| {bounds} | {r['pairs']} | {r['found']:.2%} | {r['curve']:.2%} | {points:+.2f} |")
    print()
    for name, value in removals(table, params).items():
        print(f"{name}: {value:.6g}")


if __name__ == "__main__":
    main()
