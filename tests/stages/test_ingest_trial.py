"""What `curate doctor` says of the records of a file: what ingest itself makes of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from stages.ingest.trial import RECORDS, Refusal, try_file


def tried(folder: Path, name: str, content: str | bytes, **given: Any) -> tuple[str, int, list[tuple[str, int, str]]]:
    """(format, documents, refusals without the file's path); the advice is tested apart."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    trial = try_file(str(path), **given)
    return trial.format, trial.documents, [(r.reason, r.records, r.first.split("/")[-1]) for r in trial.refusals]


LINES = '{"text":"hello"}\n{broken\n{"body":"x"}\n[1]\n{"text":5}\n{"text":"again"}\n[2]\n'
FOUND = [
    ("bad_json", 1, "a.jsonl:2"), ("text_missing", 1, "a.jsonl:3"),
    ("not_object", 2, "a.jsonl:4"), ("text_not_string", 1, "a.jsonl:5"),
]  # fmt: skip


def test_records_of_json_lines_are_counted_by_reason_with_the_first_of_each(tmp_path: Path) -> None:
    assert tried(tmp_path, "a.jsonl", LINES) == ("jsonl", 2, FOUND)
    packed = [(reason, n, first.replace("a.jsonl", "a.jsonl.zst")) for reason, n, first in FOUND]
    assert tried(tmp_path, "a.jsonl.zst", zstandard.compress(LINES.encode())) == ("jsonl", 2, packed)


def test_a_row_whose_quote_is_never_closed_and_a_page_are_read_as_ingest_does(tmp_path: Path) -> None:
    assert tried(tmp_path, "c.csv", 'id,text\n1,hello\n2,"x\n') == ("csv", 1, [("bad_csv", 1, "c.csv:3")])
    page = "<html><body><nav>menu</nav><p>The main text of this page is long enough to count.</p></body></html>"
    assert tried(tmp_path, "d.html", page) == ("html", 1, [])
    assert try_file(str(tmp_path / "d.html")).excerpt == "The main text of this page is long enough to count."


def test_a_file_that_cannot_be_read_is_one_refusal(tmp_path: Path) -> None:
    pq.write_table(pa.table({"body": ["x"]}), tmp_path / "b.parquet")
    (refusal,) = try_file(str(tmp_path / "b.parquet")).refusals
    assert refusal.reason == "text_column" and "body" in refusal.detail
    assert try_file(str(tmp_path / "b.parquet"), text_field="body").documents == 1
    assert tried(tmp_path, "e.zip", b"PK\x03\x04 and no more")[2] == [("not_archive", 1, "e.zip")]


def test_a_trial_ends_after_a_thousand_records_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "long.jsonl").write_text('{"text":"a"}\n' * (3 * RECORDS))
    trial = try_file(str(tmp_path / "long.jsonl"))
    assert RECORDS <= trial.documents < 3 * RECORDS and not trial.whole
    (tmp_path / "short.jsonl").write_text('{"text":"a"}\n')
    assert try_file(str(tmp_path / "short.jsonl")).whole


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        ('[{"text":"a"},\n{"text":"b"}]', "jq -c '.[]' FILE > FILE.jsonl"),
        ('{"text":"a"}\r{"text":"b"}\r', "tr '\\r' '\\n' < FILE > FILE.jsonl"),
        ('{"id":"7","content":"hello there"}\n{"id":"8","content":"b"}\n', "text_field: content "),
    ],
)
def test_the_setting_or_command_that_helps_is_named(tmp_path: Path, content: str, advice: str) -> None:
    (tmp_path / "a.json").write_bytes(content.encode())
    (said,) = try_file(str(tmp_path / "a.json")).advice
    assert advice in said


def test_a_file_of_good_records_gets_no_advice(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text":"a"}\n[]\n')
    trial = try_file(str(tmp_path / "a.jsonl"))
    assert trial.advice == () and trial.refusals == (
        Refusal("not_object", 1, f"{tmp_path}/a.jsonl:2", "the line is an array, not an object"),
    )


def test_a_file_name_that_is_no_utf_8_is_spelled_as_in_a_run(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/x\xff.jsonl")
    Path(path).write_text("[1]\n")
    (refusal,) = try_file(path).refusals
    assert refusal.first.endswith("/x\\xff.jsonl:1")
