"""Exact shingle sets of documents, for verification."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.stage import Fitting
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

    def sets(self, corpus: Fitting, ids: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Shingle sets of the named documents: set d, of ids[d], is values[starts[d]:stops[d]].

        The values lie in a file of the workspace, mapped into memory, so that the system may page them out.
        """
        starts, stops = np.full(len(ids), -1, np.int64), np.zeros(len(ids), np.int64)
        written = 0
        path = corpus.workspace / "shingles"
        with path.open("wb") as file:
            for table in corpus.documents(ids.to_pylist()) if len(ids) else ():
                values, ends = self.of(table["text"])
                rows = pc.index_in(table["doc_id"].cast(ids.type), value_set=ids).to_numpy().astype(np.int64)
                starts[rows], stops[rows] = ends[:-1] + written, ends[1:] + written
                written += len(values)
                file.write(values.tobytes())
        if (starts < 0).any():
            missing = ids[int(np.flatnonzero(starts < 0)[0])].as_py()
            raise RuntimeError(f"document {missing} has measures, but its text was not delivered")
        mapped = np.memmap(path, np.int64, mode="r") if written else np.zeros(0, np.int64)
        return np.asarray(mapped), starts, stops
