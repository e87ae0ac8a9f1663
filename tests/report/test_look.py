"""Funnels, samples and traces of a run."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from rich.console import Console
from toys import documents, small, whole

from report import look
from report.funnel import funnel, size, stage_summary, table
from report.look import NotFoundError
from report.views import NoRunError, connect


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = whole(tmp_path_factory.mktemp("look"))
    project.run()
    return project.folder / "run"


@pytest.fixture
def db(root: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect(root) as connection:
        yield connection


def same(text: str) -> str:
    return text


def test_a_funnel_is_plain_json_with_every_stage_and_source(root: Path) -> None:
    data = json.loads(json.dumps(funnel(root), allow_nan=False))
    assert data["name"] == "toy" and data["limit"] is None and data["tokenizer"] is None
    assert len(data["provenance"]) == 32
    assert [s["source"] for s in data["sources"]] == ["notes", "more", "pages"]
    assert data["stages"][0]["stage"] == "ingest"
    words = next(s for s in data["stages"] if s["stage"] == "words")
    assert words["dropped"] == {"too_few": words["documents_in"] - words["kept"]}


def test_the_funnel_for_people_shows_counts_and_reasons(root: Path) -> None:
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(table(funnel(root)))
    lines = console.export_text().splitlines()
    assert lines[0].split() == ["stage", "in", "kept", "dropped", "text", "why"]
    assert lines[1].split() == ["ingest", "61", "60", "1", "5.6", "kB", "quarantine:", "bad_json", "1"]
    assert any(line.startswith("words") and "too_few" in line for line in lines)


@pytest.mark.parametrize(
    ("n", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (3_400_000, "3.4 MB"), (2e9, "2.0 GB"), (5e12, "5.0 TB")],
)
def test_sizes_are_written_for_people(n: float, shown: str) -> None:
    assert size(n) == shown


def test_a_trial_says_that_it_is_one(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run(limit=5)
    assert funnel(tmp_path / "run")["limit"] == 5


def test_fitted_values_can_be_looked_up(root: Path) -> None:
    assert stage_summary(root, "typical")["fitted"]["documents"] > 30
    assert stage_summary(root, "absent") == {}


def test_a_sample_shows_dropped_documents_with_their_reason_and_is_repeatable(db: duckdb.DuckDBPyConnection) -> None:
    found = look.sample(db, same, stage="words", rule=None, n=2)
    assert len(found) == 2 and found == look.sample(db, same, stage="words", rule="too_few", n=2)
    for row in found:
        assert row["stage"] == "words" and row["rule"] == "too_few" and row["value"] < row["threshold"] == 7.0
        assert row["record"].split(":")[0].endswith((".jsonl", ".txt")) and row["excerpt"]
    assert found == sorted(found, key=lambda r: (r["doc_id"], r["stage"]))
    assert len(look.sample(db, same, stage=None, rule=None, n=1000)) > 10


def test_a_sample_of_an_unknown_stage_or_rule_names_those_that_there_are(db: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(NotFoundError, match=r"no stage 'wrods' with verdicts in this run; it has: .*words"):
        look.sample(db, same, stage="wrods", rule=None, n=1)
    with pytest.raises(NotFoundError, match=r"no document was dropped under a rule 'few'; rules that did: .*too_few"):
        look.sample(db, same, stage=None, rule="few", n=1)


def test_what_is_shown_of_a_text_went_through_the_mask(db: duckdb.DuckDBPyConnection) -> None:
    hidden = "#" * 10
    assert {r["excerpt"] for r in look.sample(db, lambda text: hidden, stage=None, rule=None, n=5)} == {hidden}
    doc_id = look.sample(db, same, stage=None, rule=None, n=1)[0]["doc_id"]
    assert look.trace(db, lambda text: hidden, doc_id)["excerpt"] == hidden


def test_an_excerpt_is_masked_before_it_is_cut() -> None:
    text = "x" * 295 + " bob@example.com and more"
    assert "bob" not in look.excerpt(text, lambda t: t.replace("bob@example.com", "*"), 300)
    assert look.excerpt("short", same, 300) == "short"
    assert look.excerpt("x" * 301, same, 300) == "x" * 300 + "…"


def test_a_trace_shows_the_whole_way_of_a_kept_document(db: duckdb.DuckDBPyConnection, root: Path) -> None:
    edited = db.execute("SELECT doc_id FROM edits JOIN curated USING (doc_id) ORDER BY 1 LIMIT 1").fetchall()[0][0]
    found = look.trace(db, same, edited)
    assert [v["stage"] for v in found["verdicts"]] == [
        "license", "language", "words", "vowels", "typical", "exact_dedup", "redact"
    ]  # fmt: skip
    assert all(v["keep"] for v in found["verdicts"])
    measures = {v["stage"]: v["measures"] for v in found["verdicts"]}
    assert measures["language"]["lang"] == "en" and measures["words"]["words"] >= 7
    assert found["edits"][0]["replacement"] == "[x]" and found["curated"] is True
    assert found["record"] and found["source"] and found["kept_twin"] == []


def test_a_trace_of_a_duplicate_names_its_kept_twin_and_says_where_it_was_not_measured(
    db: duckdb.DuckDBPyConnection,
) -> None:
    lost = db.execute("SELECT doc_id, kept_id FROM clusters ORDER BY 1 LIMIT 1").fetchall()[0]
    found = look.trace(db, same, lost[0])
    assert found["kept_twin"][0]["kept_id"] == lost[1] and found["curated"] is False
    assert {v["stage"]: v["keep"] for v in found["verdicts"]}["redact"] is None


def test_a_doc_id_may_be_shortened_while_it_is_the_only_one(db: duckdb.DuckDBPyConnection, root: Path) -> None:
    whole_id = documents(root)[0]["doc_id"]
    assert look.trace(db, same, whole_id[:12])["doc_id"] == whole_id
    with pytest.raises(NotFoundError, match=r"more than one document begins with ''; give more digits"):
        look.trace(db, same, "")
    with pytest.raises(NotFoundError, match=r"no document 'zz' in this run"):
        look.trace(db, same, "zz")


def test_a_trace_is_plain_json(db: duckdb.DuckDBPyConnection, root: Path) -> None:
    for row in documents(root)[:5]:
        json.dumps(look.trace(db, same, row["doc_id"]), allow_nan=False)


def test_a_funnel_of_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoRunError):
        funnel(tmp_path)
