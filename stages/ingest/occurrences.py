"""Words looked for in the bytes of a page: which of them are there at all."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from math import prod
from typing import Final

import numpy as np

_CONTROLS: Final = (*range(9), 11, *range(14, 32), 127)
_FREQUENT: Final = b"esatni<lrcodpmhufgv-byw"
"""Bytes of HTML in lower case, the most frequent first: words are looked for by the other ones."""


class Words:
    """Up to 61 words of three or more bytes in lower case.

    A word that begins or ends with a letter or digit must not go on there with a letter, a digit, `-`, `_` or a byte
    beyond ASCII. `numbers` must not go on with a digit, `parts` may go on in any way.
    """

    def __init__(self, words: Sequence[bytes], parts: Sequence[bytes] = (), numbers: Sequence[bytes] = ()) -> None:
        from kernels.occurrences import CONTROL, GROUPS, occurring

        self._find: Callable[..., int] = occurring
        every = (*words, *parts, *numbers)
        starts = [0, *itertools.accumulate(map(len, every))]
        groups: list[list[tuple[int, ...]]] = [[] for _ in range(GROUPS)]
        table = np.zeros((256, 256), np.uint16)  # by first and second byte
        for i, word in enumerate(every):
            group, closed = GROUPS - 1, (0, 2 if i >= len(words) + len(parts) else 0)
            if i < len(words):
                group, closed = i % (GROUPS - 1), (int(word[:1].isalnum()), int(word[-1:].isalnum()))
            for at in _places(word):
                groups[group].append((min(i, len(words)), at, starts[i], len(word), *closed))
                spellings = [_spellings(word, at + k) for k in range(4)]
                table[np.ix_(*spellings[:2])] |= 1 << group
                table[np.ix_(*spellings[2:])] |= 256 << group
        table[list(_CONTROLS), :] |= CONTROL
        table[:, list(_CONTROLS)] |= CONTROL
        pairs = np.arange(1 << 16, dtype=np.uint16).view(np.uint8).reshape(-1, 2)
        self._table = table[pairs[:, 0], pairs[:, 1]]
        self._firsts = np.cumsum([0, *map(len, groups)])
        self._words = np.array([row for rows in groups for row in rows], np.int64)
        self._letters = np.frombuffer(b"".join(every), np.uint8)

    def among(self, data: bytes) -> int:
        """Bit i for the i-th word that occurs, the one behind them for any part or number.

        -1 where there is a control character.
        """
        if data and data[-1] in _CONTROLS:  # the last byte of an odd number is in no pair
            return -1
        return self._find(np.frombuffer(data, np.uint8), self._table, self._firsts, self._words, self._letters)


def _places(word: bytes) -> list[int]:
    """The places of the four rarest bytes in a row, one before an even byte of the word and one before an odd byte."""
    return [
        min(range(parity, max(len(word) - 2, parity + 1), 2), key=lambda at: _frequency(word, at)) for parity in (-1, 0)
    ]


def _frequency(word: bytes, at: int) -> float:
    """A guess at how often bytes are those of the word at `at` to `at + 4`."""
    ranks = (_FREQUENT.find(word[i]) for i in range(max(0, at), min(at + 4, len(word))))
    return prod(0.1 * 0.9**rank if rank >= 0 else 0.01 for rank in ranks)


def _spellings(word: bytes, at: int) -> list[int]:
    """The byte of the word at `at`, a letter in either case; every byte where the word has none there."""
    if not 0 <= at < len(word):
        return list(range(256))
    return sorted({word[at], word[at : at + 1].upper()[0]})
