"""Where in a text lies what made a rule of the Gopher family fire: plain Python, for display only.

Words, lines and symbols are those of `kernels.words`. Rules on lengths and numbers of words, sentences or stop words
speak of the whole document and have no place in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final

import regex

from kernels.word_tables import CLASSES, CLOSING

Spans = list[tuple[int, int]]

LONGEST_SHOWN: Final = 5  # words, where the mean word length is too great


def explain(text: str, rule: str) -> Spans:
    """Spans (start, end in code points; disjoint, in order) of what `rule` counts; empty where it has no place."""
    prefix, _, n = rule.rpartition("_")
    if prefix == "max_top" and n.endswith("gram"):
        return _top(text, int(n.removesuffix("gram")))
    if prefix == "max_duplicate" and n.endswith("gram"):
        return _ngrams(text, int(n.removesuffix("gram")), lambda counts: {g for g, c in counts.items() if c > 1})
    if prefix == "max_top3":
        return _ngrams(text, int(n.removesuffix("grams")), lambda c: {g for g, k in c.most_common(3) if k > 1})
    find = _RULES.get(rule)
    return [] if find is None else sorted(find(text))


@cache
def _patterns() -> dict[str, Any]:
    space, letter, number, mark, unit, dot, bullet, terminal, _ = (pattern for _, pattern in CLASSES)
    written = {
        "word": rf"{unit}{mark}*|(?:(?!{unit})(?!{space}).)+",
        "counts": rf"{letter}|{number}",
        "letter": letter,
        "line": r"[^\n]+",
        "first": rf"(?!{space}).",
        "last": rf"(?r)(?!{space}).",
        "hashes": "#+",
        "dots": rf"(?:{dot})+",
        "bullet": rf"(?:{bullet})|[-*+](?={space})",
        "terminal": rf"(?:{terminal})[{regex.escape(CLOSING)}]*$",
        "lorem": r"(?i:lorem ipsum)",
        "digits": rf"(?:{number})+",
        "upper": r"\p{Lu}+",
        "url": rf"(?:[hH][tT][tT][pP][sS]?://|[wW][wW][wW]\.)(?:(?!{unit})(?!{space}).)*",
        "spaces": rf"(?:{space})+",
    }
    return {name: regex.compile(pattern, regex.V1 | regex.DOTALL) for name, pattern in written.items()}


def words(text: str) -> Spans:
    """The words: runs between white space with a letter or number; one character in scripts without spaces."""
    found = (match.span() for match in _patterns()["word"].finditer(text))
    return [(a, b) for a, b in found if _patterns()["counts"].search(text, a, b)]


def lines(text: str) -> Spans:
    """The lines that are not blank, without the white space at their ends."""
    found = []
    for match in _patterns()["line"].finditer(text):
        first = _patterns()["first"].search(text, *match.span())
        last = _patterns()["last"].search(text, *match.span())
        if first and last:
            found.append((first.start(), last.end()))
    return found


def _ngrams(text: str, n: int, choose: Callable[[Counter[tuple[str, ...]]], set[tuple[str, ...]]]) -> Spans:
    """Runs of words under the chosen n-grams."""
    places = words(text)
    written = [text[a:b] for a, b in places]
    grams = [tuple(written[i : i + n]) for i in range(len(written) - n + 1)]
    chosen = choose(Counter(grams))
    return _joined((places[i][0], places[i + n - 1][1]) for i, gram in enumerate(grams) if gram in chosen)


def _top(text: str, n: int) -> Spans:
    """Runs under the most frequent n-gram; of equally frequent ones the one that covers most, then the first."""
    places = words(text)
    written = [text[a:b] for a, b in places]
    starts: dict[tuple[str, ...], list[int]] = {}
    for i in range(len(written) - n + 1):
        starts.setdefault(tuple(written[i : i + n]), []).append(i)
    most = max(map(len, starts.values()), default=0)
    if most < 2:
        return []

    def covered(at: Sequence[int]) -> int:
        return sum(len(written[i]) for i in {k for start in at for k in range(start, start + n)})

    best = max((at for at in starts.values() if len(at) == most), key=covered)
    return _joined((places[i][0], places[i + n - 1][1]) for i in best)


def _joined(spans: Iterable[tuple[int, int]]) -> Spans:
    """Spans in order of their start, those that overlap or touch as one."""
    found: Spans = []
    for start, end in spans:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _matches(name: str) -> Callable[[str], Spans]:
    return lambda text: [match.span() for match in _patterns()[name].finditer(text)]


_hashes = _matches("hashes")


def _ellipses(text: str) -> Spans:
    return [m.span() for m in _patterns()["dots"].finditer(text) if _is_ellipsis(m[0])]


def _is_ellipsis(dots: str) -> bool:
    return len(dots) >= 3 or "…" in dots or "⋯" in dots


def _ellipsis_lines(text: str) -> Spans:
    ends = {end for _, end in lines(text)}
    return [span for span in _ellipses(text) if span[1] in ends]


def _bullets(text: str) -> Spans:
    found = ((a, _patterns()["bullet"].match(text, a)) for a, _ in lines(text))
    return [(a, match.end()) for a, match in found if match]


def _unfinished(text: str) -> Spans:
    return [(a, b) for a, b in lines(text) if not _patterns()["terminal"].search(text, a, b)]


def _long_words(text: str) -> Spans:
    """The longest distinct words of spaced scripts, where each stands first."""
    first: dict[str, tuple[int, int]] = {}
    for a, b in words(text):
        first.setdefault(text[a:b], (a, b))
    return sorted(first.values(), key=lambda s: (s[0] - s[1], s[0]))[:LONGEST_SHOWN]


def _repeated(spans: Spans, text: str, key: Callable[[str], Any] = str) -> Spans:
    seen: set[Any] = set()
    found = []
    for a, b in spans:
        said = key(text[a:b])
        if said in seen:
            found.append((a, b))
        seen.add(said)
    return found


def _paragraphs(text: str) -> Spans:
    """From the first to the last line of each run of lines that has no blank one between."""
    found: Spans = []
    for a, b in lines(text):
        if found and text.count("\n", found[-1][1], a) == 1:
            found[-1] = (found[-1][0], b)
        else:
            found.append((a, b))
    return found


def _same_lines(paragraph: str) -> tuple[str, ...]:
    return tuple(paragraph[a:b] for a, b in lines(paragraph))


def _without_letters(text: str) -> Spans:
    return [(a, b) for a, b in words(text) if not _patterns()["letter"].search(text, a, b)]


def _more_of(text: str) -> Spans:
    return max(_hashes(text), _ellipses(text), key=len)


_RULES: Final[dict[str, Callable[[str], Spans]]] = {
    "max_mean_word_length": _long_words,
    "max_symbol_ratio": _more_of,
    "max_total_symbol_ratio": lambda text: _hashes(text) + _ellipses(text),
    "max_bullet_lines": _bullets,
    "max_ellipsis_lines": _ellipsis_lines,
    "min_alpha_words": _without_letters,
    "min_terminal_lines": _unfinished,
    "max_short_lines": lambda text: [(a, b) for a, b in lines(text) if b - a < 30],
    "max_curly_brackets": lambda text: [(i, i + 1) for i, c in enumerate(text) if c == "{"],
    "max_lorem_ipsum": _matches("lorem"),
    "max_digits": _matches("digits"),
    "max_upper_case": _matches("upper"),
    "max_urls": _matches("url"),
    "max_white_space": _matches("spaces"),
    "max_longest_line": lambda text: sorted(lines(text), key=lambda s: (s[0] - s[1], s[0]))[:1],
    "max_duplicate_lines": lambda text: _repeated(lines(text), text),
    "max_duplicate_line_characters": lambda text: _repeated(lines(text), text),
    "max_duplicate_paragraphs": lambda text: _repeated(_paragraphs(text), text, _same_lines),
    "max_duplicate_paragraph_characters": lambda text: _repeated(_paragraphs(text), text, _same_lines),
}
