"""Damaged files of every format: no crash, no hang, and every line or row accounted for."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_reading import read, write
from ingest_warc import http, packed, page, warc

from pipeline.sources import UnreadableFileError
from stages.ingest import streams
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


def looks_packed(content: bytes) -> bool:
    """Did the damage write the beginning of a compressed stream?"""
    return any(form.begins(content) for form in (streams._Gzip, streams._Zstd, streams._Bzip2, streams._Xz))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@settings(max_examples=300, deadline=None)
@given(mutations)
def test_every_line_of_a_damaged_json_lines_file_is_a_document_blank_or_rejected(folder: Path, steps: Mutation) -> None:
    content = damaged(PLAIN, steps)
    result = read(write(folder, "a.jsonl", content))
    found = signature(content)
    if not looks_packed(content) and (
        found is None or found[0] not in WIDE
    ):  # such a mark, inserted, makes other lines of it
        mark = 0 if found is None else found[2]
        assert result.records == content.count(b"\n") + (content[mark:] != b"" and not content.endswith(b"\n"))
    for row in result.documents:
        json.loads(row["metadata"])


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([gzip.compress, zstandard.compress, bz2.compress, lzma.compress]), mutations)
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
def test_a_damaged_parquet_file_is_unreadable_or_gives_rows_and_a_reason_for_each_damaged_group(
    folder: Path, content: bytes, steps: Mutation
) -> None:
    try:
        result = read(write(folder, "a.parquet", damaged(content, steps)))
    except UnreadableFileError as error:
        assert error.reason in {"not_parquet", "text_column"}
    else:
        assert result.reasons["corrupt_stream"] <= 3
        places = [row["record"] for row in (*result.documents, *result.quarantine)]
        assert len(set(places)) == len(places)


ROWS = (
    "id,text\r\n" + "".join(f'{i},"{t}"\r\n' for i, t in enumerate(["a, b", 'say ""no""', "two\nlines", "渡船"] * 3))
).encode()


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([ROWS, ROWS.decode().encode("gbk"), ROWS.decode().encode("utf-16")]), mutations)
def test_every_line_of_a_damaged_csv_file_is_in_a_row_blank_or_rejected(
    folder: Path, content: bytes, steps: Mutation
) -> None:
    content = damaged(content, steps)
    try:
        result = read(write(folder, "a.csv", content))
    except UnreadableFileError as error:
        assert error.reason == "text_column"
        return
    places = {int(r["record"].rsplit(":", 1)[1]) for r in [*result.documents, *result.quarantine]}
    assert len(places) == len(result.documents) + len(result.quarantine)
    if not looks_packed(content) and signature(content) is None:
        assert result.records <= content.count(b"\n") + 1


HTML = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="gbk"><title>渡船</title></head><body><h1>A</h1>'
    "<p>The ferry &amp; 渡船 &#x1F30A;</p><ul><li>x</ul><pre>  code\n</pre><table><tr><td>1</table>"
    "<nav>n</nav></body></html>"
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([HTML.encode(), HTML.encode("gbk"), HTML.encode("utf-16")]), mutations)
def test_a_damaged_page_is_one_document_or_one_reason(folder: Path, content: bytes, steps: Mutation) -> None:
    assert read(write(folder, "a.html", damaged(content, steps))).records == 1


RECORDS = [warc(b"x", "warcinfo", None), page(1), warc(http(gzip.compress(HTML.encode()), "Content-Encoding: gzip"))]
RECORDS += [
    warc(http(b"a\r\n" + HTML.encode()[:10] + b"\r\n0\r\n\r\n", "Transfer-Encoding: chunked")),
    page(2),
    warc("渡船九点开。\n".encode(), "conversion"),
    page(3),
]
ARCHIVES = [
    b"".join(RECORDS),
    packed(*RECORDS),
    gzip.compress(b"".join(RECORDS)),
    b"".join(map(zstandard.compress, RECORDS)),
]


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(ARCHIVES), mutations)
def test_every_record_of_a_damaged_archive_is_accounted_for(folder: Path, content: bytes, steps: Mutation) -> None:
    result = read(write(folder, "a.warc", damaged(content, steps)))
    numbers = [int(r["record"].rsplit(":", 1)[1]) for r in [*result.documents, *result.quarantine]]
    assert len(set(numbers)) == len(numbers)
    assert result.records == max([*numbers, result.records])  # numbered without a gap, but for what is ignored


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["replace", "insert", "delete"]), st.floats(0, 1), st.binary(min_size=1, max_size=4))
def test_damage_in_one_place_of_a_plain_archive_costs_no_record_that_it_does_not_touch(
    folder: Path, kind: str, where: float, payload: bytes
) -> None:
    records = [page(n) for n in range(1, 6)]
    content = b"".join(records)
    at = 6 + int(where * (len(content) - 7))  # its first bytes say which kind of file it is
    result = read(write(folder, "a.warc", damaged(content, [(kind, at / len(content), payload)])))
    start = 0
    for number, record in enumerate(records, 1):
        end = start + len(record)
        if not start - 4 <= at <= end:  # up to four bytes are changed from there on
            assert f"The ferry number {number} leaves at nine." in result.texts
        start = end


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2), st.floats(0, 1), st.integers(1, 255))
def test_one_changed_byte_costs_one_record_of_an_archive_of_members(
    folder: Path, which: int, where: float, flip: int
) -> None:
    members = [gzip.compress(page(n), mtime=0) for n in (1, 2, 3)]
    member = bytearray(members[which])
    at = 10 + int(where * (len(member) - 20))  # neither the header nor the last bits, which may mean nothing
    member[at] ^= flip
    members[which] = bytes(member)
    result = read(write(folder, "a.warc.gz", b"".join(members)))
    others = [f"The ferry number {n} leaves at nine." for n in (1, 2, 3) if n != which + 1]
    assert [t for t in result.texts if t in others] == others
    assert len(result.documents) in (2, 3) and result.reasons.total() >= 1  # 3: only the stream's end was hit


MEMBERS = (("a.jsonl", PLAIN), ("b.html", HTML.encode()), ("c.warc", ARCHIVES[0]), ("d.csv", ROWS))


def _zip(members: Sequence[tuple[str, bytes]] = MEMBERS) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return sink.getvalue()


def _tar(mode: str, members: Sequence[tuple[str, bytes]] = MEMBERS) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return sink.getvalue()


PACKED = {
    "a.zip": _zip(),
    "a.tar": _tar("w"),
    "a.tar.gz": _tar("w:gz"),
    "a.tar.bz2": _tar("w:bz2"),
    "a.tar.xz": _tar("w:xz"),
}


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(PACKED)), mutations)
def test_a_damaged_zip_or_tar_file_ends_with_documents_and_reasons(folder: Path, name: str, steps: Mutation) -> None:
    try:
        read(write(folder, name, damaged(PACKED[name], steps)), on_unreadable="quarantine")
    except UnreadableFileError as error:
        assert error.reason == "not_archive"


PLAIN_TAR = [(f"{n}.jsonl", f'{{"text":"ferry {n}"}}\n'.encode() * 60) for n in range(4)]


@settings(max_examples=200, deadline=None)
@given(st.floats(0, 1), st.integers(1, 255))
def test_one_changed_byte_of_a_tar_file_costs_one_member_and_is_reported(folder: Path, where: float, flip: int) -> None:
    content = bytearray(_tar("w", PLAIN_TAR))
    at = 512 + int(where * (len(content) - 513))  # in the first header it makes the file no tar file
    content[at] ^= flip
    result = read(write(folder, "a.tar", bytes(content)))
    found = Counter(result.texts)
    whole = [n for n in range(4) if found[f"ferry {n}"] >= 60]
    assert len(whole) >= 3
    if found.total() < 239:  # a member is gone, not a line of it
        assert result.reasons.total() >= 1


@settings(max_examples=200, deadline=None)
@given(st.floats(0, 1), st.integers(1, 255))
def test_no_changed_byte_of_a_zip_file_s_directory_loses_a_member_without_a_word(
    folder: Path, where: float, flip: int
) -> None:
    content = bytearray(_zip(PLAIN_TAR))
    start = content.find(b"PK\1\2")
    content[start + int(where * (len(content) - 1 - start))] ^= flip
    try:
        result = read(write(folder, "a.zip", bytes(content)))
    except UnreadableFileError as error:
        assert error.reason == "not_archive"
    else:
        whole = {n for n in range(4) if result.texts.count(f"ferry {n}") == 60}
        assert len(whole) == 4 or result.reasons.total() >= 1 or result.ignored.total() >= 1
