"""The Gopher judge: heuristic rules on words, symbols, lines and repetition.

Measures: `stages.gopher.measures`, and `lang` as the language judge gave it (NULL without one), by which `by_language`
chooses thresholds. Rules and presets: `stages.gopher.rules`. No setting but `definitions` reaches a measure, so a new
threshold, preset or profile re-decides from stored measures.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator, Field, field_validator, model_validator

from pipeline.rules import Failure, Rule, by_threshold, verdicts
from pipeline.stage import Judge, Params, StageUse, decides
from stages.gopher import datatrove
from stages.gopher import measures as m
from stages.gopher.explain import explain as places
from stages.gopher.rules import CATALOGUE, PRESETS, PROFILES, UNSPACED_ABOVE, Profile, Thresholds, rules
from stages.language import CODES, UNDETERMINED

if TYPE_CHECKING:
    from pipeline.sources import Source

SCHEMA: Final = m.SCHEMA.append(pa.field("lang", pa.string()))


def _no_true(value: Any) -> Any:
    if value is True:
        raise ValueError("a threshold is a number, or `off` to switch the rule off")
    return value


Off = Literal[False]
Number = Annotated[Annotated[float, Field(ge=0)] | Off | None, BeforeValidator(_no_true)]
Share = Annotated[Annotated[float, Field(ge=0, le=1)] | Off | None, BeforeValidator(_no_true)]


def _unset(description: str) -> Any:
    return decides(None, description=description + " (unset: the preset's; `off`: no such rule)")


class ThresholdParams(Params):
    """One threshold for each rule of the catalogue, by its name."""

    min_words: Number = _unset("fewest words")
    max_words: Number = _unset("most words")
    min_mean_word_length: Number = _unset("least mean word length, in characters")
    max_mean_word_length: Number = _unset("greatest mean word length, in characters")
    max_symbol_ratio: Number = _unset("most hashes or most ellipses, whichever are more, per word")
    max_total_symbol_ratio: Number = _unset("most hashes and ellipses together, per word")
    max_bullet_lines: Share = _unset("largest share of lines that begin with a bullet")
    max_ellipsis_lines: Share = _unset("largest share of lines that end with an ellipsis")
    min_alpha_words: Share = _unset("smallest share of words with a letter")
    min_stop_words: Number = _unset("fewest distinct stop words, in languages with a list")
    min_terminal_lines: Share = _unset("smallest share of lines that end with terminal punctuation")
    max_short_lines: Share = _unset("largest share of lines of fewer than 30 characters")
    min_sentences: Number = _unset("fewest sentences")
    max_curly_brackets: Number = _unset("most opening curly brackets")
    max_lorem_ipsum: Number = _unset('most occurrences of "lorem ipsum"')
    max_duplicate_lines: Share = _unset("largest share of repeated lines")
    max_duplicate_line_characters: Share = _unset("largest share of characters in repeated lines")
    max_duplicate_paragraphs: Share = _unset("largest share of repeated paragraphs")
    max_duplicate_paragraph_characters: Share = _unset("largest share of characters in repeated paragraphs")
    max_top_2gram: Share = _unset("largest share of word characters under the most frequent 2-gram")
    max_top_3gram: Share = _unset("largest share of word characters under the most frequent 3-gram")
    max_top_4gram: Share = _unset("largest share of word characters under the most frequent 4-gram")
    max_duplicate_5gram: Share = _unset("largest share of word characters under repeated 5-grams")
    max_duplicate_6gram: Share = _unset("largest share of word characters under repeated 6-grams")
    max_duplicate_7gram: Share = _unset("largest share of word characters under repeated 7-grams")
    max_duplicate_8gram: Share = _unset("largest share of word characters under repeated 8-grams")
    max_duplicate_9gram: Share = _unset("largest share of word characters under repeated 9-grams")
    max_duplicate_10gram: Share = _unset("largest share of word characters under repeated 10-grams")
    max_top3_2grams: Share = _unset("largest share of the three most frequent 2-grams among all 2-grams")
    max_top3_3grams: Share = _unset("largest share of the three most frequent 3-grams among all 3-grams")
    max_digits: Share = _unset("largest share of numbers among the characters")
    max_upper_case: Share = _unset("largest share of upper case among the letters")
    max_urls: Share = _unset("largest share of characters in web addresses")
    max_white_space: Share = _unset("largest share of white space")
    max_longest_line: Number = _unset("most characters in one line")

    def given(self) -> Thresholds:
        """The thresholds that are set; None where a rule is switched off."""
        values = {name: getattr(self, name) for name in CATALOGUE}
        return {name: None if v is False else float(v) for name, v in values.items() if v is not None}


class GopherParams(ThresholdParams):
    """Settings of the Gopher judge.

    A threshold set here holds for the profile `spaced` and for every profile whose preset has the same threshold; what
    a profile has of its own (a character count, say) is set below that profile's name. With one forced profile, a
    threshold set here is that profile's. What `by_language` sets wins over all of these, whatever the profile.
    """

    preset: Literal["gopher", "cs336", "c4", "fineweb", "datatrove"] = decides(
        "gopher", description="whose thresholds to start from"
    )
    definitions: Literal["own", "datatrove"] = Field(
        "own", description="whose formulas measure; `preset: datatrove` implies datatrove's, which are slow"
    )
    profile: Literal["auto", "spaced", "unspaced", "code"] = decides(
        "auto", description="thresholds for which kind of text; auto: spaced or unspaced, by the dominant script"
    )
    spaced: ThresholdParams = decides(ThresholdParams(), description="thresholds of this profile alone")
    unspaced: ThresholdParams = decides(ThresholdParams(), description="thresholds of this profile alone")
    code: ThresholdParams = decides(ThresholdParams(), description="thresholds of this profile alone")

    by_language: dict[str, ThresholdParams] = decides(
        {}, description="thresholds for documents in one language, by its code (`und` among them); needs `language`"
    )

    @model_validator(mode="before")
    @classmethod
    def _implied(cls, given: Any) -> Any:
        if not isinstance(given, dict) or given.get("preset") != "datatrove":
            return given
        if given.get("definitions", "datatrove") != "datatrove":
            raise ValueError("preset datatrove goes with definitions: datatrove (leave it out)")
        return {**given, "definitions": "datatrove"}

    @field_validator("by_language", mode="before")
    @classmethod
    def _codes(cls, given: Any) -> Any:
        for code in given if isinstance(given, dict) else ():
            if isinstance(code, bool):
                raise ValueError('a language code was read as true or false: write it in quotes, "no" for Norwegian')
            if code not in CODES and code != UNDETERMINED:
                near = difflib.get_close_matches(str(code).lower().split("-")[0], sorted(CODES), n=1, cutoff=0.5)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise ValueError(f"{code!r} is no language code of the model lid.176{hint}")
        return given

    def thresholds(self, profile: Profile, lang: str | None = None) -> Thresholds:
        """The thresholds of one profile and language after all overrides; a missing name or None means no such rule."""
        preset = PRESETS[self.preset]
        base, spaced = preset.thresholds(profile), preset.thresholds("spaced")
        own: ThresholdParams = getattr(self, profile)
        shared = {
            name: value
            for name, value in self.given().items()
            if self.profile == profile or base.get(name) == spaced.get(name)
        }
        routed = self.by_language[lang].given() if lang in self.by_language else {}
        return base | shared | own.given() | routed

    @model_validator(mode="after")
    def _ordered(self) -> GopherParams:
        for profile in _used(self.profile):
            for lang in (None, *self.by_language):
                _check_order(self.thresholds(profile, lang), profile, lang)
        return self


def _used(profile: Literal["auto", "spaced", "unspaced", "code"]) -> tuple[Profile, ...]:
    return ("spaced", "unspaced") if profile == "auto" else (profile,)


def _check_order(thresholds: Thresholds, profile: Profile, lang: str | None) -> None:
    for what in ("words", "mean_word_length"):
        low, high = thresholds.get(f"min_{what}"), thresholds.get(f"max_{what}")
        if low is not None and high is not None and low > high:
            where = f"profile {profile}" + (f", language {lang}" if lang else "")
            raise ValueError(f"min_{what} {low:g} is above max_{what} {high:g} ({where}): nothing would be kept")


class Gopher(Judge):
    """Keeps documents that look like running text by the rules of a preset."""

    name = "gopher"
    Params = GopherParams
    libraries = ("numba", "numpy", "stopwordsiso")
    needs = {"lang": "language.lang"}  # noqa: RUF012 - declared as a ClassVar by Stage

    @classmethod
    def link(cls, params: GopherParams, uses: Sequence[StageUse], sources: Sequence[Source]) -> GopherParams:
        """ValueError where thresholds depend on the language and nothing says what it is."""
        names = [use.stage.name for use in uses]
        if params.by_language and "language" not in names[: names.index(cls.name)]:
            raise ValueError("by_language needs the stage `language` before it: put `- language: {}` into the list")
        return params

    @staticmethod
    def schema(params: GopherParams) -> pa.Schema:
        return SCHEMA

    @staticmethod
    def measure(documents: pa.Table, params: GopherParams, artefact: Path | None = None) -> pa.Table:
        known = "lang" in documents.column_names
        langs = documents["lang"].to_pylist() if known else [None] * documents.num_rows
        measured = m.measure_texts(documents["text"], langs)
        if params.definitions == "datatrove":
            measured = datatrove.replace(measured, documents["text"].to_pylist())
        return measured.append_column(SCHEMA.field("lang"), pa.array(langs, pa.string()))

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: GopherParams) -> pa.Table:
        routes = _routes(measures, params)
        failures = []
        for name in PRESETS[params.preset].order:
            chosen = [(rule, rows) for found, rows in routes for rule in found if rule.name == name]
            if chosen:
                failures.append(_failure(name, chosen, measures))
        return verdicts(measures.num_rows, failures)

    @staticmethod
    def explain(text: str, params: GopherParams, rule: str) -> list[tuple[int, int]]:
        return places(text, rule) if params.definitions == "own" else []

    @staticmethod
    def measured_by(params: GopherParams) -> dict[str, str]:
        wanted = [params.thresholds(p, lang) for p in _used(params.profile) for lang in (None, *params.by_language)]
        return {n: m for n, (m, _) in CATALOGUE.items() if any(t.get(n) is not None for t in wanted)}


Rows = npt.NDArray[np.bool_]


def _routes(measures: pa.Table, params: GopherParams) -> list[tuple[list[Rule], Rows]]:
    """Rules and the rows that they judge: one set for each profile and language with thresholds of its own."""
    routes = []
    named = set(params.by_language) if "lang" in measures.column_names else set()
    langs = [lang if lang in named else None for lang in measures["lang"].to_pylist()] if named else []
    for profile, rows in profile_rows(measures, params.profile).items():
        for lang in (None, *sorted(named)):
            judged = rows & np.array([x == lang for x in langs], dtype=np.bool_) if named else rows
            routes.append((rules(params.preset, params.thresholds(profile, lang)), judged))
    return routes


def profile_rows(measures: pa.Table, profile: str) -> dict[Profile, npt.NDArray[np.bool_]]:
    """Which rows each profile judges: all of one where it is forced, else by the dominant script."""
    if profile != "auto":
        return {p: np.full(measures.num_rows, p == profile) for p in PROFILES}
    unspaced = pc.greater(measures["unspaced_ratio"], UNSPACED_ABOVE).to_numpy(zero_copy_only=False)
    unspaced = unspaced.astype(np.bool_)
    return {"spaced": ~unspaced, "unspaced": unspaced, "code": np.zeros(measures.num_rows, np.bool_)}


def _failure(name: str, chosen: Sequence[tuple[Rule, Rows]], measures: pa.Table) -> Failure:
    """One rule, whose threshold follows each row's profile and language."""
    failed = np.zeros(measures.num_rows, np.bool_)
    thresholds = np.full(measures.num_rows, np.nan)
    value: npt.NDArray[np.float64] | float | None = None
    for rule, rows in chosen:
        (judged,) = by_threshold(measures, [rule])
        failed |= judged.rows & rows
        thresholds[rows] = rule.threshold
        value = judged.value
    return Failure(name, failed, value, thresholds)
