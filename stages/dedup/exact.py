"""`exact_dedup`: of documents with the same text, one is kept.

The keeper is the first in the declared order: source priority, then more characters (equal texts have equally many),
then doc_id. Every other document fails under `exact_duplicate`, with the kept document's id as detail.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.documents import VERDICT
from pipeline.rules import Failure, verdicts
from pipeline.stage import Fitting, Judge, Params, State
from stages.dedup import clusters, texts

MEASURES = pa.schema([pa.field("content_hash", pa.string()), pa.field("characters", pa.int64())])
_MEBIBYTE = 1 << 20
_MEMORY_PER_THREAD = 150 * _MEBIBYTE  # what DuckDB needs to spill instead of failing


class ExactDedupParams(Params):
    """`exact_dedup` has no settings."""


class ExactDedup(Judge):
    """Drops documents whose text equals that of a document before them in the declared order."""

    name: ClassVar[str] = "exact_dedup"
    Params: ClassVar[type[Params]] = ExactDedupParams
    scope: ClassVar[Literal["all", "survivors"]] = "survivors"
    fits: ClassVar[bool] = True
    orders_sources: ClassVar[bool] = True
    clusters: ClassVar[bool] = True

    @staticmethod
    def schema(params: ExactDedupParams) -> pa.Schema:
        """content_hash: BLAKE2b of the UTF-8 text, 128 bits in hex; characters: code points of the text."""
        return MEASURES

    @staticmethod
    def measure(documents: pa.Table, params: ExactDedupParams, artefact: Path | None) -> pa.Table:
        """Content hash and length of each text."""
        data, offsets = texts.buffers(documents["text"])
        view = memoryview(data)  # type: ignore[arg-type]  # numpy arrays are buffers
        hashes = [_content_hash(view[start:end]) for start, end in pairwise(offsets.tolist())]
        columns = [pa.array(hashes, pa.string()), texts.characters(documents["text"])]
        return pa.Table.from_arrays(columns, schema=MEASURES)

    @staticmethod
    def fit(corpus: Fitting, params: ExactDedupParams) -> State:
        """The removed documents (CLUSTERS), grouped by content hash out of core."""
        table = _grouped(corpus).cast(clusters.CLUSTERS)
        return State(table, {"removed": table.num_rows, "largest_cluster": clusters.largest(table["kept_id"])})

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: ExactDedupParams) -> pa.Table:
        """Rule `exact_duplicate`: value 1.0 (the Jaccard), detail the kept document."""
        if state is None:
            raise ValueError("exact_dedup decides from its fitted state, and there is none")
        rows = clusters.entries(measures["doc_id"], state)
        kept = clusters.at(state["kept_id"], rows).to_pylist()
        return verdicts(measures.num_rows, [Failure("exact_duplicate", rows >= 0, 1.0, None, kept)]).cast(VERDICT)


def _content_hash(text: memoryview) -> str:
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def _batches(corpus: Fitting, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for table in corpus.measures(["content_hash", "characters"]):
        rank = clusters.ranks(table["source"], corpus.sources)
        columns = [table["doc_id"], rank, pc.cast(table["characters"], pa.int64()), table["content_hash"]]
        yield from pa.Table.from_arrays(columns, schema=schema).to_batches()


def _grouped(corpus: Fitting) -> pa.Table:
    """Each document that is not the first of its content hash, with the first; spills into the workspace."""
    import duckdb

    schema = pa.schema(
        [("doc_id", pa.string()), ("rank", pa.int64()), ("characters", pa.int64()), ("content_hash", pa.string())]
    )
    config: dict[str, Any] = {
        "memory_limit": f"{max(64, corpus.memory // _MEBIBYTE)}MiB",
        "threads": max(1, min(4, corpus.memory // _MEMORY_PER_THREAD)),
        "temp_directory": str(corpus.workspace),
        "preserve_insertion_order": False,
    }
    with duckdb.connect(config=config) as connection:
        measured = pa.RecordBatchReader.from_batches(schema, _batches(corpus, schema))
        connection.register("measured", measured)
        connection.execute("create temp table documents as select * from measured")
        return connection.sql(
            """
            with repeated as (select content_hash from documents group by content_hash having count(*) > 1),
            grouped as (
                select doc_id, first_value(doc_id) over (
                    partition by content_hash order by rank, characters desc, doc_id
                ) as kept_id
                from documents semi join repeated using (content_hash)
            )
            select doc_id, kept_id, 1.0::double as jaccard, 1.0::double as containment
            from grouped where doc_id <> kept_id order by doc_id
            """
        ).to_arrow_table()
