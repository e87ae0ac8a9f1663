"""`what-if` on the sample's run: it equals a real run with that setting, and reads no text."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sample.small import CONFIG

import curate
from curate.cli import main
from pipeline.config import ConfigError
from pipeline.execution import Policy
from report.views import NoRunError
from report.what_if import what_if
from stages.registry import registry


def replay(root: Path, *overrides: str, limit: int | None = None) -> dict[str, Any]:
    return what_if(root, registry(), overrides, limit)


def by_stage(found: dict[str, Any]) -> dict[str, Any]:
    return {row["stage"]: row for row in found["stages"]}


def real(run: curate.Run, folder: Path, until: str, *overrides: str) -> curate.Run:
    """A run with those settings, all measures taken over."""
    return curate.run(
        CONFIG, run_dir=folder, workers=2, until=until, overrides=overrides, policy=Policy(reuse=run.root)
    )


def counts_of(run: curate.Run) -> dict[str, Any]:
    kinds = ("documents_in", "kept", "dropped")
    return {s["stage"]: {k: s[k] for k in kinds} for s in run.report()["stages"] if s["kind"] in ("judge", "editor")}


GOPHER = ("gopher.max_symbol_ratio=0.01", "gopher.min_words=200", "gopher.unspaced.min_words=400")


@pytest.mark.parametrize(
    "overrides",
    [
        GOPHER,
        ("gopher.preset=cs336",),
        ("language.keep=[en]", "license.allow=[MIT, CC0-1.0]", "gopher.max_symbol_ratio=off"),
    ],
    ids=lambda o: o[0],
)
def test_it_equals_a_real_run_for_judges_that_measure_every_document(
    run: curate.Run, tmp_path: Path, overrides: tuple[str, ...]
) -> None:
    found = replay(run.root, *overrides)
    there = real(run, tmp_path / "there", "gopher", *overrides)
    counts = counts_of(there)
    rows = by_stage(found)
    before = counts_of(run)
    assert list(counts) == ["license", "language", "gopher"]
    for stage in counts:
        assert rows[stage]["exact"]
        assert rows[stage]["after"] == counts[stage]
        assert rows[stage]["before"] == before[stage]
    assert any(rows[s]["after"] != rows[s]["before"] for s in counts)
    query = "SELECT doc_id FROM verdicts GROUP BY doc_id HAVING bool_and(coalesce(keep, true))"
    reach_there = {r[0] for r in there.sql(query).fetchall()}
    where = "WHERE stage IN ('license', 'language', 'gopher')"
    reach_here = {r[0] for r in run.sql(query.replace("GROUP", f"{where} GROUP", 1)).fetchall()}
    dropped = {d["doc_id"] for d in found["changed"]["documents"] if d["side"] == "newly_dropped"}
    let_in = {d["doc_id"] for d in found["changed"]["documents"] if d["side"] == "open"}
    assert let_in <= reach_there - reach_here
    assert not dropped & (reach_there - reach_here)


def test_a_band_is_fitted_again_and_equals_a_real_run(run: curate.Run, tmp_path: Path) -> None:
    overrides = ("perplexity.band.width=1.5", "gopher.min_words=200")
    found = by_stage(replay(run.root, *overrides))
    counts = counts_of(real(run, tmp_path / "there", "perplexity", *overrides))
    assert found["perplexity"]["exact"]
    assert found["perplexity"]["after"] == counts["perplexity"] != found["perplexity"]["before"]


def test_documents_let_through_are_open_until_a_later_judge_has_measured_them(run: curate.Run) -> None:
    found = replay(run.root, "gopher.max_symbol_ratio=off")
    rows = by_stage(found)
    let_in = rows["gopher"]["after"]["kept"] - rows["gopher"]["before"]["kept"]
    assert let_in > 0
    for stage in ("perplexity", "exact_dedup", "minhash", "pii"):
        assert rows[stage]["unmeasured"] == let_in
        assert not rows[stage]["exact"]
    assert found["changed"]["open"] == let_in
    document = found["changed"]["documents"][0]
    assert document["before"]["rule"] == "max_symbol_ratio"
    assert document["before"]["value"] > document["before"]["threshold"]
    assert document["open"] == {"stage": "perplexity", "why": "unmeasured"}


def test_a_duplicate_whose_kept_twin_would_go_is_open(run: curate.Run) -> None:
    query = "SELECT kept_id FROM clusters WHERE stage = 'minhash' LIMIT 1"
    kept = run.sql(query).fetchall()[0][0]
    words = run.sql("SELECT words FROM measures_gopher WHERE doc_id = ?", [kept]).fetchall()[0][0]
    settings = [f"gopher.{p}min_words={words + 1}" for p in ("", "unspaced.")]
    rows = by_stage(replay(run.root, *settings))
    gone = rows["exact_dedup"]["twin_gone"] + rows["minhash"]["twin_gone"]
    assert gone > 0
    assert not rows["minhash"]["exact"]


def test_no_setting_changes_nothing(run: curate.Run) -> None:
    found = replay(run.root, "gopher.preset=gopher")
    assert all(row["before"] == row["after"] and row["exact"] for row in found["stages"])
    assert found["changed"]["documents"] == []
    counts = counts_of(run)
    assert {row["stage"]: row["after"] for row in found["stages"]} == counts


def test_no_text_is_read_and_the_run_folder_stays_as_it_was(run: curate.Run, tmp_path: Path) -> None:
    """It gives the same answer where every shard of documents has been taken away."""
    copy = tmp_path / "run"
    shutil.copytree(run.root, copy)
    for file in [*copy.glob("*/documents/*.parquet"), *copy.glob("ingest/read/*.parquet"), *copy.glob("curated/*")]:
        file.unlink()
    (copy / "curate.duckdb").unlink(missing_ok=True)
    before = {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in copy.rglob("*")}
    overrides = (*GOPHER, "perplexity.band.width=2.0")
    found = replay(copy, *overrides)
    assert found["stages"] == replay(run.root, *overrides)["stages"]
    assert {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in copy.rglob("*")} == before


def test_every_judges_settings_come_back_from_the_run(run: curate.Run) -> None:
    from pipeline.config import check_params
    from pipeline.runner import read_run

    for name, params in read_run(run.root)["params"].items():
        model = registry().find(name).Params
        again = check_params(model, params, name, registry(), "run.json")
        assert again.model_dump(mode="json") == params


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("gopher.min_wrods=3", "--set: gopher.min_wrods: unknown key; did you mean 'min_words'?"),
        ("gopher.min_words=many", "gopher.min_words"),
        ("gopher.min_words", "write --set KEY=VALUE, for example --set gopher.min_words=30"),
        ("min_words=3", "write STAGE.SETTING=VALUE, for example gopher.min_words=30"),
        ("gophr.min_words=3", "--set names no stage or source of this config: gophr"),
        ("language.characters=10", "--set: language.characters: changes what is measured, and that needs the texts"),
        ("minhash.threshold=0.9", "--set: minhash: compares texts when its settings change: use `curate run CONFIG"),
        ("pii.phone_regions=[US]", "--set: pii: is no judge that can decide again here; judges: license, language"),
        ("tokenizer.vocab_size=300", "--set: tokenizer: is no judge that can decide again here"),
    ],
)
def test_a_setting_that_cannot_be_tried_is_an_error(run: curate.Run, override: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        replay(run.root, override)
    assert message in str(error.value)


def test_a_run_without_judges_has_nothing_to_decide(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("One text.", encoding="utf-8")
    source = f"{{name: one, path: {tmp_path / 'one.txt'}, license: CC0-1.0}}"
    (tmp_path / "c.yaml").write_text(f"name: c\nsources: [{source}]\nstages: [ingest]\n", encoding="utf-8")
    curate.run(tmp_path / "c.yaml", run_dir=tmp_path / "r", workers=1)
    with pytest.raises(NoRunError, match="has no judge or editor that has finished"):
        replay(tmp_path / "r", "gopher.min_words=30")


def test_the_command_prints_the_funnel_and_the_documents_that_change_side(run: curate.Run) -> None:
    arguments = ["what-if", str(run.root), "--set", "gopher.min_words=200", "-n", "3"]
    shown = CliRunner().invoke(main, arguments)
    assert shown.exit_code == 0, shown.output
    assert "gopher" in shown.output and "→" in shown.output
    assert "gopher: min_words" in shown.output and "(threshold 200)" in shown.output
    assert "more: -n 0 lists all" in shown.output
    found = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).output)
    assert len(found["changed"]["documents"]) == 3
    assert found["changed"]["kept"]["after"] < found["changed"]["kept"]["before"]
    opened = CliRunner().invoke(main, ["what-if", str(run.root), "--set", "gopher.max_symbol_ratio=off"])
    assert "open, not measured by perplexity" in opened.output
    wrong = CliRunner().invoke(main, ["what-if", str(run.root), "--set", "gopher.min_wrods=3"])
    assert wrong.exit_code == 2
    assert "did you mean 'min_words'?" in wrong.output
