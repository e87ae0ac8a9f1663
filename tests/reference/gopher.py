"""The Gopher measures in plain Python: slow, obvious, and what the compiled kernels must equal."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import regex
import stopwordsiso

UNSPACED = [
    *("Han", "Hiragana", "Katakana", "Bopomofo", "Yi", "Thai", "Lao", "Khmer", "Myanmar"),
    *("Tai_Le", "New_Tai_Lue", "Tai_Tham", "Tai_Viet", "Tibetan", "Javanese", "Balinese"),
]
SCRIPTS = "".join(rf"\p{{scx={s}}}" for s in UNSPACED)
UNIT = rf"[[\p{{L}}\p{{N}}]&&[{SCRIPTS}]--[\u0000-\u07ff]]"
RUN = regex.compile(rf"{UNIT}\p{{M}}*|(?:(?!{UNIT})\P{{White_Space}})+", regex.V1)
ONE_UNIT = regex.compile(rf"{UNIT}\p{{M}}*", regex.V1)
HOLDS_LETTER_OR_NUMBER = regex.compile(r"[\p{L}\p{N}]")
HOLDS_LETTER = regex.compile(r"\p{L}")
ENDS = regex.compile(r"^[^\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}]+$")
HASHES = regex.compile(r"#+")
DOTS = regex.compile(r"[.。…⋯]+")
LAST_DOTS = regex.compile(r"[.。…⋯]+$")
BULLET = regex.compile(r"[•‣⁃◦●○▪▫■□∙·]|[-*+]\p{White_Space}")
SPACE_ENDS = regex.compile(r"^\p{White_Space}+|\p{White_Space}+$")
CLOSING = "\"'”’»)]}」』】）》〉"
TERMINALS = regex.compile(r"[\p{Sentence_Terminal}…⋯]+")
SPACE_OR_UNIT = regex.compile(rf"\p{{White_Space}}|{UNIT}", regex.V1)
LOREM_IPSUM = re.compile("lorem ipsum", re.ASCII | re.IGNORECASE)


def words_of(text: str) -> list[str]:
    return [run for run in RUN.findall(text) if HOLDS_LETTER_OR_NUMBER.search(run)]


def is_ellipsis(dots: str) -> bool:
    return len(dots) >= 3 or "…" in dots or "⋯" in dots


def sentences(text: str) -> int:
    ends = 0
    for run in TERMINALS.finditer(text):
        after = text[run.end() :].lstrip(CLOSING)
        ends += not after or bool(SPACE_OR_UNIT.match(after)) or run[0][-1] >= "\u3000"
    return ends


def ends_terminally(line: str) -> bool:
    return bool(TERMINALS.fullmatch((line[0] + line[1:].rstrip(CLOSING))[-1]))


def lines_of(text: str) -> list[str]:
    """Every line without the white space at its ends, blank ones included."""
    return [SPACE_ENDS.sub("", line) for line in text.split("\n")]


def paragraphs_of(lines: list[str]) -> list[tuple[str, ...]]:
    """Runs of lines that are not blank."""
    paragraphs: list[tuple[str, ...]] = [()]
    for line in lines:
        if line:
            paragraphs[-1] += (line,)
        else:
            paragraphs.append(())
    return [p for p in paragraphs if p]


def repeats(items: list[Any]) -> list[Any]:
    seen = set()
    found = []
    for item in items:
        if item in seen:
            found.append(item)
        seen.add(item)
    return found


def ngrams(words: list[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def covered(words: list[str], n: int, chosen: set[tuple[str, ...]]) -> int:
    """Characters of the words that lie in an occurrence of a chosen n-gram, each once."""
    inside = [False] * len(words)
    for i, gram in enumerate(ngrams(words, n)):
        if gram in chosen:
            inside[i : i + n] = [True] * n
    return sum(len(w) for w, yes in zip(words, inside, strict=True) if yes)


def top(words: list[str], n: int) -> int:
    counts = Counter(ngrams(words, n))
    most = max(counts.values(), default=0)
    if most < 2:
        return 0
    return max(covered(words, n, {gram}) for gram, count in counts.items() if count == most)


def duplicated(words: list[str], n: int) -> int:
    counts = Counter(ngrams(words, n))
    return covered(words, n, {gram for gram, count in counts.items() if count >= 2})


def top3(words: list[str], n: int) -> int:
    counts = Counter(ngrams(words, n))
    return sum(count for _, count in counts.most_common(3) if count >= 2)


def share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


URL = regex.compile(rf"(?:[hH][tT][tT][pP][sS]?://|[wW][wW][wW]\.)(?:(?!{UNIT})\P{{White_Space}})*", regex.V1)
NUMBER, LETTER, UPPER = (regex.compile(rf"\p{{{c}}}") for c in ("N", "L", "Lu"))
WHITE_SPACE = regex.compile(r"\p{White_Space}")
RAE = {"the", "be", "to", "of", "and", "that", "have", "with"}


def lowered(text: str) -> str:
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def stop_words(words: list[str], lang: str | None) -> int | None:
    cores = {ENDS.sub("", w) for w in words if not ONE_UNIT.fullmatch(w)}
    if lang in (None, "en"):
        return len(RAE & {core.casefold() for core in cores})
    if lang in ("zh", "ja", "th") or not stopwordsiso.has_lang(lang):
        return None
    return len({lowered(w) for w in stopwordsiso.stopwords(lang)} & {lowered(core) for core in cores})


def measures(text: str, lang: str | None = None) -> dict[str, Any]:
    words = words_of(text)
    spaced = [w for w in words if not ONE_UNIT.fullmatch(w)]
    word_characters = sum(map(len, words))
    hashes = len(HASHES.findall(text))
    ellipses = sum(map(is_ellipsis, DOTS.findall(text)))
    all_lines = lines_of(text)
    lines = [line for line in all_lines if line]
    paragraphs = paragraphs_of(all_lines)
    last_dots = [LAST_DOTS.search(line) for line in lines]
    repeated_lines = repeats(lines)
    repeated_paragraphs = repeats(paragraphs)
    row = {
        "characters": len(text),
        "words": len(words),
        "unspaced_ratio": share(len(words) - len(spaced), len(words)),
        "mean_word_length": share(sum(map(len, spaced)), len(spaced)),
        "symbol_ratio": share(max(hashes, ellipses), len(words)),
        "total_symbol_ratio": share(hashes + ellipses, len(words)),
        "alpha_word_ratio": share(sum(bool(HOLDS_LETTER.search(w)) for w in words), len(words)),
        "stop_words": stop_words(words, lang),
        "lines": len(lines),
        "bullet_line_ratio": share(sum(bool(BULLET.match(line)) for line in lines), len(lines)),
        "ellipsis_line_ratio": share(sum(d is not None and is_ellipsis(d[0]) for d in last_dots), len(lines)),
        "terminal_line_ratio": share(sum(map(ends_terminally, lines)), len(lines)),
        "short_line_ratio": share(sum(len(line) < 30 for line in lines), len(lines)),
        "sentences": sentences(text),
        "curly_brackets": text.count("{"),
        "lorem_ipsum": len(LOREM_IPSUM.findall(text)),
        "duplicate_line_ratio": share(len(repeated_lines), len(lines)),
        "duplicate_line_character_ratio": share(sum(map(len, repeated_lines)), len(text)),
        "paragraphs": len(paragraphs),
        "duplicate_paragraph_ratio": share(len(repeated_paragraphs), len(paragraphs)),
        "duplicate_paragraph_character_ratio": share(
            sum(len(line) for p in repeated_paragraphs for line in p), len(text)
        ),
    }
    row |= {
        "digit_ratio": share(len(NUMBER.findall(text)), len(text)),
        "upper_case_ratio": share(len(UPPER.findall(text)), len(LETTER.findall(text))),
        "url_ratio": share(sum(len(m[0]) for m in URL.finditer(text)), len(text)),
        "white_space_ratio": share(len(WHITE_SPACE.findall(text)), len(text)),
        "longest_line": max(map(len, lines), default=0),
    }
    row |= {f"top_{n}gram_ratio": share(top(words, n), word_characters) for n in (2, 3, 4)}
    row |= {f"duplicate_{n}gram_ratio": share(duplicated(words, n), word_characters) for n in range(5, 11)}
    row |= {f"top3_{n}grams_ratio": share(top3(words, n), len(words) - n + 1) for n in (2, 3)}
    return row
