"""What is and is not personal data: validators, boundaries, context, other scripts, hostile text."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.pii import PIIParams, find
from stages.pii.spans import Span, disjoint

DEFAULT = PIIParams()


def found(text: str, params: PIIParams = DEFAULT) -> list[tuple[str, str]]:
    return [(span.entity, text[span.start : span.end]) for span in find(text, params)]


def kinds(text: str, params: PIIParams = DEFAULT) -> list[str]:
    return [entity for entity, _ in found(text, params)]


def test_neighbours_of_one_kind_stay_apart() -> None:
    text = "amy@example.com bob@example.org\nzoe@example.net"
    assert found(text) == [
        ("email", "amy@example.com"),
        ("email", "bob@example.org"),
        ("email", "zoe@example.net"),
    ]


def test_offsets_are_code_points_behind_an_emoji() -> None:
    assert find("😀 mail zoe@example.org now", DEFAULT) == [Span(7, 22, "email", "email", 1.0)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("电话13800000000转", ("phone", "13800000000")),
        ("邮箱联系zoe@example.com谢谢", ("email", "zoe@example.com")),
        ("身份证号110101190001010014，谢谢", ("cn_id", "110101190001010014")),
        ("地址8.8.8.8好", ("ip", "8.8.8.8")),
        ("卡号4111111111111111好", ("card", "4111111111111111")),
        ("账户DE89370400440532013000。", ("iban", "DE89370400440532013000")),
        ("号码219-09-9999吧", ("us_ssn", "219-09-9999")),
        ("写给bob@münchen.de吧", ("email", "bob@münchen.de")),
    ],
)
def test_boundaries_work_beside_han_characters(text: str, expected: tuple[str, str]) -> None:
    assert found(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("110101190001010014", ["cn_id"]),
        ("110101190001010015", []),  # wrong check digit
        ("11010119000101009x", ["cn_id"]),
        ("11010119000101009X", ["cn_id"]),
        ("110101 19000101 0014", ["cn_id"]),
        ("110101199002300014", []),  # 30 February
        ("990101190001010014", []),  # no such province
        ("0.110101190001010014", []),
        ("订单1380000000012", []),
    ],
)
def test_a_resident_id_needs_a_province_a_date_and_its_check_character(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)  # as GB 11643 prints them


@given(
    st.sampled_from(["110101", "440305", "650102", "810000"]),
    st.dates(datetime.date(1900, 1, 1), datetime.date(2030, 12, 31)),
    st.integers(0, 999),
    st.sampled_from("0123456789X"),
)
def test_exactly_one_check_character_makes_a_resident_id(
    region: str, day: datetime.date, order: int, last: str
) -> None:
    digits = f"{region}{day:%Y%m%d}{order:03}"
    right = "10X98765432"[sum(int(d) * w for d, w in zip(digits, WEIGHTS, strict=True)) % 11]
    assert ("cn_id" in kinds(f"编号{digits}{last}，")) == (last == right)


@pytest.mark.parametrize(
    "text",
    [
        "1550000000003",  # milliseconds
        "1700000000004",
        "ISBN 9780000000040",
        "ratio 0.370000000000002",
        "90000000000000004111111111111111700",
        "4111111111111112",  # Luhn fails
        "9111111111111111",  # no issuer
        "4111111111111111.25",
        "0f3acd77-b1c2-4d5e-9212-501800000009",  # the end of a GUID
        "1234-4111-1111-1111-1111",
    ],
)
def test_a_number_that_only_resembles_a_card_stays(text: str) -> None:
    assert "card" not in kinds(text)


@pytest.mark.parametrize(
    "text",
    [
        "4111-1111-1111-1111",
        "4111 1111 1111 1111",
        "2223003122003222",
        "378282246310005",
        "3782 822463 10005",
        "6200000000000000000",
        "4222222222222",
        "501800000009",
        "36000000000008",
    ],
)
def test_cards_of_every_issuer_and_grouping_are_found_whole(text: str) -> None:
    assert found(f"paid with {text}, thanks") == [("card", text)]


def test_a_grouped_card_is_found_between_other_numbers() -> None:
    assert found("2031 4111 1111 1111 1111 123") == [("card", "4111 1111 1111 1111")]


@pytest.mark.parametrize(
    "text",
    [
        "released 1.97.4.0 today",
        "v2.0.0.1",
        "10.1.1.300",
        "Chrome/120.0.6099.71",
        "net 10.0.0.0/24",
        "192.0.2.44",
        "upgraded to 8.4.11.2",
        "openssl-31.0.2.8",
        "package==21.2.3.4",
        "library-21.2.3.4.tar.gz",
        "## 21.2.3.4",
        "3.1.4.2",
        "1.2.3.4.5",
        "224.0.0.251",
        "std::vector a::b 12:30:45 2002::",
        "00:1a:2b:3c:4d:5e",
        "08:00:2b:01:02:03:04:05",
        "\n49.6.4.6. truncation\n",
        "(30.3.1.1.*)",
    ],
)
def test_versions_and_reserved_addresses_are_no_public_ip(text: str) -> None:
    assert kinds(text) == []


@pytest.mark.parametrize("text", ["8.8.8.8", "81.2.69.142", "81.2.69.0/24", "2001:4860:4860::8888", "::ffff:8.8.8.8"])
def test_public_addresses_are_found_whole(text: str) -> None:
    assert found(f"from {text} at noon") == [("ip", text)]


def test_all_ip_addresses_can_be_asked_for() -> None:
    params = PIIParams(ip="all")
    text = "hosts 10.0.0.7, fe80::1 and 192.0.2.44; not 0.0.0.0 nor a::b"
    assert [value for _, value in found(text, params)] == ["10.0.0.7", "fe80::1", "192.0.2.44"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("git clone git@github.com:example/tool.git", []),
        ("mail git@example.org today", ["git@example.org"]),
        ("img src=banner@2x.png", []),
        ('pkg@1.2.3 and @app.route("/x")', []),
        ("user@host", []),
        ("ssh ops@node7.example.io", ["ops@node7.example.io"]),
        ("https://example.org/u?m=zoe@example.org&x=1", ["zoe@example.org"]),
        ("https://example.org/u?m=zoe%40example.org&x=1", ["zoe%40example.org"]),
        ("_zoe@example.org_", ["_zoe@example.org"]),
        ("(zoe@example.org).", ["zoe@example.org"]),
        ("https://user@example.org:8080/path", ["user@example.org"]),
    ],
)
def test_an_email_address_is_told_by_the_shape_round_it(text: str, expected: list[str]) -> None:
    assert found(text) == [("email", value) for value in expected]


@pytest.mark.parametrize(
    "text",
    [
        "ts=2087654321",
        "0f3acd77-b1c2-4d5e-9212-5550199fa0b1",
        "2031-07-04 09",
        "call 2031-07-04 09:15",
        "ddd-212-\\dddd",
        "3.14159265358",
        "17179869184 bytes",  # 2^34
        "vruntime=14589605367 [ns]",
        "call trace [17284.993653]: close",
        "256 512 1024",
        "```text\n1001111001\n0011010011\n```",
        "call 1 1 2 2 1 1 3 3 1 1",
        "123-415-555-0199",
    ],
)
def test_figures_are_no_phone_number(text: str) -> None:
    assert kinds(text) == []


@pytest.mark.parametrize(
    ("before", "number"),
    [
        ("call ", "415-555-0199"),
        ("", "(415) 555-0199"),
        ("at ", "415.555.0199 x12"),
        ("", "+86 138-0000-0000"),
        ("", "+44 20 7946 0958"),
        ("phone: ", "4155550199"),
        ("fax\n", "(760)514-1109"),
        ("", "010-12345678"),
        ("", "138 0013 8000"),
        ("热线：", "400-800-1234"),
        ("ask the director (", "415-555-0199"),
        ("call (", "415-555-0199"),
    ],
)
def test_phone_numbers_are_found_whole(before: str, number: str) -> None:
    assert found(f"{before}{number}{')' * before.count('(')}") == [("phone", number)]


def test_phone_regions_decide_which_national_numbers_count() -> None:
    assert kinds("call 415-555-0199", PIIParams(phone_regions=("FR",))) == []
    assert kinds("Ruf 030 901820", PIIParams(phone_regions=("DE",))) == ["phone"]
    assert kinds("电话13800000000", PIIParams(phone_regions=("US",))) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("219-09-9999", ["us_ssn"]),
        ("her SSN is 219099999", ["us_ssn"]),
        ("social security 219 09 9999", ["us_ssn"]),
        ("219 09 9999", []),
        ("219099999", []),
        ("000-12-3456", []),
        ("123-45-67890", []),
        ("912-71-1234", ["us_itin"]),
        ("taxpayer number 912711234", ["us_itin"]),
        ("912-11-1234", []),  # a middle group that was never issued
    ],
)
def test_us_numbers_need_hyphens_or_a_context_word(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1234 Elm Street, Apt 5B, Springfield, IL 62704", None),
        ("12 NW 5th Ave.", None),
        ("13516 East River Drive", None),
        ("208 June Street", None),
        ("983 Main St, Peekskill, NY 10566", None),
        ("77 Massachusetts Ave, Suite 200", None),
        ("1600 PENNSYLVANIA AVENUE NW", None),
        ("P.O. Box 123", None),
        ("北京市海淀区中关村大街27号3层301室", None),
        ("杭州市西湖区文三路90号", None),
        ("沈阳市和平区南京街1号", None),
        ("臺北市北投區復興三路70號", None),
        ("阳光小区3栋2单元501室", None),
        ("香港皇后大道東8號", None),
        ("中山路南8号", None),
    ],
)
def test_exact_addresses_are_found_whole(text: str, expected: str | None) -> None:
    before = "寄到" if text[0] > "\u4e00" else "to "
    assert found(f"{before}{text}，") == [("address", expected or text)]


@pytest.mark.parametrize(
    "text",
    [
        "We saw 17 birds while walking along the st.",
        "in 1990 Wall Street crashed",
        "the 5 Hard Drive failures",
        "9 Supreme Court justices",
        "11 AM. The Rev. Dr. Smith",
        "12 May Dr. Smith came",
        "公交36路3号线",
        "国道2号公路",
        "中东铁路九号机务段",
        "三号楼的学生",
        "war.”5377 Its road in the heavens",
        "By 12 Ann. st. 2, c. 16",
    ],
)
def test_prose_with_street_words_is_no_address(text: str) -> None:
    assert kinds(text) == []


def test_a_direction_a_long_number_or_at_makes_a_drive_a_street() -> None:
    for address in ("6 SW Maple Court", "13917 Park Court", "938 Adams Ct"):
        assert found(f"she lives at {address} and works") == [("address", address)]


def test_what_was_bought_begins_behind_the_verb() -> None:
    assert found("2019年以600万元购入中山路南8号的一块地") == [("address", "中山路南8号")]


def test_address_countries_can_be_chosen() -> None:
    text = "12 Oak Street; 南京路1号"
    assert found(text, PIIParams(addresses=("us",))) == [("address", "12 Oak Street")]
    assert found(text, PIIParams(addresses=("cn",))) == [("address", "南京路1号")]


BODY = "Q0FGRUJBQkU" * 6  # invented


@pytest.mark.parametrize(
    "secret",
    [
        f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\n{BODY}",  # cut off
        "AKIA" + "Z2" * 8,
        "ghp_" + "a1" * 18,
        "glpat-" + "x" * 20,
        "xoxb-" + "123456789012-abcdef",
        "sk-proj-" + "a1B2" * 12,
        "SG." + "a" * 22 + "." + "b" * 43,
        "eyJ" + "a" * 20 + ".eyJ" + "b" * 20 + "." + "c" * 20,
    ],
)
def test_keys_and_tokens_are_found_by_their_published_shape(secret: str) -> None:
    assert found(f'key = "{secret}"') == [("secret", secret)]


def test_the_password_in_a_url_is_a_secret() -> None:
    assert found("postgres://u:hunter2@db.example.org/x") == [("secret", "u:hunter2")]


def test_words_with_a_token_prefix_are_no_secret() -> None:
    assert kinds("task-force risk-averse AKIAX ghp_short hf_hub npm_config sk-learn") == []


def test_overlapping_finds_are_settled_by_priority() -> None:
    spans = [Span(0, 10, "phone", "a", 0.4), Span(5, 20, "card", "b", 1.0), Span(12, 14, "ip", "c", 0.6)]
    assert disjoint(spans) == [Span(5, 20, "card", "b", 1.0)]
    assert disjoint([*spans, Span(19, 22, "cn_id", "d", 1.0)]) == [
        Span(0, 10, "phone", "a", 0.4),
        Span(12, 14, "ip", "c", 0.6),
        Span(19, 22, "cn_id", "d", 1.0),
    ]
