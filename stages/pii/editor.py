"""The PII editor: placeholders for personal data in text, title, url and metadata of every document.

Documents: text, title, url, metadata and `placeholders` are new; the other columns stay. Edits: one row for each
replaced or counted entity and each broken look-alike, never the removed text. Verdict rules, in order:

- `pii_drop`: holds an entity whose action is `drop_document` (detail: the first such entity in declared order);
- `pii_density`: more than `max_per_document` entities in all its fields together (value: how many);
- `empty_after_pii`: entities were replaced in the text, and nothing but placeholders and white space is left of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from pipeline.documents import DOCUMENTS, EDITS
from pipeline.rules import Failure, verdicts
from pipeline.stage import Edited, Editor, Params, StageUse
from stages.pii import names
from stages.pii.fields import scrub_json, scrub_plain
from stages.pii.params import NAMES, PIIParams, action, entities, placeholders
from stages.pii.scrub import LITERAL, Edit, scrub
from stages.pii.suspects import suspects

if TYPE_CHECKING:
    from pipeline.sources import Source

_REWRITTEN: Final = ("url", "title", "text", "metadata", "placeholders")


@dataclass
class _Result:
    """One scrubbed document: its rewritten columns, and the edits of each field, fields in order of name."""

    columns: dict[str, Any]
    edits: dict[str, list[Edit]] = field(default_factory=dict)

    def entities(self) -> list[str]:
        """The kind of every entity found, in any field."""
        return [e.kind for edits in self.edits.values() for e in edits if e.kind != LITERAL]

    def is_empty(self) -> bool:
        """Were entities replaced in the text, and is nothing but placeholders and white space left?"""
        if all(e.replacement is None or e.kind == LITERAL for e in self.edits["text"]):
            return False
        at, text = 0, self.columns["text"]
        for span in self.columns["placeholders"]:
            if text[at : span["start"]].strip():
                return False
            at = span["end"]
        return not text[at:].strip()


class PII(Editor):
    """Replaces personal data by placeholders (see the module's text)."""

    name: ClassVar[str] = "pii"
    Params: ClassVar[type[Params]] = PIIParams
    libraries: ClassVar[tuple[str, ...]] = ("presidio-analyzer", "phonenumbers", "tldextract", "regex")

    @staticmethod
    def declares(params: Any) -> list[str]:
        """The placeholders, in the order of ENTITIES."""
        return placeholders(params)

    @staticmethod
    def libraries_of(params: Any) -> tuple[str, ...]:
        """spaCy and its model where names are looked for."""
        return () if NAMES.keys().isdisjoint(params.entities) else ("spacy", params.names_model)

    @classmethod
    def link(cls, params: PIIParams, uses: Sequence[StageUse], sources: Sequence[Source]) -> PIIParams:
        """Take over the tokenizer's own special tokens, whose look-alikes in the text are broken."""
        if not NAMES.keys().isdisjoint(params.entities):
            names.require(params.names_model)
        declared = [t for use in uses if use.stage.name == "tokenizer" for t in use.params.special_tokens]
        try:
            return PIIParams.model_validate(
                params.model_dump() | {"special_tokens": tuple(dict.fromkeys([*params.special_tokens, *declared]))}
            )
        except ValidationError as error:
            raise ValueError(error.errors()[0]["msg"].removeprefix("Value error, ")) from error

    @staticmethod
    def edit(documents: pa.Table, state: pa.Table | None, params: PIIParams, artefact: Path | None) -> Edited:
        """See `pipeline.stage.Edited`; `state` and `artefact` are not used.

        Only documents in which something could be found become Python strings.
        """
        places = np.flatnonzero(_suspects(documents, params))
        rows = documents.select(["doc_id", *_REWRITTEN]).take(places).to_pylist()
        results = [_scrub_document(row, params) for row in rows]
        columns = {name: _merged(documents[name], name, places, results) for name in _REWRITTEN}
        rewritten = [columns.get(name, documents[name]) for name in DOCUMENTS.names]
        return Edited(
            documents=pa.Table.from_arrays(rewritten, schema=DOCUMENTS),
            edits=_edits_table([row["doc_id"] for row in rows], results),
            verdicts=_verdicts(documents.num_rows, dict(zip(places.tolist(), results, strict=True)), params),
        )


def _suspects(documents: pa.Table, params: PIIParams) -> npt.NDArray[np.bool_]:
    """Documents that could change: a candidate in any field, a placeholder, or an escape in the metadata's JSON."""
    found = np.array(pc.greater(pc.list_value_length(documents["placeholders"]), 0), dtype=np.bool_)
    found |= np.array(pc.match_substring(documents["metadata"], "\\"), dtype=np.bool_)
    for name in ("text", "title", "url", "metadata"):
        found |= suspects(documents[name], params)
    return found


def _merged(old: pa.ChunkedArray, name: str, places: npt.NDArray[np.int64], results: list[_Result]) -> pa.ChunkedArray:
    """The column with the results' values at their places."""
    if not results:
        return old
    kind = DOCUMENTS.field(name).type
    new = pa.array([result.columns[name] for result in results], kind)
    order = np.arange(len(old))
    order[places] = len(old) + np.arange(len(results))
    return pa.chunked_array([*old.cast(kind).chunks, new], kind).take(order)


def _scrub_document(row: dict[str, Any], params: PIIParams) -> _Result:
    try:
        return _scrub_fields(row, params)
    except ValueError as error:
        raise ValueError(f"document {row['doc_id']}: {error}") from error


def _scrub_fields(row: dict[str, Any], params: PIIParams) -> _Result:
    spans = [(p["start"], p["end"], p["token"]) for p in row["placeholders"]]
    scrubbed = scrub(row["text"], spans, params)
    result = _Result({"text": scrubbed.text, "placeholders": [p._asdict() for p in scrubbed.placeholders]})
    result.columns["metadata"], result.edits["metadata"] = scrub_json(row["metadata"], params)
    result.edits["text"] = scrubbed.edits
    for name in ("title", "url"):
        value = row[name]
        result.columns[name], result.edits[name] = (None, []) if value is None else scrub_plain(value, params)
    return result


def _edits_table(doc_ids: list[str], results: list[_Result]) -> pa.Table:
    rows = [
        {"doc_id": doc_id, "field": name, **edit._asdict()}
        for doc_id, result in zip(doc_ids, results, strict=True)
        for name in sorted(result.edits)
        for edit in result.edits[name]
    ]
    return pa.Table.from_pylist(rows, schema=EDITS)


def _verdicts(documents: int, results: dict[int, _Result], params: PIIParams) -> pa.Table:
    """`results` by row; in the other rows nothing was found."""
    found = [results[row].entities() if row in results else [] for row in range(documents)]
    counts = np.array([len(kinds) for kinds in found], dtype=np.float64)
    dropping = [e for e in entities(params) if action(params, e) == "drop_document"]
    first = [next((e for e in dropping if e in kinds), None) for kinds in found]
    failures = [Failure("pii_drop", np.array([e is not None for e in first], dtype=bool), detail=first)]
    if params.max_per_document is not None:
        limit = params.max_per_document
        failures.append(Failure("pii_density", counts > limit, counts, float(limit)))
    empty = np.array([row in results and results[row].is_empty() for row in range(documents)], dtype=bool)
    failures.append(Failure("empty_after_pii", empty))
    return verdicts(documents, failures)
