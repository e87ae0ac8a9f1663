import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from tokenizer import train_files as module
from tokenizer.model import Tokenizer
from tokenizer.train_files import train_files

DOCUMENTS = ["a\n\n\nb the cat", "a\n\n\nb the mat", "été 日本 <|e|> 日本"]


@pytest.fixture(autouse=True)
def no_exports(request, monkeypatch):
    """Exports have tests of their own; only one test here writes them."""
    if "exports" not in request.fixturenames:
        monkeypatch.setattr(module, "write_exports", lambda tokenizer, directory, name: module_exports())


def module_exports():
    from tokenizer.export import Exports

    return Exports()


@pytest.fixture
def exports():
    pass


def write(folder, kind: str) -> list:
    """The documents in one of the formats."""
    folder.mkdir(exist_ok=True)
    lines = "".join(json.dumps({"text": text}) + "\n" for text in DOCUMENTS).encode()
    if kind == "text":
        for k, text in enumerate(DOCUMENTS):
            (folder / f"{k}.txt").write_bytes(text.encode())
    elif kind == "parquet":
        pq.write_table(pa.table({"text": DOCUMENTS}), folder / "d.parquet")
    elif kind == "jsonl":
        (folder / "d.jsonl").write_bytes(b"\xef\xbb\xbf" + lines)
    elif kind == "gzip":
        (folder / "d.jsonl.gz").write_bytes(gzip.compress(lines[:40]) + gzip.compress(lines[40:]))
    elif kind == "zstd":
        frames = [zstandard.compress(part) for part in (lines[:40], lines[40:])]
        (folder / "d.jsonl.zst").write_bytes(b"".join(frames))
    return sorted(folder.iterdir())


@pytest.mark.parametrize("kind", ["text", "parquet", "jsonl", "gzip", "zstd"])
def test_every_format_gives_the_same_merges_from_whole_documents(kind, tmp_path):
    """BPE-10."""
    report = train_files(write(tmp_path / "in", kind), tmp_path / "out", vocab_size=290, specials=["<|e|>"])
    reference = train_files(write(tmp_path / "txt", "text"), tmp_path / "ref", vocab_size=290, specials=["<|e|>"])
    assert report["vocabulary_hash"] == reference["vocabulary_hash"]
    assert (report["training"]["documents"], report["training"]["skipped"]) == (3, {})
    assert report["training"]["bytes"] == sum(len(text.encode()) for text in DOCUMENTS)
    ours = Tokenizer.load(tmp_path / "out")
    assert b"\n\n" in [ours.token_bytes(i) for i in range(ours.vocab_size)]


def test_the_folder_holds_the_contract_and_every_file_the_report_names(exports, tmp_path):
    report = train_files(
        write(tmp_path / "in", "jsonl"), tmp_path / "out", vocab_size=270, specials=["<|e|>"], name="n"
    )
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert sorted(report["files"]) == names
    assert {"model.json", "tokens.parquet", "manifest.json", "tokenizer.json", "n.tiktoken"} <= set(names)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert manifest == {key: report[key] for key in manifest}
    assert manifest["pattern"]["name"] == "o200k" and manifest["special_tokens"] == {"<|e|>": 269}
    assert manifest["vocabulary_hash"] == Tokenizer.load(tmp_path / "out").vocabulary_hash
    assert (manifest["training"]["asked"], manifest["training"]["reached"]) == (270, 270)
    assert manifest["maximum_length"] is None and manifest["maximum_token_bytes"] >= 5
    assert str(tmp_path) not in json.dumps(manifest)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_the_order_of_the_files_does_not_change_a_byte(tmp_path):
    paths = write(tmp_path / "in", "text") + write(tmp_path / "in2", "jsonl")
    for folder, order in (("one", paths), ("two", paths[::-1])):
        train_files(order, tmp_path / folder, vocab_size=300)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_unusable_records_cost_one_record_each_and_are_reported(tmp_path):
    lines = [b'{"text": "good"}', b"{broken", b'{"text": 5}', b"[1]", b'{"text": "\xff"}', b"", b'{"other": "x"}']
    (tmp_path / "d.jsonl").write_bytes(b"\n".join(lines))
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    pq.write_table(pa.table({"text": ["x", None]}), tmp_path / "d.parquet")
    report = train_files(sorted(tmp_path.iterdir()), tmp_path / "out", vocab_size=260)
    assert report["training"]["documents"] == 2
    assert report["training"]["skipped"] == {"invalid_json": 2, "invalid_utf8": 2, "no_text": 3}
    places = [(entry["file"], entry["record"], entry["reason"]) for entry in report["skipped_records"]]
    assert ("d.jsonl", 2, "invalid_json") in places and ("d.jsonl", 5, "invalid_utf8") in places
    assert ("latin.txt", 0, "invalid_utf8") in places and ("d.parquet", 2, "no_text") in places


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_truncated_stream_is_reported_and_its_whole_lines_are_used(suffix, tmp_path):
    import random

    letters = random.Random(1)
    lines = b"".join(b'{"text": "%d"}\n' % letters.getrandbits(60) for _ in range(20_000))
    packed = gzip.compress(lines) if suffix == "gz" else zstandard.compress(lines)
    (tmp_path / f"d.jsonl.{suffix}").write_bytes(packed[: len(packed) * 2 // 3])
    (tmp_path / f"t.txt.{suffix}").write_bytes(packed[: len(packed) * 2 // 3])
    report = train_files(sorted(tmp_path.iterdir()), tmp_path / "out", vocab_size=260)
    assert report["training"]["skipped"] == {"truncated": 2}
    assert 0 < report["training"]["documents"] < 20_000


def test_a_missing_file_stops_the_training(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.txt: no such file; check the path"):
        train_files([tmp_path / "none.txt"], tmp_path / "out", vocab_size=300)


def test_a_parquet_file_without_the_text_column_stops_the_training(tmp_path):
    pq.write_table(pa.table({"body": ["x"], "n": [1]}), tmp_path / "d.parquet")
    with pytest.raises(ValueError, match=r"d\.parquet: no column 'text'; the file has body, n"):
        train_files([tmp_path / "d.parquet"], tmp_path / "out", vocab_size=300)
    with pytest.raises(ValueError, match=r"d\.parquet: the column 'n' is int64, not a string"):
        train_files([tmp_path / "d.parquet"], tmp_path / "out", vocab_size=300, text_field="n")
    assert (
        train_files([tmp_path / "d.parquet"], tmp_path / "out", vocab_size=256, text_field="body")["vocab_size"] == 256
    )


def test_a_file_that_only_claims_to_be_parquet_stops_the_training(tmp_path):
    (tmp_path / "d.parquet").write_bytes(b"no")
    with pytest.raises(ValueError, match=r"d\.parquet: not a readable Parquet file"):
        train_files([tmp_path / "d.parquet"], tmp_path / "out", vocab_size=300)


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_a_parquet_file_with_damage_inside_gives_the_rows_before_it_and_is_reported(compression, tmp_path):
    path = tmp_path / "d.parquet"
    texts = [f"text {k * k} " * 30 for k in range(3000)]
    pq.write_table(pa.table({"text": texts}), path, compression=compression, use_dictionary=False, row_group_size=500)
    content = bytearray(path.read_bytes())
    at = len(content) // 2
    content[at : at + 3000] = bytes(byte ^ 0x5A for byte in content[at : at + 3000])
    path.write_bytes(content)
    report = train_files([path], tmp_path / "out", vocab_size=260)
    (skipped,) = report["skipped_records"]
    assert (skipped["file"], skipped["reason"]) == ("d.parquet", "damaged")
    assert 0 < report["training"]["documents"] == skipped["record"] - 1 < 3000
    assert "no row can be read from here on" in skipped["detail"]


def test_parameters_are_checked_before_any_file_is_read(tmp_path):
    with pytest.raises(ValueError, match="vocab_size: 200 is too small; need at least 257"):
        train_files([tmp_path / "none"], tmp_path / "out", vocab_size=200, specials=["<|e|>"])
    with pytest.raises(ValueError, match="min_frequency: 0 is too small"):
        train_files([tmp_path / "none"], tmp_path / "out", vocab_size=300, min_frequency=0)
    with pytest.raises(ValueError, match="unknown pattern"):
        train_files([tmp_path / "none"], tmp_path / "out", vocab_size=300, pattern="o200")


def test_a_search_that_does_not_end_names_file_document_and_expression(tmp_path, monkeypatch):
    from tokenizer import expressions, patterns

    monkeypatch.setattr(expressions, "_SECONDS", 0.1)
    monkeypatch.setattr(module, "find_pattern", lambda name: patterns.Pattern("custom", name, "1"))
    (tmp_path / "d.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in ["ok", "a" * 60 + "b"]))
    message = r"d\.jsonl: document 2: the expression '\(a\|aa\)\+\$' did not finish on a text of 61 characters"
    with pytest.raises(ValueError, match=message):
        train_files([tmp_path / "d.jsonl"], tmp_path / "t", vocab_size=258, pattern="(a|aa)+$", threads=1)


def test_exports_that_the_new_tokenizer_lacks_do_not_stay_in_its_folder(exports, tmp_path):
    out = tmp_path / "out"
    train_files(write(tmp_path / "in", "text"), out, vocab_size=290, specials=["<|k|>"])
    assert (out / "tokenizer.tiktoken").exists()
    (out / "notes.txt").write_text("kept")
    report = train_files(write(tmp_path / "in", "text"), out, vocab_size=290, normalization="NFC")
    assert sorted(p.name for p in out.iterdir()) == sorted([*report["files"], "notes.txt"])
    assert not (out / "tokenizer.tiktoken").exists()
