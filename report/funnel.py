"""The funnel: what came in, what each stage kept and dropped, by rule; as data and as a table for the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from pipeline.manifest import read_manifest
from report.views import manifests


def funnel(root: Path) -> dict[str, Any]:
    """Name, provenance, sources, stages with their counts by rule, warnings of fits, and the tokenizer, as JSON."""
    import json

    from pipeline.runner import read_run

    stages, sources, warnings = [], [], []
    tokenizer: dict[str, Any] | None = None
    for entry, manifest in manifests(root):
        stages.append({k: entry[k] for k in ("position", "stage", "kind", "seconds")} | manifest["counts"])
        sources += manifest.get("sources", [])
        warnings += [f"{entry['stage']}: {said}" for said in (manifest.get("fitted") or {}).get("warnings", [])]
        if manifest["kind"] == "closing" and entry["type"] == "tokenizer":
            tokenizer = next((s for n, s in manifest["summaries"].items() if n.endswith("/finished")), None)
    run = read_run(root)
    warnings += _warnings(root, run, stages, tokenizer)
    try:
        summary = json.loads((root / "provenance.json").read_text(encoding="utf-8"))["provenance"]
    except (OSError, ValueError, KeyError, TypeError):
        summary = None
    return {
        "name": run.get("name"),
        "limit": run.get("limit"),
        "provenance": summary,
        "sources": sources,
        "stages": stages,
        "warnings": warnings,
        "tokenizer": tokenizer,
    }


def _warnings(root: Path, run: dict[str, Any], stages: list[dict[str, Any]], tokenizer: Any) -> list[str]:
    """What a reader of the funnel must not overlook: lost manifests, an empty corpus, a short vocabulary."""
    shown = {stage["stage"] for stage in stages}
    lost = [entry["stage"] for entry in run.get("stages", []) if entry["stage"] not in shown]
    said = [f"{stage}: its manifest is missing or damaged; see curate verify {root}" for stage in lost]
    empty = next((s for s in stages if s["documents_in"] and not s["kept"]), None)
    if empty is not None:
        taken = ", ".join(f"{rule} {n:,}" for rule, n in (empty["dropped"] | empty["quarantined"]).items())
        said.append(f"nothing is left after {empty['stage']} ({taken}); see curate sample {root} or its quarantine")
    if tokenizer and tokenizer.get("shortfall"):
        said.append(f"tokenizer: {tokenizer['shortfall']}")
    return said


def table(data: dict[str, Any]) -> Table:
    """One row a stage: documents and bytes left after it, and what it took away, by rule."""
    shown = Table(title=None, box=None, pad_edge=False, header_style="bold")
    for name, side in (("stage", "left"), ("in", "right"), ("kept", "right"), ("dropped", "right"), ("text", "right")):
        shown.add_column(name, justify=side, no_wrap=True)  # type: ignore[arg-type]
    shown.add_column("why", overflow="fold")
    for stage in data["stages"]:
        taken = stage["dropped"] | {f"quarantine: {k}": v for k, v in stage["quarantined"].items()}
        lost = stage["documents_in"] - stage["kept"]
        why = ", ".join(f"{rule} {n:,}" for rule, n in sorted(taken.items(), key=lambda p: (-p[1], p[0])))
        shown.add_row(
            stage["stage"],
            f"{stage['documents_in']:,}",
            f"{stage['kept']:,}",
            f"{lost:,}" if lost else "",
            size(stage["bytes_kept"]),
            why,
        )
    return shown


def size(n: float) -> str:
    """A number of bytes for people: 999 B, 1.2 kB, 3.4 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if n < 1000:
            return f"{n:.0f} B" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1000
    return f"{n:.1f} TB"


def stage_summary(root: Path, stage: str) -> dict[str, Any]:
    """A stage's fitted values and summaries, as its manifest holds them."""
    manifest = read_manifest(root, stage)
    return {} if manifest is None else {"fitted": manifest.get("fitted"), "summaries": manifest["summaries"]}
