"""Found entities, how rival finds are settled, and the words that stand before a find."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple


class Span(NamedTuple):
    """One found entity: `text[start:end]`, in code points, and the rule that found it. `score` is in 0..1."""

    start: int
    end: int
    entity: str
    rule: str
    score: float


PRIORITY: Final = {
    name: rank
    for rank, names in enumerate(
        (
            ("secret",),
            ("cn_id", "us_ssn", "us_itin", "national_id"),
            ("card",),
            ("iban",),
            ("email",),
            ("ip",),
            ("phone",),
            ("address",),
            ("person", "place"),
        )
    )
    for name in names
}
"""Which entity wins where finds overlap, lowest first: structural id, card, IBAN, e-mail, IP, phone, address, names."""


def _rank(entity: str) -> int:
    """Custom recognisers come first: whoever wrote one means it."""
    return PRIORITY.get(entity, -1)


Starts = Sequence[int] | None
"""Places where a match can begin, rising, no such place left out; None stands for every place."""


def matches(pattern: re.Pattern[str], text: str, starts: Starts) -> Iterator[re.Match[str]]:
    """`pattern.finditer(text)`, tried at `starts` alone. No match may be empty."""
    if starts is None:
        yield from pattern.finditer(text)
        return
    end = 0
    for start in starts:
        match = pattern.match(text, start) if start >= end else None
        if match is not None:
            yield match
            end = match.end()


_WINDOW = 80
_WORD = re.compile(r"[a-z]+")


def disjoint(spans: Iterable[Span]) -> list[Span]:
    """The spans that survive, in text order: by priority, leftmost, longest, first given; none overlaps another."""
    kept: list[Span] = []
    taken: list[tuple[int, int]] = []
    by_rank = sorted(spans, key=lambda s: (_rank(s.entity), s.start, -s.end))
    for rank in sorted({_rank(s.entity) for s in by_rank}):
        last = 0
        chosen = []
        free = _Gaps(taken)
        for span in (s for s in by_rank if _rank(s.entity) == rank):
            if span.start >= last and free.holds(span.start, span.end):
                chosen.append(span)
                last = span.end
        kept.extend(chosen)
        taken = sorted(taken + [(s.start, s.end) for s in chosen])
    return sorted(kept)


class _Gaps:
    """Asks, for intervals in rising order of start, whether they stay clear of the taken ones."""

    def __init__(self, taken: list[tuple[int, int]]) -> None:
        self.taken, self.at = taken, 0

    def holds(self, start: int, end: int) -> bool:
        while self.at < len(self.taken) and self.taken[self.at][1] <= start:
            self.at += 1
        return self.at == len(self.taken) or self.taken[self.at][0] >= end


def words_before(text: str, start: int, count: int = 5) -> list[str]:
    """The last `count` ASCII words before `start`, lower-cased, nearest last."""
    return _WORD.findall(text[max(0, start - _WINDOW) : start].lower())[-count:]


def has_context(text: str, start: int, words: frozenset[str], signs: tuple[str, ...] = ()) -> bool:
    """Does one of `words` stand among the five words before, or one of the (Chinese) `signs` within 12 characters?"""
    near = text[max(0, start - 12) : start]
    return any(sign in near for sign in signs) or not words.isdisjoint(words_before(text, start))


_GUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def in_guid(text: str, start: int, end: int) -> bool:
    """Is `text[start:end]` a part of a GUID (8-4-4-4-12 hexadecimal digits)?"""
    left = max(0, start - 36)
    return any(left + m.start() <= start and end <= left + m.end() for m in _GUID.finditer(text[left : end + 36]))
