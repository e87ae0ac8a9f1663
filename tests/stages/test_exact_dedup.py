"""Exact deduplication: which copy is kept, and what the verdict says."""

from __future__ import annotations

import hashlib
import random

import pyarrow as pa
import pytest
from corpus import Corpus, documents, judged, survivors
from pydantic import ValidationError

from pipeline.documents import DOCUMENTS, VERDICT
from stages.dedup import ExactDedup
from stages.dedup.exact import ExactDedupParams

PARAMS = ExactDedupParams()


def test_measures_are_the_hash_of_the_utf8_text_and_its_code_points() -> None:
    texts = ["", "abc", "你好", "😀x"]
    measures = ExactDedup.measure(documents(texts), PARAMS, None)
    expected = [hashlib.blake2b(text.encode(), digest_size=16).hexdigest() for text in texts]
    assert measures["content_hash"].to_pylist() == expected
    assert measures["characters"].to_pylist() == [0, 3, 2, 2]


def test_a_slice_and_a_chunked_table_measure_like_single_rows() -> None:
    whole = documents([f"text {k}" for k in range(10)])
    chunked = pa.concat_tables([whole.slice(2, 3), whole.slice(5, 5)])
    got = ExactDedup.measure(chunked, PARAMS, None)["content_hash"].to_pylist()
    rows = [ExactDedup.measure(whole.slice(k, 1), PARAMS, None)["content_hash"][0].as_py() for k in range(2, 10)]
    assert got == rows


def test_an_empty_shard_has_empty_measures_and_verdicts() -> None:
    empty = DOCUMENTS.empty_table()
    verdicts, state = judged(ExactDedup, PARAMS, [empty])
    assert verdicts == {}
    assert state.table.num_rows == 0


def test_of_equal_texts_the_first_in_source_order_then_by_id_is_kept() -> None:
    shard = documents(["same", "same", "same", "other"], ["a", "b", "c", "d"], ["low", "high", "high", "low"])
    verdicts, state = judged(ExactDedup, PARAMS, [shard], sources=("high", "low"))
    assert survivors(verdicts) == ["b", "d"]
    assert verdicts["a"] == {
        "keep": False,
        "rule": "exact_duplicate",
        "value": 1.0,
        "threshold": None,
        "detail": "b",
        "failed": ["exact_duplicate"],
    }
    assert [(r["doc_id"], r["kept_id"], r["jaccard"], r["containment"]) for r in state.table.to_pylist()] == [
        ("a", "b", 1.0, 1.0),
        ("c", "b", 1.0, 1.0),
    ]
    assert state.summary == {"removed": 2, "removed_as_earlier": 0, "largest_cluster": 3}


def test_texts_that_differ_in_one_space_are_not_copies() -> None:
    verdicts, _ = judged(ExactDedup, PARAMS, [documents(["a b", "a  b", "a b ", "A b"])])
    assert len(survivors(verdicts)) == 4


def test_shuffled_rows_and_shards_give_one_state() -> None:
    generator = random.Random(3)
    texts = [f"text {generator.randrange(60)}" for _ in range(200)]
    whole = documents(texts, sources=[generator.choice(["a", "b"]) for _ in texts])
    _, expected = judged(ExactDedup, PARAMS, [whole], sources=("b", "a"))
    for _ in range(5):
        rows = generator.sample(range(200), 200)
        cut = generator.randrange(201)
        shards = [whole.take(rows[:cut]), whole.take(rows[cut:])]
        _, state = judged(ExactDedup, PARAMS, shards, sources=("b", "a"))
        assert state.table.equals(expected.table)
        assert state.summary == expected.summary


def test_a_second_pass_removes_nothing() -> None:
    shard = documents(["x", "y", "x", "x", "z", "y"])
    verdicts, _ = judged(ExactDedup, PARAMS, [shard])
    kept = shard.filter(pa.array([verdicts[d]["keep"] for d in shard["doc_id"].to_pylist()]))
    again, _ = judged(ExactDedup, PARAMS, [kept])
    assert all(v["keep"] for v in again.values())
    assert len(again) == 3


def test_verdicts_have_the_declared_schema() -> None:
    corpus = Corpus(ExactDedup, PARAMS, [documents(["x", "x"])], ("web",))
    state = ExactDedup.fit(corpus, PARAMS)
    assert ExactDedup.decide(corpus.measured[0], state.table, PARAMS).schema == VERDICT


def test_deciding_without_a_state_is_an_error() -> None:
    with pytest.raises(ValueError, match="exact_dedup decides from its fitted state, and there is none"):
        ExactDedup.decide(documents(["x"]), None, PARAMS)


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        ExactDedupParams.model_validate({"priorty": ["a"]})
