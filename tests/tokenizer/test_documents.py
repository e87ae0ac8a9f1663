"""Reading plain files for training."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tokenizer import documents

KEEPS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@KEEPS
@given(st.lists(st.sampled_from([b"\n", b"\r", b"ab", b"\xef\xbb\xbf", b"\xef", b"x" * 9])), st.integers(1, 7))
def test_lines_are_those_of_a_split_at_line_feeds_wherever_the_chunks_end(tmp_path, monkeypatch, parts, size):
    monkeypatch.setattr(documents, "_CHUNK", size)
    data = b"".join(parts)
    path = tmp_path / "lines"
    path.write_bytes(data)
    expected = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    assert list(documents._lines(path)) == (expected if expected[-1] else expected[:-1])


def test_a_document_of_many_chunks_comes_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "_CHUNK", 1 << 10)
    text = "a" * (1 << 20)
    (tmp_path / "one.jsonl").write_text(json.dumps({"text": text}) + "\n")
    assert list(documents.read_documents(tmp_path / "one.jsonl", "text", pytest.fail)) == [text]
