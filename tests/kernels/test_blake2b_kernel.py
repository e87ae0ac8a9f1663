"""BLAKE2b of many messages, against the standard library."""

import hashlib
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.blake2b import BLOCK, LANES, digests

EDGES = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK - 1, 2 * BLOCK, 2 * BLOCK + 1, 1000]


def found(heads: list[bytes], bodies: list[bytes], size: int = 16, before: bytes = b"") -> list[str]:
    ends = np.cumsum([len(before), *map(len, bodies)]).astype(np.int64)
    data = np.frombuffer(before + b"".join(bodies), np.uint8)
    head_ends = np.cumsum(list(map(len, heads))).astype(np.int64)
    return digests(b"".join(heads), head_ends, data, ends[:-1], ends[1:], size)


def expected(heads: list[bytes], bodies: list[bytes], size: int = 16) -> list[str]:
    return [hashlib.blake2b(a + b, digest_size=size).hexdigest() for a, b in zip(heads, bodies, strict=True)]


@given(st.lists(st.tuples(st.binary(max_size=300), st.binary(max_size=600)), max_size=3 * LANES), st.binary(max_size=9))
def test_digests_are_those_of_the_standard_library(messages, before):
    heads, bodies = [a for a, _ in messages], [b for _, b in messages]
    assert found(heads, bodies, before=before) == expected(heads, bodies)


@pytest.mark.parametrize("head", EDGES)
def test_messages_of_every_length_around_a_block_and_lanes_that_end_at_different_times(head):
    bodies = [bytes([n % 251]) * n for n in [*EDGES, *range(2 * BLOCK)]]
    random.Random(head).shuffle(bodies)
    heads = [bytes([head % 256]) * head] * len(bodies)
    assert found(heads, bodies) == expected(heads, bodies)


@pytest.mark.parametrize("size", [8, 16, 32, 64])
def test_every_size_of_digest_has_its_own_parameters(size):
    assert found([b"", b"abc"], [b"abc", b""], size) == expected([b"", b"abc"], [b"abc", b""], size)


def test_no_messages_have_no_digests():
    assert found([], []) == []
