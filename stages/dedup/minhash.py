"""`minhash`: of documents whose shingle sets are alike (exact Jaccard at or above `threshold`), one is kept.

MinHash signatures and bands only propose pairs. Each is verified on the documents' exact shingle sets, and then
decided in the declared order (source priority, more characters first, doc_id): a document is kept unless it has a
verified edge to one already kept. So no chain of likenesses removes what is unlike every kept document, the result
does not depend on shards, rows or workers, and a second pass removes nothing.

Documents without a shingle (nothing but white space and punctuation) fail under `empty` and never enter a band.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
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
from stages.dedup.candidates import Candidates
from stages.dedup.earlier import SIGNATURE, Against, EarlierCorpus, stored_members
from stages.dedup.shingles import Shingles
from stages.dedup.verify import Batches, Found, members


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
    against: Against = decides((), description="earlier runs, or files made by `curate index`, whose documents go")

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

    def signature(self) -> dict[str, Any]:
        """The settings that signatures and shingles depend on."""
        return {name: getattr(self, name) for name in SIGNATURE}

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
    state_by_document: ClassVar[bool] = True

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
    def foretell(params: MinHashParams) -> tuple[list[str], list[str]]:
        """The curve of what the bands find, and whether that is too little."""
        bands, rows = params.shape()
        chances = {j: lsh.probability(j, bands, rows) for j in sorted({0.5, 0.7, 0.9, params.threshold})}
        points = ", ".join(f"{chance:.1%} at {j:g}" for j, chance in chances.items())
        curve = f"{bands} bands of {rows} rows: of pairs with a Jaccard similarity they find {points}"
        chance = chances[params.threshold]
        few = f"{bands} bands of {rows} rows find only {chance:.1%} of pairs at the threshold"
        return [curve], [few] if chance < 0.5 else []

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
        """The removed documents (verify.STATE), and how they were found; out of core.

        Raises EarlierCorpusError for an index in `against` that was made with other settings.
        """
        earlier = [EarlierCorpus.open(path, params.signature()) for path in params.against]
        roster = _roster(corpus, params, earlier)
        components = roster.candidates.group(roster.earlier)
        batches = Batches(corpus.workspace, components, corpus.memory)
        batches.write(_candidates(corpus, params, earlier, roster.earlier, components.marks))
        found = batches.decide(params.threshold, params.max_bucket, [e.run for e in earlier])
        return State(found.table, _summary(params, corpus.sources, roster, found, int(components.marks.sum())))

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: MinHashParams) -> pa.Table:
        """Rules `empty` (value: shingles), `in_earlier_corpus` and `near_duplicate` (value: exact Jaccard).

        Detail: the kept document, `run:doc_id` where an earlier run has it.
        """
        if state is None:
            raise ValueError("minhash decides from its fitted state, and there is none")
        empty = pc.equal(measures["shingles"], 0).to_numpy()
        rows = clusters.entries(measures["doc_id"], state)
        jaccard = clusters.at(state["jaccard"], rows).to_numpy()
        elsewhere, kept = clusters.kept(state, rows)
        failures = [
            Failure("empty", empty, 0.0),
            Failure("in_earlier_corpus", elsewhere, jaccard, params.threshold, kept),
            Failure("near_duplicate", (rows >= 0) & ~elsewhere, jaccard, params.threshold, kept),
        ]
        return verdicts(measures.num_rows, failures).cast(VERDICT)


@dataclass(frozen=True)
class _Roster:
    """What one pass over the measures gives."""

    candidates: Candidates
    earlier: int  # documents of earlier corpora, which come first
    documents: Counter[str]  # by source, those that have a shingle
    empty: int


def _roster(corpus: Fitting, params: MinHashParams, earlier: Sequence[EarlierCorpus]) -> _Roster:
    """Band keys of the earlier corpora's documents, then of the measured ones, into the workspace."""
    candidates = Candidates(corpus.workspace, params.shape()[0], corpus.memory)
    for index in earlier:
        for table in index.tables(["signature", "shingles"]):
            _add(candidates, params, table["signature"], pc.list_value_length(table["shingles"]))
    first = candidates.count
    documents: Counter[str] = Counter()
    for table in corpus.measures(["signature", "shingles"]):
        _add(candidates, params, table["signature"], table["shingles"])
        full = pc.greater(table["shingles"], 0)
        documents.update(table["source"].filter(full).to_pylist())
    empty = candidates.count - first - documents.total()
    return _Roster(candidates, first, documents, empty)


def _add(candidates: Candidates, params: MinHashParams, signatures: pa.ChunkedArray, shingles: pa.ChunkedArray) -> None:
    from kernels import minhash

    bands, rows = params.shape()
    weights = pc.fill_null(pc.cast(shingles, pa.int64()), 0).to_numpy()
    keys = np.zeros((bands, len(weights)), np.int64)
    filled = np.flatnonzero(weights)
    own = np.empty((bands, len(filled)), np.int64)
    values = pc.list_flatten(signatures).to_numpy().reshape(-1, params.permutations)
    minhash.band_keys(np.ascontiguousarray(values), bands, rows, own)
    keys[:, filled] = own
    candidates.add(keys, weights)


def _candidates(
    corpus: Fitting,
    params: MinHashParams,
    earlier: Sequence[EarlierCorpus],
    first: int,
    marks: NDArray[np.bool_],
) -> Iterator[pa.Table]:
    """The candidates (verify.MEMBERS): from the earlier corpora as they are stored, the others from their texts."""
    number = 0
    for rank, index in enumerate(earlier, -len(earlier)):
        for table in index.tables(["doc_id", "characters", "shingles"]):
            here = marks[number : number + table.num_rows]
            yield stored_members(table.filter(pa.array(here)), number + np.flatnonzero(here), rank)
            number += table.num_rows
    wanted, delivered = np.flatnonzero(marks[first:]) + first, 0
    shingling = Shingles(params.shingle, params.shingle_characters)
    for table in corpus.documents(marks[first:]) if len(wanted) else ():
        numbers = wanted[delivered : delivered + table.num_rows]
        delivered += len(numbers)
        ranks, lengths = clusters.ranks(table["source"], corpus.sources), texts.characters(table["text"])
        yield members(numbers, table["doc_id"], ranks, lengths, shingling.of(table["text"]))
    if delivered != len(wanted):
        raise RuntimeError(f"{len(wanted)} documents are to be compared, and the texts of {delivered} were delivered")


def _summary(
    params: MinHashParams,
    sources: Sequence[str],
    roster: _Roster,
    found: Found,
    candidates: int,
) -> dict[str, Any]:
    bands, rows = params.shape()
    removed = {source: found.by_rank[rank] for rank, source in enumerate(sources)}
    totals = roster.documents
    warnings = [
        *MinHash.foretell(params)[1],
        *(
            f"a bucket of {b['documents']} documents in band {b['band']} reached {b['comparisons']} comparisons; "
            "near-duplicates in it may remain: raise max_bucket"
            for b in found.abandoned
        ),
    ]
    return {
        "normaliser": params.normaliser,
        "bands": bands,
        "rows": rows,
        "probability": {f"{j / 100:.2f}": round(lsh.probability(j / 100, bands, rows), 4) for j in range(30, 101, 5)},
        "probability_at_threshold": round(lsh.probability(params.threshold, bands, rows), 4),
        "documents": totals.total(),
        "empty": roster.empty,
        "earlier": roster.earlier,
        "candidates": candidates,
        "comparisons": found.comparisons,
        "removed": found.table.num_rows,
        "largest_cluster": found.largest,
        "removed_by_source": {s: {"documents": totals[s], "removed": removed.get(s, 0)} for s in sorted(totals)},
        "abandoned_buckets": found.abandoned,
        "warnings": warnings,
    }
