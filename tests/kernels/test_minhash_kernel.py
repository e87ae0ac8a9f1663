"""The MinHash kernels against a slow, obvious twin and against datasketch."""

from __future__ import annotations

import io
import json
import os
import sys
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import datasketch
import numpy as np
import pyarrow as pa
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels import minhash, normaliser
from kernels import units as unit_kernel

DATA = Path(os.environ.get("CURATE_TEST_DATA", Path(__file__).parents[2] / "../shared/data"))
TABLE = normaliser.load()
M64 = (1 << 64) - 1


def finished(word: int) -> int:
    return (word ^ (word >> 32)) * unit_kernel.MIX & M64


def units(text: str) -> tuple[list[int], int]:
    """Hashes of words and of single characters, and how many are single characters."""
    found, word, characters = [], "", 0
    for character in text + " ":
        kind, code = divmod(int(TABLE[ord(character)]), 1 << normaliser.KIND_SHIFT)
        if kind == normaliser.WORD:
            word += chr(code)
        elif kind != normaliser.IGNORED:
            for unit in (word, chr(code) if kind == normaliser.CHARACTER else ""):
                if unit:
                    found.append(
                        finished(sum(ord(c) * pow(unit_kernel.STEP, j, 1 << 64) for j, c in enumerate(unit)) & M64)
                    )
            word = ""
            characters += kind == normaliser.CHARACTER
    return found, characters


def mixed(x: int) -> int:
    x = (x ^ (x >> 33)) * (minhash.FMIX64_1 & M64) & M64
    x = (x ^ (x >> 33)) * (minhash.FMIX64_2 & M64) & M64
    return x ^ (x >> 33)


def shingles(text: str, words: int = 5, characters: int = 8) -> list[int]:
    """Hashes of every n consecutive units, of all units where they are fewer."""
    found, single = units(text)
    n = min(len(found), characters if 2 * single > len(found) else words)
    windows = [found[k : k + n] for k in range(len(found) - n + 1)] if found else []
    return [mixed(sum(u * pow(minhash.BASE, n - 1 - i, 1 << 64) for i, u in enumerate(w)) & M64) for w in windows]


def fmix32(x: int) -> int:
    x = (x ^ (x >> 16)) * 0x85EBCA6B & 0xFFFFFFFF
    x = (x ^ (x >> 13)) * 0xC2B2AE35 & 0xFFFFFFFF
    return x ^ (x >> 16)


def signature(hashes: list[int], a: list[int], b: list[int]) -> list[int]:
    spread = [fmix32(h & 0xFFFFFFFF) for h in hashes]
    pairs = zip(a, b, strict=True)
    return [min(((x * m + c) & 0xFFFFFFFF for x in spread), default=minhash.EMPTY) for m, c in pairs]


def buffers(texts: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)]).astype(np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


def kernel_shingles(texts: list[str], words: int = 5, characters: int = 8) -> list[list[int]]:
    data, offsets = buffers(texts)
    out, ends = np.empty(len(data) // 2 + len(offsets), np.int64), np.empty(len(offsets), np.int64)
    minhash.shingles(data, offsets, TABLE, words, characters, out, ends)
    return [[int(v) & M64 for v in out[i:j]] for i, j in pairwise(ends)]


def kernel_signatures(texts: list[str], count: int = 128, seed: int = 1) -> tuple[NDArray[np.uint32], list[int]]:
    data, offsets = buffers(texts)
    out, counts = np.empty((len(texts), count), np.uint32), np.empty(len(texts), np.int64)
    minhash.signatures(data, offsets, TABLE, 5, 8, *minhash.permutations(count, seed), out, counts)
    return out, counts.tolist()


def real_texts(file: str, limit: int) -> list[str]:
    path = DATA / file
    if not path.exists():
        pytest.skip(f"shared test data is absent: {path}")
    with zstandard.open(path, "rb") as raw:
        lines = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
        return [json.loads(line)["text"] for line, _ in zip(lines, range(limit), strict=False)]


SAMPLES = [
    "",
    "!!! ... ?",
    "one",
    "Don't stop: the well-known STRASSE straße ΣΊΣΥΦΟΣ",
    "我们今天在北京大学学习自然语言处理，使用 Python 3 和 numpy。",
    "吾輩は猫である。名前はまだ無い。ーどこで生れたか",
    "สวัสดีชาวโลก นี่คือข้อความภาษาไทย",
    "السلام عليكم ورحمة الله وبركاته يا أصدقاء",
    "a\u00adb\u200bc ❤\ufe0f 😀 x<y x>y \x00 \x1f end",
    "word " * 3000,
    "x" * 5000,
    "\U0010ffff \U000e0041 \ue000",
]


def test_shingles_equal_the_slow_twin_in_many_scripts() -> None:
    assert kernel_shingles(SAMPLES) == [shingles(text) for text in SAMPLES]


@given(st.lists(st.text(max_size=60), max_size=5), st.integers(1, 6), st.integers(1, 9))
@settings(max_examples=200, deadline=None)
@example(["a", "你a你b你", ""], 1, 1)
def test_shingles_equal_the_slow_twin_on_fuzz(texts: list[str], words: int, characters: int) -> None:
    assert kernel_shingles(texts, words, characters) == [shingles(text, words, characters) for text in texts]


def test_signatures_equal_the_slow_twin() -> None:
    a, b = (column.tolist() for column in minhash.permutations(16, 7))
    got, counts = kernel_signatures(SAMPLES, 16, 7)
    assert got.tolist() == [signature(shingles(text), a, b) for text in SAMPLES]
    assert counts == [len(shingles(text)) for text in SAMPLES]


@pytest.mark.parametrize("file", ["web/c4-1000.jsonl.zst", "trusted/zh.jsonl.zst"])
def test_shingles_equal_the_slow_twin_on_real_text(file: str) -> None:
    texts = [text[:3000] for text in real_texts(file, 40)]
    assert kernel_shingles(texts) == [shingles(text) for text in texts]


@pytest.mark.parametrize(("count", "seed"), [(128, 1), (64, 42)])
def test_values_equal_those_of_datasketch(count: int, seed: int) -> None:
    got, _ = kernel_signatures(SAMPLES, count, seed)
    for text, row in zip(SAMPLES, got, strict=True):
        peer = datasketch.MinHash(num_perm=count, seed=seed, scheme="affine32", hashfunc=lambda x: x)
        peer.update_batch([h & 0xFFFFFFFF for h in shingles(text)])
        np.testing.assert_array_equal(peer.hashvalues, row)


def test_a_stored_signature_loads_into_datasketch_and_estimates_the_jaccard() -> None:
    words = [f"word{k}" for k in range(2000)]
    texts = [" ".join(words), " ".join([*words[:1800], "other", *words[1801:]]), "nothing in common with them at all"]
    got, _ = kernel_signatures(texts)
    stored = pa.FixedSizeListArray.from_arrays(pa.array(got.ravel()), 128)
    loaded = [
        datasketch.MinHash(hashvalues=stored[k].values.to_numpy(), scheme="affine32", seed=1) for k in range(len(texts))
    ]
    a, b = (set(shingles(text)) for text in texts[:2])
    assert loaded[0].jaccard(loaded[1]) == np.mean(got[0] == got[1])
    assert loaded[0].jaccard(loaded[1]) == pytest.approx(len(a & b) / len(a | b), abs=0.05)
    assert loaded[0].jaccard(loaded[2]) < 0.05


def test_case_punctuation_spacing_and_invisible_characters_do_not_count() -> None:
    plain = "the quick brown fox jumps over the lazy dog"
    other = "The  quick,\tBROWN fox -- jumps\u00ad over\n\n“the lazy dog”!"
    assert kernel_shingles([plain]) == kernel_shingles([other])


def test_symbols_count_since_they_carry_meaning() -> None:
    assert kernel_shingles(["5 < 3"]) != kernel_shingles(["5 > 3"])
    assert len(kernel_shingles(["😀😀"])[0]) == 1


def test_chinese_is_shingled_by_characters_also_beside_latin_words() -> None:
    han = "".join(chr(0x4E00 + k) for k in range(20))
    assert len(kernel_shingles([han])[0]) == 20 - 8 + 1
    assert len(kernel_shingles([han + " Python numpy"])[0]) == 22 - 8 + 1
    assert len(kernel_shingles(["one two three four five six seven " + han[:5]])[0]) == 12 - 5 + 1


def test_a_document_shorter_than_a_shingle_is_one_shingle_of_all_it_has() -> None:
    got = kernel_shingles(["yes", "no", "yes", "你好", "再见", "a b c d", "a b c d e"])
    assert [len(s) for s in got] == [1] * 7
    assert got[0] == got[2]
    assert len({s[0] for s in got}) == 6


def test_a_slice_of_a_larger_buffer_gives_the_same_signatures() -> None:
    data, offsets = buffers(SAMPLES)
    whole, _ = kernel_signatures(SAMPLES, 8)
    out, counts = np.empty((3, 8), np.uint32), np.empty(3, np.int64)
    minhash.signatures(data, offsets[4:8], TABLE, 5, 8, *minhash.permutations(8, 1), out, counts)
    np.testing.assert_array_equal(out, whole[4:7])


@given(st.lists(st.lists(st.integers(-5, 5), max_size=12), max_size=6))
@settings(max_examples=100, deadline=None)
def test_distinct_closes_up_repeats_in_each_run(runs: list[list[int]]) -> None:
    values = np.array([v for run in runs for v in sorted(run)], np.int64)
    ends = np.cumsum([0, *map(len, runs)]).astype(np.int64)
    minhash.distinct(values, ends)
    assert [values[i:j].tolist() for i, j in pairwise(ends)] == [sorted(set(run)) for run in runs]


def test_band_keys_are_equal_exactly_where_the_rows_of_a_band_are() -> None:
    signatures = np.random.default_rng(0).integers(0, 3, (60, 12), np.uint32)
    keys = np.empty((4, 60), np.int64)
    minhash.band_keys(signatures, 4, 3, keys)
    for band in range(4):
        rows = [tuple(row[3 * band : 3 * band + 3]) for row in signatures.tolist()]
        assert [[x == y for y in rows] for x in rows] == (keys[band][:, None] == keys[band]).tolist()


def test_the_stored_table_is_what_its_sources_say() -> None:
    if version("regex") != "2026.11.19" or sys.version_info[:2] != (3, 11):
        pytest.skip("the table was made with regex 2026.11.19 and Python 3.11; others know other Unicode versions")
    np.testing.assert_array_equal(normaliser.build(), TABLE)


def test_folding_a_folded_character_changes_nothing() -> None:
    codes = TABLE & ((1 << normaliser.KIND_SHIFT) - 1)
    np.testing.assert_array_equal(codes[codes], codes)


def test_a_damaged_table_is_refused(tmp_path: Path) -> None:
    table = TABLE.copy()
    table[ord("q")] = ord("p")
    normaliser.save(table, tmp_path / "normaliser.npz")
    with pytest.raises(normaliser.TableError, match=r"not the table of the normaliser words/1; restore the file"):
        normaliser.load(tmp_path / "normaliser.npz")


def places(text: str) -> list[tuple[int, int]]:
    """Start and end of each unit, in code points."""
    found: list[tuple[int, int]] = []
    within = False
    for at, character in enumerate(text):
        kind = int(TABLE[ord(character)]) >> normaliser.KIND_SHIFT
        if kind == normaliser.WORD:
            found.append((found.pop()[0] if within else at, at + 1))
        elif kind == normaliser.CHARACTER:
            found.append((at, at + 1))
        if kind != normaliser.IGNORED:
            within = kind == normaliser.WORD
    return found


@given(st.text(alphabet="aB1 .,\u00ad\u200b\n你好ไé<😀", max_size=30) | st.text(max_size=20).filter(str.isprintable))
@settings(deadline=None)
def test_places_are_those_of_the_units(text: str) -> None:
    encoded = text.encode()
    starts, ends = np.zeros((2, len(encoded) // 2 + 2), np.int64)
    count, single = unit_kernel.unit_places(np.frombuffer(encoded, np.uint8), TABLE, starts, ends)
    expected = [(len(text[:a].encode()), len(text[:b].encode())) for a, b in places(text)]
    assert list(zip(starts[:count].tolist(), ends[:count].tolist(), strict=True)) == expected
    assert (count, single) == (len(units(text)[0]), units(text)[1])


pieces = st.sampled_from(["word", "a", " ", ".", "é", "你", "\u00ad", "x" * 63, "y" * 130, "\n", "z" * 600, " " * 300])


@given(st.lists(pieces, max_size=30).map("".join))
@example("x" * (unit_kernel.RUN - 1) + " y")
@example("x" * unit_kernel.RUN)
@example("x" * unit_kernel.RUN + " b")
@example("x" * (unit_kernel.RUN + 1) + " b")
@example("a b " * (unit_kernel.RUN // 4) + "é")
@example("a " * unit_kernel.RUN)
@example("a" * unit_kernel.SHORT)
@example(" " * (unit_kernel.SHORT - 1) + "b")
@example("a" * 127 + "é" + "b" * 127 + "\u00ad" + "c d")
@settings(deadline=None, max_examples=150)
def test_words_are_the_same_whatever_stretch_of_ascii_they_stand_in(text: str) -> None:
    data, offsets = buffers([text])
    values, ends = np.empty(len(data) // 2 + 2, np.int64), np.zeros(2, np.int64)
    minhash.shingles(data, offsets, TABLE, 1, 1, values, ends)
    assert [v & M64 for v in values[: ends[1]].tolist()] == shingles(text, 1, 1)


def test_every_ascii_character_counts_as_the_table_says() -> None:
    text = "".join(f"one{chr(code)}two " for code in range(0x80))
    assert kernel_shingles([text], 1, 1) == [shingles(text, 1, 1)]
    assert kernel_shingles([text[:1024]], 5, 8) == [shingles(text[:1024])]


@given(st.lists(st.text(alphabet=st.characters(max_codepoint=0x7F), max_size=2500), max_size=3))
@settings(max_examples=40, deadline=None)
def test_ascii_texts_equal_the_slow_twin_wherever_they_end(texts: list[str]) -> None:
    assert kernel_shingles(texts, 2, 2) == [shingles(text, 2, 2) for text in texts]


def test_a_document_of_many_blocks_equals_the_slow_twin() -> None:
    text = " ".join(f"w{k * k % 1009}" for k in range(2 * minhash.BLOCK + 9))
    a, b = (column.tolist() for column in minhash.permutations(3, 5))
    got, counts = kernel_signatures([text], 3, 5)
    assert kernel_shingles([text]) == [shingles(text)]
    assert (got.tolist(), counts) == ([signature(shingles(text), a, b)], [2 * minhash.BLOCK + 5])
