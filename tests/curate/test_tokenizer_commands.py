"""`curate tokenizer …` on files of one's own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

TEXT = "the cat sat on the mat, the cat's hat 12345\n"


Call = Callable[..., Result]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tokenizer.train_files import train_files

    root = tmp_path_factory.mktemp("tokenizer")
    (root / "a.txt").write_text(TEXT * 3)
    train_files([root / "a.txt"], root / "t", vocab_size=280, specials=["<|e|>"])
    return root / "t"


def test_a_training_takes_a_normalization_padding_and_threads(call: Call, folder: Path, tmp_path: Path) -> None:
    options = ["--vocab-size", 270, "--normalization", "NFC", "--pad-to-multiple", 128, "--threads", 2]
    result = call("tokenizer", "train", folder.parent / "a.txt", "--out", tmp_path / "t", *options, "--json")
    report = json.loads(result.stdout)
    assert (report["normalization"], report["n_real"], report["n_padded"]) == ("NFC", 270, 384)
    assert report["refused"] == {"tokenizer.tiktoken": "the tokenizer normalises to NFC; tiktoken does not"}
    wrong = call("tokenizer", "train", folder.parent / "a.txt", "--out", tmp_path, *options[:3], "nfd")
    assert wrong.exit_code == 2 and "normalization: 'nfd' is unknown; use one of none, NFC, NFKC" in wrong.stderr


def test_a_normalization_is_said_to_bound_what_comes_back_where_it_is_chosen(call: Call) -> None:
    from stages.train_tokenizer import TokenizerParams

    shown = " ".join(call("tokenizer", "train", "--help").stdout.split())
    assert "with these a text decodes to its normalised form" in shown
    described = TokenizerParams.model_fields["normalization"].description or ""
    assert "what decodes is then the normalised text" in described


def test_explain_shows_pieces_tokens_and_merges(call: Call, folder: Path) -> None:
    lines = call("tokenizer", "explain", folder, "the cat").stdout.splitlines()
    assert lines[0].startswith("piece 'the' -> ") and any(line.startswith("  rank") for line in lines)
    found = json.loads(call("tokenizer", "explain", folder, "the cat", "--json").stdout)
    assert [piece["piece"] for piece in found] == ["the", " cat"]


def test_verify_is_quiet_about_a_sound_folder_and_fails_for_a_changed_one(
    call: Call, folder: Path, tmp_path: Path
) -> None:
    import shutil

    good = call("tokenizer", "verify", folder)
    assert good.exit_code == 0 and " come back, 1 special, 0 unreachable; sound: tokenizer.json, " in good.stdout
    shutil.copytree(folder, tmp_path / "t")
    (tmp_path / "t" / "merges.txt").write_text("#version: 0.2\n")
    bad = call("tokenizer", "verify", tmp_path / "t", "--json")
    assert bad.exit_code == 1 and json.loads(bad.stdout)["problems"] == [bad.stderr.strip()]
    (tmp_path / "t" / "model.json").write_text("{")
    assert call("tokenizer", "verify", tmp_path / "t").exit_code == 2


def test_export_writes_the_same_files_again(call: Call, folder: Path, tmp_path: Path) -> None:
    result = call("tokenizer", "export", folder, "--out", tmp_path / "again", "--json")
    written = json.loads(result.stdout)["files"]
    assert len(written) == 6
    for name in written:
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_evaluate_compares_tokenizers_on_files(call: Call, folder: Path) -> None:
    file = folder.parent / "a.txt"
    against = ["--against", folder / "tokenizer.json"]
    rows = json.loads(call("tokenizer", "evaluate", folder, file, *against, "--json").stdout)
    assert [row["group"] for row in rows] == ["a.txt", "all"] * 2
    assert rows[0]["tokens"] == rows[2]["tokens"] and rows[0]["bytes"] == len(TEXT) * 3
    assert "bytes per token, 1 documents" in call("tokenizer", "evaluate", folder, file).stdout


def test_evaluate_wants_files_or_a_run(call: Call, folder: Path, tmp_path: Path) -> None:
    result = call("tokenizer", "evaluate", folder)
    assert result.exit_code == 2 and "give either files or --run" in result.stderr
    result = call("tokenizer", "evaluate", folder, folder.parent / "a.txt", "--against", tmp_path)
    assert result.exit_code == 2 and "holds neither model.json nor tokenizer.json" in result.stderr
    result = call("tokenizer", "evaluate", folder, "--run", tmp_path)
    assert result.exit_code == 2 and "has no tokenizer; give files instead" in result.stderr


def test_a_pattern_that_can_match_nothing_stops_a_training_before_any_file_is_read(
    call: Call, folder: Path, tmp_path: Path
) -> None:
    options = ["--out", tmp_path / "t", "--vocab-size", 270, "--pattern"]
    wrong = call("tokenizer", "train", folder.parent / "a.txt", *options, "[a-z]*")
    assert wrong.exit_code == 2 and "the pattern '[a-z]*' can match an empty text" in wrong.stderr
    assert "Traceback" not in wrong.stderr and not (tmp_path / "t").exists()


def test_nested_repeats_train_and_export_without_a_hang(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a" * 40 + "b")
    options = ["--out", tmp_path / "t", "--vocab-size", 258, "--pattern", "(a+)+$"]
    result = call("tokenizer", "train", tmp_path / "a.txt", *options)
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("word", ["abc", "-1", "9" * 30, "1.5", "٣", "1_0"])
def test_what_is_no_id_is_named(call: Call, folder: Path, word: str) -> None:
    result = call("tokenizer", "decode", folder, "--", "97", word)
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr == f"curate: {word!r} is no id; ids are whole numbers from 0 to 275\n"


def test_numbers_that_no_training_can_take_are_messages(call: Call, folder: Path, tmp_path: Path) -> None:
    for option in ("--min-frequency", "--max-token-bytes", "--pad-to-multiple"):
        arguments = ["--out", tmp_path / "t", "--vocab-size", 270, option, 10**30]
        result = call("tokenizer", "train", folder.parent / "a.txt", *arguments)
        assert result.exit_code == 2 and "is too large; use" in result.stderr


CONFIG = """\
name: guards
sources: [{{name: s, path: a.txt, license: CC0-1.0}}]
stages:
  - ingest: {{}}
  - pii: {pii}
tokenizer: {tokenizer}
"""


@pytest.mark.parametrize(
    ("pii", "tokenizer", "line", "message"),
    [
        ("{}", "{vocab_size: 300, pattern: 'a*'}", 6, "tokenizer.pattern: the pattern 'a*' can match an empty text"),
        ("{custom: [{name: x, pattern: 'a*'}]}", "{}", 5, "pattern: 'a*' can match an empty text"),
        ("{}", "{special_tokens: ['<|email|>']}", 5, "the placeholder <|email|> is also a special token of the tok"),
    ],
)
def test_settings_that_cannot_work_are_one_message_with_line_and_key(
    call: Call, tmp_path: Path, pii: str, tokenizer: str, line: int, message: str
) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "c.yaml").write_text(CONFIG.format(pii=pii, tokenizer=tokenizer))
    result = call("plan", tmp_path / "c.yaml")
    assert result.exit_code == 2 and f"c.yaml:{line}: " in result.stderr and message in result.stderr
    assert "validation error" not in result.stderr and "pydantic" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_file_name_that_is_no_utf_8_is_taken_by_every_command_and_spelled_out(
    tmp_path: Path, call: Callable[..., Result]
) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/x\xff.txt")
    Path(path).write_text("the ferry leaves at nine, the other ferry at ten " * 20)
    trained, more = str(tmp_path / "trained"), str(tmp_path / "more")
    for arguments in (
        ["train", path, "--out", trained, "--vocab-size", "265"],
        ["extend", trained, "-o", more, "--from", path, "--vocab-size", "270"],
        ["compare", trained, more, path, "--json"],
    ):
        result = call("tokenizer", *arguments)
        assert result.exit_code == 0, result.output
    assert "x\\\\xff.txt" in result.stdout
    assert "x\\\\xff.txt" in (tmp_path / "more" / "manifest.json").read_text("utf-8")


@pytest.mark.parametrize("name", ["a/b", "", "..\\x", "line\nend", "n" * 201, "/tmp/x"])
def test_a_name_that_is_no_file_name_is_refused_before_any_work(
    call: Call, folder: Path, tmp_path: Path, name: str
) -> None:
    more = ["--from", folder.parent / "a.txt", "--vocab-size", 281]
    for arguments in (
        ["extend", folder, "-o", tmp_path / "t", *more],
        ["extend", folder, "-o", tmp_path / "t", "--tokens", "<|new|>"],
        ["extend", folder, "-o", tmp_path / "t", "--run", tmp_path, "--vocab-size", 281],
        ["export", folder, "--out", tmp_path / "t"],
    ):
        result = call("tokenizer", *arguments, "--name", name)
        assert result.exit_code == 2 and result.stderr.startswith("curate: name: "), result.stderr
        assert " is no file name; give one without folders" in result.stderr
        assert "it becomes NAME.tiktoken" in result.stderr
        assert not (tmp_path / "t").exists()


def test_a_file_name_of_any_script_is_a_name(call: Call, folder: Path, tmp_path: Path) -> None:
    result = call("tokenizer", "export", folder, "--out", tmp_path, "--name", "词表 1.0")
    assert result.exit_code == 0 and (tmp_path / "词表 1.0.tiktoken").is_file()
