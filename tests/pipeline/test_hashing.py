"""Content hashes say what a table says, and nothing of how it is stored."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.documents import PLACEHOLDER
from pipeline.hashing import canonical_json, document_id, identity, json_hash, table_hash

SCHEMA = pa.schema(
    [
        ("text", pa.large_string()),
        ("raw", pa.binary()),
        ("count", pa.int64()),
        ("score", pa.float64()),
        ("keep", pa.bool_()),
        ("failed", pa.list_(pa.string())),
        ("placeholders", pa.list_(PLACEHOLDER)),
        ("signature", pa.list_(pa.uint32(), 2)),
    ]
)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
SPANS = st.fixed_dictionaries({"start": st.none() | NUMBERS, "end": st.none() | NUMBERS, "token": st.none() | WORDS})
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": WORDS,
    "raw": st.binary(max_size=6),
    "count": NUMBERS,
    "score": st.floats(allow_nan=False),
    "keep": st.booleans(),
    "failed": st.lists(st.none() | WORDS, max_size=3),
    "placeholders": st.lists(st.none() | SPANS, max_size=2),
    "signature": st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=2),
}
ROWS = st.lists(st.fixed_dictionaries({k: st.none() | v for k, v in VALUES.items()}), max_size=8)
QUICK = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@QUICK
@given(rows=ROWS, cuts=st.lists(st.integers(0, 8), max_size=4), before=st.integers(0, 3))
def test_a_table_hash_does_not_depend_on_chunks_or_offsets(
    rows: list[dict[str, Any]], cuts: list[int], before: int
) -> None:
    whole = table(rows)
    ends = sorted({0, len(rows), *(c for c in cuts if c <= len(rows))})
    chunks = [whole.slice(a, b - a) for a, b in pairwise(ends)]
    assert table_hash(pa.concat_tables([*chunks, SCHEMA.empty_table()])) == table_hash(whole)
    padded = table([{k: None for k in SCHEMA.names}] * before + rows + rows)
    assert table_hash(padded.slice(before, len(rows))) == table_hash(whole)


@QUICK
@given(
    rows=ROWS,
    group=st.integers(1, 9),
    compression=st.sampled_from(["none", "zstd", "gzip", "snappy"]),
    dictionary=st.booleans(),
)
def test_a_table_hash_survives_any_way_through_parquet(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], group: int, compression: str, dictionary: bool
) -> None:
    path = tmp_path_factory.mktemp("parquet") / "t.parquet"
    pq.write_table(table(rows), path, row_group_size=group, compression=compression, use_dictionary=dictionary)
    assert table_hash(pq.read_table(path)) == table_hash(table(rows))


@QUICK
@given(rows=ROWS)
def test_string_and_large_string_say_the_same(rows: list[dict[str, Any]]) -> None:
    narrow = table(rows)
    wide = narrow.cast(
        pa.schema(
            [
                (f.name, pa.large_binary() if f.name == "raw" else pa.string() if f.name == "text" else f.type)
                for f in SCHEMA
            ]
        )
    )
    assert table_hash(wide) == table_hash(narrow)


@QUICK
@given(rows=ROWS.filter(bool), data=st.data())
def test_a_table_hash_differs_when_one_value_changes(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.sampled_from(sorted(VALUES)))
    value = data.draw(st.none() | VALUES[column])
    changed = [dict(r) for r in rows]
    changed[row][column] = value
    # 0.0 and -0.0 are equal to Python and not to a hash of bits
    same = repr(value) == repr(rows[row][column])
    assert (table_hash(table(changed)) == table_hash(table(rows))) == same


@QUICK
@given(rows=ROWS)
def test_a_table_hash_differs_when_the_order_of_rows_changes(rows: list[dict[str, Any]]) -> None:
    turned = rows[::-1]
    assert (table_hash(table(turned)) == table_hash(table(rows))) == (repr(turned) == repr(rows))


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.float64(), pa.bool_(), pa.uint8()])
def test_what_lies_in_a_null_slot_does_not_count(kind: pa.DataType) -> None:
    valid = pa.array([True, False, True]).buffers()[1]
    arrays = [
        pa.Array.from_buffers(kind, 3, [valid, pa.array(v).cast(kind).buffers()[1]]) for v in ([1, 0, 1], [1, 1, 1])
    ]
    first, second = (table_hash(pa.table({"a": a})) for a in arrays)
    assert first == second


def test_bytes_under_a_null_string_do_not_count() -> None:
    valid = pa.array([True, False, True]).buffers()[1]
    hidden = pa.array(["a", "hidden", "b"])
    masked = pa.Array.from_buffers(pa.string(), 3, [valid, *hidden.buffers()[1:]])
    assert masked.to_pylist() == ["a", None, "b"]
    assert table_hash(pa.table({"a": masked})) == table_hash(pa.table({"a": pa.array(["a", None, "b"])}))


def test_null_zero_and_empty_are_three_things() -> None:
    for kind, empty in ((pa.string(), ""), (pa.int64(), 0), (pa.bool_(), False), (pa.list_(pa.string()), [])):
        assert table_hash(pa.table({"a": pa.array([None], kind)})) != table_hash(
            pa.table({"a": pa.array([empty], kind)})
        )
    one, two = pa.array([[], ["a"]]), pa.array([["a"], []])
    assert table_hash(pa.table({"a": one})) != table_hash(pa.table({"a": two}))


def test_text_cannot_move_from_one_row_or_column_to_the_next() -> None:
    assert table_hash(pa.table({"a": ["ab", "c"]})) != table_hash(pa.table({"a": ["a", "bc"]}))
    assert table_hash(pa.table({"a": ["ab"], "b": [""]})) != table_hash(pa.table({"a": ["a"], "b": ["b"]}))
    assert table_hash(pa.table({"a": ["x"] * 0})) != table_hash(pa.table({"a": [""]}))


def test_names_types_and_order_of_columns_count() -> None:
    hashes = {
        table_hash(pa.table({"a": [1], "b": [1]})),
        table_hash(pa.table({"a": [1], "c": [1]})),
        table_hash(pa.table({"b": [1], "a": [1]})),
        table_hash(pa.table({"a": [1], "b": pa.array([1], pa.int32())})),
        table_hash(pa.table({"a": [1]})),
    }
    assert len(hashes) == 5


def test_empty_tables_of_different_schemas_differ_and_of_one_schema_agree() -> None:
    assert table_hash(SCHEMA.empty_table()) == table_hash(table([]))
    assert table_hash(pa.table({"a": pa.array([], pa.int64())})) != table_hash(
        pa.table({"a": pa.array([], pa.string())})
    )


def test_where_a_record_stood_is_outside_the_content_hash() -> None:
    rows = {"doc_id": ["1"], "text": ["x"]}
    assert table_hash(pa.table(rows | {"record": ["a.jsonl:1"]})) == table_hash(
        pa.table(rows | {"record": ["a.jsonl:9"]})
    )


def test_a_dictionary_encoded_column_says_what_its_values_say() -> None:
    plain = pa.array(["x", None, "y", "x"])
    assert table_hash(pa.table({"a": plain.dictionary_encode()})) == table_hash(pa.table({"a": plain}))


def test_a_map_says_its_keys_and_values() -> None:
    kind = pa.map_(pa.string(), pa.int64())
    one, two = (table_hash(pa.table({"a": pa.array([[("x", n)], None], kind)})) for n in (1, 2))
    assert one != two


def test_identity_keeps_source_own_id_and_content_apart() -> None:
    seen = {
        identity("web", None, b"text"),
        identity("web", "", b"text"),
        identity("web", "1", b"text"),
        identity("web", "1t", b"ext"),
        identity("web1", None, b"text"),
        identity("web", None, b"1text"),
    }
    assert len(seen) == 6
    assert all(len(i) == 32 for i in seen)
    assert document_id(min(seen), 0) != document_id(min(seen), 1)


def test_canonical_json_has_one_spelling() -> None:
    assert canonical_json({"b": 1.0, "a": ["é"]}) == '{"a":["é"],"b":1.0}'
    assert json_hash({"a": 1, "b": 2}) == json_hash({"b": 2, "a": 1})
    with pytest.raises(ValueError, match="Out of range"):
        canonical_json(float("nan"))


def test_a_table_hash_is_the_same_forever() -> None:
    """A changed hash makes every run folder compute anew: that must be meant."""
    known = pa.table({"doc_id": ["a", None], "n": pa.array([1, None], pa.int64()), "l": [["x"], None]})
    assert table_hash(known) == "de63dfab743125c8d322216461359699"
