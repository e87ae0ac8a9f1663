"""Commands on what deduplication stored: the index of a run, and the documents nearest to a text."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from curate.cli import as_json, guarded, run_folder


@click.command()
@run_folder
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Where to; by default RUN/index.parquet.")
@click.option("--stage", help="The minhash stage to index for, where there are several.")
@as_json
@guarded
def index(root: Path, out: Path | None, stage: str | None, json_out: bool) -> None:
    """Write the index of a run's curated documents, for `against: [RUN]` in a later config. It holds no text."""
    from stages.dedup.earlier import NAME
    from stages.dedup.runs import write_index

    made = write_index(root, out or root / NAME, stage)
    if json_out:
        click.echo(json.dumps(made, ensure_ascii=False))
    else:
        kind = "content hashes and signatures" if made["minhash"] else "content hashes"
        click.echo(f"{made['index']}: {kind} of {made['documents']} documents of the run {made['run']!r}")


@click.command()
@run_folder
@click.argument("text", metavar="TEXT|FILE")
@click.option("--stage", help="The minhash stage whose signatures to use, where there are several.")
@click.option("-n", "n", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many.")
@as_json
@guarded
def similar(root: Path, text: str, stage: str | None, n: int, json_out: bool) -> None:
    """The documents nearest to a text (or to the text in a file; `-`: stdin) by exact Jaccard; excerpts are masked."""
    from report.look import excerpt
    from report.views import connect
    from stages.dedup.runs import minhash_of
    from stages.dedup.similar import nearest
    from stages.pii.mask import mask

    found, params = minhash_of(root, stage)
    rows = nearest(found, params, _text(text), n)
    with connect(root) as db:
        for row in rows:
            row["excerpt"] = excerpt(row.pop("text"), mask, 300)
            query = (
                "SELECT v.stage, v.rule FROM verdicts v JOIN stages s USING (stage) "
                "WHERE doc_id = ? AND keep = false ORDER BY s.position LIMIT 1"
            )
            row["dropped_by"] = _named(db.execute(query, [row["doc_id"]]).fetchone())
    if json_out:
        for row in rows:
            click.echo(json.dumps(row, ensure_ascii=False))
        return
    for row in rows:
        click.secho(f"{row['doc_id']}  {row['source']}  {row['record']}", bold=True)
        fate = f"dropped by {row['dropped_by']}" if row["dropped_by"] else "kept"
        click.echo(f"  Jaccard {row['jaccard']:.4f}, holds {row['containment']:.1%} of the text's shingles; {fate}")
        click.echo("  " + row["excerpt"].replace("\n", "\n  "))
    if not rows:
        click.echo("no document shares a shingle with the text")


def _named(verdict: tuple[Any, ...] | None) -> str | None:
    return None if verdict is None else f"{verdict[0]}: {verdict[1]}"


def _text(given: str) -> str:
    """The text itself, or what is in the file of that name."""
    if given == "-":
        return sys.stdin.read()
    try:
        file = Path(given) if len(given) < 4096 and Path(given).is_file() else None
    except (OSError, ValueError):
        file = None
    if file is None:
        return given
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file}: is not UTF-8 (byte {error.start}); convert it first") from error
