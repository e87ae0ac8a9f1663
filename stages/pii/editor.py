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
import pyarrow as pa

from pipeline.documents import DOCUMENTS, EDITS
from pipeline.rules import Failure, verdicts
from pipeline.stage import Edited, Editor, Params, StageUse
from stages.pii.fields import scrub_json, scrub_plain
from stages.pii.params import ENTITIES, PIIParams, action, placeholders
from stages.pii.scrub import LITERAL, Edit, scrub

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

    @classmethod
    def link(cls, params: PIIParams, uses: Sequence[StageUse], sources: Sequence[Source]) -> PIIParams:
        """Take over the tokenizer's own special tokens, whose look-alikes in the text are broken."""
        declared = [t for use in uses if use.stage.name == "tokenizer" for t in use.params.special_tokens]
        return PIIParams.model_validate(
            params.model_dump() | {"special_tokens": tuple(dict.fromkeys([*params.special_tokens, *declared]))}
        )

    @staticmethod
    def edit(documents: pa.Table, state: pa.Table | None, params: PIIParams, artefact: Path | None) -> Edited:
        """See `pipeline.stage.Edited`; `state` and `artefact` are not used."""
        rows = documents.select(["doc_id", *_REWRITTEN]).to_pylist()
        results = [_scrub_document(row, params) for row in rows]
        columns = {
            name: pa.array([r.columns[name] for r in results], DOCUMENTS.field(name).type) for name in _REWRITTEN
        }
        rewritten = [columns.get(name, documents[name]) for name in DOCUMENTS.names]
        return Edited(
            documents=pa.Table.from_arrays(rewritten, schema=DOCUMENTS),
            edits=_edits_table([row["doc_id"] for row in rows], results),
            verdicts=_verdicts(results, params),
        )


def _scrub_document(row: dict[str, Any], params: PIIParams) -> _Result:
    spans = [(p["start"], p["end"], p["token"]) for p in row["placeholders"]]
    try:
        scrubbed = scrub(row["text"], spans, params)
    except ValueError as error:
        raise ValueError(f"document {row['doc_id']}: {error}") from error
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


def _verdicts(results: list[_Result], params: PIIParams) -> pa.Table:
    found = [result.entities() for result in results]
    counts = np.array([len(kinds) for kinds in found], dtype=np.float64)
    dropping = [e for e in ENTITIES if e in params.entities and action(params, e) == "drop_document"]
    first = [next((e for e in dropping if e in kinds), None) for kinds in found]
    failures = [Failure("pii_drop", np.array([e is not None for e in first], dtype=bool), detail=first)]
    if params.max_per_document is not None:
        limit = params.max_per_document
        failures.append(Failure("pii_density", counts > limit, counts, float(limit)))
    empty = np.array([result.is_empty() for result in results], dtype=bool)
    failures.append(Failure("empty_after_pii", empty))
    return verdicts(len(results), failures)
