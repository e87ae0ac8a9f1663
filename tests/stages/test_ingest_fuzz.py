"""Damaged files of every format: no crash, no hang, and every line or row accounted for."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_reading import read, write

from pipeline.sources import UnreadableFileError
from stages.ingest.charsets import WIDE
from stages.ingest.decode import signature

TEXTS = ["The ferry leaves at nine.", "渡船九点开，带上小乐队。", "a\u2028b", "😀 \u0000 \\ud800", "", "ünïcödé " * 9]
LINES = [json.dumps({"id": i, "text": t, "score": 0.5 * i, "deep": [[{"k": t}]]}) for i, t in enumerate(TEXTS * 2)]
PLAIN = ("\n".join([*LINES[:6], "", '{"text":null}', *LINES[6:]]) + "\n").encode()
NATIVE = PLAIN.decode().encode("utf-16")


def _parquet(**options: object) -> bytes:
    sink = io.BytesIO()
    columns = {"text": TEXTS * 5, "n": list(range(30)), "tags": [["a", "b"]] * 30}
    pq.write_table(pa.table(columns), sink, row_group_size=10, **options)
    return sink.getvalue()


KINDS = ["replace", "insert", "delete", "cut"]
Mutation = list[tuple[str, float, bytes]]
mutations = st.lists(
    st.tuples(
        st.sampled_from(["replace", "insert", "delete", "cut"]), st.floats(0, 1), st.binary(min_size=1, max_size=4)
    ),
    min_size=1,
    max_size=6,
)


def damaged(content: bytes, steps: Mutation) -> bytes:
    for kind, where, payload in steps:
        at = int(where * len(content))
        if kind == "insert":
            content = content[:at] + payload + content[at:]
        elif kind == "replace":
            content = content[:at] + payload + content[at + len(payload) :]
        elif kind == "delete":
            content = content[:at] + content[at + len(payload) :]
        else:
            content = content[: max(at, len(content) // 2)]
    return content


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@settings(max_examples=300, deadline=None)
@given(mutations)
def test_every_line_of_a_damaged_json_lines_file_is_a_document_blank_or_rejected(folder: Path, steps: Mutation) -> None:
    content = damaged(PLAIN, steps)
    result = read(write(folder, "a.jsonl", content))
    found, packed = signature(content), content.startswith((b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"))
    if not packed and (found is None or found[0] not in WIDE):  # such a mark, inserted, makes other lines of it
        mark = 0 if found is None else found[2]
        assert result.records == content.count(b"\n") + (content[mark:] != b"" and not content.endswith(b"\n"))
    for row in result.documents:
        json.loads(row["metadata"])


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([gzip.compress, zstandard.compress]), mutations)
def test_a_damaged_stream_is_reported_once_or_read_to_its_end(
    folder: Path, compress: Callable[[bytes], bytes], steps: Mutation
) -> None:
    content = damaged(compress(PLAIN) + compress(PLAIN), steps)
    result = read(write(folder, "a.jsonl.gz", content))
    broken = result.reasons["truncated_stream"] + result.reasons["corrupt_stream"]
    assert broken <= 1
    if content.startswith(compress(PLAIN)):
        assert len(result.documents) >= 12


@settings(max_examples=150, deadline=None)
@given(mutations)
def test_a_damaged_utf_16_file_ends_with_documents_and_reasons(folder: Path, steps: Mutation) -> None:
    content = damaged(NATIVE, steps)
    assert read(write(folder, "a.jsonl", content)).records >= 1


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([PLAIN, NATIVE, gzip.compress(PLAIN), zstandard.compress(NATIVE)]), mutations)
def test_a_damaged_text_file_is_one_document_or_one_reason(folder: Path, content: bytes, steps: Mutation) -> None:
    assert read(write(folder, "a.txt", damaged(content, steps))).records == 1


PARQUETS = [_parquet(), _parquet(compression="none", use_dictionary=False), _parquet(write_page_checksum=True)]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(PARQUETS), mutations)
def test_a_damaged_parquet_file_is_unreadable_or_gives_rows_and_one_reason(
    folder: Path, content: bytes, steps: Mutation
) -> None:
    try:
        result = read(write(folder, "a.parquet", damaged(content, steps)))
    except UnreadableFileError as error:
        assert error.reason in {"not_parquet", "text_column"}
    else:
        assert result.reasons["corrupt_stream"] <= 1
