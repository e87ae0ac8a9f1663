"""The short way of JSON Lines: a kernel reads many lines at once, and only their columns become Python values."""

from __future__ import annotations

from functools import cached_property
from itertools import count
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pipeline.sources import Source
from stages.ingest.decode import Decoded
from stages.ingest.params import IngestParams
from stages.ingest.rows import BATCH_BYTES, UNKNOWN, Row, Rows
from stages.ingest.runs import LONG_BYTES

_NO_NAME: Final = b"\xff"  # equal to no key, which is UTF-8


class Records:
    """Reads what it can of the lines of one file."""

    def __init__(self, source: Source, params: IngestParams, label: str, encoding: Decoded) -> None:
        self._params, self._label, self._license = params, label, source.license
        self._codec, self._by = encoding.codec, encoding.by
        names = [source.text_field, source.id_field, source.license_field, source.url_field, source.title_field]
        spelled = [_NO_NAME if name is None else name.encode("utf-8", "surrogatepass") for name in names]
        self._names = np.frombuffer(b"".join(spelled), np.uint8)
        self._bounds = np.cumsum([0, *map(len, spelled)])
        given = [name for name in names if name is not None]
        self._able = source.mojibake == "measure" and len(set(given)) == len(given)
        self._rest = np.empty(0, np.uint8)

    def read(self, rows: Rows, run: bytes, at: int, number: int) -> tuple[int, int, bool]:
        """Takes in the records of whole lines in `run` from position `at` on; the first is number `number` of the file.

        (position behind them, how many, must another reader take the next line?) If not, all is read or `rows` is full.
        """
        size = len(run) - at
        if not self._able or size > 2 * LONG_BYTES:
            return at, 0, True
        kernel = self._kernel
        if len(self._rest) < 2 * size + kernel.SPACE:
            self._rest = np.empty(2 * len(run) + kernel.SPACE, np.uint8)
        texts, rest = rows.texts.space(max(BATCH_BYTES, size) + kernel.SPACE), self._rest
        found = np.empty((rows.rows_left, kernel.WIDTH), np.int64)
        limits = np.array([self._params.max_record_bytes, rows.bytes_left, rows.empty])
        data = np.frombuffer(run, np.uint8)
        many, end, why = kernel.records(
            data, at, self._names, self._bounds, limits, texts, rows.texts.used, rest, found
        )
        found = found[:many]
        lines = memoryview(run)
        for own_id, (start, stop) in zip(self._own_ids(found), found[:, :2].tolist(), strict=True):
            rows.identities.add(own_id, lines[start:stop])
        rows.accept_all(self._rows(found, number), self._within(found, rows.texts.used), end - at)
        rows.texts.wrote(found[:, kernel.TEXT_END])
        return end, many, why == kernel.ODD

    @cached_property
    def _kernel(self) -> Any:
        from kernels import json_records  # numba, at the first record

        return json_records

    def _within(self, found: npt.NDArray[np.int64], used: int) -> list[int]:
        """For each text the bytes within which it has no more control characters than bytes are missing (see Rows)."""
        ends, controls = found[:, self._kernel.TEXT_END], found[:, self._kernel.CONTROLS]
        if not controls.any():
            return [0] * len(found)
        sizes = np.diff(ends, prepend=used)
        return list(np.where(controls > self._params.max_control_share * sizes, UNKNOWN, 0).tolist())

    def _values(self, found: npt.NDArray[np.int64], column: int, missing: str | None) -> list[str | None]:
        """What lies between two positions of the rest, which this column of `found` and the next one hold."""
        rest = self._rest.data
        places = found[:, column : column + 2].tolist()
        return [str(rest[start:end], "utf-8") if start >= 0 else missing for start, end in places]

    def _own_ids(self, found: npt.NDArray[np.int64]) -> list[str | None]:
        return self._values(found, self._column(self._kernel.ID), None)

    def _column(self, field: int) -> int:
        """Where in `found` the positions of a named field are."""
        return int(self._kernel.NAMED + 2 * field - 2)

    def _rows(self, found: npt.NDArray[np.int64], number: int) -> list[Row]:
        kernel, codec, by = self._kernel, self._codec, self._by
        licenses = self._values(found, self._column(kernel.LICENSE), self._license)
        urls, titles = (self._values(found, self._column(field), None) for field in (kernel.URL, kernel.TITLE))
        metadata = self._values(found, kernel.META, None)
        named = zip(licenses, urls, titles, metadata, count(number), strict=False)
        return [(a, b, c, str(d), codec, by, 0, 0, 0, None, f"{self._label}:{n}") for a, b, c, d, n in named]
