"""Units, ids and known words of a language model's text equal their slow twins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import lm_tables
from kernels.lm_units import GROWTH, count_known, hashed, intern, rehash, split_units
from tests.reference import lm_units as twin

FIXTURES = Path(__file__).parents[1] / "stages" / "fixtures"
CHARACTERS = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from("aB9 \n\n\t\r\0\u00a0\u3000\u2028\ufeff\u200b<>/s''’’..!中の"),
)
TEXTS = st.lists(st.text(CHARACTERS, max_size=40), max_size=5)


def split(texts: list[str], longest: int, table: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    data = [t.encode() for t in texts]
    places = np.cumsum([0, *map(len, data)], dtype=np.int64)
    out, ends = np.empty(GROWTH * int(places[-1]) + 1, np.uint8), np.zeros(len(texts), np.int64)
    counted = np.zeros((len(texts), 2), np.int64)
    table = lm_tables.load() if table is None else table
    split_units(np.frombuffer(b"".join(data), np.uint8), places, table, longest, out, ends, counted)
    return out[: ends[-1] if len(ends) else 0], ends, counted


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.sampled_from([1, 3, 1000]))
def test_units_equal_those_of_the_twin(texts: list[str], longest: int) -> None:
    out, ends, counted = split(texts, longest)
    expected = [twin.lines(t, longest) for t in texts]
    assert out.tobytes() == "".join(line + "\n" for lines in expected for line in lines).encode()
    assert ends.tolist() == np.cumsum([sum(len(x.encode()) + 1 for x in lines) for lines in expected]).tolist()
    assert counted.tolist() == [[sum(x.count(" ") + 1 for x in lines), len(lines)] for lines in expected]


@pytest.mark.parametrize("name", ["lmplz-english", "lmplz-chinese"])
def test_units_of_a_real_text_equal_those_of_the_twin(name: str) -> None:
    text = (FIXTURES / f"{name}.txt").read_text(encoding="utf-8")
    assert split([text], 1000)[0].tobytes().decode().splitlines() == twin.lines(text, 1000)


def test_the_stored_table_says_what_the_twin_says_of_the_basic_plane() -> None:
    names = ("space", "newline", "drop", "word", "character", "mark")
    table = lm_tables.load()
    for code in [*range(0x3000), *range(0x3000, 0xD800, 7), *range(0xE000, 0x20000, 5)]:
        entry, c = int(table[code]), chr(code)
        said = names[entry >> lm_tables.KIND_SHIFT]
        assert said == twin.kind(c), hex(code)
        if said not in ("space", "drop", "newline"):
            assert chr(entry & (1 << lm_tables.KIND_SHIFT) - 1) == twin.folded(c), hex(code)


def test_a_damaged_table_is_refused(tmp_path: Path) -> None:
    table = lm_tables.load().copy()
    table[65] += 1
    lm_tables.save(table, tmp_path / "t.npz")
    with pytest.raises(lm_tables.TableError, match=r"t\.npz: not the table of the normaliser"):
        lm_tables.load(tmp_path / "t.npz")


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.sets(st.sampled_from(["a", "b9", "中", "の", ".", "<", "0"])))
def test_known_words_are_counted_for_each_document(texts: list[str], vocabulary: set[str]) -> None:
    out, ends, _ = split(texts, 1000)
    known = np.zeros(len(texts), np.int64)
    count_known(out, ends, hashed("".join(w + "\n" for w in vocabulary).encode()), known)
    units = [" ".join(twin.lines(t, 1000)).split(" ") for t in texts]
    assert known.tolist() == [sum(u in vocabulary for u in document) for document in units]


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS)
def test_ids_follow_first_appearance_over_batches_and_a_growing_vocabulary(one: list[str], two: list[str]) -> None:
    keys, ids = np.zeros(4, np.int64), np.zeros(4, np.int32)
    streams, seen, known = [], b"", 0
    for texts in (one, two):
        out, _, counted = split(texts, 5)
        stream = np.empty(int(counted[:, 0].sum() + 2 * counted[:, 1].sum()), np.int32)
        words, written = np.empty(len(out), np.uint8), np.array([known, 0, 0], np.int64)
        at = 0
        while (at := intern(out, at, keys, ids, stream, words, written)) < len(out):
            larger = np.zeros(2 * len(keys), np.int64), np.zeros(2 * len(keys), np.int32)
            rehash(keys, ids, *larger)
            keys, ids = larger
        assert written[1] == len(stream)
        streams += stream.tolist()
        known, seen = int(written[0]), seen + words[: written[2]].tobytes()
    expected = twin.ids([line for texts in (one, two) for t in texts for line in twin.lines(t, 5)])
    assert (streams, seen.decode().split("\n")[:-1]) == expected
