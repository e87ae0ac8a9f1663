"""What a worker does for one task: read shards, call a stage's pure function, publish the result.

Every function here is a task's `call`: `step(root, **arguments) -> Result`, with `root` the run folder.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.documents import DOC_ID, DOCUMENTS, EDITS, MEASURED, STORED, VERDICT
from pipeline.slices import by_shard
from pipeline.stage import Closing, Editor, Judge, Stage
from pipeline.storage import Output, intact, publish_folder, publish_table, read_rows, read_table
from pipeline.tasks import Result

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Need:
    """A column of an earlier judge's measures: its file for this shard, or None where there is no such judge."""

    column: str
    path: str | None
    measure: str


@dataclass(frozen=True)
class ShardInput:
    """What a step is given of one shard: its documents, which of them to look at (None: all), and columns it needs."""

    documents: str
    alive: bytes | None  # packed bits
    rows: int
    needs: tuple[Need, ...] = ()

    def mask(self) -> Mask:
        """True for the rows to look at."""
        if self.alive is None:
            return np.ones(self.rows, bool)
        return np.unpackbits(np.frombuffer(self.alive, np.uint8), count=self.rows).astype(bool)


@dataclass(frozen=True)
class StateInput:
    """The state a step is given: the whole file, or the rows that speak of its shard."""

    path: str
    rows: tuple[int, int] | None = None  # first row, number of rows

    def read(self, root: Path) -> pa.Table:
        return read_table(root / self.path) if self.rows is None else read_rows(root / self.path, *self.rows)


def prepare(root: Path, *, stage: type[Stage], params: Any, folder: str) -> Result:
    """Make a stage's artefact from its params alone."""
    outputs, summary = publish_folder(root, folder, lambda built: stage.prepare(params, built))
    return Result(outputs, summary)


def measure(
    root: Path,
    *,
    stage: type[Judge],
    params: Any,
    artefact: str | None,
    shard: ShardInput,
    previous: Output | None,
    output: str,
) -> Result:
    """Measure the rows of a shard; rows that an earlier file with the same settings has are taken over from it."""
    schema = stage.schema(params)
    wanted = shard.mask()
    ids = read_table(root / shard.documents, ["doc_id"])["doc_id"]
    have = np.zeros(shard.rows, bool)
    earlier: pa.Table | None = None
    if previous is not None and intact(root, previous):
        earlier = read_table(root / previous.path)
        have = earlier["measured"].to_numpy() & wanted
    new = wanted & ~have
    fresh = schema.empty_table()
    if new.any():
        documents = _documents(root, shard, new)
        fresh = _conform(stage.measure(documents, params, None if artefact is None else root / artefact), schema)
        if fresh.num_rows != int(new.sum()):
            raise ValueError(f"measured {fresh.num_rows} documents of {int(new.sum())}: one row each is needed")
    columns = _scatter(fresh, new, earlier.select(schema.names) if earlier is not None else None, have)
    table = pa.table([ids, pa.array(wanted), *columns], schema=pa.schema([DOC_ID, MEASURED, *_nullable(schema)]))
    return Result([publish_table(root, output, table)], {"measured": int(wanted.sum())})


def survey(
    root: Path, *, stage: type[Editor], params: Any, artefact: str | None, shard: ShardInput, output: str
) -> Result:
    """What an editor's `fit` must know of one shard."""
    table = stage.survey(_documents(root, shard, shard.mask()), params, None if artefact is None else root / artefact)
    return Result([publish_table(root, output, table)])


def fit(
    root: Path,
    *,
    stage: type[Judge] | type[Editor],
    params: Any,
    shards: tuple[tuple[str, str, str], ...],
    sources: tuple[str, ...],
    memory: int,
    output: str,
) -> Result:
    """Look at the whole corpus once; `shards` are (source, documents, measures or survey) in the order of their names.

    A state by document is stored shard after shard; the summary's `slices` say which rows are whose.
    """
    with tempfile.TemporaryDirectory(dir=root, prefix=".tmp-fit-") as workspace:
        state = stage.fit(Corpus(root, shards, sources, Path(workspace), memory), params)
        if not stage.state_by_document:
            return Result([publish_table(root, output, state.table)], state.summary)
        table, slices = by_shard(root, state.table, [documents for _, documents, _ in shards], memory, Path(workspace))
        return Result([publish_table(root, output, table)], state.summary | {"slices": slices})


def decide(
    root: Path,
    *,
    stage: type[Judge],
    params: Any,
    measures: str,
    source: str,
    state: StateInput | None,
    output: str,
) -> Result:
    """Verdicts of one shard from its measures; rows without measures get NULL."""
    table = read_table(root / measures)
    measured = table["measured"].to_numpy()
    rows = _measured_rows(table, source)
    given = None if state is None else state.read(root)
    verdicts = _checked(stage.decide(rows, given, params), rows.num_rows)
    columns = _scatter(verdicts, measured, None, np.zeros(len(measured), bool))
    return Result([publish_table(root, output, pa.table([table["doc_id"], *columns], schema=_with_id(VERDICT)))])


def edit(
    root: Path,
    *,
    stage: type[Editor],
    params: Any,
    artefact: str | None,
    state: StateInput | None,
    shard: ShardInput,
    outputs: tuple[str, str, str],
) -> Result:
    """The next generation of a shard: documents, edits, and verdicts aligned with the generation before."""
    alive = shard.mask()
    documents = _documents(root, shard, alive)
    given = None if state is None else state.read(root)
    result = stage.edit(documents, given, params, None if artefact is None else root / artefact)
    verdicts = _checked(result.verdicts, documents.num_rows)
    edited = _conform(result.documents, DOCUMENTS)
    if not edited["doc_id"].equals(documents["doc_id"]):
        raise ValueError(f"an editor gives back every document it was given ({documents.num_rows}), in the same order")
    new = stored(_without_record(edited.filter(verdicts["keep"])))
    ids = read_table(root / shard.documents, ["doc_id"])["doc_id"]
    columns = _scatter(verdicts, alive, None, np.zeros(len(alive), bool))
    published = [
        publish_table(root, outputs[0], new),
        publish_table(root, outputs[1], _conform(result.edits, EDITS)),
        publish_table(root, outputs[2], pa.table([ids, *columns], schema=_with_id(VERDICT))),
    ]
    return Result(published, {"edits": result.edits.num_rows})


def each(root: Path, *, stage: type[Closing], params: Any, shard: ShardInput, output: str) -> Result:
    """A closing step's table of one shard."""
    table, summary = stage.each(_documents(root, shard, shard.mask()), params)
    return Result([publish_table(root, output, table)], summary)


def finish(
    root: Path, *, stage: type[Closing], params: Any, parts: tuple[str, ...], folder: str, memory: int
) -> Result:
    """A closing step's final files, from the tables of all shards in the order of their names."""
    outputs, summary = publish_folder(
        root, folder, lambda built: stage.finish([root / p for p in parts], params, built, memory)
    )
    return Result(outputs, summary)


def stored(documents: pa.Table) -> pa.Table:
    """Documents (schema DOCUMENTS) with the UTF-8 length of their text (schema STORED)."""
    lengths = pc.cast(pc.binary_length(documents["text"]), pa.int64())
    return documents.append_column(STORED.field("bytes"), lengths).cast(STORED)


def _without_record(documents: pa.Table) -> pa.Table:
    """Line numbers stand in the first generation only, where they are kept right when records move."""
    at = documents.schema.get_field_index("record")
    empty = pa.array([""] * documents.num_rows, pa.string())
    return documents.set_column(at, DOCUMENTS.field("record"), empty)


class Corpus:
    """The whole corpus, as `fit` sees it (see `pipeline.stage.Fitting` and `Gathering`)."""

    def __init__(
        self,
        root: Path,
        shards: tuple[tuple[str, str, str], ...],
        sources: tuple[str, ...],
        workspace: Path,
        memory: int,
    ) -> None:
        self.root, self.shards, self.sources, self.workspace, self.memory = root, shards, sources, workspace, memory

    def measures(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        wanted = (
            None if columns is None else ["doc_id", "measured", *(c for c in columns if c not in ("doc_id", "source"))]
        )
        for source, _, path in self.shards:
            yield _measured_rows(read_table(self.root / path, wanted), source)

    def surveys(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        for source, _, path in self.shards:
            table = read_table(self.root / path, columns)
            yield table.add_column(0, "source", pa.array([source] * table.num_rows, pa.string()))

    def documents(self, wanted: Mask) -> Iterator[pa.Table]:
        first = 0
        for _, documents, measures in self.shards:
            rows = np.flatnonzero(read_table(self.root / measures, ["measured"])["measured"].to_numpy())
            chosen = rows[wanted[first : first + len(rows)]]
            first += len(rows)
            if len(chosen):
                yield read_table(self.root / documents, DOCUMENTS.names).take(pa.array(chosen))


def _measured_rows(table: pa.Table, source: str) -> pa.Table:
    """Rows that have measures: doc_id, source, measure columns."""
    rows = table.filter(table["measured"]).drop_columns(["measured"])
    return rows.add_column(1, "source", pa.array([source] * rows.num_rows, pa.string()))


def _documents(root: Path, shard: ShardInput, rows: Mask) -> pa.Table:
    table = read_table(root / shard.documents, _columns(root / shard.documents))
    if not rows.all():
        table = table.filter(pa.array(rows))
    for need in shard.needs:
        if need.path is None:
            table = table.append_column(need.column, pa.nulls(table.num_rows, pa.string()))
            continue
        given = read_table(root / need.path, ["doc_id", need.measure])
        at = pc.index_in(table["doc_id"], given["doc_id"].combine_chunks())
        table = table.append_column(need.column, given[need.measure].take(at))
    return table


def _columns(path: Path) -> list[str]:
    """The columns a stage may see: all but those that only the runner uses."""
    import pyarrow.parquet as pq

    return [n for n in pq.read_schema(path).names if n != "bytes"]


def _scatter(fresh: pa.Table, new: Mask, earlier: pa.Table | None, have: Mask) -> list[pa.ChunkedArray]:
    """Columns over all rows: `fresh` in order where `new`, the same row of `earlier` where `have`, NULL elsewhere."""
    at = np.full(len(new), -1, np.int64)
    at[new] = np.arange(int(new.sum()))
    whole = fresh
    if earlier is not None and have.any():
        at[have] = fresh.num_rows + np.flatnonzero(have)
        whole = pa.concat_tables([fresh, earlier.cast(fresh.schema)])
    if len(at) == whole.num_rows and (at == np.arange(len(at))).all():
        return list(whole.columns)
    taken = whole.combine_chunks().take(pa.array(at, mask=at < 0))
    return list(taken.columns)


def _conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The declared columns with their declared types, in their order."""
    missing = [n for n in schema.names if n not in table.column_names]
    if missing:
        raise ValueError(f"the stage left out the columns {', '.join(missing)}")
    return table.select(schema.names).cast(schema)


def _checked(table: pa.Table, rows: int) -> pa.Table:
    """Verdicts of so many documents, each of them keep or drop, and each drop under a rule."""
    verdicts = _conform(table, VERDICT)
    if verdicts.num_rows != rows or verdicts["keep"].null_count:
        decided = verdicts.num_rows - verdicts["keep"].null_count
        raise ValueError(f"decided {decided} documents of {rows}: each needs a verdict, keep or drop")
    dropped = verdicts.filter(pc.invert(verdicts["keep"]))["rule"]
    if dropped.null_count or pc.any(pc.equal(dropped, "")).as_py():
        raise ValueError("dropped a document without naming the rule")
    return verdicts


def _nullable(schema: pa.Schema) -> list[pa.Field]:
    return [f.with_nullable(True) for f in schema]


def _with_id(schema: pa.Schema) -> pa.Schema:
    return pa.schema([DOC_ID, *schema])


def copy_outputs(root: Path, other: Path, outputs: list[Output]) -> None:
    """Take finished files over from another run folder."""
    from pipeline.storage import publish

    for output in outputs:
        publish(root / output.path, lambda p, o=output: shutil.copyfile(other / o.path, p))  # type: ignore[misc]
