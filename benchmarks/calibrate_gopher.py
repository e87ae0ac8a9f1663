"""Calibrates the thresholds of the profiles `unspaced` and `code`: `calibrate_gopher.py`.

Texts are split by the first bit of BLAKE2b of their id. Percentiles are those of one half (`fitted`); the share of the
other half (`held out`) that passes is what docs/heuristics.md states. Chinese is trusted/zh, reStructuredText
trusted/technical-en of CURATE_TEST_DATA (default: `../shared/data` beside the repository); source code and Markdown are
the files of that kind in the folders given (default: the installed libraries of this environment and the standard
library of its Python), at most FILES of each.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import zstandard

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
DATA = Path(os.environ.get("CURATE_TEST_DATA") or ROOT.parent / "shared" / "data")
CODE = (".py", ".c", ".h", ".js", ".ts", ".rs", ".go", ".java", ".cpp")
FILES = 4_000
BYTES = range(500, 200_000)


def first_half(name: str) -> bool:
    return hashlib.blake2b(name.encode(), digest_size=1).digest()[0] < 128


def stored(name: str) -> Iterator[tuple[str, str]]:
    file = DATA / "trusted" / f"{name}.jsonl.zst"
    with zstandard.open(file, "rb") as stream, io.TextIOWrapper(stream, encoding="utf-8", newline="\n") as lines:
        for line in lines:
            row = json.loads(line)
            yield row["id"], row["text"]


def files(folders: Sequence[Path], suffixes: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Distinct files, named by their content: at most FILES, the first in that order."""
    found: dict[str, str] = {}
    for path in (p for folder in folders for p in sorted(folder.rglob("*")) if p.suffix.lower() in suffixes):
        data = path.read_bytes() if path.is_file() and path.stat().st_size in BYTES else b""
        try:
            found[hashlib.blake2b(data, digest_size=16).hexdigest()] = data.decode("utf-8")
        except UnicodeDecodeError:
            continue
    yield from sorted((name, text) for name, text in found.items() if text)[:FILES]


def judged(texts: Sequence[str], profile: str, preset: str) -> tuple[pa.Table, list[dict]]:
    from stages.gopher import Gopher, GopherParams

    params = GopherParams(profile=profile, preset=preset)
    measures = Gopher.measure(pa.table({"text": pa.array(texts, pa.large_string())}), params)
    return measures, Gopher.decide(measures, None, params).to_pylist()


def print_profile(kind: str, profile: str, documents: Sequence[tuple[str, str]]) -> None:
    from stages.gopher.rules import CATALOGUE, PRESETS

    halves = {half: [t for name, t in documents if first_half(name) == half] for half in (True, False)}
    if not all(halves.values()):
        print(f"\n### {kind}: too few documents")
        return
    measures, _ = judged(halves[True], profile, "gopher")
    held = judged(halves[False], profile, "gopher")[1]
    print(
        f"\n### {kind}, profile `{profile}`: {len(halves[True]):,} documents fitted, {len(halves[False]):,} held out\n"
    )
    for preset in PRESETS:
        if preset != "datatrove":
            shares = [sum(v["keep"] for v in judged(halves[h], profile, preset)[1]) / len(halves[h]) for h in halves]
            print(f"- `{preset}` keeps {shares[0]:.1%} of the fitted half, {shares[1]:.1%} of the held-out half")
    print("\n| rule | 1 % | median | 99 % | 99.9 % | threshold | held out: fail | held out: fail it alone |")
    print("|---|---|---|---|---|---|---|---|")
    thresholds = PRESETS["gopher"].thresholds(profile)  # type: ignore[arg-type]
    for rule, threshold in thresholds.items():
        if threshold is None:
            continue
        values = np.sort(np.array(measures[CATALOGUE[rule][0]].to_pylist(), np.float64))
        quantiles = [f"{values[int(q * (len(values) - 1))]:.3g}" for q in (0.01, 0.5, 0.99, 0.999)]
        fail = sum(rule in v["failed"] for v in held) / len(held)
        alone = sum(v["failed"] == [rule] for v in held) / len(held)
        print(f"| `{rule}` | " + " | ".join(quantiles) + f" | {threshold:g} | {fail:.2%} | {alone:.2%} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, help="where source code and Markdown are looked for")
    given = parser.parse_args().folders
    folders = given or [Path(sysconfig.get_paths()[k]) for k in ("purelib", "stdlib")]
    print_profile("Chinese", "unspaced", list(stored("zh")))
    print_profile("Source code", "code", list(files(folders, CODE)))
    print_profile("reStructuredText", "code", list(stored("technical-en")))
    print_profile("Markdown", "code", list(files(folders, (".md",))))


if __name__ == "__main__":
    main()
