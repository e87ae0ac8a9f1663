"""Text to the units a language model is made of, and units to ids: loops over Arrow buffers, no string per word.

A document's units come out as UTF-8: single spaces between units, every line closed by a newline. What a unit is says
the table (`kernels.lm_tables`) and the state between code points: neighbours that are words join, a CHARACTER or MARK
stands alone, a run of the same MARK counts once, an apostrophe between two word characters belongs to the word.

A vocabulary is a table of 64-bit hashes, open addressing, 0 for a free slot. Two words with one hash would be one word;
for a million words the odds are 1 in 30 million.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import int32, int64, njit, types, uint8, void
from numpy.typing import NDArray

from kernels.lm_tables import APOSTROPHE, DROP, KIND_SHIFT, MARK, NEWLINE, SPACE, WORD

GROWTH: Final = 2  # bytes out for a byte in, at most: a mark of one byte and the space before it

_FOLDED: Final = (1 << KIND_SHIFT) - 1
_APOSTROPHE: Final = MARK << KIND_SHIFT | APOSTROPHE
_SEED: Final = 0x2545F4914F6CDD1D
_SPREAD: Final = 0x00000100000001B3  # the 64-bit prime of FNV-1a
_MIX: Final = 0x1FB21C651E98DF25

_U8 = types.Array(uint8, 1, "C", readonly=True)
_I32 = types.Array(int32, 1, "C", readonly=True)
_I64 = types.Array(int64, 1, "C", readonly=True)


@njit(int64(_U8, int64, int64, _I32, int32[::1]), nogil=True, cache=True)
def _entries(data: Any, start: Any, end: Any, table: Any, entries: Any) -> Any:
    """Table entries of valid UTF-8, without those of kind DROP; returns how many."""
    n, i = 0, start
    while i < end:
        code = int64(data[i])
        i += 1
        if code >= 0x80:
            if code < 0xE0:
                code = (code & 0x1F) << 6 | (int64(data[i]) & 0x3F)
                i += 1
            elif code < 0xF0:
                code = (code & 0x0F) << 12 | (int64(data[i]) & 0x3F) << 6 | (int64(data[i + 1]) & 0x3F)
                i += 2
            else:
                code = (code & 7) << 18 | (int64(data[i]) & 0x3F) << 12 | (int64(data[i + 1]) & 0x3F) << 6
                code |= int64(data[i + 2]) & 0x3F
                i += 3
        entry = table[code]
        entries[n] = entry
        n += entry >> KIND_SHIFT != DROP
    return n


@njit(int64(_I32, int64, int64, uint8[::1], int64, int64[::1]), nogil=True, cache=True)
def _write(entries: Any, n: Any, longest: Any, out: Any, w: Any, counted: Any) -> Any:
    """Write the units of one document at out[w]; tokens and lines go to `counted`; returns where it ends."""
    previous, before, in_line, tokens, lines = SPACE, 0, 0, 0, 0
    for i in range(n):
        entry = int64(entries[i])
        kind = entry >> KIND_SHIFT
        if kind == WORD and previous == WORD and entry & _FOLDED < 0x80:
            out[w] = entry & _FOLDED  # most of the text
            w += 1
            continue
        if kind == SPACE:
            previous = SPACE
            continue
        if kind == NEWLINE:
            if in_line:
                out[w] = 10
                w += 1
                lines += 1
            previous, in_line = SPACE, 0
            continue
        fresh = kind != WORD or previous != WORD
        if kind == MARK:
            if entry == before and previous == MARK:
                continue
            if entry == _APOSTROPHE and previous == WORD and i + 1 < n and entries[i + 1] >> KIND_SHIFT == WORD:
                fresh, kind = False, WORD
        if fresh:
            if in_line:
                out[w] = 10 if in_line == longest else 32
                w += 1
                if in_line == longest:
                    lines += 1
                    in_line = 0
            tokens += 1
            in_line += 1
        previous, before = kind, entry
        code = entry & _FOLDED
        if code < 0x80:
            out[w] = code
            w += 1
            continue
        size = 2 if code < 0x800 else 3 if code < 0x10000 else 4
        for k in range(size - 1, 0, -1):
            out[w + k] = 0x80 | code & 0x3F
            code >>= 6
        out[w] = (0xF00 >> size) & 0xFF | code
        w += size
    if in_line:
        out[w] = 10
        w += 1
        lines += 1
    counted[0], counted[1] = tokens, lines
    return w


@njit(void(_U8, _I64, _I32, int64, uint8[::1], int64[::1], int64[:, ::1]), nogil=True, cache=True)
def split_units(data: Any, offsets: Any, table: Any, longest: int, out: Any, ends: Any, counted: Any) -> None:
    """Units of the documents `data[offsets[d]:offsets[d + 1]]` (valid UTF-8), one after the other in `out`.

    longest: tokens of a line; a longer one becomes several. out: GROWTH times the text. ends: where each document ends
    in `out`. counted: shape (documents, 2), tokens and lines of each.
    """
    size = int64(0)
    for d in range(len(offsets) - 1):
        size = max(size, offsets[d + 1] - offsets[d])
    entries = np.empty(size + 1, np.int32)
    w = int64(0)
    for d in range(len(offsets) - 1):
        n = _entries(data, offsets[d], offsets[d + 1], table, entries)
        w = _write(entries, n, longest, out, w, counted[d])
        ends[d] = w


@njit(void(_U8, _I64, _I64, int64[::1]), nogil=True, cache=True)
def count_known(units: Any, ends: Any, vocabulary: Any, known: Any) -> None:
    """How many units of each document, as `split_units` wrote them, the vocabulary (see `add_words`) holds."""
    mask = len(vocabulary) - 1
    i = 0
    for d in range(len(ends)):
        end, found, h = ends[d], 0, _SEED
        while i < end:
            b = int64(units[i])
            i += 1
            if b > 32:
                h = (h ^ b) * _SPREAD
                continue
            h = (h ^ h >> 29) * _MIX
            slot = (h >> 20) & mask
            key = vocabulary[slot]
            while key != 0 and key != h:
                slot = (slot + 1) & mask
                key = vocabulary[slot]
            if key == h:
                found += 1
            h = _SEED
        known[d] = found


@njit(void(_U8, int64[::1]), nogil=True, cache=True)
def add_words(words: Any, vocabulary: Any) -> None:
    """Enter words, each closed by a newline, into an empty table of 2^k slots, at least twice as many as words."""
    mask = len(vocabulary) - 1
    h = _SEED
    for i in range(len(words)):
        b = int64(words[i])
        if b > 32:
            h = (h ^ b) * _SPREAD
            continue
        h = (h ^ h >> 29) * _MIX
        slot = (h >> 20) & mask
        while vocabulary[slot] != 0 and vocabulary[slot] != h:
            slot = (slot + 1) & mask
        vocabulary[slot] = h
        h = _SEED


@njit(int64(_U8, int64, int64[::1], int32[::1], int32[::1], uint8[::1], int64[::1]), nogil=True, cache=True)
def intern(units: Any, start: Any, keys: Any, ids: Any, stream: Any, words: Any, written: Any) -> Any:
    """Ids of the units from byte `start` on, each line between BEGIN (1) and END (2); words get ids from 3 in order.

    keys, ids: the vocabulary, 2^k slots. stream, words: ids, and new words each closed by a newline. written: words
    known so far, entries in `stream`, bytes in `words`. Returns where it stopped: the end, or the beginning of a word
    for which a larger vocabulary is needed.
    """
    mask = len(keys) - 1
    known, n, w = written[0], written[1], written[2]
    h, first, line = _SEED, start, start == 0 or units[start - 1] == 10
    stopped: Any = int64(len(units))
    for i in range(start, len(units)):
        b = int64(units[i])
        if b > 32:
            h = (h ^ b) * _SPREAD
            continue
        h = (h ^ h >> 29) * _MIX
        slot = (h >> 20) & mask
        while keys[slot] != 0 and keys[slot] != h:
            slot = (slot + 1) & mask
        if keys[slot] == 0:
            if 2 * known >= len(keys):
                stopped = first
                break
            keys[slot], ids[slot] = h, known + 3
            known += 1
            for k in range(first, i):
                words[w + k - first] = units[k]
            w += i - first + 1
            words[w - 1] = 10
        if line:
            stream[n] = 1
            n += 1
        stream[n] = ids[slot]
        n += 1
        line = b == 10
        if line:
            stream[n] = 2
            n += 1
        h, first = _SEED, i + 1
    written[0], written[1], written[2] = known, n, w
    return stopped


@njit(void(_I64, _I32, int64[::1], int32[::1]), nogil=True, cache=True)
def rehash(keys: Any, ids: Any, larger_keys: Any, larger_ids: Any) -> None:
    """Move a vocabulary of `intern` into an empty one of more slots."""
    mask = len(larger_keys) - 1
    for i in range(len(keys)):
        if keys[i] != 0:
            slot = (keys[i] >> 20) & mask
            while larger_keys[slot] != 0:
                slot = (slot + 1) & mask
            larger_keys[slot], larger_ids[slot] = keys[i], ids[i]


def hashed(words: bytes) -> NDArray[np.int64]:
    """The vocabulary table of these words, each closed by a newline; read-only."""
    table = np.zeros(1 << (2 * words.count(b"\n") + 2).bit_length(), np.int64)
    add_words(np.frombuffer(words, np.uint8), table)
    table.setflags(write=False)
    return table
