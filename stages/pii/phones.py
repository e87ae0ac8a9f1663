"""Phone numbers: written as phone numbers are, and valid in a configured region.

`phonenumbers` (through Presidio's recogniser) decides what is valid; since it also accepts columns of figures, a number
must in addition carry a `+`, the separators of its region, or a context word. A Chinese mobile number stands by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from stages.pii import presidio
from stages.pii.spans import Span, Starts, has_context, in_guid, matches, words_before

_WORDS: Final = frozenset(
    {"phone", "phones", "telephone", "tel", "cell", "cellphone", "mobile", "mob", "call", "calls", "called", "dial"}
    | {"fax", "sms", "whatsapp", "contact", "desk", "landline", "answering", "reach"}
)
_WORDS_BEHIND: Final = re.compile(r"[ -](?:fax|mobile|cell|phone|office|tel)\b", re.IGNORECASE)
_SIGNS: Final = ("电话", "電話", "手机", "手機", "联系", "聯繫", "致电", "热线", "传真", "拨打", "短信", "座机")

_EXTENSION = r"(?:[ ]?(?:x|ext\.?)[ ]?[0-9]{1,6})?"
# Figures with the separators of phone numbers, ended by something that is neither: no number is cut in two.
_CANDIDATE = re.compile(
    r"[+(0-9](?<![0-9A-Za-z].)(?<![0-9A-Za-z+][+(].)[0-9 ()./\u00a0\u2010-\u2013-]{5,80}[0-9]"
    rf"{_EXTENSION}(?![0-9A-Za-z])"
)
_MOBILE = re.compile(
    r"1(?<![0-9A-Za-z].)(?<![0-9][.-].)[3-9][0-9]([ -]?)[0-9]{4}\1[0-9]{4}(?![0-9A-Za-z])(?![.-][0-9])"
)
_AREA = r"(?:\([2-9][0-9]{2}\)[ .-]?|[2-9][0-9]{2}[.-])"
_NANP = re.compile(rf"(?:(?:\+?1|001)[-. ]?)?{_AREA}[2-9][0-9]{{2}}[.-][0-9]{{4}}{_EXTENSION}")
_ABROAD = rf"00[1-9][0-9() .-]*[() .-][0-9() .-]*{_EXTENSION}"
_CN_FIXED = re.compile(
    rf"\(?0[0-9]{{2,3}}\)?(?:[ ]?-[ ]?|[ ])?[0-9]{{3,4}}[ -]?[0-9]{{4}}|[48]00-[0-9]{{3,4}}-?[0-9]{{3,4}}|{_ABROAD}"
)
_OTHER = re.compile(rf"\(?0[0-9() .-]*[() .-][0-9() .-]*|{_ABROAD}")
_DATE = re.compile(
    r"(?:19|20)[0-9]{2}[-/.][0-9]{1,2}[-/.][0-9]{1,2}\b|[0-9]{1,2}[-/.][0-9]{1,2}[-/.](?:19|20)[0-9]{2}\b"
)
_SIZES: Final = frozenset({str(2**34), str(2**34 - 1)})  # 16 GiB in bytes looks like a mobile number
_FIGURE_WORDS: Final = frozenset(
    {"timestamp", "time", "runtime", "vruntime", "size", "total", "bytes", "offset", "count", "sum"}
)
_OTHER_NUMBERS: Final = frozenset({"isbn", "issn", "doi", "version", "order"})
_DECIMAL = re.compile(r"[0-9]+\.[0-9]+")
_DOTTED = re.compile(r"[0-9]+(?:\.[0-9]+){3}")  # a version or an IP address
_THREE = re.compile(r"[0-9]{3}")
_GROUPS = re.compile(r"\(?[0-9]{3}\)?[-. ]?[0-9]{3}[-.][0-9]{4}")
_CN_BEGINS = re.compile(r"\+|\(?0|1[3-9]|[48]00|86")
_TOUCHING_BEFORE = re.compile(r"(?:[0-9A-Za-z]|[0-9][./-]|\+[0-9]{1,3}[ .-]?)\Z")
_PAIR_GROUPS = re.compile(r"[0-9]{2}(?:([ .-])[0-9]{2})(?:\1[0-9]{2}){2,4}")  # as France and Norway write them
_MESSAGES = re.compile(r"\b(?:messages?|texts?) (?:to|from) \Z")
_TOUCHING_BEHIND = re.compile(r"[./-]?[0-9]|[A-Za-z]")
_NANP_REGIONS: Final = frozenset({"US", "CA"})
_OWN_SHAPES: Final = frozenset({*_NANP_REGIONS, "CN"})


def find(text: str, regions: tuple[str, ...], starts: Starts = None, mobiles: Starts = None) -> Iterator[Span]:
    """Phone numbers of `text`; a number without `+` belongs to one of `regions`."""
    if "CN" in regions:
        yield from _mobiles(text, mobiles)
    for match in matches(_CANDIDATE, text, starts):
        if sum(map(str.isdigit, match[0])) >= 7:
            yield from _in_candidate(text, match.start(), match[0], regions)


def _mobiles(text: str, starts: Starts) -> Iterator[Span]:
    for match in matches(_MOBILE, text, starts):
        figure = match[0] in _SIZES or not _FIGURE_WORDS.isdisjoint(words_before(text, match.start(), 1))
        if not figure and _is_cn_mobile(match[0]) and not in_guid(text, *match.span()):
            yield Span(match.start(), match.end(), "phone", "phone_cn_mobile", 0.75)


@cache
def _shapes(region: str) -> re.Pattern[str]:
    if region in _NANP_REGIONS:
        return _NANP
    return _CN_FIXED if region == "CN" else _OTHER


def _is_cn_mobile(value: str) -> bool:
    import phonenumbers

    number = phonenumbers.parse(value, "CN")
    return bool(phonenumbers.number_type(number) == phonenumbers.PhoneNumberType.MOBILE)


def _in_candidate(text: str, left: int, value: str, regions: tuple[str, ...]) -> Iterator[Span]:
    if not _OTHER_NUMBERS.isdisjoint(words_before(text, left, 1)):
        return
    context = (
        has_context(text, left, _WORDS, _SIGNS)
        or _WORDS_BEHIND.match(text, left + len(value)) is not None
        or _MESSAGES.search(text, max(0, left - 20), left) is not None
    )
    for region in regions:
        shape = _shapes(region)
        if not (context or "+" in value or shape.search(value)):
            continue
        for hit in presidio.hits(presidio.phone(region), value) or _whole(value, region, context):
            number = value[hit.start : hit.end]
            if number[0] == "(" and ")" not in number:  # "(415-555-0199)": the bracket is the sentence's
                number = number[1:]
            end = left + hit.end
            start = end - len(number)
            written = context or number.startswith("+") or shape.fullmatch(number) is not None
            if written and _grouped(number, region) and _stands_free(text, start, end):
                score = min(hit.score + 0.35, 1.0) if context else hit.score
                yield Span(start, end, "phone", f"phone_{region.lower()}", score)


def _whole(value: str, region: str, context: bool) -> list[presidio.Hit]:
    """With a context word also what the matcher leaves out for want of a trunk prefix: the whole, if it is valid."""
    import phonenumbers

    if not context or region in _OWN_SHAPES:
        return []
    try:
        number = phonenumbers.parse(value, region)
    except phonenumbers.NumberParseException:
        return []
    return [presidio.Hit(0, len(value), 0.4)] if phonenumbers.is_valid_number(number) else []


def _grouped(number: str, region: str) -> bool:
    """No date or decimal; three digits somewhere in a row, or pairs of them where neither the US nor China is meant;
    and in China a beginning that subscribers' numbers have."""
    if _DATE.match(number) or _DECIMAL.fullmatch(number) or (_DOTTED.fullmatch(number) and not _NANP.fullmatch(number)):
        return False
    if not _THREE.search(number):
        return region not in _OWN_SHAPES and _PAIR_GROUPS.fullmatch(number) is not None
    return region != "CN" or _CN_BEGINS.match(number) is not None or _GROUPS.fullmatch(number) is not None


def _stands_free(text: str, start: int, end: int) -> bool:
    """No digit or letter directly before or behind, also not across a dot, slash or hyphen; not in a GUID."""
    before = text[max(0, start - 5) : start]
    touches = _TOUCHING_BEFORE.search(before) or _TOUCHING_BEHIND.match(text, end)
    return not touches and not in_guid(text, start, end)
