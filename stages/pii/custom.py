"""Recognisers that the config brings: a pattern, a check by name, words that must stand before it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from stages.pii.identifiers import luhn, mod_11_2
from stages.pii.params import Custom
from stages.pii.spans import Span, has_context
from tokenizer.expressions import checked, matches


def find(text: str, recogniser: Custom) -> Iterator[Span]:
    """What one custom recogniser accepts in `text`. Raises SlowExpressionError for a search without end."""
    words = frozenset(word.lower() for word in recogniser.context if word.isascii())
    signs = tuple(word for word in recogniser.context if not word.isascii())
    compiled = checked(recogniser.pattern)
    for match in matches(compiled, text):
        start, end = match.span(1 if compiled.groups else 0)
        if start == end:  # the group took no part, or holds nothing: better all of the match than none
            start, end = match.span()
        if start == end or (recogniser.context and not has_context(text, start, words, signs)):
            continue
        if recogniser.validator is None or _VALIDATORS[recogniser.validator](re.sub("[^0-9A-Za-z]", "", match[0])):
            yield Span(start, end, recogniser.name, f"custom_{recogniser.name}", 1.0)


def _mod_97(value: str) -> bool:
    """ISO 7064 MOD 97-10 as an IBAN has it: four characters moved to the end, letters as two digits, remainder 1."""
    moved = value[4:] + value[:4]
    return len(value) > 4 and int("".join(str(int(c, 36)) for c in moved)) % 97 == 1


def _mod_11_2(value: str) -> bool:
    return re.fullmatch("[0-9]{17}[0-9Xx]", value) is not None and mod_11_2(value)


def _luhn(value: str) -> bool:
    return value.isdigit() and luhn(value)


_VALIDATORS: Final[dict[str, Callable[[str], bool]]] = {"luhn": _luhn, "mod_97": _mod_97, "mod_11_2": _mod_11_2}
