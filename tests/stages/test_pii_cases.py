"""Failure cases of comparable scrubbers, each with its exact text and the placeholders as they are spelled there."""

from __future__ import annotations

import time

import pytest

from stages.pii import PIIParams, find, scrub

DEFAULT = PIIParams()
PARAMS = PIIParams(
    replace={name: f"<|{name.upper()}|>" for name in ("email", "phone", "ip", "card", "cn_id", "address")}
)
LONG = "90000000000000004111111111111111700"


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        pytest.param(
            "amy@example.com bob@example.org\nzoe@example.net",
            "<|EMAIL|> <|EMAIL|>\n<|EMAIL|>",
            id="PII-02",
        ),
        pytest.param("😀 mail zoe@example.org now", "😀 mail <|EMAIL|> now", id="PII-03"),
        pytest.param("电话13800000000转", "电话<|PHONE|>转", id="PII-05-1"),
        pytest.param("邮箱联系zoe@example.com谢谢", "邮箱联系<|EMAIL|>谢谢", id="PII-05-2"),
        pytest.param("身份证号110101190001010014，谢谢", "身份证号<|CN_ID|>，谢谢", id="PII-05-3"),
        pytest.param("110101190001010014", "<|CN_ID|>", id="PII-06-1"),
        pytest.param("110101190001010015", "110101190001010015", id="PII-06-2"),
        pytest.param("11010119000101009x", "<|CN_ID|>", id="PII-06-3"),
        pytest.param("110101199002300014", "110101199002300014", id="PII-06-4"),
        pytest.param("订单1380000000012", "订单1380000000012", id="PII-06-5"),
        pytest.param("1550000000003", "1550000000003", id="PII-08-1"),
        pytest.param("1700000000004", "1700000000004", id="PII-08-2"),
        pytest.param("ISBN 9780000000040", "ISBN 9780000000040", id="PII-08-3"),
        pytest.param("ratio 0.370000000000002", "ratio 0.370000000000002", id="PII-08-4"),
        pytest.param(LONG, LONG, id="PII-08-5"),
        pytest.param("4111-1111-1111-1111", "<|CARD|>", id="PII-08-6"),
        pytest.param("2223003122003222", "<|CARD|>", id="PII-08-7"),
        pytest.param("378282246310005", "<|CARD|>", id="PII-08-8"),
        pytest.param("6200000000000000000", "<|CARD|>", id="PII-08-9"),
        pytest.param("4111111111111112", "4111111111111112", id="PII-08-10"),
        pytest.param("released 1.97.4.0 today", "released 1.97.4.0 today", id="PII-09-1"),
        pytest.param("v2.0.0.1", "v2.0.0.1", id="PII-09-2"),
        pytest.param("10.1.1.300", "10.1.1.300", id="PII-09-3"),
        pytest.param("Chrome/120.0.6099.71", "Chrome/120.0.6099.71", id="PII-09-4"),
        pytest.param("net 10.0.0.0/24", "net 10.0.0.0/24", id="PII-09-5"),
        pytest.param("192.0.2.44", "192.0.2.44", id="PII-09-6"),
        pytest.param("from 8.8.8.8 at noon", "from <|IP|> at noon", id="PII-09-7"),
        pytest.param(
            "git clone git@github.com:example/tool.git", "git clone git@github.com:example/tool.git", id="PII-11-1"
        ),
        pytest.param("mail git@gitbox.example today", "mail <|EMAIL|> today", id="PII-11-2"),
        pytest.param("img src=banner@2x.png", "img src=banner@2x.png", id="PII-11-3"),
        pytest.param('pkg@1.2.3 and @app.route("/x")', 'pkg@1.2.3 and @app.route("/x")', id="PII-11-4"),
        pytest.param("ssh ops@node7.example.io", "ssh <|EMAIL|>", id="PII-11-5"),  # the safe choice
        pytest.param("user@host", "user@host", id="PII-11-6"),
        pytest.param("ts=2087654321", "ts=2087654321", id="PII-12-1"),
        pytest.param("0f3acd77-b1c2-4d5e-9212-5550199fa0b1", "0f3acd77-b1c2-4d5e-9212-5550199fa0b1", id="PII-12-2"),
        pytest.param("2031-07-04 09", "2031-07-04 09", id="PII-12-3"),
        pytest.param("ddd-212-\\dddd", "ddd-212-\\dddd", id="PII-12-4"),
        pytest.param("call 415-555-0199", "call <|PHONE|>", id="PII-12-5"),
        pytest.param("+86 138-0000-0000", "<|PHONE|>", id="PII-12-6"),
        pytest.param("1700000321.50 -0.42", "1700000321.50 -0.42", id="PII-18-1"),
        pytest.param("7045512", "7045512", id="PII-18-2"),
        pytest.param("11/02 07:15:44 WARN", "11/02 07:15:44 WARN", id="PII-18-3"),
        pytest.param(
            "We saw 17 birds while walking along the st.", "We saw 17 birds while walking along the st.", id="PII-18-4"
        ),
        pytest.param("208 June Street, Rivertown", "<|ADDRESS|>, Rivertown", id="PII-18-5"),
        pytest.param("Gartenstrasse 9", "Gartenstrasse 9", id="PII-18-6"),  # rules for addresses: US and China
    ],
)
def test_a_text_is_scrubbed_as_the_case_says(text: str, scrubbed: str) -> None:
    """PII-02, PII-03, PII-05, PII-06, PII-08, PII-09, PII-11, PII-12, PII-18."""
    result = scrub(text, [], PARAMS)
    assert result.text == scrubbed
    assert len(result.placeholders) == scrubbed.count("<|")
    assert scrub(scrubbed, result.placeholders, PARAMS).text == scrubbed


def test_offsets_are_those_of_code_points_and_give_those_of_utf_8_and_utf_16() -> None:
    """PII-03."""
    text = "😀 mail zoe@example.org now"
    (span,) = find(text, DEFAULT)
    places = (span.start, span.end)
    assert places == (7, 22)
    assert tuple(len(text[:place].encode()) for place in places) == (10, 25)
    assert tuple(len(text[:place].encode("utf-16-le")) // 2 for place in places) == (8, 23)


@pytest.mark.parametrize("entity", ["person", "place"])
def test_names_are_off_by_default(entity: str) -> None:
    """PII-18: no model of names takes part unless it is asked for."""
    assert entity not in DEFAULT.entities


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        pytest.param("b." * 40_000 + "#", "b." * 40_000 + "#", id="PII-14-1"),
        pytest.param("2.2.2." * 8_000, "2.2.2." * 8_000, id="PII-14-2"),
        pytest.param("Q" * 70 + "kim@corp.example", "<|EMAIL|>", id="PII-14-3"),
    ],
)
def test_a_long_run_is_searched_within_a_second_and_hides_no_address(text: str, scrubbed: str) -> None:
    """PII-14."""
    scrub("a@example.org " * 200, [], PARAMS)  # Presidio is imported, the scan compiled
    began = time.process_time()
    assert scrub(text, [], PARAMS).text == scrubbed
    assert time.process_time() - began < 1.0


def test_a_literal_placeholder_is_listed_and_not_counted_as_a_redaction() -> None:
    """PII-15: and scrubbing its own output changes nothing."""
    result = scrub("Template: send to <|EMAIL|> or zoe@example.org", [], PARAMS)
    assert result.text == "Template: send to <\u2060|EMAIL|> or <|EMAIL|>"
    assert [edit.kind for edit in result.edits] == ["literal_special", "email"]
    assert len(result.placeholders) == 1
    again = scrub(result.text, result.placeholders, PARAMS)
    assert (again.text, again.placeholders, again.edits) == (result.text, result.placeholders, [])
