"""The column of texts of a batch: what a kernel writes stays where it is, Python values are put in between."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ends = npt.NDArray[np.int64]


class Texts:
    """Texts in their order; `column` gives all of them."""

    def __init__(self) -> None:
        self._values: list[list[str | bytes]] = []
        self._order: list[list[Ends] | list[str | bytes]] = []  # what a kernel wrote and values, in turns
        self._buffer: pa.Buffer | None = None
        self._space = np.empty(0, np.uint8)
        self.used = 0  # bytes of the space

    @property
    def written_only(self) -> bool:
        """Are there no texts but those that a kernel wrote?"""
        return not self._values

    def append(self, text: str | bytes) -> None:
        """One text; bytes are UTF-8."""
        if not self._values or self._order[-1] is not self._values[-1]:
            self._values.append([])
            self._order.append(self._values[-1])
        self._values[-1].append(text)

    def space(self, size: int) -> npt.NDArray[np.uint8]:
        """Where a kernel may write from position `used` on; of `size` bytes if nothing was written yet."""
        if self._buffer is None:
            self._buffer = pa.allocate_buffer(size, resizable=True)
            self._space = np.frombuffer(self._buffer, np.uint8)
        return self._space

    def wrote(self, ends: Ends) -> None:
        """A kernel wrote texts one behind the other, in valid UTF-8; where each ends in the space."""
        if not len(ends):
            return
        if not self._order or (self._values and self._order[-1] is self._values[-1]):
            self._order.append([np.array([self.used])])
        self._order[-1].append(ends.copy())  # type: ignore[arg-type]
        self.used = int(ends[-1])

    def column(self) -> pa.LargeStringArray:
        """All texts as one array; nothing may be written or appended afterwards."""
        self._space = np.empty(0, np.uint8)
        if self._buffer is not None:
            self._buffer.resize(self.used, shrink_to_fit=True)  # before any array knows its address
        parts = [self._array(part) for part in self._order]
        if len(parts) == 1:
            return parts[0]
        return pa.concat_arrays(parts) if parts else pa.array([], pa.large_string())

    def _array(self, part: list[Ends] | list[str | bytes]) -> pa.LargeStringArray:
        if not isinstance(part[0], np.ndarray):
            return pa.array(part, pa.large_string())
        offsets = np.concatenate(part)
        return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), self._buffer)
