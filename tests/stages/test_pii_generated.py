"""A thousand invented values of each kind in varied contexts, values with broken check digits, hostile negatives."""

from __future__ import annotations

import random

import pii_generated as made
import pytest

from stages.pii import PIIParams, find

DEFAULT = PIIParams()
COUNT = 1_000


@pytest.mark.parametrize(
    ("entity", "make", "recall", "precision"),
    [
        ("email", made.email, 0.98, 0.95),
        ("card", made.card, 0.98, 0.95),
        ("iban", made.iban, 0.98, 0.95),
        ("ip", made.ip, 0.98, 0.95),
        ("us_ssn", made.us_ssn, 0.98, 0.95),
        ("phone", made.us_phone, 0.95, 0.90),
        ("phone", made.cn_mobile, 0.98, 0.95),
        ("cn_id", made.cn_id, 0.98, 0.95),
        ("address", made.us_address, 0.90, 0.90),
        ("address", made.cn_address, 0.90, 0.90),
    ],
)
def test_generated_values_are_found_whole(entity: str, make: made.Make, recall: float, precision: float) -> None:
    right = wrong = 0
    missed = []
    for text, start, end in made.sentences(make, COUNT, seed=7):
        spans = {(s.start, s.end, s.entity) for s in find(text, DEFAULT)}
        hit = (start, end, entity) in spans
        right += hit
        wrong += len(spans) - hit
        missed += [] if hit else [text]
    assert right / COUNT >= recall, missed[:20]
    assert right / (right + wrong) >= precision, missed[:20]


@pytest.mark.parametrize(
    ("entity", "rule", "make"),
    [("card", "card_cn_bank", made.cn_bank_card), ("national_id", "cn_passport", made.cn_passport)],
)
def test_a_chinese_bank_card_or_passport_is_known_by_the_word_before_it(
    entity: str, rule: str, make: made.Make
) -> None:
    for text, _, end in made.sentences(make, COUNT, seed=8):
        assert (end, entity, rule) in {(s.end, s.entity, s.rule) for s in find(text, DEFAULT)}, text


@pytest.mark.parametrize(
    ("entity", "make"), [("card", made.broken_card), ("iban", made.broken_iban), ("cn_id", made.broken_cn_id)]
)
def test_a_broken_check_digit_is_no_find(entity: str, make: made.Make) -> None:
    for text, _, end in made.sentences(make, COUNT, seed=9):
        # the first 16 of 19 digits in groups can be a card by themselves
        assert (entity, end) not in {(s.entity, s.end) for s in find(text, DEFAULT)}, text


def test_at_most_three_of_300_hostile_negatives_are_taken_for_personal_data() -> None:
    rng = random.Random(10)
    taken = []
    for make in made.NEGATIVES.values():
        for _ in range(10):
            text = (
                rng.choice(("", "see ", "call ", "(", "- ", "请看", "contact "))
                + make(rng)
                + rng.choice(("", ".", " ok", "。"))
            )
            taken += [(text, span.entity) for span in find(text, DEFAULT)]
    assert len(made.NEGATIVES) == 30
    assert len(taken) <= 3, taken
