"""Compressed streams: gzip data gives what zlib makes of it; a break comes after what was whole."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.ingest.streams import StreamError, blocks, recovering

MEMBERS = [
    gzip.compress(b"".join(b"%d %d\n" % (i, i * i % 7919) for i in range(n)), mtime=0) for n in (3000, 1, 0, 500)
]
WHOLE = b"".join(map(gzip.decompress, MEMBERS))


def given_by(path: Path) -> tuple[bytes, str | None]:
    """Content before the end or the first break, and the reason of that break."""
    parts: list[bytes] = []
    try:
        for block in blocks(str(path), "a.gz"):
            parts.append(block)
    except StreamError as error:
        return b"".join(parts), error.reason
    return b"".join(parts), None


def inflated(data: bytes) -> tuple[bytes, bool]:
    """What zlib makes of a gzip stream, and whether it is whole."""
    parts: list[bytes] = []
    while data:
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            parts.append(member.decompress(data))
        except zlib.error:
            return b"".join(parts), False
        if not member.eof:
            return b"".join(parts), False
        data = member.unused_data.lstrip(b"\0")
    return b"".join(parts), True


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("streams") / "a.gz"


def test_members_one_behind_the_other_and_zeros_between_them_are_one_content(path: Path) -> None:
    path.write_bytes(b"\0\0\0".join(MEMBERS) + b"\0")
    assert given_by(path) == (WHOLE, None)


def test_a_cut_stream_gives_what_came_before_the_cut(path: Path) -> None:
    for size in range(20, len(MEMBERS[0]), 97):
        path.write_bytes(MEMBERS[0][:size])
        found, reason = given_by(path)
        expected = inflated(MEMBERS[0][:size])[0]
        assert (reason, expected.startswith(found)) == ("truncated_stream", True)
        assert len(expected) - len(found) <= 258  # ISA-L keeps the last symbol back: 258 bytes at most


@pytest.mark.parametrize("bit", [0x20, 0x40, 0x80])
def test_reserved_bits_in_the_header_of_a_member_are_damage(path: Path, bit: int) -> None:
    marked = bytearray(MEMBERS[1])
    marked[3] |= bit
    path.write_bytes(MEMBERS[0] + marked + MEMBERS[3])
    assert given_by(path)[1] == "corrupt_stream"
    items = list(recovering(str(path), "a.gz"))
    assert b"".join(i for i in items if isinstance(i, bytes)) == gzip.decompress(MEMBERS[0] + MEMBERS[3])
    assert [i.reason for i in items if isinstance(i, StreamError)] == ["corrupt_stream"]


@given(st.integers(0, 3), st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_damage_that_zlib_notices_is_noticed_and_never_gives_other_content(
    path: Path, number: int, where: float, change: int
) -> None:
    damaged = [bytearray(m) for m in MEMBERS]
    at = int(where * len(damaged[number]))
    damaged[number][at] ^= change
    path.write_bytes(b"".join(damaged))
    (found, reason), (expected, whole) = given_by(path), inflated(path.read_bytes())
    if whole:
        assert (found, reason) == (expected, None)
    elif at >= 3 or number > 0:  # else it is no gzip data
        assert reason in {"corrupt_stream", "truncated_stream"}
        before = b"".join(map(gzip.decompress, MEMBERS[:number]))
        assert found.startswith(before)
