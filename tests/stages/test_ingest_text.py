"""Text files: one document a file; and what holds for files of every format."""

from __future__ import annotations

import gzip
import os
import pickle
from pathlib import Path

import fsspec
import pytest
import zstandard
from ingest_reading import read, write

from pipeline.hashing import identity
from pipeline.sources import Source, UnreadableFileError
from stages.ingest import Ingest, format_of

TEXT = "# A heading\r\n\r\nThe ferry leaves at nine.\n渡船九点开。\n"


@pytest.mark.parametrize("name", ["a.txt", "b.md", "c.py", "noextension"])
def test_a_text_file_is_one_document_with_its_line_ends_untouched(tmp_path: Path, name: str) -> None:
    result = read(write(tmp_path, name, TEXT), label=f"docs/{name}", license="CC0-1.0", license_field=None)
    (row,) = result.documents
    assert row == {
        "doc_id": identity("web", f"docs/{name}", TEXT.encode()),
        "source": "web",
        "license": "CC0-1.0",
        "url": None,
        "title": None,
        "text": TEXT,
        "metadata": "{}",
        "placeholders": [],
        "encoding": "utf-8",
        "encoding_by": "utf-8",
        "replacements": 0,
        "surrogates": 0,
        "nuls": 0,
        "mojibake": 0,
        "repairs": None,
        "record": f"docs/{name}",
    }


def test_a_packed_text_file_has_the_identity_of_its_text(tmp_path: Path) -> None:
    for packed in (gzip.compress(TEXT.encode()), zstandard.compress(TEXT.encode())):
        (row,) = read(write(tmp_path, "a.txt.gz", packed), label="a.txt.gz").documents
        assert (row["text"], row["doc_id"]) == (TEXT, identity("web", "a.txt.gz", TEXT.encode()))


@pytest.mark.parametrize(
    ("name", "raw", "text"),
    [("a.txt", "6e61c3af766520706c616e0a", "naïve plan\n"), ("b.txt", "e286927374617274", "→start")],
)
def test_enc_01_a_short_file_of_valid_utf_8_is_never_guessed_to_be_something_else(
    tmp_path: Path, name: str, raw: str, text: str
) -> None:
    """ENC-01."""
    (row,) = read(write(tmp_path, name, bytes.fromhex(raw))).documents
    assert (row["text"], row["encoding"], row["encoding_by"]) == (text, "utf-8", "utf-8")


def test_enc_03_a_declared_gb2312_file_is_read_as_gb18030(tmp_path: Path) -> None:
    """ENC-03."""
    path = write(tmp_path, "a.txt", bytes.fromhex("e946c2af8139ee39"))
    (row,) = read(path, encoding="gb2312").documents
    assert (row["text"], row["encoding"], row["encoding_by"]) == ("镕炉㐀", "gb18030", "declared")


SENTENCES = {
    "gbk": "渡船九点开。它运送邮件、木材，星期天还带上一支小乐队。孩子们在岸边等着听音乐。\n",
    "gb18030": "渡船九点开，㐀镕𠀀。它运送邮件、木材，星期天还带上一支小乐队。\n",
    "big5": "渡船九點開。它運送郵件、木材，星期天還帶上一支小樂隊。孩子們在岸邊等著聽音樂。\n",
    "shift_jis": "渡し船は九時に出ます。郵便と材木を運び、日曜日には小さな楽団も乗せます。\n",
    "euc_jp": "渡し船は九時に出ます。郵便と材木を運び、日曜日には小さな楽団も乗せます。\n",
    "euc_kr": "나룻배는 아홉 시에 떠난다. 우편물과 목재를 나르고 일요일에는 작은 악단도 태운다.\n",
    "cp1251": "Паром отходит в девять. Он везёт почту, лес и по воскресеньям маленький оркестр.\n",
    "cp1252": "L’été dernier, le bac transportait déjà le courrier, où que l’on fût arrêté près de la forêt.\n",
    "utf-16": "The ferry – 渡船 – leaves at nine.\n",
    "utf-16-le": "Паром отходит в девять. Он везёт почту, лес и по воскресеньям маленький оркестр.\n",
    "utf-16-be": "渡船九点开。它运送邮件、木材，星期天还带上一支小乐队。孩子们在岸边等着听音乐。\n",
}


@pytest.mark.parametrize("codec", SENTENCES)
@pytest.mark.parametrize("declared", [True, False])
def test_a_file_in_any_charset_comes_back_exactly(tmp_path: Path, codec: str, declared: bool) -> None:
    text = SENTENCES[codec] * 3
    result = read(write(tmp_path, "a.txt", text.encode(codec)), encoding=codec if declared else None)
    assert (result.texts, result.documents[0]["replacements"]) == ([text], 0)


def test_an_empty_file_is_an_empty_document(tmp_path: Path) -> None:
    assert read(write(tmp_path, "a.txt", b"")).texts == [""]


def test_enc_08_a_binary_file_is_no_text(tmp_path: Path) -> None:
    """ENC-08."""
    tar_like = "6f73636172" + "00" * 64 + "3030303634340000"
    result = read(write(tmp_path, "a.txt", bytes.fromhex(tar_like)))
    assert (result.documents, result.reasons) == ([], {"binary_content": 1})
    assert result.quarantine[0]["record"] == "a.txt"


def test_a_broken_or_too_large_text_is_no_document(tmp_path: Path) -> None:
    packed = gzip.compress(os.urandom(5000).hex().encode())
    assert read(write(tmp_path, "a.txt.gz", packed[:-9])).reasons == {"truncated_stream": 1}
    assert read(write(tmp_path, "b.txt.gz", packed + b"garbage")).reasons == {"corrupt_stream": 1}
    large = read(write(tmp_path, "c.txt", b"x" * 11), {"max_record_bytes": 10})
    assert (large.reasons, large.quarantine[0]["detail"]) == ({"record_too_large": 1}, "a text of more than 10 bytes")
    assert read(write(tmp_path, "d.txt", b"x" * 10), {"max_record_bytes": 10}).records == 1


def test_params_move_the_limits(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", b"ab\x01\x02")
    assert read(path).reasons == {"binary_content": 1}
    assert read(path, {"max_control_share": 0.5}).texts == ["ab\x01\x02"]
    path = write(tmp_path, "b.txt", "é".encode() * 50 + b"\xff\xfe\xff" * 20)
    assert read(path).reasons == {"undecodable": 1}
    assert read(path, {"max_replacement_share": 1}).documents[0]["replacements"] == 60


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet", "a.txt"])
def test_a_file_that_is_not_there_is_unreadable_and_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnreadableFileError) as caught:
        read(tmp_path / name, label=f"data/{name}")
    assert str(caught.value) == f"data/{name}: cannot be opened: No such file or directory (unreadable)"
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.file, again.reason) == (f"data/{name}", "unreadable")


def test_a_folder_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="Is a directory"):
        read(tmp_path)


def test_an_unknown_protocol_is_unreadable_and_says_so() -> None:
    with pytest.raises(UnreadableFileError, match="nosuch"):
        read("nosuch://bucket/a.jsonl")


def test_any_fsspec_url_is_read_like_a_path() -> None:
    with fsspec.open("memory://ingest/a.jsonl.zst", "wb") as file:
        file.write(zstandard.compress(b'{"text":"far away"}\n'))
    assert read("memory://ingest/a.jsonl.zst").texts == ["far away"]


@pytest.mark.parametrize(
    ("location", "form"),
    [
        ("x/a.jsonl", "jsonl"),
        ("A.NDJSON.GZ", "jsonl"),
        ("a.json.zst", "jsonl"),
        ("s3://b/a.parquet", "parquet"),
        ("https://h/a.jsonl.gz?download=1", "jsonl"),
        ("a.md", "text"),
        ("a.jsonl.txt", "text"),
        ("jsonl", "text"),
    ],
)
def test_the_file_s_name_chooses_the_reader_unless_the_source_does(location: str, form: str) -> None:
    assert format_of(location, Source.model_validate({"name": "s", "path": "p"})) == form
    assert format_of(location, Source.model_validate({"name": "s", "path": "p", "format": "text"})) == "text"


def test_an_encoding_that_is_no_charset_is_refused_before_any_work() -> None:
    good, bad = (
        Source.model_validate({"name": name, "path": "p", "encoding": encoding})
        for name, encoding in (("a", "GBK"), ("b", "utf-9"))
    )
    params = Ingest.Params.model_validate({})
    assert Ingest.link(params, [], [good]) is params
    with pytest.raises(ValueError, match="source 'b': encoding 'utf-9' is no charset; write a label such as gb18030"):
        Ingest.link(params, [], [good, bad])


def test_every_setting_is_described() -> None:
    assert all(field.description for field in Ingest.Params.model_fields.values())
