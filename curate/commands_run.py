"""Commands that plan, make, check and tidy runs."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import click

from curate.cli import as_json, fail, guarded, run_folder


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What `plan` and `run` share."""
    options = [
        click.argument("config", type=click.Path(dir_okay=False, path_type=Path)),
        click.option("--run-dir", type=click.Path(file_okay=False, path_type=Path), help="Default: runs/<name>."),
        click.option("--until", metavar="STAGE", help="Stop after this stage."),
        click.option("--limit", type=click.IntRange(1), metavar="N", help="A trial of about N documents."),
        click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a setting."),
        click.option("--reuse", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="RUN",
                     help="Take matching results from another run folder."),
        click.option("--strict", is_flag=True, help="Refuse to compute anything again that was finished."),
        click.option("--accept-code", is_flag=True, help="Keep results over a code change; recorded."),
        click.option("--allow-code", is_flag=True, help="Allow stages from your own modules (module:Class)."),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


@click.command()
@run_options
@as_json
@guarded
def plan(config: Path, run_dir: Path | None, until: str | None, limit: int | None, overrides: tuple[str, ...],
         reuse: Path | None, strict: bool, accept_code: bool, allow_code: bool, json_out: bool) -> None:  # fmt: skip
    """Show what `run` would compute or reuse, and why."""
    from curate import api
    from curate.progress import Plan
    from pipeline.execution import Policy

    checked = api.check(config, overrides, allow_code)
    root = api.folder_of(checked, run_dir, limit)
    seen = Plan()
    policy = Policy(dry=True, strict=strict, accept_code=accept_code, reuse=reuse)
    outcome = api.start(checked, root, 1, policy, seen, until, limit)
    waiting = [] if until is not None else list(outcome.waiting)
    foretold = {use.name: list(chain(*use.stage.foretell(use.params))) for use in checked.stages}
    specials = {use.name: use.params.declared() for use in checked.stages if hasattr(use.params, "declared")}
    if json_out:
        told = {"foretold": {name: lines for name, lines in foretold.items() if lines}, "special_tokens": specials}
        click.echo(json.dumps({"run": str(root), "steps": seen.steps, "waiting": waiting} | told))
        return
    for step in seen.steps:
        reasons = sorted({t["reason"] for t in step["compute"]})
        why = f": {'; '.join(reasons)}" if reasons else ""
        click.echo(f"{step['stage']} {step['step']}: reuse {step['reuse']}, compute {len(step['compute'])}{why}")
    if waiting or any(step["compute"] for step in seen.steps):
        click.echo(f"then, as far as their inputs change: {', '.join(waiting) or 'the rest of that stage'}")
    else:
        click.echo(f"nothing to compute: {root} is complete")
    for name, lines in foretold.items():
        for line in lines:
            click.echo(f"{name}: {line}")
    for tokens in specials.values():
        click.echo(f"special tokens, in the order of their ids: {' '.join(tokens)}")


@click.command()
@run_options
@click.option("--workers", type=click.IntRange(1, 4096), metavar="N", help="Processes; default: one for each core.")
@click.option("--engine", type=click.Choice(["local"]), default="local", show_default=True, help="Where tasks run.")
@as_json
@guarded
def run(config: Path, run_dir: Path | None, until: str | None, limit: int | None, overrides: tuple[str, ...],
        reuse: Path | None, strict: bool, accept_code: bool, allow_code: bool, workers: int | None, engine: str,
        json_out: bool) -> None:  # fmt: skip
    """Execute CONFIG; what is there already and still fits is reused."""
    from rich.console import Console

    from curate import api
    from curate.progress import Progressing
    from pipeline.execution import Policy

    signal.signal(signal.SIGTERM, _interrupt)
    checked = api.check(config, overrides, allow_code)
    root = api.folder_of(checked, run_dir, limit)
    watching = Progressing(Console(stderr=True))
    policy = Policy(strict=strict, accept_code=accept_code, reuse=reuse)
    try:
        outcome = api.start(checked, root, workers, policy, watching, until, limit)
    finally:
        watching.close()
    if json_out:
        computed = list(outcome.computed)
        click.echo(
            json.dumps(
                {"run": str(root), "computed": computed, "reused": outcome.reused, "provenance": outcome.provenance}
            )
        )
        return
    print_report(root)
    if outcome.computed:
        click.echo(f"computed {len(outcome.computed)} tasks, reused {outcome.reused}; {root}")
    else:
        click.echo(f"nothing to compute: all {outcome.reused} tasks were there already; {root}")


def _interrupt(signum: int, frame: Any) -> None:
    raise KeyboardInterrupt


def print_report(root: Path) -> None:
    """The funnel and the tokenizer, as a person reads them."""
    from rich.console import Console

    from report.funnel import funnel, table

    data = funnel(root)
    console = Console(highlight=False, width=None if Console().is_terminal else 160)
    console.print(table(data))
    for said in data["warnings"]:
        console.print(f"warning: {said}", markup=False)
    if data["tokenizer"]:
        made = data["tokenizer"]
        console.print(
            f"tokenizer: {made['reached']:,} tokens of {made['asked']:,} asked, pattern {made['pattern']['name']}, "
            f"vocabulary hash {made['vocabulary_hash']}"
        )
    if data["provenance"]:
        console.print(f"provenance: {data['provenance']}")


@click.command()
@run_folder
@as_json
@guarded
def status(root: Path, json_out: bool) -> None:
    """How far a run has come: finished stages, and whether a process is writing it."""
    from pipeline.lock import writer_of
    from pipeline.runner import read_run
    from report.views import manifests

    finished = [entry["stage"] for entry, _ in manifests(root)]
    wanted = read_run(root).get("order", finished)
    writer = writer_of(root)
    missing = [name for name in wanted if name not in finished]
    if json_out:
        click.echo(json.dumps({"run": str(root), "finished": finished, "missing": missing, "writer": writer}))
        return
    click.echo(f"{root}: {len(finished)} of {len(wanted)} stages finished: {', '.join(finished)}")
    if missing:
        click.echo(f"missing: {', '.join(missing)}; run the same command again to go on")
    if writer:
        click.echo(f"being written by {writer}")


@click.command()
@run_folder
@click.option("--deep", is_flag=True, help="Also compare what every table says with its content hash.")
@as_json
@guarded
def verify(root: Path, deep: bool, json_out: bool) -> None:
    """Check every file of a run against the hashes in its manifests."""
    from pipeline.manifest import unfinished
    from pipeline.manifest import verify as check
    from report.views import manifests

    stages = [entry["stage"] for entry, _ in manifests(root)]
    faults = check(root, deep)
    if json_out:
        click.echo(json.dumps({"run": str(root), "faults": faults}))
        if faults:
            raise SystemExit(1)
        return
    for fault in faults:
        click.echo(fault)
    if faults:
        fail(f"{len(faults)} faults in {root}; `curate run` computes damaged files again")
    if unfinished(root):
        click.echo(f"{root}: unfinished; what is there ({', '.join(stages)}) is as its manifests say")
    else:
        click.echo(f"{root}: every file is as its manifest says")


@click.command()
@run_folder
@as_json
@guarded
def clean(root: Path, json_out: bool) -> None:
    """Take away half-written files and stages that the run no longer has."""
    from pipeline.runner import clean as tidy
    from report.views import manifests

    manifests(root)
    gone = tidy(root)
    if json_out:
        click.echo(json.dumps({"run": str(root), "removed": gone}))
        return
    for path in gone:
        click.echo(f"removed {path}")
    click.echo(f"{len(gone)} removed")
