from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import pieces

words = st.binary(min_size=1, max_size=20) | st.sampled_from(
    [b"a", b"aaaaaaa", b"aaaaaaaa", b"\x00", b"\x00" * 7, b"x" * 40]
)


def count(documents: list[list[bytes]]) -> pieces.PieceTable:
    flat = [word for document in documents for word in document]
    data = b"".join(flat)
    ends = np.cumsum([len(word) for word in flat], dtype=np.int64)
    before = np.cumsum([0, *map(len, documents)], dtype=np.int64)
    starts = np.concatenate([[0], ends]).astype(np.int64)[before[:-1]]
    table = pieces.PieceTable()
    table.count(np.frombuffer(data, np.uint8), starts, ends, before, np.arange(1, len(documents) + 1))
    return table


def listed(table: pieces.PieceTable) -> dict[bytes, tuple[int, int]]:
    store, offsets, counts, documents = table.listing()
    parts = [store[a:b].tobytes() for a, b in pairwise(offsets)]
    assert len(set(parts)) == len(parts) == table.pieces
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
    table = count([[b"ab", b"cd"]])
    more = np.frombuffer(b"abef", np.uint8)
    table.count(more, np.array([0]), np.array([2, 4]), np.array([0, 2]), np.array([7]))
    assert listed(table) == {b"ab": (2, 2), b"cd": (1, 1), b"ef": (1, 1)}


def test_text_far_into_a_buffer_takes_no_more_room_than_its_own():
    data = np.zeros(1 << 22, np.uint8)
    data[-2:] = [97, 98]
    table = pieces.PieceTable()
    table.count(data, np.array([len(data) - 2]), np.array([len(data)]), np.array([0, 1]), np.array([1]))
    assert listed(table) == {b"ab": (1, 1)}
    assert table.capacity < 1 << 20


def hash_of(piece: bytes) -> int:
    """The key of a piece of more than sixteen bytes, in Python's integers."""
    mask, spread = 2**64 - 1, pieces.SPREAD
    key = len(piece)
    for q in range(7, len(piece), 8):
        key = ((key ^ int.from_bytes(piece[q - 7 : q + 1], "big")) * spread) & mask
        signed = key - 2**64 if key >> 63 else key
        key = (signed ^ (signed >> 32)) & mask
    return ((key ^ int.from_bytes(piece[-8:], "big")) * spread) & mask | 1 << 63


def with_the_hash_of(piece: bytes, changed: bytes) -> bytes:
    """The bytes `changed` in the place of the second eight of a piece, and a third eight that give the same hash."""
    spread, mask = pieces.SPREAD, 2**64 - 1

    def state(parts: bytes) -> int:
        key = len(piece)
        for q in range(0, len(parts), 8):
            key = ((key ^ int.from_bytes(parts[q : q + 8], "big")) * spread) & mask
            signed = key - 2**64 if key >> 63 else key
            key = (signed ^ (signed >> 32)) & mask
        return key

    third = state(piece[:16]) ^ int.from_bytes(piece[16:24], "big") ^ state(piece[:8] + changed)
    return piece[:8] + changed + third.to_bytes(8, "big") + piece[24:]


def test_pieces_with_one_hash_are_told_apart_by_their_bytes():
    one = b"abcdefghijklmnopqrstuvwxyz012345"
    two = with_the_hash_of(one, b"########")
    assert one != two and hash_of(one) == hash_of(two) and (one[:8], one[-8:]) == (two[:8], two[-8:])
    table = count([[one, two, one]])
    keys = table._slots[:, pieces.KEY]
    assert keys[keys != 0].tolist() == [hash_of(one) - 2**64] * 2
    assert listed(table) == {one: (2, 1), two: (1, 1)}
    assert listed(count([[b"12345678", b"12345679", b"12345678"]])) == {b"12345678": (2, 1), b"12345679": (1, 1)}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(words, max_size=20), max_size=6), st.integers(0, 6))
def test_a_table_takes_up_the_counts_of_another(documents, cut):
    both = count(documents[:cut])
    both.absorb(count(documents[cut:]))
    assert listed(both) == expected(documents)


def test_a_table_grows_while_it_takes_up_another():
    documents = [[b"%d" % (k * (d + 1)) for k in range(9000)] for d in range(2)]
    both = count(documents[:1])
    both.absorb(count(documents[1:]))
    assert listed(both) == expected(documents)
