"""Judges and an editor for the tests of the engine: small, real, and able to say which documents they were given."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from pipeline.documents import DOCUMENTS, EDITS
from pipeline.rules import Failure, Rule, by_threshold, verdicts
from pipeline.stage import Edited, Editor, Fitting, InputPath, Judge, Params, State, decides

GIVEN: dict[str, list[str]] = defaultdict(list)
"""By stage: the doc_ids that `measure` or `edit` was given, in this process."""


def _given(stage: str, documents: pa.Table) -> None:
    GIVEN[stage] += documents["doc_id"].to_pylist()
    time.sleep(float(os.environ.get("TOY_SECONDS", "0")))  # makes a run long enough to be interrupted


class Reader(Params):
    """A nested setting, for messages about nested keys."""

    depth: int = 1


class WordsParams(Params):
    """Settings of `words`: the first two reach measures."""

    separator: str | None = Field(None, description="what words are split at")
    reader: Reader = Reader()
    min_words: float = decides(0.0)
    max_words: float = decides(1000.0)


class Words(Judge):
    """Counts words of every document."""

    name: ClassVar[str] = "words"
    Params: ClassVar[type[Params]] = WordsParams
    libraries: ClassVar[tuple[str, ...]] = ("numpy",)

    @staticmethod
    def schema(params: WordsParams) -> pa.Schema:
        return pa.schema([("words", pa.int64())])

    @staticmethod
    def measure(documents: pa.Table, params: WordsParams, artefact: Path | None) -> pa.Table:
        _given("words", documents)
        counts = [len(text.split(params.separator)) for text in documents["text"].to_pylist()]
        return pa.table([pa.array(counts, pa.int64())], schema=Words.schema(params))

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: WordsParams) -> pa.Table:
        rules = [
            Rule("too_few", "words", "at_least", params.min_words),
            Rule("too_many", "words", "at_most", params.max_words),
        ]
        return verdicts(measures.num_rows, by_threshold(measures, rules))


class VowelsParams(Params):
    """Settings of `vowels`."""

    min_vowels: float = decides(0.0)


class Vowels(Judge):
    """Counts vowels, of survivors only."""

    name: ClassVar[str] = "vowels"
    Params: ClassVar[type[Params]] = VowelsParams
    scope: ClassVar[Literal["all", "survivors"]] = "survivors"

    @staticmethod
    def schema(params: VowelsParams) -> pa.Schema:
        return pa.schema([("vowels", pa.int64())])

    @staticmethod
    def measure(documents: pa.Table, params: VowelsParams, artefact: Path | None) -> pa.Table:
        _given("vowels", documents)
        counts = [sum(c in "aeiou" for c in text) for text in documents["text"].to_pylist()]
        return pa.table([pa.array(counts, pa.int64())], schema=Vowels.schema(params))

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: VowelsParams) -> pa.Table:
        return verdicts(
            measures.num_rows, by_threshold(measures, [Rule("vowels", "vowels", "at_least", params.min_vowels)])
        )


class TypicalParams(Params):
    """Settings of `typical`."""

    factor: float = decides(10.0)


class Typical(Judge):
    """Drops documents much longer than the mean of all that it measured: its rule depends on the corpus."""

    name: ClassVar[str] = "typical"
    Params: ClassVar[type[Params]] = TypicalParams
    scope: ClassVar[Literal["all", "survivors"]] = "survivors"
    fits: ClassVar[bool] = True

    @staticmethod
    def schema(params: TypicalParams) -> pa.Schema:
        return pa.schema([("characters", pa.int64())])

    @staticmethod
    def measure(documents: pa.Table, params: TypicalParams, artefact: Path | None) -> pa.Table:
        _given("typical", documents)
        return pa.table([pc.cast(pc.utf8_length(documents["text"]), pa.int64())], schema=Typical.schema(params))

    @staticmethod
    def fit(corpus: Fitting, params: TypicalParams) -> State:
        lengths = [n for table in corpus.measures(["characters"]) for n in table["characters"].to_pylist()]
        mean = sum(lengths) / max(1, len(lengths))
        return State(pa.table({"mean": pa.array([mean], pa.float64())}), {"mean": mean, "documents": len(lengths)})

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: TypicalParams) -> pa.Table:
        assert state is not None
        limit = state["mean"][0].as_py() * params.factor
        return verdicts(measures.num_rows, by_threshold(measures, [Rule("untypical", "characters", "at_most", limit)]))


class RedactParams(Params):
    """Settings of `redact`."""

    word: str = "secret"
    min_characters: int = 0


class Redact(Editor):
    """Replaces a word by `[x]`; drops texts that are shorter than a limit afterwards."""

    name: ClassVar[str] = "redact"
    Params: ClassVar[type[Params]] = RedactParams

    @staticmethod
    def edit(documents: pa.Table, state: pa.Table | None, params: RedactParams, artefact: Path | None) -> Edited:
        _given("redact", documents)
        edits: list[dict[str, Any]] = []
        texts = []
        for doc_id, text in zip(documents["doc_id"].to_pylist(), documents["text"].to_pylist(), strict=True):
            at = text.find(params.word)
            while at >= 0:
                place = {"start": at, "end": at + len(params.word), "replacement": "[x]"}
                edits.append({"doc_id": doc_id, "field": "text", "kind": "word", "rule": "word", "score": 1.0} | place)
                at = text.find(params.word, at + 1)
            texts.append(text.replace(params.word, "[x]"))
        column = documents.schema.get_field_index("text")
        new = documents.set_column(column, DOCUMENTS.field("text"), pa.array(texts, pa.large_string()))
        short = np.array([len(t) < params.min_characters for t in texts], bool)
        lost = verdicts(len(texts), [Failure("short_after_edit", short)])
        return Edited(new, pa.Table.from_pylist(edits, schema=EDITS), lost)


class ListedParams(Params):
    """Settings of `listed`."""

    words: InputPath = Field(description="a file of words")
    max_hits: float = decides(1000.0)


class Listed(Judge):
    """Counts words of a list that it prepares from a reference file."""

    name: ClassVar[str] = "listed"
    Params: ClassVar[type[Params]] = ListedParams
    prepares: ClassVar[bool] = True

    @staticmethod
    def prepare(params: ListedParams, folder: Path) -> dict[str, Any]:
        listed = sorted(set(Path(params.words).read_text(encoding="utf-8").split()))
        (folder / "words.txt").write_text("\n".join(listed), encoding="utf-8")
        return {"words": len(listed)}

    @staticmethod
    def schema(params: ListedParams) -> pa.Schema:
        return pa.schema([("hits", pa.int64())])

    @staticmethod
    def measure(documents: pa.Table, params: ListedParams, artefact: Path | None) -> pa.Table:
        assert artefact is not None
        _given("listed", documents)
        listed = set((artefact / "words.txt").read_text(encoding="utf-8").split())
        hits = [sum(word in listed for word in text.split()) for text in documents["text"].to_pylist()]
        return pa.table([pa.array(hits, pa.int64())], schema=Listed.schema(params))

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: ListedParams) -> pa.Table:
        return verdicts(measures.num_rows, by_threshold(measures, [Rule("hits", "hits", "at_most", params.max_hits)]))
