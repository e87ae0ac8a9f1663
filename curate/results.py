"""The rows of a query as a table, CSV, JSON lines, Markdown or Parquet, on the terminal or in a file."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import duckdb

FORMATS: Final = ("table", "csv", "json", "markdown")
CELL: Final = 200
"""Characters of a value that a table on a terminal shows."""

_ENDINGS: Final = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".md": "markdown",
                   ".txt": "table", ".parquet": "parquet"}  # fmt: skip
_ROWS: Final = 1000
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")


def format_of(path: Path) -> str | None:
    """The format that a file's ending asks for."""
    return _ENDINGS.get(path.suffix.lower())


def write(rows: duckdb.DuckDBPyConnection, form: str, out: IO[str], terminal: bool = False) -> int:
    """Write the rows of an executed query as text; returns how many values were cut (on a terminal alone)."""
    names = distinct([column[0] for column in rows.description or ()])
    if form == "table":
        return _table(names, rows.fetchall(), out, terminal)
    writers: dict[str, Callable[[list[str], Iterator[Sequence[Any]], IO[str]], None]] = {
        "csv": _csv, "json": _json, "markdown": _markdown
    }  # fmt: skip
    writers[form](names, _rows(rows), out)
    return 0


def write_file(db: duckdb.DuckDBPyConnection, query: str, form: str, path: Path) -> None:
    """Execute a query and write its rows to a file, which is there whole or not at all."""
    building = path.with_name(f".tmp-{os.getpid()}-{path.name}")
    try:
        if form == "parquet":
            _parquet(db.sql(query), building)
        else:
            with open(building, "w", encoding="utf-8", newline="\n") as out:
                write(db.execute(query), form, out)
        building.replace(path)
    finally:
        building.unlink(missing_ok=True)


def distinct(names: Sequence[str]) -> list[str]:
    """Names of columns, those that stand twice numbered: a JSON object has each once.

    >>> distinct(["a", "b", "a"])
    ['a', 'b', 'a_1']
    """
    found: list[str] = []
    for name in names:
        numbered = (f"{name}_{n}" for n in range(1, len(names) + 1))
        found.append(name if name not in found else next(n for n in numbered if n not in found and n not in names))
    return found


def _rows(cursor: duckdb.DuckDBPyConnection) -> Iterator[Sequence[Any]]:
    while some := cursor.fetchmany(_ROWS):
        yield from some


def _table(names: list[str], rows: list[Any], out: IO[str], terminal: bool) -> int:
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        shown.add_column(name, overflow="fold")
    cut = 0
    for row in rows:
        cells = ["NULL" if value is None else str(value) for value in row]
        if terminal:
            cut += sum(len(cell) > CELL for cell in cells)
            cells = [_one_line(cell if len(cell) <= CELL else cell[: CELL - 1] + "…") for cell in cells]
        shown.add_row(*cells)
    width = None if terminal else 10_000  # a pipe has no width: nothing is folded
    Console(file=out, highlight=False, markup=False, width=width).print(shown)
    return cut


def _one_line(cell: str) -> str:
    """Line ends as a sign, other control characters spelled out: a text must not steer the terminal."""
    return _CONTROL.sub(lambda m: m[0].encode("unicode_escape").decode("ascii"), cell.replace("\n", "⏎"))


def _csv(names: list[str], rows: Iterator[Sequence[Any]], out: IO[str]) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_plain(value) for value in row] for row in rows)


def _json(names: list[str], rows: Iterator[Sequence[Any]], out: IO[str]) -> None:
    from report.views import as_json

    for row in rows:
        out.write(as_json(dict(zip(names, row, strict=True))) + "\n")


def _markdown(names: list[str], rows: Iterator[Sequence[Any]], out: IO[str]) -> None:
    out.write(f"| {' | '.join(map(_cell, names))} |\n|{'---|' * len(names)}\n")
    for row in rows:
        out.write(f"| {' | '.join(_cell(_plain(value)) for value in row)} |\n")


def _cell(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("|", "\\|")
    return re.sub("\r\n|\r|\n", "<br>", escaped)


def _plain(value: Any) -> str:
    """A value as text: nothing for NULL, bytes in hex, lists and maps as JSON."""
    from report.views import as_json

    if value is None:
        return ""
    if isinstance(value, (list, tuple, dict)):
        return as_json(value)
    return value.hex() if isinstance(value, bytes) else str(value)


def _parquet(rows: duckdb.DuckDBPyRelation, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    reader = rows.to_arrow_reader(100_000)
    names = distinct(reader.schema.names)
    schema = pa.schema([field.with_name(name) for field, name in zip(reader.schema, names, strict=True)])
    with pq.ParquetWriter(path, schema) as writer:
        for batch in reader:
            writer.write_batch(batch.rename_columns(names))
