"""The places that a sample shows are those that the measures count."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.gopher import Gopher, GopherParams
from stages.gopher.explain import explain, lines, words
from stages.gopher.rules import CATALOGUE
from tests.reference import gopher as reference
from tests.stages.test_gopher_measures import ALPHABET, TEXTS, shared

NOWHERE = {"min_words", "max_words", "min_mean_word_length", "min_stop_words", "min_sentences"}


def said(text: str, rule: str) -> list[str]:
    return [text[a:b] for a, b in explain(text, rule)]


@pytest.mark.parametrize(
    ("rule", "text", "places"),
    [
        ("max_symbol_ratio", "## a ... b # c", ["##", "#"]),
        ("max_symbol_ratio", "等等……好… #", ["……", "…"]),
        ("max_total_symbol_ratio", "## a ... b", ["##", "..."]),
        ("max_bullet_lines", " • a\n- b\n-c\n* d", ["•", "-", "*"]),
        ("max_ellipsis_lines", "a... \nb... c\nd…", ["...", "…"]),
        ("min_alpha_words", "a 12 3.5 - b2", ["12", "3.5"]),
        ("max_mean_word_length", "a bbb cc 磨 bbb dddd", ["dddd", "bbb", "cc", "a", "磨"]),
        ("min_terminal_lines", "Home\nHe left.\n“Did he?”\nAway,", ["Home", "Away,"]),
        ("max_short_lines", f"short\n{'x' * 30}", ["short"]),
        ("max_curly_brackets", "a { b } {", ["{", "{"]),
        ("max_lorem_ipsum", "x Lorem Ipsum y", ["Lorem Ipsum"]),
        ("max_digits", "a 12 3½", ["12", "3½"]),
        ("max_upper_case", "Nasa NASA", ["N", "NASA"]),
        ("max_urls", "看http://a.io磨坊 WWW.b.cn, x", ["http://a.io", "WWW.b.cn,"]),
        ("max_white_space", "a  b\n\nc", ["  ", "\n\n"]),
        ("max_longest_line", "a\nbbb\nccc", ["bbb"]),
        ("max_duplicate_lines", "one\ntwo\n one \n\ntwo", ["one", "two"]),
        ("max_duplicate_line_characters", "one\none", ["one"]),
        ("max_duplicate_paragraphs", "a\nb\n\nc\n\n a\nb ", ["a\nb"]),
        ("max_duplicate_paragraph_characters", "a\n\nb\n\na", ["a"]),
        ("max_top_2gram", "buy now x buy now y z", ["buy now", "buy now"]),
        ("max_top_2gram", "a b x a b y ccc ddd z ccc ddd", ["ccc ddd", "ccc ddd"]),
        ("max_top_2gram", "spam spam spam", ["spam spam spam"]),
        ("max_top_3gram", "加微信，加微信", ["加微信", "加微信"]),
        ("max_top_2gram", "all words differ here", []),
        ("max_duplicate_5gram", "a b c d e f a b c d e g", ["a b c d e", "a b c d e"]),
        ("max_top3_2grams", "a b x a b y", ["a b", "a b"]),
    ],
)
def test_a_rule_has_its_places(rule: str, text: str, places: list[str]) -> None:
    found = said(text, rule)
    assert sorted(found) == sorted(places) if rule == "max_mean_word_length" else found == places


@pytest.mark.parametrize("rule", CATALOGUE)
def test_every_rule_has_places_or_speaks_of_the_whole_document(rule: str) -> None:
    text = "\n\n".join(["# a - 12 - {Lorem ipsum} b c d e f g h i www.j…", "• x", "no"] * 3)
    assert (explain(text, rule) == []) == (rule in NOWHERE)
    assert Gopher.explain(text, GopherParams(), rule) == explain(text, rule)
    assert explain("", rule) == []


TEXT = st.text(st.sampled_from(ALPHABET) | st.characters(codec="utf-8"), max_size=100)
REPETITIVE = st.lists(st.sampled_from(["a", "bb", "The", "今", "x\n", "\n\n", "z…"]), max_size=60).map(" ".join)


@settings(max_examples=200, deadline=None)
@given(TEXT | REPETITIVE)
def test_places_are_disjoint_in_order_and_as_many_as_are_measured(text: str) -> None:
    assert_as_measured(text)


@pytest.mark.parametrize("script", TEXTS)
def test_places_in_every_script_are_as_measured(script: str) -> None:
    assert_as_measured("\n".join([TEXTS[script]] * 2 + [TEXTS[script][3:]]))


@pytest.mark.parametrize(("file", "step"), [("web/c4-1000.jsonl.zst", 100), ("trusted/zh.jsonl.zst", 500)])
def test_places_in_real_text_are_as_measured(file: str, step: int) -> None:
    for text in shared(file)[::step]:
        assert_as_measured(text[:5_000])


def assert_as_measured(text: str) -> None:
    for rule in CATALOGUE:
        spans = explain(text, rule)
        assert all(0 <= a < b <= len(text) for a, b in spans)
        assert all(b <= c for (_, b), (c, _) in pairwise(spans)), rule
    row = reference.measures(text)
    listed = [text[a:b] for a, b in words(text)]
    assert listed == reference.words_of(text)
    assert [text[a:b] for a, b in lines(text)] == [line for line in reference.lines_of(text) if line]
    assert len(explain(text, "max_bullet_lines")) == round(row["bullet_line_ratio"] * row["lines"])
    assert len(explain(text, "max_ellipsis_lines")) == round(row["ellipsis_line_ratio"] * row["lines"])
    assert len(explain(text, "max_duplicate_lines")) == round(row["duplicate_line_ratio"] * row["lines"])
    assert len(explain(text, "max_duplicate_paragraphs")) == round(row["duplicate_paragraph_ratio"] * row["paragraphs"])
    assert len(explain(text, "max_symbol_ratio")) == round(row["symbol_ratio"] * row["words"]) or not row["words"]
    unfinished = row["lines"] - round(row["terminal_line_ratio"] * row["lines"])
    assert len(explain(text, "min_terminal_lines")) == unfinished
    for rule, name in (("max_digits", "digit"), ("max_urls", "url"), ("max_white_space", "white_space")):
        assert sum(b - a for a, b in explain(text, rule)) == round(row[f"{name}_ratio"] * len(text))
    assert max((b - a for a, b in explain(text, "max_longest_line")), default=0) == row["longest_line"]
    whole = sum(map(len, listed))
    for n in (2, 3, 4):
        assert inside(text, f"max_top_{n}gram") == round(row[f"top_{n}gram_ratio"] * whole)
    for n in range(5, 11):
        assert inside(text, f"max_duplicate_{n}gram") == round(row[f"duplicate_{n}gram_ratio"] * whole)


@pytest.mark.parametrize("unit", ["a ", " ", "磨", "a\n", "#", "www.", "{", "a\n\n"])
@pytest.mark.parametrize("rule", CATALOGUE)
def test_finding_places_takes_time_in_proportion_to_the_length(unit: str, rule: str) -> None:
    start = time.process_time()
    explain(f"a{unit * 50_000}b", rule)
    assert time.process_time() - start < 5.0  # well below a second; quadratic time would be minutes


def inside(text: str, rule: str) -> int:
    """Characters of words in the places of a rule."""
    spans: Any = explain(text, rule)
    return sum(b - a for a, b in words(text) if any(c <= a and b <= d for c, d in spans))


def test_places_begin_and_end_with_a_word() -> None:
    text = "… buy now! (x) buy now! …"
    assert [bool(regex.match(r"\w", text[a])) for a, _ in explain(text, "max_top_2gram")] == [True, True]
