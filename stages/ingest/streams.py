"""Files as streams: opened from any path or URL, decompressed in bounded memory, cut into lines.

Compression is what the first bytes say (gzip, zstd, bzip2, xz), not the file's name. All members of a gzip file and all
frames of a zstd file are read. A stream that ends early or is damaged raises StreamError after everything before it was
given.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import itertools
import lzma
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any, ClassVar, Final, cast

import fsspec
import zstandard
from isal import isal_zlib

from pipeline.sources import UnreadableFileError

BLOCK: Final = 1 << 20
_SUFFIXES: Final = (".gz", ".zst", ".bz2", ".xz")
_LZMA_MEMORY: Final = 1 << 28
_GzipError: Final = cast(type[Exception], isal_zlib.error)  # its stub calls it an instance
_ZSTD_WINDOW: Final = 1 << 31  # as `zstd --long=31` writes
_ZSTD_DICTIONARY: Final = 1 << 24
"""How large the dictionary of a web archive may be; usual ones have some 100 kB."""


@dataclass(frozen=True)
class Member:
    """A file inside an archive: its name there, and how to open it (once, from the beginning)."""

    name: str
    open: Callable[[], IO[bytes]]


Location = str | Member
"""What a reader opens: a path, any fsspec URL, or a file inside an archive."""


class StreamError(Exception):
    """A stream that breaks off: `truncated_stream` or `corrupt_stream`."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{detail} ({reason})")
        self.reason, self.detail = reason, detail


def open_input(location: Location, label: str) -> IO[bytes]:
    """`location` opened for reading; UnreadableFileError (`unreadable`) where that fails."""
    if isinstance(location, Member):
        return location.open()
    try:
        if "://" in location or "::" in location:
            return cast(IO[bytes], fsspec.open(location, "rb").open())
        return open(location, "rb")
    except Exception as error:  # a store raises its own types: no access, no such object, a driver that is missing
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableFileError(label, "unreadable", f"cannot be opened: {said or type(error).__name__}") from error


def plain_name(location: Location) -> str:
    """Lower-case file name without compression suffixes, and without the query of a URL."""
    name = location.name if isinstance(location, Member) else location
    name = name.split("?")[0] if "://" in name else name
    name = name.replace("\\", "/").rsplit("/", 1)[-1].lower()
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def blocks(location: Location, label: str) -> Iterator[bytes]:
    """Decompressed content, in pieces of bounded size, never empty ones."""
    name = location.name if isinstance(location, Member) else location
    with open_input(location, label) as file:
        yield from _decompressed(_first(file, label), _rest(file), compressed=name.lower().endswith(_SUFFIXES))


def _first(file: IO[bytes], label: str) -> bytes:
    try:
        return file.read(BLOCK)
    except OSError as error:
        raise UnreadableFileError(label, "unreadable", f"cannot be read: {error.strerror or error}") from error


def _rest(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(BLOCK):
        yield block


def _decompressed(first: bytes, rest: Iterable[bytes], compressed: bool) -> Iterator[bytes]:
    content: Iterator[bytes] = itertools.chain([first], rest)
    for form in (_Gzip, _Zstd, _Bzip2, _Xz):
        if form.begins(first):
            members: _Members = form()
            if isinstance(members, _Zstd):
                content = members.take_dictionary(content)
            yield from _decompress(content, members)
            return
    if first:
        yield from content
    elif compressed:
        raise StreamError("truncated_stream", "the file is empty: not even the header of a compressed stream is there")


class _Members:
    """The members (gzip) or frames (zstd) of one stream, one after the other. Zero bytes between them are padding."""

    name: ClassVar[str]
    slice_bytes: ClassVar[int]  # how much is decompressed at once, which bounds what comes out at once
    errors: ClassVar[type[Exception]]
    header: ClassVar[int] = 4  # bytes that tell a member from something else

    def __init__(self) -> None:
        self._member: Any = None
        self._pending = b""
        self._rest, self._seeking = b"", False

    @staticmethod
    def begins(data: bytes) -> bool:
        """Is this the beginning of a member?"""
        raise NotImplementedError

    def _start(self, data: bytes) -> Any:
        """What decompresses the member whose header is in `data`."""
        raise NotImplementedError

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        yield self._member.decompress(data)

    @property
    def complete(self) -> bool:
        return self._member is not None and self._member.eof and not self._pending

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What the next slice of the stream decompresses to."""
        data, self._pending = self._pending + data, b""
        while data:
            self._rest = data
            if self._seeking:
                at = data.find(_Gzip.magic)
                self._pending = data[-2:] if at < 0 else b""
                if at < 0:
                    return
                data, self._seeking = data[at:], False
                self._rest = data
            if self._member is None or self._member.eof:
                data = data if self._member is None else data.lstrip(b"\0")
                if len(data) < self.header:  # a header that the next slice completes
                    self._pending = data
                    return
                if not self.begins(data):
                    raise StreamError("corrupt_stream", f"what follows the {self.name} data is no {self.name} data")
                self._member = self._start(data)
            yield from self._pieces(data)
            data = self._member.unused_data if self._member.eof else b""

    def inside(self, data: bytes) -> tuple[bytes, bytes] | None:
        """Short way for a slice in the middle of a member: its content and what of the slice `feed` must still see."""
        return None

    def skip_member(self) -> bytes:
        """After damage: what is left of the slice without the first byte, where the next member is looked for."""
        self._member, self._seeking = None, True
        return self._rest[1:]

    @property
    def seeking(self) -> bool:
        return self._seeking


class _Gzip(_Members):
    name = "gzip"
    magic: ClassVar[bytes] = b"\x1f\x8b\x08"  # deflate, the one method there is (RFC 1952, section 2.3.1)
    slice_bytes = 1 << 15
    errors = _GzipError

    @staticmethod
    def begins(data: bytes) -> bool:
        return data.startswith(_Gzip.magic)

    def _start(self, data: bytes) -> Any:
        if data[3] & 0xE0:  # ISA-L does not look at them
            raise _GzipError("reserved bits are set in the header of a member (RFC 1952, section 2.3.1.2)")
        return isal_zlib.decompressobj(wbits=isal_zlib.MAX_WBITS | 16)

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        while not self._member.eof:
            piece = self._member.decompress(data, BLOCK)
            yield piece
            data = self._member.unconsumed_tail
            if not data and len(piece) < BLOCK:
                break


class _Zstd(_Members):
    name = "zstd"
    slice_bytes = 1 << 11  # a block of 4 bytes may stand for 128 KiB: 2 KiB never become more than about 64 MiB
    errors = zstandard.ZstdError

    @staticmethod
    def begins(data: bytes) -> bool:
        """Magic of a frame, or of a skippable one (0x184D2A50 to 0x184D2A5F; RFC 8878, sections 3.1.1 and 3.1.2)."""
        return data.startswith(b"\x28\xb5\x2f\xfd") or (data[1:4] == b"\x2a\x4d\x18" and data[0] >> 4 == 5)

    def __init__(self) -> None:
        super().__init__()
        self._frames = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)

    def take_dictionary(self, content: Iterator[bytes]) -> Iterator[bytes]:
        """Use the dictionary that a web archive holds in its first frame; the content is given back whole.

        It lies in a skippable frame of this magic, packed with zstd or not (IIPC, "Use of the Zstandard compression
        format in WARC files", version 1.0).
        """
        start, content = head(content, 8)
        size = int.from_bytes(start[4:8], "little")
        if not start.startswith(b"\x5d\x2a\x4d\x18") or size > _ZSTD_DICTIONARY:
            return content
        frame, content = head(content, 8 + size)
        found = frame[8:]
        with contextlib.suppress(zstandard.ZstdError):
            if found.startswith(b"\x28\xb5\x2f\xfd"):
                found = zstandard.ZstdDecompressor().stream_reader(found).read(_ZSTD_DICTIONARY)
            if found.startswith(b"\x37\xa4\x30\xec"):
                given = zstandard.ZstdCompressionDict(found)
                self._frames = zstandard.ZstdDecompressor(dict_data=given, max_window_size=_ZSTD_WINDOW)
        return content

    def _start(self, data: bytes) -> Any:
        return self._frames.decompressobj()

    def inside(self, data: bytes) -> tuple[bytes, bytes] | None:
        member = self._member
        if member is None or member.eof or self._pending or self._seeking:
            return None
        return member.decompress(data), member.unused_data if member.eof else b""


class _Sized(_Members):
    """What decompresses `BLOCK` bytes at a time and keeps the rest of its input to itself (bz2, lzma)."""

    slice_bytes = 1 << 15

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        yield self._member.decompress(data, BLOCK)
        while not self._member.eof and not self._member.needs_input:
            yield self._member.decompress(b"", BLOCK)


class _Bzip2(_Sized):
    name = "bzip2"
    errors = OSError

    @staticmethod
    def begins(data: bytes) -> bool:
        """Magic, block size, and the magic of the first block or of the end of an empty stream."""
        return (
            data[:3] == b"BZh"
            and data[3:4] in b"123456789"
            and (len(data) < 10 or data[4:10] in (b"1AY&SY", b"\x17rE8P\x90"))
        )

    def _start(self, data: bytes) -> Any:
        return bz2.BZ2Decompressor()


class _Xz(_Sized):
    name = "xz"
    errors = lzma.LZMAError

    @staticmethod
    def begins(data: bytes) -> bool:
        return data.startswith(b"\xfd7zXZ\0") or (len(data) < 6 and data.startswith(b"\xfd7zX"))

    def _start(self, data: bytes) -> Any:
        return lzma.LZMADecompressor(memlimit=_LZMA_MEMORY)


def _decompress(content: Iterable[bytes], members: _Members) -> Iterator[bytes]:
    given = 0
    try:
        for block in content:
            for at in range(0, len(block), members.slice_bytes):
                data = block[at : at + members.slice_bytes]
                if (found := members.inside(data)) is not None:
                    piece, data = found
                    given += len(piece)
                    if piece:
                        yield piece
                    if not data:
                        continue
                for piece in filter(None, members.feed(data)):
                    given += len(piece)
                    yield piece
    except members.errors as error:
        raise StreamError("corrupt_stream", f"damaged {members.name} data after {given} bytes of content") from error
    if not members.complete:
        raise StreamError("truncated_stream", f"the {members.name} data ends early, after {given} bytes of content")


def recovering(location: Location, label: str) -> Iterator[bytes | StreamError]:
    """Like `blocks`, but a StreamError comes as an item in its place, and gzip data goes on at the next member.

    For files whose members are records of their own, as those of web archives are.
    """
    with open_input(location, label) as file:
        content: Iterator[bytes] = itertools.chain([_first(file, label)], _rest(file))
        start, content = head(content, 16)
        if _Gzip.begins(start):
            yield from _recovered(content, _Gzip())
        else:
            try:
                yield from _decompressed(next(content, b""), content, compressed=False)
            except StreamError as error:
                yield error


def _recovered(content: Iterable[bytes], members: _Members) -> Iterator[bytes | StreamError]:
    for block in content:
        for at in range(0, len(block), members.slice_bytes):
            data = block[at : at + members.slice_bytes]
            while data:
                try:
                    yield from filter(None, members.feed(data))
                    data = b""
                except (members.errors, StreamError):
                    yield StreamError("corrupt_stream", f"damaged {members.name} data; reading went on behind it")
                    data = members.skip_member()
    if not members.complete and not members.seeking:
        yield StreamError("truncated_stream", f"the {members.name} data ends early")


def head(content: Iterator[bytes], size: int) -> tuple[bytes, Iterator[bytes]]:
    """The first `size` bytes (or all), and the whole content again; a StreamError on the way comes in its place."""
    taken: list[bytes] = []
    broken: StreamError | None = None
    try:
        while sum(map(len, taken)) < size and (block := next(content, None)) is not None:
            taken.append(block)
    except StreamError as error:
        broken = error

    def again() -> Iterator[bytes]:
        yield from taken
        if broken is not None:
            raise broken
        yield from content

    return b"".join(taken)[:size], again()


def without_first(content: Iterator[bytes], count: int) -> Iterator[bytes]:
    """Content without its first `count` bytes."""
    for block in content:
        if len(block) > count:
            yield block[count:]
        count = max(0, count - len(block))


def transcoded(content: Iterator[bytes], codec: str) -> Iterator[bytes]:
    """UTF-16 or UTF-32 as UTF-8; lone surrogates pass as such (`surrogatepass`)."""
    decoder = codecs.getincrementaldecoder(codec)("surrogatepass")
    given = 0
    try:
        for block in content:
            if piece := decoder.decode(block).encode("utf-8", "surrogatepass"):
                given += len(piece)
                yield piece
        yield from filter(None, [decoder.decode(b"", final=True).encode("utf-8", "surrogatepass")])
    except UnicodeDecodeError as error:
        what = f"{codec}: a character is cut or impossible after {given} bytes of content"
        raise StreamError("corrupt_stream", what) from error


def lines(content: Iterable[bytes], limit: int) -> Iterator[bytes | None]:
    """Lines without their "\\n", which alone ends them; None for a line of more than `limit` bytes."""
    parts: list[bytes] = []
    size = 0
    for block in content:
        pieces = block.split(b"\n")
        last = pieces.pop()
        for piece in pieces:
            size += len(piece)
            line = None if size > limit else b"".join([*parts, piece]) if parts else piece
            parts, size = [], 0  # before the line is worked on: a large one would be in memory twice
            yield line
        size += len(last)
        if size > limit:
            parts = []  # its bytes are not kept, only the fact that it goes on
        elif last:
            parts.append(last)
    if size:
        yield b"".join(parts) if size <= limit else None
