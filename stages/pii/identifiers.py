"""Numbers with a check: Chinese resident ids, payment cards, IBANs, US social security and taxpayer numbers."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Final

from stages.pii import presidio
from stages.pii.spans import Span, Starts, has_context, in_guid, matches

# No letter or digit, and no digit with a dot, directly before or behind: never a part of a longer number.
# The class of the first character stands first, and looks back over itself: that lets `re` skip to it fast.
_FREE = r"(?<![0-9A-Za-z].)(?<![0-9]\..)"
_BEHIND = r"(?![0-9A-Za-z])(?!\.[0-9])"

_CN_ID = re.compile(rf"([1-8]{_FREE}[0-9]{{5}})[ -]?([0-9]{{8}})[ -]?([0-9]{{3}}[0-9Xx]){_BEHIND}")
_PROVINCES: Final = frozenset(
    re.findall("..", "1112131415212223313233343536374142434445465051525354616263646571818283")
)


def find_cn_ids(text: str, starts: Starts = None) -> Iterator[Span]:
    """Resident identity numbers (GB 11643): province, a date that exists, and the check character."""
    for match in matches(_CN_ID, text, starts):
        number = "".join(match.groups())
        if number[:2] in _PROVINCES and _is_date(match[2]) and mod_11_2(number):
            yield Span(match.start(), match.end(), "cn_id", "cn_resident_id", 1.0)


def _is_date(digits: str) -> bool:
    try:
        year = datetime.date(int(digits[:4]), int(digits[4:6]), int(digits[6:])).year
    except ValueError:
        return False
    return 1850 <= year < 2100


def mod_11_2(number: str) -> bool:
    """ISO 7064 MOD 11-2: weights 2^(17-i) mod 11 over 17 digits, then the check character."""
    total = sum(int(digit) * pow(2, 17 - i, 11) for i, digit in enumerate(number[:17]))
    return "10X98765432"[total % 11] == number[17].upper()


# A run of digits, or groups with one separator throughout: 4-4-4-4 (with 3 more), 4-6-5, 4-6-4, 6-13.
_CARD_REGION = re.compile(r"[0-9](?:[ \u00a0-]?[0-9]){11}")
_CARD_RUN = re.compile(rf"[0-9]{_FREE}[0-9]{{11,18}}{_BEHIND}")
_S = r"([ \u00a0-])"
_CARD_GROUPS = tuple(
    re.compile(rf"(?=({shape}){_BEHIND}(?!-[0-9]))[0-9]{_FREE}(?<![0-9]-.)")
    for shape in (
        rf"[0-9]{{4}}{_S}[0-9]{{4}}\2[0-9]{{4}}\2[0-9]{{4}}(?!\2[0-9]{{4}}(?![0-9]))",
        rf"[0-9]{{4}}{_S}[0-9]{{4}}\2[0-9]{{4}}\2[0-9]{{4}}\2[0-9]{{3}}",
        rf"[0-9]{{4}}{_S}[0-9]{{6}}\2[0-9]{{4,5}}",
        rf"[0-9]{{6}}{_S}[0-9]{{13}}",
    )
)
# Two more groups of four before it, or the beginning of an IBAN: a table, or another number's digits.
_GROUPS_BEFORE = re.compile(r"(?:[0-9]{4}[ -][0-9]{4}|(?<![0-9A-Z])[A-Z]{2}[0-9]{2}(?:[ -][0-9A-Z]{4})*)[ -]\Z")
_LONG: Final = frozenset(range(16, 20))
_ISSUERS: Final[tuple[tuple[int, int, frozenset[int]], ...]] = (
    (4, 4, frozenset({13, 16, 19})),  # Visa
    (51, 55, frozenset({16})),  # Mastercard
    (2221, 2720, frozenset({16})),  # Mastercard
    (34, 34, frozenset({15})),  # American Express
    (37, 37, frozenset({15})),  # American Express
    (300, 305, frozenset(range(14, 20))),  # Diners Club
    (3095, 3095, frozenset(range(14, 20))),  # Diners Club
    (36, 36, frozenset(range(14, 20))),  # Diners Club
    (38, 39, frozenset(range(14, 20))),  # Diners Club
    (6011, 6011, _LONG),  # Discover
    (644, 649, _LONG),  # Discover
    (65, 65, _LONG),  # Discover
    (62, 62, _LONG),  # UnionPay
    (35, 35, frozenset({16})),  # JCB: 3528 to 3589, and generators of test numbers use all of 35
    (1800, 1800, frozenset({15})),  # JCB
    (2131, 2131, frozenset({15})),  # JCB
    (50, 50, frozenset(range(12, 20))),  # Maestro
    (56, 58, frozenset(range(12, 20))),  # Maestro
    (6304, 6304, frozenset(range(12, 20))),  # Maestro
    (6390, 6390, frozenset(range(12, 20))),  # Maestro
    (67, 67, frozenset(range(12, 20))),  # Maestro
)
"""Ranges of issuer prefixes (ISO/IEC 7812) with the lengths they use."""


_BANK_SIGNS: Final = (
    "银行卡",
    "銀行卡",
    "卡号",
    "卡號",
    "储蓄卡",
    "借记卡",
    "信用卡",
    "账号",
    "帐号",
    "賬號",
    "帳號",
    "开户行",
)


def find_cards(text: str, starts: Starts = None) -> Iterator[Span]:
    """Payment card numbers: issuer prefix, a length that issuer uses, and Luhn.

    Chinese banks also issue prefixes that the list does not have: 16 to 19 digits behind a word for bank card.
    """
    if starts is None and not _CARD_REGION.search(text):
        return
    places = {m.span() for m in matches(_CARD_RUN, text, starts)}
    for shape in _CARD_GROUPS:
        places.update(m.span(1) for m in matches(shape, text, starts))
    for start, end in sorted(places):
        digits = re.sub(r"[^0-9]", "", text[start:end])
        if not luhn(digits) or in_guid(text, start, end) or _GROUPS_BEFORE.search(text, max(0, start - 40), start):
            continue
        if _issued(digits):
            yield Span(start, end, "card", "card_luhn", 1.0)
        elif len(digits) >= 16 and has_context(text, start, frozenset(), _BANK_SIGNS):
            yield Span(start, end, "card", "card_cn_bank", 0.75)


def _issued(digits: str) -> bool:
    return any(
        low <= int(digits[: len(str(low))]) <= high and len(digits) in lengths for low, high, lengths in _ISSUERS
    )


def luhn(digits: str) -> bool:
    """Luhn (ISO/IEC 7812-1, annex B): every second digit from the right doubled, digit sums divisible by ten."""
    doubled = sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (doubled + sum(int(digit) for digit in digits[-1::-2])) % 10 == 0


# Upper case with separators as Presidio reads it; lower case as one run, which it does not read by itself.
_IBAN = re.compile(r"[A-Z](?<![0-9A-Za-z].)[A-Z][0-9]{2}(?:[ -]?[A-Z0-9]){11,40}(?![0-9A-Z])")
_IBAN_LOWER = re.compile(r"[a-z](?<![0-9A-Za-z].)[a-z][0-9]{2}[a-z0-9]{11,30}(?![0-9A-Za-z])")


def find_ibans(text: str, starts: Starts = None) -> Iterator[Span]:
    """International bank account numbers (ISO 13616): country format and MOD 97."""
    for pattern in (_IBAN, _IBAN_LOWER):
        for match in matches(pattern, text, starts):
            for hit in presidio.hits(presidio.iban(), match[0].upper()):
                yield Span(match.start() + hit.start, match.start() + hit.end, "iban", "iban", hit.score)


_SSN = re.compile(rf"[0-9]{_FREE}(?<![0-9]-.)[0-9]{{2}}([- .]?)[0-9]{{2}}([- .]?)[0-9]{{4}}{_BEHIND}(?!-[0-9])")
_SSN_WORDS: Final = frozenset({"ssn", "ssns", "ssid", "social", "security"})
_SSN_SIGNS: Final = ("社会安全", "社安")
_ITIN_WORDS: Final = frozenset({"itin", "taxpayer", "tax", "tin", "taxid", "payer"})
_CONTEXT_GAIN: Final = 0.35  # Presidio's context_similarity_factor
_ENOUGH: Final = 0.4  # Presidio's min_score_with_context_similarity


def find_us_numbers(text: str, starts: Starts = None) -> Iterator[Span]:
    """US social security (nine digits) and taxpayer numbers (those from 900).

    Two hyphens are enough; blanks, dots or no separator need a context word among the five words before.
    """
    for match in matches(_SSN, text, starts):
        start, end = match.span()
        taxpayer = match[0].startswith("9")
        words, signs = (_ITIN_WORDS, ()) if taxpayer else (_SSN_WORDS, _SSN_SIGNS)
        context = has_context(text, start, words, signs)
        if not context and (match[1], match[2]) != ("-", "-"):
            continue
        recogniser = presidio.itin() if taxpayer else presidio.ssn()
        score = max((h.score for h in presidio.hits(recogniser, match[0])), default=0.0)
        if score and context:
            score = max(score + _CONTEXT_GAIN, _ENOUGH)
        if score >= _ENOUGH and not in_guid(text, start, end):
            entity = "us_itin" if taxpayer else "us_ssn"
            yield Span(start, end, entity, entity, min(score, 1.0))
