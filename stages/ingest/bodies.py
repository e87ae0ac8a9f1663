"""HTTP bodies as they lie in web archives: chunked or compressed as they went over the wire, or decoded already.

Archives keep the headers of the wire either way. What a header announces is undone where the bytes are such, and left
alone where they are not.
"""

from __future__ import annotations

import re
import zlib
from typing import Final

import brotli
import zstandard

from stages.ingest.decode import RejectedError

_CHUNK: Final = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_PIECE: Final = 1 << 16


def decoded_body(body: bytes, transfer: str, content: str, limit: int) -> tuple[bytes, bool]:
    """The payload, and whether it was complete. `transfer`, `content`: values of Transfer-Encoding, Content-Encoding.

    Raises RejectedError: `bad_body` (announced, begun and broken), `record_too_large` (more than `limit` bytes).
    """
    complete = True
    if "chunked" in transfer.lower():
        body, complete = _joined(body)
    for coding in reversed([c.strip().lower() for c in content.split(",")]):
        if coding in _CODINGS and body:
            body, whole = _CODINGS[coding](body, limit)
            complete = complete and whole
    return body, complete


def _joined(body: bytes) -> tuple[bytes, bool]:
    """The chunks of a chunked body (RFC 9112, section 7.1) as one; a body that is not chunked stays as it is."""
    parts: list[bytes] = []
    at = 0
    while (size := _CHUNK.match(body, at)) is not None:
        length = int(size[1], 16)
        if length == 0:
            return b"".join(parts), True
        parts.append(body[size.end() : size.end() + length])
        at = size.end() + length
        if body[at : at + 2] == b"\r\n":
            at += 2
        elif body[at : at + 1] == b"\n":
            at += 1
        elif at < len(body):
            return body, True  # no line end behind a chunk: these were no chunks
    if at < len(body) or not parts:
        return body, True
    return b"".join(parts), False


def _gzip(body: bytes, limit: int) -> tuple[bytes, bool]:
    if not body.startswith(b"\x1f\x8b\x08"):
        return body, True
    return _inflated(body, limit, zlib.MAX_WBITS | 16)


def _deflate(body: bytes, limit: int) -> tuple[bytes, bool]:
    """`deflate` means zlib data (RFC 9110, section 8.4.1.2); some servers send it without its header."""
    for bits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        try:
            found, complete = _inflated(body, limit, bits)
        except RejectedError as error:
            if error.reason != "bad_body":
                raise
        else:
            if complete or found:
                return found, complete
    return body, True


def _inflated(body: bytes, limit: int, bits: int) -> tuple[bytes, bool]:
    parts: list[bytes] = []
    left = limit
    while body:
        member = zlib.decompressobj(wbits=bits)
        try:
            part = member.decompress(body, left + 1)
        except zlib.error:
            if parts:  # something else behind the first member
                break
            raise RejectedError("bad_body", "the compressed body is damaged") from None
        left -= len(part)
        if left < 0:
            raise _too_large(limit)
        parts.append(part)
        if not member.eof:
            return b"".join(parts), False
        body = member.unused_data
    return b"".join(parts), True


def _brotli(body: bytes, limit: int) -> tuple[bytes, bool]:
    """Brotli data has no magic number: what cannot be decoded from its first byte on was decoded already."""
    decompressor = brotli.Decompressor()
    parts: list[bytes] = []
    size = 0
    try:
        part = decompressor.process(body, output_buffer_limit=_PIECE)
        while part or not decompressor.can_accept_more_data():
            parts.append(part)
            size += len(part)
            if size > limit:
                raise _too_large(limit)
            part = decompressor.process(b"", output_buffer_limit=_PIECE)
    except brotli.error:
        if size < 2 * _PIECE:
            return body, True
        raise RejectedError("bad_body", "the compressed body is damaged") from None
    return (b"".join(parts), decompressor.is_finished()) if size else (body, True)


def _zstd(body: bytes, limit: int) -> tuple[bytes, bool]:
    if not body.startswith(b"\x28\xb5\x2f\xfd"):
        return body, True
    decompressor = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    try:
        with decompressor.stream_reader(body, read_across_frames=True) as reader:
            found = reader.read(limit + 1)
        if len(found) > limit:
            raise _too_large(limit)
    except zstandard.ZstdError:
        raise RejectedError("bad_body", "the compressed body is damaged") from None
    return found, True


def _too_large(limit: int) -> RejectedError:
    return RejectedError("record_too_large", f"a compressed body of more than {limit} bytes")


_CODINGS: Final = {"gzip": _gzip, "x-gzip": _gzip, "deflate": _deflate, "br": _brotli, "zstd": _zstd}
