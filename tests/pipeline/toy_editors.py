"""An editor that must see the whole corpus, for the tests of the engine."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from pipeline.documents import DOCUMENTS, EDITS
from pipeline.rules import verdicts
from pipeline.stage import Edited, Editor, Gathering, Params, State, decides

STATES: dict[str, list[str]] = defaultdict(list)
"""By first document of a shard: the doc_ids that the state spoke of which `edit` was given, in this process."""


class CommonParams(Params):
    """Settings of `common`: the first reaches the survey."""

    ending: str = "."
    most: int = decides(2)


class Common(Editor):
    """Takes the last word from documents that share it with too many others."""

    name: ClassVar[str] = "common"
    Params: ClassVar[type[Params]] = CommonParams
    fits: ClassVar[bool] = True
    orders_sources: ClassVar[bool] = True
    state_by_document: ClassVar[bool] = True

    @staticmethod
    def survey(documents: pa.Table, params: CommonParams, artefact: Path | None) -> pa.Table:
        words = [text.removesuffix(params.ending).split()[-1] for text in documents["text"].to_pylist()]
        return pa.table({"doc_id": documents["doc_id"], "word": pa.array(words, pa.string())})

    @staticmethod
    def fit(corpus: Gathering, params: CommonParams) -> State:
        assert list(corpus.workspace.iterdir()) == [] and corpus.memory > 0
        rows = [row for table in corpus.surveys() for row in table.to_pylist()]
        assert all(row["source"] in corpus.sources for row in rows)
        counts = Counter(row["word"] for row in rows)
        lost = sorted((r["doc_id"], r["word"]) for r in rows if counts[r["word"]] > params.most)
        table = pa.table({"doc_id": [d for d, _ in lost], "word": [w for _, w in lost]})
        return State(table.cast(pa.schema([("doc_id", pa.string()), ("word", pa.string())])), {"lost": len(lost)})

    @staticmethod
    def edit(documents: pa.Table, state: pa.Table | None, params: CommonParams, artefact: Path | None) -> Edited:
        assert state is not None
        lost = dict(zip(state["doc_id"].to_pylist(), state["word"].to_pylist(), strict=True))
        STATES[documents["doc_id"][0].as_py()] = list(lost)
        edits: list[dict[str, Any]] = []
        texts = documents["text"].to_pylist()
        for row, doc_id in enumerate(documents["doc_id"].to_pylist()):
            if doc_id in lost:
                start = texts[row].rindex(lost[doc_id])
                place = {"start": start, "end": start + len(lost[doc_id]), "replacement": ""}
                edits.append(
                    {"doc_id": doc_id, "field": "text", "kind": "word", "rule": "common", "score": 1.0} | place
                )
                texts[row] = texts[row][:start] + texts[row][place["end"] :]
        column = documents.schema.get_field_index("text")
        new = documents.set_column(column, DOCUMENTS.field("text"), pa.array(texts, pa.large_string()))
        return Edited(new, pa.Table.from_pylist(edits, schema=EDITS), verdicts(len(texts), []))


class Astray(Common):
    """Its state speaks of a document that does not exist."""

    name: ClassVar[str] = "astray"

    @staticmethod
    def fit(corpus: Gathering, params: CommonParams) -> State:
        return State(pa.table({"doc_id": ["nobody"], "word": ["nothing"]}))
