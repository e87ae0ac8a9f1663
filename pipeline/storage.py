"""Files that appear whole or not at all.

Written to a temporary name in the same folder, fsync, renamed, the folder fsynced.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.hashing import canonical_json, combined, file_hash, table_hash

ROW_GROUP_BYTES: Final = 32 << 20
ROW_GROUP_ROWS: Final = 20_000
_PAGE_ROWS: Final = 128
"""A page may end after so many rows (of 1 MB by default), which bounds what the writer holds of long texts."""

TEMPORARY: Final = ".tmp-"


@dataclass(frozen=True)
class Output:
    """One published file: path below the run folder, hash of what it says, hash of its bytes, rows, size in bytes."""

    path: str
    content_hash: str
    byte_hash: str
    rows: int
    size: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def publish(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file and give it its name in one step; on any error nothing is left behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{TEMPORARY}{os.getpid()}-{path.name}")
    try:
        write(temporary)
        with temporary.open("rb+") as f:
            os.fsync(f.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def publish_json(path: Path, value: Any) -> None:
    """A JSON file for people and programs: sorted keys, two spaces, one line end."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    publish(path, lambda p: _write_text(p, text))


def publish_table(root: Path, name: str, table: pa.Table) -> Output:
    """A Parquet shard at `root/name`; the same table gives the same bytes, whatever its chunks were."""
    size = sum(_value_bytes(column) for column in table.columns)
    rows = max(1, min(ROW_GROUP_ROWS, table.num_rows * ROW_GROUP_BYTES // max(1, size)))
    publish(root / name, lambda p: _write_table(p, table, rows))
    return describe(root, name, table_hash(table), table.num_rows)


def _write_table(path: Path, table: pa.Table, rows: int) -> None:
    """Row groups of `rows` rows; only one of them at a time is put together from the table's chunks."""
    # texts make no dictionary, and their least and largest would be copies of whole documents
    repeating = [f.name for f in table.schema if not pa.types.is_large_string(f.type)]
    with pq.ParquetWriter(
        path,
        table.schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=repeating,
        write_statistics=repeating,
        write_page_checksum=True,
        write_batch_size=_PAGE_ROWS,
    ) as writer:
        for start in range(0, max(1, table.num_rows), rows):
            writer.write_table(table.slice(start, rows).combine_chunks(), row_group_size=rows)


def _value_bytes(array: Any) -> int:
    """About how many bytes the values take. Arrow's own `nbytes` differs between equal arrays (offsets, bitmaps)."""
    t = array.type
    if pa.types.is_struct(t):
        return sum(_value_bytes(pc.struct_field(array, i)) for i in range(t.num_fields))
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
        return 4 * len(array) + _value_bytes(pc.list_flatten(array))
    if pa.types.is_primitive(t):
        return len(array) * int(t.bit_width) // 8
    if pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_binary(t) or pa.types.is_large_binary(t):
        return 4 * len(array) + int(pc.sum(pc.binary_length(array)).as_py() or 0)
    return 8 * len(array)  # maps and others, which no shard of documents holds


def link_table(root: Path, name: str, source: Output) -> Output:
    """The same shard under a second name, without a second copy of its bytes where the file system can do that."""
    publish(root / name, lambda p: _link_or_copy(root / source.path, p))
    return Output(name, source.content_hash, source.byte_hash, source.rows, source.size)


def publish_folder(root: Path, name: str, write: Callable[[Path], Any]) -> tuple[list[Output], Any]:
    """Let `write` fill an empty folder, then publish its files one by one under `root/name`, in place of older ones."""
    building = root / name / f"{TEMPORARY}{os.getpid()}"
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    try:
        result = write(building)
        outputs = []
        for file in sorted(p for p in building.rglob("*") if p.is_file()):
            relative = f"{name}/{file.relative_to(building).as_posix()}"
            publish(root / relative, lambda p, f=file: _link_or_copy(f, p))  # type: ignore[misc]
            content = file_hash(file)
            outputs.append(Output(relative, content, content, 0, file.stat().st_size))
        return outputs, result
    finally:
        shutil.rmtree(building, ignore_errors=True)


def describe(root: Path, name: str, content_hash: str, rows: int) -> Output:
    """The record of a file that lies at `root/name`."""
    path = root / name
    return Output(name, content_hash, file_hash(path), rows, path.stat().st_size)


def intact(root: Path, output: Output) -> bool:
    """Is the file there with exactly the bytes that were published?"""
    path = root / output.path
    return path.is_file() and path.stat().st_size == output.size and file_hash(path) == output.byte_hash


def read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    """A published table, its page checksums verified; raises OSError where they do not fit."""
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return file.read(columns=columns)


def read_rows(path: Path, first: int, count: int) -> pa.Table:
    """`count` rows of a published table from row `first` on; reads no row group but those that hold them."""
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        starts = list(accumulate(sizes, initial=0))[:-1]
        wanted = [i for i, s in enumerate(starts) if s < first + count and first < s + sizes[i]] if count else []
        table = file.read_row_groups(wanted)
        return table.slice(first - starts[wanted[0]], count) if wanted else table


def remove_temporaries(root: Path) -> None:
    """Take away what a killed process left half written."""
    for path in list(root.rglob(f"{TEMPORARY}*")):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def folder_hash(outputs: list[Output]) -> str:
    """One hash for several files: their names (without folders above them) and contents."""
    return combined(f"{Path(o.path).name}={o.content_hash}" for o in outputs)


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    """JSON Lines with canonical spelling."""
    publish(path, lambda p: _write_text(p, "".join(canonical_json(r) + "\n" for r in rows)))


def _write_text(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as f:
        f.write(text)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
