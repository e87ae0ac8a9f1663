"""The long text of a JSON line cut out: its bytes go to UTF-8 at once, and only what is left becomes Python objects.

In place of the text's literal a mark is put; a line whose object does not have exactly this mark as its text (the field
stands deeper, or twice, or inside another string) is left to the ordinary way, and so is everything that is not valid.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import orjson

MAX_DEPTH: Final = 200
"""Deeper nesting is bad_json: within what every JSON reader behind this stage accepts, however deep its own stack."""

LONG: Final = 2048
LONGEST: Final = 1 << 22
"""Bytes of a line that is worth it; a larger one would be in memory once more."""

_MARK: Final = secrets.token_hex(16)  # no file can hold it; it never leaves this module
_LITERAL: Final = f'"{_MARK}"'.encode()


class Cut(NamedTuple):
    """A record's text in UTF-8, the control characters in it, and the other fields."""

    text: bytes
    controls: int
    rest: dict[str, Any]


class LongText:
    """Cuts the text out of the lines of one file. `name`: the text's field, or None to cut nothing."""

    def __init__(self, name: str | None) -> None:
        self._name = name or ""
        plain = name is not None and re.fullmatch(r"[\w .-]+", name, re.ASCII)
        self._opening = re.compile(rb'[{,]\s*"' + re.escape(self._name.encode()) + rb'"\s*:\s*"') if plain else None
        self._space = np.empty(0, np.uint8)
        self._unescape: Callable[..., tuple[int, int, int]] | None = None

    def text_of(self, line: bytes) -> Cut | None:
        """None: the line has to go the ordinary way."""
        if not LONG <= len(line) <= LONGEST or self._opening is None:
            return None
        if (found := self._opening.search(line)) is None:
            return None
        start = found.end()
        end, text, controls = self._unescaped(line, start)
        rest = line[: start - 1] + _LITERAL + line[end + 1 :] if end >= 0 else b""
        try:
            value = orjson.loads(rest)
        except orjson.JSONDecodeError:
            return None
        if type(value) is not dict or value.pop(self._name, None) != _MARK or not is_plain(value, 0):
            return None
        return Cut(text, controls, value)

    def _unescaped(self, line: bytes, start: int) -> tuple[int, bytes, int]:
        if self._unescape is None:
            from kernels.json_strings import SPACE, unescape  # numba, at the first long line

            self._unescape, self._beyond = unescape, SPACE
        if len(self._space) < len(line) + self._beyond:
            self._space = np.empty(len(line) + self._beyond, np.uint8)
        end, size, controls = self._unescape(np.frombuffer(line, np.uint8), start, self._space, 0)
        return end, self._space[:size].tobytes() if end >= 0 else b"", controls


_EXACT_KINDS: Final = frozenset({str, int, bool, type(None)})


def is_plain(value: Any, depth: int) -> bool:
    """Did orjson keep this exactly? It turns integers beyond 64 bit into floats, and floats lose their digits."""
    kind = type(value)
    if kind in _EXACT_KINDS:
        return True
    if kind is float or depth >= MAX_DEPTH:
        return False
    for inner in value.values() if kind is dict else value:
        if type(inner) not in _EXACT_KINDS and not is_plain(inner, depth + 1):
            return False
    return True
