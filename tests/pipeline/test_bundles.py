"""Many small files are read in bundles: fewer tasks, the same documents, and one more file changes one bundle."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import Project, jsonl, text

from pipeline import ingesting
from pipeline.ingesting import BUNDLE_BYTES, BUNDLE_FILES, FEW_FILES, SMALL_FILE, bundles
from pipeline.inputs import InputFile
from pipeline.sources import UnreadableFileError


def listed(count: int, size: int | None = 1000) -> list[InputFile]:
    return [InputFile(f"/in/{n:06}.txt", f"{n:06}.txt", size) for n in range(count)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([0, 10, 5000, SMALL_FILE - 1, SMALL_FILE, 5 * SMALL_FILE, None]), max_size=2500))
def test_bundles_are_runs_of_neighbours_within_their_bounds(sizes: list[int | None]) -> None:
    files = [InputFile(str(n), f"{n:06}", size) for n, size in enumerate(sizes)]
    found = list(bundles(files))
    assert [file for bundle in found for file in bundle] == files
    for bundle in found:
        if len(bundle) > 1:
            assert len(bundle) <= BUNDLE_FILES[1]
            assert all(f.size is not None and f.size < SMALL_FILE for f in bundle)
            assert sum(f.size or 0 for f in bundle[:-1]) < BUNDLE_BYTES[1]
    if len(files) <= FEW_FILES:
        assert all(len(bundle) == 1 for bundle in found)


@pytest.mark.parametrize("at", [0, 1, 700, 4321, 5000])
def test_one_file_more_changes_one_bundle_and_at_most_one_that_was_cut_there(at: int) -> None:
    before = set(bundles(listed(5000)))
    more = listed(5000)
    more.insert(at, InputFile("/in/new.txt", f"{at:06}.aaa", 1000))
    after = set(bundles(more))
    assert 10 <= len(before) <= 80
    assert len(after - before) <= 3  # the bundle itself, and the next where the new file or its neighbours end one


@pytest.mark.parametrize("size", [3_000, 60_000, 300_000, 700_000])
def test_one_file_more_changes_few_bundles_whatever_the_size_of_files(size: int) -> None:
    """Where bundles ended by their size alone, one file shifted the ends of all that follow."""
    files = listed(3000, size)
    before = set(bundles(files))
    changed = []
    for at in range(0, 3000, 50):
        more = [*files[:at], InputFile("/in/new", f"{at:06}.aaa", size), *files[at:]]
        changed.append(len(set(bundles(more)) - before))
    assert sum(changed) / len(changed) <= 2 and max(changed) <= 6


def pages(folder: Path, count: int = 90) -> Project:
    project = Project(folder)
    for n in range(count):
        project.write(f"inputs/{n:03}.jsonl", jsonl([text(n % 70)]))  # the last twenty repeat the first
    project.config(["ingest"], [{"name": "pages", "path": "inputs/*.jsonl", "license": "CC0-1.0"}])
    return project


def ids(root: Path) -> list[tuple[str, str]]:
    files = str(root / "ingest/documents/*.parquet")
    return duckdb.sql(f"select record, doc_id from read_parquet('{files}') order by all").fetchall()


def test_bundled_files_give_the_documents_and_ids_that_files_alone_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = pages(tmp_path)
    bundled = project.run("bundled")
    monkeypatch.setattr(ingesting, "FEW_FILES", 1000)
    alone = project.run("alone")
    found = ids(tmp_path / "bundled")
    assert found == ids(tmp_path / "alone")
    assert len({doc_id for _, doc_id in found}) == len(found) == 90
    reads = [sum("/read/" in name for name in outcome.computed) for outcome in (bundled, alone)]
    assert reads[0] <= 2 and reads[1] == 90


def test_a_changed_file_of_a_bundle_changes_its_document_and_no_other(tmp_path: Path) -> None:
    project = pages(tmp_path)
    project.run()
    before = dict(ids(tmp_path / "run"))
    project.write("inputs/044.jsonl", jsonl([text(500)]))
    assert project.run().computed
    after = dict(ids(tmp_path / "run"))
    assert before.keys() == after.keys()
    assert [record for record in before if before[record] != after[record]] == ["044.jsonl:1"]


def test_a_bad_file_of_a_bundle_costs_its_own_record_or_stops_the_run_by_name(tmp_path: Path) -> None:
    project = pages(tmp_path)
    project.write("inputs/044.jsonl", "{broken\n")
    project.run()
    files = str(tmp_path / "run/ingest/quarantine/*.parquet")
    assert duckdb.sql(f"select file, record, reason from read_parquet('{files}')").fetchall() == [
        ("044.jsonl", "044.jsonl:1", "bad_json")
    ]
    assert len(ids(tmp_path / "run")) == 89
    project.write("inputs/045.parquet", b"PAR1 and then nothing")
    source = {"name": "pages", "path": "inputs/*", "license": "CC0-1.0"}
    project.config(["ingest"], [source])
    with pytest.raises(UnreadableFileError) as error:
        project.run()
    assert error.value.file == "045.parquet"
    project.config(["ingest"], [source | {"on_unreadable": "quarantine"}])
    project.run()
    assert len(ids(tmp_path / "run")) == 89


def test_a_trial_takes_its_documents_from_the_first_files_of_a_bundle(tmp_path: Path) -> None:
    project = pages(tmp_path)
    project.run(limit=5)
    assert [record for record, _ in ids(tmp_path / "run")] == [f"{n:03}.jsonl:1" for n in range(5)]
