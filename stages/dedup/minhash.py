"""`minhash`: of documents whose shingle sets are alike (exact Jaccard at or above `threshold`), one is kept.

MinHash signatures and bands only propose pairs. Each is verified on the documents' exact shingle sets, and then
decided in the declared order (source priority, more characters first, doc_id): a document is kept unless it has a
verified edge to one already kept. So no chain of likenesses removes what is unlike every kept document, the result
does not depend on shards, rows or workers, and a second pass removes nothing.

Documents without a shingle (nothing but white space and punctuation) fail under `empty` and never enter a band.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field, model_validator

from pipeline.documents import VERDICT
from pipeline.rules import Failure, verdicts
from pipeline.stage import Fitting, Judge, Params, State, decides
from stages.dedup import clusters, lsh, texts
from stages.dedup.shingles import Shingles

STATE = clusters.CLUSTERS.append(pa.field("band", pa.int64(), nullable=False))  # the first band they share


class MinHashParams(Params):
    """Settings of `minhash`. Signatures depend on those that are not marked as deciding."""

    threshold: float = decides(0.8, gt=0, le=1, description="least exact Jaccard of a near-duplicate")
    permutations: int = Field(128, ge=1, le=4096, description="values in a signature")
    shingle: int = Field(5, ge=1, le=1000, description="words in a shingle, in spaced scripts")
    shingle_characters: int = Field(8, ge=1, le=1000, description="characters in a shingle, in unspaced scripts")
    seed: int = Field(1, ge=0, lt=1 << 32, description="of the permutations, as datasketch draws them")
    normaliser: Literal["words/1"] = Field("words/1", description="what shingles see of a text")
    bands: int | None = decides(None, ge=1, description="with rows; by default chosen for the threshold")
    rows: int | None = decides(None, ge=1, description="signature values in a band")
    max_bucket: int = decides(10_000, ge=2, description="a bucket may cost what one of this size can at most")

    @model_validator(mode="after")
    def _bands_fit(self) -> Self:
        if (self.bands is None) != (self.rows is None):
            raise ValueError("bands and rows are set together or not at all")
        if self.bands is not None and self.rows is not None and self.bands * self.rows > self.permutations:
            raise ValueError(
                f"bands x rows = {self.bands} x {self.rows} needs {self.bands * self.rows} permutations, "
                f"and there are {self.permutations}; lower one of them or raise permutations"
            )
        return self

    def shape(self) -> tuple[int, int]:
        """(bands, rows), as set or as chosen for the threshold."""
        if self.bands is not None and self.rows is not None:
            return self.bands, self.rows
        return lsh.shape(self.permutations, self.threshold)


class MinHash(Judge):
    """Drops near-duplicates of kept documents."""

    name: ClassVar[str] = "minhash"
    Params: ClassVar[type[Params]] = MinHashParams
    libraries: ClassVar[tuple[str, ...]] = ("numba", "numpy")
    scope: ClassVar[Literal["all", "survivors"]] = "survivors"
    fits: ClassVar[bool] = True
    orders_sources: ClassVar[bool] = True
    clusters: ClassVar[bool] = True

    @staticmethod
    def schema(params: MinHashParams) -> pa.Schema:
        """signature: as datasketch's `affine32`, NULL where there is no shingle; shingles: with repeats; characters."""
        return pa.schema(
            [
                pa.field("signature", pa.list_(pa.uint32(), params.permutations)),
                pa.field("shingles", pa.int64()),
                pa.field("characters", pa.int64()),
            ]
        )

    @staticmethod
    def measure(documents: pa.Table, params: MinHashParams, artefact: Path | None) -> pa.Table:
        """Signature, number of shingles and length of each text."""
        from kernels import minhash

        column = documents["text"]
        data, offsets = texts.buffers(column)
        factors = minhash.permutations(params.permutations, params.seed)
        signatures = np.empty((documents.num_rows, params.permutations), np.uint32)
        counts = np.empty(documents.num_rows, np.int64)
        shingling = Shingles(params.shingle, params.shingle_characters)
        minhash.signatures(data, offsets, *shingling.arguments, *factors, signatures, counts)
        columns = [
            pa.FixedSizeListArray.from_arrays(
                pa.array(signatures.reshape(-1)), params.permutations, mask=pa.array(counts == 0)
            ),
            pa.array(counts),
            texts.characters(column),
        ]
        return pa.Table.from_arrays(columns, schema=MinHash.schema(params))

    @staticmethod
    def fit(corpus: Fitting, params: MinHashParams) -> State:
        """The removed documents (CLUSTERS and the band), and how they were found."""
        roster = _roster(corpus, params)
        buckets = roster.bands.buckets(roster.order)
        numbers, members = np.unique(buckets.members, return_inverse=True)
        ids = roster.documents["doc_id"].take(pa.array(roster.order[numbers])).combine_chunks()
        found = _decided(corpus, params, ids, members.astype(np.int64), buckets)
        return State(found.table, _summary(params, roster, found, len(ids)))

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: MinHashParams) -> pa.Table:
        """Rules `empty` (value: shingles) and `near_duplicate` (value: exact Jaccard, detail: the kept document)."""
        if state is None:
            raise ValueError("minhash decides from its fitted state, and there is none")
        empty = pc.equal(measures["shingles"], 0).to_numpy()
        rows = clusters.entries(measures["doc_id"], state)
        jaccard = clusters.at(state["jaccard"], rows).to_numpy()
        kept = clusters.at(state["kept_id"], rows).to_pylist()
        failures = [
            Failure("empty", empty, 0.0),
            Failure("near_duplicate", rows >= 0, jaccard, params.threshold, kept),
        ]
        return verdicts(measures.num_rows, failures).cast(VERDICT)


@dataclass(frozen=True)
class _Roster:
    """Every document that has a shingle: doc_id, source; `order` its rows in the declared order."""

    documents: pa.Table
    order: NDArray[np.int64]
    bands: lsh.BandFiles
    empty: int


@dataclass(frozen=True)
class _Found:
    table: pa.Table
    comparisons: int
    abandoned: list[dict[str, int]]  # buckets that reached the bound of comparisons


def _roster(corpus: Fitting, params: MinHashParams) -> _Roster:
    """Read the measures once: identities to memory, band keys to the workspace."""
    from kernels import minhash

    bands, rows = params.shape()
    files = lsh.BandFiles(corpus.workspace, bands)
    schema = pa.schema(
        [("doc_id", pa.large_string()), ("source", pa.large_string()), ("rank", pa.int64()), ("characters", pa.int64())]
    )
    parts = [schema.empty_table()]
    empty = 0
    for table in corpus.measures(["signature", "shingles", "characters"]):
        full = table.filter(pc.greater(table["shingles"], 0))
        empty += table.num_rows - full.num_rows
        signatures = full["signature"].combine_chunks().flatten().to_numpy().reshape(-1, params.permutations)
        keys = np.empty((bands, full.num_rows), np.int64)
        minhash.band_keys(np.ascontiguousarray(signatures), bands, rows, keys)
        files.append(keys)
        columns = [full["doc_id"], full["source"], clusters.ranks(full["source"], corpus.sources), full["characters"]]
        parts.append(
            pa.Table.from_arrays([c.cast(f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
        )
    documents = pa.concat_tables(parts)
    keys_of_order = [("rank", "ascending"), ("characters", "descending"), ("doc_id", "ascending")]
    order = pc.sort_indices(documents, sort_keys=keys_of_order).to_numpy().astype(np.int64)
    return _Roster(documents, order, files, empty)


def _decided(
    corpus: Fitting, params: MinHashParams, ids: pa.Array, members: NDArray[np.int64], buckets: lsh.Buckets
) -> _Found:
    """Verify and choose among the documents `ids`, which stand in the declared order; `members` are rows of it."""
    from kernels import keepers

    values, starts, stops = Shingles(params.shingle, params.shingle_characters).sets(corpus, ids)
    visits = np.argsort(members, kind="stable")
    first = np.searchsorted(members[visits], np.arange(len(ids) + 1))
    kept, common, bucket = (np.zeros(len(ids), np.int64) for _ in range(3))
    spent = np.zeros(len(buckets.ends), np.int64)
    limit = params.max_bucket * (params.max_bucket - 1) // 2
    keepers.choose(
        *(members, buckets.bucket, buckets.ends, visits, first, values, starts, stops),
        *(params.threshold, limit, kept, common, bucket, spent),
    )
    removed = np.flatnonzero(kept >= 0)
    keeper, shared, size = kept[removed], common[removed], stops - starts
    columns = [
        ids.take(pa.array(removed)).cast(pa.string()),
        ids.take(pa.array(keeper)).cast(pa.string()),
        pa.array(shared / (size[removed] + size[keeper] - shared), pa.float64()),
        pa.array(shared / size[removed], pa.float64()),
        pa.array(buckets.band[bucket[removed]], pa.int64()),
    ]
    table = pa.Table.from_arrays(columns, schema=STATE).sort_by("doc_id")
    sizes = np.diff(buckets.ends, prepend=0)
    abandoned = [
        {"band": int(buckets.band[g]), "documents": int(sizes[g]), "comparisons": limit}
        for g in np.flatnonzero(spent > limit)
    ]
    return _Found(table, int(np.minimum(spent, limit).sum()), abandoned)


def _by_value(column: pa.ChunkedArray) -> dict[str, int]:
    return {count["values"]: count["counts"] for count in pc.value_counts(column).to_pylist()}


def _summary(params: MinHashParams, roster: _Roster, found: _Found, candidates: int) -> dict[str, Any]:
    bands, rows = params.shape()
    chance = lsh.probability(params.threshold, bands, rows)
    sources = roster.documents["source"]
    gone = pc.is_in(
        roster.documents["doc_id"], value_set=found.table["doc_id"].cast(pa.large_string()).combine_chunks()
    )
    removed, totals = (_by_value(column) for column in (sources.filter(gone), sources))
    warnings = (
        [f"{bands} bands of {rows} rows find only {chance:.1%} of pairs at the threshold"] if chance < 0.5 else []
    )
    warnings += [
        f"a bucket of {b['documents']} documents in band {b['band']} reached {b['comparisons']} comparisons; "
        "near-duplicates in it may remain: raise max_bucket"
        for b in found.abandoned
    ]
    return {
        "normaliser": params.normaliser,
        "bands": bands,
        "rows": rows,
        "probability": {f"{j / 100:.2f}": round(lsh.probability(j / 100, bands, rows), 4) for j in range(30, 101, 5)},
        "probability_at_threshold": round(chance, 4),
        "documents": roster.documents.num_rows,
        "empty": roster.empty,
        "candidates": candidates,
        "comparisons": found.comparisons,
        "removed": found.table.num_rows,
        "largest_cluster": clusters.largest(found.table["kept_id"]),
        "removed_by_source": {s: {"documents": totals[s], "removed": removed.get(s, 0)} for s in sorted(totals)},
        "abandoned_buckets": found.abandoned,
        "warnings": warnings,
    }
