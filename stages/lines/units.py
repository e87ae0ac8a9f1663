"""Lines or paragraphs of texts: where they stand, what identifies them, and a text without some of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stages.dedup import texts

Kind = Literal["line", "paragraph"]
Placeholder = dict[str, int | str]  # start, end (code points), token
I64s = NDArray[np.int64]


class Unit(NamedTuple):
    """`text[start:end]` holds something visible; what separates it from the next unit ends at `behind`."""

    start: int
    end: int
    behind: int


@dataclass(frozen=True)
class Units:
    """Units of several documents, in order. Arrays have one entry each; places are code points of the document."""

    row: I64s  # the document
    start: I64s
    end: I64s
    behind: I64s
    identity: NDArray[np.uint64]  # 128 bits, shape (units, 2)

    @staticmethod
    def of(documents: pa.Table, kind: Kind, min_characters: int) -> Units:
        """The units of these documents that may be removed: long enough (without the white space at their ends), and
        not cut by a placeholder.

        Trusted placeholders in a unit count as such: literal text that only looks like one gives another identity.
        """
        from kernels import lines

        data, offsets = texts.buffers(documents["text"])
        size = int(np.count_nonzero(data[offsets[0] : offsets[-1]] == 0x0A)) + len(offsets)
        table = np.empty((size, lines.COLUMNS), np.int64)
        table = table[: lines.units(data, offsets, kind == "paragraph", table)]
        table = table[table[:, lines.LENGTH] >= min_characters]
        identity = np.empty((len(table), 2), np.uint64)
        lines.hashes(data, table, identity)
        row, start, end, behind = np.ascontiguousarray(table[:, [lines.ROW, lines.START, lines.END, lines.BEHIND]].T)
        found = Units(row, start, end, behind, identity)
        listed = documents["placeholders"]
        stays = np.ones(len(table), np.bool_)
        for k in np.flatnonzero(pc.list_value_length(listed).to_numpy()).tolist():
            _placed(found, k, table[:, lines.INNER], listed[k].as_py(), stays)
        return found if stays.all() else found.where(stays)

    def where(self, chosen: NDArray[np.bool_]) -> Units:
        places = (self.row[chosen], self.start[chosen], self.end[chosen], self.behind[chosen])
        return Units(*places, self.identity[chosen])

    def listed(self) -> list[Unit]:
        """The units one by one."""
        columns = (part.tolist() for part in (self.start, self.end, self.behind))
        return list(map(Unit, *columns))

    def first_in_document(self) -> Units:
        """Without those that their document has before."""
        from kernels import lines

        marks = np.empty(len(self.row), np.bool_)
        lines.first_in_document(self.row, self.identity, marks)
        return self.where(marks)

    def identities(self) -> pa.Array:
        """The identities as binary values of 16 bytes."""
        return pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(16), len(self.row), [None, pa.py_buffer(self.identity.astype("<u8").tobytes())]
        )


def _placed(found: Units, row: int, inner: I64s, placeholders: list[Placeholder], stays: NDArray[np.bool_]) -> None:
    """Take a document's placeholders into the identities of its units; a unit that one of them cuts does not stay."""
    spans_of = [(int(p["start"]), int(p["end"]), str(p["token"])) for p in placeholders]
    first, last = np.searchsorted(found.row, [row, row + 1]).tolist()
    for k in range(first, last):
        start, end = int(found.start[k]), int(found.end[k])
        if any(a < edge < b for a, b, _ in spans_of for edge in (start, end, int(found.behind[k]))):
            stays[k] = False
        elif inside := [(a, token) for a, _, token in spans_of if start <= a < end]:
            marks = "".join(f"\0{a - int(inner[k])}{token}" for a, token in inside).encode("utf-8")
            content = found.identity[k].astype("<u8").tobytes()
            found.identity[k] = np.frombuffer(hashlib.blake2b(content + marks, digest_size=16).digest(), "<u8")


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
