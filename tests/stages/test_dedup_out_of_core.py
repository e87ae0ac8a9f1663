"""Memory decides how the work is cut, and never what comes of it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from corpus import Corpus, documents
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.hashing import table_hash
from stages.dedup import MinHash, candidates, verify
from stages.dedup.candidates import NO_KEY, Candidates
from stages.dedup.minhash import MinHashParams


def texts(generator: random.Random) -> list[str]:
    found = []
    for _ in range(150):
        base = [f"w{generator.randrange(9_000)}" for _ in range(200)]
        for _ in range(generator.choice([1, 1, 2, 5])):
            copy = list(base)
            copy[generator.randrange(200)] = f"x{generator.randrange(10**6)}"
            found.append(" ".join(copy))
    return [*found, "", "..."]


@pytest.mark.parametrize("memory", [1 << 14, 1 << 17, 1 << 20])
def test_partitions_and_batches_change_no_result(memory: int) -> None:
    given = documents(texts(random.Random(1)))
    params = MinHashParams()
    whole = Corpus(MinHash, params, [given], ("web",))
    expected = MinHash.fit(whole, params)
    small = Corpus(MinHash, params, [given.slice(0, 100), given.slice(100)], ("web",))
    small.memory = memory
    state = MinHash.fit(small, params)
    assert table_hash(state.table) == table_hash(expected.table)
    assert state.summary == expected.summary
    assert expected.table.num_rows > 100


def test_little_memory_makes_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    original = verify.Batches.write

    def write(self: Any, members: Any) -> None:
        seen.append(self.count)
        original(self, members)

    monkeypatch.setattr(verify.Batches, "write", write)
    params = MinHashParams()
    corpus = Corpus(MinHash, params, [documents(texts(random.Random(2)))], ("web",))
    corpus.memory = 1 << 16
    MinHash.fit(corpus, params)
    assert seen[0] > 5
    assert list(corpus.workspace.glob("candidates-*")) == []


small_keys = st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=1, max_size=40)


@given(small_keys, st.sampled_from([64, 640, 1 << 20]), st.integers(0, 10), st.sampled_from([1, 3]), st.data())
@settings(max_examples=60, deadline=None)
def test_buckets_are_those_of_equal_keys_whatever_the_partitions(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]], memory: int, earlier: int, batches: int, data: Any
) -> None:
    folder = tmp_path_factory.mktemp("buckets")
    spread = [-(1 << 63), -(1 << 62), -5, 0, 9, 1 << 40, (1 << 63) - 1]
    keys = np.array([[spread[k + 3] for k in row] for row in rows], np.int64).T
    weights = np.array([data.draw(st.integers(0, 2)) for _ in rows], np.int64)
    found = Candidates(folder, 3, memory)
    found.add(keys, weights)
    components = found.group(earlier)
    components.spread(batches)
    got = []
    for batch in range(batches):
        own = components.buckets(batch)
        members = np.split(own.members, own.ends[:-1]) if len(own.ends) else []
        got += [(int(b), *m.tolist()) for b, m in zip(own.band, members, strict=True)]
        assert all(components.batch_of(m, batches).tolist() == [batch] * len(m) for m in members)
    full = [d for d in range(len(rows)) if weights[d]]
    expected = {
        (band, *members)
        for band in range(3)
        for key in set(keys[band].tolist())
        if len(members := [d for d in full if keys[band][d] == key]) > 1 and members[-1] >= earlier
    }
    assert sorted(got) == sorted(expected)
    assert components.marks.nonzero()[0].tolist() == sorted({d for _, *m in expected for d in m})
    assert components.weight() == sum(int(weights[d]) for d in {d for _, *m in expected for d in m})


def test_a_key_that_equals_the_mark_of_empty_documents_still_counts(tmp_path: Path) -> None:
    found = Candidates(tmp_path, 1, 1 << 20)
    found.add(np.full((1, 4), NO_KEY), np.array([3, 0, 3, 0]))
    assert found.group(0).marks.tolist() == [True, False, True, False]


def test_documents_of_one_component_are_never_in_two_batches(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    found = Candidates(tmp_path, 4, 1 << 20)
    found.add(generator.integers(0, 400, (4, 500)), np.ones(500, np.int64))
    components = found.group(0)
    components.spread(7)
    batch = components.batch_of(np.arange(500), 7)
    for b in range(7):
        assert (batch[components.buckets(b).members] == b).all()


def test_the_number_of_batches_has_a_bound(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(verify, "OPEN_FILES", 3)
    monkeypatch.setattr(candidates, "OPEN_FILES", 3)
    params = MinHashParams()
    corpus = Corpus(MinHash, params, [documents(texts(random.Random(4)))], ("web",))
    expected = MinHash.fit(Corpus(MinHash, params, corpus.shards, ("web",)), params)
    corpus.memory = 1 << 14
    assert MinHash.fit(corpus, params).table.equals(expected.table)


def test_the_removed_documents_lie_in_a_file_and_not_in_memory() -> None:
    base = " ".join(f"w{k}" for k in range(30))
    given = documents([f"{base} {k}" for k in range(4000)])
    corpus = Corpus(MinHash, MinHashParams(), [given], ("web",))
    before = pa.total_allocated_bytes()
    state = MinHash.fit(corpus, MinHashParams())
    assert state.table.num_rows == state.summary["largest_cluster"] - 1 == 3999
    assert pa.total_allocated_bytes() - before < state.table.nbytes / 4
