"""Editors that must see the corpus first, and states of which each shard is given its own rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from toy_editors import STATES
from toys import PLAIN, Project, Watching, documents, files, manifests, small, texts, whole

from pipeline.engines import TaskError
from pipeline.manifest import read_manifest
from pipeline.slices import by_shard
from pipeline.storage import publish_table, read_rows, read_table

COMMON = "toy_editors:Common"
STAGES = [PLAIN[0], COMMON]


def several(folder: Path) -> Project:
    """One source in three files, so that a change reaches one shard."""
    project = Project(folder)
    for k in range(3):
        project.write(f"inputs/{k}.jsonl", texts(20 * k, 20))
    project.config(STAGES, [{"name": "notes", "path": "inputs/*.jsonl", "license": "CC0-1.0"}])
    return project


def test_an_editor_learns_from_all_shards_before_it_edits_one(tmp_path: Path) -> None:
    project = several(tmp_path)
    outcome = project.run()
    steps = project.tasks("common/surveys", "common/documents", "curated") | {"common/state"}
    assert {n for n in outcome.computed if not n.startswith("ingest/")} == steps
    manifest = read_manifest(tmp_path / "run", "common")
    assert manifest is not None and manifest["fitted"]["lost"] > 20
    before, after = (sum(len(r["text"]) for r in documents(tmp_path / "run", s)) for s in ("ingest", "common"))
    edits = [row for p in (tmp_path / "run/common/edits").glob("*.parquet") for row in read_table(p).to_pylist()]
    assert before - after == sum(e["end"] - e["start"] for e in edits) > 0
    assert len(edits) == manifest["fitted"]["lost"]


def test_each_shard_is_given_its_own_rows_of_the_state(tmp_path: Path) -> None:
    project = several(tmp_path)
    STATES.clear()
    project.run()
    shards = {
        s: read_table(tmp_path / f"run/ingest/documents/{s}.parquet")["doc_id"].to_pylist() for s in project.shards()
    }
    assert len(shards) == len(STATES) >= 3
    for ids in shards.values():
        given = STATES[ids[0]]
        assert given and set(given) <= set(ids)
        assert given == [i for i in ids if i in given]


def test_a_setting_that_only_the_fit_reads_surveys_nothing_again(tmp_path: Path) -> None:
    project = several(tmp_path)
    project.run()
    seen = Watching()
    outcome = project.run(overrides=["common.most=1000"], observer=seen)
    assert not any("surveys" in n for n in outcome.computed)
    assert {"common/state", *project.tasks("common/documents")} <= set(outcome.computed)
    assert seen.reasons["common/state"] == "setting most: 2 → 1000"
    again = project.run(overrides=["common.most=1000", "common.ending='!'"])
    assert project.tasks("common/surveys") <= set(again.computed)


def test_a_new_document_edits_again_only_shards_whose_rows_of_the_state_changed(tmp_path: Path) -> None:
    project = several(tmp_path)
    project.run()
    project.write("inputs/2.jsonl", [*texts(40, 20), "A note that ends with a word that nobody uses: xylophone."])
    outcome = project.run()
    mine = [n for n in outcome.computed if not n.startswith("ingest/")]
    assert {n.rpartition("/")[0] for n in mine} == {"common/surveys", "common", "common/documents", "curated"}
    assert sum("common/documents" in n for n in mine) == sum("common/surveys" in n for n in mine) == 1
    fresh = project.run("fresh")
    assert fresh.provenance == outcome.provenance
    assert files(tmp_path / "fresh") == files(tmp_path / "run")


def test_a_copy_in_another_shard_decides_again_only_the_shard_that_lost_a_document(tmp_path: Path) -> None:
    project = whole(tmp_path)
    project.run()
    page = tmp_path / "inputs/pages/one.txt"
    page.write_text(project.folder.joinpath("inputs/notes.jsonl").read_text().split('"')[3])
    outcome = project.run()
    decided = {n for n in outcome.computed if n.startswith("exact_dedup/verdicts")}
    assert len(decided) == 1 and "pages-one" in decided.pop()
    assert manifests(tmp_path / "run") == (project.run("fresh"), manifests(tmp_path / "fresh"))[1]


def test_workers_and_interruption_change_nothing(tmp_path: Path) -> None:
    project = several(tmp_path)
    project.run()
    project.run("two", workers=2)
    assert files(tmp_path / "two") == files(tmp_path / "run")


def test_a_state_that_speaks_of_no_document_is_an_error(tmp_path: Path) -> None:
    project = small(tmp_path, [PLAIN[0], "toy_editors:Astray"])
    with pytest.raises((TaskError, ValueError), match="the state has 1 rows, and 0 of them speak of a document"):
        project.run()


def test_rows_of_a_table_are_read_without_the_others(tmp_path: Path) -> None:
    table = pa.table({"n": pa.array(range(50_000), pa.int64())})
    publish_table(tmp_path, "t.parquet", table)
    for first, count in [(0, 0), (0, 1), (19_999, 2), (20_000, 20_000), (49_999, 1), (0, 50_000), (50_000, 0)]:
        assert read_rows(tmp_path / "t.parquet", first, count).equals(table.slice(first, count))


def test_slices_follow_the_order_of_documents_and_keep_several_rows_of_one(tmp_path: Path) -> None:
    for name, ids in (("a", ["d3", "d1"]), ("b", []), ("c", ["d2", "d0"])):
        publish_table(tmp_path, f"{name}.parquet", pa.table({"doc_id": pa.array(ids, pa.string())}))
    state = pa.table({"doc_id": ["d0", "d1", "d1", "d3"], "n": [0, 1, 2, 3]})
    table, slices = by_shard(tmp_path, state, ["a.parquet", "b.parquet", "c.parquet"], 1 << 28, tmp_path)
    assert table.to_pydict() == {"doc_id": ["d3", "d1", "d1", "d0"], "n": [3, 1, 2, 0]}
    assert [s[:2] for s in slices] == [(0, 3), (3, 0), (3, 1)]
    assert len({s[2] for s in slices}) == 3
