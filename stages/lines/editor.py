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
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa
from pydantic import Field

from pipeline.documents import DOCUMENTS, EDITS
from pipeline.rules import Failure, verdicts
from pipeline.slices import spilling
from pipeline.stage import Edited, Editor, Gathering, Params, State, decides
from stages.dedup.clusters import ranks
from stages.lines.units import Kind, Placeholder, crosses, identity, spans, units, without

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
    fits: ClassVar[bool] = True
    orders_sources: ClassVar[bool] = True
    state_by_document: ClassVar[bool] = True

    @staticmethod
    def survey(documents: pa.Table, params: LineDedupParams, artefact: Path | None) -> pa.Table:
        """SURVEY: the distinct units of each document that are long enough."""
        ids: list[str] = []
        found: list[bytes] = []
        for row in documents.select(["doc_id", "text", "placeholders"]).to_pylist():
            own = {i for _, i in _identified(row["text"], row["placeholders"], params)}
            ids += [row["doc_id"]] * len(own)
            found += sorted(own)
        return pa.Table.from_arrays([pa.array(ids, pa.string()), pa.array(found, _UNIT)], schema=SURVEY)

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
        goes: dict[str, dict[bytes, int]] = {}
        for doc_id, unit, count in zip(*(state[c].to_pylist() for c in ("doc_id", "unit", "documents")), strict=True):
            goes.setdefault(doc_id, {})[unit] = count
        ids = documents["doc_id"].to_pylist()
        changed = [row for row, doc_id in enumerate(ids) if doc_id in goes]
        edits: list[dict[str, Any]] = []
        texts: list[str] = []
        trusted: list[list[Placeholder]] = []
        emptied = np.zeros(documents.num_rows, bool)
        for row in changed:
            given = (documents["text"][row].as_py(), documents["placeholders"][row].as_py())
            text, placeholders, own = _edited(*given, goes[ids[row]], params)
            edits += [{"doc_id": ids[row], **edit} for edit in own]
            emptied[row] = bool(own) and not text.strip()
            texts.append(text)
            trusted.append(placeholders)
        columns = {name: documents[name] for name in DOCUMENTS.names}
        columns["text"] = _replaced(columns["text"], changed, texts)
        columns["placeholders"] = _replaced(columns["placeholders"], changed, trusted)
        return Edited(
            documents=pa.Table.from_arrays(list(columns.values()), schema=DOCUMENTS),
            edits=pa.Table.from_pylist(edits, schema=EDITS),
            verdicts=verdicts(documents.num_rows, [Failure("empty_after_line_dedup", emptied)]),
        )


def _replaced(column: pa.ChunkedArray, rows: list[int], values: list[Any]) -> pa.ChunkedArray:
    """The column with new values in these rows (ascending)."""
    if not rows:
        return column
    at = np.arange(len(column))
    at[rows] = len(column) + np.arange(len(rows))
    return pa.chunked_array([*column.chunks, pa.array(values, column.type)]).take(pa.array(at))


def _identified(text: str, placeholders: list[Placeholder], params: LineDedupParams) -> Iterator[tuple[Any, bytes]]:
    """Units that may be removed, with their identity."""
    for unit in units(text, params.unit):
        if unit.end - unit.start < params.min_characters or (placeholders and crosses(unit, placeholders)):
            continue
        if len(text[unit.start : unit.end].strip()) >= params.min_characters:
            yield unit, identity(text, unit, placeholders)


def _edited(
    text: str, placeholders: list[Placeholder], goes: dict[bytes, int], params: LineDedupParams
) -> tuple[str, list[Placeholder], list[dict[str, Any]]]:
    """A document without the units that go: its text, its placeholders, its edits."""
    removed = [(unit, goes[own]) for unit, own in _identified(text, placeholders, params) if own in goes]
    gone = spans(text, [unit for unit, _ in removed])
    edits = [
        {"field": "text", "kind": params.unit, "rule": "repeated", "score": float(count)}
        | {"start": start, "end": end, "replacement": ""}
        for (start, end), (_, count) in zip(gone, removed, strict=True)
    ]
    return *without(text, gone, placeholders), edits


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
