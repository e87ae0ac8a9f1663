"""Records cut out of archives: the short way for usual records gives what the long way gives."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_warc import page, warc

from stages.ingest.streams import StreamError
from stages.ingest.warc_frames import Frame, _record, _Window, frames

RECORDS = [
    page(1),
    warc(b"", "warcinfo", None),
    page(2),
    page(3, short=4),
    page(4, short=-9),
    page(5),
    b"lost bytes",
    b"\r\n",
]
BREAK = StreamError("corrupt_stream", "damaged")
PARTS = [b"WARC/1.0\r\n", b"\r\n", b"\n\n", b"\r\n\r\n", b"Content-Length: 9\r\n", b"WARC/", b"x"]


def pieces(content: bytes, sizes: list[int], breaks: list[int]) -> Iterator[bytes | StreamError]:
    at = number = 0
    while at < len(content):
        if number in breaks:
            yield BREAK
        size = sizes[number % len(sizes)] if sizes else len(content)
        yield content[at : at + size]
        at, number = at + size, number + 1


def both_ways(items: list[bytes | StreamError], limit: int = 10_000) -> list[Frame]:
    usual = list(frames(iter(items), limit))
    with patch.object(_Window, "take_usual", lambda *_: None):
        assert usual == list(frames(iter(items), limit))
    return usual


def test_usual_records_take_the_short_way_but_for_the_first_and_the_last() -> None:
    members = [page(n) for n in range(9)]
    for items in (members, [b"".join(members)]):
        with patch("stages.ingest.warc_frames._record", wraps=_record) as long_way:
            assert len(list(frames(iter(items), 10_000))) == 9
        assert long_way.call_count == 2


@settings(max_examples=1000, deadline=None)
@given(
    st.lists(st.sampled_from(RECORDS) | st.sampled_from(PARTS), max_size=9),
    st.lists(st.integers(1, 900), max_size=3),
    st.lists(st.integers(0, 9), max_size=2),
    st.sampled_from([10_000, 300]),
)
def test_the_short_way_is_the_long_way(records: list[bytes], sizes: list[int], breaks: list[int], limit: int) -> None:
    both_ways(list(pieces(b"".join(records), sizes, breaks)), limit)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(RECORDS), max_size=7), st.lists(st.integers(0, 6), max_size=2))
def test_members_of_one_record_each_are_the_same_either_way(records: list[bytes], breaks: list[int]) -> None:
    items: list[bytes | StreamError] = list(records)
    for at in breaks:
        items.insert(at, BREAK)
    both_ways(items)
