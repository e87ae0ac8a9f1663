"""`line_dedup`: a line (or paragraph) that at least `min_documents` documents hold stays in the first of them only.

For boilerplate: menus, notices, licence headers. Two units are the same when their text is, but for white space at
their ends. Units shorter than `min_characters` stay. The first document is the first by source priority, then doc_id
(both independent of shards and of the order of files), and it keeps all its occurrences: a document never matches
itself. Placeholders are part of a unit and go with it; a unit whose edge one crosses stays.

Documents: text and placeholders are new. Edits: one row for each removed unit, kind `line` or `paragraph`, rule
`repeated`, score = how many documents held it. Rule: `empty_after_line_dedup` drops a document of which nothing but
white space is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from pipeline.documents import DOCUMENTS, EDITS
from pipeline.rules import Failure, verdicts
from pipeline.slices import spilling
from pipeline.stage import Edited, Editor, Gathering, Params, State, decides
from stages.dedup.clusters import ranks
from stages.lines.units import Kind, Placeholder, Units, spans, without

_UNIT: Final = pa.binary()
SURVEY: Final = pa.schema([pa.field("doc_id", pa.string(), nullable=False), pa.field("unit", _UNIT, nullable=False)])
STATE: Final = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),  # holds the unit, and is not the first
        pa.field("unit", _UNIT, nullable=False),
        pa.field("kept_in", pa.string(), nullable=False),  # the first document that holds it
        pa.field("documents", pa.int64(), nullable=False),  # how many hold it
    ]
)


class LineDedupParams(Params):
    """Settings of the editor `line_dedup`."""

    unit: Kind = Field("line", description="what is compared; a paragraph ends at a blank line")
    min_characters: int = Field(20, ge=1, description="shorter units stay, however often they occur")
    min_documents: int = decides(3, ge=2, description="documents that must hold a unit before it is removed")


class LineDedup(Editor):
    """Removes lines or paragraphs that many documents share, but for their first occurrence."""

    name: ClassVar[str] = "line_dedup"
    Params: ClassVar[type[Params]] = LineDedupParams
    libraries: ClassVar[tuple[str, ...]] = ("numba", "numpy")
    fits: ClassVar[bool] = True
    orders_sources: ClassVar[bool] = True
    state_by_document: ClassVar[bool] = True

    @staticmethod
    def survey(documents: pa.Table, params: LineDedupParams, artefact: Path | None) -> pa.Table:
        """SURVEY: the distinct units of each document that are long enough."""
        found = Units.of(documents, params.unit, params.min_characters).first_in_document()
        ids = documents["doc_id"].take(pa.array(found.row))
        return pa.Table.from_arrays([ids, found.identities().cast(_UNIT)], schema=SURVEY)

    @staticmethod
    def fit(corpus: Gathering, params: LineDedupParams) -> State:
        """STATE, in order of doc_id and unit: which document loses which unit. Joined out of core."""
        table = _repeated(corpus, params.min_documents)
        largest = int(np.max(table["documents"].to_numpy(), initial=0))
        kinds = len(table["unit"].unique())
        return State(table, {"units": kinds, "removals": table.num_rows, "most_documents": largest})

    @staticmethod
    def edit(documents: pa.Table, state: pa.Table | None, params: LineDedupParams, artefact: Path | None) -> Edited:
        """See `pipeline.stage.Edited`."""
        if state is None:
            raise ValueError("line_dedup edits from its fitted state, and there is none")
        removed, scores = _removed(documents, state, params)
        rows, firsts = np.unique(removed.row, return_index=True)
        lasts = np.append(firsts, len(removed.row))[1:]
        listed, gone = removed.listed(), list[tuple[int, int]]()
        texts: list[str] = []
        trusted: list[list[Placeholder]] = []
        emptied = np.zeros(documents.num_rows, bool)
        for row, first, last in zip(rows.tolist(), firsts.tolist(), lasts.tolist(), strict=True):
            given = documents["text"][row].as_py()
            own = spans(given, listed[first:last])
            text, placeholders = without(given, own, documents["placeholders"][row].as_py())
            gone += own
            emptied[row] = not text.strip()
            texts.append(text)
            trusted.append(placeholders)
        columns = {name: documents[name] for name in DOCUMENTS.names}
        mask = np.isin(np.arange(documents.num_rows), rows)
        columns["text"] = pc.replace_with_mask(columns["text"], mask, pa.array(texts, columns["text"].type))
        columns["placeholders"] = _replaced(columns["placeholders"], rows, trusted)
        return Edited(
            documents=pa.Table.from_arrays(list(columns.values()), schema=DOCUMENTS),
            edits=_edits(documents["doc_id"].take(pa.array(removed.row)), gone, scores, params.unit),
            verdicts=verdicts(documents.num_rows, [Failure("empty_after_line_dedup", emptied)]),
        )


def _removed(documents: pa.Table, state: pa.Table, params: LineDedupParams) -> tuple[Units, NDArray[np.float64]]:
    """The units that go, and how many documents held each."""
    rows = pc.index_in(state["doc_id"], value_set=documents["doc_id"].combine_chunks())
    losing = np.unique(rows.drop_null().to_numpy())
    found = Units.of(documents.take(pa.array(losing)), params.unit, params.min_characters)
    found = replace(found, row=losing.astype(np.int64)[found.row])
    known = np.frombuffer(b"".join(state["unit"].to_pylist()), "<u8").reshape(-1, 2)
    goes = _keys(np.asarray(rows.fill_null(-1).to_numpy(), np.int64), known)
    at = pc.index_in(_keys(found.row, found.identity), value_set=goes)
    scores = state["documents"].take(at).cast(pa.float64())
    chosen = at.is_valid().to_numpy(zero_copy_only=False)
    return found.where(chosen), scores.drop_null().to_numpy()


def _keys(rows: NDArray[np.int64], identities: NDArray[np.uint64]) -> pa.Array:
    """Document and identity as one binary value."""
    table = np.empty((len(rows), 3), np.uint64)
    table[:, 0], table[:, 1:] = rows, identities
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(24), len(rows), [None, pa.py_buffer(table.tobytes())])


def _edits(ids: pa.ChunkedArray, gone: list[tuple[int, int]], scores: NDArray[np.float64], unit: Kind) -> pa.Table:
    """One row of EDITS for each span."""
    places = np.array(gone, np.int64).reshape(-1, 2)
    fixed = {"field": "text", "kind": unit, "rule": "repeated", "replacement": ""}
    columns = {name: pa.array([value] * len(gone), pa.string()) for name, value in fixed.items()}
    columns |= {
        "doc_id": ids,
        "score": pa.array(scores),
        "start": pa.array(places[:, 0]),
        "end": pa.array(places[:, 1]),
    }
    return pa.Table.from_arrays([columns[name] for name in EDITS.names], schema=EDITS)


def _replaced(column: pa.ChunkedArray, rows: NDArray[np.int64], values: list[Any]) -> pa.ChunkedArray:
    """The column with new values in these rows (ascending)."""
    if not len(rows):
        return column
    at = np.arange(len(column))
    at[rows] = len(column) + np.arange(len(rows))
    return pa.chunked_array([*column.chunks, pa.array(values, column.type)]).take(pa.array(at))


_SURVEYED: Final = pa.schema([("doc_id", pa.string()), ("unit", _UNIT), ("rank", pa.int64())])


def _batches(corpus: Gathering) -> Iterator[pa.RecordBatch]:
    for table in corpus.surveys():
        columns = [table["doc_id"], table["unit"], ranks(table["source"], corpus.sources)]
        yield from pa.Table.from_arrays(columns, schema=_SURVEYED).to_batches()


def _repeated(corpus: Gathering, min_documents: int) -> pa.Table:
    import duckdb

    with duckdb.connect(config=spilling(corpus.memory, corpus.workspace)) as connection:
        connection.register("surveyed", pa.RecordBatchReader.from_batches(_SURVEYED, _batches(corpus)))
        connection.execute("create temp table units as select * from surveyed")
        return (
            connection.sql(
                f"""
            with common as (
                select unit, count(*) as documents, min(lpad(rank::varchar, 9, '0') || doc_id) as first
                from units group by unit having count(*) >= {min_documents:d}
            )
            select doc_id, unit, substr(first, 10) as kept_in, documents
            from units join common using (unit) where doc_id <> substr(first, 10) order by doc_id, unit
            """
            )
            .to_arrow_table()
            .cast(STATE)
        )
