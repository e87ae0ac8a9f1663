"""The kernel of lines and paragraphs against slow, obvious twins."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernels import lines

DATA = Path(os.environ.get("CURATE_TEST_DATA", Path(__file__).parents[2] / "../shared/data"))
M64 = (1 << 64) - 1


def real_texts(file: str, limit: int) -> list[str]:
    path = DATA / file
    if not path.exists():
        pytest.skip(f"shared test data is absent: {path}")
    with zstandard.open(path, "rb") as raw:
        found = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
        return [json.loads(line)["text"] for line, _ in zip(found, range(limit), strict=False)]


def turned(x: int, bits: int) -> int:
    return (x << bits | x >> (64 - bits)) & M64


def mixed(x: int) -> int:
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & M64
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & M64
    return x ^ x >> 33


def murmur(content: bytes) -> tuple[int, int]:
    """MurmurHash3_x64_128 with seed 0."""
    c1, c2, h1, h2 = 0x87C37B91114253D5, 0x4CF5AD432745937F, 0, 0
    whole = len(content) // 16 * 16
    for i in range(0, whole, 16):
        k1, k2 = (int.from_bytes(content[j : j + 8], "little") for j in (i, i + 8))
        h1 ^= turned(k1 * c1 & M64, 31) * c2 & M64
        h1 = ((turned(h1, 27) + h2) * 5 + 0x52DCE729) & M64
        h2 ^= turned(k2 * c2 & M64, 33) * c1 & M64
        h2 = ((turned(h2, 31) + h1) * 5 + 0x38495AB5) & M64
    k1, k2 = (int.from_bytes(content[whole + j : whole + j + 8], "little") for j in (0, 8))
    h1 ^= turned(k1 * c1 & M64, 31) * c2 & M64
    h2 ^= turned(k2 * c2 & M64, 33) * c1 & M64
    h1, h2 = h1 ^ len(content), h2 ^ len(content)
    h1 = (h1 + h2) & M64
    h2 = (h2 + h1) & M64
    h1, h2 = mixed(h1), mixed(h2)
    h1 = (h1 + h2) & M64
    return h1, (h2 + h1) & M64


def slow(texts: list[str], paragraphs: bool) -> list[tuple[int, ...]]:
    """Row, start, end, behind, inner start and length in code points, and the inner bytes."""
    found: list[list[Any]] = []
    for row, text in enumerate(texts):
        at, own, within = 0, len(found), False
        for line in text.split("\n"):
            end = at + len(line)
            behind = min(end + 1, len(text))
            blank = not line.strip()
            if paragraphs and len(found) > own and (within or blank):
                found[-1][3] = behind
                found[-1][2] = found[-1][2] if blank else end
            elif not blank:
                found.append([row, at, end, behind])
            within, at = not blank, end + 1
    contents = [texts[row][start:end] for row, start, end, _ in found]
    return [
        (*place, place[1] + len(c) - len(c.lstrip()), len(c.strip()), *murmur(c.strip().encode()))
        for place, c in zip(found, contents, strict=True)
    ]


def kernel(texts: list[str], paragraphs: bool) -> list[tuple[int, ...]]:
    encoded = [text.encode() for text in texts]
    data, offsets = np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)]).astype(np.int64)
    table = np.empty((sum(text.count("\n") + 1 for text in texts), lines.COLUMNS), np.int64)
    table = table[: lines.units(data, offsets, paragraphs, table)]
    hashes = np.empty((len(table), 2), np.uint64)
    lines.hashes(data, table, hashes)
    places = table[:, [lines.ROW, lines.START, lines.END, lines.BEHIND, lines.INNER, lines.LENGTH]].tolist()
    return [(*place, *own) for place, own in zip(places, hashes.tolist(), strict=True)]


SPACES = "".join(chr(c) for c in range(sys.maxunicode + 1) if chr(c).isspace())


@given(st.lists(st.text(alphabet="ab\u00e9\u4f60\U0001f600 \n\n\t" + SPACES, max_size=60), max_size=4), st.booleans())
@example(["", "\n", "a\n\n b \n", "a\nb\n \n\nc"], True)
@example(["", "\n", "a\n\n b \n", "a\nb\n \n\nc"], False)
@settings(deadline=None, max_examples=200)
def test_units_and_their_hashes_equal_the_slow_twin(texts: list[str], paragraphs: bool) -> None:
    assert kernel(texts, paragraphs) == slow(texts, paragraphs)


@pytest.mark.parametrize("file", ["web/c4-1000.jsonl.zst", "trusted/zh.jsonl.zst", "trusted/technical-en.jsonl.zst"])
@pytest.mark.parametrize("paragraphs", [True, False])
def test_units_equal_the_slow_twin_on_real_text(file: str, paragraphs: bool) -> None:
    texts = [text[:5000] for text in real_texts(file, 40)]
    assert kernel(texts, paragraphs) == slow(texts, paragraphs)


@pytest.mark.parametrize("character", SPACES)
def test_every_white_space_of_python_is_white_space(character: str) -> None:
    texts = [f"{character}a{character}b{character}"]
    assert kernel(texts, False) == slow(texts, False)


def test_the_hash_is_murmurhash3() -> None:
    """A published value: MurmurHash3_x64_128 of `hello`."""
    assert kernel(["hello"], False)[0][-2:] == (0xCBD8A7B341BD9B02, 0x5B1E906A48AE1D19)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 1)), max_size=60).map(sorted))
@settings(deadline=None)
def test_only_the_first_of_equal_units_in_a_document_is_marked(given: list[tuple[int, int, int]]) -> None:
    rows = np.array([row for row, _, _ in given], np.int64)
    hashes = np.array([own for _, *own in given], np.uint64).reshape(-1, 2)
    marks = np.empty(len(given), np.bool_)
    lines.first_in_document(rows, hashes, marks)
    assert marks.tolist() == [triple not in given[:k] for k, triple in enumerate(given)]
