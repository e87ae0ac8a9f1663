"""JSON string literals to UTF-8: equal to the standard library on every literal that is taken."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.json_strings import SPACE, unescape

CONTROLS = {*range(9), 11, *range(14, 32), 127}


def value(line: bytes, start: int = 1) -> tuple[int, bytes, int]:
    space = np.full(len(line) + SPACE, 7, np.uint8)
    end, size, controls = unescape(np.frombuffer(line, np.uint8), start, space, 0)
    return end, space[:size].tobytes() if end >= 0 else b"", controls


def slow_value(line: bytes) -> tuple[int, bytes, int]:
    """The twin: the standard library's reader, strict about UTF-8, NUL and surrogates."""
    try:
        text, end = json.JSONDecoder().raw_decode(line.decode())
        if "\0" in text:
            return -1, b"", 0
        return len(line.decode()[:end].encode()) - 1, text.encode(), sum(ord(c) in CONTROLS for c in text)
    except (ValueError, UnicodeError):
        return -1, b"", 0


pieces = st.sampled_from(
    ["plain words " * 7, "a", "渡船九点开", "é", "😀", "\x7f", '"', "\\", "\n", "\t", "\x01", "\x0c", "/"]
)
texts = st.lists(pieces | st.text(max_size=5), max_size=12).map("".join)


@settings(max_examples=500, deadline=None)
@given(texts.filter(lambda t: "\0" not in t), st.booleans())
def test_a_literal_gives_its_value(text: str, ascii: bool) -> None:
    line = json.dumps(text, ensure_ascii=ascii).encode() + b"}   "
    end, found, controls = value(line)
    assert (end, found) == (len(line) - 5, text.encode())
    assert controls == sum(ord(c) in CONTROLS for c in text)


@settings(max_examples=800, deadline=None)
@given(texts, st.booleans(), st.integers(0, 300), st.binary(min_size=1, max_size=3))
def test_damaged_literals_are_refused_exactly_where_the_standard_library_refuses(
    text: str, ascii: bool, at: int, damage: bytes
) -> None:
    literal = json.dumps(text, ensure_ascii=ascii).encode()
    at = 1 + at % len(literal)
    line = literal[:at] + damage + literal[at:] + b'"    '
    fast = value(line)
    if fast[0] >= 0:  # what stands behind the literal is no business of the kernel
        line = line[: fast[0] + 1]
    assert (fast if fast[0] >= 0 else (-1, b"", 0)) == slow_value(line)


@settings(max_examples=800, deadline=None)
@given(
    st.lists(st.sampled_from("渡渡渡éa😀\u0800\ud7ff\ue000\U0010ffff\x80"), min_size=30, max_size=90).map("".join),
    st.integers(0, 400),
    st.sampled_from([b"", *(bytes([c]) for c in (10, 34, 0x80, 0xBF, 0xC1, 0xC2, 0xE0, 0xE4, 0xED, 0xEF, 0xF0, 0xF5))]),
    st.integers(0, 2),
)
def test_damage_in_the_middle_of_many_long_characters_is_seen(text: str, at: int, damage: bytes, cut: int) -> None:
    literal = b'{"' + text.encode()
    at = 2 + at % (len(literal) - 2)
    line = literal[:at] + damage + literal[at + cut :] + b'"}' + b" " * 80
    end = line.index(b'"', 2)
    found, expected = value(line, 2), slow_value(line[1 : end + 1])
    assert found == ((end, *expected[1:]) if expected[0] >= 0 else (-1, b"", 0))


@pytest.mark.parametrize(
    "inside",
    [
        *(
            rb"\ud800",
            rb"\udc00",
            rb"\ud83d\u0041",
            rb"\ud83dx",
            rb"\u12",
            rb"\u12g4",
            rb"\x41",
            rb"\u0000",
            b"\t",
            b"\0",
        ),
        *(
            b"\xc0\xaf",
            b"\xe0\x80\x80",
            b"\xed\xa0\x80",
            b"\xf0\x80\x80\x80",
            b"\xf4\x90\x80\x80",
            b"\xff",
            b"\xe6\xb8",
        ),
    ],
)
@pytest.mark.parametrize("before", [0, 1, 63, 64, 65])
def test_what_is_no_valid_text_is_refused(inside: bytes, before: int) -> None:
    assert value(b'"' + b"x" * before + inside + b'"     ')[0] == -1
    assert value(b'"' + b"x" * before + inside)[0] == -1


@pytest.mark.parametrize("length", range(60, 70))
def test_a_literal_that_is_not_closed_is_refused(length: int) -> None:
    assert value(b'"' + b"x" * length)[0] == -1
    assert value(b'"' + b"x" * length + b"\\")[0] == -1
