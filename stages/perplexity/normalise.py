"""Text as the language model sees it: one named, versioned function for training and for scoring.

`standard` (version 1): case folded by simple (one to one) folding, decimal digits become 0, Unicode spaces become one
space, control and format characters (NUL, zero-width marks, byte order marks) vanish, lines stay lines. Units are
separated by one space: a word (letters, marks, digits, with an apostrophe between letters) of a spaced script, one
character of an unspaced one (Han, Kana, Thai, Lao, Khmer, Myanmar), one punctuation mark or symbol; a run of the same
mark counts once. Literal `<s>`, `</s>` and `<unk>` therefore come out as ordinary marks and words.

`whitespace` (version 1): words between Unicode spaces, otherwise as they are, for text that was prepared elsewhere. A
word that KenLM would take for one of its markers is written with full-width brackets.

Both leave no character that KenLM would split or cut at, so that its score and the count of tokens speak of the same
tokens.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import regex
from numpy.typing import NDArray

MAX_LINE_TOKENS: Final = 1000
"""A longer line is scored, and trained, as several lines of this many tokens."""

_SPACE, _NEWLINE, _DROP, _WORD, _CHARACTER, _MARK = range(6)
_CLASSES: Final = (
    (_WORD, r"[\p{L}\p{M}\p{N}]+"),
    (_CHARACTER, r"[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]+"),
    (_MARK, r"[\p{P}\p{S}\p{Co}\p{Cn}]+"),
    (_WORD, r"\p{Nd}+"),
    (_DROP, r"[\p{Cc}\p{Cf}\p{Cs}]+"),
    (_SPACE, r"[\s\p{Z}]+"),
    (_NEWLINE, r"\n"),
)
_BLANK: Final = ord(" ")
_APOSTROPHE: Final = ord("'")


@dataclass(frozen=True)
class Normaliser:
    """A named way from text to units. `identity` goes into every model file and must match when it is used."""

    name: str
    version: int
    unit: str
    function: Callable[[str], str]
    table: Callable[[], str] = str  # digest of the data it depends on

    def identity(self) -> dict[str, Any]:
        return {"name": self.name, "version": self.version, "unit": self.unit, "table": self.table()}

    def lines(self, text: str) -> list[str]:
        """Non-empty lines of units separated by single spaces, none longer than MAX_LINE_TOKENS."""
        found: list[str] = []
        for line in self.function(text).split("\n"):
            if not line:
                continue
            if line.count(" ") < MAX_LINE_TOKENS:
                found.append(line)
                continue
            units = line.split(" ")
            found += [" ".join(units[i : i + MAX_LINE_TOKENS]) for i in range(0, len(units), MAX_LINE_TOKENS)]
        return found


@cache
def _tables() -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Class and folded code point of every code point, each of shape (0x110000,)."""
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    classes = np.full(0x110000, _DROP, np.uint8)
    for number, pattern in _CLASSES:
        for run in regex.finditer(pattern, every):
            first, last = ord(run[0][0]), ord(run[0][-1])
            classes[first : last + 1] = number
    classes[0xD800:0xE000] = _DROP
    folded = np.arange(0x110000, dtype=np.uint32)
    for letter in regex.findall(r"\p{Changes_When_Casefolded}", every):
        simple = next((c for c in (letter.casefold(), letter.lower()) if len(c) == 1), letter)
        folded[ord(letter)] = ord(simple)
    for digits in regex.finditer(r"\p{Nd}+", every):
        folded[ord(digits[0][0]) : ord(digits[0][-1]) + 1] = ord("0")
    folded[classes == _SPACE] = _BLANK
    folded[0x2019] = _APOSTROPHE
    return classes, folded


@cache
def _digest() -> str:
    classes, folded = _tables()
    return hashlib.blake2b(classes.tobytes() + folded.astype("<u4").tobytes(), digest_size=16).hexdigest()


def standard(text: str) -> str:
    """Normalised lines of `text`, units separated by single spaces.

    >>> standard("Don't  panic:\\u00a0it's 42!!\\u3000中文。")
    "don't panic : it's 00 ! 中 文 。"
    """
    classes, folded = _tables()
    raw = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    kinds = classes[raw]
    kept = kinds != _DROP
    codes, kinds = folded[raw[kept]], kinds[kept]
    if not len(codes):
        return ""
    _join_apostrophes(codes, kinds)
    single = kinds >= _CHARACTER
    again = (kinds[1:] == _MARK) & (codes[1:] == codes[:-1])
    if again.any():
        kept = np.append(True, ~again)
        codes, kinds, single = codes[kept], kinds[kept], single[kept]
    visible = kinds >= _WORD
    gap = np.append(False, (single[1:] | single[:-1]) & visible[1:] & visible[:-1])
    place = np.arange(len(codes)) + np.cumsum(gap)
    spaced = np.full(int(place[-1]) + 1, _BLANK, np.uint32)
    spaced[place] = codes
    return _trim(spaced).astype("<u4").tobytes().decode("utf-32-le")


def _join_apostrophes(codes: NDArray[np.uint32], kinds: NDArray[np.uint8]) -> None:
    """Make an apostrophe between two word characters part of the word, in place."""
    at = np.flatnonzero(codes[1:-1] == _APOSTROPHE) + 1
    kinds[at[(kinds[at - 1] == _WORD) & (kinds[at + 1] == _WORD)]] = _WORD


def _trim(codes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Single spaces, none at the ends of a line."""
    blank, newline = codes == _BLANK, codes == ord("\n")
    kept = ~(blank & np.append(True, blank[:-1] | newline[:-1]))
    codes = codes[kept]
    blank, newline = codes == _BLANK, codes == ord("\n")
    return codes[~(blank & np.append(newline[1:], True))]


_BLANKS: Final = regex.compile(r"[^\S\n]+|[^\P{Z}\n]+")
_INVISIBLE: Final = regex.compile(r"[^\P{Cc}\n ]+|\p{Cs}+")
_SEVERAL: Final = regex.compile(" +")
_MARKER: Final = regex.compile(r"(?<!\S)<(s|/s|unk)>(?!\S)", regex.IGNORECASE)


def whitespace(text: str) -> str:
    """Lines of words, otherwise unchanged.

    >>> whitespace("a\\u00a0 B.\\x00 <s>")
    'a B. ＜s＞'
    """
    spaced = _SEVERAL.sub(" ", _INVISIBLE.sub("", _BLANKS.sub(" ", text)))
    return "\n".join(_MARKER.sub(r"＜\1＞", line.strip(" ")) for line in spaced.split("\n"))


NORMALISERS: Final = {
    "standard": Normaliser("standard", 1, "script", standard, _digest),
    "whitespace": Normaliser("whitespace", 1, "word", whitespace),
}
"""By name. Unit `script`: words in spaced scripts, characters in unspaced ones; `word`: what stands between spaces."""
