"""Control characters in JSON Lines: looked for in a whole batch, judged and placed record by record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_reading import Result, read, write


def lines(tmp_path: Path, content: bytes | str, **source: Any) -> Result:
    return read(write(tmp_path, "a.jsonl", content), **source)


def test_texts_full_of_control_characters_stand_in_quarantine_where_they_stood_in_the_file(tmp_path: Path) -> None:
    binary, deleted = '{"text":"ab\\u0001\\u0002"}', '{"text":"ab\x7f\x7f"}'
    content = [binary, "no JSON", '{"text":"fine"}', deleted, "nor this", '{"text":"nul\\u0000 0123456789"}', binary]
    result = lines(tmp_path, "\n".join(content))
    assert [(r["record"], r["reason"]) for r in result.quarantine] == [
        ("a.jsonl:1", "binary_content"),
        ("a.jsonl:2", "bad_json"),
        ("a.jsonl:4", "binary_content"),
        ("a.jsonl:5", "bad_json"),
        ("a.jsonl:7", "binary_content"),
    ]
    assert [(r["text"], r["nuls"]) for r in result.documents] == [("fine", 0), ("nul 0123456789", 1)]
    assert result.records == 7


@pytest.mark.parametrize("mojibake", ["measure", "repair"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030"])
def test_control_characters_are_found_whatever_the_charset(tmp_path: Path, encoding: str, mojibake: str) -> None:
    text = "渡船九点开带上乐队" * 20
    content = "\n".join(f'{{"text":"{text}{sign * 99}"}}' for sign in ("\\u0002", "\\u007f", "\\f"))
    result = lines(tmp_path, content.encode(encoding), encoding=encoding, mojibake=mojibake)
    assert result.texts == [text + "\f" * 99]
    assert result.reasons == {"binary_content": 2}


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("a渡\n\x00\x01\x08\x0b\x0c\x7f\xa0"), min_size=1, max_size=30), st.booleans())
def test_the_share_of_control_characters_is_that_of_the_text(tmp_path_factory: Any, text: str, ascii: bool) -> None:
    path = tmp_path_factory.mktemp("controls")
    result = lines(path, json.dumps({"text": text, "long": "m" * 50}, ensure_ascii=ascii))
    controls = sum(c in "\x00\x01\x08\x0b\x7f" for c in text)
    if controls > 0.1 * len(text.encode()):
        assert result.reasons == {"binary_content": 1}
    else:
        assert result.texts == [text.replace("\0", "")]
        assert result.documents[0]["nuls"] == text.count("\0")
