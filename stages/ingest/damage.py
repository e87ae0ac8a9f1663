"""How a text came to look wrong: which mis-decoding made mojibake, and text that is only spelled in another alphabet.

Only `curate doctor` uses this; ingest itself measures and repairs with `stages.ingest.mojibake`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from stages.ingest.charsets import LATIN
from stages.ingest.decode import RejectedError, decode
from stages.ingest.mojibake import badness, repaired

Place = tuple[int, str]
"""A line of text and the number of the line or record of the file that it stands in."""

_EXAMPLES: Final = 3
_SAMPLE_LINES: Final = 200
_EAST_ASIAN: Final = ("gb18030", "big5hkscs", "cp932", "cp949")
_CHARSETS: Final = {"latin-1": "windows-1252", "sloppy-windows-1252": "windows-1252", "utf-8-variants": "utf-8"}


@dataclass(frozen=True)
class Example:
    """A damaged line, and what it was."""

    line: int
    before: str
    after: str


@dataclass(frozen=True)
class Misdecoding:
    """Bytes of charset `written` that were decoded as `read_as`, and saved like that."""

    written: str
    read_as: str
    times: int  # how often one upon the other
    lines: int
    repairable: bool  # does `mojibake: repair` undo it?
    examples: tuple[Example, ...]


def misdecoding(places: Sequence[Place]) -> Misdecoding | None:
    """The mis-decoding that explains most damaged lines, or None where nothing looks damaged.

    Three kinds: a legacy charset read as windows-1252 (first: ftfy would mend a few of its characters, wrongly); what
    ftfy repairs, UTF-8 read as a single-byte charset; UTF-8 read as an East Asian charset.
    """
    lines = [(number, line) for number, line in places if not line.isascii()]
    return _legacy_as_western(lines) or _by_ftfy(lines) or _utf8_as_east_asian(lines)


def _by_ftfy(lines: Sequence[Place]) -> Misdecoding | None:
    from ftfy import fix_encoding_and_explain

    found: list[Example] = []
    ways: Counter[tuple[str, str, int]] = Counter()
    for number, line in lines:
        if badness(line) and (better := repaired(line)[0]) != line:
            found.append(Example(number, line, better))
            if len(found) <= _SAMPLE_LINES:
                steps = fix_encoding_and_explain(line).explanation or []
                ways[_way([(step.action, step.parameter) for step in steps])] += 1
    if not found:
        return None
    written, read_as, times = min(ways, key=lambda way: (-ways[way], way))
    return Misdecoding(written, read_as, times, len(found), True, tuple(found[:_EXAMPLES]))


def _way(steps: Sequence[tuple[str, str]]) -> tuple[str, str, int]:
    """(written, read as, how often) of ftfy's steps; a repair of single characters is UTF-8 read as windows-1252."""
    read = [_CHARSETS.get(name, name) for action, name in steps if action == "encode"]
    written = [_CHARSETS.get(name, name) for action, name in steps if action == "decode"]
    if not read or not written:
        return "utf-8", "windows-1252", 1
    read_as = read[0].removeprefix("sloppy-")
    return written[-1], "iso-8859-1" if read_as == written[-1] else read_as, len(read)


def _utf8_as_east_asian(lines: Sequence[Place]) -> Misdecoding | None:
    """Encode as the East Asian charset: where that gives UTF-8, the text was UTF-8. Cut characters are allowed for."""
    for codec in _EAST_ASIAN:
        found = [Example(n, line, after) for n, line in lines if (after := _as_utf8(line, codec)) is not None]
        if found:
            return Misdecoding("utf-8", codec, 1, len(found), False, tuple(found[:_EXAMPLES]))
    return None


def _as_utf8(line: str, codec: str) -> str | None:
    raw = line.replace("\ufffd", "").encode(codec, "replace")
    after = raw.decode("utf-8", "replace")
    kept = [c for c in after if c >= "\x80" and c != "\ufffd"]
    if len(kept) < 3 or after.count("\ufffd") > 0.2 * len(kept):
        return None
    return after if all(unicodedata.category(c) not in ("Cc", "Cn", "Co") for c in kept) else None


def _legacy_as_western(lines: Sequence[Place]) -> Misdecoding | None:
    """Dense accents and symbols of windows-1252 that, as bytes, are clearly another charset."""
    dense = [(n, line, raw) for n, line in lines if (raw := _western(line)) is not None]
    if not dense:
        return None
    try:
        found = decode(b"\n".join(raw for _, _, raw in dense[:_SAMPLE_LINES]))
    except RejectedError:
        return None
    if found.by != "detected" or found.codec in LATIN:
        return None
    examples = tuple(Example(n, line, raw.decode(found.codec, "replace")) for n, line, raw in dense[:_EXAMPLES])
    return Misdecoding(found.codec, "windows-1252", 1, len(dense), False, examples)


def _western(line: str) -> bytes | None:
    """The line's windows-1252 bytes where most of its characters are beyond ASCII, else None."""
    import ftfy.bad_codecs  # noqa: F401 - registers sloppy-windows-1252, which also takes bytes that have no character

    shown = [c for c in line if not c.isspace()]
    if len(shown) < 4 or 2 * sum(c >= "\x80" for c in shown) < len(shown):
        return None
    try:
        return line.encode("sloppy-windows-1252")
    except UnicodeEncodeError:
        return None


def _byte_alphabet() -> dict[str, int]:
    """How GPT-2's vocabularies write bytes (Radford et al. 2019, released code, `bytes_to_unicode`)."""
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in own]
    return {chr(b): b for b in own} | {chr(256 + i): b for i, b in enumerate(others)}


_ALPHABET: Final = _byte_alphabet()
_WORD: Final = re.compile("[\\w\u00a1-\u00ff]+")
_SHIFTED: Final = re.compile("[\u0100-\u0143]")  # bytes that have no visible character stand for these
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class ByteSpelling:
    """Words in the byte alphabet of BPE vocabularies: how many, and some with what they spell."""

    words: int
    examples: tuple[Example, ...]


def byte_spelling(places: Iterable[Place]) -> ByteSpelling | None:
    """Is this text the spelling of bytes (`Ġthe`, `ä½ł`), as vocabulary files and token lists show it?

    Yes, where at least half of the words with one of its special characters spell UTF-8 without control characters:
    real letters of these (`ł`, `ā`, `ġ`) spell cut characters and controls.
    """
    total = 0
    found: list[Example] = []
    for number, line in places:
        if not _SHIFTED.search(line):
            continue
        for word in filter(_SHIFTED.search, _WORD.findall(line)):
            total += 1
            try:
                spelled = bytes(_ALPHABET[c] for c in word).decode("utf-8")
            except (KeyError, UnicodeDecodeError):
                continue
            if not _CONTROL.search(spelled):
                found.append(Example(number, word, spelled))
    if not found or 2 * len(found) < total:
        return None
    telling = [e for e in found if not e.after.isascii()] or found
    return ByteSpelling(len(found), tuple(telling[:_EXAMPLES]))
