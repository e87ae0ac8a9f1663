"""Input that cannot be read stops a run or is listed, as its source says; too much of it stops the run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from toys import Project, jsonl, manifests, small, texts

from pipeline.runner import QuarantineLimitError
from pipeline.sources import UnreadableFileError
from pipeline.storage import read_table


def quarantine(root: Path) -> list[dict[str, Any]]:
    return [r for p in sorted((root / "ingest" / "quarantine").glob("*.parquet")) for r in read_table(p).to_pylist()]


def broken(folder: Path, **source: Any) -> Project:
    """A good file, and one that says it is Parquet and is not."""
    project = small(folder)
    project.write("inputs/bad.parquet", b"PAR1 this is not it")
    project.config(sources=[{"name": "notes", "path": "inputs/*"} | source], max_quarantine_share=0.5)
    return project


@pytest.mark.parametrize("workers", [1, 2])
def test_an_unreadable_file_stops_the_run_and_is_named(tmp_path: Path, workers: int) -> None:
    with pytest.raises(UnreadableFileError, match=r"^bad\.parquet: .+ \(not_parquet\)$") as caught:
        broken(tmp_path).run(workers=workers)
    assert (caught.value.file, caught.value.reason) == ("bad.parquet", "not_parquet")


def test_an_unreadable_file_is_listed_where_its_source_allows_it(tmp_path: Path) -> None:
    project = broken(tmp_path, on_unreadable="quarantine")
    outcome = project.run()
    (row,) = quarantine(tmp_path / "run")
    assert row.items() >= {"source": "notes", "file": "bad.parquet", "reason": "not_parquet"}.items()
    counts = manifests(tmp_path / "run")["ingest"]["counts"]
    assert (counts["kept"], counts["quarantined"]) == (40, {"not_parquet": 1})
    assert project.run().provenance == outcome.provenance


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_leave_to_read_is_named(tmp_path: Path) -> None:
    project = small(tmp_path)
    (tmp_path / "inputs" / "notes.jsonl").chmod(0)
    with pytest.raises((UnreadableFileError, PermissionError), match=r"notes\.jsonl"):
        project.run()


def test_records_that_are_unusable_are_listed_with_file_line_and_reason(tmp_path: Path) -> None:
    project = Project(tmp_path)
    lines = [*texts(0, 30)]
    project.write("inputs/notes.jsonl", jsonl(lines) + '{"text": 5}\n{oops\n')
    project.config(max_quarantine_share=0.5)
    project.run()
    found = {(r["file"], r["record"], r["reason"]) for r in quarantine(tmp_path / "run")}
    assert found == {
        ("notes.jsonl", "notes.jsonl:31", "text_not_string"),
        ("notes.jsonl", "notes.jsonl:32", "bad_json"),
    }


def test_too_many_unusable_records_stop_the_run_after_ingest_with_the_query_that_shows_them(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("inputs/notes.jsonl", jsonl(texts(0, 18)) + "{oops\n{oops\n")
    project.config()
    for _ in range(2):  # also when everything is there already
        with pytest.raises(QuarantineLimitError) as caught:
            project.run()
    message = str(caught.value)
    assert message.startswith("source 'notes': 2 of 20 records (10.0%) are unusable")
    assert "max_quarantine_share 5.0%" in message
    assert f'curate sql {tmp_path / "run"} "select file, record, reason, detail from quarantine' in message
    assert (tmp_path / "run" / "ingest" / "manifest.json").exists()
    assert not (tmp_path / "run" / "words").exists()


def test_a_share_equal_to_the_limit_is_allowed_and_each_source_has_its_own(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("inputs/notes.jsonl", jsonl(texts(0, 19)) + "{oops\n")
    project.config()
    project.run(until="ingest")
    project.write("inputs/other.jsonl", jsonl(texts(50, 2)) + "{oops\n")
    sources = [{"name": n, "path": f"inputs/{n}.jsonl"} for n in ("notes", "other")]
    project.config(sources=sources)
    with pytest.raises(QuarantineLimitError, match="source 'other': 1 of 3 records"):
        project.run()
