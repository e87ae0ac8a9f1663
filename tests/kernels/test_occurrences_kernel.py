"""Words found in bytes: equal to regular expressions, whatever stands around the words and wherever they begin."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from stages.ingest.decode import control_share
from stages.ingest.occurrences import Words

WORDS = [
    b"<nav",
    b"<header",
    b"aria-hidden",
    b"docnav",
    b"menu",
    b"nav",
    b"navbar",
    b"t-navbar",
    b"breadcrumbs",
    b"abc",
]
PARTS = [b"&#0", b"&#x", b"<di", b"uuu"]
NUMBERS = [b"&#9", b"&#12", b"&#100"]
FOUND = Words(WORDS, PARTS, NUMBERS)


def slow(data: bytes) -> int:
    """The twin: one expression for each word."""
    if control_share(data) > 0:
        return -1
    found = 0
    for i, word in enumerate(WORDS):
        before = rb"(?<![\w\x80-\xff-])" if word[:1].isalnum() else b""
        found |= bool(re.search(before + re.escape(word) + rb"(?![\w\x80-\xff-])", data, re.IGNORECASE)) << i
    others = [*map(re.escape, PARTS), *(re.escape(n) + rb"(?!\d)" for n in NUMBERS)]
    return found | bool(re.search(b"|".join(others), data, re.IGNORECASE)) << len(WORDS)


pieces = st.sampled_from(
    [*WORDS, *PARTS, *NUMBERS, *(w.upper() for w in WORDS), b" ", b'"', b"<", b"-", b"_", b"7", b"\n", b"a"]
)
pages = st.lists(pieces | st.binary(max_size=3), max_size=12).map(b"".join)


def test_every_word_is_found_alone_and_behind_any_number_of_bytes() -> None:
    for i, word in enumerate([*WORDS, *PARTS, *NUMBERS]):
        for before in range(9):
            for behind in range(9):
                data = b"." * before + word + b"." * behind
                assert FOUND.among(data) == slow(data)
                assert FOUND.among(data) >> min(i, len(WORDS)) & 1


def test_no_word_is_found_in_a_longer_one_unless_it_may_be_a_part() -> None:
    for longer in (b"submenu", b"menus", b"menu_", b"menu-1", "menü".encode() + b"menu", b"<navy", b"Xabc"):
        assert FOUND.among(longer) == 0
    assert FOUND.among(b"vacuuum") == FOUND.among(b"a<div>") == FOUND.among(b"&#12a") == 1 << len(WORDS)
    assert FOUND.among(b"&#120;") == 0


def test_nothing_is_found_in_nothing_and_a_control_character_is_seen_at_every_place() -> None:
    assert FOUND.among(b"") == FOUND.among(b"m") == FOUND.among(b"\t\n\f\r") == 0
    for size in range(1, 9):
        for at in range(size):
            for control in (0, 8, 11, 14, 31, 127):
                data = bytearray(b"<nav menu"[:size])
                data[at] = control
                assert FOUND.among(bytes(data)) == -1


@settings(max_examples=2000, deadline=None)
@given(pages)
def test_what_is_found_is_what_expressions_find(data: bytes) -> None:
    assert FOUND.among(data) == slow(data)
    text = data.translate(None, bytes([*range(9), 11, *range(14, 32), 127]))
    assert FOUND.among(text) == slow(text)
