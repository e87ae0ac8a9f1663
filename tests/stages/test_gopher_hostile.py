"""Documents made to be slow or large: measuring them takes time and memory in proportion to their length."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

CODE = """
import json, os, resource, sys, time
import pyarrow as pa
from stages.gopher.measures import measure_texts

def measured(text):
    column = pa.chunked_array([pa.array([text], pa.large_string())])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    row = measure_texts(column, [None]).to_pylist()[0]
    seconds = time.process_time() - start
    return seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024, row

measured("warm")
for unit, small, large in json.loads(sys.argv[1]):
    child = os.fork()
    if child == 0:
        print(json.dumps([[n, *measured(unit * n)] for n in (small, large)]), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""
BYTES_FOR_A_BYTE = 45  # of a document: code points, words, lines, and the tables that find repeats
CASES = {
    "one line": ("the mill stands by the river ", 50_000_000, 6),
    "no space": ("x", 5_000_000, 0),
    "a million words of one letter": ("a b ", 2_000_000, 2),
    "one word": ("spam ", 2_000_000, 1),
    "one unit": ("磨", 3_000_000, 1),
    "short lines": ("a\n", 2_000_000, 1),
    "blank lines": ("\n", 5_000_000, 0),
    "dots": ("..", 2_000_000, 0),
    "colons": ("w://", 2_000_000, 0),
    "nothing repeats nearby": ("".join(f"{i:x} " for i in range(4_000)), 5_000_000, 4_000),
}


def lengths(unit: str, size: int) -> tuple[int, int]:
    """How many units make a tenth of `size` bytes, and all of them."""
    width = len(unit.encode())
    return size // 10 // width, size // width


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """One process for each document, forked from one that is warm."""
    given = json.dumps([[unit, *lengths(unit, size)] for unit, size, _ in CASES.values()])
    done = subprocess.run([sys.executable, "-c", CODE, given], capture_output=True, text=True, check=True)
    return dict(zip(CASES, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("case", CASES)
def test_time_and_memory_grow_with_the_length(case: str, results: dict[str, Any]) -> None:
    unit, size, words = CASES[case]
    (n, seconds, _, _), (m, longer, memory, row) = results[case]
    assert longer / m < 8 * max(seconds / n, 2e-9 * len(unit))  # ten times as long: 10 × the time, not 100 ×
    assert memory < BYTES_FOR_A_BYTE * size + 100e6
    assert row["words"] == (m * words if words else min(row["words"], 1))
    assert all(0 <= v <= 1 for k, v in row.items() if k.endswith("_ratio") and "symbol" not in k)
