"""Every threshold of every preset does something: mutated, it changes a verdict on a corpus of probes."""

from __future__ import annotations

import hashlib
import io
import json
from functools import cache
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
import zstandard

from pipeline.rules import Rule
from stages.gopher import Gopher, GopherParams
from stages.gopher.rules import CATALOGUE, PRESETS
from tests.stages.test_gopher import HAN, PROSE, all_rules
from tests.stages.test_gopher_measures import DATA

LINES = [" ".join(f"{'w' * (k % 6 + 2)}{i}and{k}" for k in range(30)) for i in range(40)]
SAYING = "the one line of twelve words that is said twice in here"
MILD = "\n\n".join([*LINES, SAYING, "- # one... \n- two...", SAYING])
"""A little of everything: shares that are neither nothing nor too much."""

PROBES = [
    MILD,
    "",
    PROSE,
    HAN,
    "a b " * 90_000,
    " ".join(["x" * 60] * 60),
    "# ... " * 60 + "word " * 60,
    "- a line of words\n" * 30,
    "\n".join(f"the line {i} and so on..." for i in range(30)),
    "1 22 333 " * 40,
    f"{PROSE} {{ }} Lorem ipsum.",
    "spam " * 100,
    "spam spam eggs ham. " * 30,
    "\n\n".join(["the same paragraph, of one line"] * 30),
    "\n".join([PROSE] * 5),
    "Home\n" * 3 + PROSE,
    "SEE HTTP://A.EXAMPLE/B 2024     .\n" * 20,
]


@cache
def probes(definitions: str) -> pa.Table:
    params = GopherParams(definitions=definitions)  # type: ignore[arg-type]
    return Gopher.measure(pa.table({"text": pa.array(PROBES, pa.large_string())}), params)


def verdicts(measures: pa.Table, **params: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = Gopher.decide(measures, None, GopherParams(**params)).to_pylist()
    return rows


def mutants(measures: pa.Table, rule: Rule) -> list[float | bool]:
    """Switched off; and moved to each value of a probe, and half-way to the next one."""
    values = sorted({float(v or 0) for v in measures[rule.measure].to_pylist()})
    between = [(a + b) / 2 for a, b in pairwise(values)]
    moved = [v for v in (*values, *between) if v != rule.threshold]
    whole = CATALOGUE[rule.name][0] in ("words", "mean_word_length", "stop_words", "sentences", "curly_brackets")
    return [False, *(v for v in moved if whole or rule.measure.endswith("symbol_ratio") or v <= 1)]


@pytest.mark.parametrize(("preset", "profile", "rule"), all_rules(), ids=lambda v: getattr(v, "name", v))
def test_a_mutated_threshold_changes_a_verdict(preset: str, profile: str, rule: Rule) -> None:
    measures = probes("datatrove" if preset == "datatrove" else "own")
    settings: dict[str, Any] = {"preset": preset, "profile": profile}
    before = verdicts(measures, **settings)
    off = verdicts(measures, **settings, **{rule.name: False})
    assert any(rule.name in row["failed"] for row in before)
    assert [row["failed"] for row in off] == [[f for f in row["failed"] if f != rule.name] for row in before]
    others = {name: False for name in CATALOGUE if name != rule.name}
    alone = [row["keep"] for row in verdicts(measures, **settings, **others)]
    moved = [
        [row["keep"] for row in verdicts(measures, **settings, **others, **{rule.name: value})]
        for value in mutants(measures, rule)
    ]
    assert any(sum(keep) > sum(alone) for keep in moved)  # loosened, it keeps more
    tight = [keep for keep in moved if sum(keep) < sum(alone)]
    assert tight or rule.threshold == 0  # tightened, it drops more


def test_every_rule_of_the_catalogue_can_drop_and_keep_a_probe() -> None:
    measures = probes("own")
    for name, (measure, comparison) in CATALOGUE.items():
        values = [float(v or 0) for v in measures[measure].to_pylist()]
        low, high = min(values), max(values)
        assert low < high, f"{name}: all probes have the same {measure}"
        others = {other: False for other in CATALOGUE if other != name}
        threshold = (low + high) / 2
        keep = [row["keep"] for row in verdicts(measures, profile="spaced", **others, **{name: threshold})]
        assert keep == [v >= threshold if comparison == "at_least" else v <= threshold for v in values]


@pytest.mark.parametrize("preset", ["gopher", "cs336", "fineweb"])
def test_the_half_of_good_chinese_that_was_not_calibrated_on_passes(preset: str) -> None:
    file = DATA / "trusted" / "zh.jsonl.zst"
    if not file.is_file():
        pytest.skip(f"no real text: {file} is absent (set CURATE_TEST_DATA)")
    with zstandard.open(file, "rb") as stream, io.TextIOWrapper(stream, encoding="utf-8", newline="\n") as lines:
        rows = [json.loads(line) for line in lines]
    held = [r["text"] for r in rows if hashlib.blake2b(r["id"].encode(), digest_size=1).digest()[0] >= 128]
    params = GopherParams(preset=preset)  # type: ignore[arg-type]
    measures = Gopher.measure(pa.table({"text": pa.array(held, pa.large_string())}), params)
    keep = Gopher.decide(measures, None, params)["keep"].to_pylist()
    assert sum(keep) >= 0.97 * len(keep)


def test_the_presets_are_all_mutated() -> None:
    assert {preset for preset, _, _ in all_rules()} == set(PRESETS)
