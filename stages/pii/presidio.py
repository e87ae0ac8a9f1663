"""Presidio's pattern recognisers, called directly: no language model, no network, no cache folder.

Importing Presidio takes about a second, so it waits until the first candidate. The domain list of the e-mail
recogniser is the one inside tldextract's wheel.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any, NamedTuple

# Read by tldextract when it is imported: empty means that no list is fetched.
os.environ.setdefault("TLDEXTRACT_PUBLIC_SUFFIX_LIST_URLS", "")


class Hit(NamedTuple):
    """What a recogniser found in the text it was given; `score` before any context."""

    start: int
    end: int
    score: float


def hits(recogniser: Any, text: str) -> list[Hit]:
    """The recogniser's finds in `text`, in order; patterns have passed their checks."""
    found = recogniser.analyze(text, recogniser.supported_entities)
    return sorted({Hit(r.start, r.end, r.score) for r in found})


@cache
def email() -> Any:
    """EmailRecognizer with a domain check that never leaves the process."""
    import tldextract
    from presidio_analyzer.predefined_recognizers import EmailRecognizer

    # `.example` is reserved (RFC 2606, section 2): on no list, and in text an address like any other.
    domains = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None, extra_suffixes=("example",))

    class OfflineEmailRecognizer(EmailRecognizer):
        def validate_result(self, pattern_text: str) -> bool:
            return domains(pattern_text).fqdn != ""

    return OfflineEmailRecognizer()


@cache
def iban() -> Any:
    """IbanRecognizer: country formats and MOD 97."""
    from presidio_analyzer.predefined_recognizers import IbanRecognizer

    return IbanRecognizer()


@cache
def ssn() -> Any:
    """UsSsnRecognizer: shapes and groups that were never issued."""
    from presidio_analyzer.predefined_recognizers import UsSsnRecognizer

    return UsSsnRecognizer()


@cache
def itin() -> Any:
    """UsItinRecognizer: shapes and the ranges of the middle group."""
    from presidio_analyzer.predefined_recognizers import UsItinRecognizer

    return UsItinRecognizer()


@cache
def phone(region: str) -> Any:
    """PhoneRecognizer of one region: numbers that `phonenumbers` calls valid there, and valid ones with a `+`."""
    from presidio_analyzer.predefined_recognizers import PhoneRecognizer

    return PhoneRecognizer(supported_regions=(region,))
