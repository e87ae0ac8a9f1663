"""Queries of a user over a run: they read, and write nothing.

Three guards, each enough for the usual case: the database is opened read-only; only statements that ask are let
through (`COPY … TO` may write any file beside a read-only database); and DuckDB may open no file but those of the run
folder, and what the user names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import duckdb

_ASKING: Final = frozenset(
    {"select", "from", "with", "values", "table", "describe", "desc", "show", "summarize", "pivot", "unpivot", "("}
)
_ASKED: Final = ", ".join(sorted(word.upper() for word in _ASKING if word.isalpha()))


class QueryError(Exception):
    """A query that is not one question."""


def read_only(db: duckdb.DuckDBPyConnection, root: Path, query: str, also: Sequence[Path] = ()) -> None:
    """Check a query, and let its connection (of `report.views.connect`) do nothing else than read from now on.

    also: files and folders beside the run folder that it may read. Raises QueryError for what is no single question,
    duckdb.Error for what is no SQL.
    """
    check(db, query)
    folders = [root.resolve(), *(path.resolve() for path in also if path.is_dir())]
    db.execute("SET allowed_directories = ?", [[f"{folder}/" for folder in folders]])
    db.execute("SET allowed_paths = ?", [[str(path.resolve()) for path in also if not path.is_dir()]])
    db.execute("SET enable_external_access = false")
    db.execute("SET lock_configuration = true")


def check(db: duckdb.DuckDBPyConnection, query: str) -> None:
    """Raises QueryError unless `query` is one statement that only asks; duckdb.Error where it is no SQL."""
    statements = db.extract_statements(query)
    if len(statements) != 1:
        said = "the query is empty" if not statements else f"these are {len(statements)} queries; give one"
        raise QueryError(f"{said}: SELECT … FROM a view of the run")
    word, rest = _first_word(query)
    if word == "explain":  # EXPLAIN ANALYZE executes what it explains
        check(db, _explained(rest))
    elif word not in _ASKING:
        raise QueryError(
            f"{word.upper()} is no question, and evidence is only read: use {_ASKED} or EXPLAIN; "
            "`--out FILE` writes a result, `--read PATH` lets a query read other files"
        )


def _first_word(query: str) -> tuple[str, str]:
    """The first word (or sign) of a statement in lower case, and what stands behind it; comments are passed over."""
    data = query.encode()  # the starts of tokens count bytes
    starts = [start for start, kind in duckdb.tokenize(query) if kind != duckdb.token_type.comment]
    if not starts:
        return "", ""
    text = data[starts[0] :].decode()
    found = re.match(r"[A-Za-z_]+|.", text, re.S)
    assert found is not None
    return found[0].lower(), text[found.end() :]


def _explained(rest: str) -> str:
    """What EXPLAIN explains: without ANALYZE or options in brackets, where a statement follows these."""
    word, behind = _first_word(rest)
    if word == "analyze":
        return behind
    options, _, statement = behind.partition(")")
    return statement if word == "(" and _first_word(options)[0] in ("analyze", "format") else rest
