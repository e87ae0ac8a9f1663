"""How well signatures of 128 values estimate the Jaccard of real near-duplicates, ours and rensa's, on equal shingles.

    python benchmarks/dedup_estimates.py PYTHON [--data FOLDER] [--languages en,de,fr]

PYTHON: of an environment with rensa 0.5. Reads neardup/debian-install-guide.*.jsonl.zst below FOLDER (default:
CURATE_TEST_DATA). Errors are against the exact Jaccard of the shingle sets, over the pairs listed there and the seeds
1 to 5.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import dedup
import dedup_recall
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernels import minhash, normaliser
from stages.dedup import texts as columns
from stages.dedup.shingles import Shingles

PERMUTATIONS, SEEDS = 128, 5


def signatures(column: pa.ChunkedArray, seed: int) -> NDArray[np.uint32]:
    """Ours, shape (documents, 128)."""
    data, offsets = columns.buffers(column)
    out, counts = np.empty((len(column), PERMUTATIONS), np.uint32), np.empty(len(column), np.int64)
    factors = minhash.permutations(PERMUTATIONS, seed)
    minhash.signatures(data, offsets, normaliser.load(), 5, 8, *factors, out, counts)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python")
    parser.add_argument("--data", type=Path, default=os.environ.get("CURATE_TEST_DATA", "../shared/data"))
    parser.add_argument("--languages", default="en,de,fr")
    options = parser.parse_args()
    folder, languages = Path(options.data) / "neardup", options.languages.split(",")
    rows = dedup_recall.rows(folder / "debian-install-guide.docs.jsonl.zst")
    given = [row for row in rows if row["id"].split("/")[1] in languages]
    number = {row["id"]: k for k, row in enumerate(given)}
    listed = dedup_recall.rows(folder / "debian-install-guide.pairs.jsonl.zst")
    pairs = np.array([(number[p["a"]], number[p["b"]]) for p in listed if p["a"] in number and p["b"] in number])
    left, right = pairs[:, 0], pairs[:, 1]
    texts = [row["text"] for row in given]
    column = pa.chunked_array([pa.array(texts, pa.large_string())])
    exact = dedup_recall.jaccards(column, left, right, Shingles(5, 8))
    with tempfile.TemporaryDirectory() as name:
        found = dedup.peer(options.python, "estimates", dedup.normalised(texts), Path(name))["signatures"]
    theirs = [np.array(values, np.uint32).reshape(-1, PERMUTATIONS) for values in found]
    print(f"{len(texts)} documents, {len(pairs)} pairs; expected of independent permutations: ", end="")
    print(f"{float(np.mean(exact * (1 - exact) / PERMUTATIONS)):.5f}")
    for who, given_by in (("ours", [signatures(column, seed + 1) for seed in range(SEEDS)]), ("rensa", theirs)):
        errors = np.array([(s[left] == s[right]).mean(axis=1) - exact for s in given_by])
        print(f"{who}: mean squared error {float((errors**2).mean()):.5f}, mean error {float(errors.mean()):+.5f}")


if __name__ == "__main__":
    main()
