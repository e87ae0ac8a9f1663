"""Scrubbing beside the text: plain fields (title, url) and the strings inside a JSON field (metadata)."""

from __future__ import annotations

import re
from typing import Final

from stages.pii.params import PIIParams
from stages.pii.scrub import Edit, apply, edits_of

# In valid JSON a quote opens or closes a string; nothing else holds one.
_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
# One character as JSON writes it: a surrogate pair, a \u escape, a short escape, or itself.
_CHARACTER: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL
)
_SHORT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def scrub_plain(value: str, params: PIIParams) -> tuple[str, list[Edit]]:
    """A field of plain text: placeholders are written into it, and their look-alikes stay as they are."""
    edits = edits_of(value, [], params, tracked=False)
    return apply(value, edits), edits


def scrub_json(value: str, params: PIIParams) -> tuple[str, list[Edit]]:
    """JSON text whose strings (keys too) are scrubbed as plain text; every other character stays as it is.

    Numbers are left alone, whatever they stand for. Two keys may become one and the same; both stay in the JSON text.

    Edits speak of the JSON text itself: an escaped character counts as long as it is written.
    """
    edits: list[Edit] = []
    for literal in _STRING.finditer(value):
        written = literal[1]
        if "\\" not in written:
            found, places = edits_of(written, [], params, tracked=False), None
        else:
            characters = _CHARACTER.findall(written)
            text = "".join(map(_read, characters))
            found, places = edits_of(text, [], params, tracked=False), _places(characters)
        edits += [_shift(edit, literal.start(1), places) for edit in found]
    return apply(value, edits), edits


def _read(written: str) -> str:
    if not written.startswith("\\"):
        return written
    if written[1] != "u":
        return _SHORT.get(written[1], written[1])
    code = int(written[2:6], 16)
    if len(written) == 12:
        code = 0x10000 + ((code - 0xD800) << 10) + int(written[8:12], 16) - 0xDC00
    return chr(code)


def _places(characters: list[str]) -> list[int]:
    places = [0]
    for written in characters:
        places.append(places[-1] + len(written))
    return places


def _shift(edit: Edit, base: int, places: list[int] | None) -> Edit:
    start, end = (edit.start, edit.end) if places is None else (places[edit.start], places[edit.end])
    return edit._replace(start=base + start, end=base + end)
