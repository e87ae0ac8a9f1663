"""On real near-duplicates: what is found follows the curve, and what is removed stands on exact comparisons."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stages.dedup.minhash import MinHashParams

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("CURATE_TEST_DATA", ROOT / "../shared/data")) / "neardup"
SEEDS = 20


def benchmark() -> ModuleType:
    """The benchmark itself, so that what docs/benchmarks.md shows is what is tested."""
    spec = importlib.util.spec_from_file_location("dedup_recall", ROOT / "benchmarks" / "dedup_recall.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["dedup_recall"] = module
    spec.loader.exec_module(module)
    return module


def test_recall_by_jaccard_follows_the_curve_and_every_removal_is_exact() -> None:
    if not DATA.exists():
        pytest.skip(f"shared test data is absent: {DATA}")
    module = benchmark()
    table = module.documents(module.rows(DATA / "debian-install-guide.docs.jsonl.zst"))
    ids = {d: k for k, d in enumerate(table["doc_id"].to_pylist())}
    pairs = module.rows(DATA / "debian-install-guide.pairs.jsonl.zst")
    left, right = (np.array([ids[p[side]] for p in pairs], np.int64) for side in ("a", "b"))
    found = module.recall(table["text"], left, right, 0.8, SEEDS)
    assert sum(r["pairs"] for r in found) > 5000
    for r in found:
        assert abs(r["found"] - r["curve"]) <= 0.03, r
        assert r["from"] < 0.9 or r["found"] >= 0.99
    done = module.removals(table, MinHashParams())
    assert done["removed"] > 1500
    assert done["least_jaccard"] >= 0.8 and done["largest_difference"] == 0
    assert done["kept_ones_that_are_removed"] == done["removed_by_a_second_pass"] == 0
