"""Lines of a stream in runs: many short ones as one piece of bytes, cut between lines; a long one by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from stages.ingest.streams import StreamError

RUN_BYTES: Final = 1 << 18
"""A run has so many bytes, or a little more: what the processor's cache holds beside what is made of it."""

LONG_BYTES: Final = 1 << 22
"""A line that is longer and comes in several blocks is a run by itself."""


def runs(content: Iterable[bytes], limit: int) -> Iterator[bytes | None]:
    """Whole lines, each with its "\\n", which alone ends them; the last line of all and a long one come without it.

    None stands for a line of more than `limit` bytes that came in several blocks. A StreamError comes behind all whole
    lines before it.
    """
    gathered = _Gathered(limit)
    broken: StreamError | None = None
    try:
        for block in content:
            yield from gathered.add(block)
    except StreamError as error:
        broken = error
    yield from gathered.whole_lines()
    if broken is not None:
        raise broken
    yield from gathered.open_line()


class _Gathered:
    """Whole lines that wait for others, and the beginning of the next line; parts of blocks, not copied."""

    def __init__(self, limit: int) -> None:
        self._limit, self._alone = limit, min(limit, LONG_BYTES)
        self._whole: list[memoryview] = []
        self._open: list[memoryview] = []
        self._whole_size = self._open_size = 0

    def add(self, block: bytes) -> Iterator[bytes | None]:
        """Takes a block in; gives what is ready."""
        at, view = 0, memoryview(block)
        while at < len(block):
            stop = min(at + RUN_BYTES, len(block))
            end = block.rfind(b"\n", at, stop) + 1
            if not end:
                self._go_on(view[at:stop])
                at = stop
            elif self._open_size and self._open_size + (first := block.find(b"\n", at)) - at > self._alone:
                self._go_on(view[at:first])
                yield from self.whole_lines()
                yield from self.open_line()
                at = first + 1
            else:
                self._whole += [*self._open, view[at:end]]
                self._whole_size += self._open_size + end - at
                self._open, self._open_size = [], 0
                if self._whole_size >= RUN_BYTES:
                    yield from self.whole_lines()
                at = end

    def _go_on(self, part: memoryview) -> None:
        self._open_size += len(part)
        self._open.append(part)
        if self._open_size > self._limit:
            self._open = []  # its bytes are not kept, only the fact that it goes on

    def whole_lines(self) -> Iterator[bytes]:
        """The lines that wait."""
        if self._whole:
            run = b"".join(self._whole)
            self._whole, self._whole_size = [], 0
            yield run

    def open_line(self) -> Iterator[bytes | None]:
        """The line that has begun, as if it ended here."""
        if self._open_size:
            line = b"".join(self._open) if self._open_size <= self._limit else None
            self._open, self._open_size = [], 0
            yield line
