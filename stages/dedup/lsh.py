"""Locality-sensitive hashing of MinHash signatures: how bands and rows set what is found, and the buckets they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

RECALL = 0.94  # of pairs exactly at the threshold, what the default shape must find


def probability(jaccard: float, bands: int, rows: int) -> float:
    """Chance that a pair of this Jaccard shares a bucket: 1 - (1 - J^rows)^bands.

    Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, section 3.4.2. For 16 bands of 8 rows:

        J   0.3    0.4    0.5    0.6    0.7    0.8    0.85   0.9    0.95
        P   0.001  0.010  0.061  0.237  0.613  0.947  0.994  0.9999 1.0000
    """
    return 1.0 - (1.0 - jaccard**rows) ** bands


def shape(permutations: int, threshold: float, recall: float = RECALL) -> tuple[int, int]:
    """(bands, rows): the most rows, then the fewest bands, that find a pair at the threshold with this probability.

    More rows mean fewer pairs to verify. 128 permutations at 0.8 give 16 x 8. Where no shape reaches the probability,
    every value is a band of its own, which finds the most.
    """
    for rows in range(permutations, 0, -1):
        for bands in range(1, permutations // rows + 1):
            if probability(threshold, bands, rows) >= recall:
                return bands, rows
    return permutations, 1


@dataclass(frozen=True)
class Buckets:
    """Buckets of two or more documents. All arrays are int64."""

    members: NDArray[np.int64]  # documents, ascending in a bucket, bucket after bucket, band after band
    bucket: NDArray[np.int64]  # bucket of each member
    ends: NDArray[np.int64]  # place after the last member of each bucket
    band: NDArray[np.int64]  # band of each bucket


class BandFiles:
    """Band keys on disk, one file for each band, so that memory holds one band at a time."""

    def __init__(self, folder: Path, bands: int) -> None:
        self.paths = [folder / f"band-{band:04}.keys" for band in range(bands)]
        for path in self.paths:
            path.write_bytes(b"")

    def append(self, keys: NDArray[np.int64]) -> None:
        """Add the keys of more documents: int64, shape (bands, documents)."""
        for path, row in zip(self.paths, keys, strict=True):
            file: BinaryIO
            with path.open("ab") as file:
                file.write(np.ascontiguousarray(row).tobytes())

    def buckets(self, order: NDArray[np.int64]) -> Buckets:
        """Documents that share a key in some band, numbered by their place in `order`."""
        return _joined([_grouped(np.fromfile(path, np.int64)[order]) for path in self.paths])


def _grouped(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Members of the buckets of one band, and the sizes of these buckets."""
    order = np.argsort(keys, kind="stable")
    changes = np.flatnonzero(np.diff(keys[order])) + 1
    sizes = np.diff(changes, prepend=0, append=len(keys))
    shared = sizes > 1
    return order[np.repeat(shared, sizes)], sizes[shared]


def _joined(groups: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> Buckets:
    sizes = np.concatenate([size for _, size in groups])
    return Buckets(
        members=np.concatenate([members for members, _ in groups]),
        bucket=np.repeat(np.arange(len(sizes)), sizes),
        ends=np.cumsum(sizes),
        band=np.repeat(np.arange(len(groups)), [len(size) for _, size in groups]),
    )
