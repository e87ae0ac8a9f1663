"""Zip and tar files: every member read as a file of its own kind, from memory, never written anywhere.

A member's name only becomes part of a label. How much an archive may unpack to is bounded, in proportion to its size
and in bytes, while it is read: what its own headers claim decides nothing.
"""

from __future__ import annotations

import io
import re
import tarfile
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from tarfile import BLOCKSIZE, EOFHeaderError, InvalidHeaderError, ReadError  # type: ignore[attr-defined]
from typing import IO, Any, Final, cast

import pyarrow as pa

from pipeline.documents import DOCUMENTS, QUARANTINE
from pipeline.sources import Read, Source, UnreadableFileError
from stages.ingest import rows, streams
from stages.ingest.decode import RejectedError
from stages.ingest.params import IngestParams
from stages.ingest.streams import Location, Member, StreamError

SUFFIXES: Final = (".zip", ".tar", ".tgz", ".tbz2", ".txz", ".tzst")
FREE_BYTES: Final = 16 << 20
"""What any archive may unpack to, whatever its size."""

_HAN: Final = re.compile("[\u4e00-\u9fff]{2}")  # a single accented letter and its neighbour make one Han character
_SYSTEM: Final = ("__macosx/", ".ds_store", "thumbs.db")
_BROKEN: Final = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError),
    *(ValueError, KeyError, IndexError, OverflowError, MemoryError),
)
"""What zipfile and tarfile raise on damaged, encrypted or unknown data; RuntimeError is a missing password."""

ReadMember = Callable[[Location, str, Source, IngestParams], Iterator[Read]]


@dataclass
class _Meter:
    """Counts what comes out of an archive, or of one member, against what went in."""

    ratio: float
    most: int
    packed: Callable[[], int]
    outer: _Meter | None = None
    given: int = 0

    def add(self, count: int) -> None:
        """Counts `count` bytes that came out; StreamError (`archive_bomb`) where that is more than may be."""
        self.given += count
        if self.outer is not None:
            self.outer.add(count)
        self.check()

    def check(self) -> None:
        if self.given > self.most:
            raise StreamError("archive_bomb", f"it unpacks to more than {self.most} bytes (`max_archive_bytes`)")
        if self.given > FREE_BYTES and self.given > self.ratio * max(1, self.packed()):
            what = f"it unpacks to more than {self.ratio:g} times its size (`max_archive_ratio`)"
            raise StreamError("archive_bomb", what)


class _Metered(io.RawIOBase):
    """A member's content, read once from its beginning, counted."""

    def __init__(self, inner: IO[bytes], meter: _Meter) -> None:
        self._inner, self._meter = inner, meter

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._inner.read(len(buffer))
        except _BROKEN as error:
            raise StreamError("bad_member", _why(error)) from error
        self._meter.add(len(data))
        buffer[: len(data)] = data
        return len(data)


class _Gathered:
    """Small batches of many members joined: one table each costs more than the documents in it."""

    def __init__(self, source: str, label: str) -> None:
        self._source, self._label, self._taken = source, label, False
        self._begin()

    def _begin(self) -> None:
        self._documents, self._quarantine = [DOCUMENTS.empty_table()], [QUARANTINE.empty_table()]
        self._blank, self._rows, self._bytes = 0, 0, 0
        self.ignored: Counter[str] = Counter()

    def add(self, read: Read) -> None:
        """One batch of a member."""
        self._documents.append(read.documents)
        self._quarantine.append(read.quarantine)
        self._blank += read.blank
        self.ignored.update(read.ignored)
        self._rows += read.documents.num_rows + read.quarantine.num_rows
        self._bytes += read.documents.nbytes

    def reject(self, record: str, error: StreamError | RejectedError | UnreadableFileError) -> None:
        """A member, or the archive, that cannot be used."""
        row = {"source": self._source, "file": self._label, "record": record}
        row |= {"reason": error.reason, "detail": error.detail}
        self.add(Read(DOCUMENTS.empty_table(), pa.Table.from_pylist([row], schema=QUARANTINE)))

    @property
    def full(self) -> bool:
        return self._rows >= rows.BATCH_ROWS or self._bytes >= rows.BATCH_BYTES

    @property
    def pending(self) -> bool:
        """Is there anything to take? Of an archive without members, one empty batch."""
        return bool(self._rows or self._blank or self.ignored) or not self._taken

    def take(self) -> Read:
        """What was gathered, as one batch whose quarantine names the archive as the file."""
        quarantine = pa.concat_tables(self._quarantine).combine_chunks()
        files = pa.array([self._label] * quarantine.num_rows, pa.string())
        at = QUARANTINE.get_field_index("file")
        quarantine = quarantine.set_column(at, QUARANTINE.field("file"), files)
        read = Read(pa.concat_tables(self._documents).combine_chunks(), quarantine, self._blank, self.ignored)
        self._taken = True
        self._begin()
        return read


def read_archive(
    location: Location, label: str, source: Source, params: IngestParams, read_member: ReadMember
) -> Iterator[Read]:
    """Batches of all members, in their order in the archive; a member's label is `label/its name`.

    Raises UnreadableFileError for an archive that is none (`not_archive`), and for a member that cannot be read at all
    where the source says `on_unreadable: stop`.
    """
    gathered = _Gathered(source.name, label)
    zipped = streams.plain_name(location).endswith(".zip")
    members = _zip_members if zipped else _tar_members
    count = 0
    try:
        for member in members(location, label, params, gathered):
            count += 1
            yield from _read_member(member, label, source, params, read_member, gathered)
    except StreamError as error:
        detail = f"the archive was read up to member {count}: {error.detail}"
        gathered.reject(label, StreamError(error.reason, detail))
    except _BROKEN as error:
        detail = f"the archive is damaged behind member {count}: {type(error).__name__}"
        gathered.reject(label, StreamError("corrupt_stream", detail))
    if gathered.pending:
        yield gathered.take()


def _read_member(
    member: Member, label: str, source: Source, params: IngestParams, read_member: ReadMember, gathered: _Gathered
) -> Iterator[Read]:
    inner = f"{label}/{member.name}"
    if is_archive(member):
        detail = "an archive inside an archive is not opened; unpack the outer one"
        gathered.reject(inner, RejectedError("nested_archive", detail))
        return
    try:
        for read in read_member(member, inner, source, params):
            gathered.add(read)
            if gathered.full:
                yield gathered.take()
    except UnreadableFileError as error:
        if source.on_unreadable == "stop":
            raise
        gathered.reject(inner, error)
    except StreamError as error:
        gathered.reject(inner, error)


def is_archive(location: Location) -> bool:
    """Does the name say zip or tar (packed or not)?"""
    return streams.plain_name(location).endswith(SUFFIXES)


def _zip_members(location: Location, label: str, params: IngestParams, gathered: _Gathered) -> Iterator[Member]:
    with streams.open_input(location, label) as file:
        try:
            archive = zipfile.ZipFile(file)
            declared = zipfile._EndRecData(file)[4]  # type: ignore[attr-defined] # of members; zipfile counts none
            size = file.seek(0, io.SEEK_END)
        except _BROKEN as error:
            raise UnreadableFileError(label, "not_archive", "not a complete zip file") from error
        listed = len(archive.infolist())
        if (declared - listed) % (1 << 16):  # older writers count in 16 bits
            what = f"the zip file's end says {declared} members, its directory lists {listed}: the others are lost"
            gathered.reject(label, StreamError("bad_member", what))
        whole = _Meter(params.max_archive_ratio, params.max_archive_bytes, lambda: size)
        for info in archive.infolist():
            name = zip_name(info)
            if info.is_dir():
                gathered.ignored["folder"] += 1
            elif _of_the_system(name):
                gathered.ignored["system file"] += 1
            else:
                meter = replace(whole, packed=partial(getattr, info, "compress_size"), outer=whole, given=0)
                yield Member(name, partial(_opened, partial(archive.open, info), meter, name, params))
                whole.check()


def zip_name(info: zipfile.ZipInfo) -> str:
    """A member's name as text: UTF-8 where the flag says so or its bytes are, else GB18030, else code page 437.

    Zip files made on Chinese Windows hold GBK names without saying so (APPNOTE.TXT, 4.4.4, bit 11).
    """
    if info.flag_bits & 0x800:
        return info.filename
    try:
        raw = info.filename.encode("cp437")
    except UnicodeEncodeError:
        return info.filename
    for codec in ("utf-8", "gb18030"):
        try:
            name = raw.decode(codec)
        except UnicodeDecodeError:
            continue
        if codec == "utf-8" or _HAN.search(name):
            return name
    return info.filename


def _tar_members(location: Location, label: str, params: IngestParams, gathered: _Gathered) -> Iterator[Member]:
    with streams.open_input(location, label) as file:
        packed = _Counted(file)
        content = streams.blocks(Member("", lambda: cast(IO[bytes], packed)), label)
        stream = _Blocks(content, _Meter(params.max_archive_ratio, params.max_archive_bytes, lambda: packed.size))
        try:
            archive = _Tar.open(fileobj=cast(IO[bytes], stream), mode="r|", encoding="utf-8", bufsize=streams.BLOCK)
        except (tarfile.TarError, EOFError, OSError) as error:
            raise UnreadableFileError(label, "not_archive", "not a tar file, packed or not") from error
        free = _Meter(float("inf"), 1 << 62, lambda: 1)  # `stream` counts already
        for info in archive:
            archive.report(label, gathered)
            name = tar_name(info.name)
            if not info.isreg():
                gathered.ignored["folder" if info.isdir() else "link or device"] += 1
            elif _of_the_system(name):
                gathered.ignored["system file"] += 1
            else:
                yield Member(name, partial(_opened, partial(archive.extractfile, info), free, name, params))
        archive.report(label, gathered)
        if not archive.ended:
            what = "the tar file has no end mark: members behind the last one may be missing"
            gathered.reject(label, StreamError("truncated_stream", what))
        stream.finish()


class _Header(tarfile.TarInfo):
    """A header as `_Tar` reads it; where there is none, that is noted before tarfile passes over it."""

    @classmethod
    def fromtarfile(cls, tarfile: Any) -> Any:  # (tarfile's own name for the argument)
        try:
            found = super().fromtarfile(tarfile)
        except EOFHeaderError:
            tarfile.ended = True
            raise
        except InvalidHeaderError as error:
            if tarfile.offset == 0:
                raise ReadError(str(error)) from None
            tarfile.strange += BLOCKSIZE
            raise
        tarfile.ended = False
        return found


class _Tar(tarfile.TarFile):
    """A tar file that is read on behind damaged headers and end marks, which tarfile by itself takes for the end.

    strange: bytes since the last member that are neither a header nor an end mark. ended: was the last block an end
    mark (zeros)?
    """

    tarinfo = _Header
    ignore_zeros = True
    strange, ended = 0, False

    def report(self, label: str, gathered: _Gathered) -> None:
        """List what was passed over since the last call."""
        if self.strange:
            what = f"{self.strange} bytes before the next member or the end are no header: members may be missing"
            gathered.reject(label, StreamError("bad_member", what))
        self.strange = 0


def tar_name(name: str) -> str:
    """A member's name as text; bytes that are no UTF-8 are read as GB18030."""
    if name.isprintable() and not any("\udc80" <= c <= "\udcff" for c in name):
        return name
    raw = name.encode("utf-8", "surrogateescape")
    try:
        return raw.decode("gb18030")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace")


class _Counted(io.RawIOBase):
    """The archive's own bytes, counted as they are read."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner, self.size = inner, 0

    def read(self, size: int = -1) -> bytes:
        data = self._inner.read(size)
        self.size += len(data)
        return data


class _Blocks(io.RawIOBase):
    """Decompressed content as the file that tarfile reads from, counted."""

    def __init__(self, content: Iterator[bytes], meter: _Meter) -> None:
        self._content, self._meter, self._pending = content, meter, memoryview(b"")
        self._broken: StreamError | None = None

    def read(self, size: int = -1) -> bytes:
        parts: list[bytes | memoryview] = []
        wanted = size if size >= 0 else 1 << 62
        while wanted > 0:
            if not self._pending:
                try:
                    block = self._next()
                except StreamError:
                    if not parts:
                        raise
                    break  # what came before it first
                if block is None:
                    break
                self._pending = memoryview(block)
            part = self._pending[:wanted]
            self._pending = self._pending[len(part) :]
            wanted -= len(part)
            parts.append(part)
        return b"".join(parts)

    def _next(self) -> bytes | None:
        """The next block; a break is met by every read from then on, for a member's reader may have taken it in."""
        if self._broken is not None:
            raise self._broken
        try:
            if (block := next(self._content, None)) is not None:
                self._meter.add(len(block))
        except StreamError as error:
            self._broken = error
            raise
        return block

    def finish(self) -> None:
        """Reads what lies behind the last member, so that a cut stream is noticed."""
        while self._next() is not None:
            pass


def _opened(open_it: Callable[[], IO[bytes] | None], meter: _Meter, name: str, params: IngestParams) -> IO[bytes]:
    """A member, ready to read; Parquet files need to be read from the end, so they are taken into memory."""
    try:
        inner = open_it()
    except _BROKEN as error:
        raise StreamError("bad_member", _why(error)) from error
    if inner is None:
        raise StreamError("bad_member", "the member has no content")
    metered = io.BufferedReader(_Metered(inner, meter), streams.BLOCK)
    if not name.lower().endswith(".parquet"):
        return metered
    content = metered.read(params.max_record_bytes + 1)
    if len(content) > params.max_record_bytes:
        what = f"a Parquet file of more than {params.max_record_bytes} bytes; unpack it first"
        raise StreamError("bad_member", what)
    return io.BytesIO(content)


def _why(error: BaseException) -> str:
    if isinstance(error, RuntimeError) and "password" in str(error):
        return "the member is encrypted"
    if isinstance(error, NotImplementedError):
        return "the member is packed by a method that is not known here"
    return f"the member is damaged: {type(error).__name__}"


def _of_the_system(name: str) -> bool:
    lower = unicodedata.normalize("NFC", name).lower()
    return lower.startswith(_SYSTEM[0]) or lower.rsplit("/", 1)[-1] in _SYSTEM[1:]
