"""What each switch of `normalise` changes in a text: places and new characters, nothing else.

Every step is `text -> changes`, in order and disjoint, one for each contiguous place.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal, NamedTuple

import regex

Form = Literal["nfc", "nfkc"]


class Change(NamedTuple):
    """`text[start:end]` becomes `new`; `rule` says in which way."""

    start: int
    end: int
    new: str
    rule: str


_CONTROLS: Final = regex.compile(r"(?:\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f])+")
_LINE_ENDS: Final = regex.compile("(?:\r\n?|[\x0b\x85\u2028\u2029])+")
_LINE_END: Final = regex.compile("\r\n?|[\x0b\x85\u2028\u2029]")


def controls(text: str) -> list[Change]:
    """C0 and C1 control characters and DEL go, terminal colours as a whole.

    Tab, line feed and form feed stay; what ends a line (CR, VT, NEL) is left to `line_ends`.
    """
    return [Change(m.start(), m.end(), "", "controls") for m in _CONTROLS.finditer(text)]


def line_ends(text: str) -> list[Change]:
    """CR LF, CR, VT, NEL, U+2028 and U+2029 become LF, one for one."""
    return [
        Change(m.start(), m.end(), "\n" * len(_LINE_END.findall(m.group())), "line_ends")
        for m in _LINE_ENDS.finditer(text)
    ]


def blank_lines(text: str, most: int) -> list[Change]:
    """Of a run of blank lines (nothing but white space) the first `most` stay as they are."""
    return [Change(m.start(1), m.end(1), "", "max_blank_lines") for m in _blank_runs(most).finditer(text)]


@lru_cache(maxsize=8)
def _blank_runs(most: int) -> regex.Pattern[str]:
    return regex.compile(rf"(?<![^\n])(?:[^\S\n]*\n){{{most}}}((?:[^\S\n]*\n)+)")


_INVISIBLE: Final = "\u00ad\u180e\u200b-\u200d\u206a-\u206f\ufeff\U000e0000-\U000e007f"
_INVISIBLES: Final = regex.compile(f"[{_INVISIBLE}]+")
_JOINING: Final = regex.compile(
    r"[\p{Arabic}\p{Syriac}\p{Mandaic}\p{Mongolian}\p{Nko}\p{Phags_Pa}\p{Adlam}\p{Devanagari}\p{Bengali}\p{Gurmukhi}"
    r"\p{Gujarati}\p{Oriya}\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Tibetan}\p{Myanmar}\p{Khmer}]"
)
_UNSPACED: Final = regex.compile(r"[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tai_Tham}\p{Tai_Le}\p{New_Tai_Lue}]")
_EMOJI_BEFORE: Final = regex.compile(r"[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]")
_EMOJI_AFTER: Final = regex.compile(r"\p{Extended_Pictographic}")
_BLACK_FLAG: Final = "\U0001f3f4"  # the base of flags of regions, which are spelled in tag characters
_CANCEL_TAG: Final = "\U000e007f"


def zero_width(text: str) -> list[Change]:
    """Invisible characters go where they say nothing.

    U+00AD, U+180E, U+200B to U+200D, U+206A to U+206F, U+FEFF and tag characters are looked at. ZWJ and ZWNJ stay next
    to a letter of a script that joins or conjoins (Arabic, Persian, Indic, Mongolian, Khmer, Myanmar, …) and ZWJ inside
    an emoji; U+200B stays as the word break of Thai, Lao, Khmer and Myanmar, U+180E in Mongolian, tags in the flag of a
    region. Marks of direction, variation selectors and U+2060 to U+2064 are never touched: U+2060 breaks look-alikes of
    special tokens.
    """
    changes: list[Change] = []
    for match in _INVISIBLES.finditer(text):
        start, run = match.start(), match.group()
        stays = _meaningful(run, _base_before(text, start), text[match.end() : match.end() + 1])
        at = 0
        for stay in [*stays, len(run)]:
            if stay > at:
                changes.append(Change(start + at, start + stay, "", "zero_width"))
            at = stay + 1
    return changes


def _base_before(text: str, at: int) -> str:
    """The character before, or the letter under the marks that stand there (a mark has no script of its own)."""
    back = at - 1
    while back > 0 and at - back < 8 and unicodedata.category(text[back]) == "Mn" and not _JOINING.match(text[back]):
        back -= 1
    if back != at - 1 and _JOINING.match(text[back]):
        return text[back]
    return text[at - 1 : at] if at else ""


def _meaningful(run: str, before: str, after: str) -> list[int]:
    """Places in a run of invisible characters that stay."""
    if before == _BLACK_FLAG and run[-1] == _CANCEL_TAG and all(c >= "\U000e0000" for c in run):
        return list(range(len(run)))
    stays: set[int] = set()
    for place, neighbour in ((0, before), (len(run) - 1, after)):
        if run[place] in "\u200c\u200d" and _JOINING.match(neighbour):
            stays.add(place)
    if run == "\u200d" and _EMOJI_BEFORE.match(before) and _EMOJI_AFTER.match(after):
        stays.add(0)
    if "\u200b" in run and _UNSPACED.match(before) and _UNSPACED.match(after):
        stays.add(run.index("\u200b"))
    if run[0] == "\u180e" and "\u1800" <= before <= "\u18af":
        stays.add(0)
    return sorted(stays)


_AFFECTED: Final = regex.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")  # nothing composes with an ASCII character before it
_CLUSTER: Final = regex.compile(r"\X")


def unicode_form(text: str, form: Form) -> list[Change]:
    """What NFC or NFKC (Unicode Standard Annex 15) changes."""
    name: Literal["NFC", "NFKC"] = "NFC" if form == "nfc" else "NFKC"
    if unicodedata.is_normalized(name, text):
        return []
    changes: list[Change] = []
    for match in _AFFECTED.finditer(text):
        part = match.group()
        if (whole := unicodedata.normalize(name, part)) != part:
            changes += _by_cluster(part, whole, name, match.start(), form)
    return changes


def _by_cluster(part: str, whole: str, name: Literal["NFC", "NFKC"], start: int, form: Form) -> Iterator[Change]:
    """One change for each run of clusters that differ; one for all where clusters are not normalised by themselves."""
    clusters = _CLUSTER.findall(part)
    formed = [unicodedata.normalize(name, c) for c in clusters]
    if "".join(formed) != whole:
        yield _trimmed(part, whole, start, form)
        return
    old = new = ""
    for cluster, made in [*zip(clusters, formed, strict=True), ("", "")]:
        if cluster != made:
            old, new = old + cluster, new + made
            continue
        if old:
            yield _trimmed(old, new, start, form)
        start += len(old) + len(cluster)
        old = new = ""


def mojibake(text: str) -> list[Change]:
    """What ftfy decodes anew, as a source with `mojibake: repair` does it (`stages.ingest.mojibake`).

    Line by line, and only lines that look damaged; one change a line, from its first to its last repaired character.
    """
    from stages.ingest.mojibake import badness, repaired

    changes: list[Change] = []
    at = 0
    for line in text.split("\n") if badness(text) else ():
        better, repairs = repaired(line)
        if repairs:
            changes.append(_trimmed(line, better, at, "mojibake"))
        at += len(line) + 1
    return changes


def _trimmed(old: str, new: str, start: int, rule: str) -> Change:
    """The change from `old` to `new` without what they have in common at both ends."""
    left, shorter = 0, min(len(old), len(new))
    while left < shorter and old[left] == new[left]:
        left += 1
    right = 0
    while right < shorter - left and old[-1 - right] == new[-1 - right]:
        right += 1
    return Change(start + left, start + len(old) - right, new[left : len(new) - right], rule)
