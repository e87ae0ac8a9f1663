"""Training against lmplz and scoring against a bare loop of kenlm.Model.score: `perplexity.py FILE.jsonl.zst [LMPLZ]`.

Times are CPU seconds (user and system, all threads) and wall-clock seconds of the same run; on a busy machine only the
first compare. docs/benchmarks.md has the output.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from stages.perplexity import Perplexity, PerplexityParams
from stages.perplexity.normalise import NORMALISERS
from stages.perplexity.references import Reference, batches, texts
from stages.perplexity.scoring import Scorer

ORDER, PRUNE, MEMORY = 5, (0, 0, 1), "2G"
SCORED = 10 << 20  # characters


def own_training(file: str, folder: str) -> None:
    """Everything that `prepare` does, in this process; prints what it took."""
    import kernels.lm_counts
    import kernels.lm_units  # noqa: F401  compiled before the clock starts

    params = PerplexityParams.model_validate({"reference": [{"path": [file], "language": "en"}], "order": ORDER})
    before, began = time.process_time(), time.perf_counter()
    Perplexity.prepare(params, Path(folder))
    spent = {"cpu": time.process_time() - before, "wall": time.perf_counter() - began}
    print(json.dumps(spent | {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def lmplz_training(program: str, text: Path, folder: Path) -> dict[str, float]:
    """lmplz on text that is already normalised, with the same order and pruning."""
    command = [program, "-o", str(ORDER), "--prune", *map(str, PRUNE), "--discount_fallback", "-S", MEMORY]
    command += ["-T", f"{folder}/", "--text", str(text), "--arpa", str(folder / "lmplz.arpa")]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{program} failed")
    wall = time.perf_counter() - began
    return {"cpu": used.ru_utime + used.ru_stime, "wall": wall, "peak": used.ru_maxrss / 1024}


def best(work: Callable[[], Any], times: int = 5) -> float:
    """Least CPU seconds of several runs."""
    found = []
    for _ in range(times):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def scoring(file: str, model: Path) -> None:
    """The whole of measuring against scoring alone, on the same documents."""
    documents: list[str] = []
    for text in texts(Reference(path=file), file):
        documents.append(text)
        if sum(map(len, documents)) > SCORED:
            break
    column = pa.chunked_array([pa.array(documents, pa.large_string())])
    normaliser = NORMALISERS["standard"]
    began = time.process_time()
    scorer = Scorer(model)
    loaded = time.process_time() - began
    units = normaliser.units(column)
    lines = units.text.tobytes().decode().split("\n")[:-1]
    size = len(units.text) / 1e6
    bare = best(lambda: [scorer.model.score(line) for line in lines])
    split = best(lambda: normaliser.units(column))
    known = best(lambda: scorer._known(units))
    whole = best(lambda: scorer.scores(normaliser.units(column)))
    print(f"\nloading the model ({model.stat().st_size / 1e6:.0f} MB of ARPA): {loaded:.2f} s of CPU in each process\n")
    print("| scoring | MB/s | ratio to the bare loop |\n|---|---|---|")
    rows = {"bare loop of kenlm.Model.score over normalised lines": bare, "normalise and split": split}
    rows |= {"share of unknown words": known, "normalise, split, score, unknown words": whole}
    for name, seconds in rows.items():
        print(f"| {name} | {size / seconds:.0f} | {seconds / bare:.2f} |")


def main(file: str, program: str | None) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "own").mkdir()
        command = [sys.executable, __file__, "--train", file, str(folder / "own")]
        own = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        print("| training | CPU s | wall-clock s | peak MB |\n|---|---|---|---|")
        print("| own estimator, from JSON Lines | {cpu:.1f} | {wall:.1f} | {peak:.0f} |".format(**own))
        if program is not None:
            with (folder / "text").open("wb") as f:
                for batch in batches(texts(Reference(path=file), file)):
                    f.write(NORMALISERS["standard"].units_of(batch).text.tobytes())
            theirs = lmplz_training(program, folder / "text", folder)
            print("| lmplz, from normalised text | {cpu:.1f} | {wall:.1f} | {peak:.0f} |".format(**theirs))
            ratios = theirs["cpu"] / own["cpu"], theirs["wall"] / own["wall"]
            print("\nspeed in units of lmplz: {:.2f} by CPU time, {:.2f} by wall-clock time".format(*ratios))
        scoring(file, folder / "own" / "en.arpa")


if __name__ == "__main__":
    if sys.argv[1] == "--train":
        own_training(sys.argv[2], sys.argv[3])
    else:
        main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
