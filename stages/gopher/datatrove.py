"""Measures by the definitions of datatrove 0.10's GopherQualityFilter and GopherRepetitionFilter, for comparing.

Plain Python and slow. `definitions: datatrove` puts them in place of the measures of the same name; words are those of
`str.split`. Where they differ from this project's:

- A word counts unless all its characters are punctuation or control characters; a share of words is over all words.
- Every `#` is one hash, and every `...` or `…` one ellipsis, also several in a row.
- Lines are those of `str.splitlines`, blank ones too; a bullet is `•` or `-`, with or without white space behind it.
- Stop words are English in every language, and must stand alone in lower case.
- Duplicate lines are compared with their white space, paragraphs as they stand between blank lines.
- The top n-gram need not occur twice; its length with spaces times its count, over the text with its white space.
- Duplicate n-grams are found one behind the other, words joined without spaces; the first occurrence does not count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import regex

_SYMBOL: Final = regex.compile(
    r"[!-/:-@\[-`{-~\x00-\x08\x0b-\x1f\x7f-\x9f«´»–—’“”„…∶━►、〈〉《》「」【】％（），１：；～៖៙៚\p{Sentence_Terminal}]+"
)
_STOP_WORDS: Final = frozenset({"the", "be", "to", "of", "and", "that", "have", "with"})
_PARAGRAPH_END: Final = re.compile(r"\n{2,}")
_LINE_END: Final = re.compile(r"\n+")


def measures(text: str) -> dict[str, Any]:
    """The measures that have a definition of datatrove's."""
    words = text.split()
    return {
        "unspaced_ratio": 0.0,  # there is one profile
        **_quality(text, words),
        **_repeated("paragraph", _PARAGRAPH_END.split(text.strip()), len(text)),
        **_repeated("line", _LINE_END.split(text), len(text)),
        **{f"top_{n}gram_ratio": _share(_top(words, n), len(text)) for n in (2, 3, 4)},
        **{f"duplicate_{n}gram_ratio": _share(_duplicated(words, n), len(text)) for n in range(5, 11)},
    }


def _quality(text: str, words: Sequence[str]) -> dict[str, Any]:
    said = [w for w in words if not _SYMBOL.fullmatch(w)]
    lines = text.splitlines()
    symbols = max(text.count("#"), text.count("...") + text.count("…"))
    bullets = sum(line.lstrip().startswith(("•", "-")) for line in lines)
    ellipses = sum(line.rstrip().endswith(("...", "…")) for line in lines)
    return {
        "words": len(said),
        "mean_word_length": _share(sum(map(len, said)), len(said)),
        "symbol_ratio": _share(symbols, len(words)),
        "bullet_line_ratio": _share(bullets, len(lines)),
        "ellipsis_line_ratio": _share(ellipses, len(lines)),
        "alpha_word_ratio": _share(sum(any(map(str.isalpha, w)) for w in words), len(words)),
        "stop_words": len(_STOP_WORDS.intersection(words)),
    }


def _repeated(what: str, parts: Sequence[str], characters: int) -> dict[str, float]:
    seen: set[str] = set()
    count = size = 0
    for part in parts:
        if part in seen:
            count += 1
            size += len(part)
        seen.add(part)
    return {
        f"duplicate_{what}_ratio": _share(count, len(parts)),
        f"duplicate_{what}_character_ratio": _share(size, characters),
    }


def _top(words: Sequence[str], n: int) -> int:
    counts = Counter(" ".join(words[i : i + n]) for i in range(len(words) - n + 1))
    best = max(counts, key=counts.__getitem__, default="")  # of equally frequent ones the first
    return len(best) * counts[best]


def _duplicated(words: Sequence[str], n: int) -> int:
    seen: set[str] = set()
    size = at = 0
    while at + n <= len(words):
        gram = "".join(words[at : at + n])
        if gram in seen:
            size += len(gram)
            at += n
        else:
            seen.add(gram)
            at += 1
    return size


def _share(part: float, whole: int) -> float:
    return part / whole if whole else 0.0


def replace(table: pa.Table, texts: Sequence[str]) -> pa.Table:
    """`table` (a row for each text) with the columns that have a definition of datatrove's taken from here."""
    rows = [measures(text) for text in texts]
    for i, field in enumerate(table.schema):
        if rows and field.name in rows[0]:
            table = table.set_column(i, field, pa.array([row[field.name] for row in rows], field.type))
    return table
