"""`exact_dedup`: of documents with the same text, one is kept.

The keeper is the first in the declared order: source priority, then more characters (equal texts have equally many),
then doc_id. Every other document fails under `exact_duplicate`, with the kept document's id as detail.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Literal

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.documents import VERDICT
from pipeline.rules import Failure, verdicts
from pipeline.slices import spilling
from pipeline.stage import Fitting, Judge, Params, State, decides
from stages.dedup import clusters, texts
from stages.dedup.earlier import Against, EarlierCorpus

MEASURES = pa.schema([pa.field("content_hash", pa.string()), pa.field("characters", pa.int64())])
_MEBIBYTE = 1 << 20


class ExactDedupParams(Params):
    """Settings of `exact_dedup`."""

    against: Against = decides((), description="earlier runs, or files made by `curate index`, whose documents go")


class ExactDedup(Judge):
    """Drops documents whose text equals that of a document before them in the declared order."""

    name: ClassVar[str] = "exact_dedup"
    Params: ClassVar[type[Params]] = ExactDedupParams
    scope: ClassVar[Literal["all", "survivors"]] = "survivors"
    fits: ClassVar[bool] = True
    orders_sources: ClassVar[bool] = True
    clusters: ClassVar[bool] = True
    state_by_document: ClassVar[bool] = True

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
        table = _grouped(corpus, [EarlierCorpus.open(path, None) for path in params.against]).cast(clusters.CLUSTERS)
        own = table.filter(pc.is_null(table["run"]))
        summary = {"removed": table.num_rows, "removed_as_earlier": table.num_rows - own.num_rows}
        return State(table, summary | {"largest_cluster": clusters.largest(own["kept_id"])})

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: ExactDedupParams) -> pa.Table:
        """Rules `in_earlier_corpus` and `exact_duplicate`: value 1.0 (the Jaccard), detail the kept document.

        It is `run:doc_id` where an earlier run has it.
        """
        if state is None:
            raise ValueError("exact_dedup decides from its fitted state, and there is none")
        rows = clusters.entries(measures["doc_id"], state)
        elsewhere, kept = clusters.kept(state, rows)
        failures = [
            Failure("in_earlier_corpus", elsewhere, 1.0, None, kept),
            Failure("exact_duplicate", (rows >= 0) & ~elsewhere, 1.0, None, kept),
        ]
        return verdicts(measures.num_rows, failures).cast(VERDICT)


def _content_hash(text: memoryview) -> str:
    return hashlib.blake2b(text, digest_size=16).hexdigest()


_COLUMNS = pa.schema(
    [
        ("doc_id", pa.string()),
        ("run", pa.string()),  # NULL: this one
        ("rank", pa.int64()),  # below 0: of an earlier corpus
        ("characters", pa.int64()),
        ("content_hash", pa.string()),
    ]
)


def _batches(corpus: Fitting, earlier: Sequence[EarlierCorpus]) -> Iterator[pa.RecordBatch]:
    """All documents, those of earlier corpora first."""
    for number, index in enumerate(earlier, -len(earlier)):
        for table in index.tables(["doc_id", "characters", "content_hash"]):
            run, rank = pa.array([index.run] * table.num_rows), pa.array([number] * table.num_rows, pa.int64())
            columns = [table["doc_id"], run, rank, table["characters"], table["content_hash"]]
            yield from pa.Table.from_arrays(columns, schema=_COLUMNS).to_batches()
    for table in corpus.measures(["content_hash", "characters"]):
        rank = clusters.ranks(table["source"], corpus.sources)
        nobody = pa.nulls(table.num_rows, pa.string())
        columns = [table["doc_id"], nobody, rank, pc.cast(table["characters"], pa.int64()), table["content_hash"]]
        yield from pa.Table.from_arrays(columns, schema=_COLUMNS).to_batches()


def _grouped(corpus: Fitting, earlier: Sequence[EarlierCorpus]) -> pa.Table:
    """Each document that is not the first of its content hash, with the first; spills into the workspace."""
    import duckdb

    with duckdb.connect(config=spilling(corpus.memory, corpus.workspace)) as connection:
        measured = pa.RecordBatchReader.from_batches(_COLUMNS, _batches(corpus, earlier))
        connection.register("measured", measured)
        connection.execute("create temp table documents as select * from measured")
        return connection.sql(
            """
            with repeated as (select content_hash from documents group by content_hash having count(*) > 1),
            grouped as (
                select doc_id, rank, row_number() over first as place,
                    first_value(doc_id) over first as kept_id, first_value(run) over first as run
                from documents semi join repeated using (content_hash)
                window first as (partition by content_hash order by rank, characters desc, doc_id)
            )
            select doc_id, kept_id, 1.0::double as jaccard, 1.0::double as containment, run
            from grouped where place > 1 and rank >= 0 order by doc_id
            """
        ).to_arrow_table()
