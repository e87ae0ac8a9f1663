"""Candidates, out of core: band keys and buckets in files, the components of what shares a bucket, cut into batches.

Documents are numbered as they are added. Memory holds a partition of one band at a time; what grows with the corpus
lies in files, 9 bytes a document of it mapped (its component, and whether it is in a bucket).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

I64s = NDArray[np.int64]
NO_KEY: Final = -(1 << 63)  # stands for a document without a shingle, which enters no bucket
_BYTES_PER_KEY: Final = 64  # what sorting a partition takes, for each of its keys
_CHUNK: Final = 1 << 20  # numbers read at a time
OPEN_FILES: Final = 512
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Buckets:
    """Buckets of two or more documents. All arrays are int64."""

    members: I64s  # documents, ascending in a bucket, bucket after bucket, band after band
    ends: I64s  # place after the last member of each bucket
    band: I64s  # band of each bucket

    @property
    def sizes(self) -> I64s:
        return np.diff(self.ends, prepend=0)

    @property
    def bucket(self) -> I64s:
        """The bucket of each member."""
        return np.repeat(np.arange(len(self.ends)), self.sizes)


class Candidates:
    """Band keys of all documents, then the documents that share one."""

    def __init__(self, folder: Path, bands: int, memory: int) -> None:
        self.folder, self.memory, self.count = folder, memory, 0
        self.paths = [folder / f"band-{band:04}.keys" for band in range(bands)]
        for path in [*self.paths, folder / "members", folder / "buckets", folder / "weights"]:
            path.write_bytes(b"")

    def add(self, keys: I64s, weights: I64s) -> None:
        """More documents: keys int64, shape (bands, documents); weights: shingles of each, 0 where it has none."""
        empty = weights == 0
        for path, row in zip(self.paths, keys, strict=True):
            row = np.where(empty, NO_KEY, np.where(row == NO_KEY, NO_KEY + 1, row))
            _append(path, row)
        _append(self.folder / "weights", weights)
        self.count += len(weights)

    def group(self, earlier: int) -> Components:
        """The documents that share a key in some band; the first `earlier` do not make a bucket by themselves."""
        from kernels import keepers

        parent = _mapped(self.folder / "parent", np.int64, self.count)
        for first in range(0, self.count, _CHUNK):
            parent[first : first + _CHUNK] = np.arange(first, min(self.count, first + _CHUNK))
        marks = _mapped(self.folder / "marks", np.bool_, self.count)
        for band, path in enumerate(self.paths):
            for keys, documents in self._partitions(path):
                members, sizes = _grouped(keys, documents, earlier)
                keepers.unite(members, np.cumsum(sizes), parent)
                marks[members] = True
                _append(self.folder / "members", members)
                _append(self.folder / "buckets", np.stack([np.full(len(sizes), band), sizes], axis=1))
            path.unlink()
        return Components(self.folder, parent, marks)

    def _partitions(self, path: Path) -> Iterator[tuple[I64s, I64s]]:
        """(keys, documents) of a band, by range of keys where all of them do not fit into memory."""
        parts = -(-self.count * _BYTES_PER_KEY // self.memory)
        if parts <= 1:
            yield np.fromfile(path, np.int64), np.arange(self.count)
            return
        files = [path.with_name(f"{path.name}-{part}") for part in range(min(parts, OPEN_FILES))]
        handles: list[BinaryIO] = [file.open("wb") for file in files]
        for first, keys in _chunks(path):
            part = ((keys.view(np.uint64) >> np.uint64(32)) * np.uint64(len(files)) >> np.uint64(32)).astype(np.int64)
            pairs = np.stack([keys, np.arange(first, first + len(keys))], axis=1)
            for k in np.unique(part).tolist():
                handles[k].write(pairs[part == k].tobytes())
        for handle, file in zip(handles, files, strict=True):
            handle.close()
            pairs = np.fromfile(file, np.int64).reshape(-1, 2)
            file.unlink()
            yield np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


class Components:
    """Documents that share buckets, directly or through others; no pair of two components is ever compared."""

    def __init__(self, folder: Path, parent: I64s, marks: NDArray[np.bool_]) -> None:
        self.folder, self.parent, self.marks = folder, parent, marks

    def weight(self) -> int:
        """Shingles of all candidates, repeats included."""
        return sum(int(w[self.marks[first : first + len(w)]].sum()) for first, w in _chunks(self.folder / "weights"))

    def batch_of(self, documents: I64s, batches: int) -> I64s:
        """In which of so many batches each document's component goes: by a hash, so that they are about as large."""
        from kernels import keepers

        roots = np.empty(len(documents), np.int64)
        keepers.roots(np.ascontiguousarray(documents), self.parent, roots)
        mixed = roots.view(np.uint64) * _MIX >> np.uint64(32)
        return (mixed * np.uint64(batches) >> np.uint64(32)).astype(np.int64)

    def spread(self, batches: int) -> None:
        """Write the buckets of each batch into its own files."""
        files = [(self.folder / f"buckets-{b}", self.folder / f"members-{b}") for b in range(batches)]
        with (self.folder / "members").open("rb") as members:
            for _, chunk in _chunks(self.folder / "buckets", 2):
                table = chunk.reshape(-1, 2)
                sizes = table[:, 1]
                own = np.fromfile(members, np.int64, int(sizes.sum()))
                batch = self.batch_of(own[np.cumsum(sizes) - sizes], batches)
                for b in np.unique(batch).tolist():
                    _append(files[b][0], table[batch == b])
                    _append(files[b][1], own[np.repeat(batch == b, sizes)])
        for name in ("buckets", "members"):
            (self.folder / name).unlink()

    def buckets(self, batch: int) -> Buckets:
        """The buckets of a batch after `spread`."""
        path = self.folder / f"buckets-{batch}"
        if not path.exists():
            return Buckets(*(np.zeros(0, np.int64) for _ in range(3)))
        table = np.fromfile(path, np.int64).reshape(-1, 2)
        members = np.fromfile(self.folder / f"members-{batch}", np.int64)
        return Buckets(members, np.cumsum(table[:, 1]), np.ascontiguousarray(table[:, 0]))


def _grouped(keys: I64s, documents: I64s, earlier: int) -> tuple[I64s, I64s]:
    """Members of the buckets among these documents (ascending), and the sizes of these buckets."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1)) if len(keys) else np.zeros(0, np.int64)
    sizes = np.diff(starts, append=len(keys))
    last = documents[order[starts + sizes - 1]]
    shared = (sizes > 1) & (ordered[starts] != NO_KEY) & (last >= earlier)
    return documents[order[np.repeat(shared, sizes)]], sizes[shared]


def _append(path: Path, values: I64s) -> None:
    with path.open("ab") as file:
        file.write(np.ascontiguousarray(values, np.int64).tobytes())


def _chunks(path: Path, width: int = 1) -> Iterator[tuple[int, I64s]]:
    """(number of the first, numbers) of a file of int64, in pieces."""
    first = 0
    with path.open("rb") as file:
        while len(chunk := np.fromfile(file, np.int64, _CHUNK * width)):
            yield first, chunk
            first += len(chunk)


def _mapped(path: Path, kind: type, count: int) -> NDArray[Any]:
    """A mapped array of zeros."""
    if not count:
        return np.zeros(0, kind)
    return np.asarray(np.memmap(path, kind, mode="w+", shape=(count,)))
