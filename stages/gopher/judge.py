"""The Gopher judge: heuristic rules on words, symbols, lines and repetition.

Measures: `stages.gopher.measures`. Rules and presets: `stages.gopher.rules`. No setting reaches a measure, so a new
threshold, preset or profile re-decides from stored measures.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator, Field, model_validator

from pipeline.rules import Failure, Rule, by_threshold, verdicts
from pipeline.stage import Judge, Params, decides
from stages.gopher import measures as m
from stages.gopher.rules import CATALOGUE, PRESETS, PROFILES, UNSPACED_ABOVE, Profile, Thresholds, rules


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
    min_stop_words: Number = _unset("fewest distinct stop words, in languages with a list (en)")
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

    def given(self) -> Thresholds:
        """The thresholds that are set; None where a rule is switched off."""
        values = {name: getattr(self, name) for name in CATALOGUE}
        return {name: None if v is False else float(v) for name, v in values.items() if v is not None}


class GopherParams(ThresholdParams):
    """Settings of the Gopher judge.

    A threshold set here holds for the profile `spaced` and for every profile whose preset has the same threshold; what
    a profile has of its own (a character count, say) is set below that profile's name. With one forced profile, a
    threshold set here is that profile's.
    """

    preset: Literal["gopher", "cs336", "c4", "fineweb"] = decides(
        "gopher", description="whose thresholds to start from"
    )
    profile: Literal["auto", "spaced", "unspaced", "code"] = decides(
        "auto", description="thresholds for which kind of text; auto: spaced or unspaced, by the dominant script"
    )
    spaced: ThresholdParams = decides(ThresholdParams(), description="thresholds of this profile alone")
    unspaced: ThresholdParams = decides(ThresholdParams(), description="thresholds of this profile alone")
    code: ThresholdParams = decides(ThresholdParams(), description="thresholds of this profile alone")

    def thresholds(self, profile: Profile) -> Thresholds:
        """The thresholds of one profile after all overrides; a missing name or None means no such rule."""
        preset = PRESETS[self.preset]
        base, spaced = preset.thresholds(profile), preset.thresholds("spaced")
        own: ThresholdParams = getattr(self, profile)
        shared = {
            name: value
            for name, value in self.given().items()
            if self.profile == profile or base.get(name) == spaced.get(name)
        }
        return base | shared | own.given()

    @model_validator(mode="after")
    def _ordered(self) -> GopherParams:
        used: tuple[Profile, ...] = ("spaced", "unspaced") if self.profile == "auto" else (self.profile,)
        for profile in used:
            thresholds = self.thresholds(profile)
            for what in ("words", "mean_word_length"):
                low, high = thresholds.get(f"min_{what}"), thresholds.get(f"max_{what}")
                if low is not None and high is not None and low > high:
                    raise ValueError(
                        f"min_{what} {low:g} is above max_{what} {high:g} (profile {profile}): nothing would be kept"
                    )
        return self


class Gopher(Judge):
    """Keeps documents that look like running text by the rules of a preset."""

    name = "gopher"
    Params = GopherParams
    libraries = ("numba", "numpy")
    needs = {"lang": "language.lang"}  # noqa: RUF012 - declared as a ClassVar by Stage

    @staticmethod
    def schema(params: GopherParams) -> pa.Schema:
        return m.SCHEMA

    @staticmethod
    def measure(documents: pa.Table, params: GopherParams, artefact: Path | None = None) -> pa.Table:
        known = "lang" in documents.column_names
        langs = documents["lang"].to_pylist() if known else [None] * documents.num_rows
        return m.measure_texts(documents["text"], langs)

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: GopherParams) -> pa.Table:
        rows = profile_rows(measures, params.profile)
        failures = []
        per_profile = {p: rules(params.preset, params.thresholds(p)) for p in PROFILES}
        for name in CATALOGUE:
            chosen = {p: rule for p in PROFILES for rule in per_profile[p] if rule.name == name}
            if chosen:
                failures.append(_failure(name, chosen, rows, measures))
        return verdicts(measures.num_rows, failures)


def profile_rows(measures: pa.Table, profile: str) -> dict[Profile, npt.NDArray[np.bool_]]:
    """Which rows each profile judges: all of one where it is forced, else by the dominant script."""
    if profile != "auto":
        return {p: np.full(measures.num_rows, p == profile) for p in PROFILES}
    unspaced = pc.greater(measures["unspaced_ratio"], UNSPACED_ABOVE).to_numpy(zero_copy_only=False)
    unspaced = unspaced.astype(np.bool_)
    return {"spaced": ~unspaced, "unspaced": unspaced, "code": np.zeros(measures.num_rows, np.bool_)}


def _failure(
    name: str,
    chosen: dict[Profile, Rule],
    rows: dict[Profile, npt.NDArray[np.bool_]],
    measures: pa.Table,
) -> Failure:
    """One rule, whose threshold follows each row's profile."""
    failed = np.zeros(measures.num_rows, np.bool_)
    thresholds = np.full(measures.num_rows, np.nan)
    value: npt.NDArray[np.float64] | float | None = None
    for profile, rule in chosen.items():
        (judged,) = by_threshold(measures, [rule])
        failed |= judged.rows & rows[profile]
        thresholds[rows[profile]] = rule.threshold
        value = judged.value
    return Failure(name, failed, value, thresholds)
