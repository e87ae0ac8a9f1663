"""`preset: datatrove`: its numbers worked by hand, and its verdicts beside datatrove's own where that is installed.

datatrove lives in an environment of its own; CURATE_BENCH_DATATROVE names that environment's Python.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stages.gopher import Gopher, GopherParams
from stages.gopher.datatrove import measures
from tests.stages.test_gopher import PROSE, judge
from tests.stages.test_gopher_measures import shared

PEER = Path(__file__).parents[2] / "benchmarks" / "peers" / "datatrove_gopher.py"
REASONS = {
    "gopher_short_doc": "min_words",
    "gopher_long_doc": "max_words",
    "gopher_below_avg_threshold": "min_mean_word_length",
    "gopher_above_avg_threshold": "max_mean_word_length",
    "gopher_too_many_hashes": "max_symbol_ratio",
    "gopher_too_many_ellipsis": "max_symbol_ratio",
    "gopher_too_many_bullets": "max_bullet_lines",
    "gopher_too_many_end_ellipsis": "max_ellipsis_lines",
    "gopher_below_alpha_threshold": "min_alpha_words",
    "gopher_enough_stop_words": "min_stop_words",
    "dup_para_frac": "max_duplicate_paragraphs",
    "dup_para_char_frac": "max_duplicate_paragraph_characters",
    "dup_line_frac": "max_duplicate_lines",
    "dup_line_char_frac": "max_duplicate_line_characters",
    **{f"top_{n}_gram": f"max_top_{n}gram" for n in (2, 3, 4)},
    **{f"duplicated_{n}_n_grams": f"max_duplicate_{n}gram" for n in range(5, 11)},
}
"""datatrove's reasons -> the rules of the preset, in the order in which datatrove tries them."""


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("## Part one\n\nText here now.\n\n### Part two\n\nMore text here.\n", "symbol_ratio", 5 / 12),
        ("#include <a.h>\n#include <b.h>\nint main() { return 0; }\n", "symbol_ratio", 2 / 10),
        ("等等……我想想……", "symbol_ratio", 4 / 1),
        ("wait......what", "symbol_ratio", 2 / 1),
        ("- -- … a ～ 1", "words", 2),
        ("ab ... abcd", "mean_word_length", 3.0),
        ("-a\n- b\n\n• c", "bullet_line_ratio", 3 / 4),
        ("a...\nb…\n\nc", "ellipsis_line_ratio", 2 / 4),
        ("a1 22 33", "alpha_word_ratio", 1 / 3),
        ("The the to, of OF", "stop_words", 2),
        ("x\nx\ny", "duplicate_line_ratio", 1 / 3),
        ("a b\n\nc\n\na b", "duplicate_paragraph_ratio", 1 / 3),
        ("a b\n\nc\n\na b", "duplicate_paragraph_character_ratio", 3 / 11),
        ("hello world", "top_2gram_ratio", 1.0),
        ("a b a b", "top_2gram_ratio", 6 / 7),
        ("a b c d e f a b c d e g", "duplicate_5gram_ratio", 5 / 23),
        ("今天 天气", "unspaced_ratio", 0.0),
    ],
)
def test_its_measures_are_datatroves(text: str, name: str, value: float) -> None:
    assert measures(text)[name] == value
    settings = GopherParams(preset="datatrove")
    table = Gopher.measure(pa.table({"text": pa.array([text], pa.large_string())}), settings)
    assert table.schema == Gopher.schema(settings)
    assert table[name].to_pylist() == [value]


@pytest.mark.parametrize("text", ["", " \n", "\n\n"])
def test_a_document_without_words_is_too_short_and_divides_nothing_by_zero(text: str) -> None:
    about_words = {k: v for k, v in measures(text).items() if "line" not in k and "paragraph" not in k}
    assert all(value == 0 for value in about_words.values())
    assert judge([text], preset="datatrove")[0]["rule"] == "min_words"


def test_paragraphs_are_tried_before_lines_as_there() -> None:
    assert judge(["\n\n".join([PROSE] * 2)], preset="datatrove")[0]["failed"][:2] == [
        "max_duplicate_paragraphs",
        "max_duplicate_paragraph_characters",
    ]
    assert judge([PROSE], preset="datatrove")[0]["keep"]
    assert Gopher.explain("a a a a", GopherParams(preset="datatrove"), "max_top_2gram") == []


def verdicts_of_datatrove(texts: list[str]) -> list[Any]:
    python = os.environ.get("CURATE_BENCH_DATATROVE")
    if not python:
        pytest.skip("no datatrove: CURATE_BENCH_DATATROVE names no Python that has it")
    given = "\n".join(json.dumps(text) for text in texts)
    done = subprocess.run([python, str(PEER), "--split"], input=given, capture_output=True, text=True, check=True)
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])["verdicts"]
    return found


@pytest.mark.parametrize(
    ("file", "step"),
    [("web/c4-1000.jsonl.zst", 1), ("trusted/technical-en.jsonl.zst", 20), ("trusted/zh.jsonl.zst", 50)],
)
def test_every_verdict_and_reason_is_datatroves_own(file: str, step: int) -> None:
    texts = shared(file)[::step]
    theirs = [(keep, REASONS.get(reason, reason)) for keep, reason in verdicts_of_datatrove(texts)]
    assert [(verdict["keep"], verdict["rule"]) for verdict in judge(texts, preset="datatrove")] == theirs
