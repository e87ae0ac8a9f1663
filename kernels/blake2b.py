"""BLAKE2b (RFC 7693) of many messages at once, each in a lane of its own, so that one instruction serves all lanes.

A message is a head and a body that lie in two buffers. Digests are those of `hashlib.blake2b` without a key.
"""

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

LANES = 8
BLOCK = 128  # bytes that are compressed at once
ROUNDS = 12
MESSAGE = 16  # row of the state where the words of the block begin

# RFC 7693, section 2.6
IV = np.array(
    [
        *(0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1),
        *(0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179),
    ],
    np.uint64,
)
# The order of the message's words in each round; RFC 7693, section 2.7
SIGMA = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
    ],
    np.int64,
)
_16, _24, _32, _40, _48, _63 = (np.uint64(n) for n in (16, 24, 32, 40, 48, 63))
_1, _2, _3, _4, _5, _6, _7 = (np.uint64(n) for n in range(1, 8))
_NO_WORD, _ALL_ONES = np.uint64(0), np.uint64(2**64 - 1)
_PARAMETERS = np.uint64(0x01010000)  # fanout and depth of 1, no key; the size of the digest is added

BYTES = types.Array(types.uint8, 1, "C", readonly=True)
OFFSETS = types.Array(types.int64, 1, "C", readonly=True)
DIGESTS = types.Array(types.uint64, 2, "C")


@njit(nogil=True)
def mix(a: Any, b: Any, c: Any, d: Any, x: Any, y: Any) -> Any:
    """The function G (RFC 7693, section 3.1)."""
    a = a + b + x
    d = d ^ a
    d = d >> _32 | d << _32
    c = c + d
    b = b ^ c
    b = b >> _24 | b << _40
    a = a + b + y
    d = d ^ a
    d = d >> _16 | d << _48
    c = c + d
    b = b ^ c
    b = b >> _63 | b << _1
    return a, b, c, d


@njit(nogil=True)
def one_round(v: Any) -> Any:
    """A round of all lanes. v: 16 rows of the state, then 16 of the message in the round's order, LANES words each.

    One array, and rows at fixed distances: so the compiler sees that lanes do not meet, and takes them together.
    """
    for k in range(LANES):
        v0, v1, v2, v3 = v[k], v[8 + k], v[16 + k], v[24 + k]
        v4, v5, v6, v7 = v[32 + k], v[40 + k], v[48 + k], v[56 + k]
        v8, v9, v10, v11 = v[64 + k], v[72 + k], v[80 + k], v[88 + k]
        v12, v13, v14, v15 = v[96 + k], v[104 + k], v[112 + k], v[120 + k]
        v0, v4, v8, v12 = mix(v0, v4, v8, v12, v[128 + k], v[136 + k])
        v1, v5, v9, v13 = mix(v1, v5, v9, v13, v[144 + k], v[152 + k])
        v2, v6, v10, v14 = mix(v2, v6, v10, v14, v[160 + k], v[168 + k])
        v3, v7, v11, v15 = mix(v3, v7, v11, v15, v[176 + k], v[184 + k])
        v0, v5, v10, v15 = mix(v0, v5, v10, v15, v[192 + k], v[200 + k])
        v1, v6, v11, v12 = mix(v1, v6, v11, v12, v[208 + k], v[216 + k])
        v2, v7, v8, v13 = mix(v2, v7, v8, v13, v[224 + k], v[232 + k])
        v3, v4, v9, v14 = mix(v3, v4, v9, v14, v[240 + k], v[248 + k])
        v[k], v[8 + k], v[16 + k], v[24 + k] = v0, v1, v2, v3
        v[32 + k], v[40 + k], v[48 + k], v[56 + k] = v4, v5, v6, v7
        v[64 + k], v[72 + k], v[80 + k], v[88 + k] = v8, v9, v10, v11
        v[96 + k], v[104 + k], v[112 + k], v[120 + k] = v12, v13, v14, v15


@njit(nogil=True)
def copy_row(words: Any, row: Any, v: Any, to: Any) -> Any:
    """One word of each lane; all are read before one is written, so that they go as one."""
    a, b, c, d = words[row], words[row + _1], words[row + _2], words[row + _3]
    e, f, g, h = words[row + _4], words[row + _5], words[row + _6], words[row + _7]
    v[to], v[to + _1], v[to + _2], v[to + _3] = a, b, c, d
    v[to + _4], v[to + _5], v[to + _6], v[to + _7] = e, f, g, h


@njit(nogil=True)
def compress(h: Any, v: Any, words: Any, done: Any, last: Any) -> Any:
    """One block of every lane (RFC 7693, section 3.2): 16 rows of words, bytes so far, all ones in a last block."""
    for row in range(8):
        for k in range(LANES):
            v[row * LANES + k] = h[row * LANES + k]
            v[(8 + row) * LANES + k] = IV[row]
    for k in range(LANES):
        v[12 * LANES + k] ^= np.uint64(done[k])
        v[14 * LANES + k] ^= last[k]
    for r in range(ROUNDS):
        for row in range(16):
            copy_row(words, np.uint64(SIGMA[r % 10, row] * LANES), v, np.uint64((MESSAGE + row) * LANES))
        one_round(v)
    for k in range(8 * LANES):
        h[k] ^= v[k] ^ v[8 * LANES + k]


@njit(nogil=True)
def stage(heads: Any, first: Any, head: Any, data: Any, start: Any, at: Any, some: Any, block: Any) -> Any:
    """The `some` bytes of a message from its byte `at` on, and zeros behind them."""
    if at >= head and some == BLOCK:
        place = np.uint64(start + at - head)
        for q in range(BLOCK):
            block[q] = data[place + np.uint64(q)]
        return
    for q in range(BLOCK):
        block[q] = 0
    for q in range(some):
        block[q] = heads[first + at + q] if at + q < head else data[start + at + q - head]


@njit(types.void(BYTES, OFFSETS, BYTES, OFFSETS, OFFSETS, types.int64, DIGESTS), nogil=True, cache=True)
def digest_all(heads: Any, head_ends: Any, data: Any, starts: Any, ends: Any, size: Any, out: Any) -> None:
    """Digests of `size` bytes into the rows of out; a lane takes the next message when it has done with one."""
    h, v, words = np.zeros(8 * LANES, np.uint64), np.zeros(32 * LANES, np.uint64), np.zeros(16 * LANES, np.uint64)
    block = np.zeros(BLOCK, np.uint8)
    word = block.view(np.uint64)
    message, done, last = np.full(LANES, -1, np.int64), np.zeros(LANES, np.int64), np.zeros(LANES, np.uint64)
    begun = finished = np.int64(0)
    while finished < len(starts):
        for k in range(LANES):
            if message[k] < 0:
                if begun == len(starts):
                    continue
                message[k] = begun
                done[k] = 0
                begun += 1
                for row in range(8):
                    h[row * LANES + k] = IV[row]
                h[k] ^= _PARAMETERS ^ np.uint64(size)
            i = message[k]
            first = head_ends[i - 1] if i > 0 else np.int64(0)
            head = head_ends[i] - first
            total = head + ends[i] - starts[i]
            some = min(total - done[k], BLOCK)
            stage(heads, first, head, data, starts[i], done[k], some, block)
            for row in range(16):
                words[row * LANES + k] = word[row]
            done[k] += some
            last[k] = _ALL_ONES if done[k] == total else _NO_WORD
        compress(h, v, words, done, last)
        for k in range(LANES):
            if message[k] >= 0 and last[k] != 0:
                for row in range(out.shape[1]):
                    out[message[k], row] = h[row * LANES + k]
                message[k] = -1
                finished += 1


def digests(
    heads: bytes, head_ends: NDArray[np.int64], data: NDArray[np.uint8], starts: NDArray[np.int64],
    ends: NDArray[np.int64], size: int,
) -> list[str]:  # fmt: skip
    """Hexadecimal digests of `size` bytes (a multiple of 8, at most 64) of many messages.

    Message i is heads[head_ends[i - 1]:head_ends[i]], the first from 0 on, with data[starts[i]:ends[i]] behind it.
    """
    out = np.empty((len(starts), size // 8), "<u8")
    digest_all(np.frombuffer(heads, np.uint8), head_ends, data, starts, ends, size, out)
    text = out.tobytes().hex()
    return [text[at : at + 2 * size] for at in range(0, len(text), 2 * size)]
