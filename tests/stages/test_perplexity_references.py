"""Reference text: files, formats, samples, languages, and the models that `prepare` makes of them."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from pydantic import ValidationError

from pipeline.inputs import resolve
from stages.perplexity import Perplexity, PerplexityParams
from stages.perplexity.references import Reference, ReferenceTextError, by_language, in_sample, texts
from tests.stages.perplexity_models import FIXTURES

ENGLISH = "The ships came in at noon, and the harbour was full of people who had waited since the morning.\n"
CHINESE = "春天的时候，河边的柳树长出了新的叶子，孩子们在岸上放风筝，老人坐在桥头说话。\n"
ROWS = [{"text": f"{ENGLISH}{k}"} for k in range(200)]
DATA = Path(os.environ.get("CURATE_TEST_DATA", Path(__file__).parents[2].parent / "shared" / "data"))


def read(file: Path, **settings: Any) -> list[str]:
    return list(texts(Reference(path=[str(file)], **settings), str(file)))


def jsonl(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson"])
def test_json_lines_are_read_plain_and_packed(suffix: str, tmp_path: Path) -> None:
    pack = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}.get(Path(suffix).suffix, bytes)
    file = tmp_path / f"r{suffix}"
    half = len(ROWS) // 2
    file.write_bytes(pack(jsonl(ROWS[:half])) + pack(b"\n" + jsonl(ROWS[half:])))
    assert read(file) == [row["text"] for row in ROWS]


def test_a_text_file_is_one_text_without_its_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\n\ntwo")
    assert read(tmp_path / "a.txt") == ["one\n\ntwo"]


def test_a_sample_is_chosen_by_the_text_and_grows_with_its_share(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_bytes(jsonl(ROWS))
    half, more = read(file, sample={"share": 0.5}), read(file, sample={"share": 0.7})
    assert 70 < len(half) < 130 and set(half) < set(more)
    file.write_bytes(jsonl(ROWS[::-1]))
    assert read(file, sample={"share": 0.5}) == half[::-1]
    assert all(in_sample(t, 0.5) for t in half) and all(in_sample(row["text"], 1.0) for row in ROWS)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "né".encode("latin-1"), r"a\.txt: reference text must be UTF-8, byte 1 is not"),
        ("a.jsonl", b'{"text": "x"}\n{"text": \n', r"a\.jsonl:2: not a JSON record"),
        ("a.jsonl", b'{"body": "x"}\n', r"a\.jsonl:1: no text in field 'text'; set text_field"),
        ("a.jsonl.zst", zstandard.ZstdCompressor().compress(jsonl(ROWS))[:-20], "file is truncated"),
        ("a.jsonl.gz", gzip.compress(jsonl(ROWS))[:-20], "cannot be read"),
        ("a.jsonl.zst", b"not zstd", "cannot be read"),
    ],
)
def test_reference_files_that_cannot_be_used_are_named(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ReferenceTextError, match=message):
        read(tmp_path / name)


def test_a_missing_file_and_an_empty_list_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ReferenceTextError, match=r"gone\.txt: reference file cannot be read"):
        read(tmp_path / "gone.txt")
    with pytest.raises(ReferenceTextError, match="names no file that exists"):
        by_language([Reference(path=[])])


def test_languages_are_declared_or_identified_for_each_file(tmp_path: Path) -> None:
    for name, text in (("a.txt", ENGLISH), ("b.txt", CHINESE), ("c.txt", ENGLISH)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [str(tmp_path / name) for name in ("a.txt", "b.txt", "c.txt")]
    found = by_language([Reference(path=files[:2]), Reference(path=files[2:], language="sco")])
    assert {lang: [file for _, file in pairs] for lang, pairs in found.items()} == {
        "en": files[:1],
        "sco": files[2:],
        "zh": files[1:2],
    }


@pytest.mark.parametrize("text", ["", "12345 --- 678", "\n\n"])
def test_a_file_whose_language_is_not_clear_must_say_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(ReferenceTextError, match=r"a\.txt: its language is not clear; write \{path"):
        by_language([Reference(path=[str(tmp_path / "a.txt")])])


def test_references_are_written_short_or_long_and_resolve_to_files(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text(ENGLISH)
    (tmp_path / "a.txt").write_text(ENGLISH)
    given = PerplexityParams.model_validate({"reference": ["*.txt", {"path": "a.txt", "language": "en"}]})
    params, hashed = resolve(given, tmp_path, lambda file: f"hash of {Path(file).name}")
    assert [Path(f).name for f in params.reference[0].files()] == ["a.txt", "b.txt"]
    assert params.reference[1].files() == [str(tmp_path / "a.txt")]
    assert hashed["reference"][0]["path"] == ["hash of a.txt", "hash of b.txt"]


@pytest.mark.parametrize(
    "settings",
    [
        {"reference": []},
        {"reference": [3]},
        {"reference": [{"path": "a", "language": "../en"}]},
        {"order": 7},
        {"prune": [0, 2, 1]},
        {"prune": [1]},
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PerplexityParams.model_validate({"reference": ["a.txt"], **settings})


def prepared(
    tmp_path: Path, files: list[str], name: str, **settings: Any
) -> tuple[PerplexityParams, Path, dict[str, Any]]:
    params = PerplexityParams.model_validate({"reference": [{"path": files}], **settings})
    folder = tmp_path / name
    folder.mkdir()
    return params, folder, Perplexity.prepare(params, folder)


def test_models_are_the_same_bytes_for_any_order_of_files(tmp_path: Path) -> None:
    files = []
    for name in ("english", "chinese"):
        lines = (FIXTURES / f"lmplz-{name}.txt").read_text(encoding="utf-8").splitlines()
        for k in (0, 1):
            (tmp_path / f"{name}-{k}.txt").write_text("\n".join(lines[k::2]), encoding="utf-8")
            files.append(str(tmp_path / f"{name}-{k}.txt"))
    params, one, summary = prepared(tmp_path, files, "one")
    _, two, _ = prepared(tmp_path, files[::-1], "two")
    assert sorted(p.name for p in one.iterdir()) == [
        *("en.arpa", "en.probing", "models.json", "reference.u64", "zh.arpa", "zh.probing")
    ]
    assert all(p.read_bytes() == (two / p.name).read_bytes() for p in one.iterdir())
    assert str(tmp_path) not in json.dumps(summary)
    about = summary["models"]["en"]
    assert about["order"] == 5 and about["normaliser"]["name"] == "standard" and about["documents"] == 2
    table = pa.table({"text": [(FIXTURES / "lmplz-english.txt").read_text(), CHINESE], "lang": ["en", "zh"]})
    rows = Perplexity.measure(table, params, one).to_pylist()
    assert rows[0]["tokens"] == about["tokens"] and rows[0]["oov_share"] == 0
    assert rows[0]["perplexity"] < 100 and rows[1]["unscored"] is None


def test_a_reference_too_small_for_a_model_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Hello.")
    with pytest.raises(ReferenceTextError, match=r"no en model: .* no pair of words is left; name more text"):
        params = PerplexityParams.model_validate(
            {"reference": [{"path": [str(tmp_path / "a.txt")], "language": "en"}], "prune": [0, 5]}
        )
        Perplexity.prepare(params, tmp_path)


def test_shuffled_words_of_real_text_are_far_more_perplexing(tmp_path: Path) -> None:
    file = DATA / "trusted" / "en.jsonl.zst"
    if not file.is_file():
        pytest.skip(f"no real text: {file.name} is absent (set CURATE_TEST_DATA)")
    params, folder, _ = prepared(
        tmp_path, [str(file)], "m", reference=[{"path": [str(file)], "sample": {"share": 0.05}}]
    )
    unseen = [t for t in read(file) if not in_sample(t, 0.05)][:40]
    shuffled = ["\n".join(" ".join(sorted(line.split(), key=hash_of)) for line in t.split("\n")) for t in unseen]
    rows = Perplexity.measure(pa.table({"text": unseen + shuffled, "lang": ["en"] * 80}), params, folder).to_pylist()
    assert all(b["perplexity"] > 1.5 * a["perplexity"] for a, b in zip(rows[:40], rows[40:], strict=True))


def hash_of(word: str) -> str:
    return word[::-1]
