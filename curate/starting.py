"""The text of a first config, from what a survey found: every setting with a comment, and it runs as it is."""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from stages.survey import Group, Survey, ending

FOLDERS: Final = 10
"""Folders that are named one by one; of more, everything below their common top folder is meant where that is so."""

FEW: Final = 0.02
"""Share of unusable files that a glob may mean too; a run stops at 0.05 (`max_quarantine_share`)."""

ALLOWED: Final = ("CC0-1.0", "CC-BY-4.0", "MIT", "Apache-2.0")
"""What the licence stage of a config allows where the user has not said a licence."""

_FORMATS: Final = {
    "jsonl": "JSON Lines", "parquet": "Parquet", "csv": "CSV", "html": "HTML", "warc": "web archives",
    "text": "one text a file", "archive": "archives: a source reads the files inside",
}  # fmt: skip


def config_text(found: Survey, config: Path, name: str, license: str | None) -> str:
    """What to write into the file `config`. `license`: SPDX id that holds for all files, where the user gave one."""
    names = source_names(found.groups)
    skipped = frozenset(os.path.abspath(path) for path, _ in found.skipped)
    lines = [
        "# Written by `curate init`. Everything may be changed; docs/configuration.md lists all settings.",
        f"name: {name}",
        "",
        "sources:   # the order counts: of two duplicates the one from the earlier source is kept",
    ]
    for source, group in zip(names, found.groups, strict=True):
        lines += [*_source(source, group, patterns(group, config, skipped), license), ""]
    lines += _stages(license)
    if found.skipped:
        lines += ["", "# Left out:"]
        lines += [f"#   {_relative(path, config.parent)!r}: {reason}" for path, reason in found.skipped]
    return "\n".join(lines) + "\n"


def source_names(groups: Sequence[Group]) -> list[str]:
    """A name for each group, from its ending; distinct."""
    names: list[str] = []
    for group in groups:
        plain = re.sub(r"[^A-Za-z0-9]+", "-", group.kind.ending).strip("-") or "files"
        numbered = (f"{plain}-{n}" for n in range(2, len(groups) + 2))
        names.append(plain if plain not in names else next(n for n in numbered if n not in names))
    return names


def _source(name: str, group: Group, paths: list[str], license: str | None) -> Iterator[str]:
    fields = group.kind.fields
    yield f"  # {_count(len(group.files), 'file')}, {_size(group.bytes)}; {_FORMATS[group.kind.format]}"
    others = {label: n for label, n in sorted(group.encodings.items()) if label != "utf-8"}
    if others:
        seen = ", ".join(f"{label} in {_count(n, 'file')}" for label, n in others.items())
        yield f"  # not UTF-8: {seen}; that is a guess, `curate doctor FILE` tells more, `encoding: LABEL` settles it"
    yield f"  - name: {name}"
    if len(paths) == 1:
        yield f"    path: {_quoted(paths[0])}"
    else:
        yield "    path:"
        yield from (f"      - {_quoted(path)}" for path in paths)
    if fields is not None:
        yield f"    text_field: {_quoted(fields.text)}   # {fields.mean_length:,} characters on average"
        if fields.id is not None:
            yield f"    id_field: {_quoted(fields.id)}   # each record has its own: it becomes part of doc_id"
        if fields.url not in (None, "url"):
            yield f"    url_field: {_quoted(fields.url)}"
        if fields.title not in (None, "title"):
            yield f"    title_field: {_quoted(fields.title)}"
    if fields is not None and fields.license is not None:
        yield f"    license_field: {_quoted(fields.license)}   # each record says its own licence"
    elif license is not None:
        yield f"    license: {license}"
    else:
        yield "    # license: CC-BY-4.0   # FILL IN the SPDX id: without it all of this is dropped (license_unknown)"


def _stages(license: str | None) -> list[str]:
    allow = ", ".join([license] if license else ALLOWED)
    return [
        "stages:",
        "  - ingest: {}",
        f"  - license: {{allow: [{allow}]}}   # SPDX ids that may enter the corpus",
        "  - language: {}   # names each document's language; keep only some with {keep: [en, zh]}",
        "  # - url_blocklist: {domain_files: [blocked.txt]}   # drops documents by their address",
        "  - gopher: {preset: gopher}   # heuristics on words, lines and repetition; presets cs336, c4, fineweb too",
        '  # - perplexity: {reference: [{path: "good/*.txt", language: en}]}   # needs good texts of each language',
        "  - exact_dedup: {}",
        "  - minhash: {threshold: 0.8}   # near-duplicates: the least Jaccard of word 5-grams",
        "  # - normalise: {}   # Unicode form, line ends, invisible characters",
        "  - pii: {}   # personal data become placeholders such as <|email|>",
        "",
        "tokenizer:   # take it out to end with the curated shards",
        "  vocab_size: 32000",
        "  pattern: o200k",
        '  special_tokens: ["<|endoftext|>"]',
    ]


def patterns(group: Group, config: Path, skipped: frozenset[str] = frozenset()) -> list[str]:
    """Paths and globs, relative to the folder of `config`, that mean the group's files.

    A glob means no other file, not the config itself either, but for a few of `skipped` among many texts: each of these
    is one row of quarantine.
    """
    base = config.parent
    files = {os.path.abspath(p) for p in group.files}
    walked = {os.path.abspath(p) for p in group.walked}
    taken: list[str] = []
    covered: set[str] = set()
    for pattern in _globs(group, base):
        means = {os.path.abspath(p) for p in glob.glob(str(base / pattern), recursive=True) if os.path.isfile(p)}
        others = means - walked
        if "/" not in pattern and fnmatchcase(config.name, pattern):
            continue
        few = group.kind.format in ("text", "html") and others <= skipped and len(others) <= FEW * len(means)
        if means and (few or not others) and not means & files <= covered:
            taken.append(pattern)
            covered |= means
    return taken + [glob.escape(_relative(Path(p), base)) for p in sorted(files - covered)]


def _globs(group: Group, base: Path) -> Iterator[str]:
    """Globs that may mean the group's files, the widest first."""
    places = sorted({(_relative(p.parent, base), ending(p.name)) for p in group.files if ending(p.name)})
    if len({folder for folder, _ in places}) > FOLDERS:
        tops = sorted({(folder.split("/")[0], suffix) for folder, suffix in places})
        yield from (f"{glob.escape(top)}/**/*{glob.escape(suffix)}" for top, suffix in tops if top not in (".", ".."))
    for folder, suffix in places:
        yield ("" if folder == "." else glob.escape(folder) + "/") + "*" + glob.escape(suffix)


def _relative(path: Path, base: Path) -> str:
    return Path(os.path.relpath(path, base)).as_posix()


def _quoted(text: str | None) -> str:
    """A YAML scalar: plain where that is safe, else in double quotes."""
    assert text is not None
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_./-]*", text) and text.lower() not in _YAML_WORDS
    return text if plain else json.dumps(text, ensure_ascii=False)


_YAML_WORDS: Final = frozenset({"yes", "no", "on", "off", "true", "false", "null", "y", "n"})


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" + ("" if n == 1 else "s")


def _size(count: int) -> str:
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1e6:,.1f} MB" if count >= 100_000 else f"{count / 1e3:,.1f} kB"
