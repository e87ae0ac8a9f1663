"""Patterns tried at candidates alone find what they find in the whole text: on real text, on fuzz, in every setting."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pii_data import annotated_sentences, shared_texts

from stages.pii import PIIParams, find, recognise
from stages.pii.recognise import find_everywhere
from stages.pii.suspects import suspects

DEFAULT = PIIParams()
SETTINGS = st.sampled_from(
    [
        DEFAULT,
        PIIParams(ip="all", phone_regions=("DE", "GB")),
        PIIParams(entities=("phone", "address"), addresses=("cn",)),
        PIIParams(entities=("card", "us_itin", "national_id"), special_tokens=("ab",)),
    ]
)
PIECES = st.sampled_from(
    [
        *("zoe@example.org", "zoe%40example.org", "415-555-0199", "(415) 555-0199", "+1 415 555 0199", "0.", "1."),
        *("-1", "8.8.8.8", "8.8", "2001:4860:4860::8888", "::", "a:b:c", "4111 1111 1111 1111", "4111111111111111"),
        *("219-09-9999", "219099999", "912-71-1234", "110101190001010014", "13800000000", "138 0013 8000"),
        *("DE89370400440532013000", "DE89 3704 0044 0532 0130 00", "gb82west12345698765432", "12 Oak Street"),
        *("1A Big Oak Ave", "7 N. W. 5th St.", "Springfield, IL 62704", "P.O. Box 12", "南京路1号", "3栋2单元501室"),
        *("号", "路", "第", "十", "弄", "１３８００００００００", "zoe＠example.org", "银行卡", "护照E12345678"),
        *("12345678Z", "131052-308T", "RSSMRA85T10A562S", "nhs 401 023 2137", "AKIA" + "Z2" * 8),
        *("-----BEGIN PRIVATE KEY-----", "://u:hunter2@h.example", "<|email|>", "2031-07-04 09:15", "ab", "phone "),
        *("电话", "ssn ", "version ", "x12", " ext. 9", "@", ".", "-", " ", "  ", "\n", "1", "7", "0", "x", "A"),
        *("E", "é", "😀", "\u00a0", "\u2011", "’", "/", ":", "+", "(", ")", "_", "%40", "St", "street", "Aa "),
        *("12 ", "99999999"),
    ]
)
TEXTS = st.lists(PIECES, max_size=18).map("".join)


@pytest.fixture
def _always_scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognise, "_SHORT", 0)


@pytest.mark.usefixtures("_always_scanned")
def test_fuzzed_text_gives_the_same_with_and_without_the_scan() -> None:
    @settings(max_examples=250, deadline=None)
    @given(TEXTS, SETTINGS)
    def holds(text: str, params: PIIParams) -> None:
        assert find(text, params) == find_everywhere(text, params)

    holds()


@pytest.mark.usefixtures("_always_scanned")
def test_arbitrary_text_gives_the_same_with_and_without_the_scan() -> None:
    @settings(max_examples=300, deadline=None)
    @given(st.text(alphabet=st.sampled_from("0123456789 .-+():@xXABEab号室路十一\u00a0\u2011\n/E%４＠"), max_size=60))
    def holds(text: str) -> None:
        assert find(text, DEFAULT) == find_everywhere(text, DEFAULT)

    holds()


@pytest.mark.usefixtures("_always_scanned")
@pytest.mark.parametrize(("file", "size"), [("web/c4-1000", 500), ("trusted/technical-en", 80), ("trusted/zh", 500)])
def test_real_text_gives_the_same_with_and_without_the_scan(file: str, size: int) -> None:
    texts = list(itertools.islice(shared_texts(file), size))
    flagged = suspects(pa.chunked_array([pa.array(texts, pa.large_string())]), DEFAULT)
    assert 0 < sum(flagged) < len(texts)
    for text, flag in zip(texts, flagged, strict=True):
        expected = find_everywhere(text, DEFAULT)
        assert find(text, DEFAULT) == expected
        assert flag or not expected


@pytest.mark.usefixtures("_always_scanned")
def test_annotated_sentences_give_the_same_with_and_without_the_scan() -> None:
    for text, _ in annotated_sentences():
        assert find(text, DEFAULT) == find_everywhere(text, DEFAULT)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.none() | TEXTS, max_size=6), SETTINGS)
def test_a_document_that_is_no_suspect_holds_nothing(texts: list[str | None], params: PIIParams) -> None:
    column = pa.chunked_array([pa.array([None, "x", *texts], pa.string())[1:], pa.array(texts, pa.string())])
    flags = suspects(column, params)
    assert len(flags) == len(column)
    for text, flag in zip(column.to_pylist(), flags, strict=True):
        if not flag:
            assert text is None or find_everywhere(text, params) == []


def test_custom_recognisers_make_every_document_a_suspect() -> None:
    params = PIIParams.model_validate({"custom": [{"name": "badge", "pattern": "B-[0-9]+"}]})
    column = pa.chunked_array([pa.array(["plain", None])])
    assert suspects(column, params).tolist() == [True, False]
    assert suspects(column, DEFAULT).tolist() == [False, False]
