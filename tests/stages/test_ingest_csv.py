"""CSV and TSV: one document a row, values exact, every physical line accounted for."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_reading import Result, read, write

from pipeline.hashing import identity
from pipeline.sources import UnreadableFileError
from stages.ingest.csv import DELIMITERS


def table(folder: Path, content: str | bytes, name: str = "a.csv", **options: object) -> Result:
    return read(write(folder, name, content), **options)  # type: ignore[arg-type]


def test_rows_become_documents_and_other_columns_metadata_as_strings(tmp_path: Path) -> None:
    content = 'id,text,title,n\r\n007,"The ferry, at ""nine""",Ferry,1e3\r\n008,"two\nlines",,25-11-2025\r\n'
    result = table(tmp_path, content, id_field="id")
    first, second = result.documents
    assert result.texts == ['The ferry, at "nine"', "two\nlines"]
    assert (first["title"], json.loads(first["metadata"])) == ("Ferry", {"id": "007", "n": "1e3"})
    assert json.loads(second["metadata"]) == {"id": "008", "n": "25-11-2025"}
    assert [r["record"] for r in result.documents] == ["a.csv:2", "a.csv:3"]
    assert second["doc_id"] == identity("web", "008", b'008,"two\nlines",,25-11-2025\r')


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_the_delimiter_is_the_one_that_gives_the_text_column(tmp_path: Path, delimiter: str) -> None:
    rows = [["id", "text"], ["1", "a, b; c | d"], ["2", "e"]]
    sink = io.StringIO()
    csv.writer(sink, delimiter=delimiter).writerows(rows)
    assert table(tmp_path, sink.getvalue(), "a.tsv").texts == ["a, b; c | d", "e"]


def test_each_unusable_row_is_listed_and_the_rest_is_read(tmp_path: Path) -> None:
    content = b'id,text\n1,a\n\n2,b,c\n3\n4,"open\n5,e\n6,"f"\n7,\x01\x02\x03\n8,z\n'
    result = table(tmp_path, content)
    assert result.texts == ["a", "e", "f", "z"]
    assert [(r["record"], r["reason"]) for r in result.quarantine] == [
        ("a.csv:4", "bad_csv"),
        ("a.csv:5", "bad_csv"),
        ("a.csv:6", "bad_csv"),  # its quote meets another one two lines below, but no field ends there
        ("a.csv:9", "binary_content"),
    ]
    assert result.blank == 1


def test_a_quote_never_closed_costs_its_line_alone(tmp_path: Path) -> None:
    result = table(tmp_path, 'id,text\n1,a\n2,"open\n3,c\n4,d\n')
    assert (result.texts, result.reasons) == (["a", "c", "d"], {"bad_csv": 1})
    assert result.quarantine[0]["detail"] == "a quote is opened and not closed where a field ends"


def test_many_quotes_never_closed_take_no_quadratic_time(tmp_path: Path) -> None:
    result = table(tmp_path, "id,text\n" + 'a","x\n' * 200_000)
    assert result.records == 200_000


def test_quotes_inside_a_field_are_characters(tmp_path: Path) -> None:
    assert table(tmp_path, 'id,text\n1,a 5" disk\n2,b\n').texts == ['a 5" disk', "b"]


def test_a_row_above_the_limit_is_too_large(tmp_path: Path) -> None:
    result = table(tmp_path, "text\n" + "x" * 200 + "\nok\n", params={"max_record_bytes": 100})
    assert (result.texts, result.reasons) == (["ok"], {"record_too_large": 1})


def test_without_a_column_of_the_text_field_the_message_lists_the_columns(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError) as caught:
        table(tmp_path, "id;body\n1;a\n")
    assert str(caught.value) == (
        "a.csv: the first row has no column 'text'; set `text_field` to one of: 'id', 'body' (text_column)"
    )
    assert table(tmp_path, "id;body\n1;a\n", text_field="body").texts == ["a"]


@pytest.mark.parametrize("codec", ["gbk", "gb18030", "big5", "utf-16", "utf-16-le", "utf-8-sig"])
def test_every_charset_gives_its_text_back(tmp_path: Path, codec: str) -> None:
    text = "渡船九點開，它運送郵件" if codec == "big5" else "渡船九点开，它运送邮件"
    content = "id,text\r\n" + "".join(f'{i},"{text}，\n{i}"\r\n' for i in range(20))
    encoding = codec if codec in ("gbk", "gb18030", "big5") else None
    result = table(tmp_path, content.encode(codec), encoding=encoding)
    assert result.texts == [f"{text}，\n{i}" for i in range(20)]


def test_empty_and_packed_files(tmp_path: Path) -> None:
    assert table(tmp_path, "").records == 0
    assert table(tmp_path, "text\n").records == 0
    assert table(tmp_path, gzip.compress(b"text\na\n"), "a.csv.gz").texts == ["a"]
    assert table(tmp_path, gzip.compress(b"text\na\nb\n")[:-8], "b.csv.gz").reasons == {"truncated_stream": 1}


fields = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from('",;\t|\n \r'), max_size=12)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(fields, fields), min_size=1, max_size=6))
def test_any_table_comes_back_exactly(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    sink = io.StringIO(newline="")
    csv.writer(sink, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([("k", "text"), *rows])
    path = write(tmp_path_factory.getbasetemp(), "any.csv", sink.getvalue())
    result = read(path)
    kept = [(json.loads(d["metadata"])["k"], d["text"]) for d in result.documents]
    assert kept == rows
