"""Looking at single documents: samples of what a rule took, and the whole way of one document through a run.

Whatever is shown of a text goes through `mask` first, which the caller brings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb

Mask = Callable[[str], str]
Explain = Callable[[str, str, str], list[tuple[int, int]]]
"""(stage, rule, text) -> spans of what made the rule fire."""
Around = Callable[[str, int, int], tuple[str, str, str]]
"""(text, start, end) -> what stands before, in and behind the span, all of it masked."""

CONTEXT, INSIDE, PLACES = 40, 160, 3  # characters around a place, characters of it, places shown
BESIDE = 2_000  # characters that are masked on each side, so that a cut cannot uncover half an address


class NotFoundError(Exception):
    """A document, stage or rule that this run does not have."""


def sample(
    db: duckdb.DuckDBPyConnection,
    mask: Mask,
    *,
    stage: str | None,
    rule: str | None,
    n: int,
    width: int = 300,
    explain: Explain | None = None,
    around: Around | None = None,
) -> list[dict[str, Any]]:
    """Up to n documents that were dropped (by that stage, under that rule), the same ones each time.

    They are the first in the order of doc_id, which is a hash: a fair and repeatable choice. With `explain` and
    `around` each row also has `spans`, code points of the text that the stage saw, and `places`, the first of them
    with what stands around.
    """
    _known(db, stage, rule)
    rows = db.execute(
        """
        SELECT v.doc_id, v.stage, v.rule, v.value, v.threshold, v.detail, d.source, d.record, d.text
        FROM (SELECT * FROM verdicts WHERE keep = false AND ($stage IS NULL OR stage = $stage)
              AND ($rule IS NULL OR rule = $rule) ORDER BY doc_id, stage LIMIT $n) v
        JOIN documents d USING (doc_id) ORDER BY v.doc_id, v.stage
        """,
        {"stage": stage, "rule": rule, "n": n},
    ).fetchall()
    names = ("doc_id", "stage", "rule", "value", "threshold", "detail", "source", "record")
    found = []
    for row in rows:
        about = dict(zip(names, row[:-1], strict=True)) | {"excerpt": excerpt(row[-1], mask, width)}
        if explain is not None and around is not None:
            text = text_seen(db, about["stage"], about["doc_id"], row[-1])
            spans = explain(about["stage"], about["rule"], text)
            places = [_place(text, start, end, around) for start, end in spans[:PLACES]]
            about |= {"spans": [list(span) for span in spans], "places": places}
        found.append(about)
    return found


def _known(db: duckdb.DuckDBPyConnection, stage: str | None, rule: str | None) -> None:
    stages = [r[0] for r in db.execute("SELECT DISTINCT stage FROM verdicts ORDER BY 1").fetchall()]
    if stage is not None and stage not in stages:
        raise NotFoundError(f"no stage {stage!r} with verdicts in this run; it has: {', '.join(stages)}")
    if rule is not None:
        rules = [
            r[0] for r in db.execute("SELECT DISTINCT rule FROM verdicts WHERE rule IS NOT NULL ORDER BY 1").fetchall()
        ]
        if rule not in rules:
            raise NotFoundError(f"no document was dropped under a rule {rule!r}; rules that did: {', '.join(rules)}")


def text_seen(db: duckdb.DuckDBPyConnection, stage: str, doc_id: str, ingested: str) -> str:
    """The text that a stage was given: that of the last editor before it, if there is one."""
    editor = db.execute(
        "SELECT stage FROM stages WHERE kind = 'editor' AND position < "
        "(SELECT position FROM stages WHERE stage = ?) ORDER BY position DESC LIMIT 1",
        [stage],
    ).fetchone()
    if editor is None:
        return ingested
    view = '"documents_' + editor[0].replace('"', '""') + '"'
    row = db.execute(f"SELECT text FROM {view} WHERE doc_id = ?", [doc_id]).fetchone()
    return ingested if row is None else str(row[0])


def _place(text: str, start: int, end: int, around: Around) -> dict[str, str]:
    """One span with what stands around it, masked before it is cut."""
    first, last = max(0, start - BESIDE), min(len(text), end + BESIDE)
    before, inside, after = around(text[first:last], start - first, end - first)
    before = ("…" if first or len(before) > CONTEXT else "") + before[-CONTEXT:]
    after = after[:CONTEXT] + ("…" if last < len(text) or len(after) > CONTEXT else "")
    if len(inside) > INSIDE:
        inside = f"{inside[: INSIDE // 2]} … {inside[-INSIDE // 2 :]}"
    return {"before": before, "inside": inside, "after": after}


def excerpt(text: str, mask: Mask, width: int) -> str:
    """The beginning of a text; far more than is shown gets masked, so that a cut cannot uncover half an address."""
    shown = mask(text[: 20_000 + width])
    return shown if len(shown) <= width else shown[:width] + "…"


def trace(db: duckdb.DuckDBPyConnection, mask: Mask, doc_id: str) -> dict[str, Any]:
    """Where a document came from, each verdict with its measures, its twin, its edits, and where it ended.

    `doc_id` may be shortened to any beginning that only one document has.
    """
    ids = [
        r[0]
        for r in db.execute("SELECT doc_id FROM documents WHERE starts_with(doc_id, ?) LIMIT 2", [doc_id]).fetchall()
    ]
    if not ids:
        raise NotFoundError(f"no document {doc_id!r} in this run")
    if len(ids) > 1:
        raise NotFoundError(f"more than one document begins with {doc_id!r}; give more digits")
    columns = "doc_id, source, license, url, title, encoding, encoding_by, record, shard, row, bytes"
    found = _rows(db, f"SELECT {columns}, text FROM documents WHERE doc_id = ?", ids)[0]
    found["excerpt"] = excerpt(found.pop("text"), mask, 300)
    found["title"], found["url"] = (None if found[k] is None else mask(found[k]) for k in ("title", "url"))
    order = {r[0]: r[1] for r in db.execute("SELECT stage, position FROM stages").fetchall()}
    verdicts = _rows(
        db, "SELECT stage, keep, rule, value, threshold, detail, failed FROM verdicts WHERE doc_id = ?", ids
    )
    for verdict in sorted(verdicts, key=lambda v: order[v["stage"]]):
        verdict["measures"] = _measures(db, verdict["stage"], ids[0])
    found["verdicts"] = sorted(verdicts, key=lambda v: order[v["stage"]])
    found["kept_twin"] = _rows(db, "SELECT stage, kept_id, jaccard, containment FROM clusters WHERE doc_id = ?", ids)
    edits = 'SELECT stage, field, kind, rule, score, start, "end", replacement FROM edits WHERE doc_id = ? ORDER BY ALL'
    found["edits"] = _rows(db, edits, ids)
    views = {r[0] for r in db.execute("SELECT view_name FROM duckdb_views()").fetchall()}
    found["curated"] = "curated" in views and bool(_rows(db, "SELECT 1 FROM curated WHERE doc_id = ?", ids))
    return found


def _measures(db: duckdb.DuckDBPyConnection, stage: str, doc_id: str) -> dict[str, Any]:
    """Single values only: a signature of 128 numbers tells a reader nothing."""
    try:
        rows = _rows(db, f'SELECT * FROM "measures_{stage}" WHERE doc_id = ? AND measured', [doc_id])
    except duckdb.CatalogException:
        return {}
    simple = (bool, int, float, str)
    return {
        k: v for k, v in (rows[0] if rows else {}).items() if k not in ("doc_id", "measured") and isinstance(v, simple)
    }


def _rows(db: duckdb.DuckDBPyConnection, query: str, parameters: list[Any]) -> list[dict[str, Any]]:
    cursor = db.execute(query, parameters)
    names = [d[0] for d in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
