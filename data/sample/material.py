"""The written texts of the sample, and what is made from them by rule: digests, near-copies, shingles.

Everything here is arithmetic on fixed files: no random numbers, no clock.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA")  # how Unicode names of characters without word spaces begin
STEPS = (  # distances between the essays of a digest; a row for every round through the essays
    (1, 4, 13),
    (2, 7, 21),
    (3, 11, 28),
    (5, 15, 33),
    (6, 16, 36),
)


@dataclass(frozen=True)
class Text:
    """One written text: its id is the file's stem, its title the first line, its body the paragraphs after it."""

    id: str
    title: str
    paragraphs: tuple[str, ...]

    @property
    def body(self) -> str:
        return "\n\n".join(self.paragraphs)


@cache
def texts(language: str) -> tuple[Text, ...]:
    """The written essays in `en` or `zh`, in order of their file names."""
    found = []
    for file in sorted((HERE / "texts" / language).glob("*.txt")):
        title, *rest = [p.strip() for p in file.read_text(encoding="utf-8").split("\n\n") if p.strip()]
        found.append(Text(file.stem, title, tuple(rest)))
    return tuple(found)


def text(language: str, number: int) -> Text:
    """The essay whose file name begins with this number."""
    return next(t for t in texts(language) if t.id.startswith(f"{number:02}-"))


def reference(language: str) -> list[str]:
    """Every paragraph of the reference's prose, one a line there."""
    files = sorted((HERE / "reference").glob(f"{language}-[0-9]*.txt"))
    return [line for file in files for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def digest(language: str, number: int) -> Text:
    """Digest `number`: three or four paragraphs, each from another essay.

    In round r = number // essays, digest i takes the essays i, i + a, i + b, i + c (modulo their count) of row r of
    STEPS. All distances in a row differ, so two digests of one round share at most one essay; from round to round
    the paragraph taken moves on as well.
    """
    essays = texts(language)
    round_, first = divmod(number, len(essays))
    places = (0, *STEPS[round_])[: 3 + number % 2]
    taken = []
    for k, place in enumerate(places):
        paragraphs = essays[(first + place) % len(essays)].paragraphs
        taken.append(paragraphs[(round_ + k) % len(paragraphs)])
    return Text(f"digest-{language}-{number:03}", essays[first].title, tuple(taken))


def units(text: str) -> list[str]:
    """Case-folded words without punctuation; a character of an unspaced script is a unit of its own.

    White space, control characters and punctuation (general categories Z, Cc, P) separate, format characters (Cf) are
    skipped.
    """
    pieces: list[str] = []
    for character in text.casefold():
        category = unicodedata.category(character)
        if category[0] in "ZP" or category == "Cc":
            pieces.append(" ")
        elif category != "Cf":
            pieces.append(f" {character} " if unspaced(character) else character)
    return "".join(pieces).split()


def unspaced(character: str) -> bool:
    """Does the character belong to a script that puts no spaces between words?"""
    return character > "\u2fff" and unicodedata.name(character, "").startswith(UNSPACED)


def shingles(text: str) -> set[tuple[str, ...]]:
    """The set of word 5-grams, or of character 8-grams where most units are single characters."""
    row = units(text)
    n = 8 if 2 * sum(map(unspaced, "".join(u for u in row if len(u) == 1))) > len(row) else 5
    n = min(n, len(row))
    return {tuple(row[i : i + n]) for i in range(len(row) - n + 1)} if row else set()


def jaccard(a: str, b: str) -> float:
    """Shared shingles over all shingles of two texts."""
    first, second = shingles(a), shingles(b)
    return len(first & second) / len(first | second)


def interleaved(text: str, extra: str, count: int) -> str:
    """The text with `extra` put in at `count` places, evenly spread over its words (or characters, if unspaced)."""
    spaced = not unspaced(text[0])
    items = text.split(" ") if spaced else list(text)
    at = {(2 * k + 1) * len(items) // (2 * count) for k in range(count)}
    gap = " " if spaced else ""
    return gap.join(f"{extra}{gap}{item}" if i in at else item for i, item in enumerate(items))


def excerpt(text: str, share: float) -> str:
    """The beginning of the text: as many of its words (characters, if unspaced) as the share says."""
    spaced = not unspaced(text[0])
    items = text.split(" ") if spaced else list(text)
    end = "." if spaced else "。"
    return (" " if spaced else "").join(items[: round(share * len(items))]).rstrip(" ,;:.，；：。、\n") + end


def nearest(original: str, target: float, variants: Iterator[str] | Sequence[str]) -> str:
    """The variant whose Jaccard with the original comes closest to the target."""
    return min(variants, key=lambda v: (abs(jaccard(original, v) - target), len(v)))


def sentences(text: str) -> list[str]:
    """Sentences of an English text, with their full stops."""
    return [s.strip().rstrip(".") + "." for s in text.replace("\n\n", " ").split(". ") if s.strip()]


def shuffled(items: Sequence[str], stride: int) -> list[str]:
    """The items in the order 0, stride, 2 * stride, ... modulo their count (to which the stride is made prime)."""
    count = len(items)
    while not _coprime(stride, count):
        stride += 1
    return [items[i * stride % count] for i in range(count)]


def _coprime(a: int, b: int) -> bool:
    while b:
        a, b = b, a % b
    return a == 1


def rare_words(fits: Callable[[str], bool]) -> list[str]:
    """Words of the English essays that fit and do not occur in the reference, sorted, each once."""
    known = {w for line in reference("en") for w in units(line)}
    return sorted(
        {w for t in texts("en") for w in units(t.body) if w not in known and w.isascii() and w.isalpha() and fits(w)}
    )
