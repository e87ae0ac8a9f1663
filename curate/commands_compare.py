"""`curate tokenizer evaluate` and `compare`: how tokenizers fit texts, and where two of them differ."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from curate.cli import as_json, fail, guarded
from curate.tokenizer_inputs import (
    USAGE,
    compiled,
    curated,
    files,
    folder,
    held_out,
    ingested,
    run_option,
    text_field,
    texts_of_files,
)

_PATTERN = click.option("--pattern", metavar="P", help="The pattern of a .tiktoken file, which carries none.")


@click.command()
@folder
@files
@run_option
@click.option("--by", type=click.Choice(["source", "lang"]), default="source", show_default=True, help="With --run.")
@click.option("--against", multiple=True, type=click.Path(exists=True, path_type=Path), metavar="T",
              help="Another tokenizer: a folder, a tokenizer.json, a .tiktoken file. May be given again.")  # fmt: skip
@_PATTERN
@text_field
@as_json
@guarded
@compiled
def evaluate(folder: Path, files: tuple[Path, ...], run: Path | None, by: str, against: tuple[Path, ...],
             pattern: str | None, text_field: str, json_out: bool) -> None:  # fmt: skip
    """Bytes per token on FILES (by file), or on the curated documents that a run held out of training."""
    from tokenizer.evaluate import encoder, evaluate_batches

    if bool(files) == bool(run):
        fail("give either files or --run", USAGE)
    try:
        encoders = {str(path): encoder(path, pattern) for path in (folder, *against)}
        rows = evaluate_batches(encoders, held_out(run, by) if run else texts_of_files(files, text_field))
    except ValueError as error:
        fail(str(error), USAGE)
    if json_out:
        click.echo(json.dumps(rows, ensure_ascii=False))
        return
    for row in rows:
        fit = "-" if row["bytes_per_token"] is None else f"{row['bytes_per_token']:.3f}"
        click.echo(f"{row['tokenizer']}  {row['group']}: {fit} bytes per token, {row['documents']:,} documents, "
                   f"{row['bytes']:,} bytes, {row['tokens']:,} tokens")  # fmt: skip


@click.command()
@click.argument("a", type=click.Path(exists=True, path_type=Path))
@click.argument("b", type=click.Path(exists=True, path_type=Path))
@files
@run_option
@_PATTERN
@click.option(
    "--top", default=10, show_default=True, type=click.IntRange(0), help="How many tokens and pieces to list."
)
@text_field
@as_json
@guarded
@compiled
def compare(a: Path, b: Path, files: tuple[Path, ...], run: Path | None, pattern: str | None, top: int,
            text_field: str, json_out: bool) -> None:  # fmt: skip
    """What two tokenizers share and where they differ, and how both cut FILES or the curated documents of --run.

    A and B are folders with a tokenizer, run folders, tokenizer.json or .tiktoken files; FILES are of any format that
    ingest reads.
    """
    from tokenizer.compare import compare
    from tokenizer.peers import load_peer

    if files and run:
        fail("give either files or --run", USAGE)
    try:
        peers = load_peer(a, pattern), load_peer(b, pattern)
        found = compare(*peers, curated(run) if run else ingested(files, text_field), top)
    except ValueError as error:
        fail(str(error), USAGE)
    if json_out:
        click.echo(json.dumps({"paths": {"a": str(a), "b": str(b)}, **found}, ensure_ascii=False))
        return
    for line in (*_models(found, a, b), *(_texts(found) if "groups" in found else ())):
        click.echo(line)


def _models(found: dict[str, Any], a: Path, b: Path) -> list[str]:
    lines = [f"{'':24}{'A':<36}B"]
    for name in found["a"]:
        values = [
            f"{v:,}" if isinstance(v, int) else "-" if v is None else v for v in (found["a"][name], found["b"][name])
        ]
        values = [value if len(value) <= 34 else value[:33] + "…" for value in values]
        lines.append(f"{name:<24}{values[0]:<36}{values[1]}")
    lines += [f"A: {a}", f"B: {b}", ""]
    agreed = ", ".join(name for name, same in found["same"].items() if same) or "nothing"
    other = ", ".join(name for name, same in found["same"].items() if not same) or "nothing"
    tokens, specials, merge = found["tokens"], found["special_tokens"], found["first_other_merge"]
    lines += [
        f"the same: {agreed}; different: {other}",
        f"tokens: {tokens['shared']:,} shared ({tokens['shared_with_the_same_id']:,} with the same id), "
        f"{tokens['only_a']:,} only in A, {tokens['only_b']:,} only in B",
    ]
    for side in "ab":
        if listed := tokens[f"first_only_{side}"]:
            lines.append(f"only in {side.upper()}: " + " ".join(f"{t['id']}:{t['text']!r}" for t in listed))
        if listed := specials[f"only_{side}"]:
            lines.append(f"special tokens only in {side.upper()}: " + " ".join(listed))
    for special, (one, another) in specials["other_id"].items():
        lines.append(f"special token {special}: {one} in A, {another} in B")
    if merge:
        sides = (" + ".join(map(repr, merge[side])) if merge[side] else "no merge" for side in "ab")
        lines.append("first other merge: rank {:,}: {} in A, {} in B".format(merge["rank"], *sides))
    return lines


_HEAD = (
    "documents",
    "bytes",
    "tokens A",
    "tokens B",
    "B/token A",
    "B/token B",
    "t/word A",
    "t/word B",
    "ids =",
    "cuts =",
)
_WIDTHS = (10, 14, 12, 12, 10, 10, 9, 9, 8, 8)


def _texts(found: dict[str, Any]) -> list[str]:
    lines = ["", _aligned("", _HEAD)]
    for row in found["groups"]:
        name = row["group"] if row["by"] == row["group"] else f"{row['by']} {row['group']}"
        sides = row["a"], row["b"]
        numbers = [f"{n:,}" for n in (row["documents"], row["bytes"], *(side["tokens"] for side in sides))]
        numbers += [_number(side["bytes_per_token"], 3) for side in sides]
        numbers += [_number(side["tokens_per_word"], 2) for side in sides]
        lines.append(_aligned(name, [*numbers, _share(row["same_ids"]), _share(row["same_cuts"])]))
    pieces = found["pieces"]
    for side, other in ("ab", "ba"):
        for piece in pieces[f"{side}_needs_more"]:
            lines.append(
                f"{side.upper()} needs {piece['difference']:,} tokens more for {piece['count']:,} × {piece['piece']!r} "
                f"({piece[f'tokens_{side}']:,} against {piece[f'tokens_{other}']:,})"
            )
    if not pieces["exact"]:
        lines.append("so many pieces differ that rare ones were let go: figures of pieces are lower bounds")
    for side, lost in found["round_trip"].items():
        lines.append(f"round trip {side.upper()}: {lost['failures']:,} texts do not come back")
        lines += [f"  {one['place']}: {one['begins']!r}" for one in lost["first"]]
    return lines


def _aligned(name: str, values: Sequence[str]) -> str:
    return f"{name[:27]:<28}" + "".join(f"{value:>{width}}" for value, width in zip(values, _WIDTHS, strict=True))


def _fact(value: str | int | None) -> str:
    text = "-" if value is None else f"{value:,}" if isinstance(value, int) else value
    return text if len(text) <= 34 else text[:33] + "…"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
