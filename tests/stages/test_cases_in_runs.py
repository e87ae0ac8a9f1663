"""Failure cases of comparable tools that only a run shows: what one stage hands to the next, and what is written."""

from __future__ import annotations

import io
import json
import random
from contextlib import redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from ingest_reading import read, write
from toys import Project, curate, documents, jsonl

from curate.cli import main
from pipeline.runner import QuarantineLimitError
from pipeline.sources import UnreadableFileError
from pipeline.storage import read_table
from stages.dedup.minhash import MinHash, MinHashParams
from tests.stages.perplexity_models import artefact, measured

ADDRESS = "zoe@example.org"


def test_signature_and_perplexity_of_a_text_with_a_nul_are_those_of_the_whole_text(tmp_path: Path) -> None:
    """ENC-08."""
    path = write(tmp_path, "a.jsonl", r'{"id":"1","text":"width 3\u0000 to 5 cm"}')
    (text,) = read(path).texts
    assert text == "width 3 to 5 cm"
    column = pa.table({"text": pa.array([text, "width 3 to 5 cm", "width 3"], pa.large_string())})
    ours, whole, before = MinHash.measure(column, MinHashParams(), None)["signature"].to_pylist()
    assert ours == whole != before
    path = write(tmp_path, "b.jsonl", r'{"text":"a b\u0000 b b a"}')
    scored = measured([*read(path).texts, "a b b b a", "a b"], artefact(tmp_path), min_tokens=1)
    assert scored[0]["perplexity"] == scored[1]["perplexity"] != scored[2]["perplexity"]
    assert [row["tokens"] for row in scored] == [5, 5, 2]


def test_an_address_is_in_no_output_and_no_message_but_the_documents_as_they_were_read(tmp_path: Path) -> None:
    """PII-19: `ingest` keeps the documents before any edit; nothing behind it and nothing printed holds the address."""
    project = Project(tmp_path)
    record = {"id": "1", "text": f"mail {ADDRESS}", "url": f"https://example.org/u?m={ADDRESS}", "title": ADDRESS}
    project.write("inputs/notes.jsonl", jsonl([record]) + f'{{"id":"2","text":["{ADDRESS}"]}}\n{{"{ADDRESS}": oops\n')
    project.config([{"ingest": {}}, "pii"], max_quarantine_share=1, tokenizer={"vocab_size": 300})
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        project.run()
    for command in ("report", "report --json", "status", "sample", "sample --stage pii"):
        name, *options = command.split()
        said.write(CliRunner().invoke(main, [name, str(tmp_path / "run"), *options]).output)
    assert ADDRESS not in said.getvalue()
    assert [row["text"] for row in documents(tmp_path / "run", "pii")] == ["mail <|email|>"]
    assert read_table(next((tmp_path / "run" / "curated").glob("*.parquet")))["text"].to_pylist() == ["mail <|email|>"]
    holding = {path.relative_to(tmp_path / "run").parts[:2] for path in (tmp_path / "run").rglob("*.*") if holds(path)}
    assert holding == {("ingest", "documents"), ("ingest", "read")}


def holds(path: Path) -> bool:
    """Does a file hold the address: in the rows of a table, or in its bytes?"""
    if path.suffix == ".parquet":
        return ADDRESS in str(pq.read_table(path).to_pylist())
    return path.is_file() and ADDRESS.encode() in path.read_bytes()


def broken(folder: Path, good: int, **source: Any) -> Project:
    """A whole Parquet file and three that are none."""
    project = Project(folder)
    sink = io.BytesIO()
    pq.write_table(pa.table({"text": [f"document {i} has words of its own" for i in range(good)]}), sink)
    whole = sink.getvalue()
    project.write("inputs/good.parquet", whole)
    project.write("inputs/cut.parquet", whole[: len(whole) * 6 // 10])
    project.write("inputs/empty.parquet", b"")
    project.write("inputs/text.parquet", b'{"text":"a JSON Lines file with the wrong name"}\n')
    project.config(["ingest"], [{"name": "notes", "path": "inputs/*.parquet"} | source])
    return project


def test_files_that_are_no_parquet_stop_a_run_or_are_listed_in_its_manifest(tmp_path: Path) -> None:
    """PAR-04."""
    with pytest.raises(UnreadableFileError, match=r"^cut\.parquet: not a complete Parquet file"):
        broken(tmp_path / "stop", 100).run()
    project = broken(tmp_path / "skip", 100, on_unreadable="quarantine")
    project.run()
    assert len(documents(project.folder / "run")) == 100
    rows = [r for p in (project.folder / "run/ingest/quarantine").glob("*") for r in read_table(p).to_pylist()]
    assert sorted((r["file"], r["reason"]) for r in rows) == [
        (name, "not_parquet") for name in ("cut.parquet", "empty.parquet", "text.parquet")
    ]
    manifest = json.loads((project.folder / "run/ingest/manifest.json").read_text())
    assert manifest["counts"]["quarantined"] == {"not_parquet": 3}
    with pytest.raises(QuarantineLimitError, match="3 of 4 records"):  # the command ends with 3
        broken(tmp_path / "few", 1, on_unreadable="quarantine").run()


def clustered() -> list[str]:
    """Twenty documents: two copies, five near-copies, a chain of seven (each is like its neighbours), six more."""
    words = [f"w{k}" for k in range(1_000)]
    chain = [" ".join(words[2 * i : 2 * i + 24]) for i in range(7)]
    near = [" ".join([*words[200:260], f"end{i}"]) for i in range(5)]
    return [" ".join(words[100:130])] * 2 + near + chain + [" ".join(words[k : k + 30]) for k in range(300, 900, 100)]


@pytest.mark.slow
def test_survivors_are_the_same_for_any_shards_order_workers_and_hash_seed(tmp_path: Path) -> None:
    """DUP-08."""
    texts = clustered()
    shuffled = random.Random(5).sample(texts, len(texts))
    found = []
    for name, listed, parts, workers in (
        ("one", texts, 1, 1),
        ("four", texts, 4, 3),
        ("shuffled", shuffled, 4, 3),
        ("seed0", shuffled, 4, None),
        ("seed1", texts, 1, None),
    ):
        project = Project(tmp_path / name)
        for part in range(parts):
            project.write(f"inputs/{part}.jsonl", listed[part::parts])
        project.config([{"ingest": {}}, "minhash"], [{"name": "notes", "path": "inputs/*.jsonl"}])
        if workers is None:
            arguments = ("run", "config.yaml", "--run-dir", "run", "--workers", "1")
            done = curate(*arguments, cwd=project.folder, PYTHONHASHSEED=name[-1])
            assert done.returncode == 0, done.stderr
        else:
            project.run(workers=workers)
        rows = [r for p in (project.folder / "run/curated").glob("*.parquet") for r in read_table(p).to_pylist()]
        found.append(sorted((row["doc_id"], row["text"]) for row in rows))
    assert all(rows == found[0] for rows in found)
    kept = {text for _, text in found[0]}
    chain = [i for i, text in enumerate(texts[7:14]) if text in kept]
    assert len(found[0]) == len(kept) == 1 + 1 + len(chain) + 6
    assert len(chain) >= 3 and all(b - a > 1 for a, b in pairwise(chain))
