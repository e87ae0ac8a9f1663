"""What a changed band, policy, or reference computes again, by the exact names of the tasks."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from toys import Project, command, environment, files, texts

from curate.cli import main
from pipeline.manifest import read_manifest
from pipeline.storage import read_table
from report.funnel import funnel

MEASURED = ("perplexity/measures",)


def project(folder: Path) -> Project:
    made = Project(folder)
    made.write("inputs/notes.jsonl", texts(0, 80))
    made.write("reference/en.jsonl", texts(0, 5) + texts(200, 60))
    perplexity = {"reference": [{"path": "reference/*.jsonl", "language": "en"}], "min_tokens": 3}
    made.config([{"ingest": {"shard_rows": 64}}, {"perplexity": perplexity}])
    return made


def test_another_band_decides_again_and_scores_nothing(tmp_path: Path) -> None:
    made = project(tmp_path)
    first = made.run()
    assert made.tasks(*MEASURED) | {"perplexity/artefact"} <= set(first.computed)
    every = made.tasks("perplexity/verdicts") | {"perplexity/state"}
    for override in ("width=1.5", "labels=true", "group_by=[language, source]"):
        outcome = made.run(overrides=[f"perplexity.band.{override}"])
        assert every <= set(outcome.computed)
        assert {n.rpartition("/")[0] for n in outcome.computed if n.startswith("perplexity")} <= {
            "perplexity",
            "perplexity/verdicts",
        }


def test_memory_changes_no_model_and_no_score(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.run()
    outcome = made.run(overrides=["perplexity.memory=134217728"])
    assert not [n for n in outcome.computed if n == "perplexity/artefact" or n.startswith(MEASURED)]


def test_other_reference_text_trains_and_scores_again(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.run()
    made.write("reference/more.jsonl", texts(300, 20))
    outcome = made.run()
    assert made.tasks(*MEASURED) | {"perplexity/artefact"} <= set(outcome.computed)
    assert not [n for n in outcome.computed if n.startswith("ingest")]


def test_the_manifest_says_what_was_fitted_and_how_many_lie_on_each_side(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.run()
    said = json.dumps(read_manifest(tmp_path / "run", "perplexity"))
    for word in ('"bands"', '"histogram"', '"below"', '"inside"', '"above"', '"warnings"', '"discounts"'):
        assert word in said
    assert '"documents": 75' in said  # 5 of 80 stand in the reference


def test_the_report_repeats_what_the_fit_warned_of(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.run(overrides=["perplexity.band.min_documents=1000"])
    warned = "perplexity: en: only 75 scored documents, fewer than min_documents: no band, nothing is dropped"
    assert funnel(tmp_path / "run")["warnings"] == [warned]
    result = CliRunner().invoke(main, ["report", str(tmp_path / "run")])
    assert f"warning: {warned}" in result.output


def test_a_given_model_is_found_beside_the_config_and_known_by_its_content(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.run()
    trained = tmp_path / "run" / "perplexity" / "artefact" / "en.arpa"
    made.write("models/own.arpa", trained.read_bytes())
    given = {"path": "models/own.arpa", "language": "en", "normaliser": "standard"}
    made.config([{"ingest": {"shard_rows": 64}}, {"perplexity": {"models": [given], "min_tokens": 3}}])
    first = made.run("other")
    assert made.run("other").computed == ()
    (tmp_path / "models" / "own.arpa").rename(tmp_path / "models" / "moved.arpa")
    made.config(
        [
            {"ingest": {"shard_rows": 64}},
            {"perplexity": {"models": [given | {"path": "models/moved.arpa"}], "min_tokens": 3}},
        ]
    )
    moved = made.run("other")
    assert (moved.computed, moved.provenance) == ((), first.provenance)
    scored = [
        row["perplexity"]
        for shard in made.shards("other")
        for row in read_table(tmp_path / "other" / "perplexity" / "measures" / f"{shard}.parquet").to_pylist()
    ]
    assert len(scored) == 80 and None not in scored


@pytest.mark.faults
@pytest.mark.parametrize("workers", ["1", "2"])
def test_files_of_a_training_that_was_killed_are_gone_after_the_next_run(workers: str, tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write("reference/more.jsonl", texts(1000, 60_000))
    made.config([{"ingest": {"shard_rows": 64}}, {"perplexity": {"reference": [{"path": "reference/*.jsonl"}]}}])
    arguments = ("run", "config.yaml", "--run-dir", "run", "--workers", workers, "--allow-code")
    first = subprocess.Popen(command(*arguments), cwd=tmp_path, env=environment(), text=True)
    until = time.monotonic() + 60
    while not list((tmp_path / "run").rglob("work-*/run-*")) and time.monotonic() < until:
        time.sleep(0.005)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert list((tmp_path / "run").rglob("work-*/*"))
    assert made.run().computed
    made.run("fresh")
    assert files(tmp_path / "run") == files(tmp_path / "fresh")
    assert not list((tmp_path / "run").rglob("work-*")) and not list((tmp_path / "run").rglob(".tmp-*"))
