"""The shapes of stage. A stage is a frozen params model plus pure functions; paths, engines and progress stay out.

A *source stage* turns raw files into documents. A *judge* turns documents into measures and measures into verdicts; it
never rewrites text. An *editor* rewrites kept documents and lists its edits. A *closing step* materialises what is
left. The runner (`pipeline.runner`) calls these functions in worker processes, one shard at a time, and owns all files.

Every function here is pure: equal arguments give equal tables, in any process and order. Measures of a document depend
on that document and the params alone, never on its neighbours in the shard: the runner measures single rows anew when
an earlier judge lets more documents through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from pipeline.sources import Source


class Params(BaseModel):
    """Settings of one stage: frozen, closed to unknown keys, hashed as a whole into the keys of its tasks."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True)
class FilePath:
    """Marks a string setting as a path or glob: relative to the config file, hashed by the content it points to."""


InputPath = Annotated[str, FilePath()]


def decides(default: Any = ..., **kwargs: Any) -> Any:
    """A params field that only `decide` (or `fit`) reads: changing it never measures a document again."""
    return Field(default, json_schema_extra={"phase": "decide"}, **kwargs)


def measuring(params: Params) -> dict[str, Any]:
    """The part of the params that measures depend on: every field that is not marked with `decides`."""
    skip = {n for n, f in type(params).model_fields.items() if _phase(f.json_schema_extra) == "decide"}
    return {k: v for k, v in params.model_dump(mode="json").items() if k not in skip}


def _phase(extra: Any) -> str | None:
    return extra.get("phase") if isinstance(extra, dict) else None


class Fitting(Protocol):
    """What `fit` may ask for: every measure of the corpus, and the text of documents that it names."""

    sources: tuple[str, ...]  # the declared sources, first in priority first
    workspace: Path  # an empty folder for temporary files, removed afterwards
    memory: int  # bytes that sorting and joining may take

    def measures(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """Measured rows, shard by shard in the order of shard names: `doc_id`, `source`, then measure columns."""

    def documents(self, wanted: npt.NDArray[np.bool_]) -> Iterator[pa.Table]:
        """Some of the documents (schema DOCUMENTS): one entry of `wanted` for each row that `measures` yields.

        They come in that order, a table for each shard that holds any.
        """


class Gathering(Protocol):
    """What an editor's `fit` may ask for: what its `survey` found in every shard."""

    sources: tuple[str, ...]  # the declared sources, first in priority first
    workspace: Path  # an empty folder for temporary files, removed afterwards
    memory: int  # bytes that sorting and joining may take

    def surveys(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """Surveyed rows, shard by shard in the order of shard names: `source`, then columns of `survey`."""


@dataclass(frozen=True)
class State:
    """What a corpus-wide step learned: a table for `decide`, and a small JSON summary for the manifest."""

    table: pa.Table
    summary: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Edited:
    """An editor's result for one shard, `documents` and `verdicts` aligned with the rows it was given.

    documents: schema DOCUMENTS, one row for each row given, dropped ones included (the runner takes them out).
    edits: schema EDITS, in order of document, field, start.
    verdicts: schema VERDICT; `keep` false drops the document under `rule`.
    """

    documents: pa.Table
    edits: pa.Table
    verdicts: pa.Table


class Stage:
    """What all shapes share. Subclasses are never instantiated: they name a params model and static functions."""

    name: ClassVar[str]
    Params: ClassVar[type[Params]]
    libraries: ClassVar[tuple[str, ...]] = ()  # distributions whose versions compute the result
    requires: ClassVar[tuple[str, ...]] = ()  # stage names that must stand earlier in the list
    needs: ClassVar[dict[str, str]] = {}  # column name -> "stage.measure" of an earlier judge; NULL where it is absent
    prepares: ClassVar[bool] = False  # does it make an artefact from its params?
    fits: ClassVar[bool] = False  # does it look at the whole corpus before it decides or edits?
    orders_sources: ClassVar[bool] = False  # does its fit depend on the order of sources?
    state_by_document: ClassVar[bool] = False  # does each row of its state speak of one document (column doc_id)?

    @staticmethod
    def prepare(params: Any, folder: Path) -> dict[str, Any]:
        """Write the artefact's files into the empty `folder`; returns a JSON summary for the manifest."""
        raise NotImplementedError("this stage prepares nothing")

    @staticmethod
    def libraries_of(params: Any) -> tuple[str, ...]:
        """Further distributions that these params bring in."""
        return ()

    @staticmethod
    def foretell(params: Any) -> tuple[list[str], list[str]]:
        """(what the params amount to, what they will hardly do as meant), a line each, before anything is computed."""
        return [], []

    @classmethod
    def link(cls, params: Any, uses: Sequence[StageUse], sources: Sequence[Source]) -> Any:
        """The params, completed with what the rest of the config implies (declared specials, weights).

        Raises ValueError where they cannot stand together.
        """
        return params


@dataclass(frozen=True)
class StageUse:
    """One entry of a config's stage list: its name in this run (the folder), the class, its checked params."""

    name: str
    stage: type[Stage]
    params: Any


class Judge(Stage):
    """Documents -> measures -> verdicts."""

    scope: ClassVar[Literal["all", "survivors"]] = "all"  # which documents are measured
    clusters: ClassVar[bool] = False  # does its state name, for each dropped document, the kept one?

    @staticmethod
    def schema(params: Any) -> pa.Schema:
        """Names and types of the measure columns."""
        raise NotImplementedError("a judge declares its measures")

    @staticmethod
    def measure(documents: pa.Table, params: Any, artefact: Path | None) -> pa.Table:
        """Measures (as declared by `schema`) of each row of `documents` (DOCUMENTS plus the columns of `needs`)."""
        raise NotImplementedError("a judge measures documents")

    @staticmethod
    def fit(corpus: Fitting, params: Any) -> State:
        """What the rule must know of the whole corpus."""
        raise NotImplementedError("this judge fits nothing")

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: Any) -> pa.Table:
        """Verdicts (schema VERDICT, `keep` never NULL) of measured rows: `doc_id`, `source`, then the measures."""
        raise NotImplementedError("a judge decides")

    @staticmethod
    def explain(text: str, params: Any, rule: str) -> list[tuple[int, int]]:
        """Where in `text` (start, end in code points; disjoint, in order) lies what made `rule` fire, for display.

        Empty where a rule speaks of the whole document.
        """
        return []

    @staticmethod
    def measured_by(params: Any) -> dict[str, str]:
        """Rule -> the measure column that it compares, for reports; rules that compare no number are left out."""
        return {}


class Editor(Stage):
    """Kept documents -> new documents, edits, and verdicts for those it drops."""

    @staticmethod
    def declares(params: Any) -> list[str]:
        """The special tokens it can write into a text, in a fixed order."""
        return []

    @staticmethod
    def survey(documents: pa.Table, params: Any, artefact: Path | None) -> pa.Table:
        """What `fit` must know of one shard's kept documents, in any number of rows; reads no `decides` field."""
        raise NotImplementedError("this editor surveys nothing")

    @staticmethod
    def fit(corpus: Gathering, params: Any) -> State:
        """What editing must know of the whole corpus."""
        raise NotImplementedError("this editor fits nothing")

    @staticmethod
    def edit(documents: pa.Table, state: pa.Table | None, params: Any, artefact: Path | None) -> Edited:
        """The new generation of these kept documents (DOCUMENTS plus the columns of `needs`)."""
        raise NotImplementedError("an editor edits")


class Closing(Stage):
    """The last steps: a table for each shard of kept documents, and then, if it `finishes`, files from all of them."""

    folder: ClassVar[str] = ""  # where below the stage's folder the tables lie
    finishes: ClassVar[bool] = False

    @staticmethod
    def each(documents: pa.Table, params: Any) -> tuple[pa.Table, dict[str, Any]]:
        """The table of one shard (kept rows of what the step before gave, plus the columns of `needs`), and a summary.

        The summary's entry `dropped` counts, by reason, the documents that did not go into the table.
        """
        raise NotImplementedError("a closing step works shard by shard")

    @staticmethod
    def finish(parts: list[Path], params: Any, folder: Path, memory: int) -> dict[str, Any]:
        """Write final files into the empty `folder` from all shards' tables; returns the manifest's summary.

        memory: bytes that sorting and joining may take.
        """
        raise NotImplementedError("this step ends with its shards")
