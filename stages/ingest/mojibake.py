"""Mojibake: text that was decoded with the wrong charset once, measured always and repaired where a source asks.

The measure is ftfy's (`ftfy.badness`): the number of places where characters meet as they do in mis-decoded text and
hardly ever elsewhere. Its expression tries some thirty alternatives at every character; here a cheap expression finds
the few places where one can begin, and ftfy's looks at these alone. The numbers are ftfy's own.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

_CONTEXT: Final = 8
"""Characters to both sides of a candidate: more than the longest alternative of ftfy's expression, which has six."""

_HIDDEN: Final = re.compile("[\ue0c2\ue0c3]")


def badness(text: str) -> int:
    """ftfy's badness: how many places of `text` look like mojibake.

    >>> badness("cafÃ© rÃ©sumÃ©"), badness("café résumé")
    (3, 0)
    """
    if text.isascii():
        return 0
    candidates, bad = _expressions()
    count, start, end = 0, 0, -1
    for found in candidates.finditer(text):
        at = found.start()
        if at - _CONTEXT > end:
            if end >= 0:
                count += len(bad.findall(text, start, end))
            start = max(0, at - _CONTEXT)
        end = at + 2 * _CONTEXT
    return count + len(bad.findall(text, start, end)) if end >= 0 else 0


def repaired(text: str) -> tuple[str, int]:
    """`text` as ftfy decodes it anew, and how many of its lines changed. Lines that do not look bad stay as they are.

    Only the encoding is repaired: no quotes, spaces or ligatures are touched.
    """
    if badness(text) == 0:
        return text, 0
    lines = text.split("\n")
    changed = 0
    for i, line in enumerate(lines):
        if badness(line) and (better := _repaired_line(line)) != line:
            lines[i] = better
            changed += 1
    return "\n".join(lines), changed


def _repaired_line(line: str) -> str:
    """The repaired line if it is one line and looks less bad; of two damages upon each other, both are undone.

    `Ã` and `Â` before a plain space are real letters as often as damage: they are put out of ftfy's sight.
    """
    from ftfy import TextFixerConfig, fix_encoding

    if _HIDDEN.search(line):
        return line
    hidden = line.replace("Ã ", "\ue0c3 ").replace("Â ", "\ue0c2 ")
    better = fix_encoding(hidden, TextFixerConfig(restore_byte_a0=False, fix_c1_controls=False))
    better = better.replace("\ue0c3 ", "Ã ").replace("\ue0c2 ", "Â ")
    return line if "\n" in better or _HIDDEN.search(better) or badness(better) >= badness(line) else better


@cache
def _expressions() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What may begin a bad place, and ftfy's expression.

    Every alternative of the latter has a C1 control character, `Ђ`, `Ã` or `Â` before a space, `Œ` or `œ` before what
    is no letter, or two characters next to each other that are not ASCII and occur in it.
    """
    from ftfy.badness import BADNESS_RE

    unusual = "".join(sorted(_characters(BADNESS_RE)))
    members = re.escape(unusual)
    candidates = rf"[{members}](?:(?<=[\x80-\x9fЂ])|(?=[{members}])|(?<=[ÃÂ])(?= )|(?<=[Œœ])(?=[^A-Za-z]))"
    return re.compile(candidates), BADNESS_RE


def _characters(expression: re.Pattern[str]) -> set[str]:
    """All characters beyond ASCII that an expression names, in classes and ranges too."""
    from re import _parser  # type: ignore[attr-defined]

    found: set[str] = set()

    def walk(node: Any) -> None:
        if isinstance(node, tuple) and len(node) == 2 and str(node[0]) == "LITERAL":
            found.add(chr(node[1]))
        elif isinstance(node, tuple) and len(node) == 2 and str(node[0]) == "RANGE":
            found.update(map(chr, range(node[1][0], node[1][1] + 1)))
        elif isinstance(node, tuple | list | _parser.SubPattern):
            for child in node:
                walk(child)

    walk(_parser.parse(expression.pattern, expression.flags))
    return {c for c in found if not c.isascii()}
