"""Near-duplicate detection beside its peers, on the same documents, in one run.

    python benchmarks/dedup.py FILE [--megabytes 40] [--sample 8] [--rensa PYTHON] [--datatrove PYTHON]

FILE: JSON Lines with `text` (.zst allowed). Signatures are timed on the first `--sample` megabytes, the whole stage on
`--megabytes`. rensa (0.5) and datatrove (0.10; it needs xxhash < 4) are run by the Python of an environment that has
them. Times are seconds of processor time, best of nine for signatures: other work on the machine changes them less.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import yaml
import zstandard

import curate
from kernels import minhash, normaliser
from pipeline.documents import DOCUMENTS
from stages.decontaminate import Decontaminate
from stages.decontaminate.evaluation import Evaluation
from stages.decontaminate.judge import DecontaminateParams
from stages.dedup import texts as columns
from stages.lines import LineDedup
from stages.lines.editor import LineDedupParams

HERE = Path(__file__).parent


def load(path: Path, megabytes: float) -> list[str]:
    """Texts from the start of a file, up to so many megabytes."""
    found, size = [], 0
    with zstandard.open(path, "rb") if path.suffix == ".zst" else path.open("rb") as raw:
        for line in io.TextIOWrapper(raw, encoding="utf-8", newline="\n"):  # type: ignore[type-var]
            text = json.loads(line)["text"]
            size += len(text.encode())
            if size > megabytes * 1e6:
                break
            found.append(text)
    return found


def megabytes(texts: list[str]) -> float:
    return sum(len(t.encode()) for t in texts) / 1e6


def signatures(texts: list[str]) -> float:
    """Seconds from raw text to signatures: normalising, shingling, hashing, 128 permutations."""
    data, offsets = columns.buffers(pa.chunked_array([pa.array(texts, pa.large_string())]))
    out, counts = np.empty((len(texts), 128), np.uint32), np.empty(len(texts), np.int64)
    table, factors = normaliser.load(), minhash.permutations(128, 1)
    best = float("inf")
    for _ in range(9):
        used = time.process_time()
        minhash.signatures(data, offsets, table, 5, 8, *factors, out, counts)
        best = min(best, time.process_time() - used)
    return best


def normalised(texts: list[str]) -> list[str]:
    """The words of each text as the normaliser has them, a blank between two, so that peers get the same shingles."""
    table = normaliser.load()

    class Folded(dict[int, str]):
        def __missing__(self, code: int) -> str:
            kind, folded = divmod(int(table[code]), 1 << normaliser.KIND_SHIFT)
            self[code] = "" if kind == normaliser.IGNORED else " " if kind == normaliser.SEPARATOR else chr(folded)
            return self[code]

    folded = Folded()
    return [" ".join(text.translate(folded).split()) for text in texts]


def documents(texts: list[str]) -> pa.Table:
    """Documents (schema DOCUMENTS) of one source."""
    count = len(texts)
    columns: dict[str, Any] = {"doc_id": [f"{k:032x}" for k in range(count)], "source": ["bench"] * count}
    columns |= {"text": texts, "metadata": ["{}"] * count, "placeholders": [[]] * count, "record": [""] * count}
    columns |= {name: [0] * count for name in ("replacements", "surrogates", "nuls")}
    return pa.Table.from_arrays(
        [pa.array(columns.get(f.name, [None] * count), f.type) for f in DOCUMENTS], schema=DOCUMENTS
    )


def least(run: Callable[[], Any]) -> tuple[float, Any]:
    """Least processor seconds of three calls, and what the last gave."""
    best = float("inf")
    for _ in range(3):
        used = time.process_time()
        result = run()
        best = min(best, time.process_time() - used)
    return best, result


class Surveyed:
    """What `LineDedup.fit` is given: one shard's survey."""

    sources = ("bench",)
    memory = 1 << 30

    def __init__(self, survey: pa.Table, workspace: Path) -> None:
        self.survey, self.workspace = survey, workspace

    def surveys(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        yield self.survey.add_column(0, "source", pa.array(["bench"] * self.survey.num_rows, pa.string()))


def lines(texts: list[str]) -> dict[str, float]:
    """Processor seconds of the steps of `line_dedup` with its default settings, all documents one shard."""
    given, params = documents(texts), LineDedupParams()
    survey, units = least(lambda: LineDedup.survey(given, params, None))
    with tempfile.TemporaryDirectory() as name:
        used = time.process_time()
        state = LineDedup.fit(Surveyed(units, Path(name)), params)
        fit = time.process_time() - used
    edit, edited = least(lambda: LineDedup.edit(given, state.table, params, None))
    counts = f"{units.num_rows:,} lines of {params.min_characters} characters or more"
    return {f"survey ({counts})": survey, "fit": fit, f"edit ({edited.edits.num_rows:,} lines go)": edit}


def overlap(texts: list[str], folder: Path) -> float:
    """Processor seconds of `decontaminate` against every hundredth document, cut to 2,000 characters, as an item."""
    items = "".join(json.dumps({"text": text[:2000]}) + "\n" for text in texts[::100])
    (folder / "items.jsonl").write_text(items, encoding="utf-8")
    params = DecontaminateParams(evaluation=(Evaluation(name="items", path=str(folder / "items.jsonl")),))
    (folder / "index").mkdir()
    Decontaminate.prepare(params, folder / "index")
    given = documents(texts)
    return least(lambda: Decontaminate.measure(given, params, folder / "index"))[0]


def whole_stage(texts: list[str], folder: Path) -> dict[str, Any]:
    """Processor seconds of the stage `minhash` in a run with one worker: measure, fit, decide, with all its files."""
    folder.mkdir()
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts), encoding="utf-8")
    config = {
        "name": "bench",
        "sources": [{"name": "texts", "path": "texts.jsonl", "license": "CC0-1.0"}],
        "stages": [{"ingest": {}}, {"minhash": {}}],
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    curate.run(folder / "config.yaml", run_dir=folder / "run", workers=1, until="ingest")
    started, used = time.perf_counter(), time.process_time()
    run = curate.run(folder / "config.yaml", run_dir=folder / "run", workers=1, until="minhash")
    found = {"seconds": time.perf_counter() - started, "processor": time.process_time() - used}
    manifest = json.loads((run.root / "minhash" / "manifest.json").read_text())
    fitted = manifest["fitted"]
    return found | {k: fitted[k] for k in ("documents", "candidates", "comparisons", "removed")}


def peer(python: str, name: str, texts: list[str], folder: Path) -> dict[str, Any]:
    """The same texts in a peer's own environment."""
    (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    command = [python, str(HERE / "dedup_peers.py"), name, str(folder / "texts.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def row(what: str, size: float, seconds: float, base: float | None) -> None:
    ratio = "" if base is None else f"{seconds / base:.1f}"
    print(f"| {what} | {size:.1f} | {seconds:.2f} | {size / seconds:.1f} | {ratio} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--megabytes", type=float, default=40)
    parser.add_argument("--sample", type=float, default=8)
    parser.add_argument("--rensa", help="Python of an environment with rensa 0.5")
    parser.add_argument("--datatrove", help="Python of an environment with datatrove 0.10")
    options = parser.parse_args()
    texts = load(options.file, options.megabytes)
    sample = load(options.file, options.sample)
    print("| what | MB of text | processor seconds | MB/s | times ours |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours, plain = signatures(sample), normalised(sample)
        row("signatures from raw text, 128 permutations", megabytes(sample), ours, None)
        peers = [("datasketch", sys.executable), ("rensa", options.rensa)]
        for other, python in peers:
            if python:
                found = [peer(python, other, plain, folder) for _ in range(3)]
                row(f"{other}, bulk, ready-made shingles", megabytes(sample), min(f["processor"] for f in found), ours)
                if "one_by_one" in found[0]:
                    best = min(f["one_by_one"] for f in found)
                    row(f"{other}, one object each, ready-made shingles", megabytes(sample), best, ours)
                ours = min(ours, signatures(sample))
        row("signatures from raw text, the best between the peers' runs", megabytes(sample), ours, None)
        for what, seconds in lines(texts).items():
            row(f"`line_dedup`: {what}", megabytes(texts), seconds, None)
        row("`decontaminate`: measure", megabytes(texts), overlap(texts, folder), None)
        whole_stage(texts[:20], folder / "warm")  # loads what is loaded once
        stage = whole_stage(texts, folder / "whole")
        row("whole stage `minhash`", megabytes(texts), stage["processor"], None)
        if options.datatrove:
            found = peer(options.datatrove, "datatrove", texts, folder)
            row("datatrove, four MinHash steps", megabytes(texts), found["processor"], stage["processor"])
            print(f"\ndatatrove removed {found['removed']}", end="")
        print(f"\nwhole stage: {stage}")


if __name__ == "__main__":
    main()
