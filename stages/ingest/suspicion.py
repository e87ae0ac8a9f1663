"""Where in a batch of texts mojibake can be: the bytes are looked over with NumPy, most of them twice and no more.

A place is suspicious where two characters of a given set stand next to each other, or one of a second set stands alone.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_BEFORE: Final = 32
_BEHIND: Final = 68
"""Bytes around a suspicious character: eight characters before and sixteen from it on, whatever their length."""

_PIECE: Final = 1 << 18  # what fits the processor's cache
Positions = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def suspicious(texts: pa.LargeStringArray, members: Flags, alone: Flags) -> tuple[pa.LargeStringArray, Positions]:
    """The suspicious places of all texts with what is around them, and the number of the text each is from.

    `members`, `alone`: the two sets, by code point below 0x10000; all begin with a byte C2 to E2, or EF AC, or EF BF.
    Places that touch are one; of a text that is NULL there is none.
    """
    if not len(texts) or texts.buffers()[2] is None:
        return pa.array([], pa.large_string()), np.zeros(0, np.int64)
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2], np.uint8)[: offsets[-1]]
    at = _candidates(data, int(offsets[0]), members, alone)
    owners = np.searchsorted(offsets, at, side="right") - 1
    starts = _on_character(data, np.maximum(at - _BEFORE, offsets[owners]), -1)
    ends = _on_character(data, np.minimum(at + _BEHIND, offsets[owners + 1]), 1)
    first = np.ones(len(at), np.bool_)
    first[1:] = (starts[1:] > ends[:-1]) | (owners[1:] != owners[:-1])
    last = np.roll(first, -1)  # the last of a run stands before the first of the next one
    return _gathered(data, starts[first], ends[last]), owners[first]


def _candidates(data: npt.NDArray[np.uint8], start: int, members: Flags, alone: Flags) -> Positions:
    at = np.concatenate([np.zeros(0, np.int64), *(_leads(data, i) for i in range(start, len(data), _PIECE))])
    end = len(data) - 1
    first, second, third = (data[np.minimum(at + i, end)].astype(np.int64) for i in range(3))
    long = first >= 0xE0
    points = np.where(
        long, (first & 0xF) << 12 | (second & 0x3F) << 6 | third & 0x3F, (first & 0x1F) << 6 | second & 0x3F
    )
    known = members[points]
    at, points, behind = at[known], points[known], (at + 2 + long)[known]
    found = alone[points]
    found[:-1] |= behind[:-1] == at[1:]
    return at[found]


def _leads(data: npt.NDArray[np.uint8], start: int) -> Positions:
    """Where characters begin that may be members, from `start` on, in one piece of the bytes."""
    piece = data[start : start + _PIECE]
    found = (piece - np.uint8(0xC2)) <= 0x20  # C2 to E2; unsigned, so that smaller bytes wrap
    rare = np.flatnonzero(piece == 0xEF) + start
    second = data[np.minimum(rare + 1, len(data) - 1)]
    found[rare[(second == 0xAC) | (second == 0xBF)] - start] = True
    return np.flatnonzero(found) + start


def _on_character(data: npt.NDArray[np.uint8], at: Positions, step: int) -> Positions:
    """Positions moved by `step` until a character begins there, or the data ends: three bytes at most."""
    for _ in range(3):
        inside = (at < len(data)) & (data[np.minimum(at, len(data) - 1)] & 0xC0 == 0x80)
        at = at + step * inside
    return at


def _gathered(data: npt.NDArray[np.uint8], starts: Positions, ends: Positions) -> pa.LargeStringArray:
    """The texts from `starts` to `ends`."""
    lengths = ends - starts
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    source = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    buffers: list[Any] = [pa.py_buffer(offsets), pa.py_buffer(data[source])]
    return pa.LargeStringArray.from_buffers(len(starts), *buffers)
