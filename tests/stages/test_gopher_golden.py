"""Golden values: every measure of short documents in eleven scripts, as the plain twin worked them out once.

A value is a whole number or a fraction in lowest terms; `null` where a measure does not apply. Values worked by hand
are in test_gopher_measures.py.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.reference import gopher as reference
from tests.stages.test_gopher_measures import measure

GOLDEN: dict[tuple[str, str], tuple[str, str]] = {
    ("English", "en"): (
        "# Notice\n"
        "\n"
        "The mill is old. The mill is old. The MILL is loud...\n"
        "See https://mill.example/a for more {2024}.\n"
        "- one\n"
        "- two\n"
        "\n"
        "# Notice\n",
        """
        characters=130 words=21 unspaced_ratio=0 mean_word_length=33/7 symbol_ratio=2/21 total_symbol_ratio=1/7
        alpha_word_ratio=20/21 stop_words=1 lines=6 bullet_line_ratio=1/3 ellipsis_line_ratio=1/6
        terminal_line_ratio=1/3 short_line_ratio=2/3 sentences=4 curly_brackets=1 lorem_ipsum=0
        duplicate_line_ratio=1/6 duplicate_line_character_ratio=4/65 paragraphs=3 duplicate_paragraph_ratio=1/3
        duplicate_paragraph_character_ratio=4/65 digit_ratio=2/65 upper_case_ratio=5/41 url_ratio=11/65
        white_space_ratio=27/130 longest_line=53 top_2gram_ratio=14/99 top_3gram_ratio=20/99 top_4gram_ratio=26/99
        duplicate_5gram_ratio=29/99 duplicate_6gram_ratio=0 duplicate_7gram_ratio=0 duplicate_8gram_ratio=0
        duplicate_9gram_ratio=0 duplicate_10gram_ratio=0 top3_2grams_ratio=3/10 top3_3grams_ratio=6/19
        """,
    ),
    ("German", "de"): (
        "Die Mühle steht am Fluß, und der Müller ist alt.\n"
        "Die Mühle steht am Fluß, und der Müller ist alt.\n"
        "• Öffnung: 9–12 Uhr…\n",
        """
        characters=119 words=23 unspaced_ratio=0 mean_word_length=94/23 symbol_ratio=1/23 total_symbol_ratio=1/23
        alpha_word_ratio=22/23 stop_words=7 lines=3 bullet_line_ratio=1/3 ellipsis_line_ratio=1/3
        terminal_line_ratio=1 short_line_ratio=1/3 sentences=3 curly_brackets=0 lorem_ipsum=0
        duplicate_line_ratio=1/3 duplicate_line_character_ratio=48/119 paragraphs=1 duplicate_paragraph_ratio=0
        duplicate_paragraph_character_ratio=0 digit_ratio=3/119 upper_case_ratio=5/42 url_ratio=0
        white_space_ratio=24/119 longest_line=48 top_2gram_ratio=10/47 top_3gram_ratio=13/47 top_4gram_ratio=17/47
        duplicate_5gram_ratio=39/47 duplicate_6gram_ratio=39/47 duplicate_7gram_ratio=39/47
        duplicate_8gram_ratio=39/47 duplicate_9gram_ratio=39/47 duplicate_10gram_ratio=39/47 top3_2grams_ratio=3/11
        top3_3grams_ratio=2/7
        """,
    ),
    ("French", "fr"): (
        "« Où est le moulin ? » demanda-t-il.\n"
        "\n"
        "Le moulin est là ! Le moulin est là !\n"
        "\n"
        "Voir www.moulin.example, s’il vous plaît…",
        """
        characters=118 words=18 unspaced_ratio=0 mean_word_length=89/18 symbol_ratio=1/18 total_symbol_ratio=1/18
        alpha_word_ratio=1 stop_words=5 lines=3 bullet_line_ratio=0 ellipsis_line_ratio=1/3 terminal_line_ratio=1
        short_line_ratio=0 sentences=5 curly_brackets=0 lorem_ipsum=0 duplicate_line_ratio=0
        duplicate_line_character_ratio=0 paragraphs=3 duplicate_paragraph_ratio=0
        duplicate_paragraph_character_ratio=0 digit_ratio=0 upper_case_ratio=4/81 url_ratio=19/118
        white_space_ratio=12/59 longest_line=41 top_2gram_ratio=18/89 top_3gram_ratio=22/89 top_4gram_ratio=26/89
        duplicate_5gram_ratio=0 duplicate_6gram_ratio=0 duplicate_7gram_ratio=0 duplicate_8gram_ratio=0
        duplicate_9gram_ratio=0 duplicate_10gram_ratio=0 top3_2grams_ratio=6/17 top3_3grams_ratio=1/4
        """,
    ),
    ("Russian", "ru"): (
        "Мельница стоит у реки. Мельница стоит у реки.\n"
        "\n"
        "ОНА СТАРАЯ, но ещё мелет — № 7…\n"
        "\n"
        "Мельница стоит у реки. Мельница стоит у реки.",
        """
        characters=125 words=22 unspaced_ratio=0 mean_word_length=49/11 symbol_ratio=1/22 total_symbol_ratio=1/22
        alpha_word_ratio=21/22 stop_words=4 lines=3 bullet_line_ratio=0 ellipsis_line_ratio=1/3
        terminal_line_ratio=1 short_line_ratio=0 sentences=5 curly_brackets=0 lorem_ipsum=0 duplicate_line_ratio=1/3
        duplicate_line_character_ratio=9/25 paragraphs=3 duplicate_paragraph_ratio=1/3
        duplicate_paragraph_character_ratio=9/25 digit_ratio=1/125 upper_case_ratio=1/7 url_ratio=0
        white_space_ratio=1/5 longest_line=45 top_2gram_ratio=26/49 top_3gram_ratio=4/7 top_4gram_ratio=38/49
        duplicate_5gram_ratio=38/49 duplicate_6gram_ratio=38/49 duplicate_7gram_ratio=38/49
        duplicate_8gram_ratio=38/49 duplicate_9gram_ratio=0 duplicate_10gram_ratio=0 top3_2grams_ratio=4/7
        top3_3grams_ratio=1/2
        """,
    ),
    ("Greek", "el"): (
        "Ο μύλος είναι παλιός. Ο μύλος είναι παλιός;\nΚαι το ποτάμι είναι βαθύ.\nΚαι το ποτάμι είναι βαθύ.",
        """
        characters=95 words=18 unspaced_ratio=0 mean_word_length=13/3 symbol_ratio=0 total_symbol_ratio=0
        alpha_word_ratio=1 stop_words=3 lines=3 bullet_line_ratio=0 ellipsis_line_ratio=0 terminal_line_ratio=2/3
        short_line_ratio=2/3 sentences=3 curly_brackets=0 lorem_ipsum=0 duplicate_line_ratio=1/3
        duplicate_line_character_ratio=5/19 paragraphs=1 duplicate_paragraph_ratio=0
        duplicate_paragraph_character_ratio=0 digit_ratio=0 upper_case_ratio=2/37 url_ratio=0
        white_space_ratio=17/95 longest_line=43 top_2gram_ratio=11/39 top_3gram_ratio=16/39 top_4gram_ratio=6/13
        duplicate_5gram_ratio=7/13 duplicate_6gram_ratio=0 duplicate_7gram_ratio=0 duplicate_8gram_ratio=0
        duplicate_9gram_ratio=0 duplicate_10gram_ratio=0 top3_2grams_ratio=6/17 top3_3grams_ratio=3/8
        """,
    ),
    ("Arabic", "ar"): (
        "الطاحونة قديمة جدا، والنهر عميق.\nهل هي قديمة؟ نعم، الطاحونة قديمة جدا.\n- ١٢٣ كيس",
        """
        characters=80 words=14 unspaced_ratio=0 mean_word_length=65/14 symbol_ratio=0 total_symbol_ratio=0
        alpha_word_ratio=13/14 stop_words=3 lines=3 bullet_line_ratio=1/3 ellipsis_line_ratio=0
        terminal_line_ratio=2/3 short_line_ratio=1/3 sentences=3 curly_brackets=0 lorem_ipsum=0
        duplicate_line_ratio=0 duplicate_line_character_ratio=0 paragraphs=1 duplicate_paragraph_ratio=0
        duplicate_paragraph_character_ratio=0 digit_ratio=3/80 upper_case_ratio=0 url_ratio=0 white_space_ratio=7/40
        longest_line=37 top_2gram_ratio=2/5 top_3gram_ratio=0 top_4gram_ratio=0 duplicate_5gram_ratio=0
        duplicate_6gram_ratio=0 duplicate_7gram_ratio=0 duplicate_8gram_ratio=0 duplicate_9gram_ratio=0
        duplicate_10gram_ratio=0 top3_2grams_ratio=2/13 top3_3grams_ratio=0
        """,
    ),
    ("Hebrew", "he"): (
        "הטחנה עומדת ליד הנהר. הטחנה עומדת ליד הנהר.\n\nהיא ישנה מאוד… ### 5",
        """
        characters=65 words=12 unspaced_ratio=0 mean_word_length=49/12 symbol_ratio=1/12 total_symbol_ratio=1/6
        alpha_word_ratio=11/12 stop_words=1 lines=2 bullet_line_ratio=0 ellipsis_line_ratio=0
        terminal_line_ratio=1/2 short_line_ratio=1/2 sentences=3 curly_brackets=0 lorem_ipsum=0
        duplicate_line_ratio=0 duplicate_line_character_ratio=0 paragraphs=2 duplicate_paragraph_ratio=0
        duplicate_paragraph_character_ratio=0 digit_ratio=1/65 upper_case_ratio=0 url_ratio=0 white_space_ratio=1/5
        longest_line=43 top_2gram_ratio=20/49 top_3gram_ratio=26/49 top_4gram_ratio=36/49 duplicate_5gram_ratio=0
        duplicate_6gram_ratio=0 duplicate_7gram_ratio=0 duplicate_8gram_ratio=0 duplicate_9gram_ratio=0
        duplicate_10gram_ratio=0 top3_2grams_ratio=6/11 top3_3grams_ratio=2/5
        """,
    ),
    ("Hindi", "hi"): (
        "चक्की नदी के किनारे है। चक्की नदी के किनारे है।\nवह १२ साल पुरानी है।",
        """
        characters=68 words=15 unspaced_ratio=0 mean_word_length=18/5 symbol_ratio=0 total_symbol_ratio=0
        alpha_word_ratio=14/15 stop_words=3 lines=2 bullet_line_ratio=0 ellipsis_line_ratio=0 terminal_line_ratio=1
        short_line_ratio=1/2 sentences=3 curly_brackets=0 lorem_ipsum=0 duplicate_line_ratio=0
        duplicate_line_character_ratio=0 paragraphs=1 duplicate_paragraph_ratio=0
        duplicate_paragraph_character_ratio=0 digit_ratio=1/34 upper_case_ratio=0 url_ratio=0 white_space_ratio=7/34
        longest_line=47 top_2gram_ratio=1/3 top_3gram_ratio=11/27 top_4gram_ratio=16/27 duplicate_5gram_ratio=19/27
        duplicate_6gram_ratio=0 duplicate_7gram_ratio=0 duplicate_8gram_ratio=0 duplicate_9gram_ratio=0
        duplicate_10gram_ratio=0 top3_2grams_ratio=3/7 top3_3grams_ratio=6/13
        """,
    ),
    ("Korean", "ko"): (
        "방앗간은 강가에 있다. 방앗간은 강가에 있다.\n그 집은 아주 오래되었다...\n• 오전 9시",
        """
        characters=50 words=12 unspaced_ratio=0 mean_word_length=37/12 symbol_ratio=1/12 total_symbol_ratio=1/12
        alpha_word_ratio=1 stop_words=2 lines=3 bullet_line_ratio=1/3 ellipsis_line_ratio=1/3
        terminal_line_ratio=2/3 short_line_ratio=1 sentences=3 curly_brackets=0 lorem_ipsum=0 duplicate_line_ratio=0
        duplicate_line_character_ratio=0 paragraphs=1 duplicate_paragraph_ratio=0
        duplicate_paragraph_character_ratio=0 digit_ratio=1/50 upper_case_ratio=0 url_ratio=0 white_space_ratio=6/25
        longest_line=25 top_2gram_ratio=14/37 top_3gram_ratio=20/37 top_4gram_ratio=0 duplicate_5gram_ratio=0
        duplicate_6gram_ratio=0 duplicate_7gram_ratio=0 duplicate_8gram_ratio=0 duplicate_9gram_ratio=0
        duplicate_10gram_ratio=0 top3_2grams_ratio=4/11 top3_3grams_ratio=1/5
        """,
    ),
    ("Chinese", "zh"): (
        "磨坊在河边。磨坊在河边，磨坊很老……\n他说：“好！”\n\n磨坊在河边。\n看https://a.example吧，共12页。",
        """
        characters=60 words=28 unspaced_ratio=13/14 mean_word_length=19/2 symbol_ratio=1/28 total_symbol_ratio=1/28
        alpha_word_ratio=27/28 stop_words=null lines=4 bullet_line_ratio=0 ellipsis_line_ratio=1/4
        terminal_line_ratio=1 short_line_ratio=1 sentences=5 curly_brackets=0 lorem_ipsum=0 duplicate_line_ratio=0
        duplicate_line_character_ratio=0 paragraphs=2 duplicate_paragraph_ratio=0
        duplicate_paragraph_character_ratio=0 digit_ratio=1/30 upper_case_ratio=0 url_ratio=17/60
        white_space_ratio=1/15 longest_line=25 top_2gram_ratio=8/45 top_3gram_ratio=1/5 top_4gram_ratio=4/15
        duplicate_5gram_ratio=17/45 duplicate_6gram_ratio=4/15 duplicate_7gram_ratio=4/15 duplicate_8gram_ratio=0
        duplicate_9gram_ratio=0 duplicate_10gram_ratio=0 top3_2grams_ratio=10/27 top3_3grams_ratio=9/26
        """,
    ),
    ("Japanese", "ja"): (
        "水車は川の近くにある。水車は川の近くにある。\nとても古い！\n・ 水\n水車は、ABCの3番目。",
        """
        characters=46 words=34 unspaced_ratio=16/17 mean_word_length=5/2 symbol_ratio=0 total_symbol_ratio=0
        alpha_word_ratio=33/34 stop_words=null lines=4 bullet_line_ratio=0 ellipsis_line_ratio=0
        terminal_line_ratio=3/4 short_line_ratio=1 sentences=4 curly_brackets=0 lorem_ipsum=0 duplicate_line_ratio=0
        duplicate_line_character_ratio=0 paragraphs=1 duplicate_paragraph_ratio=0
        duplicate_paragraph_character_ratio=0 digit_ratio=1/46 upper_case_ratio=3/35 url_ratio=0
        white_space_ratio=2/23 longest_line=22 top_2gram_ratio=6/37 top_3gram_ratio=9/37 top_4gram_ratio=8/37
        duplicate_5gram_ratio=20/37 duplicate_6gram_ratio=20/37 duplicate_7gram_ratio=20/37
        duplicate_8gram_ratio=20/37 duplicate_9gram_ratio=20/37 duplicate_10gram_ratio=20/37 top3_2grams_ratio=8/33
        top3_3grams_ratio=7/32
        """,
    ),
    ("Thai", "th"): (
        "โรงสีอยู่ริมน้ำ โรงสีอยู่ริมน้ำ\nมันเก่ามาก...\nโรงสีอยู่ริมน้ำ โรงสีอยู่ริมน้ำ",
        """
        characters=77 words=48 unspaced_ratio=1 mean_word_length=0 symbol_ratio=1/48 total_symbol_ratio=1/48
        alpha_word_ratio=1 stop_words=null lines=3 bullet_line_ratio=0 ellipsis_line_ratio=1/3
        terminal_line_ratio=1/3 short_line_ratio=1/3 sentences=1 curly_brackets=0 lorem_ipsum=0
        duplicate_line_ratio=1/3 duplicate_line_character_ratio=31/77 paragraphs=1 duplicate_paragraph_ratio=0
        duplicate_paragraph_character_ratio=0 digit_ratio=0 upper_case_ratio=0 url_ratio=0 white_space_ratio=4/77
        longest_line=31 top_2gram_ratio=2/7 top_3gram_ratio=12/35 top_4gram_ratio=16/35 duplicate_5gram_ratio=6/7
        duplicate_6gram_ratio=6/7 duplicate_7gram_ratio=6/7 duplicate_8gram_ratio=6/7 duplicate_9gram_ratio=6/7
        duplicate_10gram_ratio=6/7 top3_2grams_ratio=12/47 top3_3grams_ratio=6/23
        """,
    ),
    ("Burmese", "my"): (
        "စက်ရုံသည် မြစ်ကမ်းတွင် ရှိသည်။\nစက်ရုံသည် မြစ်ကမ်းတွင် ရှိသည်။",
        """
        characters=61 words=28 unspaced_ratio=1 mean_word_length=0 symbol_ratio=0 total_symbol_ratio=0
        alpha_word_ratio=1 stop_words=null lines=2 bullet_line_ratio=0 ellipsis_line_ratio=0 terminal_line_ratio=1
        short_line_ratio=0 sentences=2 curly_brackets=0 lorem_ipsum=0 duplicate_line_ratio=1/2
        duplicate_line_character_ratio=30/61 paragraphs=1 duplicate_paragraph_ratio=0
        duplicate_paragraph_character_ratio=0 digit_ratio=0 upper_case_ratio=0 url_ratio=0 white_space_ratio=5/61
        longest_line=30 top_2gram_ratio=2/9 top_3gram_ratio=7/27 top_4gram_ratio=10/27 duplicate_5gram_ratio=1
        duplicate_6gram_ratio=1 duplicate_7gram_ratio=1 duplicate_8gram_ratio=1 duplicate_9gram_ratio=1
        duplicate_10gram_ratio=1 top3_2grams_ratio=8/27 top3_3grams_ratio=3/13
        """,
    ),
    ("mixed", "und"): (
        "用Python写loop：for i in range(3): print(i)\n用Python写loop：for i in range(3): print(i)\nLorem ipsum 12 %…\n",
        """
        characters=100 words=19 unspaced_ratio=4/19 mean_word_length=16/3 symbol_ratio=1/19 total_symbol_ratio=1/19
        alpha_word_ratio=18/19 stop_words=null lines=3 bullet_line_ratio=0 ellipsis_line_ratio=1/3
        terminal_line_ratio=1/3 short_line_ratio=1/3 sentences=1 curly_brackets=0 lorem_ipsum=1
        duplicate_line_ratio=1/3 duplicate_line_character_ratio=2/5 paragraphs=1 duplicate_paragraph_ratio=0
        duplicate_paragraph_character_ratio=0 digit_ratio=1/25 upper_case_ratio=3/68 url_ratio=0
        white_space_ratio=7/50 longest_line=40 top_2gram_ratio=17/42 top_3gram_ratio=19/42 top_4gram_ratio=10/21
        duplicate_5gram_ratio=6/7 duplicate_6gram_ratio=6/7 duplicate_7gram_ratio=6/7 duplicate_8gram_ratio=6/7
        duplicate_9gram_ratio=0 duplicate_10gram_ratio=0 top3_2grams_ratio=1/3 top3_3grams_ratio=6/17
        """,
    ),
}


def values(listed: str) -> dict[str, float | int | None]:
    found: dict[str, float | int | None] = {}
    for part in listed.split():
        name, _, written = part.partition("=")
        fraction = None if written == "null" else Fraction(written)
        found[name] = None if fraction is None else fraction.numerator / fraction.denominator
    return found


@pytest.mark.parametrize(("script", "lang"), GOLDEN)
def test_every_measure_has_its_golden_value(script: str, lang: str) -> None:
    text, listed = GOLDEN[script, lang]
    assert measure(text, lang) == values(listed)
    assert reference.measures(text, lang) == values(listed)


def test_the_golden_values_are_many_and_not_trivial() -> None:
    found = [(name, value) for _, listed in GOLDEN.values() for name, value in values(listed).items()]
    assert len(found) >= 500
    assert sum(bool(value) for _, value in found) >= 200
    always_zero = {name for name, _ in found} - {name for name, value in found if value}
    assert not always_zero
