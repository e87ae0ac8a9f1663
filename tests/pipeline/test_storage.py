"""Files appear whole or not at all."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path

import pyarrow as pa
import pytest

from pipeline import storage
from pipeline.hashing import file_hash
from pipeline.storage import Output, intact, publish, publish_folder, publish_json, publish_table, read_table

REAL_SYNC = os.fsync


def everything(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*"))


def test_an_error_while_writing_leaves_nothing_behind_and_the_old_file_as_it_was(tmp_path: Path) -> None:
    publish(tmp_path / "a.txt", lambda p: p.write_text("old") and None)

    def half(path: Path) -> None:
        path.write_text("half of the n")
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        publish(tmp_path / "a.txt", half)
    assert everything(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_ctrl_c_while_writing_leaves_nothing_behind(tmp_path: Path) -> None:
    def interrupted(path: Path) -> None:
        path.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        publish(tmp_path / "a.txt", interrupted)
    assert everything(tmp_path) == []


def test_a_disk_that_fills_up_at_fsync_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        publish_table(tmp_path, "t.parquet", pa.table({"a": [1]}))
    assert everything(tmp_path) == []


def test_a_table_larger_than_a_file_may_be_leaves_nothing_behind(tmp_path: Path) -> None:
    """The system itself refuses to write on, in the middle of a Parquet file."""
    noise = os.urandom(300_000)
    table = pa.table({"a": [noise[i : i + 30] for i in range(0, 300_000, 30)]})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError):
            publish_table(tmp_path, "t.parquet", table)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert everything(tmp_path) == []


def test_a_folder_whose_building_fails_publishes_none_of_its_files(tmp_path: Path) -> None:
    def half(folder: Path) -> None:
        (folder / "one").write_text("1")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        publish_folder(tmp_path, "artefact", half)
    assert [p for p in everything(tmp_path) if p != "artefact"] == []


def test_a_published_folder_lists_every_file_with_its_hash(tmp_path: Path) -> None:
    def build(folder: Path) -> str:
        (folder / "inner").mkdir()
        (folder / "inner" / "b").write_text("b")
        (folder / "a").write_text("a")
        return "summary"

    outputs, summary = publish_folder(tmp_path, "artefact", build)
    assert summary == "summary"
    assert [o.path for o in outputs] == ["artefact/a", "artefact/inner/b"]
    assert all(intact(tmp_path, o) for o in outputs)
    assert everything(tmp_path) == ["artefact", "artefact/a", "artefact/inner", "artefact/inner/b"]


def test_file_and_folder_are_synced_before_and_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[bool, bool]] = []  # (is it the folder?, has the file its name?)

    def watch(descriptor: int) -> None:
        seen.append((Path(f"/proc/self/fd/{descriptor}").resolve() == tmp_path.resolve(), (tmp_path / "a").exists()))
        REAL_SYNC(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    publish_json(tmp_path / "a", {})
    assert seen == [(False, False), (True, True)]


def layouts(table: pa.Table) -> list[pa.Table]:
    """The same table in one chunk, in many, as a slice of a larger one, and as a filtered one."""
    n = table.num_rows
    chunked = pa.concat_tables([table.slice(i, 7) for i in range(0, n, 7)])
    sliced = pa.concat_tables([table.slice(0, 13), table, table.slice(0, 5)]).combine_chunks().slice(13, n)
    mask = pa.array([True, False] * n)
    doubled = table.take(pa.array([i // 2 for i in range(2 * n)]))
    return [table, chunked, sliced, doubled.filter(mask)]


@pytest.mark.parametrize("group_bytes", [storage.ROW_GROUP_BYTES, 4000])
def test_the_same_table_in_different_chunks_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group_bytes: int
) -> None:
    monkeypatch.setattr(storage, "ROW_GROUP_BYTES", group_bytes)
    texts = [f"text {i} " * (i % 11) for i in range(301)]
    table = pa.table(
        {
            "text": pa.array(texts, pa.large_string()),
            "rule": pa.array([None if i % 3 else "r" for i in range(301)]),
            "keep": [bool(i % 2) for i in range(301)],
            "failed": [["a"] * (i % 3) for i in range(301)],
        }
    )
    outputs = [publish_table(tmp_path, f"{i}.parquet", t) for i, t in enumerate(layouts(table))]
    assert len({o.byte_hash for o in outputs}) == 1
    assert len({o.content_hash for o in outputs}) == 1
    assert read_table(tmp_path / "2.parquet").equals(table)


@pytest.mark.parametrize("damage", ["flip", "cut", "grow", "remove", "empty"])
def test_any_damage_to_a_file_is_seen(tmp_path: Path, damage: str) -> None:
    output = publish_table(tmp_path, "t.parquet", pa.table({"a": list(range(100))}))
    assert intact(tmp_path, output)
    hurt(tmp_path / "t.parquet", damage)
    assert not intact(tmp_path, output)


def hurt(path: Path, how: str) -> None:
    data = path.read_bytes()
    path.unlink()
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 1
    new = {"flip": bytes(flipped), "cut": data[:-9], "grow": data + b"\0", "empty": b"", "remove": None}[how]
    if new is not None:
        path.write_bytes(new)


def test_a_flipped_byte_inside_a_page_is_an_error_when_the_table_is_read(tmp_path: Path) -> None:
    publish_table(tmp_path, "t.parquet", pa.table({"a": [os.urandom(4000).hex()]}))
    hurt(tmp_path / "t.parquet", "flip")
    with pytest.raises(OSError, match="CRC"):
        read_table(tmp_path / "t.parquet")


def test_a_file_under_a_second_name_is_the_same_file_with_the_same_hashes(tmp_path: Path) -> None:
    first = publish_table(tmp_path, "a/t.parquet", pa.table({"a": [1]}))
    second = storage.link_table(tmp_path, "b/t.parquet", first)
    assert second == Output("b/t.parquet", first.content_hash, file_hash(tmp_path / "a/t.parquet"), 1, first.size)
    assert intact(tmp_path, second)


def test_a_file_system_without_links_gets_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    first = publish_table(tmp_path, "a/t.parquet", pa.table({"a": [1]}))
    assert intact(tmp_path, storage.link_table(tmp_path, "b/t.parquet", first))


def test_what_a_killed_process_left_half_written_is_taken_away(tmp_path: Path) -> None:
    (tmp_path / "ingest").mkdir()
    (tmp_path / "ingest" / ".tmp-77-part.parquet").write_bytes(b"half")
    (tmp_path / ".tmp-fit-x").mkdir()
    (tmp_path / ".tmp-fit-x" / ".tmp-inner").write_bytes(b"spill")
    (tmp_path / "ingest" / "part.parquet").write_bytes(b"whole")
    storage.remove_temporaries(tmp_path)
    assert everything(tmp_path) == ["ingest", "ingest/part.parquet"]
