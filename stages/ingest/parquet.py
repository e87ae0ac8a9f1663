"""Parquet files: one document a row; nothing is inferred, values keep their meaning in JSON metadata."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.hashing import canonical_json
from pipeline.sources import Read, Source, UnreadableFileError
from stages.ingest import rows as batches
from stages.ingest import streams
from stages.ingest.decode import RejectedError, decode
from stages.ingest.fields import take_fields, text_null
from stages.ingest.params import IngestParams
from stages.ingest.rows import Rows
from stages.ingest.streams import Location

_DAMAGE: Final = (OSError, pa.ArrowException, MemoryError, OverflowError, UnicodeDecodeError)
"""What pyarrow raises on damaged files: sizes that a damaged page claims, names that are not UTF-8."""


def read_parquet(location: Location, label: str, source: Source, params: IngestParams) -> Iterator[Read]:
    """Batches of one file. The raw content of a record is the canonical JSON of its row; `label:N` counts rows from 1.

    Raises UnreadableFileError: `not_parquet`, `text_column`.
    """
    with streams.open_input(location, label) as file:
        try:
            parquet = pq.ParquetFile(file, page_checksum_verification=True)
            schema = parquet.schema_arrow
        except _DAMAGE as error:
            raise UnreadableFileError(
                label, "not_parquet", "not a complete Parquet file; write it anew, or give the source its `format`"
            ) from error
        _check_text_column(schema, label, source.text_field)
        yield from _read_rows(parquet, label, source, params)


def _read_rows(parquet: pq.ParquetFile, label: str, source: Source, params: IngestParams) -> Iterator[Read]:
    rows, number = Rows(source, label), 0
    try:
        size = _batch_rows(parquet.metadata)
        lengths = [parquet.metadata.row_group(i).num_rows for i in range(parquet.metadata.num_row_groups)]
    except _DAMAGE:
        rows.reject(f"{label}:1", "corrupt_stream", "the file's description of its row groups is damaged")
        size, lengths = 1, []
    for group, length in enumerate(lengths):
        start, end = number + 1, number + max(0, length)
        try:  # batches never cross row groups: damage in one costs no row of another
            found = parquet.iter_batches(batch_size=size, row_groups=[group])
            for number, (raw, values) in enumerate(_records(found, source.text_field), start):
                if rows.full_with(len(raw or b"")):
                    yield rows.take()
                record = f"{label}:{number}"
                try:
                    _accept(rows, raw, values, record, source, params)
                except RejectedError as error:
                    rows.reject(record, error.reason, error.detail)
        except _DAMAGE:
            what = f"damaged Parquet data; the rows up to {max(end, number + 1)} are lost"
            rows.reject(f"{label}:{number + 1}", "corrupt_stream", what)
            number = max(end, number + 1)
    if rows.pending:
        yield rows.take()


def _batch_rows(metadata: pq.FileMetaData) -> int:
    """Rows that fit a batch on average, so that no more than a few batches are in memory."""
    size: int = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    mean: int = max(1, size // max(1, metadata.num_rows))
    return max(1, min(batches.BATCH_ROWS, batches.BATCH_BYTES // mean))


def _accept(
    rows: Rows, raw: bytes | None, values: dict[str, Any], record: str, source: Source, params: IngestParams
) -> None:
    if raw is None:
        raise text_null(source.text_field)
    if len(raw) > params.max_record_bytes:
        raise RejectedError("record_too_large", f"a text of more than {params.max_record_bytes} bytes")
    for name, value in values.items():
        if value is _NOT_UTF8:
            raise RejectedError("undecodable", f"column {name!r} holds strings that are not UTF-8")
    decoded = decode(
        raw,
        [source.encoding] if source.encoding else [],
        max_replacement_share=params.max_replacement_share,
        max_control_share=params.max_control_share,
    )
    row = canonical_json({**values, source.text_field: decoded.text})
    fields = take_fields(values, source)
    rows.accept(fields.own_id, row.encode(), record, decoded, fields)


def _records(found: Iterator[pa.RecordBatch], text_field: str) -> Iterator[tuple[bytes | None, dict[str, Any]]]:
    """Each row's text as bytes, and its other columns as JSON values."""
    for batch in found:
        others = [name for name in batch.schema.names if name != text_field]
        columns = [_json_values(batch.column(name)) for name in others]
        for raw, *values in zip(_text_bytes(batch.column(text_field)), *columns, strict=True):
            yield raw, dict(zip(others, values, strict=True))


def _check_text_column(schema: pa.Schema, label: str, name: str) -> None:
    at = schema.get_field_index(name)
    kind = schema.field(at).type if at >= 0 else None
    if kind is not None and pa.types.is_dictionary(kind):
        kind = kind.value_type
    if kind is None or not any(is_text(kind) for is_text in _TEXT_TYPES):
        has = f"it is {kind}" if kind is not None else f"the columns are {', '.join(schema.names) or 'none'}"
        raise UnreadableFileError(
            label, "text_column", f"no column of strings named {name!r}: {has}; set the source's `text_field`"
        )


_TEXT_TYPES: Final[tuple[Callable[[pa.DataType], bool], ...]] = (
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null),
    *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
)


def _text_bytes(array: pa.Array) -> list[bytes | None]:
    """Bytes of a string column: Parquet does not promise that they are UTF-8."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_string_view(array.type):
        array = pc.cast(array, pa.large_string())
    values: list[bytes | None] = pc.cast(array, pa.large_binary()).to_pylist()
    return values


_NOT_UTF8: Final = object()


def _json_values(array: pa.Array) -> list[Any]:
    """Values as JSON has them.

    Dates, times and decimals are strings (ISO 8601, times with a zone in UTC; all digits), bytes are base64, maps are
    lists of {"key", "value"}, NaN and infinities are the strings "NaN", "Infinity", "-Infinity".
    """
    try:
        for leaf in (_in_utc, _as_string):
            target = _mapped(array.type, leaf)
            array = array if target == array.type else pc.cast(array, target)
    except pa.ArrowNotImplementedError:
        return [str(value) if value.is_valid else None for value in array]
    try:
        values = array.to_pylist()
    except UnicodeDecodeError:
        values = [_value_or_mark(value) for value in array]
    return values if _is_json(array.type) else [_jsonable(value) for value in values]


def _value_or_mark(value: pa.Scalar) -> Any:
    try:
        return value.as_py()
    except UnicodeDecodeError:
        return _NOT_UTF8


def _mapped(t: pa.DataType, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """The type with `leaf` applied to what is not nested, and without dictionaries, extensions and maps."""
    if isinstance(t, pa.BaseExtensionType):
        return _mapped(t.storage_type, leaf)
    if pa.types.is_dictionary(t):
        return _mapped(t.value_type, leaf)
    if pa.types.is_map(t):
        pair = [("key", _mapped(t.key_type, leaf)), ("value", _mapped(t.item_type, leaf))]
        return pa.list_(pa.struct(pair))
    if pa.types.is_list(t) or pa.types.is_fixed_size_list(t):
        return pa.list_(_mapped(t.value_type, leaf))
    if pa.types.is_large_list(t):
        return pa.large_list(_mapped(t.value_type, leaf))
    if pa.types.is_struct(t):
        return pa.struct([(f.name, _mapped(f.type, leaf)) for f in t])
    return leaf(t)


def _in_utc(t: pa.DataType) -> pa.DataType:
    return pa.timestamp(t.unit, "UTC") if pa.types.is_timestamp(t) and t.tz else t


def _as_string(t: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_temporal(t) or pa.types.is_decimal(t) else t


def _is_json(t: pa.DataType) -> bool:
    """Are the Python values of this type JSON values as they are?"""
    return bool(
        pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_integer(t) or pa.types.is_boolean(t)
    )


def _jsonable(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list):
        return [_jsonable(v) for v in value]
    if isinstance(value, dict):
        return {k: _jsonable(v) for k, v in value.items()}
    if value is None or value is _NOT_UTF8 or isinstance(value, str | int | float):
        return value
    return str(value)
