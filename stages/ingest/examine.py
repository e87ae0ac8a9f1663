"""What bytes are, why, what text they give and where it was lost: the knowledge behind `curate doctor`."""

from __future__ import annotations

import codecs
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from stages.ingest.charsets import DETECTABLE, codec_of
from stages.ingest.damage import ByteSpelling, Misdecoding, Place, byte_spelling, misdecoding
from stages.ingest.decode import SAMPLE_BYTES, Decoded, RejectedError, control_share, decode, signature

LISTED: Final = 20
"""Places where characters were lost that are listed one by one."""

_LABELS: Final = {
    "big5hkscs": "big5", "cp932": "shift_jis", "euc_jp": "euc-jp", "cp949": "euc-kr", "iso2022_jp_ext": "iso-2022-jp",
    "iso2022_kr": "iso-2022-kr", "utf-16-le": "utf-16le", "utf-16-be": "utf-16be", "koi8_r": "koi8-r",
    "koi8_u": "koi8-u", "mac_roman": "macintosh", "cp866": "ibm866", "utf-32-le": "utf-32le", "utf-32-be": "utf-32be",
}  # fmt: skip


def label_of(codec: str) -> str:
    """The charset label to write into a config for a codec.

    >>> label_of("cp1251"), label_of("big5hkscs"), label_of("gb18030")
    ('windows-1251', 'big5', 'gb18030')
    """
    if codec.startswith("cp125") or codec == "cp874":
        return f"windows-{codec[2:]}"
    return _LABELS.get(codec, codec)


@dataclass(frozen=True)
class Step:
    """One question of the documented order, and its answer."""

    question: str
    answer: str
    decided: bool = False


@dataclass(frozen=True)
class Guess:
    """A charset that the detector finds possible: `noise` and `coherence` as charset-normalizer gives them, 0 to 1."""

    label: str
    noise: float
    coherence: float


@dataclass(frozen=True)
class Loss:
    """Bytes that are no character in the charset; `offset` counts bytes from 0, `line` from 1."""

    offset: int
    line: int
    hex: str


@dataclass(frozen=True)
class Reading:
    """Bytes read as text: the steps that led there, or why there is no text."""

    text: str
    codec: str | None
    by: str | None
    steps: tuple[Step, ...]
    guesses: tuple[Guess, ...]
    replacements: int
    losses: tuple[Loss, ...]  # at most LISTED
    rejected: str | None = None  # reason code
    detail: str | None = None


@dataclass(frozen=True)
class Findings:
    """What text looks like by itself, whatever its bytes were."""

    inherited: int  # U+FFFD that were in the data already
    inherited_lines: tuple[int, ...]
    mojibake: Misdecoding | None
    spelling: ByteSpelling | None


def read_bytes(raw: bytes, declared: Sequence[str] = ()) -> Reading:
    """`raw` as ingest decodes it by default, with the reason for each step. Never raises."""
    found: Decoded | None = None
    refused: RejectedError | None = None
    try:
        found = decode(raw, declared)
    except RejectedError as error:
        refused = error
    by = found.by if found else None
    guesses = tuple(_guesses(raw)) if by in (None, "detected", "replacement") and not _binary(refused) else ()
    steps = tuple(_steps(raw, declared, by, guesses))
    if found is None:
        assert refused is not None
        detail = str(refused).rsplit(" (", 1)[0]
        return Reading("", None, None, steps, guesses, 0, (), refused.reason, detail)
    losses = _losses(raw, found.codec) if found.replacements else ()
    return Reading(found.text, found.codec, by, steps, guesses, found.replacements, losses)


def look(places: Sequence[Place]) -> Findings:
    """Damage in lines of text. What is spelled in the byte alphabet is not looked through for mojibake: it looks so."""
    lost = [(number, line.count("\ufffd")) for number, line in places if "\ufffd" in line]
    spelling = byte_spelling(places)
    return Findings(
        inherited=sum(n for _, n in lost),
        inherited_lines=tuple(sorted({number for number, _ in lost}))[:LISTED],
        mojibake=None if spelling else misdecoding(places),
        spelling=spelling,
    )


def _binary(refused: RejectedError | None) -> bool:
    return refused is not None and refused.reason == "binary_content"


def _steps(raw: bytes, declared: Sequence[str], by: str | None, guesses: Sequence[Guess]) -> list[Step]:
    """The order of `stages.ingest.decode`, as far as it was gone."""
    mark = signature(raw)
    marked = label_of(mark[0]) if mark else "none"
    steps = [Step("byte-order mark", marked if mark and mark[1] == "bom" else "none", by == "bom")]
    if by == "bom":
        return steps
    pattern = "yes" if by == "pattern" else "no"
    steps.append(Step("byte pattern of UTF-16, or escapes of ISO-2022", pattern, by == "pattern"))
    if by == "pattern":
        return steps
    failure = _failure(raw, "utf-8")
    steps.append(Step("strict UTF-8", failure or "every byte fits", by == "utf-8"))
    if by == "utf-8":
        return steps
    if control_share(raw) > 0.1:
        steps.append(Step("control characters", f"{control_share(raw):.0%} of the bytes: not text", True))
        return steps
    steps += [_declared(raw, label, by == "declared") for label in declared]
    if by != "declared":
        best = (
            f"{guesses[0].label}, noise {guesses[0].noise:.0%}, coherence {guesses[0].coherence:.0%}"
            if guesses
            else "no charset fits"
        )
        steps.append(Step("detector", best, by == "detected"))
        if by != "detected":
            answer = "few enough places are bad" if by == "replacement" else "too many places are bad"
            steps.append(Step("UTF-8 with replacements", answer, by == "replacement"))
    return steps


def _declared(raw: bytes, label: str, decided: bool) -> Step:
    codec = codec_of(label)
    answer = "no charset of this name" if codec is None else _failure(raw, codec) or "every byte fits"
    return Step(f"declared {label}", answer, decided and codec is not None)


def _failure(raw: bytes, codec: str) -> str | None:
    """Where `raw` is not in a charset first, in words."""
    try:
        raw.decode(codec)
    except UnicodeDecodeError as error:
        bad = raw[error.start : error.end].hex(" ")
        return f"no: bytes {bad} at offset {error.start}, line {_line(raw, error.start, codec)}"
    return None


def _line(raw: bytes, offset: int, codec: str) -> int:
    if codec.startswith(("utf-16", "utf-32")):
        return raw[:offset].decode(codec, "replace").count("\n") + 1
    return raw.count(b"\n", 0, offset) + 1


def _guesses(raw: bytes) -> list[Guess]:
    from charset_normalizer import from_bytes

    matches: list[Any] = list(from_bytes(raw[:SAMPLE_BYTES], cp_isolation=list(DETECTABLE), threshold=0.4))
    named = [Guess(label_of(m.encoding), round(m.chaos, 4), round(m.coherence, 4)) for m in matches]
    return [g for i, g in enumerate(named) if g.label not in {h.label for h in named[:i]}][:5]


_seen = threading.local()


def _note(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    _seen.places.append((error.start, error.end))
    return "\ufffd", error.end


codecs.register_error("curate.note-and-replace", _note)


def _losses(raw: bytes, codec: str) -> tuple[Loss, ...]:
    """The first places that are undecodable in `codec`."""
    _seen.places = []
    raw.decode(codec, "curate.note-and-replace")
    return tuple(Loss(a, _line(raw, a, codec), raw[a:b].hex(" ")) for a, b in _seen.places[:LISTED])
