"""Numbers in files: what an estimator out of core writes once in order and reads back in slices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


class Column:
    """Values of one type in a file of a work folder; `width` of them in a row (1: a plain sequence)."""

    def __init__(self, path: Path, dtype: npt.DTypeLike, width: int = 1) -> None:
        self.path, self.dtype, self.width = path, np.dtype(dtype), width
        self.rows = 0
        path.write_bytes(b"")

    def __len__(self) -> int:
        return self.rows

    def append(self, values: npt.NDArray[Any]) -> None:
        """Write values behind the others, cast to the column's type. Raises OSError where the disk is full."""
        block = np.ascontiguousarray(values, self.dtype)
        with self.path.open("ab") as f:  # `tofile` would lose the reason of an error
            f.write(block.data)
        self.rows += len(block)

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Rows start to stop - 1, shape (rows,) or (rows, width)."""
        stop = min(stop, self.rows)
        count = max(stop - start, 0) * self.width
        flat = np.fromfile(self.path, self.dtype, count, offset=start * self.width * self.dtype.itemsize)
        return flat if self.width == 1 else flat.reshape(-1, self.width)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def bisect(column: Column, value: int, right: bool = False) -> int:
    """First row of a sorted column whose value is not below `value` (right: is above it), reading few of them."""
    low, high = 0, len(column)
    while low < high:
        middle = (low + high) // 2
        found = int(column.read(middle, middle + 1)[0])
        if found < value or (right and found == value):
            low = middle + 1
        else:
            high = middle
    return low
