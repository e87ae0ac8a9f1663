"""KenLM's hashes and tables equal plain Python; that whole files equal KenLM's is shown in tests/stages."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernels.lm_probing import combine, extend, hash_words, put, put_packed, word_ids

ALL = (1 << 64) - 1
KEYS = st.lists(st.integers(1, 2**64 - 1), unique=True, min_size=1, max_size=40)


def murmur(word: bytes) -> int:
    """MurmurHash64A with seed 0, as its author published it."""
    m = 0xC6A4A7935BD1E995
    h = len(word) * m & ALL
    whole = len(word) // 8 * 8
    for i in range(0, whole, 8):
        k = int.from_bytes(word[i : i + 8], "little") * m & ALL
        k = (k ^ k >> 47) * m & ALL
        h = (h ^ k) * m & ALL
    if word[whole:]:
        h = (h ^ int.from_bytes(word[whole:], "little")) * m & ALL
    h = (h ^ h >> 47) * m & ALL
    return h ^ h >> 47


def signed(keys: list[int]) -> np.ndarray:
    return np.array(keys, np.uint64).view(np.int64)


def laid_out(keys: list[int], buckets: int) -> list[int]:
    """Place of each key."""
    taken: list[int] = []
    for key in keys:
        at = key % buckets
        while at in taken:
            at = (at + 1) % buckets
        taken.append(at)
    return taken


@given(st.lists(st.binary(max_size=30), max_size=20))
def test_words_are_hashed_as_murmur_does(words: list[bytes]) -> None:
    data = np.frombuffer(b"".join(words), np.uint8)
    hashes = np.empty(len(words), np.int64)
    hash_words(data, np.cumsum([len(w) for w in words], dtype=np.int64), hashes)
    assert hashes.view(np.uint64).tolist() == [murmur(word) for word in words]


@given(KEYS, st.integers(1, 30))
def test_keys_stand_at_the_first_free_bucket_and_are_found(keys: list[int], spare: int) -> None:
    buckets = len(keys) + spare
    places = laid_out(keys, buckets)
    values = np.arange(1, len(keys) + 1)
    wide, packed = np.zeros((buckets, 2), np.int64), np.zeros((buckets, 3), np.int32)
    put(wide, signed(keys), values)
    put_packed(packed, signed(keys), values.astype(np.int32))
    assert wide[places, 0].view(np.uint64).tolist() == keys and wide[places, 1].tolist() == values.tolist()
    assert packed[places, 2].tolist() == values.tolist()
    assert np.ascontiguousarray(packed[places, :2]).view(np.uint64).ravel().tolist() == keys
    ids = np.empty((len(keys), 1), np.int32)
    assert word_ids(signed(keys), packed, ids) and ids.ravel().tolist() == values.tolist()
    absent = next(k for k in range(1, 99) if k not in keys)
    assert not word_ids(signed([absent]), packed, ids) and ids[0, 0] == 0


@given(st.lists(st.lists(st.integers(0, 2**31 - 1), min_size=4, max_size=4), max_size=5), st.integers(2, 4))
def test_ngrams_are_combined_from_the_last_word_to_the_first(rows: list[list[int]], n: int) -> None:
    def key(words: list[int]) -> int:
        found = words[-1]
        for word in words[-2::-1]:
            found = (found * 8978948897894561157 & ALL) ^ ((1 + word) * 17894857484156487943 & ALL)
        return found

    ids = np.array([row[:n] for row in rows], np.int32).reshape(-1, n)
    keys, suffixes, contexts = (np.empty(len(ids), np.int64) for _ in range(3))
    combine(ids, keys, suffixes, contexts)
    found = [a.view(np.uint64).tolist() for a in (keys, suffixes, contexts)]
    given = ids.tolist()
    assert found == [[key(r) for r in given], [key(r[1:]) for r in given], [key(r[:-1]) for r in given]]


def test_suffixes_lose_the_sign_of_their_probability_and_contexts_that_of_a_zero_weight() -> None:
    table = np.zeros((7, 2), np.int64)
    bits = np.array([[-1.5, -0.0], [-1.5, -0.0], [-1.5, -0.25]], np.float32).view(np.int64).ravel()
    put(table, np.array([3, 10, 4]), bits)
    assert extend(table, np.array([3]), np.array([10])) and extend(table, np.array([10]), np.array([4]))
    values = {int(k): np.array([v]).view(np.float32).tolist() for k, v in table if k}
    assert values == {3: [1.5, -0.0], 10: [1.5, 0.0], 4: [-1.5, -0.25]}
    assert [bool(np.signbit(values[k][1])) for k in (3, 10, 4)] == [True, False, True]
    assert not extend(table, np.array([5]), np.array([4])) and not extend(table, np.array([4]), np.array([5]))
