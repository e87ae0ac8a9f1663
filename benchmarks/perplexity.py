"""Training against lmplz and scoring against a bare loop of kenlm.Model.score: `perplexity.py FILE.jsonl.zst [LMPLZ]`;
training within several bounds of memory: `perplexity.py --bounds FILE.jsonl.zst`.

Times are CPU seconds (user and system, all threads) and wall-clock seconds of the same run; on a busy machine only the
first compare. docs/benchmarks.md has the output.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from stages.perplexity import Perplexity, PerplexityParams
from stages.perplexity.normalise import NORMALISERS
from stages.perplexity.references import Reference, batches, texts
from stages.perplexity.scoring import Scorer, kenlm_model

ORDER, PRUNE, MEMORY = 5, (0, 0, 1), "2GB"
BOUNDS = ("256MB", "512MB", "1GB")
SCORED = 10 << 20  # characters


def own_training(file: str, folder: str, memory: str) -> None:
    """Everything that `prepare` does, in this process; prints what it took."""
    import kernels.lm_counts
    import kernels.lm_probing
    import kernels.lm_units  # noqa: F401  compiled before the clock starts

    settings = {"reference": [{"path": [file], "language": "en"}], "order": ORDER, "memory": memory}
    params = PerplexityParams.model_validate(settings)
    before, began = time.process_time(), time.perf_counter()
    Perplexity.prepare(params, Path(folder))
    spent = {"cpu": time.process_time() - before, "wall": time.perf_counter() - began}
    print(json.dumps(spent | {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def lmplz_training(program: str, text: Path, folder: Path) -> dict[str, float]:
    """lmplz on text that is already normalised, with the same order and pruning."""
    command = [program, "-o", str(ORDER), "--prune", *map(str, PRUNE), "--discount_fallback", "-S", MEMORY[:-1]]
    command += ["-T", f"{folder}/", "--text", str(text), "--arpa", str(folder / "lmplz.arpa")]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{program} failed")
    wall = time.perf_counter() - began
    return {"cpu": used.ru_utime + used.ru_stime, "wall": wall, "peak": used.ru_maxrss / 1024}


def best(works: dict[str, Callable[[], Any]], times: int = 5) -> dict[str, float]:
    """Least CPU seconds of each, all in turns."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(times):
        for name, work in works.items():
            began = time.process_time()
            work()
            found[name].append(time.process_time() - began)
    return {name: min(seconds) for name, seconds in found.items()}


def loading(models: Sequence[Path]) -> None:
    """What it takes a process to load a model, and what it keeps for itself."""
    print("\n| loading | CPU ms | private memory MB |\n|---|---|---|")
    program = (
        "import re, sys, time; from pathlib import Path; from stages.perplexity.scoring import Scorer, kenlm_model\n"
        "def private(): return int(re.search(r'Private_Dirty: *(\\d+)', open('/proc/self/smaps_rollup').read())[1])\n"
        "before, began = private(), time.process_time(); model = kenlm_model(Path(sys.argv[1]))\n"
        "print(1000 * (time.process_time() - began), (private() - before) / 1024)"
    )
    for model in models:
        runs = [subprocess.run([sys.executable, "-c", program, str(model)], capture_output=True) for _ in range(3)]
        spent, kept = min(tuple(map(float, run.stdout.split())) for run in runs)
        print(f"| {model.suffix[1:]}, {model.stat().st_size / 1e6:.0f} MB | {spent:.0f} | {kept:.0f} |")


def scoring(file: str, folder: Path) -> None:
    """The whole of measuring against scoring alone, on the same documents."""
    documents: list[str] = []
    for text in texts(Reference(path=file), file):
        documents.append(text)
        if sum(map(len, documents)) > SCORED:
            break
    column = pa.chunked_array([pa.array(documents, pa.large_string())])
    normaliser = NORMALISERS["standard"]
    scorer, arpa = Scorer(folder / "en.probing"), kenlm_model(folder / "en.arpa")
    units = normaliser.units(column)
    lines = units.text.tobytes().decode().split("\n")[:-1]
    size = len(units.text) / 1e6
    works: dict[str, Callable[[], Any]] = {
        "bare loop of kenlm.Model.score over normalised lines": lambda: [scorer.model.score(line) for line in lines],
        "the same, model built from the ARPA file": lambda: [arpa.score(line) for line in lines],
        "normalise and split": lambda: normaliser.units(column),
        "share of unknown words": lambda: scorer._known(units),
        "normalise, split, score, unknown words": lambda: scorer.scores(normaliser.units(column)),
    }
    rows = best(works)
    print("\n| scoring | MB/s | ratio to the bare loop |\n|---|---|---|")
    for name, seconds in rows.items():
        print(f"| {name} | {size / seconds:.0f} | {seconds / next(iter(rows.values())):.2f} |")


def trained(file: str, folder: Path, memory: str) -> dict[str, float]:
    """Training in a process of its own."""
    folder.mkdir()
    command = [sys.executable, __file__, "--train", file, str(folder), memory]
    spent: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return spent


def main(file: str, program: str | None) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        own = trained(file, folder / "own", MEMORY)
        print("| training | CPU s | wall-clock s | peak MB |\n|---|---|---|---|")
        line = "| {} | {cpu:.1f} | {wall:.1f} | {peak:.0f} |"
        print(line.format(f"own estimator, from JSON Lines, memory {MEMORY}", **own))
        if program is not None:
            with (folder / "text").open("wb") as f:
                for batch in batches(texts(Reference(path=file), file)):
                    f.write(NORMALISERS["standard"].units_of(batch).text.tobytes())
            theirs = lmplz_training(program, folder / "text", folder)
            print(line.format(f"lmplz, from normalised text, -S {MEMORY[:-1]}", **theirs))
            again = trained(file, folder / "again", MEMORY)
            own = {key: min(own[key], again[key]) for key in own}
            ratios = theirs["cpu"] / own["cpu"], theirs["wall"] / own["wall"]
            print(
                "\nspeed in units of lmplz, best of two: {:.2f} by CPU time, {:.2f} by wall-clock time".format(*ratios)
            )
        loading([folder / "own" / "en.arpa", folder / "own" / "en.probing"])
        scoring(file, folder / "own")


def bounds(file: str) -> None:
    """Training with several settings of `memory`: what it took, and whether the model is the same."""
    print("| memory | CPU s | peak MB | model |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for memory in BOUNDS:
            spent = trained(file, Path(name) / memory, memory)
            digest = hashlib.blake2b((Path(name) / memory / "en.arpa").read_bytes(), digest_size=4).hexdigest()
            print(f"| {memory} | {spent['cpu']:.1f} | {spent['peak']:.0f} | {digest} |")


if __name__ == "__main__":
    if sys.argv[1] == "--train":
        own_training(*sys.argv[2:5])
    elif sys.argv[1] == "--bounds":
        bounds(sys.argv[2])
    else:
        main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
