"""What each rule of a stage does: its measure's distribution, what it alone removes, and how it overlaps with others.

Counts are over the documents that the stage looked at, whichever rule came first: a document that fails three rules
counts in each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import duckdb
from rich.table import Table

from report.look import NotFoundError

QUANTILES: Final = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
MeasuredBy = Callable[[str], Mapping[str, str]]
"""stage -> {rule: measure column}, in the order in which the rules are tried."""


def rules(db: duckdb.DuckDBPyConnection, measured_by: MeasuredBy, stage: str | None = None) -> list[dict[str, Any]]:
    """One entry for each stage with verdicts (or the one named), as plain JSON. Raises NotFoundError."""
    query = "SELECT stage FROM stages WHERE kind IN ('judge', 'editor') ORDER BY position"
    stages = [row[0] for row in db.execute(query).fetchall()]
    if stage is not None and stage not in stages:
        raise NotFoundError(f"no stage {stage!r} with verdicts in this run; it has: {', '.join(stages)}")
    return [_stage(db, name, measured_by(name)) for name in ([stage] if stage is not None else stages)]


def _stage(db: duckdb.DuckDBPyConnection, stage: str, measures: Mapping[str, str]) -> dict[str, Any]:
    judged, dropped = db.execute(
        "SELECT count(*), count(*) FILTER (NOT keep) FROM verdicts WHERE stage = ? AND keep IS NOT NULL", [stage]
    ).fetchall()[0]
    counts = db.execute(
        """
        SELECT r AS rule, count(*), count(*) FILTER (v.rule = r), count(*) FILTER (len(failed) = 1),
               list_sort(list(DISTINCT threshold) FILTER (v.rule = r AND threshold IS NOT NULL))
        FROM (SELECT *, unnest(failed) AS r FROM verdicts WHERE stage = ? AND NOT keep) v GROUP BY r ORDER BY r
        """,
        [stage],
    ).fetchall()
    found = {row[0]: row[1:] for row in counts}
    pairs = db.execute(
        """
        WITH fired AS (SELECT doc_id, unnest(failed) AS r FROM verdicts WHERE stage = ? AND NOT keep)
        SELECT a.r, b.r, count(*) FROM fired a JOIN fired b USING (doc_id) WHERE a.r <> b.r GROUP BY ALL ORDER BY ALL
        """,
        [stage],
    ).fetchall()
    listed = []
    for rule in (*measures, *(r for r in found if r not in measures)):
        failed, first, alone, thresholds = found.get(rule, (0, 0, 0, None))
        overlap = {b: n for a, b, n in pairs if a == rule}
        about = {"rule": rule, "failed": failed, "first": first, "alone": alone, "thresholds": thresholds or []}
        listed.append(about | {"overlap": overlap, **_distribution(db, stage, measures.get(rule))})
    return {"stage": stage, "documents": judged, "dropped": dropped, "rules": listed}


def _distribution(db: duckdb.DuckDBPyConnection, stage: str, measure: str | None) -> dict[str, Any]:
    """The quantiles of a measure over the documents that have it (`quantile_disc`: values that occur)."""
    if measure is None:
        return {"measure": None, "measured": 0, "quantiles": {}}
    view, column = ('"' + name.replace('"', '""') + '"' for name in (f"measures_{stage}", measure))
    wanted = ", ".join(map(str, QUANTILES))
    number, values = db.execute(
        f"SELECT count({column}), quantile_disc({column}, [{wanted}]) FROM {view} WHERE measured"
    ).fetchall()[0]
    named = dict(zip(map(str, QUANTILES), values or [], strict=False))
    return {"measure": measure, "measured": number, "quantiles": named}


def table(stage: dict[str, Any]) -> Table:
    """One row a rule."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column(f"{stage['stage']}: rule", no_wrap=True)
    for name in ("failed", "first", "alone", "threshold", "min", "1 %", "median", "99 %", "max"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("together with", overflow="fold")
    for rule in stage["rules"]:
        quantiles = [_number(rule["quantiles"].get(str(q))) for q in (0.0, 0.01, 0.5, 0.99, 1.0)]
        together = sorted(rule["overlap"].items(), key=lambda p: (-p[1], p[0]))[:3]
        counts = [f"{rule[k]:,}" if rule[k] else "" for k in ("failed", "first", "alone")]
        limits = ", ".join(_number(t) for t in rule["thresholds"])
        shown.add_row(rule["rule"], *counts, limits, *quantiles, ", ".join(f"{name} {n:,}" for name, n in together))
    return shown


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
