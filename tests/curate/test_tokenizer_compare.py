"""`curate tokenizer compare`, `evaluate` and `extend` on files of every format and on a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import Result
from toys import Project

from tokenizer.model import Tokenizer
from tokenizer.train_files import train_files

Call = Callable[..., Result]
TEXT = "the cat sat on the mat, the cat's hat 12345\n"
TEXTS = [f"{TEXT}{word} again and {word} again" for word in ("hill", "river", "stone", "cloud", "meadow", "forest")]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tokenizers of other sizes, and the text they come from."""
    root = tmp_path_factory.mktemp("tokenizers")
    (root / "a.txt").write_text(TEXT * 3)
    train_files([root / "a.txt"], root / "small", vocab_size=268, specials=["<|e|>"])
    train_files([root / "a.txt"], root / "large", vocab_size=276, specials=["<|e|>"])
    return root


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a tokenizer and half of its documents held out."""
    project = Project(tmp_path_factory.mktemp("run"))
    project.write("inputs/notes.jsonl", TEXTS)
    project.config([{"ingest": {}}, {"license": {"allow": ["CC0-1.0"]}}], tokenizer={"vocab_size": 270, "holdout": 0.5})
    project.run()
    return project.folder / "run"


def test_compare_shows_models_figures_pieces_and_round_trips(call: Call, root: Path) -> None:
    result = call("tokenizer", "compare", root / "small", root / "large", root / "a.txt", "--top", 2)
    assert result.exit_code == 0, result.stderr
    for part in (
        "the same: pattern, normalization; different: special_tokens, vocabulary_hash",
        "tokens: 267 shared (267 with the same id), 0 only in A, 8 only in B",
        "special token <|e|>: 267 in A, 275 in B",
        "first other merge: rank 11: no merge in A, ",
        "source a.txt ",
        "A needs ",
        "round trip B: 0 texts do not come back",
    ):
        assert part in result.stdout, result.stdout
    plain = call("tokenizer", "compare", root / "small", root / "large")
    assert plain.exit_code == 0 and "round trip" not in plain.stdout


def test_compare_reads_what_ingest_reads_and_says_what_it_cannot(call: Call, root: Path, tmp_path: Path) -> None:
    import zipfile

    (tmp_path / "page.html").write_text(f"<html><body><p>{TEXT * 5}</p></body></html>")
    (tmp_path / "rows.csv").write_text(f'id,text\n1,"{TEXT.strip()}"\n2,"{TEXT.strip()}"\n')
    (tmp_path / "lines.jsonl").write_text(json.dumps({"text": TEXT}) + "\n{broken\n")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as file:
        file.writestr("one.txt", TEXT)
    files = [tmp_path / name for name in ("page.html", "rows.csv", "lines.jsonl", "all.zip")]
    result = call("tokenizer", "compare", root / "small", root / "large", *files, "--json")
    rows = json.loads(result.stdout)["groups"]
    assert {row["group"]: row["documents"] for row in rows} == {
        "all": 5, "page.html": 1, "rows.csv": 2, "lines.jsonl": 1, "all.zip": 1,
    }  # fmt: skip
    assert "skipped lines.jsonl:2: bad_json" in result.stderr
    (tmp_path / "bad.parquet").write_bytes(b"no parquet")
    wrong = call("tokenizer", "compare", root / "small", root / "large", tmp_path / "bad.parquet")
    assert wrong.exit_code == 2 and "bad.parquet" in wrong.stderr and "mend the file or leave it out" in wrong.stderr


def test_compare_on_a_run_goes_by_source_and_language(call: Call, root: Path, run: Path) -> None:
    found = json.loads(call("tokenizer", "compare", run, root / "small", "--run", run, "--json").stdout)
    assert [(row["by"], row["group"]) for row in found["groups"]] == [
        ("all", "all"), ("lang", "unknown"), ("source", "notes"),
    ]  # fmt: skip
    assert found["paths"] == {"a": str(run), "b": str(root / "small")} and found["groups"][0]["documents"] == len(TEXTS)


def test_compare_and_evaluate_take_a_tiktoken_file_with_its_pattern(call: Call, root: Path) -> None:
    file = root / "small" / "tokenizer.tiktoken"
    without = call("tokenizer", "compare", root / "small", file)
    assert without.exit_code == 2 and "carries no pattern; say which, as in `--pattern cl100k`" in without.stderr
    found = call("tokenizer", "compare", root / "small", file, root / "a.txt", "--pattern", "o200k", "--json")
    assert all(json.loads(found.stdout)["same"].values())
    options = ["--against", file, "--pattern", "o200k", "--json"]
    rows = json.loads(call("tokenizer", "evaluate", root / "small", root / "a.txt", *options).stdout)
    assert rows[0]["tokens"] == rows[2]["tokens"] > 0


def test_what_compare_cannot_use_is_a_message(call: Call, root: Path, run: Path, tmp_path: Path) -> None:
    both = call("tokenizer", "compare", root / "small", root / "large", root / "a.txt", "--run", run)
    assert both.exit_code == 2 and "give either files or --run" in both.stderr
    nothing = call("tokenizer", "compare", root / "small", tmp_path)
    assert nothing.exit_code == 2 and "holds neither model.json nor tokenizer.json" in nothing.stderr
    (tmp_path / "tokenizer.json").write_text("{}")
    broken = call("tokenizer", "compare", root / "small", tmp_path / "tokenizer.json")
    assert broken.exit_code == 2 and "cannot be loaded" in broken.stderr
    empty = call("tokenizer", "compare", root / "small", root / "large", "--run", root)
    assert empty.exit_code == 2 and str(root) in empty.stderr


def test_evaluate_streams_the_held_out_documents_of_a_run(
    call: Call, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = call("tokenizer", "evaluate", run / "tokenizer", "--run", run, "--json").stdout
    rows = json.loads(whole)
    assert [row["group"] for row in rows] == ["notes", "all"] and 0 < rows[0]["documents"] < len(TEXTS)
    monkeypatch.setattr("curate.tokenizer_inputs._ROWS", 1)
    assert call("tokenizer", "evaluate", run / "tokenizer", "--run", run, "--json").stdout == whole
    by = json.loads(call("tokenizer", "evaluate", run / "tokenizer", "--run", run, "--by", "lang", "--json").stdout)
    assert by[0]["group"] == "unknown" and by[0]["tokens"] == rows[0]["tokens"]


def test_extend_learns_from_files_and_keeps_old_ids(call: Call, root: Path, tmp_path: Path) -> None:
    options = ["--from", root / "a.txt", "--vocab-size", 277, "--tokens", "<|new|>", "--min-frequency", 1]
    result = call("tokenizer", "extend", root / "small", "-o", tmp_path / "t", *options)
    assert result.exit_code == 0, result.stderr
    assert "268 ids, 8 new merges, 1 new special tokens: 277 ids; from " in result.stdout
    old, new = Tokenizer.load(root / "small"), Tokenizer.load(tmp_path / "t")
    assert new.special_tokens == {"<|e|>": 267, "<|new|>": 276}
    assert [new.token_bytes(i) for i in range(268)] == [old.token_bytes(i) for i in range(268)]
    assert call("tokenizer", "verify", tmp_path / "t").exit_code == 0
    assert call("tokenizer", "explain", tmp_path / "t", "the mat").exit_code == 0


def test_extend_from_a_run_knows_sources_and_licences(call: Call, root: Path, run: Path, tmp_path: Path) -> None:
    options = ["--run", run, "--vocab-size", 290, "--json"]
    report = json.loads(call("tokenizer", "extend", root / "small", "-o", tmp_path / "t", *options).stdout)
    assert report["extension"]["new_merges"] == 22 and report["extension"]["dropped"] == {}
    manifest = json.loads((run / "tokenizer" / "manifest.json").read_text())
    assert report["extension"]["curated_manifest"] == manifest["inputs"][0]
    rows = [row for row in pq.read_table(tmp_path / "t" / "tokens.parquet").to_pylist()[268:] if row["sources"]]
    assert rows and {source for row in rows for source, _ in row["sources"]} == {"notes"}
    assert {license for row in rows for license, _ in row["licenses"]} == {"CC0-1.0"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "nothing to add: the tokenizer has 268 ids"),
        (["--vocab-size", "300"], "new merges need both files to learn from and a vocab_size"),
        (["--tokens", "<|e|>"], "'<|e|>' is declared twice"),
        (["--run", "RUN"], "--run needs --vocab-size"),
        (["--run", "RUN", "--from", "FILE"], "give either --from or --run"),
        (["--run", "RUN", "--vocab-size", "200"], "vocab_size: 200 is too small"),
    ],
)
def test_what_extend_cannot_do_is_a_message(
    call: Call, root: Path, run: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    given = [{"RUN": str(run), "FILE": str(root / "a.txt")}.get(option, option) for option in options]
    result = call("tokenizer", "extend", root / "small", "-o", tmp_path / "t", *given)
    assert result.exit_code == 2 and message in result.stderr
    assert not (tmp_path / "t").exists()


def test_extend_does_not_write_over_the_tokenizer_it_reads(call: Call, root: Path) -> None:
    result = call("tokenizer", "extend", root / "small", "-o", root / "small", "--tokens", "<|new|>")
    assert result.exit_code == 2 and "is the tokenizer itself; give another folder" in result.stderr
