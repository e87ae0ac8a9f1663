"""One text through all switches, with its trusted placeholders, and every edit in code points of the original."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stages.normalise import steps
from stages.normalise.steps import Change

if TYPE_CHECKING:
    from stages.normalise.editor import NormaliseParams

MAX_PASSES = 8
"""One step can make work for another (a repaired letter that composes); two passes are enough for nearly any text."""


class Span(NamedTuple):
    """A trusted placeholder: `text[start:end] == token`."""

    start: int
    end: int
    token: str


class Edit(NamedTuple):
    """One contiguous change, in code points of the original. `new` is all that was written in its place."""

    start: int
    end: int
    kind: str
    rule: str
    new: str


class Normalised(NamedTuple):
    """The new text, its placeholders where they are now, and the edits in order of their start."""

    text: str
    placeholders: list[Span]
    edits: list[Edit]


def normalise(text: str, placeholders: Sequence[tuple[int, int, str]], params: NormaliseParams) -> Normalised:
    """Every switch in its order, until nothing changes any more: the result is its own normal form.

    A placeholder is neither changed nor read across. Raises ValueError where a span does not hold its token.
    """
    work = _Work(text, placeholders)
    for _ in range(MAX_PASSES):
        if not work.run(params):
            break
    return Normalised(work.text, work.spans, sorted(work.edits))


class _Work:
    """A text between passes. `starts` and `ends` say which code points of the original each character stands for."""

    def __init__(self, text: str, placeholders: Sequence[tuple[int, int, str]]) -> None:
        self.text = text
        self.length = len(text)
        self.spans = [Span(*span) for span in placeholders]
        self.starts: npt.NDArray[np.int32] | None = None
        self.ends: npt.NDArray[np.int32] | None = None
        self.edits: list[Edit] = []
        last = 0
        for span in self.spans:
            if span.start < last or text[span.start : span.end] != span.token or not span.token:
                raise ValueError(f"placeholder span {span.start}..{span.end} of the text does not hold {span.token!r}")
            last = span.end

    def run(self, params: NormaliseParams) -> bool:
        """One pass; True where it changed something."""
        before = len(self.edits)
        if params.mojibake:
            self.step("mojibake", steps.mojibake)
        if params.controls:
            self.step("controls", steps.controls)
        if params.zero_width:
            self.step("zero_width", steps.zero_width)
        if params.line_ends:
            self.step("line_ends", steps.line_ends)
        if form := params.unicode or None:
            self.step("unicode", lambda part: steps.unicode_form(part, form))
        if (most := params.max_blank_lines) is not False:
            self.apply("max_blank_lines", self.outside(steps.blank_lines(self.text, most)))
        return len(self.edits) > before

    def step(self, kind: str, find: Callable[[str], list[Change]]) -> None:
        """Run a step over each part between placeholders."""
        changes: list[Change] = []
        at = 0
        for left, right in [*((s.start, s.end) for s in self.spans), (len(self.text), 0)]:
            if left > at:
                found = find(self.text[at:left])
                changes += [c._replace(start=c.start + at, end=c.end + at) for c in found] if at else found
            at = right
        self.apply(kind, changes)

    def outside(self, changes: list[Change]) -> list[Change]:
        """Changes that touch no placeholder."""
        return [c for c in changes if not any(s.start < c.end and c.start < s.end for s in self.spans)]

    def apply(self, kind: str, changes: list[Change]) -> None:
        """Make the changes, note them as edits of the original, and move the placeholders."""
        if not changes:
            return
        starts = np.arange(self.length, dtype=np.int32) if self.starts is None else self.starts
        ends = np.arange(1, self.length + 1, dtype=np.int32) if self.ends is None else self.ends
        left, right = (np.fromiter((c[i] for c in changes), np.int64, len(changes)) for i in (0, 1))
        sizes = np.fromiter((len(c.new) for c in changes), np.int64, len(changes))
        first = np.append(starts, np.int32(self.length))[left]
        last = np.where(right > left, ends[right - 1], first)  # an insertion replaces nothing
        pairs = zip(first.tolist(), last.tolist(), changes, strict=True)
        self.edits += [Edit(a, b, kind, c.rule, c.new) for a, b, c in pairs]
        self.starts, self.ends = _mapped(starts, first, left, right, sizes), _mapped(ends, last, left, right, sizes)
        parts, at = [], 0
        for change in changes:
            parts += [self.text[at : change.start], change.new]
            at = change.end
        self.text = "".join([*parts, self.text[at:]])
        self.move(changes)

    def move(self, changes: list[Change]) -> None:
        """The placeholders behind each change stand further left or right now."""
        if not self.spans:
            return
        at = np.array([c.end for c in changes])
        by = np.cumsum([len(c.new) - (c.end - c.start) for c in changes])
        moved = []
        for span in self.spans:
            behind = int(np.searchsorted(at, span.start, side="right"))
            shift = int(by[behind - 1]) if behind else 0
            moved.append(Span(span.start + shift, span.end + shift, span.token))
        self.spans = moved


def _mapped(
    old: npt.NDArray[np.int32],
    new: npt.NDArray[np.int32],
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
) -> npt.NDArray[np.int32]:
    """A value for each character after changes: its own where it stays, `new[k]` where change k wrote it."""
    stays = np.ones(len(old) + 1, np.int64)
    np.add.at(stays, left, -1)
    np.add.at(stays, right, 1)
    kept = old[(np.cumsum(stays - 1) == 0)[:-1]]
    before = left - np.cumsum(np.concatenate([[0], (right - left)[:-1]]))  # characters kept before each change
    return np.insert(kept, np.repeat(before, sizes), np.repeat(new, sizes))
