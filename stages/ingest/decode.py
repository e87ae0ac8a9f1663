"""Bytes to text, one documented order, and what was lost on the way.

The order: a byte-order mark; the byte pattern of UTF-16 or the escapes of ISO-2022; strict UTF-8; the declared
charsets, first declared first; a statistical detector; UTF-8 with U+FFFD for a bounded share of characters; else the
bytes are `undecodable`. The detector comes late because it is often wrong about short or mixed text, strict UTF-8
almost never.
"""

from __future__ import annotations

import codecs
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from stages.ingest.charsets import DETECTABLE, LATIN, SUPERSETS, WESTERN, WIDE, codec_of

_BOMS: Final = (  # the longer mark first: UTF-32-LE begins like UTF-16-LE
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARKS: Final = tuple(mark for mark, _ in _BOMS)
SAMPLE_BYTES: Final = 1 << 16
"""How much of the beginning shows the pattern of bytes: UTF-16, or single accents among ASCII."""

_CONTROLS: Final = bytes([*range(0x09), 0x0B, *range(0x0E, 0x20), 0x7F])  # C0 and DEL without \t \n \f \r
_TAB: Final = np.uint8(9)
_ISO2022_JP: Final = re.compile(rb"\x1b(?:\$[@B]|\$\([@BDQO]|\(I)")
_ISO2022_KR: Final = b"\x1b$)C"
_HIGH: Final = re.compile(rb"[\x80-\xff]")
_ALONE: Final = re.compile(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class RejectedError(Exception):
    """A record that cannot be used: a reason code, and a detail that never quotes the record."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{detail} ({reason})")
        self.reason, self.detail = reason, detail


class Decoded(NamedTuple):
    """Text, the codec that gave it, how that was chosen, and how many undecodable places are now U+FFFD.

    by: bom | pattern | utf-8 | declared | detected | replacement.
    """

    text: str
    codec: str
    by: str
    replacements: int = 0


def decode(
    raw: bytes, declared: Sequence[str] = (), *, max_replacement_share: float = 0.01, max_control_share: float = 0.1
) -> Decoded:
    """Text of `raw`. `declared`: charset labels, the most trusted first (config, then HTTP header, then <meta>).

    Raises RejectedError: `binary_content` (control characters above their share), `undecodable`.
    """
    if (plain := plain_utf8(raw)) is not None:
        return plain
    if (wide := signature(raw)) is not None:
        codec, by, skip = wide
        found = _bounded(raw[skip:], codec, by, max_replacement_share)
    else:
        found = _escaped(raw) or _strict(raw, "utf-8", "utf-8")
        if found is None and control_share(raw) <= max_control_share:
            found = _legacy(raw, declared, max_replacement_share)
    if found is not None and (found.codec in WIDE or found.by == "pattern"):
        check_text(found.text, max_control_share)
    elif control_share(raw) > max_control_share:
        raise binary_content(max_control_share)
    if found is None:
        raise RejectedError(
            "undecodable",
            "neither UTF-8 nor a charset that is declared or recognised; give the source its `encoding`",
        )
    return found


def plain_utf8(raw: bytes, clean: bool = False) -> Decoded | None:
    """The short way for most of what there is: strict UTF-8 without a mark and without any control character.

    Neither UTF-16 nor ISO-2022 has none of these. `clean`: there is no control character, as the caller knows.
    """
    if raw.startswith(_MARKS) or (not clean and _has_controls(raw)):
        return None
    return _strict(raw, "utf-8", "utf-8")


def _legacy(raw: bytes, declared: Sequence[str], share: float) -> Decoded | None:
    """What is not UTF-8: the declared charsets, the detector, then UTF-8 with replacements."""
    names = [codec for label in declared if (codec := codec_of(label)) is not None]
    for codec in names:
        if (found := _strict(raw, codec, "declared")) is not None:
            return found
    for codec in names:  # a declaration that explains all but a few bytes beats a guess
        if (found := _bounded(raw, codec, "declared", share)) is not None:
            return found
    damaged = _bounded(raw, "utf-8", "replacement", share)
    if damaged is not None and _non_ascii(damaged.text) > 2 * damaged.replacements:
        return damaged  # more good UTF-8 sequences than bad ones: no other charset looks like that
    return _detected(raw) or damaged


def _non_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))


def signature(raw: bytes) -> tuple[str, str, int] | None:
    """(codec, `bom` or `pattern`, bytes to skip) where a byte-order mark or the pattern of UTF-16 opens `raw`."""
    for mark, codec in _BOMS:
        if raw.startswith(mark):
            return codec, "bom", len(mark)
    found = _utf16_pattern(raw[: min(len(raw), SAMPLE_BYTES) & ~1])
    return None if found is None else (found, "pattern", 0)


def _utf16_pattern(sample: bytes) -> str | None:
    """UTF-16 without a mark: read as bytes it is full of control characters, read as UTF-16 it is plain text.

    The high bytes of a text's characters repeat much more than the low bytes: that tells the byte order. Bytes that are
    UTF-8 as well must repeat them as an alphabet does, for NUL-separated ASCII reads as plausible Chinese.
    """
    controls = control_share(sample)
    if len(sample) < 16 or controls <= 0.02:
        return None
    first, second = _repetition(sample[0::2]), _repetition(sample[1::2])
    if is_utf8_prefix(sample) and (controls <= 0.1 or max(first, second) < 0.2):
        return None
    codec = "utf-16-be" if first > second else "utf-16-le"
    return codec if _plausible(sample, codec) else None


def _repetition(values: bytes) -> float:
    """Chance that two of the values, drawn at random with replacement, are equal."""
    return sum(n * n for n in Counter(values).values()) / len(values) ** 2


def is_utf8_prefix(sample: bytes) -> bool:
    """Is `sample` strict UTF-8, but for a character that its end may cut?"""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _plausible(sample: bytes, codec: str) -> bool:
    """Does the sample decode, with next to no control, unassigned or private character?"""
    try:
        characters = Counter(codecs.getincrementaldecoder(codec)().decode(sample))
    except UnicodeDecodeError:
        return False
    strange = sum(
        n
        for c, n in characters.items()
        if unicodedata.category(c) in {"Cn", "Co"} or (c < "\x80" and ord(c) in _CONTROLS)
    )
    return strange <= 0.02 * characters.total()


def _escaped(raw: bytes) -> Decoded | None:
    """ISO-2022: seven-bit bytes with the escape sequences of a multi-byte set."""
    if b"\x1b" not in raw or not raw.isascii():
        return None
    if _ISO2022_KR in raw:
        return _strict(raw, "iso2022_kr", "pattern")
    return _strict(raw, "iso2022_jp_ext", "pattern") if _ISO2022_JP.search(raw) else None


def _strict(raw: bytes, codec: str, by: str) -> Decoded | None:
    try:
        return Decoded(raw.decode(codec), codec, by)
    except UnicodeDecodeError:
        return None


def _bounded(raw: bytes, codec: str, by: str, share: float) -> Decoded | None:
    """Text with U+FFFD at undecodable places, if these are at most `share` of its characters."""
    _errors.count, _errors.limit = 0, share * len(raw)  # a text has no more characters than bytes
    try:
        text = raw.decode(codec, _COUNTING)
    except UnicodeDecodeError:
        return None
    replacements: int = _errors.count
    return Decoded(text, codec, by, replacements) if replacements <= share * len(text) else None


_errors = threading.local()
_COUNTING: Final = "curate.count-and-replace"


def _count_and_replace(error: UnicodeError) -> tuple[str, int]:
    _errors.count += 1
    if not isinstance(error, UnicodeDecodeError) or _errors.count > _errors.limit:
        raise error
    return "\ufffd", error.end


codecs.register_error(_COUNTING, _count_and_replace)


def _detected(raw: bytes) -> Decoded | None:
    """What charset-normalizer finds among the charsets of the web, where it decodes every byte."""
    from charset_normalizer import from_bytes  # slow to import, and most corpora never need it

    sample = raw[:SAMPLE_BYTES]
    high, alone = len(_HIGH.findall(sample)), len(_ALONE.findall(sample))
    candidates = LATIN if alone > 0.7 * high else DETECTABLE  # accents stand among ASCII letters, other scripts do not
    matches = from_bytes(raw, cp_isolation=list(candidates), threshold=0.4)  # 0.2 refuses Chinese among code
    best = matches.best()
    if best is None:
        return None
    codec = best.encoding
    if codec in LATIN and any(
        WESTERN in (match.encoding, *match.could_be_from_charset) and match.coherence >= best.coherence
        for match in matches
    ):
        codec = WESTERN  # of Latin alphabets that explain the letters equally well, the most frequent one
    return _strict(raw, SUPERSETS.get(codec, codec), "detected")


def _has_controls(raw: bytes) -> bool:
    """Is there any control character that `control_share` counts? Some twenty times as fast as counting them."""
    values = np.frombuffer(raw, np.uint8)
    spaces = (values - _TAB) < 5  # unsigned, so that smaller values wrap: \t \n \v \f \r
    return bool(np.count_nonzero(values < 32) > np.count_nonzero(spaces)) or b"\x0b" in raw or b"\x7f" in raw


def control_share(raw: bytes) -> float:
    """Control characters (C0 without tab, line feed, form feed and carriage return; DEL) over all bytes."""
    return (len(raw) - len(raw.translate(None, _CONTROLS))) / len(raw) if raw else 0.0


def passes_control_share(raw: bytes, share: float) -> bool:
    """Is more than `share` of the bytes of a text in UTF-8 control characters?"""
    return _has_controls(raw) and control_share(raw) > share


def check_text(text: str, max_control_share: float) -> None:
    """RejectedError (`binary_content`) where control characters, NUL among them, pass their share of UTF-8 bytes."""
    if passes_control_share(text.encode(), max_control_share):
        raise binary_content(max_control_share)


def binary_content(max_control_share: float) -> RejectedError:
    """The text is none: control characters pass their share."""
    return RejectedError("binary_content", f"more than {max_control_share:.0%} control characters: not text")


def replace_surrogates(text: str) -> tuple[str, int]:
    """Text that encodes as UTF-8, and how many lone surrogates became U+FFFD. Only JSON escapes bring them in."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.subn("\ufffd", text)
    return text, 0


def remove_nuls(text: str) -> tuple[str, int]:
    """Text without U+0000, and how many there were."""
    if "\0" not in text:
        return text, 0
    return text.replace("\0", ""), text.count("\0")


def stream_signature(head: bytes, declared: str | None) -> tuple[str, str, int] | None:
    """Like `signature`, for the head of a stream of lines; a declared UTF-16 or UTF-32 counts where it is not UTF-8."""
    if (found := signature(head)) is not None or declared is None:
        return found
    codec = codec_of(declared)
    return (codec, "declared", 0) if codec in WIDE and not is_utf8_prefix(head) else None
