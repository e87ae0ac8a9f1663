"""Scrubbing title, url and metadata."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.pii import PIIParams
from stages.pii.fields import scrub_json, scrub_plain
from stages.pii.params import JOINER

DEFAULT = PIIParams(special_tokens=("<|endoftext|>",))


def test_an_address_in_a_url_is_replaced_and_the_url_kept() -> None:
    url, edits = scrub_plain("https://example.org/u?m=zoe@example.org&x=1", DEFAULT)
    assert url == "https://example.org/u?m=<|email|>&x=1"
    assert [(e.start, e.end, e.kind) for e in edits] == [(24, 39, "email")]


def test_scrubbing_a_field_twice_changes_nothing() -> None:
    once, _ = scrub_plain("zoe@example.org <|email|> <|endoftext|>", DEFAULT)
    assert once == f"<|email|> <|email|> <{JOINER}|endoftext|>"
    assert scrub_plain(once, DEFAULT) == (once, [])


def test_only_strings_of_metadata_change() -> None:
    written = '{"big": 18446744073709551616, "f": 1.50, "who": ["zoe@example.org"], "d": {"x": null}, "n": 4155550199}'
    scrubbed, edits = scrub_json(written, DEFAULT)
    assert scrubbed == written.replace("zoe@example.org", "<|email|>")
    assert [(written[e.start : e.end], e.kind) for e in edits] == [("zoe@example.org", "email")]


def test_keys_of_metadata_are_scrubbed() -> None:
    assert scrub_json('{"zoe@example.org": 1}', DEFAULT)[0] == '{"<|email|>": 1}'


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (r'{"a": "\u90ae\u7bb1zoe\u0040example.org\n\ud83d\ude00"}', r'{"a": "\u90ae\u7bb1<|email|>\n\ud83d\ude00"}'),
        (r'{"a": "say \"zoe@example.org\" \\"}', r'{"a": "say \"<|email|>\" \\"}'),
        (r'{"a": "https:\/\/example.org\/zoe@example.org"}', r'{"a": "https:\/\/example.org\/<|email|>"}'),
        (r'{"a": "\ud800 zoe@example.org"}', r'{"a": "\ud800 <|email|>"}'),
    ],
)
def test_escapes_are_read_and_every_other_character_kept(written: str, expected: str) -> None:
    scrubbed, edits = scrub_json(written, DEFAULT)
    assert scrubbed == expected
    at = edits[0]
    assert json.loads(f'"{written[at.start : at.end]}"') == "zoe@example.org"


STRINGS = st.lists(
    st.sampled_from(
        ["zoe@example.org", "8.8.8.8", '"', "\\", "\n", "😀", "邮", "é", " ", "/", "<|endoftext|>", "\x01"]
    ),
    max_size=6,
).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | STRINGS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def _scrubbed(value: Any) -> Any:
    if isinstance(value, str):
        return scrub_plain(value, DEFAULT)[0]
    if isinstance(value, list):
        return [_scrubbed(inner) for inner in value]
    if isinstance(value, dict):
        return {key: _scrubbed(inner) for key, inner in value.items()}
    return value


@settings(max_examples=200, deadline=None)
@given(VALUES, st.booleans())
def test_metadata_stays_json_with_every_string_scrubbed(value: Any, ascii_only: bool) -> None:
    scrubbed, _ = scrub_json(json.dumps({"v": value}, ensure_ascii=ascii_only), DEFAULT)
    assert json.loads(scrubbed) == {"v": _scrubbed(value)}
    assert scrub_json(scrubbed, DEFAULT) == (scrubbed, [])
