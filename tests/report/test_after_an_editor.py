"""Judges behind an editor: `what-if` equals a real run, and a sample shows the text that the judge was given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import curate
from curate.cli import main
from report.what_if import what_if
from stages.registry import registry

LINE = "The mill number {} stands by the river."
TEXTS = [
    "\n".join(["Menu"] * (i % 3) + [LINE.format(k) for k in range(i)] + ["#"] * 2 + ["spam spam eggs ham."] * (i % 4))
    for i in range(1, 13)
]
CONFIG = """
name: edited
sources: [{name: docs, path: docs.jsonl, license: CC0-1.0}]
stages:
  - ingest: {}
  - gopher: {preset: c4, min_sentences: 4, as: pages}
  - c4_lines: {min_words: 4}
  - gopher: {preset: cs336, min_words: 30, max_top3_2grams: off, max_top3_3grams: off, max_top_2gram: 0.3}
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("edited")
    lines = [json.dumps({"text": text}) for text in TEXTS]
    (folder / "docs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "edited.yaml").write_text(CONFIG, encoding="utf-8")
    return folder / "edited.yaml"


@pytest.fixture(scope="module")
def run(config: Path) -> curate.Run:
    return curate.run(config, run_dir=config.parent / "run", workers=1)


@pytest.mark.parametrize(
    "overrides",
    [
        ("gopher.min_words=60",),
        ("pages.min_sentences=6", "gopher.min_words=10"),
        ("gopher.preset=c4", "gopher.min_sentences=12"),
    ],
)
def test_what_if_equals_a_real_run_behind_an_editor(
    config: Path, run: curate.Run, tmp_path: Path, overrides: tuple[str, ...]
) -> None:
    found = {row["stage"]: row for row in what_if(run.root, registry(), overrides)["stages"]}
    real = curate.run(config, run_dir=tmp_path / "there", workers=1, overrides=overrides)
    counts = {s["stage"]: s for s in real.report()["stages"] if s["stage"] in found}
    for stage, row in found.items():
        assert row["exact"]
        assert row["after"] == {k: counts[stage][k] for k in ("documents_in", "kept", "dropped")}
    assert any(row["before"] != row["after"] for row in found.values())


def test_documents_let_through_to_an_editor_are_open_behind_it(run: curate.Run) -> None:
    found = what_if(run.root, registry(), ["pages.min_sentences=off"])
    rows = {row["stage"]: row for row in found["stages"]}
    let_in = rows["pages"]["after"]["kept"] - rows["pages"]["before"]["kept"]
    assert let_in == rows["c4_lines"]["unmeasured"] == rows["gopher"]["unmeasured"] == found["changed"]["open"] > 0
    assert found["changed"]["documents"][0]["open"]["stage"] == "c4_lines"


def test_a_sample_shows_places_in_the_text_that_the_judge_was_given(run: curate.Run) -> None:
    shown = CliRunner().invoke(main, ["sample", str(run.root), "--rule", "max_top_2gram", "-n", "1", "--json"])
    row = json.loads(shown.output)
    edited = run.sql("SELECT text FROM documents_c4_lines WHERE doc_id = ?", [row["doc_id"]]).fetchall()[0][0]
    assert "Menu" not in edited
    assert {edited[a:b] for a, b in row["spans"]} == {row["places"][0]["inside"]}
