"""Suspicious characters in texts: equal to a walk over the characters, on fuzz."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.suspects import BEFORE, BEHIND, most_places, places

MEMBERS = {*"ÃÂ©€—’»\x85Ђ\ufb01\ufffd\xa0"}
ALONE = {*"Ã\x85Ђ"}


def flags(characters: set[str]) -> npt.NDArray[np.bool_]:
    found = np.zeros(0x10000, np.bool_)
    found[[ord(c) for c in characters]] = True
    return found


def found_places(texts: list[str], before: bytes = b"") -> list[tuple[int, bytes]]:
    data = np.frombuffer(before + "".join(texts).encode(), np.uint8)
    offsets = np.cumsum([len(before), *(len(t.encode()) for t in texts)])
    starts, ends, owners = np.full((3, most_places(len(data), len(texts))), 7, np.int64)
    count = places(data, offsets, flags(MEMBERS), flags(ALONE), starts, ends, owners)
    bounds = zip(starts[:count].tolist(), ends[:count].tolist(), strict=True)
    return [(i, data[a:b].tobytes()) for i, (a, b) in zip(owners[:count].tolist(), bounds, strict=True)]


def slow_places(texts: list[str]) -> list[tuple[int, bytes]]:
    """The twin: character by character, marks on bytes, runs of marks."""
    found: list[tuple[int, bytes]] = []
    following = [next((t[0] for t in texts[i + 1 :] if t), "") for i in range(len(texts))]
    for owner, text in enumerate(texts):
        raw, runs = text.encode(), list[list[int]]()
        begins = [len(text[:i].encode()) for i in range(len(text) + 1)]
        for i, (c, after) in enumerate(zip(text, text[1:] + (following[owner] or "x"), strict=bool(text))):
            if c in MEMBERS and (c in ALONE or after in MEMBERS):
                start = max(b for b in begins if b <= max(0, begins[i] - BEFORE))
                end = min(b for b in begins if b >= min(len(raw), begins[i] + BEHIND))
                if runs and start <= runs[-1][1]:
                    runs[-1][1] = end
                else:
                    runs.append([start, end])
        found += [(owner, raw[start:end]) for start, end in runs]
    return found


pieces = st.sampled_from(
    ["plain words " * 7, "a", "渡船九点开，" * 9, "é", "😀" * 20, "“—”", "Паром", *sorted(MEMBERS), "x" * 67]
)
texts = st.lists(st.lists(pieces | st.text(max_size=5), max_size=12).map("".join), min_size=1, max_size=5)


@settings(max_examples=300, deadline=None)
@given(texts, st.sampled_from([b"", b"plain", "Ã©".encode()]))
def test_the_places_are_those_of_a_walk_over_the_characters(texts: list[str], before: bytes) -> None:
    assert found_places(texts, before) == slow_places(texts)


@pytest.mark.parametrize("unit", ["Ã©", "Ã", "—€", "Ã" + "x" * 98, "Ã" + "x" * 99, "渡Ã" + "é" * 46])
def test_as_many_places_as_there_can_be_have_room(unit: str) -> None:
    text = unit * 300
    assert found_places([text, "", text]) == slow_places([text, "", text])


@pytest.mark.parametrize("cut", range(1, 4))
def test_bytes_that_are_no_utf8_at_the_end_are_not_read_beyond(cut: int) -> None:
    data = np.frombuffer(("x" * 70 + "Ã—").encode() + "€€".encode()[:-cut], np.uint8)
    rooms = np.zeros((3, 8), np.int64)
    assert places(data, np.array([0, len(data)]), flags(MEMBERS), flags(ALONE), *rooms) == 1
    assert rooms[1, 0] == len(data)
