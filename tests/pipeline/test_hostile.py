"""What a hostile or unlucky world does to a run: each costs a message, never a wrong result."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from toys import small

import curate
from pipeline import yaml_lines
from pipeline.config import ConfigError, load
from pipeline.engines import LocalEngine
from pipeline.execution import Execution, Policy
from pipeline.manifest import unfinished, verify
from pipeline.observe import Observer
from pipeline.sources import UnreadableFileError
from pipeline.tasks import Result, Task
from report.funnel import funnel
from stages.registry import registry


def nothing(root: Path) -> Result:
    return Result([])


def test_two_tasks_of_one_name_are_refused_before_one_overwrites_the_other(tmp_path: Path) -> None:
    execution = Execution(tmp_path, LocalEngine(1), Policy(), Observer())
    tasks = [Task("stage/a", {"n": n}, nothing, {}) for n in range(2)]
    with pytest.raises(ValueError, match="two tasks have one name"):
        execution.phase("stage", "step", tasks)


def test_a_file_that_changes_between_hashing_and_reading_stops_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = small(tmp_path)
    real = LocalEngine.run

    def late(self: LocalEngine, tasks, root):  # type: ignore[no-untyped-def]
        if tasks[0].name.startswith("ingest/read/"):
            project.write("inputs/notes.jsonl", ["other words " * 20])
        return real(self, tasks, root)

    monkeypatch.setattr(LocalEngine, "run", late)
    with pytest.raises(UnreadableFileError, match=r"notes\.jsonl: the file changed while it was read; run again"):
        project.run()


def test_a_file_name_that_is_no_utf_8_is_spelled_out(tmp_path: Path) -> None:
    project = small(tmp_path)
    record = json.dumps({"text": "a text of its own", "license": "CC0-1.0"}).encode()
    folder = tmp_path / "odd"
    folder.mkdir()
    try:
        (folder / os.fsdecode(b"bad\xff.jsonl")).write_bytes(record + b"\n")
    except OSError as error:
        pytest.skip(f"this file system takes no such name: {error}")
    project.config(sources=[{"name": "odd", "path": "odd/*.jsonl", "license": "CC0-1.0"}])
    run = curate.open(project.run().root)
    assert run.sql("select record from documents").fetchall() == [("bad\\xff.jsonl:1",)]


def test_aliases_that_would_fill_memory_are_refused_at_once() -> None:
    text = "a0: &a0 [x,x,x,x,x,x,x,x]\n"
    text += "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    with pytest.raises(yaml_lines.YamlError, match="more than 100,000 values"):
        yaml_lines.load(text)


@pytest.mark.parametrize("second", ["Language", "tokenizer", "Curated"])
def test_stage_names_that_differ_in_letter_case_only_or_name_a_closing_step_are_refused(
    tmp_path: Path, second: str
) -> None:
    (tmp_path / "x.txt").touch()
    config = tmp_path / "config.yaml"
    stages = f"[ingest: {{}}, language: {{}}, language: {{as: {second}}}]"
    config.write_text(f"name: n\nsources: [{{name: a, path: x.txt}}]\nstages: {stages}\n")
    with pytest.raises(ConfigError, match=r"stands twice|closing step"):
        load(config, registry())


def test_sources_that_differ_in_letter_case_only_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.txt").touch()
    config = tmp_path / "config.yaml"
    config.write_text("name: n\nsources: [{name: web, path: x.txt}, {name: Web, path: x.txt}]\nstages: [ingest: {}]\n")
    with pytest.raises(ConfigError, match="two sources are called 'Web'"):
        load(config, registry())


@pytest.mark.parametrize("path", ["nowhere-at-all://bucket/x.jsonl"])
def test_a_protocol_that_is_not_there_is_named_with_its_line(tmp_path: Path, path: str) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"name: n\nsources:\n  - {{name: a, path: '{path}'}}\nstages: [ingest: {{}}]\n")
    with pytest.raises(ConfigError, match="cannot be opened") as caught:
        load(config, registry())
    assert caught.value.line == 3


def test_an_unfinished_run_is_held_to_the_manifests_it_has(tmp_path: Path) -> None:
    project = small(tmp_path)
    root = project.run(until="vowels").root
    (root / "provenance.json").unlink()
    assert unfinished(root)
    assert verify(root) == []
    next((root / "vowels" / "verdicts").glob("*.parquet")).write_bytes(b"x")
    assert "vowels/verdicts/" in verify(root)[0]


def test_a_corpus_that_keeps_nothing_and_a_lost_manifest_are_warnings_of_the_report(tmp_path: Path) -> None:
    project = small(tmp_path)
    root = project.run(overrides=["words.min_words=100000"]).root
    assert any("nothing is left after words (" in said for said in funnel(root)["warnings"])
    (root / "curated" / "manifest.json").write_text("{}")
    assert any(said.startswith("curated: its manifest is missing or damaged") for said in funnel(root)["warnings"])
    (root / "provenance.json").write_text("{")
    assert funnel(root)["provenance"] is None
