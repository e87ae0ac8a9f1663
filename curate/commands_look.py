"""Commands that look into a run and change nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curate.cli import USAGE, as_json, fail, guarded, run_folder
from curate.results import CELL, FORMATS, format_of, write, write_file

if TYPE_CHECKING:
    from pipeline.stage import Judge


@click.command()
@run_folder
@click.option(
    "--rules",
    "rules_of",
    is_flag=False,
    flag_value="*",
    metavar="[STAGE]",
    help="What each rule (of that stage) does: its distribution, what it alone removes, its overlaps.",
)
@as_json
@guarded
def report(root: Path, rules_of: str | None, json_out: bool) -> None:  # fmt: skip
    """The funnel: documents in, kept and dropped by rule, and the tokenizer."""
    from curate.commands_run import print_report
    from report.funnel import funnel

    if rules_of is not None:
        _print_rules(root, None if rules_of == "*" else rules_of, json_out)
    elif json_out:
        click.echo(json.dumps(funnel(root), ensure_ascii=False))
    else:
        print_report(root)


def _print_rules(root: Path, stage: str | None, json_out: bool) -> None:
    from rich.console import Console

    from report.rules import rules, table
    from report.views import connect

    judge_of = _judges(root)

    def measured_by(name: str) -> dict[str, str]:
        judge, params = judge_of(name)
        return {} if judge is None else judge.measured_by(params)

    with connect(root) as db:
        found = rules(db, measured_by, stage)
    if json_out:
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    console = Console(highlight=False, markup=False, width=None if Console().is_terminal else 200)
    for one in found:
        console.print(f"{one['stage']}: {one['documents']:,} documents judged, {one['dropped']:,} dropped")
        if one["rules"]:
            console.print(table(one))


@click.command()
@run_folder
@click.argument("query")
@click.option("--format", "form", type=click.Choice(FORMATS), help="Default: table; with --out what its name says.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write the result to a file (.csv, .json, .md, .parquet), outside of the run folder.")  # fmt: skip
@click.option("--read", "also", multiple=True, type=click.Path(exists=True, path_type=Path), metavar="PATH",
              help="A file or folder beside the run that QUERY may read; may be given again.")  # fmt: skip
@as_json
@guarded
def sql(root: Path, query: str, form: str | None, out: Path | None, also: tuple[Path, ...], json_out: bool) -> None:
    """Run QUERY over the views: stages, sources, documents, verdicts, measures_<stage>, edits, quarantine, …

    QUERY asks and changes nothing: it is one SELECT (or DESCRIBE, SUMMARIZE, …) over the views of RUN.
    """
    import duckdb

    from report.query import read_only
    from report.views import connect

    if out is not None:
        form = form or ("json" if json_out else format_of(out))
        if form is None:
            fail(
                f"--out {out}: say which format with --format, or use a name that ends in .csv, .json or .parquet",
                USAGE,
            )
        if out.resolve().is_relative_to(root.resolve()):
            fail(f"--out {out}: lies in the run folder, which holds evidence alone; give another place", USAGE)
    cut = 0
    with connect(root) as db:
        read_only(db, root, query, also)
        try:
            if out is not None:
                write_file(db, query, str(form), out)
            else:
                form = form or ("json" if json_out else "table")
                cut = write(db.execute(query), form, sys.stdout, sys.stdout.isatty())
        except duckdb.PermissionException as error:
            said = str(error).splitlines()[0].removeprefix("Permission Error: ")
            fail(f"{said}: a query reads the files of its run; `--read PATH` names others that it may read", USAGE)
    if out is not None:
        click.echo(f"wrote {out}", err=True)
    if cut:
        click.echo(
            f"{cut} values are cut to {CELL} characters; --format csv, json or markdown prints them whole", err=True
        )


@click.command()
@run_folder
@click.option("--stage", help="Only what this stage dropped; of an editor, what it changed.")
@click.option("--rule", help="Only what this rule dropped; of an editor, a rule or kind of change.")
@click.option("-n", "n", type=click.IntRange(1), default=5, show_default=True, help="How many.")
@as_json
@guarded
def sample(root: Path, stage: str | None, rule: str | None, n: int, json_out: bool) -> None:
    """Dropped documents with the rule that dropped them and the places that made it fire; all of it masked.

    Of an editor such as pii: places that it changed, with what stands around them.
    """
    from report import look
    from report.edits import has_edits, sample_edits
    from report.views import connect
    from stages.pii.mask import mask, mask_around

    with connect(root) as db:
        if stage is not None and has_edits(db, stage, rule):
            _print_edits(sample_edits(db, mask, stage=stage, rule=rule, n=n), json_out)
            return
        found = look.sample(db, mask, stage=stage, rule=rule, n=n, explain=_explainer(root), around=mask_around)
    if json_out:
        for row in found:
            click.echo(json.dumps(row, ensure_ascii=False))
        return
    for row in found:
        click.secho(f"{row['doc_id']}  {row['source']}  {row['record']}", bold=True)
        click.echo(f"  {row['stage']}: {_reason(row)}")
        for place in row["places"]:
            parts = (place[k].replace("\n", "⏎") for k in ("before", "inside", "after"))
            click.echo("    {}⟦{}⟧{}".format(*parts))
        if len(row["spans"]) > len(row["places"]):
            click.echo(f"    and {len(row['spans']) - len(row['places']):,} more places")
        click.echo("  " + row["excerpt"].replace("\n", "\n  "))
    if not found:
        click.echo("nothing was dropped")


def _print_edits(rows: list[dict[str, Any]], json_out: bool) -> None:
    for row in rows:
        if json_out:
            click.echo(json.dumps(row, ensure_ascii=False))
            continue
        click.secho(f"{row['doc_id']}  {row['source']}  {row['field']}[{row['start']}:{row['end']}]", bold=True)
        score = "" if row["score"] is None else f" ({row['score']:.2f})"
        click.echo(f"  {row['kind']}, {row['rule']}{score}")
        if row["before"] or row["after"]:
            parts = (row[k].replace("\n", "⏎") for k in ("before", "inside", "after"))
            click.echo("    {}⟦{}⟧{}".format(*parts))


def _explainer(root: Path) -> Any:
    """(stage, rule, text) -> spans; none where a stage is no judge of this project."""
    judge_of = _judges(root)

    def explain(stage: str, rule: str, text: str) -> list[tuple[int, int]]:
        judge, params = judge_of(stage)
        return [] if judge is None else judge.explain(text, params, rule)

    return explain


def _judges(root: Path) -> Callable[[str], tuple[type[Judge] | None, Any]]:
    """stage -> its judge and the params of the run; (None, None) where it is no judge of this project."""
    from pipeline.runner import read_run
    from pipeline.stage import Judge
    from stages.registry import registry

    run, find = read_run(root), registry().find
    types = {entry["stage"]: entry["type"] for entry in run["stages"]}

    def judge_of(stage: str) -> tuple[type[Judge] | None, Any]:
        try:
            judge = find(types[stage])
        except KeyError:
            return None, None
        if not issubclass(judge, Judge):
            return None, None
        return judge, judge.Params.model_validate(run["params"][stage])

    return judge_of


def _reason(row: dict[str, Any]) -> str:
    """rule, value and threshold in one phrase."""
    text = str(row["rule"])
    if row["value"] is not None:
        text += f" {row['value']:.4g}"
        if row["threshold"] is not None:
            text += f" (threshold {row['threshold']:.4g})"
    return text + (f": {row['detail']}" if row["detail"] else "")


@click.command()
@run_folder
@click.argument("doc_id")
@as_json
@guarded
def trace(root: Path, doc_id: str, json_out: bool) -> None:
    """The whole way of a document: where it came from, what each stage said of it, what was edited, where it ended."""
    from report import look
    from report.views import connect
    from stages.pii.mask import mask

    with connect(root) as db:
        found = look.trace(db, mask, doc_id)
    if json_out:
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    click.secho(found["doc_id"], bold=True)
    for key in ("source", "record", "license", "url", "title", "encoding", "encoding_by", "bytes"):
        click.echo(f"  {key}: {found[key]}")
    for verdict in found["verdicts"]:
        word = {True: "kept", False: "dropped", None: "not measured"}[verdict["keep"]]
        click.echo(f"  {verdict['stage']}: {word}" + (f", {_reason(verdict)}" if verdict["rule"] else ""))
        for name, value in verdict["measures"].items():
            click.echo(f"      {name} = {value:.6g}" if isinstance(value, float) else f"      {name} = {value}")
    for twin in found["kept_twin"]:
        click.echo(f"  {twin['stage']}: duplicate of {twin['kept_id']}, Jaccard {twin['jaccard']:.4f}")
    for edit in found["edits"]:
        click.echo(
            f"  {edit['stage']}: {edit['field']}[{edit['start']}:{edit['end']}] {edit['kind']} → {edit['replacement']}"
        )
    click.echo(f"  in the curated corpus: {'yes' if found['curated'] else 'no'}")
    click.echo("  " + found["excerpt"].replace("\n", "\n  "))
