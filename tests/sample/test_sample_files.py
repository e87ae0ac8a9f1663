"""The sample's files are what its script makes, and its key says what is true of them."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import re
import sys
import unicodedata
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
import zstandard

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "data" / "sample"
INPUTS = SAMPLE / "inputs"


@pytest.fixture(scope="module")
def key() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SAMPLE / "expected.json").read_text(encoding="utf-8"))
    return found


def content(file: Path) -> bytes:
    """A file's bytes, decompressed; of a gzip stream that breaks off, what stands before the break."""
    data = file.read_bytes()
    if file.suffix == ".zst":
        return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True).read()
    if file.suffix == ".gz":
        parts = b""
        while data:
            member = zlib.decompressobj(wbits=31)
            parts += member.decompress(data)
            data = member.unused_data
        return parts
    return data


def records(source: str) -> Iterator[dict[str, Any]]:
    """Every readable record of the source's JSON Lines files."""
    place = INPUTS / source
    files = sorted(place.iterdir()) if place.is_dir() else [INPUTS / f"{source}.jsonl"]
    for file in files:
        for line in content(file).decode("utf-8-sig").split("\n"):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and isinstance(record.get("text"), str):
                yield record


def shingles(text: str) -> frozenset[str]:
    """Case-folded, punctuation stripped, white space collapsed; Chinese in 8-grams of characters, else 5 words."""
    kept = "".join(" " if unicodedata.category(c)[0] in "PZC" else c for c in text.casefold())
    han = re.findall("[\u3400-\u9fff\U00020000-\U0002ffff]", kept)
    units = re.findall("[\u3400-\u9fff\U00020000-\U0002ffff]|[^\\s\u3400-\u9fff\U00020000-\U0002ffff]+", kept)
    n = 8 if len(han) > len(units) / 2 else 5
    return frozenset(" ".join(units[i : i + n]) for i in range(max(1, len(units) - n + 1)))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b)


@cache
def natural() -> dict[str, frozenset[str]]:
    """Shingles of every document that nobody planted a defect in, by id or file name."""
    found: dict[str, frozenset[str]] = {}
    for source in ("essays-en", "digests-en", "digests-zh"):
        found |= {r["id"]: shingles(r["text"]) for r in records(source)}
    encodings = {"pages-zh-gbk": "gb18030", "pages-zh-big5": "big5"}
    written = (SAMPLE / "texts" / "markdown", SAMPLE / "texts" / "code")
    for folder in (*written, INPUTS / "pages-zh", *(INPUTS / name for name in encodings)):
        for file in sorted(folder.iterdir()):
            if file.name != "99-binary.txt":
                found[file.name] = shingles(file.read_text(encoding=encodings.get(folder.name, "utf-8-sig")))
    return found


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("sample")
    before = list(sys.path)
    sys.path.insert(0, str(SAMPLE))
    try:
        from make import build

        build(target)
    finally:
        sys.path[:] = before
    return target


def test_building_the_sample_again_gives_the_committed_files(rebuilt: Path) -> None:
    committed = {f.relative_to(INPUTS) for f in INPUTS.rglob("*") if f.is_file()}
    again = {f.relative_to(rebuilt / "inputs") for f in (rebuilt / "inputs").rglob("*") if f.is_file()}
    assert committed == again
    for name in sorted(committed):  # compressors of other versions write other bytes for the same content
        assert content(INPUTS / name) == content(rebuilt / "inputs" / name), f"{name}: run data/sample/make.py again"
    assert (SAMPLE / "expected.json").read_bytes() == (rebuilt / "expected.json").read_bytes()


def test_building_twice_in_one_process_gives_the_same_bytes_compressed_ones_too(rebuilt: Path, tmp_path: Path) -> None:
    from make import build

    build(tmp_path)
    for file in (f for f in tmp_path.rglob("*") if f.is_file()):
        assert file.read_bytes() == (rebuilt / file.relative_to(tmp_path)).read_bytes(), file.name


def test_the_generated_files_are_small() -> None:
    sizes = [f.stat().st_size for f in INPUTS.rglob("*") if f.is_file()]
    assert max(sizes) < 1_000_000 and sum(sizes) < 1_500_000


def test_every_jaccard_of_the_key_is_that_of_the_two_texts(key: dict[str, Any]) -> None:
    originals = natural()
    texts = {r["id"]: r["text"] for source in ("planted-en", "planted-zh") for r in records(source)}
    said = {name: entry for name, entry in key["documents"].items() if "jaccard" in entry}
    assert len(said) >= 10
    for name, entry in said.items():
        assert jaccard(shingles(texts[name]), originals[entry["twin"]]) == entry["jaccard"], name
        assert ("stage" in entry) == (entry["jaccard"] >= 0.8), name


def test_at_least_120_documents_were_written_by_hand() -> None:
    written = [f for f in (SAMPLE / "texts").rglob("*") if f.is_file()]
    assert len(written) >= 120
    assert all(len(f.read_text(encoding="utf-8")) > 250 for f in written)


def test_no_two_natural_documents_are_near_duplicates_even_at_0_6() -> None:
    worst = max((jaccard(a, b), x, y) for (x, a), (y, b) in itertools.combinations(natural().items(), 2))
    assert worst[0] < 0.6, worst


def test_no_planted_document_but_the_copies_is_near_another(key: dict[str, Any]) -> None:
    everything = dict(natural())
    sources = ("planted-en", "planted-zh", "mixed-licences", "unlicensed", "non-commercial")
    for name, text in ((r["id"], r["text"]) for s in sources for r in records(s)):
        entry = key["documents"][name]
        if "jaccard" in entry or entry.get("stage") == "gopher":
            continue
        mine = shingles(text)
        near = [other for other, theirs in everything.items() if other != name and jaccard(mine, theirs) >= 0.6]
        assert near == [], name
        everything[name] = mine


def test_the_key_and_the_planted_files_name_the_same_documents(key: dict[str, Any]) -> None:
    sources = ("planted-en", "planted-zh", "mixed-licences", "unlicensed", "non-commercial")
    found = {r["id"]: s for s in sources for r in records(s)}
    files = {f.name: f.parent.name for f in INPUTS.glob("pages-zh*/*.txt")}
    for name, entry in key["documents"].items():
        assert (found | files)[name] == entry["source"], name
    assert found.keys() <= key["documents"].keys()


def test_broken_records_stay_below_five_percent_of_their_source(key: dict[str, Any]) -> None:
    for source in {q["source"] for q in key["quarantine"]}:
        broken = sum(q["source"] == source for q in key["quarantine"])
        place = INPUTS / source
        good = len(list(place.iterdir())) - broken if source == "pages-zh" else sum(1 for _ in records(source))
        assert broken / (broken + good) < 0.05, source


def test_the_broken_lines_stand_where_the_key_says(key: dict[str, Any]) -> None:
    lines = (INPUTS / "digests-en" / "part-2.jsonl").read_bytes().split(b"\n")
    places = [int(q["record"].rsplit(":", 1)[1]) for q in key["quarantine"] if q["file"] == "part-2.jsonl"]
    assert len(places) == 5
    assert all(b"broken-" in lines[n - 1] or b'"text": null' in lines[n - 1] for n in places)
    assert lines[0].startswith(b"\xef\xbb\xbf")


def test_the_cut_gzip_is_really_cut_and_the_others_have_several_parts() -> None:
    with pytest.raises(EOFError):
        gzip.decompress((INPUTS / "digests-zh" / "part-2.jsonl.gz").read_bytes())
    assert (INPUTS / "digests-zh" / "part-1.jsonl.gz").read_bytes().count(b"\x1f\x8b\x08\x00\0\0\0\0\x02\xff") == 3
    assert (INPUTS / "digests-en" / "part-1.jsonl.zst").read_bytes().count(b"\x28\xb5\x2f\xfd") == 3


def test_odd_characters_reach_the_files_as_they_should() -> None:
    raw = (INPUTS / "planted-en" / "oddities.jsonl").read_bytes()
    assert raw.count(b"\\u0000") == 2 and raw.count(b"\\ud83d") == 1
    assert "\u2028".encode() in raw and b"<|endoftext|>" in raw and b"<|email|>" in raw
    assert len((INPUTS / "planted-en" / "oddities.jsonl").read_bytes().split(b"\n")) == 7


def test_every_file_of_the_inputs_belongs_to_a_source_of_the_small_config() -> None:
    config = yaml.safe_load((ROOT / "configs" / "small.yaml").read_text(encoding="utf-8"))
    base = ROOT / "data" / "sample" / "inputs"
    patterns = [s["path"].removeprefix("../data/sample/inputs/") for s in config["sources"]]
    matched = [f for p in patterns for f in base.glob(p) if f.is_file()]
    assert sorted(matched) == sorted(f for f in base.rglob("*") if f.is_file())
