"""Replaces entities by placeholders and breaks look-alikes of special tokens; scrubbing its own output changes nothing.

Text is cut at *barriers*: trusted placeholder spans, and text that looks like a declared special token. Each part
between barriers is searched by itself; an entity found and replaced is a barrier in turn, and the parts beside it are
searched again, until no part holds one. So the output's parts are parts that were searched and hold nothing.

A look-alike is broken by one U+2060 WORD JOINER behind its first character: `<|email|>` in the source becomes
`<U+2060|email|>`. The edits table lists each joiner's place; `restore` takes them out again. (A source that holds the
broken form already is left as it is; there only the edits table tells which joiner was written here.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from stages.pii.params import JOINER, PIIParams, action, placeholder, placeholders
from stages.pii.recognise import find
from stages.pii.spans import Span

LITERAL: Final = "literal_special"
"""The kind of an edit that breaks a look-alike of a special token."""


class Placeholder(NamedTuple):
    """A trusted placeholder: `text[start:end] == token`, in code points."""

    start: int
    end: int
    token: str


class Edit(NamedTuple):
    """One change, in code points of the text before it.

    `replacement` is None where the entity stays (its action is `keep` or `drop_document`). A joiner is written at
    `start == end`. `kind` is the entity, or `literal_special`.
    """

    start: int
    end: int
    kind: str
    rule: str
    score: float | None
    replacement: str | None


class Scrubbed(NamedTuple):
    """The new text, its trusted placeholders (old and new), and what was edited."""

    text: str
    placeholders: list[Placeholder]
    edits: list[Edit]


def scrub(text: str, placeholder_spans: Sequence[tuple[int, int, str]], params: PIIParams) -> Scrubbed:
    """Scrubs `text`, whose `placeholder_spans` (start, end, token; in order, disjoint) are trusted and left alone.

    Raises ValueError where a span does not hold its token.
    """
    trusted = [Placeholder(*span) for span in placeholder_spans]
    last = 0
    for span in trusted:
        if span.start < last or text[span.start : span.end] != span.token or not span.token:
            raise ValueError(f"placeholder span {span.start}..{span.end} of the text does not hold {span.token!r}")
        last = span.end
    edits = edits_of(text, trusted, params)
    return Scrubbed(apply(text, edits), _moved(trusted, edits), edits)


def edits_of(text: str, trusted: Sequence[Placeholder], params: PIIParams, tracked: bool = True) -> list[Edit]:
    """The edits that scrub `text`, in order of `start`.

    In a field without `tracked` spans a placeholder cannot be told from its look-alike: both stay as they are.
    """
    edits: list[Edit] = []
    declared = _declared(params)
    tokens = declared if tracked else params.special_tokens
    for start, end in _outside([(p.start, p.end) for p in trusted], len(text)):
        edits += _joiners(text, start, end, tokens)
        for left, right in _outside(_lookalikes(text, start, end, declared), end, start):
            edits += [_edit(span, params) for span in _settled(text, left, right, params)]
    return sorted(edits, key=lambda edit: (edit.start, edit.end))


def apply(text: str, edits: Sequence[Edit]) -> str:
    """`text` with the edits made; they are in order and do not overlap."""
    parts = []
    at = 0
    for edit in edits:
        if edit.replacement is not None:
            parts += [text[at : edit.start], edit.replacement]
            at = edit.end
    return "".join([*parts, text[at:]]) if parts else text


def restore(text: str, special_tokens: Sequence[str]) -> str:
    """Takes out the joiners that break look-alikes of `special_tokens` (placeholders included)."""
    pattern = _lookalike_pattern(tuple(special_tokens))
    places = {m.start() + 1 for m in pattern.finditer(text) if text[m.start() + 1] == JOINER} if pattern else set()
    return "".join(c for i, c in enumerate(text) if i not in places) if places else text


def _settled(text: str, start: int, end: int, params: PIIParams) -> list[Span]:
    """The entities of `text[start:end]`, found anew beside every replaced one until none is left."""
    settled: list[Span] = []
    parts = [(start, end)]
    while parts:
        left, right = parts.pop()
        if left == right:
            continue
        found = [s._replace(start=s.start + left, end=s.end + left) for s in find(text[left:right], params)]
        replaced = [s for s in found if action(params, s.entity) == "replace"]
        settled += replaced or found
        if replaced:
            parts += _outside([(s.start, s.end) for s in replaced], right, left)
    return settled


def _edit(span: Span, params: PIIParams) -> Edit:
    replaced = action(params, span.entity) == "replace"
    token = placeholder(params, span.entity) if replaced else None
    return Edit(span.start, span.end, span.entity, span.rule, span.score, token)


def _outside(spans: Sequence[tuple[int, int]], end: int, start: int = 0) -> Iterator[tuple[int, int]]:
    """What `spans` (in order; they may overlap) leave of start..end."""
    at = start
    for left, right in spans:
        if left > at:
            yield at, left
        at = max(at, right)
    if at < end:
        yield at, end


def _joiners(text: str, start: int, end: int, tokens: tuple[str, ...]) -> list[Edit]:
    """One joiner in every look-alike, overlapping ones included."""
    places = set()
    for token in tokens if any(head in text for head in _heads(tokens)) else ():
        at = text.find(token, start, end)
        while at >= 0:
            places.add(at + 1)
            at = text.find(token, at + 1, end)
    return [Edit(at, at, LITERAL, "declared_special", None, JOINER) for at in places]


def _lookalikes(text: str, start: int, end: int, tokens: tuple[str, ...]) -> list[tuple[int, int]]:
    """Where look-alikes stand, broken or not: their text is never searched."""
    if not any(head in text for head in _heads(tokens)):
        return []
    pattern = _lookalike_pattern(tokens)
    return [m.span(1) for m in pattern.finditer(text, start, end)] if pattern else []


@lru_cache(maxsize=64)
def _heads(tokens: tuple[str, ...]) -> frozenset[str]:
    """With what a look-alike begins: few strings, quickly searched for."""
    return frozenset(head for token in tokens for head in (token[:2], token[0] + JOINER))


def _declared(params: PIIParams) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*placeholders(params), *params.special_tokens]))


@lru_cache(maxsize=64)
def _lookalike_pattern(tokens: tuple[str, ...]) -> re.Pattern[str] | None:
    """Matches, at every place where one begins, the longest declared token with or without joiners inside."""
    longest_first = sorted(tokens, key=lambda token: (-len(token), token))
    shapes = (f"{JOINER}?".join(map(re.escape, token)) for token in longest_first)
    return re.compile(f"(?=({'|'.join(shapes)}))") if tokens else None


def _moved(trusted: Sequence[Placeholder], edits: Sequence[Edit]) -> list[Placeholder]:
    """All placeholders of the new text, in order."""
    spans: list[Placeholder] = []
    shift = 0
    old = iter([*trusted, None])
    waiting = next(old)
    for edit in (e for e in edits if e.replacement is not None):
        while waiting is not None and waiting.start < edit.end:
            spans.append(Placeholder(waiting.start + shift, waiting.end + shift, waiting.token))
            waiting = next(old)
        assert edit.replacement is not None
        if edit.kind != LITERAL:
            start = edit.start + shift
            spans.append(Placeholder(start, start + len(edit.replacement), edit.replacement))
        shift += len(edit.replacement) - (edit.end - edit.start)
    while waiting is not None:
        spans.append(Placeholder(waiting.start + shift, waiting.end + shift, waiting.token))
        waiting = next(old)
    return spans
