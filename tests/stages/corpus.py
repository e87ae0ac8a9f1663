"""A corpus in memory, as a judge's `fit` sees it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.documents import DOCUMENTS
from pipeline.stage import Judge, State


def documents(texts: Sequence[str], ids: Sequence[str] | None = None, sources: Sequence[str] | str = "web") -> pa.Table:
    """Rows of schema DOCUMENTS; ids are `d0000`, `d0001`, ... unless given."""
    names = [sources] * len(texts) if isinstance(sources, str) else sources
    rows: list[dict[str, Any]] = [
        {
            "doc_id": ids[k] if ids else f"d{k:04}",
            "source": names[k],
            "text": text,
            "metadata": "{}",
            "placeholders": [],
        }
        | {"replacements": 0, "surrogates": 0, "nuls": 0, "mojibake": 0, "repairs": None, "record": f"file:{k}"}
        for k, text in enumerate(texts)
    ]
    return pa.Table.from_pylist(rows, schema=DOCUMENTS)


class Corpus:
    """Implements `Fitting` over shards of documents (schema DOCUMENTS) and the measures of one judge."""

    def __init__(self, judge: type[Judge], params: Any, shards: Sequence[pa.Table], sources: Sequence[str]) -> None:
        self.sources = tuple(sources)
        self.memory = 512 << 20
        self.shards = list(shards)
        self.measured = [self._measured(judge, params, shard) for shard in shards]
        self.asked: list[str] = []
        self.folder = tempfile.TemporaryDirectory()
        self.workspace = Path(self.folder.name)

    @staticmethod
    def _measured(judge: type[Judge], params: Any, shard: pa.Table) -> pa.Table:
        measures = judge.measure(shard, params, None)
        assert measures.schema == judge.schema(params)
        table = shard.select(["doc_id", "source"])
        for field in measures.schema:
            table = table.append_column(field, measures[field.name])
        return table

    def measures(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        for table in self.measured:
            yield table if columns is None else table.select(["doc_id", "source", *columns])

    def documents(self, wanted: NDArray[np.bool_]) -> Iterator[pa.Table]:
        first = 0
        for shard in self.shards:
            rows = shard.filter(pa.array(wanted[first : first + shard.num_rows]))
            first += shard.num_rows
            self.asked += rows["doc_id"].to_pylist()
            if rows.num_rows:
                yield rows


def judged(
    judge: type[Judge], params: Any, shards: Sequence[pa.Table], sources: Sequence[str] = ("web",)
) -> tuple[dict[str, dict[str, Any]], State]:
    """Verdicts by doc_id, and the state they were decided from."""
    corpus = Corpus(judge, params, shards, sources)
    state = judge.fit(corpus, params)
    verdicts = {}
    for table in corpus.measured:
        rows = judge.decide(table, state.table, params).to_pylist()
        verdicts.update(zip(table["doc_id"].to_pylist(), rows, strict=True))
    return verdicts, state


def survivors(verdicts: dict[str, dict[str, Any]]) -> list[str]:
    return sorted(doc_id for doc_id, verdict in verdicts.items() if verdict["keep"])
