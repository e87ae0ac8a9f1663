"""Lines or paragraphs of a text: where they stand, what identifies them, and the text without some of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, NamedTuple

Kind = Literal["line", "paragraph"]
Placeholder = dict[str, int | str]  # start, end (code points), token


class Unit(NamedTuple):
    """`text[start:end]` holds something visible; what separates it from the next unit ends at `behind`."""

    start: int
    end: int
    behind: int


def units(text: str, kind: Kind) -> list[Unit]:
    """The units of a text that are not blank, in code points. Lines end at U+000A, paragraphs at a blank line."""
    found: list[Unit] = []
    at, within = 0, False
    for line in text.split("\n"):
        end = at + len(line)
        behind = min(end + 1, len(text))
        blank = not line or line.isspace()
        if kind == "paragraph" and found and (within or blank):
            found[-1] = Unit(found[-1].start, found[-1].end if blank else end, behind)
        elif not blank:
            found.append(Unit(at, end, behind))
        within, at = not blank, end + 1
    return found


def identity(text: str, unit: Unit, placeholders: Sequence[Placeholder] = ()) -> bytes:
    """128-bit BLAKE2b of a unit without the white space at its ends.

    Trusted placeholders in it count as such: literal text that only looks like one gives another identity.
    """
    content = text[unit.start : unit.end]
    digest = hashlib.blake2b(content.strip().encode("utf-8"), digest_size=16)
    if inside := [(p["start"], p["token"]) for p in placeholders if unit.start <= int(p["start"]) < unit.end]:
        base = unit.start + len(content) - len(content.lstrip())
        digest.update("".join(f"\0{int(start) - base}{token}" for start, token in inside).encode("utf-8"))
    return digest.digest()


def crosses(unit: Unit, placeholders: Sequence[Placeholder]) -> bool:
    """Does a placeholder reach over the unit's edge?"""
    return any(
        int(p["start"]) < edge < int(p["end"]) for p in placeholders for edge in (unit.start, unit.end, unit.behind)
    )


def spans(text: str, removed: Sequence[Unit]) -> list[tuple[int, int]]:
    """What goes with each removed unit (ascending): its text and the separator behind it.

    Where everything from a unit to the end of the text goes and nothing separates the end, the line ends before it go
    as well, so that no separator is left hanging.
    """
    found = [(u.start, u.behind) for u in removed]
    last = len(found) - 1
    if last < 0 or found[last][1] != len(text) or text.endswith("\n"):
        return found
    while last > 0 and found[last - 1][1] == found[last][0]:
        last -= 1
    start = found[last][0]
    while start > 0 and text[start - 1].isspace():
        start -= 1
    found[last] = (max(start, found[last - 1][1]) if last else start, found[last][1])
    return found


def without(
    text: str, gone: Sequence[tuple[int, int]], placeholders: Sequence[Placeholder]
) -> tuple[str, list[Placeholder]]:
    """The text without these spans (ascending, disjoint), and the placeholders that are left, where they now are."""
    parts, at = [], 0
    for start, end in gone:
        parts.append(text[at:start])
        at = end
    kept = []
    for p in placeholders:
        start, end = int(p["start"]), int(p["end"])
        if not any(a <= start and end <= b for a, b in gone):
            before = sum(b - a for a, b in gone if b <= start)
            kept.append({"start": start - before, "end": end - before, "token": p["token"]})
    return "".join([*parts, text[at:]]), kept
