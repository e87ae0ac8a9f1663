"""Thresholds of the Gopher family as data: what each rule compares, and what each preset asks of each profile.

A *profile* is a set of thresholds for one kind of text: `spaced` (words stand between white space), `unspaced` (a word
is one character) and `code`. The measures are the same for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from pipeline.rules import Rule

Profile = Literal["spaced", "unspaced", "code"]
PROFILES: Final[tuple[Profile, ...]] = ("spaced", "unspaced", "code")

UNSPACED_ABOVE: Final = 0.5
"""A document whose `unspaced_ratio` is above this takes the profile `unspaced`."""

CATALOGUE: Final = MappingProxyType(
    {
        "min_words": ("words", "at_least"),
        "max_words": ("words", "at_most"),
        "min_mean_word_length": ("mean_word_length", "at_least"),
        "max_mean_word_length": ("mean_word_length", "at_most"),
        "max_symbol_ratio": ("symbol_ratio", "at_most"),
        "max_total_symbol_ratio": ("total_symbol_ratio", "at_most"),
        "max_bullet_lines": ("bullet_line_ratio", "at_most"),
        "max_ellipsis_lines": ("ellipsis_line_ratio", "at_most"),
        "min_alpha_words": ("alpha_word_ratio", "at_least"),
        "min_stop_words": ("stop_words", "at_least"),
        "min_terminal_lines": ("terminal_line_ratio", "at_least"),
        "max_short_lines": ("short_line_ratio", "at_most"),
        "min_sentences": ("sentences", "at_least"),
        "max_curly_brackets": ("curly_brackets", "at_most"),
        "max_lorem_ipsum": ("lorem_ipsum", "at_most"),
        "max_duplicate_lines": ("duplicate_line_ratio", "at_most"),
        "max_duplicate_line_characters": ("duplicate_line_character_ratio", "at_most"),
        "max_duplicate_paragraphs": ("duplicate_paragraph_ratio", "at_most"),
        "max_duplicate_paragraph_characters": ("duplicate_paragraph_character_ratio", "at_most"),
        **{f"max_top_{n}gram": (f"top_{n}gram_ratio", "at_most") for n in (2, 3, 4)},
        **{f"max_duplicate_{n}gram": (f"duplicate_{n}gram_ratio", "at_most") for n in range(5, 11)},
        **{f"max_top3_{n}grams": (f"top3_{n}grams_ratio", "at_most") for n in (2, 3)},
        "max_digits": ("digit_ratio", "at_most"),
        "max_upper_case": ("upper_case_ratio", "at_most"),
        "max_urls": ("url_ratio", "at_most"),
        "max_white_space": ("white_space_ratio", "at_most"),
        "max_longest_line": ("longest_line", "at_most"),
    }
)
"""Every rule, in the order in which they are tried: its measure and its comparison where a source gives none."""

Thresholds = dict[str, float | None]
"""Rule name -> threshold; None switches the rule off."""


@dataclass(frozen=True)
class Preset:
    """A source's thresholds (`spaced`), what other profiles change in them, and comparisons that the source gives."""

    spaced: Thresholds
    unspaced: Thresholds
    code: Thresholds
    comparisons: dict[str, str]
    order: tuple[str, ...] = tuple(CATALOGUE)  # in which the rules are tried

    def thresholds(self, profile: Profile) -> Thresholds:
        """All thresholds of one profile."""
        changes = {"spaced": {}, "unspaced": self.unspaced, "code": self.code}[profile]
        return self.spaced | changes


GOPHER: Final = Preset(
    # Rae et al. 2021, appendix A1.1 and table A1.
    spaced={
        "min_words": 50,
        "max_words": 100_000,
        "min_mean_word_length": 3,
        "max_mean_word_length": 10,
        "max_symbol_ratio": 0.1,
        "max_bullet_lines": 0.9,
        "max_ellipsis_lines": 0.3,
        "min_alpha_words": 0.8,
        "min_stop_words": 2,
        "max_duplicate_lines": 0.30,
        "max_duplicate_line_characters": 0.20,
        "max_duplicate_paragraphs": 0.30,
        "max_duplicate_paragraph_characters": 0.20,
        "max_top_2gram": 0.20,
        "max_top_3gram": 0.18,
        "max_top_4gram": 0.16,
        "max_duplicate_5gram": 0.15,
        "max_duplicate_6gram": 0.14,
        "max_duplicate_7gram": 0.13,
        "max_duplicate_8gram": 0.12,
        "max_duplicate_9gram": 0.11,
        "max_duplicate_10gram": 0.10,
    },
    # Calibrated on half of 4,519 Chinese documents (encyclopedia, textbooks, manuals; many of them Markdown), see
    # benchmarks/calibrate_gopher.py and docs/heuristics.md; the paper has no such table.
    unspaced={
        "max_words": 170_000,  # about 1.7 characters make a Chinese word
        "min_mean_word_length": None,  # every unit is one character
        "max_mean_word_length": None,  # what is left are Latin names and code
        "min_stop_words": None,  # the list is English
        # Textbooks and manuals repeat the short lines of their listings: the highest shares are 0.57 and 0.39, as in
        # `code`. Prose that repeats itself fails the n-gram rules.
        "max_duplicate_lines": 0.60,
        "max_duplicate_line_characters": 0.40,
        # Five characters are three words: terms repeat in any good text (median 0.08, 99th percentile 0.48). The top
        # n-grams stay as they are: the 99.9th percentiles of 2, 3 and 4 characters are 0.15, 0.16 and 0.15.
        "max_duplicate_5gram": 0.55,
        "max_duplicate_6gram": 0.52,
        "max_duplicate_7gram": 0.48,
        "max_duplicate_8gram": 0.45,
        "max_duplicate_9gram": 0.42,
        "max_duplicate_10gram": 0.40,
    },
    # Calibrated on source code and marked-up documentation: benchmarks/calibrate_gopher.py, docs/heuristics.md.
    code={
        "min_words": 12,  # a module that imports, a page that includes
        "min_mean_word_length": 2,
        "max_mean_word_length": 40,  # a call with its arguments is one word
        "max_bullet_lines": None,  # a page of Markdown may be one list
        "max_symbol_ratio": 0.5,  # comments, headings and preprocessor lines begin with `#`
        "min_alpha_words": 0.45,  # operators and numbers stand alone
        "min_stop_words": None,
        "max_duplicate_lines": 0.65,
        "max_duplicate_line_characters": 0.45,
        "max_duplicate_paragraphs": 0.40,
        "max_duplicate_paragraph_characters": 0.25,
        "max_top_2gram": 0.30,
        "max_top_3gram": 0.28,
        "max_top_4gram": 0.26,
        "max_duplicate_5gram": 0.75,
        "max_duplicate_6gram": 0.72,
        "max_duplicate_7gram": 0.70,
        "max_duplicate_8gram": 0.68,
        "max_duplicate_9gram": 0.66,
        "max_duplicate_10gram": 0.65,
    },
    comparisons={},
)

CS336: Final = Preset(
    spaced={
        "min_words": 50,
        "max_words": 100_000,
        "min_mean_word_length": 3,
        "max_mean_word_length": 10,
        "max_total_symbol_ratio": 0.1,
        "max_top3_2grams": 0.2,
        "max_top3_3grams": 0.2,
    },
    # The two shares need no change: their 99.9th percentiles in Chinese are 0.15 and 0.12.
    unspaced={"max_words": 170_000, "min_mean_word_length": None, "max_mean_word_length": None},
    code={
        "min_words": 12,
        "min_mean_word_length": 2,
        "max_mean_word_length": 40,
        "max_total_symbol_ratio": 0.5,
        "max_top3_2grams": 0.35,
        "max_top3_3grams": 0.35,
    },
    # "below": a document that reaches the threshold is dropped.
    comparisons={"max_total_symbol_ratio": "below", "max_top3_2grams": "below", "max_top3_3grams": "below"},
)

C4: Final = Preset(
    # Raffel et al. 2020, section 2.2: the rules that drop a whole page. Those that drop lines rewrite the text.
    spaced={"min_sentences": 3, "max_curly_brackets": 0, "max_lorem_ipsum": 0},
    unspaced={},
    code={"min_sentences": None, "max_curly_brackets": None},
    comparisons={},
)

FINEWEB: Final = Preset(
    # Penedo et al. 2024, section 3.6, in addition to other filters: each drops a document that reaches its threshold.
    spaced={"min_terminal_lines": 0.12, "max_short_lines": 0.67, "max_duplicate_line_characters": 0.1},
    # Thirty Chinese characters say what a hundred say in English: in good prose half of the lines are that short.
    # One good Chinese document of sixteen has no line that ends a sentence; repeated listings: 99th percentile 0.24.
    unspaced={"max_short_lines": None, "min_terminal_lines": None, "max_duplicate_line_characters": 0.28},
    code={"min_terminal_lines": None, "max_short_lines": None, "max_duplicate_line_characters": 0.40},
    comparisons={"min_terminal_lines": "above", "max_short_lines": "below", "max_duplicate_line_characters": "below"},
)

DATATROVE: Final = Preset(
    # datatrove 0.10, GopherQualityFilter, then GopherRepetitionFilter: Rae's thresholds on measures of its own.
    spaced=GOPHER.spaced,
    unspaced={},
    code={},
    comparisons={},
    order=(
        *(n for n in CATALOGUE if not n.startswith("max_duplicate") and not n.startswith("max_top_")),
        *("max_duplicate_paragraphs", "max_duplicate_paragraph_characters"),
        *("max_duplicate_lines", "max_duplicate_line_characters"),
        *(n for n in CATALOGUE if n.startswith("max_top_") or (n.startswith("max_duplicate") and n.endswith("gram"))),
    ),
)

PRESETS: Final = MappingProxyType(
    {"gopher": GOPHER, "cs336": CS336, "c4": C4, "fineweb": FINEWEB, "datatrove": DATATROVE}
)


def rules(preset: str, thresholds: Thresholds) -> list[Rule]:
    """The rules with a threshold, compared and in the order as the preset says."""
    given = PRESETS[preset].comparisons
    found = []
    for name in PRESETS[preset].order:
        measure, comparison = CATALOGUE[name]
        threshold = thresholds.get(name)
        if threshold is not None:
            found.append(Rule(name, measure, given.get(name, comparison), threshold))
    return found
