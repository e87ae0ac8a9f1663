"""Hashes that identify records, tables and files: BLAKE2b everywhere, shortened to 128 bits (32 hex digits)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.documents import PROVENANCE_COLUMNS

HEX_DIGITS: Final = 32
_CHUNK: Final = 1 << 18


def _new() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=HEX_DIGITS // 2)


def identity(source: str, own_id: str | None, raw: bytes) -> str:
    """Identity of a record: source name, its own id where it has one, and its raw content. Never its position."""
    return identifying(source)(own_id, raw)


def identifying(source: str) -> Callable[[str | None, bytes | memoryview], str]:
    """`identity` for many records of one source: its name is hashed once."""
    begun = _new()
    begun.update(_with_length(source.encode()))

    def identity_of(own_id: str | None, raw: bytes | memoryview) -> str:
        h = begun.copy()
        h.update(_with_length(_own(own_id)))
        h.update(raw)
        return h.hexdigest()

    return identity_of


def heading(source: str) -> Callable[[str | None], bytes]:
    """What is hashed before a record's raw content, by its own id: `identity` is the hash of both."""
    begun = _with_length(source.encode())
    return lambda own_id: begun + _with_length(_own(own_id))


def _own(own_id: str | None) -> bytes:
    return b"" if own_id is None else b"=" + own_id.encode("utf-8", "surrogatepass")


def _with_length(part: bytes) -> bytes:
    return len(part).to_bytes(8, "little") + part


def document_id(record_identity: str, ordinal: int) -> str:
    """doc_id of the `ordinal`-th record of a source (from 0) that has this identity."""
    return hashlib.blake2b(
        bytes.fromhex(record_identity) + ordinal.to_bytes(8, "little"), digest_size=HEX_DIGITS // 2
    ).hexdigest()


def canonical_json(value: Any) -> str:
    """One spelling of a JSON value: sorted keys, no spaces, floats as Python's shortest repr, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def json_hash(value: Any) -> str:
    """Hash of a JSON value's canonical spelling."""
    h = _new()
    h.update(canonical_json(value).encode("utf-8", "surrogatepass"))
    return h.hexdigest()


def file_hash(path: str | Path) -> str:
    """Hash of a file's bytes; `path` may be any fsspec URL."""
    name, h, chunk = str(path), _new(), bytearray(_CHUNK)
    remote = "://" in name or "::" in name
    with fsspec.open(name, "rb") if remote else open(name, "rb", buffering=0) as f:
        while count := f.readinto(chunk):
            h.update(memoryview(chunk)[:count])
    return h.hexdigest()


def combined(hashes: Iterable[str]) -> str:
    """Hash of a sequence of hashes, in order."""
    return json_hash(list(hashes))


def table_hash(table: pa.Table) -> str:
    """Content hash: schema, then column by column validity, lengths and value bytes in row order.

    Independent of chunks, row groups, compression, and of what lies in slots that are NULL. Columns named in
    PROVENANCE_COLUMNS are left out.
    """
    h = _new()
    for f in table.schema:
        if f.name in PROVENANCE_COLUMNS:
            continue
        h.update(f"{f.name}\0{_type_name(f.type)}\0".encode())
        h.update(table.num_rows.to_bytes(8, "little"))
        column = table.column(f.name)
        if _has_bytes(f.type) and not column.null_count:
            h.update(b"\0")
            _update_bytes(h, column.chunks)  # not as one array: that would be a second copy of all texts
        else:
            _update(h, _whole(column) if table.num_rows else pa.array([], f.type))
    return h.hexdigest()


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece, with offsets that more than 2 GiB of strings do not overflow."""
    if column.num_chunks > 1 and pa.types.is_string(column.type):
        column = column.cast(pa.large_string())
    return column.combine_chunks()


def _type_name(t: pa.DataType) -> str:
    """A type's name without what a Parquet round trip changes (names of list children, nullability)."""
    if pa.types.is_map(t):
        return f"map<{_type_name(t.key_type)},{_type_name(t.item_type)}>"
    if pa.types.is_fixed_size_list(t):
        return f"list[{t.list_size}]<{_type_name(t.value_type)}>"
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return f"list<{_type_name(t.value_type)}>"
    if pa.types.is_struct(t):
        return (
            "struct<" + ",".join(f"{t.field(i).name}:{_type_name(t.field(i).type)}" for i in range(t.num_fields)) + ">"
        )
    if pa.types.is_dictionary(t):
        return _type_name(t.value_type)
    return {"large_string": "string", "large_binary": "binary"}.get(str(t), str(t))


def _update(h: hashlib.blake2b, array: pa.Array) -> None:
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    t = array.type
    if pa.types.is_dictionary(t):
        array, t = array.dictionary_decode(), t.value_type
    h.update(b"\1" if array.null_count else b"\0")
    if array.null_count:
        h.update(np.packbits(array.is_valid().to_numpy(zero_copy_only=False)).tobytes())
    if pa.types.is_null(t):
        return
    if pa.types.is_struct(t):
        for i in range(t.num_fields):
            _update(h, pc.struct_field(array, i))
    elif pa.types.is_fixed_size_list(t) or pa.types.is_list(t) or pa.types.is_large_list(t):
        if not pa.types.is_fixed_size_list(t) or array.null_count:
            h.update(pc.fill_null(pc.cast(pc.list_value_length(array), pa.int64()), 0).to_numpy().tobytes())
        _update(h, array.flatten())
    elif pa.types.is_map(t):
        listed = array.cast(pa.list_(pa.struct([("key", t.key_type), ("value", t.item_type)])))
        _update(h, listed)
    elif pa.types.is_fixed_size_binary(t):
        _update_bytes(h, [pc.cast(array, pa.binary())])
    elif _has_bytes(t):
        _update_bytes(h, [array])
    elif pa.types.is_boolean(t):
        h.update(np.packbits(pc.fill_null(array, False).to_numpy(zero_copy_only=False)).tobytes())
    else:
        filled = pc.fill_null(array, pa.scalar(0).cast(t)) if array.null_count else array
        h.update(np.ascontiguousarray(filled.to_numpy(zero_copy_only=False)).tobytes())


def _has_bytes(t: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(t) or pa.types.is_binary(t) or pa.types.is_large_string(t) or pa.types.is_large_binary(t)
    )


def _update_bytes(h: hashlib.blake2b, chunks: Iterable[pa.Array]) -> None:
    """Lengths and the concatenated bytes of the slots that are not NULL."""
    values = []
    for chunk in filter(len, chunks):
        array = pc.cast(pc.drop_null(chunk) if chunk.null_count else chunk, pa.large_binary())
        offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array) + 1]
        h.update(np.diff(offsets).tobytes())
        if len(array) and array.buffers()[2] is not None:
            values.append(memoryview(array.buffers()[2])[offsets[0] : offsets[-1]])
    for value in values:
        h.update(value)
