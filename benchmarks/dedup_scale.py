"""How `minhash` grows: generated corpora of short documents, one run each, memory and disk watched.

    python benchmarks/dedup_scale.py [100000 300000 1000000] [--memory 1GB]

Documents have 40 words (about 270 bytes) from a vocabulary of 50,000 with Zipf frequencies; three in ten are copies
of an earlier one with up to two words changed. Each stage of each run is a process of its own with one worker: its
peak memory is that of the process, file pages it mapped included.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import yaml

WORDS, VOCABULARY = 40, 50_000


def write(path: Path, count: int) -> None:
    """JSON Lines of generated documents, the same ones each time."""
    generator = np.random.default_rng(count)
    weights = 1 / np.arange(1, VOCABULARY + 1)
    steps = np.cumsum(weights / weights.sum())
    names = np.array([f"w{k:x}" for k in generator.permutation(VOCABULARY)])
    kept = np.zeros((0, WORDS), np.int64)
    with path.open("w", encoding="utf-8") as file:
        for first in range(0, count, 10_000):
            size = min(10_000, count - first)
            block = np.searchsorted(steps, generator.random((size, WORDS)))
            copies = np.flatnonzero(generator.random(size) < 0.3)
            if len(kept):
                block[copies] = kept[generator.integers(0, len(kept), len(copies))]
                for _ in range(2):
                    changed = copies[generator.random(len(copies)) < 0.5]
                    block[changed, generator.integers(0, WORDS, len(changed))] = generator.integers(
                        0, VOCABULARY, len(changed)
                    )
            kept = np.concatenate([kept, block[::10]])
            file.writelines(json.dumps({"text": " ".join(names[row])}) + "\n" for row in block)


def size_of(folder: Path) -> int:
    """Bytes of the files below a folder; files that vanish meanwhile count nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def child(folder: Path, until: str) -> None:
    """One stage in this process; prints what it took as JSON."""
    import curate
    import kernels

    kernels.compile_all()
    peak = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.25):
            peak = max(peak, sum(size_of(p) for p in (folder / "run").glob(".tmp-fit-*")))

    watcher = threading.Thread(target=watch)
    watcher.start()
    started, used = time.perf_counter(), time.process_time()
    curate.run(folder / "config.yaml", run_dir=folder / "run", workers=1, until=until)
    found: dict[str, Any] = {"seconds": time.perf_counter() - started, "processor": time.process_time() - used}
    done.set()
    watcher.join()
    found["peak_memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(found | {"peak_workspace": peak}))


def measured(folder: Path, count: int, memory: str) -> dict[str, Any]:
    """Generate, ingest, deduplicate."""
    write(folder / "texts.jsonl", count)
    config = {
        "name": "scale",
        "memory": memory,
        "sources": [{"name": "texts", "path": "texts.jsonl", "license": "CC0-1.0"}],
        "stages": [{"ingest": {}}, {"minhash": {}}],
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    for stage in ("ingest", "minhash"):
        command = [sys.executable, __file__, "--child", str(folder), stage]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    fitted = json.loads((folder / "run/minhash/manifest.json").read_text())["fitted"]
    sizes = {f"{part}_bytes": size_of(folder / "run/minhash" / part) for part in ("measures", "verdicts")}
    sizes["state_bytes"] = (folder / "run/minhash/state.parquet").stat().st_size
    return found | sizes | {k: fitted[k] for k in ("documents", "candidates", "comparisons", "removed")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", nargs="*", type=int, default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--memory", default="1GB", help="the setting of the run")
    parser.add_argument("--child", nargs=2, metavar=("FOLDER", "STAGE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(Path(options.child[0]), options.child[1])
        return
    print(f"memory: {options.memory}")
    print(
        "| documents | candidates | removed | processor s | µs/document | peak MB | workspace B/document | measures |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for count in options.counts:
        with tempfile.TemporaryDirectory() as name:
            f = measured(Path(name), count, options.memory)
        cells = [
            f"{f['documents']:,}",
            f"{f['candidates']:,}",
            f"{f['removed']:,}",
            f"{f['processor']:.1f}",
            f"{1e6 * f['processor'] / count:.0f}",
            f"{f['peak_memory'] / 1e6:.0f}",
            f"{f['peak_workspace'] / count:.0f}",
            f"{f['measures_bytes'] / count:.0f} B/document",
        ]
        print("| " + " | ".join(cells) + " |", flush=True)
        print(json.dumps(f), file=sys.stderr)


if __name__ == "__main__":
    main()
