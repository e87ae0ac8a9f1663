"""The scan for candidates: one place for each kind, code points, bounds, and that it gives up no document."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.candidate_tables import ALL, KINDS, LITERAL, SECRET, Tables, tables
from kernels.candidates import any_in, candidates

TABLES = tables([("<|", LITERAL, False), ("sk-", SECRET, True)], ["street", "st", "expressway"])

PIECES = st.sampled_from(
    [
        *("a@b.example", "8.8.8.8", "::1", "fe80::1", "4111 1111 1111 1111", "219-09-9999", "DE89370400440532013000"),
        *("gb82west12345698765432", "12 Oak St", "1A Big Long Expressway", "PO Box 7", "南京路1号", "十二室", "８８＠"),
        *("+1 415", "(", ")", "-", ".", " ", "\n", "x", "ext", "/", ":", "@", "<|", "sk-", "_", "\u00a0", "\u2010"),
        *(
            "1",
            "23",
            "456",
            "789012",
            "E12345678",
            "ABCDEF12",
            "é",
            "号",
            "😀",
            "://u:pass@",
            "%40",
            "O",
            "’",
            "\u017ft",
        ),
    ]
)
TEXTS = st.lists(PIECES, max_size=16).map("".join)


def kinds(text: str, looked_for: Tables = TABLES) -> dict[str, list[int]]:
    return {KINDS[kind]: places for kind, places in candidates(text.encode(), looked_for).items()}


@pytest.mark.parametrize(
    ("text", "kind", "place"),
    [
        ("😀 zoe@example.org", "email", 5),
        ("é 8.8.8.8!", "ipv4", 2),
        ("at 2001:db8::1", "ipv6", 7),
        ("号110101190001010014，", "cn_id", 1),
        ("is 219-09-9999", "us_number", 3),
        ("\u00a04111\u00a01111\u00a01111\u00a01111", "card", 1),
        ("DE89370400440532013000", "iban", 0),
        ("to gb82west12345698765432", "iban", 3),
        ("+86 138-0000-0000", "mobile", 4),
        ("call +86 138-0000-0000", "phone", 5),
        ("x 12 N.W. O’Hara-Smith  Expressway.", "us_address", 2),
        ("in 1A Oak st", "us_address", 3),
        ("中山路南8号", "cn_house", 5),
        ("十二 室", "cn_house", 3),
        ("护照E12345678", "national", 2),
        ("RSSMRA85T10A562S", "national", 0),
        ("P.O. BOX 7", "box", 7),
        ("db://u:pass@host", "password", 2),
        ("a８", "wide", 1),
        ("a <|b", "literal", 2),
        ("a sk-b", "secret", 4),
    ],
)
def test_each_kind_is_named_at_its_place(text: str, kind: str, place: int) -> None:
    assert place in kinds(text)[kind]


@pytest.mark.parametrize(
    "text",
    [
        "plain prose, with commas (and brackets)",
        "user@host and @decorator",
        "1.2.3 12:30:45 std::vector 2031-07",
        "disk-drive task-force",
        "12 apples and 3 Roads that never met again in a town",
        "第三章，一百二十页。学号",
        "fox boxes x 7",
        "https://example.org/a:b@c",
    ],
)
def test_text_without_an_entitys_shape_has_no_candidate(text: str) -> None:
    assert kinds(text) == {}


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXTS, max_size=5))
def test_a_document_is_flagged_when_and_only_when_it_holds_a_candidate(texts: list[str]) -> None:
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)]).astype(np.int64)
    flags = any_in(offsets, np.frombuffer(b"".join(data), np.uint8), TABLES)
    assert flags.tolist() == [bool(kinds(text)) for text in texts]


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_candidates_do_not_depend_on_other_kinds(text: str) -> None:
    found = candidates(text.encode(), TABLES)
    for kind in range(len(KINDS)):
        assert candidates(text.encode(), TABLES, 1 << kind).get(kind) == found.get(kind)
    assert candidates(text.encode(), TABLES, ALL) == found


def test_more_candidates_than_the_first_buffer_holds_are_all_named() -> None:
    assert kinds("a@b.example " * 5_000)["email"] == list(range(1, 60_000, 12))
