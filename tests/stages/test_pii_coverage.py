"""Beyond the first ten entities: national ids, full-width forms, custom recognisers, names by an installed model."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import ValidationError

from pipeline.documents import DOCUMENTS
from stages.pii import PII, PIIParams, find, placeholders, scrub
from stages.pii.params import Custom

DEFAULT = PIIParams()


def found(text: str, params: PIIParams = DEFAULT) -> list[tuple[str, str]]:
    return [(span.rule, text[span.start : span.end]) for span in find(text, params)]


@pytest.mark.parametrize(
    ("text", "rule", "value"),
    [
        ("codice RSSMRA85T10A562S, grazie", "it_fiscal_code", "RSSMRA85T10A562S"),
        ("henkilötunnus 131052-308T", "fi_personal_id", "131052-308T"),
        ("DNI 12345678Z", "es_nif", "12345678Z"),
        ("NIE: X1234567L", "es_nie", "X1234567L"),
        ("NHS number 943 476 5919", "uk_nhs", "943 476 5919"),
        ("PESEL 44051401359", "pl_pesel", "44051401359"),
        ("TFN 876 543 210", "au_tax_file", "876 543 210"),
        ("护照号码E12345678，", "cn_passport", "E12345678"),
        ("passport no. EA1234567", "cn_passport", "EA1234567"),
    ],
)
def test_a_national_id_is_found_by_its_check_and_context(text: str, rule: str, value: str) -> None:
    assert found(text) == [(rule, value)]


@pytest.mark.parametrize(
    "text",
    [
        "RSSMRA85T10A562X",
        "131052-308U",
        "DNI 12345678A",
        "part 12345678Z",  # right by its check, but no word says so
        "NHS number 943 476 5918",
        "44051401359",
        "room E12345678",
    ],
)
def test_a_national_id_with_a_wrong_check_or_without_its_word_stays(text: str) -> None:
    assert "national_id" not in {span.entity for span in find(text, DEFAULT)}


@pytest.mark.parametrize(
    ("text", "rule", "value"),
    [
        ("电话１３８００１３８０００。", "phone_cn_mobile", "１３８００１３８０００"),
        ("邮箱ｚｏｅ＠ｅｘａｍｐｌｅ．ｏｒｇ谢谢", "email", "ｚｏｅ＠ｅｘａｍｐｌｅ．ｏｒｇ"),
        ("地址８．８．８．８", "ipv4", "８．８．８．８"),
        ("号１１０１０１１９０００１０１００１４", "cn_resident_id", "１１０１０１１９０００１０１００１４"),
        ("卡４１１１１１１１１１１１１１１１", "card_luhn", "４１１１１１１１１１１１１１１１"),
    ],
)
def test_full_width_forms_are_read_as_their_ascii_ones(text: str, rule: str, value: str) -> None:
    assert found(text) == [(rule, value)]


def test_a_bank_card_outside_the_issuers_list_needs_a_word_and_its_check_digit() -> None:
    assert found("银行卡号：9558800200000000009") == []
    number = "955880020000000000" + "6"
    assert found(f"银行卡号：{number}") == [("card_cn_bank", number)]
    assert found(f"编号：{number}") == []


def custom(**settings: Any) -> PIIParams:
    return PIIParams.model_validate({"custom": [{"name": "badge", **settings}]})


def test_a_custom_recogniser_has_its_own_entity_placeholder_and_context() -> None:
    params = custom(pattern=r"(?<![A-Z])B-([0-9]{4})", context=["badge", "工牌"])
    assert scrub("Row B-5678. Her badge: B-1234; 工牌B-9999", [], params).text == (
        "Row B-5678. Her badge: B-<|badge|>; 工牌B-<|badge|>"
    )
    assert placeholders(params)[-1] == "<|badge|>"
    assert placeholders(custom(pattern="B-[0-9]", placeholder="<|pass|>"))[-1] == "<|pass|>"


@pytest.mark.parametrize(
    ("validator", "right", "wrong"),
    [
        ("luhn", "7992739871-3", "7992739871-4"),
        ("mod_97", "GB82WEST12345698765432", "GB82WEST12345698765433"),
        ("mod_11_2", "110101190001010014", "110101190001010015"),
    ],
)
def test_a_custom_recogniser_can_check_digits(validator: str, right: str, wrong: str) -> None:
    params = custom(pattern="[0-9A-Z][0-9A-Z-]{8,30}", validator=validator)
    only = params.model_copy(update={"entities": ()})
    assert [value for _, value in found(f"{right} {wrong}", only)] == [right]


def test_a_custom_entity_takes_actions_and_wins_over_the_built_in_ones() -> None:
    params = PIIParams.model_validate(
        {"custom": [{"name": "host", "pattern": r"8\.8\.8\.8"}], "actions": {"host": "keep"}}
    )
    assert [edit.kind for edit in scrub("8.8.8.8 81.2.69.142", [], params).edits] == ["host", "ip"]
    assert "<|host|>" not in placeholders(params)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pattern": "("}, "'(' is not a valid regular expression: missing ) at position 1"),
        ({"pattern": "x*"}, "'x*' can match an empty text; every match must hold a character"),
        ({"pattern": r"\bx?"}, "can match an empty text; every match must hold a character"),
        ({"pattern": "x", "name": "Badge"}, "String should match pattern"),
        ({"pattern": "x", "name": "email"}, "custom: the name 'email' is taken"),
        ({"pattern": "x", "placeholder": "[X]"}, "replace: badge: '[X]' is no placeholder; write <|name|>"),
        ({"pattern": "x", "validator": "mod10"}, "Input should be 'luhn', 'mod_97' or 'mod_11_2'"),
    ],
)
def test_a_wrong_custom_recogniser_says_what_is_wrong(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as error:
        custom(**settings)
    assert message in str(error.value)


def test_a_custom_expression_without_end_is_refused_and_a_harmless_nest_of_repeats_searches_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tokenizer import expressions

    monkeypatch.setattr(expressions, "_PATIENCE", (0.05, 0.1))
    with pytest.raises(ValidationError, match=r"'\(a\|aa\)\+\$' takes exponential time"):
        custom(pattern="(a|aa)+$")
    assert scrub("a" * 40 + "b", [], custom(pattern="(a+)+$")).text == "a" * 40 + "b"
    assert scrub("b" + "a" * 40, [], custom(pattern="(?:a+)+$")).text == "b<|badge|>"


def test_a_search_that_does_not_end_names_the_document_and_the_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    import regex

    from stages.pii import custom as finder

    monkeypatch.setattr(finder, "checked", regex.compile)  # as if the probes had found nothing
    monkeypatch.setattr("tokenizer.expressions._SECONDS", 0.1)
    params = custom(pattern="B[0-9]").model_copy(update={"custom": (Custom.model_construct(
        name="badge", pattern="(a|aa)+$", validator=None, context=(), placeholder=None),)})  # fmt: skip
    row = {
        f.name: [] if f.name == "placeholders" else 0 if f.type in (pa.int32(), pa.int64()) else "" for f in DOCUMENTS
    }
    documents = pa.Table.from_pylist([row | {"doc_id": "d1", "metadata": "{}", "text": "a" * 60 + "b"}], DOCUMENTS)
    with pytest.raises(ValueError, match=r"document d1: the expression '\(a\|aa\)\+\$' did not finish on a text of 61"):
        PII.edit(documents, None, params, None)


def test_names_are_looked_for_only_when_asked_and_by_an_installed_model() -> None:
    assert "person" not in DEFAULT.entities
    params = PIIParams(entities=("person",), names_model="no_such_model")
    with pytest.raises(ValueError, match="need the spaCy model 'no_such_model', which is not installed"):
        find("Ada Lovelace was here", params)
    with pytest.raises(ValueError, match="name another one with `names_model:`, or leave these entities out"):
        PII.link(params, [], [])
    assert PII.libraries_of(params) == ("spacy", "no_such_model")
    assert PII.libraries_of(DEFAULT) == ()


def test_names_of_an_installed_model_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "PERSON", "pattern": "Ada Lovelace"}, {"label": "GPE", "pattern": "London"}])
    package = tmp_path / "toy_names"
    package.mkdir()
    pipeline.to_disk(package / "toy_names-1.0")
    meta = json.loads((package / "toy_names-1.0" / "meta.json").read_text()) | {"name": "names", "version": "1.0"}
    (package / "meta.json").write_text(json.dumps(meta | {"lang": "toy"}))
    (package / "__init__.py").write_text(
        "from spacy.util import load_model_from_path\nfrom pathlib import Path\n"
        "def load(**settings): return load_model_from_path(Path(__file__).parent / 'toy_names-1.0', **settings)\n"
    )
    (tmp_path / "toy_names-1.0.dist-info").mkdir()
    (tmp_path / "toy_names-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: toy-names\nVersion: 1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    params = PIIParams(entities=("email", "person", "place"), names_model="toy_names")
    text = "Ada Lovelace (ada@example.org) of London\n" * 3_000  # more than one part
    result = scrub(text, [], params)
    assert result.text == "<|person|> (<|email|>) of <|place|>\n" * 3_000
    sys.modules.pop("toy_names", None)


@pytest.mark.parametrize("pattern", [r"(x)?B-[0-9]{4}", "B-()[0-9]{4}", r"B-(?=[0-9])()[0-9]+"])
def test_where_the_group_of_a_custom_recogniser_holds_nothing_all_of_the_match_goes(pattern: str) -> None:
    assert scrub("pass B-1234 please", [], custom(pattern=pattern)).text == "pass <|badge|> please"
