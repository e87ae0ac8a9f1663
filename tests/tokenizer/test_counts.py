from collections import Counter

import pyarrow as pa
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenizer import counts
from tokenizer.patterns import pattern

SPAN = pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64()), ("token", pa.string())]))
O200K = pattern("o200k")
texts = st.lists(st.text("aB'1 \n/é日\u0301😀", max_size=12), max_size=6)


def rows(table: pa.Table) -> list[tuple]:
    return [tuple(row.values()) for row in table.to_pylist()]


def by_hand(documents: list[list[str]]) -> list[tuple[bytes, int, int]]:
    """Counts of documents that are given as stretches of ordinary text."""
    pieces = [[p.encode() for s in stretches for p in regex.findall(O200K.regex, s)] for stretches in documents]
    occurrences = Counter(p for document in pieces for p in document)
    holding = Counter(p for document in pieces for p in set(document))
    return [(p, occurrences[p], holding[p]) for p in sorted(occurrences)]


@settings(max_examples=200, deadline=None)
@given(texts)
def test_counts_equal_those_of_the_expression_and_are_sorted_by_bytes(documents):
    for column in (pa.array(documents, pa.string()), pa.chunked_array([documents], pa.large_string())):
        assert rows(counts.count_pieces(column, None, O200K)) == by_hand([[d] for d in documents])


@pytest.mark.parametrize("name", ["gpt2", "starcoder", "bytes", r"\w+"])
def test_the_pieces_of_every_pattern_join_to_the_text(name):
    table = counts.count_pieces(pa.array(["don't 12 été\n", "é 日本  x"]), None, pattern(name))
    assert sum(len(p) * n for p, n, _ in rows(table)) == len("don't 12 été\né 日本  x".encode())


def test_a_slice_and_nulls_are_counted_as_they_are():
    column = pa.array(["zz", "a b", None, "b", "zz"]).slice(1, 3)
    assert rows(counts.count_pieces(column, None, O200K)) == [(b" b", 1, 1), (b"a", 1, 1), (b"b", 1, 1)]


def test_trusted_spans_are_cut_out_and_look_alike_text_is_ordinary():
    text = "é<|mail|>x <|mail|> y"
    spans = pa.array([[{"start": 1, "end": 9, "token": "<|mail|>"}], None, []], SPAN)
    table = counts.count_pieces(pa.array([text, "<|mail|>", "é"]), spans, O200K, ["<|mail|>"])
    assert rows(table) == by_hand([["é", "x <|mail|> y"], ["<|mail|>"], ["é"]])


def test_pieces_never_cross_a_span():
    spans = pa.array([[{"start": 1, "end": 4, "token": "<P>"}, {"start": 4, "end": 7, "token": "<P>"}]], SPAN)
    table = counts.count_pieces(pa.array(["a<P><P>b"]), spans, O200K, ["<P>"])
    assert rows(table) == [(b"a", 1, 1), (b"b", 1, 1)]


def test_plain_text_is_cut_at_the_declared_strings_longest_first():
    table = counts.count_plain_pieces(pa.array(["a<|x|>b<|x|>>c", "<|x|>", "d"]), O200K, ["<|x|>", "<|x|>>"])
    assert rows(table) == [(b"a", 1, 1), (b"b", 1, 1), (b"c", 1, 1), (b"d", 1, 1)]


@pytest.mark.parametrize(
    ("span", "message"),
    [
        ((0, 3, "<Q>"), "row 1: the placeholder '<Q>' at 0 is not a declared special token; declare it"),
        ((1, 4, "<P>"), "row 1: span 1..4 does not cover '<P>'"),
        ((9, 12, "<P>"), "row 1: span 9..12 does not cover '<P>'"),
    ],
)
def test_a_span_that_is_wrong_is_refused_with_its_row(span, message):
    spans = pa.array([[], [dict(zip(("start", "end", "token"), span, strict=True))]], SPAN)
    with pytest.raises(ValueError, match=message):
        counts.count_pieces(pa.array(["x", "<P>"]), spans, O200K, ["<P>"])


def test_overlapping_spans_are_refused():
    span = {"start": 0, "end": 3, "token": "<P>"}
    with pytest.raises(ValueError, match="overlaps the span before it"):
        counts.count_pieces(pa.array(["<P>"]), pa.array([[span, span]], SPAN), O200K, ["<P>"])


def test_spans_of_another_number_of_rows_are_refused():
    with pytest.raises(ValueError, match="spans: 1 rows for 2 texts"):
        counts.count_pieces(pa.array(["a", "b"]), pa.array([[]], SPAN), O200K)


def test_texts_of_another_type_are_refused():
    with pytest.raises(ValueError, match="expected an Arrow string or large_string array, got binary"):
        counts.count_pieces(pa.array([b"a"]), None, O200K)


def test_text_that_is_not_utf8_is_refused():
    bad = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\x01\0\0\0"), pa.py_buffer(b"\xe9"))
    with pytest.raises(ValueError, match="decode the text to valid UTF-8 first"):
        counts.count_pieces(bad, None, O200K)


def test_counts_by_group_are_apart_for_each_source_and_license():
    groups = pa.table({"source": ["s", "t", "s", "s"], "license": ["A", "A", "B", "A"]})
    table = counts.count_pieces_by_group(pa.array(["x", "x x", "x", "x"]), None, groups, O200K)
    assert table.column_names == ["piece", "source", "license", "count", "documents"]
    assert rows(table) == [
        (b" x", "t", "A", 1, 1),
        (b"x", "s", "A", 2, 2),
        (b"x", "s", "B", 1, 1),
        (b"x", "t", "A", 1, 1),
    ]
    empty = counts.count_pieces_by_group(pa.array([], pa.string()), None, groups.slice(0, 0), O200K)
    assert empty.schema.names == table.schema.names and empty.num_rows == 0


def test_groups_of_another_number_of_rows_are_refused():
    with pytest.raises(ValueError, match="groups: 1 rows for 2 texts"):
        counts.count_pieces_by_group(pa.array(["a", "b"]), None, pa.table({"source": ["s"]}), O200K)


@settings(max_examples=60, deadline=None)
@given(texts, st.integers(0, 6))
def test_the_counts_of_parts_add_up_to_those_of_the_whole(documents, cut):
    parts = [pa.array(part, pa.string()) for part in (documents[:cut], documents[cut:])]
    merged = counts.merge_counts([counts.count_pieces(part, None, O200K) for part in parts])
    assert merged.equals(counts.count_pieces(pa.array(documents, pa.string()), None, O200K))


def test_blocks_do_not_change_the_counts(monkeypatch):
    documents = [f"word{k % 7} é{k}" for k in range(100)]
    whole = counts.count_plain_pieces(pa.array(documents), O200K, ["é3"])
    monkeypatch.setattr(counts.splitting.blocks, "__defaults__", (20,))
    assert counts.count_plain_pieces(pa.array(documents), O200K, ["é3"]).equals(whole)


def test_weights_become_the_smallest_whole_numbers():
    assert counts.integer_multipliers({"a": 1.0, "b": 2.0}) == {"a": 1, "b": 2}
    assert counts.integer_multipliers({"a": 0.5, "b": 0.75}) == {"a": 2, "b": 3}
    assert counts.integer_multipliers({"a": 3.0}) == {"a": 1}
    assert counts.integer_multipliers({}) == {}
    with pytest.raises(ValueError, match=r"weights of sources lie too far apart: one would count 1e\+303 times"):
        counts.integer_multipliers({"a": 1e300, "b": 0.0001})
    with pytest.raises(ValueError, match=r"weight: 0\.0 of source 'a' must be a finite number above 0"):
        counts.integer_multipliers({"a": 0.0})


def test_multipliers_act_on_counts_and_not_on_documents():
    groups = pa.table({"source": ["s", "t"]})
    table = counts.count_pieces_by_group(pa.array(["x x", "x"]), None, groups, O200K)
    assert rows(counts.total_counts(table, {"s": 3, "t": 2})) == [(b" x", 3, 1), (b"x", 5, 2)]
    assert rows(counts.total_counts(table)) == [(b" x", 1, 1), (b"x", 2, 2)]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_the_counts(threads, monkeypatch):
    documents = [f"word{k % 7} é{k} a rather long piece{k % 3} <P>" for k in range(300)]
    whole = counts.count_plain_pieces(pa.array(documents), O200K, ["<P>"])
    monkeypatch.setattr(counts.splitting.blocks, "__defaults__", (500,))
    assert counts.count_plain_pieces(pa.array(documents), O200K, ["<P>"], threads).equals(whole)


def test_pieces_are_counted_in_their_normalised_form():
    table = counts.count_pieces(pa.array(["e\u0301", "é"]), None, O200K, (), "NFC")
    assert rows(table) == [("é".encode(), 2, 2)]


def test_a_temperature_flattens_the_shares_of_sources():
    sizes = {"big": 900, "small": 100}
    assert counts.tempered({"big": 1.0, "small": 1.0}, sizes, 1) == {"big": 1.0, "small": 1.0}
    found = counts.tempered({"big": 1.0, "small": 1.0, "none": 2.0}, sizes, 2)
    assert found["big"] * 900 == pytest.approx(3 * found["small"] * 100)  # square roots: 30 to 10
    assert found["none"] == 2.0
    with pytest.raises(ValueError, match=r"temperature: 0\.5 must be a finite number of 1 or more"):
        counts.tempered({"big": 1.0}, sizes, 0.5)
