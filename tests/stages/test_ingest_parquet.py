"""Parquet: one document a row, exact values, and files that are none."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ingest_reading import Result, read, write

from pipeline.hashing import canonical_json, identity
from pipeline.sources import UnreadableFileError
from stages.ingest import rows


def parquet(folder: Path, columns: dict[str, Any], name: str = "a.parquet", **options: Any) -> Path:
    pq.write_table(pa.table(columns), folder / name, **options)
    return folder / name


def metadata(result: Result) -> list[Any]:
    return [json.loads(row["metadata"]) for row in result.documents]


def test_rows_become_documents_and_other_columns_metadata(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {
        "id": ["007", "8"],
        "text": ["2024", None],
        "url": ["u", "v"],
        "n": [9007199254740993, 1],
        "when": ["25-11-2025", None],
        "license": ["MIT", "MIT"],
    }
    result = read(parquet(tmp_path, columns), id_field="id", license_field="license")
    (row,) = result.documents
    assert (row["text"], row["url"], row["license"], row["record"]) == ("2024", "u", "MIT", "a.parquet:1")
    assert row["metadata"] == '{"id":"007","n":9007199254740993,"when":"25-11-2025","license":"MIT"}'
    raw = canonical_json({k: v[0] for k, v in columns.items()})
    assert row["doc_id"] == identity("web", "007", raw.encode())
    assert [(r["record"], r["reason"]) for r in result.quarantine] == [("a.parquet:2", "text_null")]


def test_par_01_nulls_first_and_values_later_are_both_kept(tmp_path: Path) -> None:
    """PAR-01."""
    metas = [{"lang": None}, {"lang": "zh"}]
    path = parquet(tmp_path, {"text": ["a", "b"], "meta": metas, "extra": [None, "x"]}, row_group_size=1)
    assert metadata(read(path)) == [{"meta": metas[0], "extra": None}, {"meta": metas[1], "extra": "x"}]


def test_par_01_a_column_of_another_type_in_the_next_file_or_only_there_is_kept_as_it_is(tmp_path: Path) -> None:
    """PAR-01: documents have a declared schema and metadata is JSON, so no type of one file binds another."""
    first = parquet(tmp_path, {"id": ["1"], "text": ["a"], "meta": [{"lang": None}], "n": [7]}, "a.parquet")
    second = parquet(
        tmp_path, {"id": ["2"], "text": ["b"], "meta": [{"lang": "zh"}], "n": ["07"], "extra": ["x"]}, "b.parquet"
    )
    assert metadata(read(first)) == [{"id": "1", "meta": {"lang": None}, "n": 7}]
    assert metadata(read(second)) == [{"id": "2", "meta": {"lang": "zh"}, "n": "07", "extra": "x"}]


TEXT_TYPES = [
    *(pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())),
    *(pa.binary(), pa.large_binary()),
]


@pytest.mark.parametrize("kind", TEXT_TYPES, ids=str)
def test_par_02_every_type_of_string_is_the_same_text_with_the_same_identity(tmp_path: Path, kind: pa.DataType) -> None:
    """PAR-02: string and large_string are one type of text."""
    texts = ["a", None, "渡船九点开"]
    plain = pa.array(texts)
    array = plain.dictionary_encode() if pa.types.is_dictionary(kind) else plain.cast(kind)
    result = read(parquet(tmp_path, {"text": array, "k": [1, 2, 3]}))
    assert result.texts == ["a", "渡船九点开"]
    as_string = read(parquet(tmp_path, {"text": texts, "k": [1, 2, 3]}))
    assert [r["doc_id"] for r in result.documents] == [r["doc_id"] for r in as_string.documents]


def test_par_02_batches_are_split_by_bytes_not_only_by_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PAR-02."""
    monkeypatch.setattr(rows, "BATCH_BYTES", 1 << 20)
    texts = [c * 629_146 for c in "abc"]  # 0.6 MiB
    for kind in (pa.string(), pa.large_string()):
        result = read(parquet(tmp_path, {"text": pa.array(texts, kind)}))
        assert (result.texts, result.batches) == (texts, 3)
    monkeypatch.setattr(rows, "BATCH_BYTES", 1000)  # one document above it is a batch of its own
    assert read(parquet(tmp_path, {"text": texts})).batches == 3
    large = read(parquet(tmp_path, {"text": ["a", *texts]}), {"max_record_bytes": 629_145})
    assert (large.texts, large.reasons) == (["a"], {"record_too_large": 3})


def test_par_04_what_is_no_parquet_file_is_named_in_the_error(tmp_path: Path) -> None:
    """PAR-04: by default the run stops with this error."""
    good = parquet(tmp_path, {"text": [f"document {i} " * 20 for i in range(100)]}, "good.parquet")
    whole = good.read_bytes()
    assert len(read(good).documents) == 100
    files = {
        "cut.parquet": whole[: len(whole) * 6 // 10],
        "empty.parquet": b"",
        "text.parquet": b'{"text":"a JSON Lines file with the wrong name"}\n',
    }
    for name, content in files.items():
        with pytest.raises(UnreadableFileError) as caught:
            read(write(tmp_path, name, content))
        assert (caught.value.file, caught.value.reason) == (name, "not_parquet")
        assert str(caught.value).startswith(f"{name}: not a complete Parquet file; write it anew, or give")


def test_a_file_without_a_column_of_text_says_what_it_has(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError) as caught:
        read(parquet(tmp_path, {"body": ["a"], "n": [1]}))
    assert caught.value.detail == (
        "no column of strings named 'text': the columns are body, n; set the source's `text_field`"
    )
    with pytest.raises(UnreadableFileError, match="no column of strings named 'n': it is int64"):
        read(parquet(tmp_path, {"text": ["a"], "n": [1]}), text_field="n")


def test_values_of_all_kinds_have_one_exact_spelling(tmp_path: Path) -> None:
    moment = dt.datetime(2025, 11, 25, 8, 30, 1, 5, tzinfo=dt.UTC)
    columns = {
        "text": ["a"],
        "u64": pa.array([2**64 - 1], pa.uint64()),
        "f": [0.1],
        "f32": pa.array([0.5], pa.float32()),
        "nan": [float("nan")],
        "inf": [[float("-inf"), 1.0]],
        "dec": [decimal.Decimal("12345678901234567890.120")],
        "day": [dt.date(2025, 11, 25)],
        "ns": pa.array([1], pa.timestamp("ns")),
        "zone": pa.array([moment], pa.timestamp("us", "Asia/Shanghai")),
        "nested": [[{"at": moment, "b": b"\xff\x00"}]],
        "map": pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int64())),
        "bytes": [b"\x00\xff"],
        "cat": pa.array(["x"]).dictionary_encode(),
        "flag": [True],
        "none": pa.nulls(1),
    }
    (row,) = read(parquet(tmp_path, columns)).documents
    assert json.loads(row["metadata"]) == {
        "u64": 2**64 - 1,
        "f": 0.1,
        "f32": 0.5,
        "nan": "NaN",
        "inf": ["-Infinity", 1.0],
        "dec": "12345678901234567890.120",
        "day": "2025-11-25",
        "ns": "1970-01-01 00:00:00.000000001",
        "zone": "2025-11-25 08:30:01.000005Z",
        "nested": [{"at": "2025-11-25 08:30:01.000005Z", "b": "/wA="}],
        "map": [{"key": "k", "value": 1}, {"key": "k", "value": 2}],
        "bytes": "AP8=",
        "cat": "x",
        "flag": True,
        "none": None,
    }


def test_a_string_column_that_is_not_utf_8_is_decoded_or_rejects_its_row(tmp_path: Path) -> None:
    russian = "Паром отходит в девять, он везёт почту и лес."
    raw = pa.array([russian.encode("cp1251"), b"plain", b"other"])
    broken = pa.array([b"ok", b"\xff\xfe", b"ok"])
    columns = {"text": _unchecked(raw), "k": _unchecked(broken)}
    result = read(parquet(tmp_path, columns), encoding="windows-1251")
    assert result.texts == [russian, "other"]
    assert [r["encoding_by"] for r in result.documents] == ["declared", "utf-8"]
    assert [(r["record"], r["reason"], r["detail"]) for r in result.quarantine] == [
        ("a.parquet:2", "undecodable", "column 'k' holds strings that are not UTF-8")
    ]


def _unchecked(values: pa.Array) -> pa.Array:
    """The bytes under the type of strings, as careless writers store them."""
    return pa.Array.from_buffers(pa.string(), len(values), values.buffers())


def test_a_text_of_control_characters_is_binary_and_a_nul_is_removed(tmp_path: Path) -> None:
    result = read(parquet(tmp_path, {"text": ["oscar" + "\0" * 64, "width 3\0 to 5 cm"], "title": ["a", "b\0c"]}))
    assert (result.texts, result.reasons) == (["width 3 to 5 cm"], {"binary_content": 1})
    assert (result.documents[0]["title"], result.documents[0]["nuls"]) == ("bc", 2)


def test_damage_behind_the_footer_s_back_keeps_the_rows_before_it(tmp_path: Path) -> None:
    texts = [f"document {i} {i * i * 7919}" for i in range(2000)]
    path = parquet(tmp_path, {"text": texts}, row_group_size=500, compression="zstd", write_page_checksum=True)
    whole = bytearray(path.read_bytes())
    at = pq.ParquetFile(path).metadata.row_group(3).column(0).data_page_offset + 200
    whole[at] ^= 0xFF
    result = read(write(tmp_path, "b.parquet", bytes(whole)))
    assert result.texts == texts[:1500]
    assert [(r["record"], r["reason"]) for r in result.quarantine] == [("b.parquet:1501", "corrupt_stream")]


def test_damage_in_a_row_group_costs_none_of_the_groups_behind_it(tmp_path: Path) -> None:
    texts = [f"document {i} {i * i * 7919}" for i in range(2000)]
    path = parquet(tmp_path, {"text": texts}, row_group_size=500, compression="zstd", write_page_checksum=True)
    whole, metadata = bytearray(path.read_bytes()), pq.ParquetFile(path).metadata
    for group in (0, 2):
        whole[metadata.row_group(group).column(0).data_page_offset + 200] ^= 0xFF
    result = read(write(tmp_path, "b.parquet", bytes(whole)))
    assert result.texts == texts[500:1000] + texts[1500:]
    assert [r["record"] for r in result.documents][::500] == ["b.parquet:501", "b.parquet:1501"]
    assert [(r["record"], r["reason"], r["detail"]) for r in result.quarantine] == [
        ("b.parquet:1", "corrupt_stream", "damaged Parquet data; the rows up to 500 are lost"),
        ("b.parquet:1001", "corrupt_stream", "damaged Parquet data; the rows up to 1500 are lost"),
    ]


def test_an_empty_table_gives_one_empty_batch(tmp_path: Path) -> None:
    result = read(parquet(tmp_path, {"text": pa.array([], pa.string())}))
    assert (result.batches, result.records) == (1, 0)
