"""`curate what-if`: other settings on a finished run, from what it has measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from curate.cli import as_json, guarded, run_folder


@click.command("what-if")
@run_folder
@click.option("--set", "overrides", multiple=True, required=True, metavar="STAGE.SETTING=VALUE",
              help="A setting to try; may be given again.")  # fmt: skip
@click.option("-n", "n", type=click.IntRange(0), default=20, show_default=True, help="Documents to list; 0 lists all.")
@as_json
@guarded
def what_if(root: Path, overrides: tuple[str, ...], n: int, json_out: bool) -> None:
    """What RUN would keep under other settings; no text is read and nothing is written."""
    from report.what_if import what_if as replay
    from stages.registry import registry

    found = replay(root, registry(), overrides, n or None)
    if json_out:
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    _print_funnel(found)
    changed = found["changed"]
    click.echo(
        f"kept in the end: {changed['kept']['before']:,} → {changed['kept']['after']:,}"
        f"; newly kept {changed['newly_kept']:,}, newly dropped {changed['newly_dropped']:,}, "
        f"open {changed['open']:,}" + (" (only a run can tell: they would have to be measured)" * bool(changed["open"]))
    )
    for document in changed["documents"]:
        click.echo(f"  {document['doc_id']}  {document['source']}  {_sides(document)}")
    hidden = changed["newly_kept"] + changed["newly_dropped"] + changed["open"] - len(changed["documents"])
    if hidden:
        click.echo(f"  … and {hidden:,} more: -n 0 lists all")


def _print_funnel(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("stage", "in", "kept", "unmeasured"):
        shown.add_column(name, no_wrap=True, justify="left" if name == "stage" else "right")
    shown.add_column("changes", overflow="fold")
    for stage in found["stages"]:
        before, after = stage["before"], stage["after"]
        rules = sorted(before["dropped"].keys() | after["dropped"].keys())
        pairs = [(rule, before["dropped"].get(rule, 0), after["dropped"].get(rule, 0)) for rule in rules]
        changes = [f"{rule} {_arrow(a, b)}" for rule, a, b in pairs if a != b]
        changes += [f"twin gone {stage['twin_gone']:,}"] if stage["twin_gone"] else []
        changes += [] if stage["exact"] else ["not exact: a run decides about the rest"]
        numbers = [_arrow(before[k], after[k]) for k in ("documents_in", "kept")]
        shown.add_row(stage["stage"], *numbers, f"{stage['unmeasured'] or ''}", ", ".join(changes))
    Console(highlight=False, markup=False, width=None if Console().is_terminal else 160).print(shown)


def _arrow(before: int, after: int) -> str:
    return f"{after:,}" if before == after else f"{before:,} → {after:,}"


def _sides(document: dict[str, Any]) -> str:
    def said(reason: dict[str, Any] | None) -> str:
        if reason is None:
            return "kept"
        value = "" if reason["value"] is None else f" {reason['value']:.4g}"
        limit = "" if reason["threshold"] is None else f" (threshold {reason['threshold']:.4g})"
        return f"{reason['stage']}: {reason['rule']}{value}{limit}"

    if document["side"] == "open":
        why = {"unmeasured": "not measured by", "twin_gone": "its kept twin no longer reaches"}[document["open"]["why"]]
        return f"{said(document['before'])} → open, {why} {document['open']['stage']}"
    return f"{said(document['before'])} → {said(document['after'])}"
