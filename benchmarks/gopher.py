"""Speed of all measures of the Gopher family, and the ratio to datatrove's two Gopher filters: `gopher.py`.

One process, one thread, process time, the best of three. The same documents for both sides, in this one run; datatrove
takes part on every 16th document where `--datatrove PYTHON` (or CURATE_BENCH_DATATROVE) names a Python that has it.
Texts are those of CURATE_TEST_DATA (default: `../shared/data` beside the repository).
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import zstandard

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
DATA = Path(os.environ.get("CURATE_TEST_DATA") or ROOT.parent / "shared" / "data")
PEER = Path(__file__).parent / "peers" / "datatrove_gopher.py"
TEXTS = {"technical-en": "trusted/technical-en.jsonl.zst", "en": "trusted/en.jsonl.zst", "zh": "trusted/zh.jsonl.zst"}
STEP = 16


def load(name: str) -> list[str]:
    with zstandard.open(DATA / name, "rb") as stream, io.TextIOWrapper(stream, encoding="utf-8", newline="\n") as lines:
        return [json.loads(line)["text"] for line in lines]


def megabytes(texts: Sequence[str]) -> float:
    return sum(len(text.encode()) for text in texts) / 1e6


def best(call: Callable[[], object], times: int = 3) -> float:
    """Seconds of process time."""
    found = []
    for _ in range(times):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found)


def speed(texts: Sequence[str]) -> float:
    """MB/s of all measures."""
    from stages.gopher.measures import measure_texts

    column = pa.chunked_array([pa.array(texts, pa.large_string())])
    measure_texts(column.slice(0, 5), [None] * min(5, len(texts)))
    return megabytes(texts) / best(lambda: measure_texts(column, [None] * len(texts)))


def peer(python: str, texts: Sequence[str], *options: str) -> dict:
    given = "\n".join(json.dumps(text) for text in texts)
    done = subprocess.run([python, str(PEER), *options], input=given, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--datatrove", default=os.environ.get("CURATE_BENCH_DATATROVE"), metavar="PYTHON")
    options = parser.parse_args()
    print("| text | MB | all measures, MB/s |\n|---|---|---|")
    for name, file in TEXTS.items():
        texts = load(file)
        print(f"| {name} | {megabytes(texts):.1f} | {speed(texts):.1f} |", flush=True)
    if not options.datatrove:
        print("\nno datatrove: give --datatrove PYTHON to compare")
        return
    print("\n| text, every 16th document | MB | words of | quality, MB/s | repetition, MB/s | both | here | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for name in ("technical-en", "en"):
        texts = load(TEXTS[name])[::STEP]
        size = megabytes(texts)
        for words, flags in (("datatrove's default", ()), ("str.split", ("--split",))):
            seconds = peer(options.datatrove, texts, *flags)["seconds"]
            quality, repetition = (size / s for s in seconds.values())
            both, here = size / sum(seconds.values()), speed(texts)
            row = (f"{quality:.2f}", f"{repetition:.2f}", f"{both:.2f}", f"{here:.1f}", f"{here / both:.0f} ×")
            print(f"| {name} | {size:.1f} | {words} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
