"""Samples of what an editor changed: each place with what stands around it, and nothing of what was removed."""

from __future__ import annotations

from typing import Any

import duckdb

from report.look import BESIDE, CONTEXT, Mask, text_seen

_SAMPLE = """
    SELECT doc_id, stage, field, kind, rule, score, start, "end", replacement
    FROM (SELECT *, row_number() OVER (PARTITION BY doc_id ORDER BY field, start, "end") AS nth FROM edits
          WHERE stage = $stage AND ($rule IS NULL OR rule = $rule OR kind = $rule))
    ORDER BY nth, doc_id LIMIT $n
"""


def has_edits(db: duckdb.DuckDBPyConnection, stage: str | None, rule: str | None) -> bool:
    """Is `stage` an editor of this run, and did it change something under that rule (or of that kind)?"""
    query = "SELECT 1 FROM edits WHERE stage = $stage AND ($rule IS NULL OR rule = $rule OR kind = $rule) LIMIT 1"
    return db.execute(query, {"stage": stage, "rule": rule}).fetchone() is not None


def sample_edits(
    db: duckdb.DuckDBPyConnection, mask: Mask, *, stage: str, rule: str | None, n: int
) -> list[dict[str, Any]]:
    """Up to n edits, the same ones each time: the first of each document, in the order of doc_id, then the second.

    Each row of `edits` has `source`, and `before`, `inside`, `after`: `inside` is what was written there, or the kind
    in square brackets where the entity stays; the others are masked, by the edits themselves and by `mask`. They are
    empty in metadata, which holds more than text.
    """
    cursor = db.execute(_SAMPLE, {"stage": stage, "rule": rule, "n": n})
    names = [d[0] for d in cursor.description or []]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    for row in rows:
        row["source"], value = _value(db, row)
        row["inside"] = _shown(row["kind"], row["replacement"])
        row["before"], row["after"] = ("", "") if value is None else _around(db, mask, row, value)
    return rows


def _value(db: duckdb.DuckDBPyConnection, edit: dict[str, Any]) -> tuple[str, str | None]:
    """The document's source, and the field as the editor was given it."""
    query = "SELECT source, text, title, url FROM documents WHERE doc_id = ?"
    source, text, title, url = db.execute(query, [edit["doc_id"]]).fetchall()[0]
    if edit["field"] == "text":
        return source, text_seen(db, edit["stage"], edit["doc_id"], text)
    return source, {"title": title, "url": url}.get(edit["field"])


def _around(db: duckdb.DuckDBPyConnection, mask: Mask, edit: dict[str, Any], value: str) -> tuple[str, str]:
    """What stands before and behind, with every other edit of that field made, masked before it is cut."""
    first, last = max(0, edit["start"] - BESIDE), min(len(value), edit["end"] + BESIDE)
    others = db.execute(
        'SELECT start, "end", kind, replacement FROM edits WHERE doc_id = ? AND stage = ? AND field = ?'
        ' AND "end" >= ? AND start <= ? ORDER BY start, "end"',
        [edit["doc_id"], edit["stage"], edit["field"], first, last],
    ).fetchall()
    before = mask(_made(value, first, edit["start"], others))
    after = mask(_made(value, edit["end"], last, others))
    before = ("…" if first or len(before) > CONTEXT else "") + before[-CONTEXT:]
    return before, after[:CONTEXT] + ("…" if last < len(value) or len(after) > CONTEXT else "")


def _made(value: str, left: int, right: int, edits: list[tuple[int, int, str, str | None]]) -> str:
    """value[left:right] with the edits inside it; of one that a limit cuts nothing is left."""
    parts, at = [], left
    for start, end, kind, replacement in edits:
        if end <= left or start >= right:
            continue
        parts += [value[at : max(at, start)], _shown(kind, replacement) if left <= start and end <= right else ""]
        at = min(end, right)
    return "".join([*parts, value[at:right]])


def _shown(kind: str, replacement: str | None) -> str:
    return f"[{kind}]" if replacement is None else replacement
