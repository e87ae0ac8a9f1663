"""Annotated sentences of the shared test data; tests skip, with the reason, where it is absent."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

ROOT = Path(__file__).parents[2]


def annotated_sentences() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Each sentence with its annotated spans."""
    for row in _rows("pii/presidio-research"):
        yield row["text"], row["spans"]


def shared_texts(name: str) -> Iterator[str]:
    """The texts of one file, `web/c4-1000` or another."""
    for row in _rows(name):
        yield row["text"]


def _rows(name: str) -> Iterator[dict[str, Any]]:
    folder = Path(os.environ.get("CURATE_TEST_DATA", ROOT.parent / "shared" / "data"))
    path = folder / f"{name}.jsonl.zst"
    if not path.exists():
        pytest.skip(f"test data is absent: {path.name} (set CURATE_TEST_DATA)")
    with path.open("rb") as raw:
        reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        for line in io.TextIOWrapper(reader, encoding="utf-8", newline="\n"):
            yield json.loads(line)
