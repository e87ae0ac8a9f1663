"""`curate init`: look at files and write a commented config that runs."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import click

from curate.cli import FAILED, USAGE, as_json, fail, guarded


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="DIR [FILE]...")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Default: curate.yaml in DIR.")
@click.option("--name", metavar="NAME", help="Name of the run; default: the folder's.")
@click.option(
    "--license", "license_id", metavar="SPDX", help="The licence that holds for all files, such as CC-BY-4.0."
)
@click.option("--force", is_flag=True, help="Write over a config that is there.")
@as_json
@guarded
def init(paths: tuple[Path, ...], out: Path | None, name: str | None, license_id: str | None, force: bool,
         json_out: bool) -> None:  # fmt: skip
    """Look at the files in DIR (and at FILEs) and write a config for them; it asks nothing and changes no file."""
    from curate.starting import config_text, source_names
    from stages.survey import survey

    license_id = _licence(license_id)
    if name is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        fail(f"--name {name!r}: use letters, digits, '.', '_' and '-', a letter or digit first", USAGE)
    out = out or _folder(paths) / "curate.yaml"
    if out.exists() and not force:
        fail(f"{out} is there already: give another file with --out, or --force to write over it", USAGE)
    if not out.parent.is_dir():
        fail(f"{out.parent}: no such folder for the config", USAGE)
    found = survey(paths, frozenset({out.resolve()}))
    if not found.groups:
        left_out = "".join(f"\n  {path}: {reason}" for path, reason in found.skipped)
        fail(f"nothing to read in {', '.join(map(str, paths))}: no file there can be a source{left_out}", FAILED)
    out.write_text(config_text(found, out, name or _name(paths), license_id), encoding="utf-8", newline="\n")
    sources = [
        {"name": source, "format": group.kind.format, "files": len(group.files), "bytes": group.bytes}
        for source, group in zip(source_names(found.groups), found.groups, strict=True)
    ]
    if json_out:
        skipped = [{"file": str(path), "reason": reason} for path, reason in found.skipped]
        click.echo(json.dumps({"config": str(out), "sources": sources, "skipped": skipped}, ensure_ascii=False))
        return
    for source in sources:
        click.echo(f"  {source['name']}: {source['files']} files ({source['format']})")
    for path, reason in found.skipped:
        click.echo(f"  left out {path}: {reason}")
    if license_id is None and any(not g.kind.fields or not g.kind.fields.license for g in found.groups):
        click.echo(f"no licence is known: fill in the `license:` lines of {out}, else the run keeps nothing of them")
    click.echo(f"wrote {out}; now: curate run {out}")


def _licence(license_id: str | None) -> str | None:
    from stages.license import canonical

    try:
        return None if license_id is None else canonical(license_id)
    except ValueError as error:
        fail(f"--license: {error}", USAGE)


def _folder(paths: tuple[Path, ...]) -> Path:
    """The first folder that was given, else the folder that all files have in common."""
    folder = next((p for p in paths if p.is_dir()), None)
    return folder or Path(os.path.relpath(os.path.commonpath([p.resolve().parent for p in paths])))


def _name(paths: tuple[Path, ...]) -> str:
    """A run's name from the folder's."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", _folder(paths).resolve().name).strip("-._")
    return plain or "corpus"
