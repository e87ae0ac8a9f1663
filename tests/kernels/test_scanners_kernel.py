"""The scanners equal `regex.findall`: on real text, on fuzz, and on every assigned code point."""

import gzip
import io
import itertools
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
import regex
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import scanners
from tokenizer.patterns import pattern

SCANNED = ("gpt2", "cl100k", "qwen2", "o200k", "starcoder")  # llama3 is cl100k
DATA = Path(os.environ.get("CURATE_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
CHARACTERS = "aBsSſlLveRtdm'’  \t\n\r\u3000\u0085\u00a0 12２½²/!.日ʰǅ\u0301é😀\x00\u0e35ʕ\u200d\u0903"
fuzz = st.text(st.sampled_from(CHARACTERS) | st.characters(codec="utf-8"), max_size=30)


def scan(name: str, texts: list[str]) -> list[list[str]]:
    """Pieces of each text, each a segment of one buffer."""
    data = [text.encode() for text in texts]
    sizes = np.array([len(d) for d in data], np.int64)
    stops = np.cumsum(sizes)
    starts = stops - sizes
    p = pattern(name)
    whole = b"".join(data)
    ends, before = scanners.scan(np.frombuffer(whole, np.uint8), starts, stops, p.table, p.family, p.digits)
    out = []
    for s, start in enumerate(starts.tolist()):
        cuts = [start, *ends[before[s] : before[s + 1]].tolist()]
        out.append([whole[a:b].decode() for a, b in itertools.pairwise(cuts)])
    return out


@pytest.mark.parametrize("name", SCANNED)
@settings(max_examples=400, deadline=None)
@given(texts=st.lists(fuzz, max_size=4))
def test_a_scanner_equals_the_expression_on_fuzz(name, texts):
    assert scan(name, texts) == [regex.findall(pattern(name).regex, text) for text in texts]


@pytest.mark.parametrize("name", SCANNED)
def test_a_scanner_equals_the_expression_on_all_short_strings_of_its_classes(name):
    classes = ("a", "B", "日", "\u0301", "1", " ", "\t", "\n", "!", "/", "'", "s", "ſ")
    texts = ["".join(parts) for n in range(1, 5) for parts in itertools.product(classes, repeat=n)]
    compiled = regex.compile(pattern(name).regex)
    assert scan(name, texts) == [compiled.findall(text) for text in texts]


@pytest.mark.parametrize("name", SCANNED)
def test_a_scanner_equals_the_expression_on_every_assigned_code_point(name):
    everything = "".join(map(chr, itertools.chain(range(0xD800), range(0xE000, 0x110000))))
    assigned = regex.findall(r"\P{Cn}", everything)
    assert len(assigned) > 280_000
    compiled = regex.compile(pattern(name).regex)
    assert all(pieces == [c] for c, pieces in zip(assigned, scan(name, assigned), strict=True))
    between = "\n".join(f"a{c}b" for c in assigned)
    assert scan(name, [between]) == [compiled.findall(between)]
    capitals = "1".join(f"A{c}B" for c in assigned)
    assert scan(name, [capitals]) == [compiled.findall(capitals)]


def shared_texts(path: Path) -> Iterator[str]:
    """The strings of a file's records, or any other file in texts of 50,000 bytes; what is no UTF-8 is replaced."""
    opening = {".gz": gzip.open, ".zst": zstandard.open}.get(path.suffix, open)
    with opening(path, "rb") as stream:
        if ".jsonl" in path.name:
            for line in io.BufferedReader(stream):
                yield from (value for value in json.loads(line).values() if isinstance(value, str))
        else:
            while block := stream.read(50_000):
                yield block.decode("utf-8", "replace")


def assert_scanned(name: str, texts: Iterable[str]) -> int:
    """Compare in batches; the number of characters that were."""
    compiled = regex.compile(pattern(name).regex)
    characters, waiting = 0, iter(texts)
    while batch := list(itertools.islice(waiting, 200)):
        assert scan(name, batch) == [compiled.findall(text) for text in batch]
        characters += sum(map(len, batch))
    return characters


FILES = sorted(path for path in DATA.rglob("*") if path.is_file()) if DATA.is_dir() else []


@pytest.mark.skipif(not FILES, reason=f"the shared data folder {DATA} is absent")
@pytest.mark.parametrize("name", SCANNED)
@pytest.mark.parametrize("file", FILES, ids=lambda path: path.relative_to(DATA).as_posix())
def test_a_scanner_equals_the_expression_on_the_beginning_of_every_shared_file(name, file):
    assert assert_scanned(name, (text[:100_000] for text in itertools.islice(shared_texts(file), 60))) > 500


@pytest.mark.slow
@pytest.mark.skipif(not FILES, reason=f"the shared data folder {DATA} is absent")
@pytest.mark.parametrize("name", SCANNED)
@pytest.mark.parametrize("file", FILES, ids=lambda path: path.relative_to(DATA).as_posix())
def test_a_scanner_equals_the_expression_on_every_shared_file(name, file):
    assert assert_scanned(name, shared_texts(file)) > 500


def test_segments_are_scanned_apart():
    assert scan("gpt2", ["a ", " b"]) == [["a", " "], [" b"]]
    assert scan("o200k", []) == []
    assert scan("o200k", ["", "x", ""]) == [[], ["x"], []]


def test_llama3_is_scanned_as_cl100k():
    llama3, cl100k = pattern("llama3"), pattern("cl100k")
    assert (llama3.regex, llama3.family, llama3.digits) == (cl100k.regex, cl100k.family, cl100k.digits)
