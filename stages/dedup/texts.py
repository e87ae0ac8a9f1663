"""A text column as plain arrays, for kernels that read Arrow buffers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def buffers(texts: pa.ChunkedArray) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """UTF-8 bytes and offsets of a column without NULLs: text d is data[offsets[d]:offsets[d + 1]]."""
    array = pc.cast(texts, pa.large_string()).combine_chunks()
    if not len(array):
        return np.zeros(0, np.uint8), np.zeros(1, np.int64)
    _, offsets, data = array.buffers()
    places = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return np.frombuffer(data or b"", np.uint8), places


def characters(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Code points of each text, int64."""
    return pc.cast(pc.utf8_length(texts), pa.int64())
