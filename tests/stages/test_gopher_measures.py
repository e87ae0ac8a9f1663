"""What the Gopher judge measures: worked values, scripts, degenerate documents, and equality with the plain twin."""

from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.gopher.measures import BLOCK_BYTES, SCHEMA, measure_texts
from tests.reference import gopher as reference

DATA = Path(os.environ.get("CURATE_TEST_DATA", Path(__file__).parents[2].parent / "shared" / "data"))

TEXTS = {
    "English": "The mill stands by the river, and the miller has left it to his daughter.\n\nShe runs it with care.",
    "German": "Die Mühle steht am Fluss, und der Müller hat sie seiner Tochter überlassen.",
    "Russian": "Мельница стоит у реки, и мельник оставил её дочери.\n\nОна ведёт дело с заботой.",
    "Arabic": "تقف الطاحونة عند النهر، وقد تركها الطحان لابنته.",
    "Hindi": "चक्की नदी के किनारे खड़ी है, और चक्कीवाले ने इसे अपनी बेटी को सौंप दिया है।",
    "Korean": "방앗간은 강가에 서 있고, 방앗간 주인은 그것을 딸에게 물려주었다.",
    "Chinese": "磨坊坐落在河边，磨坊主把它留给了女儿。\n\n她用心经营，村里人都来磨面。",
    "Japanese": "水車小屋は川辺に立ち、粉屋はそれを娘に残した。ミルは今日も回る。",
    "Thai": "โรงสีตั้งอยู่ริมแม่น้ำ และเจ้าของโรงสีได้ยกให้ลูกสาวของเขา",
    "Khmer": "រោងម៉ាស៊ីនកិនស្រូវស្ថិតនៅមាត់ទន្លេ",
    "Lao": "ໂຮງສີຕັ້ງຢູ່ແຄມແມ່ນໍ້າ",
    "Burmese": "စက်ရုံသည်မြစ်ကမ်းတွင်ရှိသည်",
    "Tibetan": "ཆུ་འཁོར་འདི་གཙང་པོའི་འགྲམ་དུ་ཡོད།",
}


def measure(text: str, lang: str | None = None) -> dict[str, Any]:
    (row,) = measure_all([text], [lang])
    return row


def measure_all(texts: list[str], langs: list[str | None] | None = None) -> list[dict[str, Any]]:
    chunks = pa.chunked_array([pa.array(texts, pa.large_string())])
    table = measure_texts(chunks, langs or [None] * len(texts))
    assert table.schema == SCHEMA
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def assert_equals_reference(texts: list[str], lang: str | None = None) -> None:
    for text, row in zip(texts, measure_all(texts, [lang] * len(texts)), strict=True):
        assert row == reference.measures(text, lang), text[:200]


def shared(name: str) -> list[str]:
    file = DATA / name
    if not file.is_file():
        pytest.skip(f"no real text: {file} is absent (set CURATE_TEST_DATA)")
    with zstandard.open(file, "rb") as stream, io.TextIOWrapper(stream, encoding="utf-8", newline="\n") as lines:
        return [json.loads(line)["text"] for line in lines]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b c", 3),
        ("well-known don't (yes)", 3),
        ("3.14 is π", 3),
        ("- -- … ... ## 🙂 a", 1),
        ("a\u00a0b\u3000c\u2028d\u0085e", 5),
        ("a\u200bb", 1),
        ("今天天气很好，我们一起去公园散步，然后回家吃饭。", 21),
        ("用Python写3.5行", 5),
        ("カーテン", 4),
        ("ﾃｽﾄ", 3),
        ("ก็ไม่", 3),
        ("한국어 문장", 2),
        ("〇一二", 3),
        ("ཆུ་འཁོར", 4),
        ("aˇbˇc", 1),
    ],
)
def test_words_are_counted(text: str, words: int) -> None:
    assert measure(text)["words"] == words


@pytest.mark.parametrize("text", ["", "   ", "\n\n\n", "\u200b", "...", "\u3000\u3000"])
def test_a_document_without_words_has_ratios_of_zero(text: str) -> None:
    row = measure(text)
    assert row["words"] == 0
    of_words = ("word", "gram", "symbol", "unspaced", "duplicate", "url", "digit", "upper")
    assert all(value == 0.0 for name, value in row.items() if any(part in name for part in of_words))
    assert row["mean_word_length"] == 0.0
    assert all(math.isfinite(value) for value in row.values())


def test_an_ngram_that_occurs_once_is_no_repetition() -> None:
    row = measure("hello world")
    assert row["top_2gram_ratio"] == 0.0
    assert row["top3_2grams_ratio"] == 0.0


def test_duplicate_ngrams_cover_all_occurrences_once() -> None:
    assert measure("a b c d e f a b c d e g")["duplicate_5gram_ratio"] == 10 / 12


@pytest.mark.parametrize(
    ("text", "line_ratio", "character_ratio"),
    [("hello world\nhello world", 0.5, 11 / 23), ("x\nx\ny", 1 / 3, 1 / 5), ("x\nx\ny\nz", 0.25, 1 / 7)],
)
def test_duplicate_lines_are_the_repeats_after_the_first(text: str, line_ratio: float, character_ratio: float) -> None:
    row = measure(text)
    assert row["duplicate_line_ratio"] == line_ratio
    assert row["duplicate_line_character_ratio"] == character_ratio


def test_blank_lines_are_not_lines() -> None:
    text = "\n\n".join(f"p{i} has its own words here" for i in range(6))
    row = measure(text)
    assert (row["lines"], row["paragraphs"], row["duplicate_line_ratio"]) == (6, 6, 0.0)


@pytest.mark.parametrize(
    ("text", "paragraphs", "ratio"),
    [
        ("a\nb\n\na\nb\n\nc", 3, 1 / 3),
        ("a\nb\n \t\na\nb", 2, 0.5),
        ("a\nb\n\nb\na", 2, 0.0),
        ("a b\n\nc\n\n\n\na b\n", 3, 1 / 3),
    ],
)
def test_a_paragraph_is_a_run_of_lines(text: str, paragraphs: int, ratio: float) -> None:
    row = measure(text)
    assert (row["paragraphs"], row["duplicate_paragraph_ratio"]) == (paragraphs, ratio)


def test_lines_are_compared_without_the_white_space_at_their_ends() -> None:
    assert measure("one line\r\n  one line\r\n")["duplicate_line_ratio"] == 0.5


@pytest.mark.parametrize(
    ("text", "symbols", "words"),
    [
        ("## Part one\n\nText here now.\n\n### Part two\n\nMore text here.\n", 2, 10),
        ("等等……我想想……", 2, 5),
        ("wait......what", 1, 1),
        ("so ... and … and .. and ⋯ end", 3, 5),
        ("嗯。。。好", 1, 2),
        ("#include <a.h>\n#include <b.h>\nint main() { return 0; }\n", 2, 8),
    ],
)
def test_a_run_of_hashes_or_dots_is_one_symbol(text: str, symbols: int, words: int) -> None:
    row = measure(text)
    assert row["words"] == words
    assert row["symbol_ratio"] == row["total_symbol_ratio"] == symbols / words


def test_the_symbol_ratio_takes_the_larger_kind_and_the_total_takes_both() -> None:
    row = measure("# a ... b ... c # d # e")
    assert (row["symbol_ratio"], row["total_symbol_ratio"]) == (3 / 5, 5 / 5)


@pytest.mark.parametrize(
    ("line", "bullet"),
    [("• a", 1), ("•a", 1), ("  ▪ a", 1), ("- a", 1), ("* a", 1), ("+ a", 1), ("-a", 0), ("-", 0), ("**a**", 0)],
)
def test_a_bullet_stands_at_the_start_of_a_line(line: str, bullet: int) -> None:
    assert measure(f"{line}\nb")["bullet_line_ratio"] == bullet / 2


@pytest.mark.parametrize(
    ("line", "ellipsis"), [("a…", 1), ("a... ", 1), ("a..", 0), ("a.", 0), ("...a", 0), ("他走了……\r", 1), ("…", 1)]
)
def test_an_ellipsis_stands_at_the_end_of_a_line(line: str, ellipsis: int) -> None:
    assert measure(f"{line}\nb")["ellipsis_line_ratio"] == ellipsis / 2


@pytest.mark.parametrize(
    ("line", "terminal"),
    [
        *(("He left.", 1), ("Did he?", 1), ("“He left.”", 1), ("(He did!)", 1), ("他走了。", 1), ("他说：“走！”", 1)),
        *(("वह गया।", 1), ("Wait…", 1), ("Home", 0), ("Home,", 0), ("a)", 0), (")", 0), ("(.", 1), ("version 3.5", 0)),
    ],
)
def test_terminal_punctuation_stands_at_the_end_of_a_line(line: str, terminal: int) -> None:
    assert measure(f"{line}\nb")["terminal_line_ratio"] == terminal / 2


def test_a_line_of_thirty_characters_is_not_short() -> None:
    assert measure("x" * 29 + "\n" + "磨" * 30 + "\n  " + "y" * 28 + "  ")["short_line_ratio"] == 2 / 3


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two! Three?", 3),
        ("Version 3.5 is out", 0),
        ("He said “go.” Then he went.", 2),
        ("真的吗？！是的。“好。”他说", 3),
        ("สวัสดี.ครับ", 1),
        ("Wait... what?", 2),
        ("", 0),
    ],
)
def test_sentence_ends_are_counted(text: str, count: int) -> None:
    assert measure(text)["sentences"] == count


def test_curly_brackets_and_filler_text_are_counted() -> None:
    row = measure("if (x) { { } Lorem Ipsum lorem ipsum LOREM  IPSUM lorem\0ipsum lorem ipsu")
    assert (row["curly_brackets"], row["lorem_ipsum"]) == (2, 2)


def test_the_share_of_words_with_a_letter() -> None:
    assert measure("item 2024 3.5 100 200")["alpha_word_ratio"] == 0.2


def test_mean_word_length_is_a_mean() -> None:
    assert measure("ab " * 40 + "abcdefghijklmnopqrst " * 10)["mean_word_length"] == 5.6


def test_mean_word_length_is_that_of_words_between_spaces() -> None:
    assert measure("磨坊坐落在 the river 河边")["mean_word_length"] == 4.0


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The THE the,", 1),
        ("(to) be, or not “to be”", 2),
        ("the be to of and that have with", 8),
        ("then bee too often", 0),
        ("the-be to's", 0),
    ],
)
def test_stop_words_are_distinct_and_case_folded(text: str, count: int) -> None:
    assert measure(text)["stop_words"] == count


def test_stop_words_are_those_of_the_language_and_unknown_without_a_list() -> None:
    rows = measure_all(["the be to, Und „oder“ UND die"] * 6, ["en", "de", None, "zh", "ceb", "th"])
    assert [row["stop_words"] for row in rows] == [3, 3, 3, None, None, None]


@pytest.mark.parametrize(
    ("lang", "text", "count"),
    [
        ("de", "Über dem Dach (über) steht es.", 4),
        ("ru", "И он не был в доме", 5),
        ("fr", "Où est-il, et pourquoi ?", 3),
        ("el", "Και το σπίτι", 2),
        ("ko", "그 집은 또한 크다", 2),
    ],
)
def test_stop_words_are_counted_in_many_languages(lang: str, text: str, count: int) -> None:
    assert measure(text, lang)["stop_words"] == count == reference.measures(text, lang)["stop_words"]


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("In 2024, 3½ km", "digit_ratio", 6 / 14),
        ("Nasa NASA 磨 1", "upper_case_ratio", 5 / 9),
        ("a b\u00a0c\u3000\n", "white_space_ratio", 4 / 7),
        ("see http://a.io/b, www.c.de", "url_ratio", 22 / 27),
        ("HTTPS://X y WwW.z", "url_ratio", 14 / 17),
        ("看http://a.io磨坊www.b.cn", "url_ratio", 19 / 22),
        ("www.http://a b://c ftp://d httpx://e wwww.f", "url_ratio", 17 / 43),
        ("http:/ ww.a://", "url_ratio", 0.0),
        ("  abc  \nde\n", "longest_line", 3),
        ("\n \n", "longest_line", 0),
    ],
)
def test_shares_of_characters(text: str, name: str, value: float) -> None:
    assert measure(text)[name] == value


def test_a_top_ngram_that_overlaps_itself_never_passes_one() -> None:
    row = measure("spam " * 100)
    assert row["top_2gram_ratio"] == row["top_4gram_ratio"] == row["duplicate_10gram_ratio"] == 1.0
    assert row["top3_2grams_ratio"] == 1.0


def test_of_equally_frequent_ngrams_the_one_that_covers_most_is_taken() -> None:
    assert measure("a b x a b y ccc ddd z ccc ddd")["top_2gram_ratio"] == 12 / 19


def test_the_three_most_frequent_ngrams_share_all_occurrences() -> None:
    text = "a b " * 5 + "c d e f g h"  # 2-grams: a b ×5, b a ×4, then b c, c d, d e, e f, f g, g h
    assert measure(text)["top3_2grams_ratio"] == 9 / 15


@pytest.mark.parametrize("script", TEXTS)
def test_every_script_is_measured_as_the_twin_measures_it(script: str) -> None:
    assert_equals_reference([TEXTS[script], TEXTS[script] * 3, "\n\n".join([TEXTS[script]] * 4)])


@pytest.mark.parametrize("script", TEXTS)
def test_scripts_without_spaces_are_told_by_their_units(script: str) -> None:
    unspaced = measure(TEXTS[script])["unspaced_ratio"]
    spaced = script in ("English", "German", "Russian", "Arabic", "Hindi", "Korean")
    assert unspaced == 0.0 if spaced else unspaced > 0.9


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    texts = [*TEXTS.values(), "", "x", *TEXTS.values()]
    together = measure_all(texts)
    assert together == [measure(text) for text in texts]
    sliced = pa.chunked_array([pa.array(texts, pa.large_string())]).slice(3, 9)
    assert measure_texts(sliced, [None] * 9).to_pylist() == together[3:12]


def test_documents_larger_than_a_block_are_measured() -> None:
    texts = ["a b " * (BLOCK_BYTES // 3), "one", "磨坊" * (BLOCK_BYTES // 5), "", "two three"]
    assert [row["words"] for row in measure_all(texts)] == [
        *(BLOCK_BYTES // 3 * 2, 1),
        *(BLOCK_BYTES // 5 * 2, 0, 2),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a b " * 100_000,
        "spam " * 100_000,
        "x" * 1_000_000,
        "\n" * 500_000,
        "a\n" * 200_000,
        "." * 1_000_000,
        "磨" * 300_000,
    ],
    ids=["one-letter words", "one word", "no white space", "blank lines", "one line", "dots", "one character"],
)
def test_a_hostile_document_takes_time_in_proportion_to_its_length(text: str) -> None:
    measure("warm")
    start = time.perf_counter()
    measure(text)
    assert time.perf_counter() - start < 2.0  # about 0.05 s; quadratic time would be minutes


def test_the_compiler_is_not_loaded_before_something_is_measured() -> None:
    code = "import sys, stages.gopher; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_empty_table_has_the_declared_schema() -> None:
    assert measure_all([]) == []
    assert measure_texts(pa.chunked_array([], pa.large_string()), []).schema == SCHEMA


ALPHABET = "aabbc{!?”)。！  \n\n\n.#…⋯。-*•今天\u0e01\u0e34\u0301é1½\u200b\u3000\rTtheow:/hps"


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(st.sampled_from(ALPHABET) | st.characters(codec="utf-8"), max_size=120), max_size=4))
def test_any_text_is_measured_as_the_twin_measures_it(texts: list[str]) -> None:
    assert_equals_reference(texts)


STOPS = ["Und", "die,", "„über", "ß", "磨und", "DAß", "dass\u0301", "и", "В", "not", "İ", "-", "x", "ΌΣ", "όσ", "\n"]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(STOPS) | st.text(max_size=4), max_size=30).map(" ".join),
    st.sampled_from(["de", "ru", "el", "tr"]),
)
def test_stop_words_of_any_language_are_counted_as_the_twin_counts_them(text: str, lang: str) -> None:
    assert_equals_reference([text, text * 2], lang)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["a", "bb", "The", "to,", "今", "x\n", "\n\n", "LOREM", "ipsum", "l", "http", "S://", "wWw", "www."]
        ),
        max_size=80,
    ).map(" ".join)
)
def test_repetitive_text_is_measured_as_the_twin_measures_it_and_no_share_passes_one(text: str) -> None:
    assert_equals_reference([text])
    row = measure(text)
    shares = [v for k, v in row.items() if k.endswith("_ratio") and k not in ("symbol_ratio", "total_symbol_ratio")]
    assert all(0.0 <= share <= 1.0 for share in shares)


@pytest.mark.parametrize(
    ("file", "step"),
    [("web/c4-1000.jsonl.zst", 10), ("trusted/zh.jsonl.zst", 50), ("trusted/technical-en.jsonl.zst", 200)],
)
def test_real_text_is_measured_as_the_twin_measures_it(file: str, step: int) -> None:
    assert_equals_reference([text[:20_000] for text in shared(file)[::step]])
