"""The run of configs/small.yaml does to every planted document what the answer key says, and to no other."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from sample.small import SAMPLE

import curate

KEY: dict[str, Any] = json.loads((SAMPLE / "expected.json").read_text(encoding="utf-8"))
KEPT = {name: entry for name, entry in KEY["documents"].items() if entry.get("kept")}
DROPPED = {name: entry for name, entry in KEY["documents"].items() if "stage" in entry}

NAMES = """
    select doc_id, source, coalesce(json_extract_string(metadata, '$.id'), regexp_replace(record, '^.*/', '')) as name
    from documents
"""


@pytest.fixture(scope="module")
def drops(run: curate.Run) -> dict[str, list[tuple[str, str, float | None, str | None]]]:
    """By name: stage, rule, value and kept document of each drop."""
    found: dict[str, list[tuple[str, str, float | None, str | None]]] = {}
    query = f"select name, stage, rule, value, detail from verdicts join ({NAMES}) using (doc_id) where keep = false"
    for name, *rest in run.sql(query).fetchall():
        found.setdefault(name, []).append(tuple(rest))
    order = {s: p for s, p in run.sql("select stage, position from stages").fetchall()}
    return {name: sorted(taken, key=lambda t: order[t[0]]) for name, taken in found.items()}


@pytest.mark.parametrize("name", sorted(DROPPED))
def test_a_planted_defect_is_taken_by_the_stage_and_rule_of_the_key(name: str, drops: dict[str, Any]) -> None:
    entry = DROPPED[name]
    assert name in drops, f"{name} was kept"
    stage, rule, value, _ = drops[name][0]
    assert (stage, rule) == (entry["stage"], entry["rule"])
    if "jaccard" in entry:
        assert value == pytest.approx(entry["jaccard"], abs=1e-12)


@pytest.mark.parametrize("name", sorted(n for n, e in DROPPED.items() if "twin" in e))
def test_a_dropped_copy_names_the_kept_document(name: str, drops: dict[str, Any], run: curate.Run) -> None:
    kept = drops[name][0][3]
    (found,) = run.sql(f"select name from ({NAMES}) where doc_id = ?", [kept]).fetchone()
    assert found == DROPPED[name]["twin"]


@pytest.mark.parametrize("name", sorted(n for n, e in DROPPED.items() if "records" in e))
def test_of_identical_records_exactly_one_is_kept(name: str, run: curate.Run) -> None:
    entry = DROPPED[name]
    query = f"select count(*), count(distinct doc_id) from ({NAMES}) where name = ?"
    assert run.sql(query, [name]).fetchone() == (entry["records"], entry["records"])
    kept = run.sql(f"select count(*) from curated join ({NAMES}) using (doc_id) where name = ?", [name]).fetchone()
    assert kept == (entry["records"] - entry["dropped"],)


@pytest.mark.parametrize("name", sorted(KEPT))
def test_a_planted_document_that_is_to_stay_is_curated(name: str, drops: dict[str, Any], run: curate.Run) -> None:
    assert name not in drops
    query = f"select c.placeholders, c.text from curated c join ({NAMES}) n using (doc_id) where n.name = ?"
    ((placeholders, text),) = run.sql(query, [name]).fetchall()
    entry = KEPT[name]
    if "placeholders" in entry:
        assert Counter(span["token"] for span in placeholders) == Counter(entry["placeholders"])
    for span in placeholders:
        assert text[span["start"] : span["end"]] == span["token"]
    for field in ("encoding", "encoding_by", "nuls", "surrogates"):
        if field in entry:
            query = f"select d.{field} from documents d join ({NAMES}) n using (doc_id) where n.name = ?"
            assert run.sql(query, [name]).fetchone() == (entry[field],)


def test_look_alikes_of_special_tokens_are_broken_and_listed(run: curate.Run) -> None:
    ((name, entry),) = ((n, e) for n, e in KEPT.items() if "look_alikes" in e)
    query = f"select c.text, c.doc_id from curated c join ({NAMES}) n using (doc_id) where n.name = ?"
    ((text, doc_id),) = run.sql(query, [name]).fetchall()
    for token, n in entry["look_alikes"].items():
        assert token not in text
        assert text.count(token[0] + "\u2060" + token[1:]) == n
    listed = run.sql("select count(*) from edits where doc_id = ? and kind = 'literal_special'", [doc_id]).fetchone()
    assert listed == (sum(entry["look_alikes"].values()),)


def test_no_planted_personal_data_is_left_anywhere_in_the_curated_corpus(run: curate.Run) -> None:
    everything = "\n".join(
        str(v) for row in run.sql("select text, url, title, metadata from curated").fetchall() for v in row
    )
    for leaked in ("4111 1111 1111 1111", "110101190001010014", "8.8.8.8", "1200 Maple Street", "@example."):
        assert leaked not in everything


def test_the_quarantine_is_what_the_key_lists(run: curate.Run) -> None:
    found = run.sql("select source, file, record, reason from quarantine order by all").fetchall()
    assert found == sorted((q["source"], q["file"], q["record"], q["reason"]) for q in KEY["quarantine"])


def test_every_natural_document_that_is_dropped_is_listed_by_name(drops: dict[str, Any]) -> None:
    natural = {name: list(taken[0][:2]) for name, taken in drops.items() if name not in KEY["documents"]}
    assert natural == KEY["natural_drops"]


def test_counts_add_up_at_every_stage(run: curate.Run) -> None:
    rows = run.sql("select stage, documents_in, kept, dropped, quarantined from stages order by position").fetchall()
    before = None
    for stage, documents_in, kept, dropped, quarantined in rows:
        assert documents_in == kept + dropped + quarantined, stage
        assert before is None or documents_in == before, stage
        before = kept


def test_every_token_of_the_vocabulary_has_its_sources(run: curate.Run) -> None:
    without = run.sql("select count(*) from tokens where kind = 'merge' and cardinality(sources) = 0").fetchone()
    total = run.sql("select sum(count) from pieces").fetchone()
    assert without is not None and total is not None and total[0] > 0
    assert run.sql("select count(*) from tokens where kind = 'merge' and count <= 0").fetchone() == (0,)
    unlicensed = run.sql("select count(*) from pieces where source in ('unlicensed', 'non-commercial')").fetchone()
    assert unlicensed == (0,)
