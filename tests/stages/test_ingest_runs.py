"""Streams cut into runs of lines: every line is there, in its order, whatever the blocks were."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.ingest import runs as module
from stages.ingest.runs import runs
from stages.ingest.streams import StreamError, lines


def lines_of(found: list[bytes | None]) -> list[bytes | None]:
    """The lines of runs; what is too long inside a run is for the reader to see."""
    result: list[bytes | None] = []
    for run in found:
        result += [None] if run is None else run.removesuffix(b"\n").split(b"\n")
    return result


content = st.lists(st.sampled_from([b"a", b"\n", b"\n\n", b"bcd" * 5, b"e" * 60]), max_size=30).map(b"".join)


@settings(max_examples=400, deadline=None)
@given(content, st.integers(1, 70), st.integers(1, 100), st.integers(1, 40), st.integers(1, 40))
def test_the_lines_are_those_of_the_plain_reader(
    whole: bytes, block: int, limit: int, run_bytes: int, long_bytes: int
) -> None:
    blocks = [whole[i : i + block] for i in range(0, len(whole), block)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "RUN_BYTES", run_bytes)
        patch.setattr(module, "LONG_BYTES", long_bytes)
        found = list(runs(blocks, limit))
    assert all(run is None or run for run in found)
    given = [None if line is None or len(line) > limit else line for line in lines_of(found)]
    assert given == list(lines(blocks, limit))


def test_an_error_of_the_stream_comes_behind_the_whole_lines_before_it() -> None:
    def content() -> object:
        yield b"a\nb"
        yield b"\nc"
        raise StreamError("corrupt_stream", "damaged")

    found = []
    with pytest.raises(StreamError):
        for run in runs(content(), 100):  # type: ignore[arg-type]
            found.append(run)
    assert found == [b"a\nb\n"]
