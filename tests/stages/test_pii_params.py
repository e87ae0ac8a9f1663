"""The settings of the PII editor, and what a wrong one says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from stages.pii import ENTITIES, PIIParams, placeholders


def test_placeholders_have_a_fixed_order() -> None:
    assert placeholders(PIIParams()) == list(ENTITIES.values())
    assert placeholders(PIIParams(entities=("ip", "email"))) == ["<|email|>", "<|ip|>"]
    shared = {"us_ssn": "<|id|>", "cn_id": "<|id|>"}
    assert placeholders(PIIParams(entities=("cn_id", "us_ssn", "ip"), replace=shared)) == ["<|ip|>", "<|id|>"]


def test_an_entity_that_is_never_replaced_declares_no_placeholder() -> None:
    params = PIIParams(entities=("email", "ip", "card"), actions={"ip": "keep", "card": "drop_document"})
    assert placeholders(params) == ["<|email|>"]


def test_the_order_of_entities_does_not_change_the_settings() -> None:
    assert PIIParams(entities=("ip", "email")) == PIIParams(entities=("email", "ip"))
    assert PIIParams(special_tokens=("<b>", "<a>")) == PIIParams(special_tokens=("<a>", "<b>"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"entities": ["emial"]}, "'emial' is no PII entity; did you mean 'email'?"),
        ({"replace": {"emial": "<|x|>"}}, "replace: 'emial' is not an active entity; did you mean 'email'?"),
        (
            {"entities": ["ip"], "replace": {"email": "<|x|>"}},
            "replace: 'email' is not an active entity; (active entities: ip)",
        ),
        ({"entities": [], "actions": {"ip": "keep"}}, "actions: 'ip' is not an active entity; no entity is active"),
        ({"replace": {"email": "[EMAIL]"}}, "replace: email: '[EMAIL]' is no placeholder; write <|name|>"),
        ({"phone_regions": ["us"]}, "'us' is no phone region (two capital letters, as US or CN); the nearest are US"),
        ({"special_tokens": ["x"]}, "special token 'x' cannot be told from ordinary text"),
        ({"special_tokens": ["a\u2060b"]}, "and no U+2060"),
        ({"special_tokens": ["<|email|>"]}, "the placeholder <|email|> is also a special token of the tokenizer"),
        ({"max_per_document": -1}, "greater than or equal to 0"),
        ({"ip": "private"}, "'public' or 'all'"),
        ({"actions": {"ip": "hide"}}, "'replace', 'drop_document' or 'keep'"),
    ],
)
def test_a_wrong_setting_says_what_is_wrong_and_what_is_near(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as error:
        PIIParams(**settings)
    assert message in str(error.value)


def test_the_settings_that_the_page_shows_are_valid() -> None:
    page = (Path(__file__).parents[2] / "docs" / "pii.md").read_text(encoding="utf-8")
    settings = yaml.safe_load(page.split("```yaml\n")[1].split("```")[0])["stages"][0]["pii"]
    params = PIIParams.model_validate(settings)
    assert placeholders(params) == [
        *("<|email|>", "<|phone|>", "<|card|>", "<|iban|>", "<|id|>", "<|address|>", "<|national_id|>", "<|badge|>"),
    ]
    named = set(re.findall(r"^\| `(\w+)`", page, re.MULTILINE)) | {"us_itin", "place"}
    assert named == set(ENTITIES) | {"person", "place"}
