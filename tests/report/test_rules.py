"""What each rule does, counted by hand on a small run; and the places that a sample shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import curate
from curate.cli import main
from report import look
from report.look import NotFoundError
from report.rules import rules
from report.views import connect
from stages.pii.mask import mask, mask_around

TREES = ("alder", "birch", "cedar", "elm", "fir", "hazel", "holly", "larch", "maple", "oak", "pine", "rowan", "yew")
PROSE = " ".join(f"the {w} and the {v}" for w, v in zip(TREES, reversed(TREES), strict=True))
DOCUMENTS = {
    "good": PROSE,
    "short": "too short, with the and",
    "symbols": f"{PROSE} " + "write ... to ben.dover@fabrikam.com now ... " * 8,
    "both": "# x " * 10,
}
CONFIG = """
name: rules
sources: [{name: docs, path: docs.jsonl, license: CC0-1.0, id_field: id}]
stages: [ingest, gopher: {preset: cs336, max_top3_2grams: off, max_top3_3grams: off}, exact_dedup: {}]
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rules")
    lines = [json.dumps({"id": name, "text": text}) for name, text in DOCUMENTS.items()]
    (folder / "docs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "rules.yaml").write_text(CONFIG, encoding="utf-8")
    return curate.run(folder / "rules.yaml", run_dir=folder / "run", workers=1).root


MEASURES = {"min_words": "words", "max_total_symbol_ratio": "total_symbol_ratio"}


def test_each_rule_has_its_counts_its_distribution_and_its_overlaps(root: Path) -> None:
    with connect(root) as db:
        (found,) = rules(db, lambda stage: MEASURES, "gopher")
    assert (found["stage"], found["documents"], found["dropped"]) == ("gopher", 4, 3)
    by_name: dict[str, Any] = {rule["rule"]: rule for rule in found["rules"]}
    assert list(by_name) == ["min_words", "max_total_symbol_ratio", "min_mean_word_length"]
    words = by_name["min_words"]
    assert (words["failed"], words["first"], words["alone"], words["thresholds"]) == (2, 2, 1, [50.0])
    assert words["overlap"] == {"max_total_symbol_ratio": 1, "min_mean_word_length": 1}
    symbols = by_name["max_total_symbol_ratio"]
    assert (symbols["failed"], symbols["first"], symbols["alone"]) == (2, 1, 1)
    assert (words["measure"], words["measured"]) == ("words", 4)
    assert words["quantiles"]["0.0"] == 5 and words["quantiles"]["1.0"] == len(DOCUMENTS["symbols"].split()) - 16
    assert by_name["min_mean_word_length"]["quantiles"] == {}


def test_every_stage_with_verdicts_is_listed_and_an_unknown_one_is_named(root: Path) -> None:
    with connect(root) as db:
        assert [s["stage"] for s in rules(db, lambda stage: {})] == ["gopher", "exact_dedup"]
        with pytest.raises(NotFoundError, match=r"no stage 'gophr' with verdicts in this run; it has: gopher, exact"):
            rules(db, lambda stage: {}, "gophr")


def test_the_command_shows_the_rules_that_a_preset_has(root: Path) -> None:
    shown = CliRunner().invoke(main, ["report", str(root), "--rules", "gopher"])
    assert shown.exit_code == 0, shown.output
    assert "gopher: 4 documents judged, 3 dropped" in shown.output
    assert "min_words" in shown.output and "max_top3_2grams" not in shown.output
    found = json.loads(CliRunner().invoke(main, ["report", str(root), "--json", "--rules"]).output)
    assert [s["stage"] for s in found] == ["gopher", "exact_dedup"]
    assert [r["rule"] for r in found[0]["rules"]][:2] == ["min_words", "max_words"]


def test_a_sample_shows_masked_places(root: Path) -> None:
    shown = CliRunner().invoke(main, ["sample", str(root), "--rule", "max_total_symbol_ratio"])
    assert "write ⟦...⟧ to <|email|> now" in shown.output
    assert "and 13 more places" in shown.output
    assert "fabrikam" not in shown.output
    (row,) = (
        json.loads(CliRunner().invoke(main, ["sample", str(root), "--rule", "min_words", "-n", "1", "--json"]).output),
    )
    assert row["spans"] == row["places"] == []


def test_an_entity_at_the_edge_of_a_place_is_masked_whole() -> None:
    text = "write to ben.dover@fabrikam.com or not"
    assert mask_around(text, 0, 12) == ("", "write to <|email|>", " or not")
    assert mask_around(text, 20, 24) == ("write to ", "<|email|>", " or not")
    assert mask_around(text, 6, 8) == ("write ", "to", " <|email|> or not")
    for start in range(len(text)):
        for end in range(start, len(text)):
            assert "".join(mask_around(text, start, end)) == mask(text)


def test_long_places_are_shortened_and_their_surroundings_cut(root: Path) -> None:
    text = f"{'a' * 5_000} {'b' * 500} {'c' * 5_000}"
    with connect(root) as db:
        found = look.sample(
            db, mask, stage="gopher", rule=None, n=1, explain=lambda *_: [(5001, 5501)],
            around=lambda t, a, b: (text[:5001], text[5001:5501], text[5501:]),
        )  # fmt: skip
    (place,) = found[0]["places"]
    assert place["before"] == "…" + "a" * 39 + " " and place["after"] == " " + "c" * 39 + "…"
    assert place["inside"] == "b" * 80 + " … " + "b" * 80
