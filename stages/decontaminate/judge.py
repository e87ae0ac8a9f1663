"""`decontaminate`: drops documents that hold evaluation items.

The n-grams of each evaluation item (`ngram` = 13 words, as in Brown et al. 2020, "Language Models are Few-Shot
Learners", appendix C; `ngram_characters` units where most are characters of unspaced scripts) are looked up among
those of each document. Case, punctuation and white space make no difference (normaliser `words/1`).

Measures: `item`, the item of which the document holds the largest share of distinct n-grams, and that share,
`item_share`; `document_share`, the share of the document's units that lie in any n-gram of any item; `ngrams`, how many
distinct ones it holds; `spans`, where they stand (code points, merged, the first 100).
Rules: `evaluation_item` (item_share above `max_item_share`), `evaluation_share` (document_share above
`max_document_share`); detail: the item and the first spans.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from pipeline.documents import VERDICT
from pipeline.rules import Failure, verdicts
from pipeline.stage import Judge, Params, decides
from stages.decontaminate.evaluation import Evaluation, EvaluationError, I64s, Index, Item, grams, items, places
from stages.dedup import texts

SPAN: Final = pa.struct([("start", pa.int64()), ("end", pa.int64())])
MEASURES: Final = pa.schema(
    [
        pa.field("item", pa.string()),
        pa.field("item_share", pa.float64()),
        pa.field("document_share", pa.float64()),
        pa.field("ngrams", pa.int64()),
        pa.field("spans", pa.list_(SPAN)),
    ]
)
MOST_SPANS: Final = 100
SHOWN_SPANS: Final = 5


class DecontaminateParams(Params):
    """Settings of `decontaminate`."""

    evaluation: tuple[Evaluation, ...] = Field(min_length=1, description="what must not be trained on")
    ngram: int = Field(13, ge=2, le=1000, description="words in an n-gram, in spaced scripts")
    ngram_characters: int = Field(20, ge=2, le=1000, description="characters in an n-gram, in unspaced scripts")
    max_item_share: float = decides(
        0.5, ge=0, le=1, description="share of an item's n-grams that a document may hold; 0: none at all"
    )
    max_document_share: float | None = decides(
        None, ge=0, le=1, description="share of a document that n-grams of any items may cover"
    )


class Decontaminate(Judge):
    """Drops documents that hold what models are evaluated on."""

    name: ClassVar[str] = "decontaminate"
    Params: ClassVar[type[Params]] = DecontaminateParams
    libraries: ClassVar[tuple[str, ...]] = ("numba", "numpy", "orjson")
    scope: ClassVar[Literal["all", "survivors"]] = "survivors"
    prepares: ClassVar[bool] = True

    @staticmethod
    def prepare(params: DecontaminateParams, folder: Path) -> dict[str, Any]:
        """The index of all evaluation items. Raises EvaluationError where none is long enough."""
        unusable: list[str] = []
        counts: dict[str, int] = {}

        def every() -> Iterator[Item]:
            for evaluation in params.evaluation:
                for item in items(evaluation, unusable):
                    counts[evaluation.name] = counts.get(evaluation.name, 0) + 1
                    yield item

        index, short = Index.build(every(), params.ngram, params.ngram_characters)
        if not index.labels:
            raise EvaluationError(
                f"decontaminate: none of {sum(counts.values())} evaluation items has {params.ngram} words (or "
                f"{params.ngram_characters} characters): check path, format and fields, or lower ngram"
            )
        index.save(folder)
        warnings = [f"{short} evaluation items are shorter than an n-gram and cannot be found"] if short else []
        if unusable:
            warnings.append(f"{len(unusable)} lines are no usable JSON object, the first of them {unusable[0]}")
        return {"items": counts, "too_short": short, "unusable": len(unusable), "warnings": warnings}

    @staticmethod
    def schema(params: DecontaminateParams) -> pa.Schema:
        """See the module's text; `item` is NULL where nothing was found."""
        return MEASURES

    @staticmethod
    def measure(documents: pa.Table, params: DecontaminateParams, artefact: Path | None) -> pa.Table:
        """The overlap of each document with the evaluation items."""
        if artefact is None:
            raise ValueError("decontaminate measures with its prepared index, and there is none")
        index = Index.load(artefact)
        rows: list[dict[str, Any]] = [dict(_NOTHING) for _ in range(documents.num_rows)]
        for row, hits in _hits(documents["text"], index).items():
            rows[row] = _overlap(documents["text"][row].as_py(), hits, index)
        return pa.Table.from_pylist(rows, schema=MEASURES)

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: DecontaminateParams) -> pa.Table:
        """Rules `evaluation_item` and `evaluation_share`."""
        detail = [_evidence(m) for m in measures.select(["item", "spans"]).to_pylist()]
        failures = []
        for rule, measure, most in (
            ("evaluation_item", "item_share", params.max_item_share),
            ("evaluation_share", "document_share", params.max_document_share),
        ):
            if most is not None:
                values = pc.cast(measures[measure], pa.float64()).to_numpy()
                failures.append(Failure(rule, values > most, values, most, detail))
        return verdicts(measures.num_rows, failures).cast(VERDICT)


_NOTHING: Final[dict[str, Any]] = {"item": None, "item_share": 0.0, "document_share": 0.0, "ngrams": 0, "spans": []}


@dataclass
class _Hits:
    """A document's n-grams that the index holds."""

    places: list[tuple[int, int]] = field(default_factory=list)  # first unit, number of units
    values: set[int] = field(default_factory=set)


def _hits(column: pa.ChunkedArray, index: Index) -> dict[int, _Hits]:
    """By row, for rows with any."""
    data, offsets = texts.buffers(column)
    marks = index.filter()
    found: dict[int, _Hits] = {}
    for size in index.lengths:
        values, ends = grams(data, offsets, size)
        at = index.found(values, marks)
        rows = np.searchsorted(ends, at, "right") - 1
        for row, unit, value in zip(rows.tolist(), (at - ends[rows]).tolist(), values[at].tolist(), strict=True):
            hits = found.setdefault(row, _Hits())
            hits.places.append((unit, size))
            hits.values.add(value)
    return dict(sorted(found.items()))


def _overlap(text: str, hits: _Hits, index: Index) -> dict[str, Any]:
    """The measures of one document with hits."""
    shares: dict[int, int] = {}
    for value in hits.values:
        for item in index.items_of(value):
            shares[item] = shares.get(item, 0) + 1
    best = min(shares, key=lambda i: (-shares[i] / index.sizes[i], -shares[i], i))
    encoded = text.encode("utf-8")
    starts, ends, _ = places(encoded)
    covered = np.zeros(len(starts), bool)
    for unit, size in hits.places:
        covered[unit : unit + size] = True
    return {
        "item": index.labels[best],
        "item_share": shares[best] / int(index.sizes[best]),
        "document_share": int(covered.sum()) / len(starts),
        "ngrams": len(hits.values),
        "spans": _spans(encoded, starts, ends, covered)[:MOST_SPANS],
    }


def _spans(text: bytes, starts: I64s, ends: I64s, covered: Any) -> list[dict[str, int]]:
    """Runs of covered units, in code points."""
    edges = np.flatnonzero(np.diff(covered.astype(np.int8), prepend=0, append=0))
    points = np.cumsum((np.frombuffer(text, np.uint8) & 0xC0) != 0x80)  # code points up to and with each byte
    return [
        {"start": int(points[starts[first]]) - 1, "end": int(points[ends[last - 1] - 1])}
        for first, last in edges.reshape(-1, 2).tolist()
    ]


def _evidence(measured: dict[str, Any]) -> str | None:
    if measured["item"] is None:
        return None
    spans = [f"{s['start']}-{s['end']}" for s in measured["spans"]]
    more = f" and {len(spans) - SHOWN_SPANS} more" if len(spans) > SHOWN_SPANS else ""
    return f"{measured['item']} at {', '.join(spans[:SHOWN_SPANS])}{more}"
