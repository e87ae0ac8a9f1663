"""Failure cases of comparable Gopher filters, with the values expected here, and datatrove's under its definitions."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from stages.gopher import Gopher, GopherParams

HEADINGS = "## Part one\n\nText here now.\n\n### Part two\n\nMore text here.\n"
PREPROCESSOR = "#include <a.h>\n#include <b.h>\nint main() { return 0; }\n"


def judged(text: str, lang: str = "en", **params: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Measures and verdict of one document."""
    settings = GopherParams(**params)
    documents = pa.table({"text": pa.array([text], pa.large_string()), "lang": [lang]})
    measures = Gopher.measure(documents, settings)
    (row,), (verdict,) = measures.to_pylist(), Gopher.decide(measures, None, settings).to_pylist()
    return row, verdict


@pytest.mark.parametrize("text", ["", "   ", "\n\n\n", "\u200b", "...", "\u3000\u3000"])
def test_a_document_without_words_is_dropped_for_having_none_and_has_no_nan(text: str) -> None:
    """GOP-01."""
    row, verdict = judged(text)
    assert (row["words"], verdict["rule"], verdict["value"]) == (0, "min_words", 0.0)
    assert all(math.isfinite(value) for value in row.values() if isinstance(value, float))
    for name in ("symbol_ratio", "alpha_word_ratio", "mean_word_length", "duplicate_line_ratio", "top_2gram_ratio"):
        assert row[name] == 0.0


def test_an_ngram_that_occurs_once_stays_below_its_threshold() -> None:
    """GOP-02."""
    row, verdict = judged("hello world")
    assert row["top_2gram_ratio"] == 0.0
    assert "max_top_2gram" not in verdict["failed"]


@pytest.mark.parametrize(
    ("params", "value"), [({}, 0.8333333333333334), ({"preset": "datatrove"}, 0.21739130434782608)]
)
def test_duplicate_ngrams_have_one_definition_a_setting_and_its_value(params: dict[str, Any], value: float) -> None:
    """GOP-04: the paper's words, covered characters of all occurrences; with that preset, as newer datatrove counts."""
    row, verdict = judged("a b c d e f a b c d e g", **params)
    assert row["duplicate_5gram_ratio"] == value
    assert "max_duplicate_5gram" in verdict["failed"]


@pytest.mark.parametrize(
    ("text", "lines", "characters"),
    [
        ("hello world\nhello world", 0.5, 0.4782608695652174),
        ("x\nx\ny", 0.3333333333333333, 0.2),
        ("x\nx\ny\nz", 0.25, 1 / 7),
    ],
)
def test_duplicate_lines_are_the_repeats_over_the_whole_text(text: str, lines: float, characters: float) -> None:
    """GOP-05."""
    row, _ = judged(text)
    assert (row["duplicate_line_ratio"], row["duplicate_line_character_ratio"]) == (lines, characters)


def test_the_blank_lines_of_double_spaced_prose_are_no_duplicates() -> None:
    """GOP-06: the words of this text repeat, its lines do not."""
    row, verdict = judged("\n\n".join(f"p{i} has its own words here" for i in range(6)))
    assert row["duplicate_line_ratio"] == row["duplicate_line_character_ratio"] == 0.0
    assert not any("line" in rule or "paragraph" in rule for rule in verdict["failed"])


@pytest.mark.parametrize(
    ("lang", "sentence", "words"),
    [
        ("zh", "今天天气很好，我们一起去公园散步，然后回家吃饭。", 21),
        ("th", "วันนี้อากาศดีมากเราไปเดินเล่นในสวนสาธารณะ", None),
    ],
)
def test_units_of_scripts_without_spaces_are_their_characters(lang: str, sentence: str, words: int | None) -> None:
    """GOP-08."""
    assert len(sentence.split()) == 1
    row, _ = judged(sentence, lang)
    assert row["words"] == words or (words is None and row["words"] > 20)
    row, verdict = judged(sentence * 20, lang)
    assert row["unspaced_ratio"] > 0.9  # which is why the profile for unspaced scripts judges it
    assert not {"min_words", "min_mean_word_length", "max_mean_word_length", "min_stop_words"} & set(verdict["failed"])


@pytest.mark.parametrize(
    ("text", "runs", "datatrove"),
    [
        (HEADINGS, 2 / 10, 0.4166666666666667),
        ("等等……我想想……", 2 / 5, 4 / 1),
        ("wait......what", 1 / 1, 2 / 1),
        (PREPROCESSOR, 2 / 8, 0.2),
    ],
)
def test_a_run_of_signs_is_one_symbol_and_datatrove_counts_each(text: str, runs: float, datatrove: float) -> None:
    """GOP-09: a run of signs alone is no word here; datatrove's words are those between white space and signs."""
    row, verdict = judged(text)
    assert row["symbol_ratio"] == runs
    assert "max_symbol_ratio" in verdict["failed"]
    row, verdict = judged(text, preset="datatrove")
    assert row["symbol_ratio"] == datatrove
    assert "max_symbol_ratio" in verdict["failed"]


@pytest.mark.parametrize("text", [HEADINGS, PREPROCESSOR])
def test_headings_and_preprocessor_lines_pass_under_the_profile_for_code(text: str) -> None:
    """GOP-09."""
    assert "max_symbol_ratio" not in judged(text, profile="code")[1]["failed"]


def test_the_share_of_words_with_a_letter_is_a_minimum() -> None:
    """GOP-11."""
    row, verdict = judged("item 2024 3.5 100 200")
    assert row["alpha_word_ratio"] == 0.2
    assert "min_alpha_words" in verdict["failed"]
    row, verdict = judged("item code 2024 part book")
    assert row["alpha_word_ratio"] == 0.8
    assert "min_alpha_words" not in verdict["failed"]


def test_the_mean_word_length_is_a_mean_and_keeps_what_a_median_would_drop() -> None:
    """GOP-11: the median is 2."""
    row, verdict = judged("ab " * 40 + "abcdefghijklmnopqrst " * 10)
    assert row["mean_word_length"] == 5.6
    assert not {"min_mean_word_length", "max_mean_word_length"} & set(verdict["failed"])
