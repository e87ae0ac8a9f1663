"""Mojibake: text that was decoded with the wrong charset once, measured always and repaired where a source asks.

The measure is ftfy's (`ftfy.badness`): the number of places where characters meet as they do in mis-decoded text and
hardly ever elsewhere. Its expression tries some thirty alternatives at every character, 5 MB/s. So the bytes of a batch
of texts are looked over first (`stages.ingest.suspicion`) for places where a match can be; RE2 tries these with the
same expression (where that depends on the Unicode version, with any character), and ftfy's own counts in those that RE2
marks. In a single text a cheap expression finds the places. The numbers are ftfy's.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stages.ingest.suspicion import suspicious

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


def badness_of(texts: pa.Array) -> pa.Array:
    """`badness` of each text, int64."""
    places, owners = suspicious(pc.cast(texts, pa.large_string()), *_members())
    marked = pc.match_substring_regex(places, _for_re2())
    found = [0] * len(texts)
    bad = _expressions()[1]
    owned = owners[marked.to_numpy(zero_copy_only=False)].tolist()
    for i, place in zip(owned, places.filter(marked).to_pylist(), strict=True):
        found[i] += len(bad.findall(place))
    return pa.array(found, pa.int64())


@cache
def _members() -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """The characters beyond ASCII that ftfy's expression names, by code point, and those that may be bad by themselves.

    The latter are C1 controls, `Ђ`, `Ã`, `Â`, `Œ` and `œ` (see `_expressions`).
    """
    named, alone = np.zeros(0x10000, np.bool_), np.zeros(0x10000, np.bool_)
    named[[ord(c) for c in _characters(_parsed())]] = True
    alone[0x80:0xA0] = True
    alone[[ord(c) for c in "ЂÃÂŒœ"]] = True
    return named, alone


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

    members = re.escape("".join(sorted(_characters(_parsed()))))
    candidates = rf"[{members}](?:(?<=[\x80-\x9fЂ])|(?=[{members}])|(?<=[ÃÂ])(?= )|(?<=[Œœ])(?=[^A-Za-z]))"
    return re.compile(candidates), BADNESS_RE


def _parsed() -> Any:
    """ftfy's expression as the standard library parses it: nested sequences of (operation, argument)."""
    from re import _parser  # type: ignore[attr-defined]

    from ftfy.badness import BADNESS_RE

    return _parser.parse(BADNESS_RE.pattern, BADNESS_RE.flags)


def _characters(sequence: Any) -> set[str]:
    """All characters beyond ASCII that a parsed expression names, in classes and ranges too."""
    found: set[str] = set()
    waiting = [sequence]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple) and len(node) == 2 and str(node[0]) == "LITERAL":
            found.add(chr(node[1]))
        elif isinstance(node, tuple) and len(node) == 2 and str(node[0]) == "RANGE":
            found.update(map(chr, range(node[1][0], node[1][1] + 1)))
        elif not isinstance(node, str | int) and node is not None:
            waiting += list(node)
    return {c for c in found if not c.isascii()}


@cache
def _for_re2() -> str:
    """ftfy's expression in RE2's syntax. It matches at least where that one does: \\s and \\w are any character."""
    return _written(_parsed())


_ANY: Final = "(?s:.)"


def _written(sequence: Any) -> str:
    out = ""
    for operation, argument in sequence:
        match str(operation):
            case "LITERAL":
                out += rf"\x{{{argument:x}}}"
            case "IN":
                out += _class(argument)
            case "BRANCH":
                out += "(?:" + "|".join(_written(branch) for branch in argument[1]) + ")"
            case "MAX_REPEAT":
                least, most, repeated = argument
                out += f"(?:{_written(repeated)}){{{least},{most}}}"
            case "AT":
                pass  # an anchor only takes matches away
            case _:
                out += _ANY
    return out


def _class(members: Any) -> str:
    out = ""
    for operation, argument in members:
        match str(operation):
            case "LITERAL":
                out += rf"\x{{{argument:x}}}"
            case "RANGE":
                out += rf"\x{{{argument[0]:x}}}-\x{{{argument[1]:x}}}"
            case "NEGATE":
                out += "^"
            case _:
                return _ANY
    return f"[{out}]"
