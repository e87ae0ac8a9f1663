"""Identities of the records of one file: hashed many at a time, which takes half as long as one after the other."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.hashing import HEX_DIGITS, heading, identifying

LONG: Final = 1 << 17
"""Bytes of a record that is hashed at once: it would keep one lane busy when all others are done."""

GROUP: Final = 1 << 21
"""Bytes of records from which on they are hashed."""

WORTH: Final = 1 << 18
"""Bytes of records from which on lanes are faster than one record after the other."""


class Identities:
    """Takes in records; `take` gives their identities (see `pipeline.hashing.identity`) in order and starts anew."""

    def __init__(self, source: str) -> None:
        self._head, self._one = heading(source), identifying(source)
        self._begin()

    def _begin(self) -> None:
        self._found: list[str] = []
        self._waiting: list[tuple[int, str | None, bytes | memoryview]] = []  # place in `_found`, own id, raw content
        self._bytes = 0

    def add(self, own_id: str | None, raw: bytes | memoryview) -> None:
        """One record with its own id, if it has one, and its raw content."""
        if len(raw) > LONG:
            self._found.append(self._one(own_id, raw))
            return
        self._waiting.append((len(self._found), own_id, raw))
        self._found.append("")
        self._bytes += len(raw)
        if self._bytes >= GROUP:
            self._settle()

    def take(self) -> list[str]:
        """The identities of all records since the last call."""
        self._settle()
        found = self._found
        self._begin()
        return found

    def _settle(self) -> None:
        if not self._waiting or self._bytes < WORTH:
            for place, own_id, raw in self._waiting:
                self._found[place] = self._one(own_id, raw)
        else:
            from kernels.blake2b import digests

            waiting = sorted(self._waiting, key=lambda record: -len(record[2]))  # the lanes end at about one time
            heads = [self._head(own_id) for _, own_id, _ in waiting]
            ends = np.cumsum([0, *(len(raw) for _, _, raw in waiting)])
            data = np.frombuffer(b"".join(raw for _, _, raw in waiting), np.uint8)
            hashed = digests(
                b"".join(heads), np.cumsum([len(h) for h in heads]), data, ends[:-1], ends[1:], HEX_DIGITS // 2
            )
            for (place, _, _), identity in zip(waiting, hashed, strict=True):
                self._found[place] = identity
        self._waiting, self._bytes = [], 0
