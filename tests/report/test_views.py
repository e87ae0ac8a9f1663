"""The views of a run: a public contract of names, columns and types, rebuilt when the folder moves or changes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from toys import WHOLE, documents, small, whole

from report.views import NAME, NoRunError, as_json, connect

TEXT, INT, FLOAT, FLAG = "VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN"
PLACEHOLDERS = 'STRUCT("start" BIGINT, "end" BIGINT, token VARCHAR)[]'
VIEWS: dict[str, dict[str, str]] = {
    "stages": {
        "position": INT, "stage": TEXT, "kind": TEXT, "documents_in": INT, "kept": INT, "dropped": INT,
        "quarantined": INT, "bytes_in": INT, "bytes_kept": INT, "seconds": FLOAT, "key": TEXT,
    },
    "sources": {
        "source": TEXT, "version": TEXT, "license": TEXT, "attribution": TEXT, "redistribution": FLAG,
        "weight": FLOAT, "files": INT, "records": INT, "documents": INT, "bytes": INT,
    },
    "documents": {
        "doc_id": TEXT, "source": TEXT, "license": TEXT, "url": TEXT, "title": TEXT, "text": TEXT, "metadata": "JSON",
        "record": TEXT, "shard": TEXT, "row": INT,
    },
    "verdicts": {
        "doc_id": TEXT, "stage": TEXT, "keep": FLAG, "rule": TEXT, "value": FLOAT, "threshold": FLOAT,
        "failed": "VARCHAR[]",
    },
    "clusters": {"doc_id": TEXT, "kept_id": TEXT, "stage": TEXT, "jaccard": FLOAT, "containment": FLOAT},
    "edits": {
        "doc_id": TEXT, "stage": TEXT, "field": TEXT, "kind": TEXT, "rule": TEXT, "score": FLOAT, "start": INT,
        "end": INT, "replacement": TEXT,
    },
    "quarantine": {"source": TEXT, "file": TEXT, "record": TEXT, "reason": TEXT, "detail": TEXT},
    "curated": {
        "doc_id": TEXT, "source": TEXT, "license": TEXT, "lang": TEXT, "text": TEXT, "url": TEXT, "metadata": None,
        "placeholders": PLACEHOLDERS,
    },
    "pieces": {"piece": "BLOB", "source": TEXT, "license": TEXT, "count": INT, "documents": INT},
    "measures_words": {"doc_id": TEXT, "measured": FLAG, "words": INT},
    "measures_language": {"doc_id": TEXT, "measured": FLAG, "lang": TEXT, "score": FLOAT},
}  # type: ignore[dict-item]  # fmt: skip
VIEWS["documents_redact"] = VIEWS["documents"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = whole(tmp_path_factory.mktemp("views"))
    project.run()
    return project.folder / "run"


def rows(root: Path, query: str) -> list[tuple[Any, ...]]:
    with connect(root) as db:
        return db.execute(query).fetchall()


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_a_view_has_its_columns_with_their_types(root: Path, view: str) -> None:
    found = {name: kind for name, kind, *_ in rows(root, f"DESCRIBE {view}")}
    for column, kind in VIEWS[view].items():
        assert column in found
        assert kind is None or found[column] == kind, column


def test_stages_and_sources_say_what_the_run_did(root: Path) -> None:
    stages = rows(root, "SELECT position, stage, kind FROM stages ORDER BY position")
    assert [s[1] for s in stages] == [
        "ingest",
        "license",
        "language",
        "words",
        "vowels",
        "typical",
        "exact_dedup",
        "redact",
        "curated",
    ]
    assert [s[2] for s in stages] == ["source", *["judge"] * 6, "editor", "closing"]
    assert rows(root, "SELECT count(*) FROM stages WHERE documents_in <> kept + dropped + quarantined") == [(0,)]
    assert rows(root, "SELECT source, files, records, documents FROM sources ORDER BY source") == [
        ("more", 3, 27, 26), ("notes", 1, 32, 32), ("pages", 2, 2, 2)
    ]  # fmt: skip


def test_documents_stand_where_their_shard_and_row_say(root: Path) -> None:
    listed = documents(root)
    found = rows(root, "SELECT doc_id, text, record FROM documents ORDER BY shard, row")
    assert found == [(d["doc_id"], d["text"], d["record"]) for d in listed]
    assert rows(root, "SELECT count(*), count(DISTINCT doc_id) FROM documents") == [(60, 60)]
    assert rows(root, "SELECT count(*) FROM documents_redact") == rows(
        root, "SELECT kept FROM stages WHERE stage = 'redact'"
    )


def test_every_judge_has_one_verdict_for_each_document_and_null_where_it_did_not_measure(root: Path) -> None:
    for stage in ("license", "language", "words", "vowels", "typical", "exact_dedup", "redact"):
        total, decided, drops = rows(
            root, f"SELECT count(*), count(keep), count(*) FILTER (NOT keep) FROM verdicts WHERE stage = '{stage}'"
        )[0]
        documents_in, dropped = rows(root, f"SELECT documents_in, dropped FROM stages WHERE stage = '{stage}'")[0]
        assert total == 60
        if stage in ("license", "language", "words"):
            assert decided == 60 and drops >= dropped
        else:
            assert (decided, drops) == (documents_in, dropped)
    assert rows(root, "SELECT count(*) FROM measures_vowels WHERE measured <> (vowels IS NOT NULL)") == [(0,)]


def test_a_drop_names_rule_value_and_threshold_that_fit_its_measure(root: Path) -> None:
    query = """
        SELECT v.value, v.threshold, m.words, v.rule, v.failed FROM verdicts v JOIN measures_words m USING (doc_id)
        WHERE stage = 'words' AND NOT keep
    """
    found = rows(root, query)
    assert found
    for value, threshold, words, rule, failed in found:
        assert (value, threshold, rule, failed) == (words, 7.0, "too_few", ["too_few"])
        assert words < 7


def test_a_duplicate_names_the_document_that_was_kept(root: Path) -> None:
    query = """
        SELECT c.stage, a.text = b.text, v.keep, w.keep, c.jaccard FROM clusters c
        JOIN documents a ON a.doc_id = c.doc_id JOIN documents b ON b.doc_id = c.kept_id
        JOIN verdicts v ON v.doc_id = c.doc_id AND v.stage = c.stage
        JOIN verdicts w ON w.doc_id = c.kept_id AND w.stage = c.stage
    """
    assert set(rows(root, query)) == {("exact_dedup", True, False, True, 1.0)}


def test_edits_point_at_the_text_before_them(root: Path) -> None:
    query = """
        SELECT substring(d.text, e.start + 1, e."end" - e.start), e.replacement, e.stage
        FROM edits e JOIN documents d USING (doc_id)
    """
    assert set(rows(root, query)) == {("secret", "[x]", "redact")}
    assert rows(root, "SELECT count(*) FROM curated WHERE contains(text, 'secret')") == [(0,)]


def test_curated_holds_what_was_kept_and_its_language(root: Path) -> None:
    assert rows(root, "SELECT DISTINCT lang FROM curated") == [("en",)]
    assert rows(root, "SELECT count(*) FROM curated") == rows(root, "SELECT kept FROM stages WHERE stage = 'curated'")


def test_metadata_is_json_that_sql_can_read(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.write("inputs/notes.jsonl", json.dumps({"text": "A note of seven words is here.", "year": 1999}) + "\n")
    project.run()
    assert rows(tmp_path / "run", "SELECT metadata->>'year' FROM documents") == [("1999",)]


def test_the_database_is_built_once_and_again_when_a_stage_changed(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run()
    rows(tmp_path / "run", "SELECT 1")
    first = (tmp_path / "run" / NAME).stat().st_ino
    rows(tmp_path / "run", "SELECT 1")
    assert (tmp_path / "run" / NAME).stat().st_ino == first
    project.run(overrides=["words.min_words=8"])
    kept = rows(tmp_path / "run", "SELECT count(*) FROM verdicts WHERE stage = 'words' AND keep")
    assert kept == rows(tmp_path / "run", "SELECT kept FROM stages WHERE stage = 'words'")
    assert (tmp_path / "run" / NAME).stat().st_ino != first


def test_a_moved_run_folder_is_read_where_it_lies_now(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run()
    before = rows(tmp_path / "run", "SELECT doc_id FROM documents ORDER BY ALL")
    shutil.move(tmp_path / "run", tmp_path / "moved")
    assert rows(tmp_path / "moved", "SELECT doc_id FROM documents ORDER BY ALL") == before


def test_a_run_reads_the_same_from_any_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = small(tmp_path)
    project.run()
    monkeypatch.chdir(tmp_path)
    assert rows(Path("run"), "SELECT count(*) FROM documents") == [(40,)]
    os.chdir("/")
    with duckdb.connect(str(tmp_path / "run" / NAME), read_only=True) as db:
        assert db.execute("SELECT count(*) FROM documents").fetchall() == [(40,)]


def test_a_folder_with_a_quote_in_its_name_can_be_read(tmp_path: Path) -> None:
    project = small(tmp_path / 'it\'s a "folder"')
    project.run()
    assert rows(project.folder / "run", "SELECT count(*) FROM documents") == [(40,)]


def test_the_database_cannot_be_written_through_a_query(root: Path) -> None:
    with pytest.raises(duckdb.Error, match="read-only"):
        rows(root, "CREATE TABLE t (a INT)")


def test_a_damaged_database_is_made_again(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run()
    (tmp_path / "run" / NAME).write_bytes(b"no database at all")
    assert rows(tmp_path / "run", "SELECT count(*) FROM documents") == [(40,)]


def test_a_run_that_stopped_after_ingest_has_its_views_too(tmp_path: Path) -> None:
    project = small(tmp_path, WHOLE)
    project.run(until="ingest")
    assert rows(tmp_path / "run", "SELECT count(*) FROM documents") == [(40,)]
    for view in ("verdicts", "edits", "clusters", "quarantine", "pieces"):
        assert rows(tmp_path / "run", f"SELECT count(*) FROM {view}") == [(0,)]


def test_a_judge_with_a_name_of_its_own_has_measures_under_that_name(tmp_path: Path) -> None:
    project = small(tmp_path, [{"ingest": {}}, {"toy_stages:Words": {"as": "my-words"}}])
    project.run()
    assert rows(tmp_path / "run", 'SELECT count(*) FROM "measures_my-words"') == [(40,)]


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoRunError, match=r"holds no run .* start one with: curate run CONFIG"):
        connect(tmp_path)


def test_values_that_json_does_not_know_are_written_as_text() -> None:
    assert json.loads(as_json({"a": b"\xff", "b": "é"})) == {"a": "ff", "b": "é"}


def test_a_folder_that_takes_no_file_still_answers_from_views_in_memory(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is too long stands for a disk that is full or read-only: root may write anywhere."""
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    (copy / NAME).unlink(missing_ok=True)
    monkeypatch.setattr("report.views.NAME", "x" * 250 + ".duckdb")
    with connect(copy) as db:
        found = db.execute("SELECT stage, kept FROM stages ORDER BY position").fetchall()
    assert found == rows(root, "SELECT stage, kept FROM stages ORDER BY position")
    assert not [f for f in copy.iterdir() if f.name.endswith(".duckdb")]
