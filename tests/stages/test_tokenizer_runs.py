"""The tokenizer as the last step of a run: which change costs what, and that workers and order change nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from toys import Project, files, texts

from tokenizer.model import Tokenizer
from tokenizer.patterns import pattern

STAGES = [{"ingest": {"shard_rows": 6}}, {"license": {"allow": ["CC0-1.0", "MIT"]}}]
SOURCES = [
    {"name": "notes", "path": "inputs/notes/*.jsonl", "license": "CC0-1.0"},
    {"name": "more", "path": "inputs/more.jsonl", "license": "MIT"},
]
TOKENIZER = {"vocab_size": 300, "special_tokens": ["<|end|>"]}
FINISHED = {"tokenizer/finished"}


def made(folder: Path) -> Project:
    project = Project(folder)
    project.write("inputs/notes/a.jsonl", texts(0, 15))
    project.write("inputs/notes/b.jsonl", texts(40, 9))
    project.write("inputs/more.jsonl", [f"the ferry leaves the harbour at {n}" for n in range(14)])
    project.config(STAGES, SOURCES, tokenizer=TOKENIZER)
    return project


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = made(tmp_path_factory.mktemp("finished"))
    project.run()
    assert len(project.shards()) > 6
    return project


@pytest.fixture
def project(finished: Project, tmp_path: Path) -> Project:
    """A copy of the finished run, to change."""
    shutil.copytree(finished.folder, tmp_path / "copy")
    return Project(tmp_path / "copy")


def vocabulary(folder: Path) -> str:
    return Tokenizer.load(folder / "tokenizer").vocabulary_hash


@pytest.mark.parametrize(
    "change",
    [
        "tokenizer.vocab_size=280", "tokenizer.tie_rule=cs336", "tokenizer.min_frequency=30",
        "tokenizer.max_token_bytes=3", "tokenizer.temperature=4", "sources.more.weight=9", "sources.more.weight=0",
    ],
)  # fmt: skip
def test_a_size_a_rule_or_a_weight_costs_only_the_merge_loop(project: Project, change: str) -> None:
    before = vocabulary(project.folder / "run")
    assert set(project.run(overrides=[change]).computed) == FINISHED
    assert vocabulary(project.folder / "run") != before


def test_what_a_change_gives_is_what_a_fresh_run_gives(project: Project) -> None:
    changes = [
        "tokenizer.vocab_sizes=[270]",
        "tokenizer.pad_to_multiple=64",
        "tokenizer.name=x",
        "sources.more.weight=9",
    ]
    assert set(project.run(overrides=changes).computed) == FINISHED
    fresh = made(project.folder / "fresh")
    fresh.run(overrides=changes)
    assert files(fresh.folder / "run" / "tokenizer") == files(project.folder / "run" / "tokenizer")


def test_a_withdrawn_source_costs_only_the_merge_loop_and_leaves_no_trace(project: Project) -> None:
    project.config(STAGES, SOURCES[:1], tokenizer=TOKENIZER)
    assert set(project.run().computed) == FINISHED
    rows = pq.read_table(project.folder / "run" / "tokenizer" / "tokens.parquet").to_pylist()
    assert {source for row in rows for source, _ in row["sources"]} == {"notes"}
    assert b"ferry" not in {row["bytes"] for row in rows}


@pytest.mark.parametrize(
    "change",
    [
        "tokenizer.pattern=gpt2",
        "tokenizer.normalization=NFC",
        "tokenizer.special_tokens=['<|x|>']",
        "tokenizer.holdout=0.5",
    ],
)
def test_what_decides_what_a_piece_is_counts_every_shard_again_and_nothing_before_it(
    project: Project, change: str
) -> None:
    assert set(project.run(overrides=[change]).computed) == FINISHED | project.tasks("tokenizer/counts")


def test_counts_are_sorted_by_the_bytes_of_pieces_and_name_their_pattern(finished: Project) -> None:
    folder = finished.folder / "run" / "tokenizer" / "counts"
    for path in folder.glob("*.parquet"):
        table = pq.read_table(path)
        assert table.column_names == ["piece", "source", "license", "count", "documents"]
        pieces = table["piece"].to_pylist()
        assert pieces == sorted(pieces) and len(pieces) > 5
        assert json.loads(path.with_suffix(".json").read_text())["summary"]["pattern"] == pattern("o200k").hash


def test_one_worker_and_four_give_the_same_tokenizer(finished: Project, tmp_path: Path) -> None:
    other = made(tmp_path)
    other.run(workers=4)
    assert files(tmp_path / "run") == files(finished.folder / "run")
