from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import pieces

words = st.binary(min_size=1, max_size=12) | st.sampled_from(
    [b"a", b"aaaaaaa", b"aaaaaaaa", b"\x00", b"\x00" * 7, b"x" * 40]
)


def count(documents: list[list[bytes]], state=None):
    flat = [word for document in documents for word in document]
    data = b"".join(flat)
    ends = np.cumsum([len(word) for word in flat], dtype=np.int64)
    before = np.cumsum([0, *map(len, documents)], dtype=np.int64)
    starts = np.concatenate([[0], ends]).astype(np.int64)[before[:-1]]
    numbers = np.arange(1, len(documents) + 1)
    rows, store, number, used = state or pieces.empty_table()
    return pieces.count(np.frombuffer(data, np.uint8), starts, ends, before, numbers, rows, store, number, used)


def listed(state) -> dict[bytes, tuple[int, int]]:
    store, offsets, counts, documents = pieces.listing(state[0], state[1], state[3])
    parts = [store[a:b].tobytes() for a, b in pairwise(offsets)]
    assert len(set(parts)) == len(parts) == state[2]
    return dict(zip(parts, zip(counts.tolist(), documents.tolist(), strict=True), strict=True))


def expected(documents: list[list[bytes]]) -> dict[bytes, tuple[int, int]]:
    occurrences = Counter(word for document in documents for word in document)
    holding = Counter(word for document in documents for word in set(document))
    return {word: (n, holding[word]) for word, n in occurrences.items()}


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(words, max_size=20), max_size=6))
def test_counts_equal_a_dictionary(documents):
    assert listed(count(documents)) == expected(documents)


def test_the_table_and_the_store_grow():
    documents = [[b"%d" % (k % 9000) for k in range(d, 20000, 2)] + [b"long piece %d" % d * 3] for d in range(3)]
    assert listed(count(documents)) == expected(documents)


def test_a_table_goes_on_where_it_stopped():
    state = count([[b"ab", b"cd"]])
    rows, store, number, used = state
    more = np.frombuffer(b"abef", np.uint8)
    one = np.array([0]), np.array([2, 4]), np.array([0, 2]), np.array([7])
    assert listed(pieces.count(more, *one, rows, store, number, used)) == {b"ab": (2, 2), b"cd": (1, 1), b"ef": (1, 1)}


def test_pieces_with_one_hash_are_told_apart_by_their_bytes():
    state = count([[b"12345678", b"12345679", b"12345678"]])
    rows = state[0]
    full = np.flatnonzero(rows[:, pieces.KEY])
    assert listed(state) == {b"12345678": (2, 1), b"12345679": (1, 1)}
    assert (rows[full, pieces.KEY] < 0).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(words, max_size=20), max_size=6), st.integers(0, 6))
def test_a_table_takes_up_the_counts_of_another(documents, cut):
    one, two = count(documents[:cut]), count(documents[cut:])
    store, offsets, counts, holding = pieces.listing(two[0], two[1], two[3])
    both = pieces.absorb(store, offsets[1:].copy(), counts, holding, *one)
    assert listed(both) == expected(documents)
