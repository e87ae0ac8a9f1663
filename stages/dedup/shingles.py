"""Exact shingle sets of documents, for verification."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stages.dedup import texts


@dataclass(frozen=True)
class Shingles:
    """How texts are shingled: n words, or n characters where most units are characters of unspaced scripts."""

    words: int
    characters: int

    @property
    def arguments(self) -> tuple[NDArray[np.int32], int, int]:
        """What the kernels of `kernels.minhash` take after data and offsets."""
        from kernels import normaliser

        return normaliser.load(), self.words, self.characters

    def of(self, column: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sorted distinct 64-bit shingle hashes of each text: those of text d are values[ends[d]:ends[d + 1]]."""
        from kernels import minhash

        data, offsets = texts.buffers(column)
        values = np.empty((offsets[-1] - offsets[0]) // 2 + len(offsets), np.int64)
        ends = np.zeros(len(offsets), np.int64)
        minhash.shingles(data, offsets, *self.arguments, values, ends)
        for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            values[start:end].sort()
        minhash.distinct(values, ends)
        return values[: ends[-1]], ends
