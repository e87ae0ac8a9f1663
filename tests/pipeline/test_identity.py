"""doc_ids come from content, never from positions; shards are cut where the content says."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import Project, documents, files, jsonl, manifests, small, text, texts

from pipeline.hashing import document_id, identity
from pipeline.reading import Cut


def ids(project: Project, run_dir: str = "run") -> list[str]:
    project.run(run_dir, until="ingest")
    return [row["doc_id"] for row in documents(project.folder / run_dir)]


def test_identical_records_of_one_file_get_distinct_ids(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("inputs/notes.jsonl", ["same", "other", "same", "same"])
    project.config()
    assert len(set(ids(project))) == 4


def test_identical_records_across_files_get_distinct_ids_whatever_the_order_on_disk(tmp_path: Path) -> None:
    found = []
    for folder, order in (("one", "abc"), ("two", "cab")):
        project = Project(tmp_path / folder)
        for letter in order:
            project.write(f"inputs/{letter}.jsonl", ["same", f"only in {letter}", "same"])
        project.config(sources=[{"name": "notes", "path": "inputs/*.jsonl"}])
        found.append(ids(project))
        assert len(set(found[-1])) == 9
    assert found[0] == found[1]
    assert files(tmp_path / "one" / "run") == files(tmp_path / "two" / "run")


def test_the_first_file_in_the_order_of_paths_keeps_the_id_that_a_record_has_alone(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for letter in "cab":
        project.write(f"inputs/{letter}.jsonl", ["same"])
    project.config(sources=[{"name": "notes", "path": "inputs/*.jsonl"}])
    project.run(until="ingest")
    found = {row["record"].split(".")[0]: row["doc_id"] for row in documents(tmp_path / "run")}
    project.config(sources=[{"name": "notes", "path": "inputs/c.jsonl"}])
    (alone,) = ids(project, "alone")
    assert found["a"] == alone
    assert len(set(found.values())) == 3


def test_the_order_in_which_files_are_listed_does_not_matter(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.write("inputs/more.jsonl", texts(30, 20))
    listed = ["inputs/notes.jsonl", "inputs/more.jsonl"]
    for run_dir, paths in (("one", listed), ("two", listed[::-1])):
        project.config(sources=[{"name": "notes", "path": paths, "license": "CC0-1.0"}])
        project.run(run_dir)
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_the_same_record_in_two_sources_is_two_documents(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.config(sources=[{"name": n, "path": "inputs/notes.jsonl"} for n in ("a", "b")])
    found = ids(project)
    assert len(set(found)) == len(found) == 80


def test_a_records_own_id_is_part_of_its_identity(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("inputs/notes.jsonl", jsonl([{"id": "1", "text": "same"}, {"id": "2", "text": "same"}]))
    project.config(sources=[{"name": "notes", "path": "inputs/notes.jsonl", "id_field": "id"}])
    first = ids(project)
    project.write("inputs/notes.jsonl", jsonl([{"id": "2", "text": "same"}, {"id": "1", "text": "same"}]))
    assert sorted(ids(project)) == sorted(first) and len(set(first)) == 2


@pytest.mark.parametrize("place", [0, 1, 17, 39, 40])
def test_inserting_a_record_changes_no_other_id(tmp_path: Path, place: int) -> None:
    project = small(tmp_path)
    before = set(ids(project))
    listed = texts(0, 40)
    project.write("inputs/notes.jsonl", [*listed[:place], text(999), *listed[place:]])
    after = set(ids(project))
    assert before < after and len(after) == 41


def test_inserting_a_copy_of_a_record_changes_no_id_as_a_set(tmp_path: Path) -> None:
    project = small(tmp_path)
    before = set(ids(project))
    project.write("inputs/notes.jsonl", [text(20), *texts(0, 40)])
    assert before < set(ids(project))


def cuts(found: Sequence[str], cut: Cut) -> list[int]:
    """Numbers of the records that shards end with."""
    ends, rows = [], 0
    for i, doc_id in enumerate(found):
        rows += 1
        if cut.after(doc_id, rows, rows):
            ends.append(i)
            rows = 0
    return ends


def doc_id(n: int) -> str:
    return document_id(identity("s", None, str(n).encode()), 0)


RECORDS = [doc_id(n) for n in range(3000)]


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(1, 400), start=st.integers(0, 2000), count=st.integers(0, 900))
def test_no_shard_is_larger_or_smaller_than_it_may_be(rows: int, start: int, count: int) -> None:
    cut = Cut(rows, 10**9)
    ends = cuts(RECORDS[start : start + count], cut)
    sizes = [b - a for a, b in zip([-1, *ends], ends, strict=False)]
    assert all(max(1, cut.least) <= size <= rows for size in sizes)


@settings(max_examples=60, deadline=None)
@given(rows=st.sampled_from([64, 128, 256]), place=st.integers(0, 1500), new=st.integers(10_000, 99_999))
def test_an_inserted_record_moves_no_cut_before_it_and_the_cuts_behind_it_soon_agree_again(
    rows: int, place: int, new: int
) -> None:
    cut, found = Cut(rows, 10**9), RECORDS[:1500]
    before = [found[i] for i in cuts(found, cut)]
    changed = [*found[:place], doc_id(new), *found[place:]]
    after = [changed[i] for i in cuts(changed, cut)]
    order = {d: i for i, d in enumerate(changed)}
    assert [d for d in before if order[d] < place] == [d for d in after if order[d] < place]
    apart = {d for d in set(before) ^ set(after) if d != doc_id(new)}
    assert all(place <= order[d] <= place + 8 * rows for d in apart)


def test_nearly_every_insertion_moves_no_cut_at_all() -> None:
    cut, found = Cut(128, 10**9), RECORDS[:1500]
    before = {found[i] for i in cuts(found, cut)}
    rng, moved = random.Random(7), Counter[int]()
    for n in range(150):
        place = rng.randrange(1500)
        changed = [*found[:place], doc_id(50_000 + n), *found[place:]]
        after = {changed[i] for i in cuts(changed, cut)}
        moved[len((before ^ after) - {doc_id(50_000 + n)})] += 1
    assert moved[0] >= 130


def insert(project: Project, place: int, new: str) -> None:
    listed = texts(0, 40)
    project.write("inputs/notes.jsonl", [*listed[:place], new, *listed[place:]])


EVERY = (
    "ingest/documents",
    "words/measures",
    "words/verdicts",
    "vowels/measures",
    "vowels/verdicts",
    "redact/documents",
)


def behind(project: Project, place: int) -> list[str]:
    """Shards whose documents stand behind that line: their line numbers change, and nothing else."""
    lines = {s: int(rows_of(project, s)[0]["record"].split(":")[1]) for s in project.shards() if rows_of(project, s)}
    return [s for s, line in lines.items() if s.startswith("part-notes-notes") and line > place + 1]


def test_a_record_inserted_in_the_middle_changes_one_shard_and_line_numbers_behind_it(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run()
    before = project.shards()
    touched = next(s for s in before if len(rows_of(project, s)) > 9)
    place = int(rows_of(project, touched)[7]["record"].split(":")[1])
    insert(project, place, next(t for t in map(text, range(1000, 2000)) if not Cut(64, 10**9).after(id_of(t), 4, 4)))
    outcome = project.run()
    assert project.shards() == before
    read = {n for n in outcome.computed if n.startswith("ingest/read/")}
    assert len(read) == 1
    moved = project.tasks("ingest/documents", shards=behind(project, place))
    assert set(outcome.computed) - read == project.tasks(*EVERY, "curated", shards=[touched]) | moved
    fresh = project.run("fresh")
    assert set(outcome.computed) < set(fresh.computed)
    assert documents(tmp_path / "run") == documents(tmp_path / "fresh")
    assert outcome.provenance == fresh.provenance


def test_an_inserted_record_that_is_itself_a_cut_changes_two_shards(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run()
    before = project.shards()
    shard = next(s for s in before if len(rows_of(project, s)) > 9)
    place = int(rows_of(project, shard)[5]["record"].split(":")[1])
    cut = Cut(64, 10**9)
    new = next(t for t in map(text, range(1000, 2000)) if cut.after(id_of(t), 4, 4))
    insert(project, place, new)
    outcome = project.run()
    added = set(project.shards()) - set(before)
    assert len(added) == 1 and set(before) <= set(project.shards())
    read = {n for n in outcome.computed if n.startswith("ingest/read/")}
    moved = project.tasks("ingest/documents", shards=behind(project, place))
    assert set(outcome.computed) - read == project.tasks(*EVERY, "curated", shards=[shard, *added]) | moved


def rows_of(project: Project, shard: str) -> list[dict[str, str]]:
    from pipeline.storage import read_table

    path = project.folder / "run" / "ingest" / "documents" / f"{shard}.parquet"
    return read_table(path, ["doc_id", "record"]).to_pylist()


def id_of(record: str) -> str:
    """doc_id of a record of the source `notes`, read on its own."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder))
        project.write("inputs/notes.jsonl", [record])
        project.config()
        return ids(project)[0]


def test_a_removed_file_takes_its_shards_along(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.write("inputs/more.jsonl", texts(100, 10))
    project.config(sources=[{"name": "notes", "path": "inputs/*.jsonl"}])
    project.run()
    (tmp_path / "inputs" / "more.jsonl").unlink()
    project.run()
    assert not any("more" in p.name for p in (tmp_path / "run").rglob("*"))
    project.run("fresh")
    assert manifests(tmp_path / "run") == manifests(tmp_path / "fresh")
    assert files(tmp_path / "run") == files(tmp_path / "fresh")
