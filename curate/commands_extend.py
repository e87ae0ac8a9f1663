"""`curate tokenizer extend`: more special tokens and more merges for a tokenizer that is in use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curate.cli import RegularFile, as_json, fail, guarded
from curate.tokenizer_inputs import USAGE, compiled, curated_rows, folder, load, run_option, text_field

if TYPE_CHECKING:
    import pyarrow as pa

    from tokenizer.extend import Rules
    from tokenizer.model import Tokenizer

_MERGED_AT_ONCE = 16  # tables of counts


@click.command()
@folder
@click.option("--out", "-o", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder to write.")
@click.option("--tokens", "tokens", multiple=True, metavar="T", help="A new special token; may be given again.")
@click.option("--from", "files", multiple=True, type=RegularFile(), metavar="FILE",
              help="Text to learn further merges from; may be given again.")  # fmt: skip
@run_option
@click.option("--vocab-size", type=int, help="All ids together, old and new; with --from or --run.")
@click.option("--tie-rule", help="Default: that of the first training.")
@click.option("--min-frequency", default=2, show_default=True, help="Rarer pairs are never merged.")
@click.option("--max-token-bytes", type=int, help="Longer tokens are never made.")
@click.option("--name", default="tokenizer", show_default=True, help="Name of the .tiktoken file.")
@click.option("--threads", type=click.IntRange(1), help="For counting; default: all cores. Never changes the result.")
@text_field
@as_json
@guarded
@compiled
def extend(folder: Path, out: Path, tokens: tuple[str, ...], files: tuple[Path, ...], run: Path | None,
           vocab_size: int | None, tie_rule: str | None, min_frequency: int, max_token_bytes: int | None, name: str,
           threads: int | None, text_field: str, json_out: bool) -> None:  # fmt: skip
    """Continue a tokenizer: old ids stay what they are, new merges and then new special tokens take the ids behind.

    Merges are learned from files, or from the curated documents of a run (those with a clear licence).
    """
    from tokenizer.extend import Rules, extend_files, tie_rule_of

    if files and run:
        fail("give either --from or --run", USAGE)
    if out.resolve() == folder.resolve():
        fail(f"{out}: is the tokenizer itself; give another folder, the old one stays", USAGE)
    limits: dict[str, Any] = {"min_frequency": min_frequency, "max_token_bytes": max_token_bytes}
    try:
        if run:
            rules = Rules(tie_rule or tie_rule_of(folder), **limits)
            report = _from_run(folder, out, run, tokens, vocab_size, rules, name)
        else:
            report = extend_files(folder, out, paths=files, new_specials=tokens, vocab_size=vocab_size,
                                  tie_rule=tie_rule, name=name, text_field=text_field, threads=threads,
                                  **limits)  # fmt: skip
    except ValueError as error:
        fail(str(error), USAGE)
    if json_out:
        click.echo(json.dumps(report, ensure_ascii=False))
    else:
        _say(report, out)


def _say(report: dict[str, Any], out: Path) -> None:
    for skipped in report.get("skipped_records", ()):
        click.echo(f"skipped {skipped['file']}: {skipped['record']}: {skipped['reason']} {skipped['detail']}", err=True)
    for export, reason in report["refused"].items():
        click.echo(f"not exported: {export}: {reason}", err=True)
    if report["shortfall"]:
        click.echo(report["shortfall"], err=True)
    extension = report["extension"]
    old, new = extension["from"], len(extension["new_special_tokens"])
    click.echo(
        f"{old['vocab_size']:,} ids, {extension['new_merges']:,} new merges, {new:,} new special tokens: "
        f"{report['vocab_size']:,} ids; from {old['vocabulary_hash']} to {report['vocabulary_hash']}; {out}"
    )


def _from_run(
    folder: Path, out: Path, run: Path, tokens: tuple[str, ...], vocab_size: int | None, rules: Rules, name: str
) -> dict[str, Any]:
    from pipeline.hashing import json_hash
    from pipeline.manifest import read_manifest
    from tokenizer.counts import merge_counts
    from tokenizer.export import check_name
    from tokenizer.extend import check_extension, write_extension
    from tokenizer.trainer import check_limits, check_specials

    check_name(name)
    old = load(folder)
    if vocab_size is None:
        fail("--run needs --vocab-size: how many ids there shall be", USAGE)
    specials = check_specials([*old.specials, *tokens])
    check_limits(rules.tie_rule, rules.min_frequency, rules.max_token_bytes, rules.max_piece_bytes)
    check_extension(old, tokens, vocab_size)
    dropped: dict[str, int] = {}
    parts: list[pa.Table] = []
    for counts in _counted(run, old, specials, dropped):
        parts.append(counts)
        if len(parts) == _MERGED_AT_ONCE:
            parts = [merge_counts(parts)]
    manifest = read_manifest(run, "curated")
    facts = {
        "curated_manifest": json_hash(manifest),
        "dropped": dict(sorted(dropped.items())),
    }
    return write_extension(folder, out, merge_counts(parts), tokens, vocab_size, rules, name, facts)


def _counted(run: Path, old: Tokenizer, specials: tuple[str, ...], dropped: dict[str, int]) -> Iterator[pa.Table]:
    """Counts of the run's curated documents, batch by batch, as its own tokenizer counts them."""
    import pyarrow as pa

    from stages.train_tokenizer import TokenizerParams, TrainTokenizer

    settings = TokenizerParams.model_validate(
        {
            "pattern": old.pattern.regex if old.pattern.name == "custom" else old.pattern.name,
            "special_tokens": specials,
            "normalization": old.normalization,
        }
    )
    for rows in curated_rows(run, ("doc_id", "source", "license", "text", "placeholders")):
        counts, facts = TrainTokenizer.each(pa.table(rows), settings)
        for reason, number in facts["dropped"].items():
            dropped[reason] = dropped.get(reason, 0) + number
        yield counts
