"""How long the kernels take to compile from nothing: each module, and all of them side by side as a first run does.

    python benchmarks/compile_times.py

Times are seconds; a module's time is that of its own process, without the import of numba.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ONE = """
import importlib, json, os, sys, time
import numba
started, cpu = time.perf_counter(), time.process_time()
importlib.import_module(sys.argv[1])
print(json.dumps([time.perf_counter() - started, time.process_time() - cpu]))
"""
ALL = "import kernels; kernels.compile_all()"


def run(code: str, *arguments: str) -> tuple[float, float, Any]:
    """(wall seconds, processor seconds of the children too, what was printed) of Python code with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        env = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(ROOT)}
        started, before = time.perf_counter(), os.times()
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], env=env, capture_output=True, text=True, check=True
        )
        after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - started, cpu, json.loads(done.stdout) if done.stdout else None


def main() -> None:
    sys.path.insert(0, str(ROOT))
    import kernels

    print(
        f"numba {version('numba')}, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs\n"
    )
    print("| module | wall s | CPU s |\n|---|---|---|")
    times = {name: run(ONE, name)[2] for name in kernels.modules()}
    for name, (wall, cpu) in sorted(times.items(), key=lambda item: -item[1][1]):
        print(f"| {name} | {wall:.1f} | {cpu:.1f} |")
    wall, cpu, _ = run(ALL)
    print(f"| all, side by side | {wall:.1f} | {cpu:.1f} |")


if __name__ == "__main__":
    main()
