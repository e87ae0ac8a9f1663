import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import encoding, merging
from tokenizer import reference

LETTERS = "ab\u00e9\u00df\u4e2d\u6587\u65e5\u3042\U0001f600"
MERGES = [
    (left, right) for left, right, _ in reference.train({b"aabaabab": 3, b"aaaa": 2, b"bcbc": 2, b"abcabc": 5}, 20)
]


def slow(piece: bytes, merges: list[tuple[int, int]]) -> list[int]:
    """Merge after merge in the order they were learned."""
    ids = list(piece)
    for rank, pair in enumerate(merges):
        ids = reference.merge(ids, pair, 256 + rank)
    return ids


def fast(pieces: list[bytes], merges: list[tuple[int, int]]) -> list[list[int]]:
    data = np.frombuffer(b"".join(pieces), np.uint8)
    ends = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    before = np.arange(len(pieces) + 1)
    encoder = encoding.Encoder(merging.tables_of(np.array(merges, np.int64).reshape(-1, 2)))
    nothing = np.full(len(pieces), -1)
    out = np.empty(2 * (len(data) + len(pieces)) + 2, np.int32)
    offsets = encoder.encode(data, starts, ends, before, nothing, out, 0)
    again = encoder.encode(data, starts, ends, before, nothing, out, int(offsets[-1]))  # as they were kept
    assert np.array_equal(again - again[0], offsets)
    assert np.array_equal(out[again[0] : again[-1]], out[: again[0]])
    return [out[a:b].tolist() for a, b in pairwise(offsets)]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text("abcx", min_size=1, max_size=140).map(str.encode), min_size=1, max_size=5))
def test_short_and_long_pieces_equal_merging_in_the_order_of_learning(pieces):
    assert fast(pieces, MERGES) == [slow(piece, MERGES) for piece in pieces]


@pytest.mark.parametrize("size", [merging.SHORT - 1, merging.SHORT, merging.SHORT + 1, 500])
def test_both_ways_agree_around_the_length_where_they_change(size):
    rng = random.Random(size)
    pieces = [bytes(rng.choices(b"aaabbc", k=size)) for _ in range(50)]
    assert fast(pieces, MERGES) == [slow(piece, MERGES) for piece in pieces]


def test_without_merges_every_byte_is_its_own_id():
    assert fast([b"hello", b"\xff\x00", b"x" * 100], []) == [[104, 101, 108, 108, 111], [255, 0], [120] * 100]


def test_a_segment_may_be_a_special_token_or_empty():
    data = np.frombuffer(b"aaxaa", np.uint8)
    starts, ends, before = np.array([0, 2, 2, 3]), np.array([2, 5]), np.array([0, 1, 1, 1, 2])
    encoder = encoding.Encoder(merging.tables_of(np.array([[97, 97]])))
    specials = np.array([-1, 300, -1, -1])
    out = np.empty(12, np.int32)
    offsets = encoder.encode(data, starts, ends, before, specials, out, 1)
    assert out[1:4].tolist() == [256, 300, 256] and offsets.tolist() == [1, 2, 3, 3, 4]


@settings(deadline=None)
@given(
    st.lists(st.text(LETTERS, min_size=1, max_size=6), min_size=1, max_size=12),
    st.lists(st.one_of(st.text(LETTERS), st.binary(max_size=8)), min_size=1, max_size=12),
    st.integers(0, 40),
    st.integers(0, 3),
)
def test_characters_as_first_symbols_change_nothing_whatever_tokens_cross_their_borders(learned, given_, wanted, cut):
    words = [(list(word.encode()[cut:]), 1) for word in learned]  # cut: words that begin inside a character
    merges = []
    for new in range(256, 256 + wanted):
        stats = reference.get_stats(words)
        if not stats:
            break
        pair = max(stats, key=lambda pair: (stats[pair], pair))
        words = [(reference.merge(ids, pair, new), count) for ids, count in words]
        merges.append(pair)
    pieces = [piece if isinstance(piece, bytes) else piece.encode() for piece in given_]
    pieces = [piece for piece in pieces if piece] or [b"a"]
    assert fast(pieces, merges) == [slow(piece, merges) for piece in pieces]


def any_merges(rng: random.Random, text: bytes, size: int) -> list[tuple[int, int]]:
    """Merges of any neighbours in a text: of parts of characters, across characters, and some never reached."""
    ids = {bytes([byte]): byte for byte in range(256)}
    merges: list[tuple[int, int]] = []
    while len(merges) < size:
        start = rng.randrange(len(text) - 1)
        middle, end = start + rng.randint(1, 4), start + rng.randint(2, 9)
        left, right = text[start:middle], text[middle:end]
        if left in ids and right in ids and left + right not in ids:
            merges.append((ids[left], ids[right]))
            ids[left + right] = 255 + len(merges)
    return merges


@pytest.mark.parametrize("seed", range(40))
def test_pieces_that_begin_with_whole_characters_equal_merging_from_bytes(seed):
    rng = random.Random(seed)
    characters = rng.choices("中国文字的，。éßж a\n\u0800\uffff\U0001f600", k=rng.randint(2, 9))
    text = "".join(rng.choices(characters, k=200)).encode()
    merges = any_merges(rng, text, rng.randint(1, 60))
    pieces = ["".join(rng.choices(characters, k=rng.randint(1, 50))).encode() for _ in range(60)]
    pieces += [piece[rng.randrange(4) : rng.randrange(1, 40)] + piece[rng.randrange(4) :] for piece in pieces]
    pieces += [bytes(rng.choices(text + b"\xc1\xe0\xed\xf0", k=9)) for _ in range(60)]  # no UTF-8
    assert fast([piece for piece in pieces if piece], merges) == [slow(piece, merges) for piece in pieces if piece]


def test_a_character_that_is_no_token_as_a_whole_and_overlong_bytes_are_not_taken_for_one():
    letter = "\u0800".encode()  # E0 A0 80
    merges = [(letter[1], letter[2]), (letter[0], letter[1]), (257, letter[2]), (0xC2, 0x80)]
    pieces = [letter, letter * 3, b"\xe0\x82\x80", b"\xc2\x80\x80", b"\xc1\x81", b"\xe0\xa0", b"\xc2"]
    assert fast(pieces, merges) == [slow(piece, merges) for piece in pieces]
    assert fast([letter], merges) == [[letter[0], 256]]


@pytest.mark.parametrize("letter", ["é", "中"])
def test_a_stray_byte_behind_a_character_may_take_its_last_byte(letter):
    *_, before, last = letter.encode()
    merges = (
        [(last, 0x80), (before, last)] if len(letter.encode()) == 2 else [(last, 0x80), (0xE4, before), (257, last)]
    )
    piece = letter.encode() + b"\x80"
    assert fast([letter.encode()], merges) == [[255 + len(merges)]]
    assert fast([piece], merges) == [slow(piece, merges)]
    assert fast([piece], merges)[0][-1] == 256
