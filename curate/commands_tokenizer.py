"""`curate tokenizer …`: train from plain files, encode, decode, explain, verify, export. Works without a run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from curate.cli import RegularFile, as_json, fail, guarded
from curate.commands_compare import compare, evaluate
from curate.commands_extend import extend
from curate.tokenizer_inputs import compiled, folder, load

FAILED, USAGE = 1, 2


@click.group()
def tokenizer() -> None:
    """Train, use and check tokenizers."""


@tokenizer.command()
@click.argument("files", nargs=-1, required=True, type=RegularFile())
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder to write.")
@click.option("--vocab-size", required=True, type=int, help="256 bytes, merges and special tokens together.")
@click.option("--pattern", default="o200k", show_default=True, help="Pre-tokenisation pattern: a name or a regex.")
@click.option("--special", "specials", multiple=True, metavar="T", help="A special token; may be given again.")
@click.option("--tie-rule", default="smallest_ids", show_default=True, help="smallest_ids, cs336 or huggingface.")
@click.option("--min-frequency", default=2, show_default=True, help="Rarer pairs are never merged.")
@click.option("--max-token-bytes", type=int, help="Longer tokens are never made.")
@click.option(
    "--normalization",
    default="none",
    show_default=True,
    help="none, NFC or NFKC, before pieces are cut; with these a text decodes to its normalised form.",
)
@click.option("--pad-to-multiple", default=1, show_default=True, help="Round the ids up; the rest is reserved.")
@click.option("--threads", type=click.IntRange(1), help="For counting; default: all cores. Never changes the result.")
@click.option("--text-field", default="text", show_default=True, help="Field of JSON Lines and Parquet files.")
@as_json
@guarded
@compiled
def train(files: tuple[Path, ...], out: Path, vocab_size: int, pattern: str, specials: tuple[str, ...], tie_rule: str,
          min_frequency: int, max_token_bytes: int | None, normalization: str, pad_to_multiple: int,
          threads: int | None, text_field: str, json_out: bool) -> None:  # fmt: skip
    """Train a tokenizer from text, JSON Lines or Parquet FILES; the whole document is the unit.

    Declared special strings in the text are cut out and never counted. No licence is asked for here: it is your text.
    """
    from tokenizer.train_files import train_files

    try:
        report = train_files(
            files,
            out,
            vocab_size=vocab_size,
            pattern=pattern,
            specials=specials,
            tie_rule=tie_rule,
            min_frequency=min_frequency,
            max_token_bytes=max_token_bytes,
            text_field=text_field,
            normalization=normalization,
            pad_to_multiple=pad_to_multiple,
            threads=threads,
        )
    except ValueError as error:
        fail(str(error), USAGE)
    if json_out:
        click.echo(json.dumps(report, ensure_ascii=False))
        return
    for skipped in report["skipped_records"]:
        click.echo(f"skipped {skipped['file']}: {skipped['record']}: {skipped['reason']} {skipped['detail']}", err=True)
    for export, reason in report["refused"].items():
        click.echo(f"not exported: {export}: {reason}", err=True)
    if report["shortfall"]:
        click.echo(report["shortfall"], err=True)
    training = report["training"]
    click.echo(
        f"{training['reached']:,} tokens from {training['documents']:,} documents, {training['bytes']:,} bytes, "
        f"{training['distinct_pieces']:,} distinct pieces; vocabulary hash {report['vocabulary_hash']}; {out}"
    )


@tokenizer.command()
@folder
@click.argument("text", required=False)
@click.option(
    "--allow-special", multiple=True, metavar="T", help="Take this special token in the text as one (or: all)."
)
@as_json
@guarded
@compiled
def encode(folder: Path, text: str | None, allow_special: tuple[str, ...], json_out: bool) -> None:
    """Ids of TEXT, or of standard input as it is. Special tokens in it are ordinary text unless allowed."""
    loaded = load(folder)
    try:
        if text is None and not allow_special:
            ids = loaded.encode_bytes(sys.stdin.buffer.read())
        else:
            given = sys.stdin.read() if text is None else text
            ids = loaded.encode(given, "all" if "all" in allow_special else frozenset(allow_special))
    except ValueError as error:
        fail(str(error), USAGE)
    click.echo(json.dumps(ids) if json_out else " ".join(map(str, ids)))


@tokenizer.command()
@folder
@click.argument("ids", nargs=-1)
@guarded
def decode(folder: Path, ids: tuple[str, ...]) -> None:
    """The exact bytes of IDS (or of ids on standard input, separated by white space)."""
    loaded = load(folder)
    words = ids or tuple(sys.stdin.read().replace("[", " ").replace("]", " ").replace(",", " ").split())
    for word in words:
        if not (word.isascii() and word.isdigit() and len(word) < 20):
            fail(f"{word[:40]!r} is no id; ids are whole numbers from 0 to {loaded.vocab_size - 1}", USAGE)
    try:
        sys.stdout.buffer.write(loaded.decode_bytes([int(word) for word in words]))
    except ValueError as error:
        fail(str(error), USAGE)


@tokenizer.command()
@folder
@click.argument("text")
@as_json
@guarded
@compiled
def explain(folder: Path, text: str, json_out: bool) -> None:
    """The pieces of TEXT, their tokens with ranks, and the merges in the order in which they happen."""
    from tokenizer.explain import explain

    loaded = load(folder)
    try:
        found = explain(loaded, text)
    except ValueError as error:
        fail(str(error), USAGE)
    if json_out:
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    for piece in found:
        tokens = " ".join(f"{t['id']}:{t['text']!r}" for t in piece["tokens"])
        click.echo(f"piece {piece['piece']!r} -> {tokens}")
        for merge in piece["merges"]:
            click.echo(f"  rank {merge['rank']:>6}: {merge['left']} + {merge['right']} -> {merge['symbols']}")


@tokenizer.command()
@folder
@as_json
@guarded
@compiled
def verify(folder: Path, json_out: bool) -> None:
    """Check hashes and exports, and that every id comes back from its bytes or is listed as unreachable."""
    from tokenizer.verify import verify

    load(folder)
    found = verify(folder)
    if json_out:
        click.echo(json.dumps(found, ensure_ascii=False))
    else:
        click.echo(
            f"{found['ids']:,} ids: {found['returning']:,} come back, {found['special']} special, "
            f"{len(found['unreachable'])} unreachable; sound: {', '.join(found['files']) or 'no further file'}"
        )
        for id_, reason in found["unreachable"].items():
            click.echo(f"unreachable {id_}: {reason}")
        for library, classes in found["unicode_differences"].items():
            click.echo(f"{library} decides some characters otherwise: {', '.join(classes)} (--json lists them)")
    for problem in found["problems"]:
        click.echo(problem, err=True)
    if found["problems"]:
        sys.exit(FAILED)


@tokenizer.command()
@folder
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder to write.")
@click.option("--name", default="tokenizer", show_default=True, help="Name of the .tiktoken file.")
@as_json
@guarded
@compiled
def export(folder: Path, out: Path, name: str, json_out: bool) -> None:
    """Write the exports again, each compared with this tokenizer in its own library first."""
    from tokenizer.export import write_exports

    try:
        done = write_exports(load(folder), out, name)
    except ValueError as error:
        fail(str(error), USAGE)
    if json_out:
        written = [path.name for path in done.paths]
        facts = {"files": written, "refused": done.refused, "unicode_differences": done.unicode_differences}
        click.echo(json.dumps(facts, ensure_ascii=False))
        return
    for path in done.paths:
        click.echo(str(path))
    for label, reason in done.refused.items():
        click.echo(f"not exported: {label}: {reason}", err=True)


tokenizer.add_command(compare)
tokenizer.add_command(evaluate)
tokenizer.add_command(extend)
