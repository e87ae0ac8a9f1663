"""`curate.duckdb`: views over a run's Parquet files, a public contract (columns may be added, not renamed).

The file holds nothing that cannot be rebuilt from the run folder, and no key or hash depends on it. DuckDB resolves
paths in stored views against the working directory, so they are stored absolute, and the file is made again when the
folder has moved or a stage has changed.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.documents import DOC_ID, EDITS, QUARANTINE, VERDICT
from pipeline.hashing import json_hash
from pipeline.manifest import read_manifest
from pipeline.runner import read_run

NAME = "curate.duckdb"
VERSION = 2  # of the views' definitions

STAGES = pa.schema(
    [
        ("position", pa.int64()),
        ("stage", pa.string()),
        ("kind", pa.string()),
        ("documents_in", pa.int64()),
        ("kept", pa.int64()),
        ("dropped", pa.int64()),
        ("quarantined", pa.int64()),
        ("bytes_in", pa.int64()),
        ("bytes_kept", pa.int64()),
        ("seconds", pa.float64()),
        ("key", pa.string()),
    ]
)
SOURCES = pa.schema(
    [
        ("source", pa.string()),
        ("version", pa.string()),
        ("license", pa.string()),
        ("attribution", pa.string()),
        ("redistribution", pa.bool_()),
        ("weight", pa.float64()),
        ("files", pa.int64()),
        ("records", pa.int64()),
        ("documents", pa.int64()),
        ("bytes", pa.int64()),
    ]
)
CLUSTERS = pa.schema(
    [
        DOC_ID,
        ("kept_id", pa.string()),
        ("stage", pa.string()),
        ("jaccard", pa.float64()),
        ("containment", pa.float64()),
        ("run", pa.string()),  # the earlier run that has the kept document, NULL: this one
    ]
)
PIECES = pa.schema(
    [
        ("piece", pa.binary()),
        ("source", pa.string()),
        ("license", pa.string()),
        ("count", pa.int64()),
        ("documents", pa.int64()),
    ]
)


class NoRunError(Exception):
    """A folder that holds no run."""


def manifests(root: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """(entry of run.json, manifest) of each finished stage, in order. Raises NoRunError for a folder without a run."""
    listed = read_run(root).get("stages", [])
    found = [(entry, read_manifest(root, entry["stage"])) for entry in listed]
    if not found:
        raise NoRunError(f"{root} holds no run (no run.json with a finished stage); start one with: curate run CONFIG")
    return [(entry, manifest) for entry, manifest in found if manifest is not None]


def connect(root: Path) -> duckdb.DuckDBPyConnection:
    """A read-only connection to the run's database, made or made again where needed.

    Where the folder takes no file (a full or read-only disk) the same views are made in memory.
    """
    root = root.resolve()
    path = root / NAME
    listed = manifests(root)
    stamp = json_hash([VERSION, str(root), [m for _, m in listed], [e["seconds"] for e, _ in listed]])
    if _stamp(path) != stamp:
        try:
            _build(root, path, listed, stamp)
        except (OSError, duckdb.IOException):
            db = duckdb.connect()
            _fill(db, root, listed, stamp)
            return db
    return duckdb.connect(str(path), read_only=True)


def _stamp(path: Path) -> str | None:
    try:
        with duckdb.connect(str(path), read_only=True) as db:
            row = db.execute("SELECT stamp FROM built").fetchone()
            return None if row is None else str(row[0])
    except duckdb.Error:
        return None


def _build(root: Path, path: Path, listed: list[tuple[dict[str, Any], dict[str, Any]]], stamp: str) -> None:
    building = path.with_name(f".tmp-{os.getpid()}-{path.name}")
    try:
        building.unlink(missing_ok=True)
        with duckdb.connect(str(building)) as db:
            _fill(db, root, listed, stamp)
        building.replace(path)
    finally:
        with contextlib.suppress(OSError):
            building.unlink(missing_ok=True)


def _fill(
    db: duckdb.DuckDBPyConnection, root: Path, listed: list[tuple[dict[str, Any], dict[str, Any]]], stamp: str
) -> None:
    for statement in _views(root, listed):
        db.execute(statement)
    _tables(db, root, listed)
    db.execute("CREATE TABLE built AS SELECT ? AS stamp", [stamp])


def _views(root: Path, listed: list[tuple[dict[str, Any], dict[str, Any]]]) -> Iterator[str]:
    verdicts, edits, clusters = [], [], []
    curated = pieces = None
    for entry, manifest in listed:
        stage, files = entry["stage"], _Files(root, manifest)
        if entry["kind"] == "source":
            yield f"CREATE VIEW documents AS {_documents(files.below('documents'))}"
            yield f"CREATE VIEW quarantine AS {_select(files.below('quarantine'), QUARANTINE)}"
        if entry["kind"] == "editor":
            later = f"SELECT l.* REPLACE (d.record AS record) FROM ({_documents(files.below('documents'))}) l"
            yield f"CREATE VIEW {_quoted('documents_' + stage)} AS {later} LEFT JOIN documents d USING (doc_id)"
            edits.append(_select(files.below("edits"), EDITS, f"{_text(stage)} AS stage"))
        if entry["kind"] in ("judge", "editor"):
            verdicts.append(_select(files.below("verdicts"), [DOC_ID, *VERDICT], f"{_text(stage)} AS stage"))
        if entry["kind"] == "judge":
            yield f"CREATE VIEW {_quoted('measures_' + stage)} AS {_measures(files.below('measures'))}"
            clusters += [_clusters(f, stage) for f in files.named("state.parquet") if _has(f, "kept_id")]
        if entry["type"] == "curated":
            curated = files.below("")
        if entry["type"] == "tokenizer":
            pieces = files.below("counts")
    yield f"CREATE VIEW verdicts AS {_union(verdicts, [*_with_stage([DOC_ID, *VERDICT])])}"
    yield f"CREATE VIEW edits AS {_union(edits, [*_with_stage(EDITS)])}"
    yield f"CREATE VIEW clusters AS {_union(clusters, CLUSTERS)}"
    if curated:
        yield f"CREATE VIEW curated AS SELECT * FROM {_parquet(curated)}"
    yield f"CREATE VIEW pieces AS {_select(pieces or [], PIECES)}"


class _Files:
    """Paths of a stage's Parquet outputs, by the folder below the stage's."""

    def __init__(self, root: Path, manifest: dict[str, Any]) -> None:
        self.stage = manifest["stage"]
        self.paths = [o["path"] for o in manifest["outputs"] if o["path"].endswith(".parquet")]
        self.root = root

    def below(self, folder: str) -> list[str]:
        prefix = f"{self.stage}/{folder}/" if folder else f"{self.stage}/"
        return [str(self.root / p) for p in self.paths if p.startswith(prefix) and "/" not in p[len(prefix) :]]

    def named(self, name: str) -> list[str]:
        return [str(self.root / p) for p in self.paths if p == f"{self.stage}/{name}"]


def _tables(db: duckdb.DuckDBPyConnection, root: Path, listed: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """The narrow summaries are real tables: stages, sources, tokens."""
    rows, sources = [], []
    for entry, manifest in listed:
        counts = manifest["counts"]
        rows.append(
            {
                "position": entry["position"],
                "stage": entry["stage"],
                "kind": entry["kind"],
                **{k: counts[k] for k in ("documents_in", "kept", "bytes_in", "bytes_kept")},
                "dropped": sum(counts["dropped"].values()),
                "quarantined": sum(counts["quarantined"].values()),
                "seconds": entry["seconds"],
                "key": json_hash(manifest),
            }
        )
        sources += manifest.get("sources", [])
    for name, data, schema in (("stages", rows, STAGES), ("sources", sources, SOURCES)):
        db.register(
            "given", pa.Table.from_pylist([{f.name: r.get(f.name) for f in schema} for r in data], schema=schema)
        )
        db.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        db.unregister("given")
    tokens = root / "tokenizer" / "tokens.parquet"
    if any(entry["type"] == "tokenizer" for entry, _ in listed) and tokens.exists():
        db.execute("CREATE TABLE tokens AS SELECT * FROM read_parquet(?)", [str(tokens)])


def _documents(files: list[str]) -> str:
    return (
        "SELECT * EXCLUDE (metadata, filename, file_row_number), metadata::JSON AS metadata, "
        "parse_filename(filename, true) AS shard, file_row_number AS row "
        f"FROM {_parquet(files, 'filename = true, file_row_number = true')}"
    )


def _measures(files: list[str]) -> str:
    return f"SELECT * FROM {_parquet(files)}" if files else "SELECT NULL::VARCHAR AS doc_id WHERE false"


def _clusters(file: str, stage: str) -> str:
    run = "run" if _has(file, "run") else "NULL::VARCHAR AS run"
    return f"SELECT doc_id, kept_id, {_text(stage)} AS stage, jaccard, containment, {run} FROM {_parquet([file])}"


def _has(file: str, column: str) -> bool:
    return column in pq.read_schema(file).names


def _select(files: list[str], fields: Any, extra: str = "") -> str:
    columns = ", ".join(_quoted(f.name) for f in fields)
    if not files:
        return f"SELECT {_nulls(fields)}{', ' + extra if extra else ''} WHERE false"
    return f"SELECT {columns}{', ' + extra if extra else ''} FROM {_parquet(files)}"


def _union(selects: list[str], fields: Any) -> str:
    return " UNION ALL BY NAME ".join(selects) if selects else f"SELECT {_nulls(fields)} WHERE false"


def _with_stage(fields: Any) -> list[pa.Field]:
    return [*fields, pa.field("stage", pa.string())]


def _nulls(fields: Any) -> str:
    return ", ".join(f"NULL::{_sql_type(f.type)} AS {_quoted(f.name)}" for f in fields)


def _sql_type(t: pa.DataType) -> str:
    if pa.types.is_list(t):
        return _sql_type(t.value_type) + "[]"
    names = {"int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN", "binary": "BLOB"}
    return names.get(str(t), "VARCHAR")


def _parquet(files: list[str], options: str = "") -> str:
    listed = ", ".join(_text(f) for f in files)
    return f"read_parquet([{listed}]{', ' + options if options else ''})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def as_json(value: Any) -> str:
    """One line of JSON for a query's value that JSON itself does not know (bytes, dates)."""
    return json.dumps(_finite(value), ensure_ascii=False, default=lambda v: v.hex() if isinstance(v, bytes) else str(v))


def _finite(value: Any) -> Any:
    """The value with NaN and infinities, which JSON does not know, as null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, (list, tuple)) else value
