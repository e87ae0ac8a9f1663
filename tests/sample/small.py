"""The run of configs/small.yaml that several tests look at: made once a session."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import curate

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "configs" / "small.yaml"
SAMPLE = ROOT / "data" / "sample"
SHARED = Path(os.environ.get("CURATE_TEST_DATA") or ROOT.parent / "shared" / "data")


@cache
def small_run(folder: Path) -> curate.Run:
    """configs/small.yaml, executed by two workers in a folder of the session."""
    return curate.run(CONFIG, run_dir=folder, workers=2)
