"""Stop words by language: Rae's eight for English, those of the package stopwordsiso for other spaced languages.

A language whose words `kernels.words` cannot tell (Chinese, Japanese, Thai) has no list here.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

ENGLISH: Final = "en"
"""Counted with the words themselves; also where the language is not known."""
UNSPACED: Final = frozenset({"ja", "th", "zh"})


@cache
def lists() -> dict[str, frozenset[str]]:
    """Language code -> its stop words in lower case, without those that are no single word."""
    import stopwordsiso

    from kernels.word_tables import lower_table

    lower = lower_table()
    found = {}
    for code in sorted(set(stopwordsiso.langs()) - UNSPACED - {ENGLISH}):
        words = stopwordsiso.stopwords(code)
        found[code] = frozenset("".join(chr(lower[ord(c)]) for c in w) for w in words if w and len(w.split()) == 1)
    return found


def has_list(lang: str | None) -> bool:
    """Are stop words counted in a document of this language (None: not known, counted as English)?"""
    return lang is None or lang == ENGLISH or lang in lists()


@cache
def _arrays() -> tuple[list[str], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    from kernels.stop_words import keys

    codes = list(lists())
    parts = [keys(lists()[code]) for code in codes]
    return codes, np.concatenate(parts), np.cumsum([0, *map(len, parts)])


def count(offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8], langs: list[str | None]) -> Any:
    """Distinct stop words of each document in a language with a list of this module, -1 in the others."""
    if not any(lang in lists() for lang in langs if lang not in (None, ENGLISH)):
        return np.full(len(langs), -1, np.int64)
    from kernels import stop_words as kernel

    codes, listed, starts = _arrays()
    number = {code: i for i, code in enumerate(codes)}
    chosen = np.array([number.get(lang or "", kernel.NONE) for lang in langs], np.int64)
    return np.where(chosen >= 0, kernel.count(offsets, data, chosen, listed, starts), -1)
