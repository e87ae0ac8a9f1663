"""Paths for all tests: the repository root first, so that a folder of tests never hides the package it mirrors."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parent
for folder in (TESTS / "pipeline", TESTS.parent):
    sys.path.insert(0, str(folder))
