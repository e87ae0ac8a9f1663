"""Against Presidio's own engine on plain ASCII text, and against annotated real sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from pii_data import annotated_sentences

from stages.pii import PIIParams, find

DEFAULT = PIIParams()
STREET_WORD = re.compile(
    r"\b(?:street|str|st|avenue|ave|road|rd|boulevard|blvd|lane|ln|terrace|parkway|pkwy|highway|hwy|turnpike|expressway"
    r"|crescent|cres|alley|drive|dr|court|ct|place|pl|way|square|sq|circle|cir|trail|plaza|loop|row|run|walk|path|pike"
    r"|point|ridge|cove)\b",
    re.IGNORECASE,
)

ENTITIES = {
    "EMAIL_ADDRESS": "email",
    "CREDIT_CARD": "card",
    "IBAN_CODE": "iban",
    "IP_ADDRESS": "ip",
    "US_SSN": "us_ssn",
    "PHONE_NUMBER": "phone",
}
TEXTS = [
    "Write to amy.o'neil+news@example.org or bob@mail.example.co.uk, please.",
    "Paid with 4111 1111 1111 1111 and 5555555555554444, not with 4111111111111112.",
    "Accounts GB82 WEST 1234 5698 7654 32 and DE89370400440532013000 hold it.",
    "Logged from 81.2.69.142 and 2001:4860:4860:0000:0000:0000:0000:8888 at noon.",
    "Number 219-09-9999 is hers; 000-12-3456 is nobody's.",
    "Call (415) 555-0199 or +1 212-555-0123 today.",
    "Nothing here: section 4, chapter 12, page 100.",
]


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    presidio_analyzer = pytest.importorskip("presidio_analyzer")
    from presidio_analyzer.nlp_engine import NoOpNlpEngine
    from presidio_analyzer.predefined_recognizers import PhoneRecognizer

    from stages.pii import presidio

    own = [presidio.email(), presidio.iban(), presidio.ssn(), PhoneRecognizer(supported_regions=("US", "CN"))]
    names = ("CreditCardRecognizer", "IpRecognizer")
    others = [getattr(presidio_analyzer.predefined_recognizers, name)() for name in names]
    registry = presidio_analyzer.RecognizerRegistry(recognizers=[*own, *others], supported_languages=["en"])
    nlp = NoOpNlpEngine(models=[{"lang_code": "en", "model_name": "no_op"}])
    nlp.load()
    yield presidio_analyzer.AnalyzerEngine(nlp_engine=nlp, registry=registry, supported_languages=["en"])


@pytest.mark.parametrize("text", TEXTS)
def test_plain_text_gives_what_the_analyzer_engine_gives(text: str, engine: Any) -> None:
    results = engine.analyze(text, language="en", entities=list(ENTITIES), score_threshold=0.4)
    expected = {(r.start, r.end, ENTITIES[r.entity_type]) for r in results}
    own = [s for s in find(text, PIIParams(entities=tuple(ENTITIES.values())))]
    # The engine leaves overlapping finds of different kinds: a card's or IBAN's digits are a phone number to it.
    rivals = {e for e in expected if any(s.start <= e[0] and e[1] <= s.end and s.entity != e[2] for s in own)}
    assert {(s.start, s.end, s.entity) for s in own} == expected - rivals


def test_recall_and_precision_on_annotated_sentences() -> None:
    right: Counter[str] = Counter()
    spans: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for text, annotated in annotated_sentences():
        gold = {(s["start"], s["end"], ENTITIES[s["type"]]) for s in annotated if s["type"] in ENTITIES}
        own = {(s.start, s.end, s.entity) for s in find(text, PIIParams())}
        for _, _, entity in gold:
            spans[entity] += 1
        for find_ in own:
            (right if find_ in gold else wrong)[find_[2]] += 1
    for entity in ("email", "card", "iban", "ip", "us_ssn"):
        assert right[entity] / spans[entity] >= 0.98, entity
        assert right[entity] / (right[entity] + wrong[entity]) >= 0.95, entity
    assert right["phone"] / (right["phone"] + wrong["phone"]) >= 0.90


PRESIDIO_REGIONS = ("US", "GB", "DE", "FR", "IL", "IN", "CA", "BR")


@pytest.mark.parametrize("regions", [("US", "CN"), PRESIDIO_REGIONS])
def test_phone_numbers_that_are_valid_in_a_configured_region_are_found(regions: tuple[str, ...]) -> None:
    params = PIIParams(phone_regions=regions)
    valid = found = right = finds = 0
    for text, annotated in annotated_sentences():
        gold = {(s["start"], s["end"]) for s in annotated if s["type"] == "PHONE_NUMBER"}
        own = {(s.start, s.end) for s in find(text, params) if s.entity == "phone"}
        expected = {(a, b) for a, b in gold if any(_is_valid(text[a:b], region) for region in regions)}
        valid, found = valid + len(expected), found + len(expected & own)
        right, finds = right + len(own & gold), finds + len(own)
    assert found / valid >= 0.95
    assert right / finds >= 0.90


def _is_valid(number: str, region: str) -> bool:
    import phonenumbers

    try:
        return bool(phonenumbers.is_valid_number(phonenumbers.parse(number, region)))
    except phonenumbers.NumberParseException:
        return False


def test_street_lines_with_a_number_and_an_english_street_word_are_found() -> None:
    places = ("LOCATION", "GPE", "ADDRESS", "STREET_ADDRESS")
    wanted = found = right = finds = 0
    for text, annotated in annotated_sentences():
        own = [(s.start, s.end) for s in find(text, DEFAULT) if s.entity == "address"]
        for span in annotated:
            value = text[span["start"] : span["end"]]
            if span["type"] == "STREET_ADDRESS" and re.search("[0-9]", value) and STREET_WORD.search(value):
                wanted += 1
                found += any(start < span["end"] and span["start"] < end for start, end in own)
        gold = [(s["start"], s["end"]) for s in annotated if s["type"] in places]
        finds += len(own)
        right += sum(any(start < b and a < end for a, b in gold) for start, end in own)
    assert found / wanted >= 0.90
    assert right / finds >= 0.90
