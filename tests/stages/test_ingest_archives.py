"""Zip and tar files: members of every format, names in any charset, bombs stopped, nothing written anywhere."""

from __future__ import annotations

import gzip
import io
import os
import random
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from ingest_reading import Result, read, write
from ingest_warc import PAGE, packed, page

from pipeline.hashing import identity
from pipeline.sources import UnreadableFileError
from stages.ingest.archives import FREE_BYTES

Members = list[tuple[str, bytes]]


def zipped(members: Members, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return sink.getvalue()


def tarred(members: Members, mode: str = "w:gz", extra: Iterable[tarfile.TarInfo] = (), **options: object) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode=mode, **options) as archive:  # type: ignore[call-overload]
        for info in extra:
            archive.addfile(info)
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return sink.getvalue()


def parquet(texts: list[str]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"text": texts}), sink)
    return sink.getvalue()


MEMBERS: Members = [
    ("data/a.jsonl", b'{"text":"one"}\nnot json\n\n'),
    ("data/b.jsonl.gz", gzip.compress(b'{"text":"two"}\n')),
    ("c.csv", b"id,text\n1,three\n"),
    ("pages/d.html", PAGE.format(4).encode()),
    ("e.warc.gz", packed(page(5))),
    ("f.parquet", parquet(["six", "seven"])),
    ("notes/g.txt", "八".encode("gbk")),
]
FORMS = {
    "a.zip": lambda m: zipped(m),
    "b.zip": lambda m: zipped(m, zipfile.ZIP_BZIP2),
    "a.tar": lambda m: tarred(m, "w"),
    "a.tar.gz": lambda m: tarred(m, "w:gz"),
    "a.tgz": lambda m: tarred(m, "w:gz"),
    "a.tar.bz2": lambda m: tarred(m, "w:bz2"),
    "a.tar.xz": lambda m: tarred(m, "w:xz"),
    "a.tar.zst": lambda m: zstandard.compress(tarred(m, "w")),
}


def archive(folder: Path, name: str, content: bytes, **options: object) -> Result:
    return read(write(folder, name, content), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FORMS)
def test_members_of_every_format_are_read_in_their_order(tmp_path: Path, name: str) -> None:
    result = archive(tmp_path, name, FORMS[name](MEMBERS), encoding="gbk")
    pages = [f"The ferry number {n} leaves at nine." for n in (4, 5)]
    assert result.texts == ["one", "two", "three", *pages, "six", "seven", "八"]
    assert (result.reasons, result.blank) == ({"bad_json": 1}, 1)
    assert [r["record"] for r in result.documents][:4] == [
        f"{name}/data/a.jsonl:1",
        f"{name}/data/b.jsonl.gz:1",
        f"{name}/c.csv:2",
        f"{name}/pages/d.html",
    ]
    assert result.quarantine[0]["record"] == f"{name}/data/a.jsonl:2"
    assert result.documents[-1]["doc_id"] == identity("web", f"{name}/notes/g.txt", "八".encode("gbk"))


def test_nothing_is_written_wherever_a_member_s_name_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    members = [
        ("../../up.txt", b"up"),
        ("/etc/absolute.txt", b"absolute"),
        ("c:\\x.txt", b"drive"),
        ("a/../b.txt", b"b"),
    ]
    for name, content in (("a.zip", zipped(members)), ("a.tar", tarred(members, "w"))):
        result = archive(tmp_path, name, content)
        assert result.texts == ["up", "absolute", "drive", "b"]
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.tar", "a.zip", "work"]


@pytest.mark.parametrize("codec", ["gbk", "utf-8"])
def test_member_names_in_gbk_and_utf_8_are_read(tmp_path: Path, codec: str) -> None:
    name = "资料/渡船时刻表.txt"
    plain = zipped([("x" * len(name.encode(codec)), b"nine")])
    unflagged = plain.replace(b"x" * len(name.encode(codec)), name.encode(codec))
    (row,) = archive(tmp_path, "a.zip", unflagged).documents
    assert (row["record"], row["text"]) == (f"a.zip/{name}", "nine")
    (row,) = archive(tmp_path, "b.zip", zipped([(name, b"nine")])).documents
    assert row["record"] == f"b.zip/{name}"
    for form in (tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT):
        made = tarred([(name, b"nine")], "w", encoding=codec, format=form)
        assert archive(tmp_path, "c.tar", made).documents[0]["record"] == f"c.tar/{name}"


def test_western_names_of_old_zip_files_stay_western(tmp_path: Path) -> None:
    plain = zipped([("xxxxxx.txt", b"nine")]).replace(b"xxxxxx", "Fähren".encode("cp437"))
    assert archive(tmp_path, "a.zip", plain).documents[0]["record"] == "a.zip/Fähren.txt"


def test_folders_links_and_files_of_the_system_are_counted(tmp_path: Path) -> None:
    link, folder = tarfile.TarInfo("l.txt"), tarfile.TarInfo("d")
    link.type, link.linkname, folder.type = tarfile.SYMTYPE, "/etc/passwd", tarfile.DIRTYPE
    members = [("__MACOSX/._a.txt", b"\0\5\x16\7"), ("d/.DS_Store", b"\0\0"), ("d/a.txt", b"a")]
    result = archive(tmp_path, "a.tar.gz", tarred(members, extra=[link, folder]))
    assert (result.texts, result.ignored) == (["a"], {"link or device": 1, "folder": 1, "system file": 2})
    result = archive(tmp_path, "a.zip", zipped([("d/", b""), *members]))
    assert (result.texts, result.ignored) == (["a"], {"folder": 1, "system file": 2})


BOMB = b'{"text":"' + b"a" * 3_000_000 + b'"}\n'


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.tar.xz"])
def test_a_bomb_is_stopped_with_what_came_before_it_kept(tmp_path: Path, name: str) -> None:
    members = [("a.jsonl", b'{"text":"before"}\n'), ("b.jsonl", BOMB * 12), ("c.jsonl", BOMB * 12)]
    content = FORMS[name](members)
    assert len(content) < len(BOMB) * 12 // 200
    result = archive(tmp_path, name, content)
    assert result.texts[0] == "before" and result.reasons["archive_bomb"] >= 1
    assert len(result.documents) * len(BOMB) <= FREE_BYTES + len(BOMB)
    assert "unpacks to more than 200 times its size" in result.quarantine[-1]["detail"]
    assert archive(tmp_path, name, content, params={"max_archive_ratio": 1e6}).reasons == {}
    few = archive(tmp_path, name, content, params={"max_archive_ratio": 1e6, "max_archive_bytes": 5_000_000})
    assert few.reasons["archive_bomb"] >= 1 and "(`max_archive_bytes`)" in few.quarantine[-1]["detail"]


def test_a_small_bomb_in_a_large_archive_costs_its_member_alone(tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(300_000).hex().encode()
    result = archive(tmp_path, "a.zip", zipped([("a.txt", noise), ("b.jsonl", BOMB * 6), ("c.txt", b"behind")]))
    assert result.texts[-1] == "behind"
    assert [r["record"].split(":")[0] for r in result.quarantine] == ["a.zip/b.jsonl"]
    assert result.reasons == {"archive_bomb": 1}


def test_an_archive_inside_an_archive_is_not_opened(tmp_path: Path) -> None:
    members = [("inner.zip", zipped([("a.txt", b"a")])), ("inner.tar.gz", b""), ("b.txt", b"b")]
    for name in ("a.zip", "a.tar.gz"):
        result = archive(tmp_path, name, FORMS[name](members))
        assert (result.texts, result.reasons) == (["b"], {"nested_archive": 2})


def test_an_encrypted_or_damaged_member_costs_itself(tmp_path: Path) -> None:
    content = zipped([("a.txt", b"first"), ("b.txt", b"second" * 50), ("c.txt", b"third")], zipfile.ZIP_STORED)
    damaged = content.replace(b"second" * 20, b"sEcond" * 20, 1)
    result = archive(tmp_path, "a.zip", damaged)
    assert (result.texts, result.reasons) == (["first", "third"], {"bad_member": 1})
    encrypted = bytearray(content)
    for mark, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        place = content.find(mark, content.find(mark) + 1) + at
        encrypted[place] |= 1
    result = archive(tmp_path, "b.zip", bytes(encrypted))
    assert (result.texts, result.reasons) == (["first", "third"], {"bad_member": 1})
    assert result.quarantine[0]["detail"] == "the member is encrypted"
    unknown = bytearray(content)
    place = content.find(b"PK\1\2", content.find(b"PK\1\2") + 1) + 10
    unknown[place : place + 2] = b"\x61\x00"
    local = content.find(b"PK\3\4", 4) + 8
    unknown[local : local + 2] = b"\x61\x00"
    result = archive(tmp_path, "c.zip", bytes(unknown))
    assert result.quarantine[0]["detail"] == "the member is packed by a method that is not known here"


def test_a_cut_archive_is_no_zip_file_or_gives_what_there_is(tmp_path: Path) -> None:
    noise = random.Random(2)
    members = [(f"{i}.txt", noise.randbytes(2000).hex().encode()) for i in range(20)]
    with pytest.raises(UnreadableFileError, match=r"a\.zip: not a complete zip file \(not_archive\)"):
        archive(tmp_path, "a.zip", zipped(members)[:-200])
    whole = tarred(members, "w:gz")
    result = archive(tmp_path, "a.tar.gz", whole[: len(whole) // 2])
    assert 5 < len(result.documents) < 15 and result.reasons["truncated_stream"] >= 1
    with pytest.raises(UnreadableFileError, match=r"b\.tar: not a tar file, packed or not \(not_archive\)"):
        archive(tmp_path, "b.tar", os.urandom(4000))


def test_members_that_a_damaged_directory_hides_are_reported(tmp_path: Path) -> None:
    content = bytearray(zipped([(f"{n}.txt", b"ferry") for n in range(4)]))
    content[content.find(b"PK\1\2") + 32] ^= 0xFF  # the length of the first member's comment, which swallows the others
    result = archive(tmp_path, "a.zip", bytes(content))
    assert result.reasons == {"bad_member": 1} and len(result.documents) == 1
    assert "end says 4 members, its directory lists 1: the others are lost" in result.quarantine[0]["detail"]


FERRIES: Members = [(f"{n}.txt", f"ferry {n} ".encode() * 100) for n in range(5)]


def test_a_damaged_header_in_a_tar_file_costs_its_member_and_is_reported(tmp_path: Path) -> None:
    whole = tarred(FERRIES, "w")
    at = whole.find(b"2.txt")
    for name, packing in (("a.tar", bytes), ("a.tar.gz", gzip.compress)):
        damaged = packing(whole[:at] + b"?" + whole[at + 1 :])
        result = archive(tmp_path, name, damaged)
        assert result.texts == [text.decode() for k, (_, text) in enumerate(FERRIES) if k != 2]
        assert result.reasons == {"bad_member": 1}
        assert result.quarantine[0]["detail"] == (
            "1536 bytes before the next member or the end are no header: members may be missing"
        )


@pytest.mark.parametrize("more", [0, 100, 511])
def test_a_tar_file_cut_between_members_or_in_a_header_says_so(tmp_path: Path, more: int) -> None:
    whole = tarred(FERRIES, "w")
    result = archive(tmp_path, "a.tar", whole[: whole.find(b"2.txt") + more])
    assert len(result.documents) == 2 and result.reasons == {"truncated_stream": 1}
    assert result.quarantine[0]["detail"].startswith("the tar file has no end mark")


def test_tar_files_joined_are_read_to_the_end_and_what_is_no_tar_behind_them_is_listed(tmp_path: Path) -> None:
    joined = tarred(FERRIES[:2], "w") + tarred(FERRIES[2:], "w")
    result = archive(tmp_path, "a.tar", joined)
    assert (len(result.documents), result.reasons) == (5, {})
    result = archive(tmp_path, "a.tar", joined + b"no tar at all" * 99)
    assert (len(result.documents), result.reasons) == (5, {"bad_member": 1})


def test_an_unreadable_member_stops_or_is_listed_as_the_source_says(tmp_path: Path) -> None:
    content = zipped([("a.parquet", b"PAR1 no"), ("b.csv", b"id\n1\n"), ("c.txt", b"c")])
    with pytest.raises(UnreadableFileError, match=r"a\.zip/a\.parquet: not a complete Parquet file"):
        archive(tmp_path, "a.zip", content)
    result = archive(tmp_path, "a.zip", content, on_unreadable="quarantine")
    assert (result.texts, result.reasons) == (["c"], {"not_parquet": 1, "text_column": 1})


def test_many_small_members_share_batches_and_the_format_holds_for_members(tmp_path: Path) -> None:
    members = [(f"{i}.log", b'{"text":"%d"}\n' % i) for i in range(1500)]
    result = archive(tmp_path, "a.zip", zipped(members), format="jsonl")
    assert result.texts == [str(i) for i in range(1500)]
    assert result.batches == 2


def test_an_archive_without_members_gives_one_empty_batch(tmp_path: Path) -> None:
    for name, content in (("a.zip", zipped([])), ("a.tar", tarred([], "w"))):
        result = archive(tmp_path, name, content)
        assert (result.batches, result.records) == (1, 0)
