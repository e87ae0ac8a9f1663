"""The units of the normaliser `standard`, character by character, and the words of a text in order of appearance."""

from __future__ import annotations

import regex

APOSTROPHES = "'\u2019"
CHARACTER = regex.compile(r"[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]")


def kind(c: str) -> str:
    if c == "\n":
        return "newline"
    if regex.match(r"[\s\p{Z}]", c):
        return "space"
    if regex.match(r"[\p{Cc}\p{Cf}\p{Cs}]", c):
        return "drop"
    if regex.match(r"\p{Nd}", c):
        return "word"
    if regex.match(r"[\p{P}\p{S}\p{Co}\p{Cn}]", c):
        return "mark"
    return "character" if CHARACTER.match(c) else "word"


def folded(c: str) -> str:
    if regex.match(r"\p{Nd}", c):
        return "0"
    if c in APOSTROPHES:
        return "'"
    if regex.match(r"\p{Changes_When_Casefolded}", c):
        return next((x for x in (c.casefold(), c.lower()) if len(x) == 1), c)
    return c


def lines(text: str, longest: int) -> list[str]:
    """Lines of units, none longer than `longest` units."""
    found = []
    for line in text.split("\n"):
        units = _units([(kind(c), folded(c)) for c in line if kind(c) != "drop"])
        found += [" ".join(units[i : i + longest]) for i in range(0, len(units), longest)]
    return found


def _units(characters: list[tuple[str, str]]) -> list[str]:
    kinds = ["space", *(k for k, _ in characters), "space"]
    units: list[str] = []
    before, open_word = ("space", ""), False
    for i, (k, c) in enumerate(characters, start=1):
        inside = c == "'" and k == "mark" and kinds[i - 1] == kinds[i + 1] == "word"
        if k == "word" or inside:
            if open_word:
                units[-1] += c
            else:
                units.append(c)
        elif k != "space" and not (k == "mark" and before == (k, c)):
            units.append(c)
        open_word = k == "word" or inside
        before = (k, c)
    return units


def ids(text_lines: list[str]) -> tuple[list[int], list[str]]:
    """Each line between 1 and 2, words numbered from 3 as they come; and the words."""
    known: dict[str, int] = {}
    stream = []
    for line in text_lines:
        stream += [1, *(known.setdefault(word, len(known) + 3) for word in line.split(" ")), 2]
    return stream, list(known)
