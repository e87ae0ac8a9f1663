"""Long lines of JSON: cut or read whole, the result is the same to the last column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_reading import read, write

from stages.ingest import longtext

LONG = "The ferry leaves at nine, 渡船九点开. “Mail” and timber\n" * 60


def both(folder: Path, content: bytes, **source: Any) -> None:
    """Reads with and without the short way, and compares everything."""
    path = write(folder, "a.jsonl", content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(longtext, "LONG", 0)
        short = read(path, **source)
        patch.setattr(longtext, "LONG", 1 << 60)
        whole = read(path, **source)
    assert short.documents == whole.documents
    assert short.quarantine == whole.quarantine


HOSTILE = [
    '{"text":"a","text":"b"}',
    '{"text":5,"text":"b"}',
    '{"text":"a","text":5}',
    '{"text":"a","te\\u0078t":"b"}',
    '{"meta":{"text":"inner"},"text":"outer"}',
    '{"meta":{"text":"inner"}}',
    '[{"text":"a"}]',
    '{"note":", \\"text\\": \\"x","text":"b"}',
    '{"a\\"text": "x", "text":"b"}',
    '{"a":"foo,"text": "bar"}',
    '{"text" :\t"spaced"}',
    '{"id":1.50,"text":"a fraction"}',
    '{"id":123456789012345678901234567890,"text":"a large number"}',
    '{"text":"a","title":"t\\u0000","url":"\\ud800"}',
    '{"text":"nul \\u0000 and \\ud83d\\ude00"}',
    '{"text":"half \\ud83d"}',
    '{"text":"never closed',
    '{"text":"trailing"} x',
    '{"text":"comma",}',
    '{"text":"\\u0001\\u0002"}',
    '{"text":"\x7f\x7f"}',
    '{"text":null,"x":{"text":"y"}}',
    '{"text":""}',
    '{"' + "x" * 3000 + '":"text","text":"behind a long key"}',
    '{"deep":' + "[" * 250 + "]" * 250 + ',"text":"a"}',
]


@pytest.mark.parametrize("mojibake", ["measure", "repair"])
@pytest.mark.parametrize("encoding", [None, "utf-16", "gb18030"])
def test_hostile_lines_are_read_alike(tmp_path: Path, encoding: str | None, mojibake: str) -> None:
    content = "\n".join([*HOSTILE, json.dumps({"text": LONG}), json.dumps({"text": LONG}, ensure_ascii=False)])
    both(tmp_path, content.encode(encoding or "utf-8"), encoding=encoding, mojibake=mojibake, id_field="id")


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(HOSTILE), st.integers(0, 200), st.binary(max_size=3), st.integers(0, 3))
def test_damaged_lines_are_read_alike(tmp_path_factory: Any, line: str, at: int, damage: bytes, cut: int) -> None:
    raw = line.encode()
    at %= len(raw)
    both(tmp_path_factory.mktemp("lines"), raw[:at] + damage.replace(b"\n", b"") + raw[at + cut :] + b"\n")


def test_long_texts_go_the_short_way_and_keep_metadata_in_its_order(tmp_path: Path, monkeypatch: Any) -> None:
    line = json.dumps({"z": [1, None], "text": LONG, "a": {"b": True}, "title": "t"}, ensure_ascii=False)
    seen = []
    taken = longtext.LongText.text_of

    def watched(self: longtext.LongText, line: bytes) -> longtext.Cut | None:
        seen.append(taken(self, line))
        return seen[-1]

    monkeypatch.setattr(longtext.LongText, "text_of", watched)
    (row,) = read(write(tmp_path, "a.jsonl", line)).documents
    assert seen[0] is not None and seen[0].text == LONG.encode()
    assert (row["text"], row["title"], row["metadata"]) == (LONG, "t", '{"z":[1,null],"a":{"b":true}}')


def test_a_field_whose_name_needs_escapes_goes_the_ordinary_way(tmp_path: Path) -> None:
    line = json.dumps({'a"b\\': LONG, "é": 1})
    (row,) = read(write(tmp_path, "a.jsonl", line), text_field='a"b\\').documents
    assert row["text"] == LONG
