"""Where in a batch of texts mojibake can be: a kernel looks over the bytes, and the places it finds are copied out.

A place is suspicious where two characters of a given set stand next to each other, or one of a second set stands alone.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Positions = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_NONE: Final = np.zeros(0, np.int64)


def suspicious(texts: pa.LargeStringArray, members: Flags, alone: Flags) -> tuple[pa.LargeStringArray, Positions]:
    """The suspicious places of all texts with what is around them, and the number of the text each is from.

    `members`, `alone`: the two sets, as `kernels.suspects.places` takes them. Of a text that is NULL there is none.
    """
    if not len(texts) or texts.buffers()[2] is None:
        return pa.array([], pa.large_string()), _NONE
    from kernels.suspects import most_places, places  # numba, at the first text

    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2], np.uint8)[: offsets[-1]]
    starts, ends, owners = np.empty((3, most_places(int(offsets[-1] - offsets[0]), len(texts))), np.int64)
    count = places(data, offsets, members, alone, starts, ends, owners)
    return _gathered(data, starts[:count], ends[:count]), owners[:count]


def _gathered(data: npt.NDArray[np.uint8], starts: Positions, ends: Positions) -> pa.LargeStringArray:
    """The texts from `starts` to `ends`."""
    view = data.data
    joined = b"".join([view[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends - starts)])
    return pa.LargeStringArray.from_buffers(len(starts), pa.py_buffer(offsets), pa.py_buffer(joined))
