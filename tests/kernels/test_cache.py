"""Where the kernels' machine code is kept."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import kernels
from curate.cli import main

ROOT = Path(__file__).parents[2]
SHOW = "import kernels, os; print(kernels.CACHE); print(kernels.CACHE.is_dir()); print(os.environ['NUMBA_CACHE_DIR'])"


def folder_with(**environment: str) -> tuple[Path, bool, str]:
    env = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | {"PYTHONPATH": str(ROOT)} | environment
    out = subprocess.run([sys.executable, "-c", SHOW], env=env, capture_output=True, text=True, check=True).stdout
    path, there, told = out.splitlines()
    return Path(path), there == "True", told


def test_machine_code_is_kept_below_the_cache_folder_of_the_user(tmp_path: Path) -> None:
    path, there, told = folder_with(XDG_CACHE_HOME=str(tmp_path))
    assert path.parent == tmp_path / "curate" and told == str(path)
    assert not there and not path.parent.exists()  # made when something is compiled, not by an import


def test_without_a_writable_cache_folder_it_is_kept_for_the_process_and_never_beside_the_sources(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("no folder can be made here")
    path, there, told = folder_with(XDG_CACHE_HOME=str(tmp_path / "file"), TMPDIR=str(tmp_path))
    assert path.parent == tmp_path and there and told == str(path)
    assert not path.exists()


@pytest.fixture
def emptied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An empty cache, and the names of the modules that a first run would compile there."""
    compiled: list[str] = []
    monkeypatch.setattr(kernels, "CACHE", tmp_path)
    monkeypatch.setattr(kernels, "_compile_elsewhere", lambda names: compiled.extend(names))
    return compiled


def test_a_first_run_says_that_it_compiles(emptied: list[str]) -> None:
    said: list[str] = []
    kernels.compile_all(said.append)
    assert said == ["compiling kernels (first run)"]
    assert {"kernels.words", "kernels.merges", "kernels.pieces"} <= set(emptied) == set(kernels.uncompiled())
    assert len(emptied) == len(set(emptied)) >= 15
    assert not {"kernels.word_tables", "kernels.merge_queue"} & set(emptied)  # nothing of them is cached


def test_what_an_earlier_command_compiled_is_not_compiled_again(emptied: list[str], tmp_path: Path) -> None:
    (tmp_path / "kernels_x").mkdir()
    for name in kernels.uncompiled():
        if name != "kernels.words":
            (tmp_path / "kernels_x" / f"{name.removeprefix('kernels.')}.f-1.py311.nbi").write_bytes(b"")
    said: list[str] = []
    kernels.compile_all(said.append)
    assert (said, emptied) == (["compiling kernels (first run)"], ["kernels.words"])
    (tmp_path / "kernels_x" / "words.f-1.py311.nbi").write_bytes(b"")
    kernels.compile_all(said.append)
    assert len(said) == len(emptied) == 1


def test_a_cache_that_cannot_be_kept_is_said(
    emptied: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "CACHE", tmp_path / f"{kernels.TEMPORARY}x")
    said: list[str] = []
    kernels.compile_all(said.append)
    assert len(said) == 1 and said[0].endswith("cannot be written, so each run compiles)")


def test_the_names_of_the_cache_are_those_that_numba_gives() -> None:
    importlib.import_module("kernels.words")  # compiles it where it was not
    assert "kernels.words" not in kernels.uncompiled()


def test_the_tokenizer_commands_say_it_too(emptied: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 9)
    arguments = ["tokenizer", "train", str(tmp_path / "a.txt"), "--out", str(tmp_path / "t"), "--vocab-size", "260"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0
    assert result.stderr.startswith("curate: compiling kernels (first run)\n")
    assert set(emptied) == {f"kernels.{name}" for name in ("encoding", "merges", "pieces", "scanners", "words")}
