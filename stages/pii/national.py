"""National identity numbers with check digits, and Chinese passports: shapes here, checks by Presidio.

Where a shape is a bare number, or its check lets more than one in thirty through, a context word must stand before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from stages.pii.spans import Span, Starts, has_context, in_guid, matches

_BEHIND = r"(?![0-9A-Za-z])(?!\.[0-9])"


class _Kind(NamedTuple):
    """A rule: the Presidio class that checks it (None: no check exists), and its context (None: needs none)."""

    shape: re.Pattern[str]
    check: str | None
    words: frozenset[str] | None
    signs: tuple[str, ...] = ()


def _kind(shape: str, check: str | None, words: str | None, signs: tuple[str, ...] = ()) -> _Kind:
    context = None if words is None else frozenset(words.split())
    return _Kind(re.compile(f"(?:{shape}){_BEHIND}"), check, context, signs)


_KINDS: Final = {
    "it_fiscal_code": _kind("[A-Z]{6}[0-9]{2}[A-Z][0-9]{2}[A-Z][0-9]{3}[A-Z]", "ItFiscalCode", None),
    "fi_personal_id": _kind("[0-9]{6}[-+A][0-9]{3}[0-9A-Y]", "FiPersonalIdentityCode", None),
    "kr_resident_number": _kind("[0-9]{6}-[1-4][0-9]{6}", "KrRrn", None),
    "es_nif": _kind("[0-9]{8}-?[A-Z]", "EsNif", "nif dni identidad documento"),
    "es_nie": _kind("[XYZ][0-9]{7}-?[A-Z]", "EsNie", "nie identidad extranjero documento"),
    "uk_nhs": _kind(r"[0-9]{3}([ -]?)[0-9]{3}\1[0-9]{4}", "Nhs", "nhs health"),
    "pl_pesel": _kind("[0-9]{11}", "PlPesel", "pesel"),
    "de_tax_id": _kind("[1-9][0-9]{10}", "DeTaxId", "steuer steueridentifikationsnummer idnr tin"),
    "se_personnummer": _kind("[0-9]{6}(?:[0-9]{2})?[-+]?[0-9]{4}", "SePersonnummer", "personnummer"),
    "tr_national_id": _kind("[1-9][0-9]{10}", "TrNationalId", "kimlik tckn tc"),
    "za_id": _kind("[0-9]{13}", "ZaIdNumber", "id identity"),
    "th_national_id": _kind("[1-9][0-9]{12}", "ThTnin", "thai tnin citizen id", ("บัตรประชาชน",)),
    "ng_nin": _kind("[0-9]{11}", "NgNin", "nin national identification"),
    "in_aadhaar": _kind(r"[0-9]{4}([ -]?)[0-9]{4}\1[0-9]{4}", "InAadhaar", "aadhaar aadhar uidai"),
    "au_tax_file": _kind(r"[0-9]{3}( ?)[0-9]{3}\1[0-9]{3}", "AuTfn", "tfn tax"),
    "au_medicare": _kind(r"[2-6][0-9]{3}( ?)[0-9]{5}\1[0-9]", "AuMedicare", "medicare"),
    "cn_passport": _kind("[EGDSP][0-9]{8}|E[A-Z][0-9]{7}", None, "passport", ("护照", "護照")),
}
# Where any of them begins; what stands first in the class lets `re` skip to it.
_BEGIN = re.compile(r"(?:[0-9](?<![0-9A-Za-z].)(?<![0-9]\..)|[A-Z](?<![0-9A-Za-z].)(?=[A-Z]{0,5}[0-9]{2}))")


def find(text: str, starts: Starts = None) -> Iterator[Span]:
    """National identity numbers; a place counts once, under the first rule that accepts it."""
    for begin in matches(_BEGIN, text, starts):
        start = begin.start()
        for rule, kind in _KINDS.items():
            match = kind.shape.match(text, start)
            if match is not None and _accepts(kind, text, match):
                yield Span(start, match.end(), "national_id", rule, 0.75 if kind.words is None else 0.85)
                break


def _accepts(kind: _Kind, text: str, match: re.Match[str]) -> bool:
    if kind.words is not None and not has_context(text, match.start(), kind.words, kind.signs):
        return False
    if kind.check is not None and not _recogniser(kind.check).validate_result(match[0]):
        return False
    return not in_guid(text, *match.span())


@cache
def _recogniser(name: str) -> Any:
    import presidio_analyzer.predefined_recognizers as recognisers

    return getattr(recognisers, f"{name}Recognizer")()
