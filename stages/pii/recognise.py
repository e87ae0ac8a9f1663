"""All recognisers on one text: `find` returns disjoint spans, settled by priority (see `spans.PRIORITY`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from stages.pii import addresses, credentials, custom, emails, identifiers, names, national, network, phones
from stages.pii.params import NAMES, PIIParams
from stages.pii.spans import Span, Starts, disjoint
from stages.pii.suspects import candidates

_SHORT: Final = 600  # characters; below, patterns on the whole text take less time than a scan and its calls
_WIDE: Final = re.compile("[０-９＠]")
_NARROW: Final = {
    code: code - 0xFEE0 for code in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))
}
_NARROW.update({ord(wide): ord(narrow) for wide, narrow in zip("＠．－＋＿", "@.-+_", strict=True)})

_Where = Callable[[str], Starts]
_FIGURES: Final = re.compile(r"[0-9]{2}|[0-9][ .:]")  # no number worth looking at without these
_DIGIT: Final = re.compile("[1-9]")
_HOUSE: Final = re.compile("[号號室]")
_NEEDS: Final[dict[str, Callable[[str], object]]] = {
    "email": lambda text: "@" in text or "%40" in text,
    "ipv4": lambda text: text.count(".") >= 3 and _FIGURES.search(text),
    "ipv6": lambda text: ":" in text,
    "cn_house": lambda text: not text.isascii() and _HOUSE.search(text),
    "box": lambda text: "x" in text or "X" in text,
    "us_address": lambda text: _DIGIT.search(text),
    "secret": lambda text: True,
}
"""What a text holds that holds a kind at all; every other kind needs figures."""


def _everywhere(text: str) -> _Where:
    """Every place for each kind that the text could hold at all."""
    figures = _FIGURES.search(text)

    def where(kind: str) -> Starts:
        return None if (_NEEDS[kind](text) if kind in _NEEDS else figures) else ()

    return where


def find(text: str, params: PIIParams) -> list[Span]:
    """The entities of `text`, disjoint and in order of `start`; offsets are code points.

    Works on the text as given, in one pass: no recogniser sees what another one would write. Patterns are tried where
    the compiled scan says that they could match; the result is that of `find_everywhere`.
    """
    text = _narrow(text)
    if len(text) < _SHORT:
        return _find(text, params, _everywhere(text))
    found = candidates(text, params)

    def where(kind: str) -> Sequence[int]:
        return found.get(kind, ())

    return _find(text, params, where)


def find_everywhere(text: str, params: PIIParams) -> list[Span]:
    """As `find`, every pattern searched for in the whole text: slower, and what `find` is held to."""
    text = _narrow(text)
    return _find(text, params, _everywhere(text))


def _narrow(text: str) -> str:
    """Full-width digits, letters and the signs of addresses as ASCII, if there is a digit or @ among them.

    One character stands for one, so offsets stay.
    """
    if text.isascii() or _WIDE.search(text) is None:
        return text
    return text.translate(_NARROW)


def _find(text: str, params: PIIParams, where: _Where) -> list[Span]:
    active = frozenset(params.entities)
    spans = [span for span in _candidates(text, params, active, where) if span.entity in active]
    for recogniser in params.custom:
        spans += custom.find(text, recogniser)
    return disjoint(spans)


def _candidates(text: str, params: PIIParams, active: frozenset[str], where: _Where) -> Iterator[Span]:
    if "secret" in active and _any(where, "secret", "password"):
        yield from credentials.find(text)
    if "email" in active and _any(where, "email", "encoded"):
        yield from emails.find(text, where("email"))
    if "ip" in active and _any(where, "ipv4", "ipv6"):
        yield from network.find(text, params.ip, where("ipv4"), where("ipv6"))
    yield from _numbers(text, params, active, where)
    if "address" in active:
        yield from _addresses(text, params.addresses, where)
    if not active.isdisjoint(NAMES):
        yield from names.find(text, params.names_model)


def _any(where: _Where, *kinds: str) -> bool:
    return any(starts is None or len(starts) for starts in map(where, kinds))


_NUMBERS: Final = (
    ({"cn_id"}, "cn_id", identifiers.find_cn_ids),
    ({"us_ssn", "us_itin"}, "us_number", identifiers.find_us_numbers),
    ({"card"}, "card", identifiers.find_cards),
    ({"iban"}, "iban", identifiers.find_ibans),
    ({"national_id"}, "national", national.find),
)


def _numbers(text: str, params: PIIParams, active: frozenset[str], where: _Where) -> Iterator[Span]:
    for entities, kind, finder in _NUMBERS:
        if not active.isdisjoint(entities) and _any(where, kind):
            yield from finder(text, where(kind))
    if "phone" in active and _any(where, "phone", "mobile"):
        yield from phones.find(text, params.phone_regions, where("phone"), where("mobile"))


def _addresses(text: str, countries: tuple[str, ...], where: _Where) -> Iterator[Span]:
    if "us" in countries:
        if _any(where, "us_address"):
            yield from addresses.find_us_streets(text, where("us_address"))
        if _any(where, "box"):
            yield from addresses.find_us_boxes(text)
    if "cn" in countries and _any(where, "cn_house"):
        yield from addresses.find_cn(text, where("cn_house"))
