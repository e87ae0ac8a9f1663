"""All recognisers on one text: `find` returns disjoint spans, settled by priority (see `spans.PRIORITY`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stages.pii import addresses, credentials, emails, identifiers, network, phones
from stages.pii.params import PIIParams
from stages.pii.spans import Span, disjoint

_FIGURES = re.compile(r"[0-9]{2}|[0-9][ .:]")  # no number worth looking at without these
_CN_HOUSE = re.compile(r"[号號室]")


def find(text: str, params: PIIParams) -> list[Span]:
    """The entities of `text`, disjoint and in order of `start`; offsets are code points.

    Works on the text as given, in one pass: no recogniser sees what another one would write.
    """
    active = frozenset(params.entities)
    return disjoint(span for span in _candidates(text, params, active) if span.entity in active)


def _candidates(text: str, params: PIIParams, active: frozenset[str]) -> Iterator[Span]:
    if "secret" in active:
        yield from credentials.find(text)
    if "email" in active:
        yield from emails.find(text)
    if "ip" in active:
        yield from network.find(text, params.ip)
    if _FIGURES.search(text):
        yield from _numbers(text, params, active)
    if "address" in active:
        if "us" in params.addresses:
            yield from addresses.find_us(text)
        if "cn" in params.addresses and _CN_HOUSE.search(text):
            yield from addresses.find_cn(text)


def _numbers(text: str, params: PIIParams, active: frozenset[str]) -> Iterator[Span]:
    if "cn_id" in active:
        yield from identifiers.find_cn_ids(text)
    if "us_ssn" in active or "us_itin" in active:
        yield from identifiers.find_us_numbers(text)
    if "card" in active:
        yield from identifiers.find_cards(text)
    if "iban" in active:
        yield from identifiers.find_ibans(text)
    if "phone" in active:
        yield from phones.find(text, params.phone_regions)
