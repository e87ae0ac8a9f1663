"""Lines of JSON: read by the kernel or by a JSON reader, the result is the same to the last column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_reading import read, write

from stages.ingest.records import Records

LONG = "The ferry leaves at nine, 渡船九点开. “Mail” and timber\n" * 60


def both(folder: Path, content: bytes, **source: Any) -> None:
    """Reads with and without the short way, and compares everything."""
    path = write(folder, "a.jsonl", content)
    with pytest.MonkeyPatch.context() as patch:
        short = read(path, **source)
        patch.setattr(Records, "read", lambda self, rows, run, at, number: (at, 0, True))
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
    '{"n":-0,"text":"minus zero"}',
    '{"n":[-0.0,0,-1,1e5,1E-05,2e+400,0.5],"text":"numbers"}',
    '{"n":01,"text":"a"}',
    '{"n":1.,"text":"a"}',
    '{"n":.5,"text":"a"}',
    '{"n":1e,"text":"a"}',
    '{"n":+1,"text":"a"}',
    '{"n":truex,"text":"a"}',
    '{"n":nul,"text":"a"}',
    '{"id":{"a":1},"text":"a"}',
    '{"id":[],"text":"a"}',
    '{"id":null,"text":"a"}',
    '{"id":true,"text":"a"}',
    '{"id":"\\u00e9\\n","text":"a","title":"\\"t\\"","url":5}',
    '{"text":"a","m":{"x":1,"x":2}}',
    '{"text":"a","m":[{"x":1},{"x":2},{"y":{"x":[]}},{ } ,[ ]]}',
    '{"text":"a","m":[1,]}',
    '{"text":"a","m":[,1]}',
    '{"text":"a","m":{"x"}}',
    '{"text":"a","m":{"x":}}',
    '{"text":"a","m":{1:2}}',
    '{"text":"a","m":[1}]}',
    '{"text":"a"]',
    '{"text":"a"}}',
    "{}",
    '  {"text":"a"} \t ',
    "\ufeff" + '{"text":"marked"}',
    " \t",
    "{" + ",".join(f'"k{n}":{n}' for n in range(70)) + ',"text":"many keys"}',
    '{"deep":' + "[" * 32 + "1" + "]" * 32 + ',"text":"a"}',
    '{"deep":' + "[" * 33 + "1" + "]" * 33 + ',"text":"a"}',
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


def test_what_is_plain_goes_the_short_way_and_keeps_metadata_in_its_order(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("stages.ingest.jsonl._Parser.line", None)
    record = {"z": [1, None, {"y": -2.50}], "text": LONG, "a": {"b": True}, "title": "t", "q": '"\n\x01é'}
    content = json.dumps(record) + "\r\n" + json.dumps(record, ensure_ascii=False) + "\n"
    result = read(write(tmp_path, "a.jsonl", content.replace("-2.5", "-2.50")))
    for row in result.documents:
        assert (row["text"], row["title"]) == (LONG, "t")
        assert row["metadata"] == '{"z":[1,null,{"y":-2.50}],"a":{"b":true},"q":"\\"\\n\\u0001é"}'
    assert [row["record"] for row in result.documents] == ["a.jsonl:1", "a.jsonl:2"]


def test_a_field_whose_name_needs_escapes_is_found(tmp_path: Path) -> None:
    line = json.dumps({'a"b\\': LONG, "é": 1})
    (row,) = read(write(tmp_path, "a.jsonl", line), text_field='a"b\\').documents
    assert row["text"] == LONG
