"""Encoding of segments of text, with a table in which pieces are kept with their ids.

Most pieces of a text have been met before, so short pieces are kept, in a table of bounded size (`slots.py`), whose
value for a piece is an *entry*: up to three ids, NO_ID where there is none, or below zero where a longer list of ids
begins and how many they are. `merging.py` encodes those that are new.
"""

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from kernels.merging import ID_BITS, NO_ID, SHORT, TABLES, Tables, first_symbols, merge_all
from kernels.slots import BLOCK, SLOTS, SPARE, VALUE, copy_slots, find_words, look, settle

MOST = 1 << 20  # slots of the table of kept pieces, half of them used: 32 MB
WIDER = 4  # how many times as many slots a larger table has
SOME = 31  # bits of the number of ids in a list, and of the place where it begins

BYTES = types.Array(types.uint8, 1, "C", readonly=True)
INTEGERS = types.Array(types.int64, 1, "C", readonly=True)
STORE = types.Array(types.uint8, 1, "C")
IDS = types.Array(types.int32, 1, "C")
FILLED = types.UniTuple(types.int64, 3)
RESULT = types.Tuple((types.Array(types.int64, 1, "C"), FILLED))


@njit(nogil=True)
def emit(entries: Any, n: Any, kept: Any, out: Any, at: Any) -> Any:
    """Write the ids of n entries into out[at:], where two more places may be written. Returns the new at."""
    for k in range(n):
        entry = entries[k]
        if entry >= 0:
            second, third = entry >> ID_BITS & NO_ID, entry >> 2 * ID_BITS
            out[at] = entry & NO_ID
            out[at + 1] = second
            out[at + 2] = third
            at += 1 + np.int64(second != NO_ID) + np.int64(third != NO_ID)
        else:
            place, many = entry >> SOME & (1 << SOME) - 1, entry & (1 << SOME) - 1
            for q in range(many):
                out[at + q] = kept[place + q]
            at += many
    return at


@njit(nogil=True)
def encode_missed(
    text: Any, start: Any, ends: Any, missed: Any, misses: Any, where: Any, fresh: Any, new: Any, passing: Any,
    tables: Any, slots: Any, kept: Any, ids: Any, symbols: Any, pairs: Any, sizes: Any, entries: Any, work: Any,
    found: Any,
) -> Any:  # fmt: skip
    """Encode the pieces that `settle` found to be new or did not take in; found gets the entries of all missed ones.

    ids: how many are kept. Returns the new number; the ids of pieces that were not taken in lie behind them for now.
    """
    for j in range(passing):
        fresh[new + j] = fresh[BLOCK + j]
    if new + passing > 0:
        first_symbols(text, start, ends, missed, fresh, new + passing, tables, symbols, pairs, sizes)
        end = ids
        for first, last in ((0, new), (new, new + passing)):
            end = merge_all(symbols, pairs, sizes, first, last, tables[0], work, kept, end, entries)
            ids = end if first == 0 else ids
        for j in range(new):
            slots[where[fresh[j]], VALUE] = entries[j]
    for j in range(misses):
        s = where[j]
        found[missed[j]] = slots[s, VALUE] if s >= 0 else entries[new - 1 - s]
    return ids


@njit(
    RESULT(BYTES, INTEGERS, INTEGERS, INTEGERS, INTEGERS, TABLES, SLOTS, STORE, IDS, FILLED, IDS, types.int64),
    nogil=True,
    cache=True,
)  # fmt: skip
def encode_segments(
    data: Any, starts: Any, ends: Any, before: Any, specials: Any, tables: Any, slots: Any, store: Any, kept: Any,
    filled: Any, out: Any, at: Any,
) -> Any:  # fmt: skip
    """Write the ids of segments into out[at:]; there must be room everywhere. See `Encoder.encode`."""
    offsets = np.empty(len(starts) + 1, np.int64)
    offsets[0] = at
    heads, tails, found, missed = (
        np.empty(BLOCK, np.int64),
        np.empty(BLOCK, np.int64),
        np.empty(BLOCK, np.int64),
        np.empty(BLOCK + 1, np.int64),
    )
    where, sizes, entries, fresh = (
        np.empty(BLOCK, np.int64),
        np.empty(BLOCK, np.int64),
        np.empty(BLOCK, np.int64),
        np.empty(2 * BLOCK, np.int64),
    )
    room = 1 << 13
    text, symbols, pairs = np.empty(room, np.uint8), np.empty(room, np.int64), np.empty(room, np.int64)
    work = np.empty((4, SHORT + 2), np.int64)
    most = len(slots) >> 1
    pieces, used, ids = filled
    for s in range(len(starts)):
        if specials[s] >= 0:
            out[at] = specials[s]
            at += 1
        start = starts[s]
        for block in range(before[s], before[s + 1], BLOCK):
            some = ends[block : min(block + BLOCK, before[s + 1])]
            size = some[-1] - start
            if size + SPARE > room:
                room = 2 * size + SPARE
                text, symbols, pairs = np.empty(room, np.uint8), np.empty(room, np.int64), np.empty(room, np.int64)
            source = data[start : start + size]
            for k in range(size):
                text[k] = source[k]
            find_words(text, start, some, heads, tails)
            misses = look(heads, tails, len(some), slots, found, missed)
            if misses > 0:
                (pieces, used), new, passing = settle(
                    text, start, some, heads, tails, missed, misses, slots, store, (pieces, used), (most, SHORT), where,
                    fresh,
                )  # fmt: skip
                ids = encode_missed(
                    text, start, some, missed, misses, where, fresh, new, passing, tables, slots, kept, ids, symbols,
                    pairs, sizes, entries, work, found,
                )  # fmt: skip
            at = emit(found, len(some), kept, out, at)
            start = some[-1]
        offsets[s + 1] = at
    return offsets, (pieces, used, ids)


class Encoder:
    """Encodes with the tables of `tables_of`, and keeps pieces with their ids; of use to one thread at a time."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._slots: NDArray[np.int64] = np.zeros((1 << 10, 4), np.int64)
        self._store: NDArray[np.uint8] = np.empty(0, np.uint8)
        self._kept: NDArray[np.int32] = np.empty(0, np.int32)
        self._filled = (0, 0, 0)

    def encode(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        before: NDArray[np.int64],
        specials: NDArray[np.int64],
        out: NDArray[np.int32],
        at: int,
    ) -> NDArray[np.int64]:
        """Write the ids of the pieces of segments, as `scanners.scan` gives them, into out[at:].

        specials: per segment the id that stands there instead of text, or -1. out must have room for an id for each
        byte and each segment, and 2 more. Returns, per segment and once more at the end, where its ids begin in out.
        """
        size = int(ends[-1] - starts[0]) if len(ends) else 0
        self._make_room(len(ends), size)
        offsets: NDArray[np.int64]
        offsets, self._filled = encode_segments(
            data, starts, ends, before, specials, self._tables, self._slots, self._store, self._kept, self._filled, out,
            at,
        )  # fmt: skip
        return offsets

    def _make_room(self, more: int, size: int) -> None:
        """Room for the ids of so many bytes, and to keep so many more pieces, of which some were met before."""
        pieces, used, ids = self._filled
        expected = min(more, (1 << 10) + more // 4)
        while 2 * (pieces + expected) > len(self._slots) and len(self._slots) < MOST:
            slots = np.zeros((min(WIDER * len(self._slots), MOST), 4), np.int64)
            copy_slots(self._slots, slots)
            self._slots = slots
        if ids + size > len(self._kept):
            kept = np.empty(2 * (ids + size), np.int32)
            kept[:ids] = self._kept[:ids]
            self._kept = kept
        if 2 * pieces < len(self._slots) and used + size > len(self._store):
            store = np.empty(2 * (used + size), np.uint8)
            store[:used] = self._store[:used]
            self._store = store
