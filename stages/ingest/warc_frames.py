"""A web archive cut into records, so that one wrong length, damaged member or early end costs one record.

A WARC record is a version line, header lines, an empty line, as many bytes as Content-Length says, and two line ends
(ISO 28500:2017, section 4). Reading on from a wrong Content-Length swallows the records behind it without a word; here
a record must be followed by the next one or by the end of the file, and is measured by what is there where it is not.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from fastwarc.warc import HeaderMap

from stages.ingest.streams import BLOCK, StreamError

HEADER_BYTES: Final = 1 << 20
_MAGIC: Final = b"WARC/"
_NEXT: Final = b"\r\n\r\nWARC/1."
_END: Final = b"\r\n\r\n"  # of a header, and of a record
_BETWEEN: Final = _END + _MAGIC
_SEARCH: Final = 1 << 20  # how far behind the declared end the next record is looked for


class Frame(NamedTuple):
    """One record: its headers and content, or a reason code with its detail; `note` says how it was mended.

    Names of headers are in lower case; of equal names the first one counts.
    """

    headers: dict[str, str] | None
    body: bytes = b""
    note: str | None = None
    problem: tuple[str, str] | None = None


def frames(items: Iterator[bytes | StreamError], limit: int) -> Iterator[Frame]:
    """The records of an archive, in order; `limit` is the largest content in bytes (else `record_too_large`)."""
    window = _Window(items)
    lost = False  # are the bytes up to the next record part of what was reported already?
    while True:
        while (usual := window.take_usual(limit)) is not None:
            lost = False
            yield usual
        window.skip_line_ends()
        if not window.fill(1):
            if (broken := window.take_break()) is None:
                return
            if not lost:
                yield Frame(None, problem=broken)
            lost = True
        elif not window.starts_record():
            size = window.skip_to_record()
            if not lost:
                yield Frame(None, problem=("bad_record", f"{size} bytes that belong to no WARC record"))
                lost = True
        else:
            frame = _record(window, limit)
            broken = window.take_break() if frame.problem is _CUT else None
            lost = broken is not None or frame.problem is not None
            yield frame if broken is None else Frame(None, problem=broken)


_CUT: Final = ("cut_record", "the file ends within the record")


def _record(window: _Window, limit: int) -> Frame:
    start = window.header_end()
    if start is None:
        if window.ended:
            window.skip(window.available)
            return Frame(None, problem=_CUT)
        window.skip(len(_MAGIC))
        return Frame(None, problem=("bad_record", f"no end of the record's header within {HEADER_BYTES} bytes"))
    headers = by_name(parsed_headers(window.peek(0, start)).to_tuples())
    length = _declared(headers)
    window.skip(start)
    if length is None:
        return Frame(None, problem=("bad_record", "the record's header has no Content-Length that is a number"))
    if length > limit:
        window.skip_content(length)
        return Frame(None, problem=("record_too_large", f"a record of {length} bytes, more than {limit}"))
    return _content(window, headers, length)


def _declared(headers: dict[str, str]) -> int | None:
    value = headers.get("content-length", "").strip()
    return int(value) if value.isascii() and value.isdigit() and len(value) <= 18 else None


def _content(window: _Window, headers: dict[str, str], length: int) -> Frame:
    complete = window.fill(length)
    if complete and window.ends_record(length):
        return Frame(headers, window.take(length))
    found = window.find(_NEXT, 0, length + _SEARCH)
    if found >= 0 and not (complete and found > length and window.rubbish_between(length, found)):
        note = f"Content-Length says {length} bytes, the record has {found}"
        return Frame(headers, window.take(found), note)
    if complete:
        return Frame(headers, window.take(length), "what follows the record's content is no record")
    window.skip(window.available)
    return Frame(None, problem=_CUT)


def by_name(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Values by lower-case names; of equal names the first one counts."""
    return {name.lower(): value for name, value in reversed(headers)}


def parsed_headers(block: bytes) -> HeaderMap:
    """Header lines with their first line (WARC version or HTTP status), whatever their line ends are."""
    headers = HeaderMap()
    lines = block.rstrip(b"\r\n")
    if lines.count(b"\n") != lines.count(b"\r\n"):
        lines = lines.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    headers.parse(io.BytesIO(lines + b"\r\n\r\n"))
    return headers


def header_size(content: bytes | bytearray, start: int = 0, stop: int | None = None) -> int:
    """Bytes from `start` to behind the empty line that ends a header, or -1."""
    stop = len(content) if stop is None else stop
    end = content.find(b"\r\n\r\n", start, stop)
    bare = content.find(b"\n\n", start, stop if end < 0 else end)
    if bare >= 0:
        return bare + 2 - start
    return -1 if end < 0 else end + 4 - start


class _Window:
    """The content from a position on; as much of it is in memory as was asked for."""

    def __init__(self, items: Iterator[bytes | StreamError]) -> None:
        self._items, self._at = items, 0
        self._buffer: bytes | bytearray = b""
        self._broken: StreamError | None = None
        self._over = False

    @property
    def available(self) -> int:
        return len(self._buffer) - self._at

    @property
    def ended(self) -> bool:
        """Is there nothing to come, but for what a break hides?"""
        return self._over or self._broken is not None

    def take_break(self) -> tuple[str, str] | None:
        """Why the content stopped here, if it is broken; reading goes on behind the break."""
        broken, self._broken = self._broken, None
        return None if broken is None else (broken.reason, broken.detail)

    def fill(self, count: int) -> bool:
        """Are `count` bytes there?"""
        while len(self._buffer) - self._at < count:
            item = None if self.ended else self._next()
            if item is None:
                return False
            self._append(item)
        return True

    def _append(self, item: bytes) -> None:
        if isinstance(self._buffer, bytes) or self._at > BLOCK:
            self._buffer = bytearray(memoryview(self._buffer)[self._at :])
            self._at = 0
        self._buffer += item

    def take_usual(self, limit: int) -> Frame | None:
        """The record that begins here if nothing about it is unusual and another one follows; else nothing is taken.

        What `_record` would give, with less work; of a member that is one record, as most are, the content is copied
        once.
        """
        gap = len(_END) if self._buffer.startswith(_BETWEEN, self._at) else 0
        start = self._at + gap
        if not self._buffer.startswith(_MAGIC, start):
            return None
        end = self._buffer.find(_END, start, start + HEADER_BYTES)
        if end < 0:
            return None
        block = self.peek(gap, end - self._at)
        headers = by_name(parsed_headers(block).to_tuples())
        length = _declared(headers)
        if length is None or length > limit or b"\n\n" in block:
            return None
        first = end + len(_END) - self._at
        stop = first + length
        if self.available == stop + len(_END) and self._buffer.endswith(_END):
            body = self.peek(first, stop)
            if self._next_is_record():
                return Frame(headers, body)
        if not self.fill(stop + len(_BETWEEN)) or not self._buffer.startswith(_BETWEEN, self._at + stop):
            return None
        body = self.peek(first, stop)
        self._at += stop
        return Frame(headers, body)

    def _next_is_record(self) -> bool:
        """Is the next piece the beginning of a record? Then it is all there is; else it comes behind what there is."""
        item = None if self.ended else self._next()
        if item is None:
            return False
        if item.startswith(_MAGIC):
            self._buffer, self._at = item, 0
            return True
        self._append(item)
        return False

    def _next(self) -> bytes | None:
        """The next piece; None where there is none, which `ended` then says."""
        item = next(self._items, None)
        if isinstance(item, bytes):
            return item
        self._over, self._broken = item is None, item
        return None

    def peek(self, start: int, stop: int) -> bytes:
        return bytes(memoryview(self._buffer)[self._at + start : self._at + stop])

    def skip(self, count: int) -> None:
        self._at += count

    def take(self, count: int) -> bytes:
        taken = self.peek(0, count)
        self._at += count
        return taken

    def find(self, needle: bytes, start: int, limit: int) -> int:
        """Where `needle` begins, from `start` on and before `limit`; or -1."""
        while True:
            at = self._buffer.find(needle, self._at + start, self._at + limit + len(needle))
            if at >= 0:
                return at - self._at
            have = self.available
            if have >= limit + len(needle) or not self.fill(have + 1):
                return -1
            start = max(start, have - len(needle) + 1)

    def header_end(self) -> int | None:
        """Where the header ends; None where no empty line comes."""
        while True:
            size = header_size(self._buffer, self._at, self._at + HEADER_BYTES)
            if size >= 0:
                return size
            if self.available >= HEADER_BYTES or not self.fill(self.available + 1):
                return None

    def skip_line_ends(self) -> None:
        while self.fill(1) and self._buffer[self._at] in b"\r\n":
            self._at += 1

    def starts_record(self) -> bool:
        self.fill(len(_MAGIC))
        return self._buffer.startswith(_MAGIC, self._at)

    def ends_record(self, length: int) -> bool:
        """Does the next record, or nothing, follow after `length` bytes?"""
        self.fill(length + 4 + len(_MAGIC))
        rest = self.peek(length, length + 4 + len(_MAGIC)).lstrip(b"\r\n")[: len(_MAGIC)]
        return rest == _MAGIC[: len(rest)]

    def rubbish_between(self, length: int, found: int) -> bool:
        """Does a record of `length` bytes end there, with damage before the next one, rather than go on to `found`?

        It does where its two line ends are there, and where another record begins before `found` without them.
        """
        return self.peek(length, length + 4) == _NEXT[:4] or self.find(_NEXT[4:], length, found + 3) >= 0

    def skip_to_record(self) -> int:
        """Bytes skipped up to the next record, the end, or a break."""
        skipped = 0
        while True:
            at = self._buffer.find(_MAGIC, self._at + 1)
            if at >= 0:
                skipped += at - self._at
                self._at = at
                return skipped
            keep = len(_MAGIC) if self.fill(self.available + 1) else 0
            gone = max(0, self.available - keep)
            skipped += gone
            self._at += gone
            if keep == 0:
                return skipped

    def skip_content(self, length: int) -> None:
        """Skips `length` bytes, or fewer where another record begins before."""
        while length > 0:
            self.fill(min(length, BLOCK) + len(_NEXT))
            part = min(length, self.available)
            at = self._buffer.find(_NEXT, self._at, self._at + part + len(_NEXT))
            if at >= 0 or part == 0:
                self._at = max(self._at, at)
                return
            self._at += part
            length -= part
