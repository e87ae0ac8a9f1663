"""Errors of the system and of a run's files, as one line that says where, what and what helps."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from curate.errors import explain, of_system

Call = Callable[..., Result]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOENT, "x/y: No such file or directory; check the path; its folder must be there"),
        (errno.EACCES, "x/y: Permission denied; give yourself access, or another path"),
        (errno.ENOSPC, "x/y: No space left on device; make room and run the same command again"),
        (errno.EROFS, "x/y: Read-only file system; give a path that can be written"),
        (errno.EIO, "x/y: Input/output error"),
    ],
)
def test_what_the_system_refused_is_said_without_its_number(number: int, said: str) -> None:
    assert of_system(OSError(number, os.strerror(number), "x/y")) == said
    assert explain(OSError(number, os.strerror(number), "x/y")) == (said, 1)


def test_an_error_that_nobody_foresaw_stays_one_of_the_program() -> None:
    assert explain(OSError("what is this")) is None and explain(RuntimeError("x")) is None


@pytest.mark.parametrize(
    "content",
    ["no JSON", "[1]", "3", '{"stages": 3}', '{"stages": ["ingest"]}', '{"stages": [{"stage": "ingest"}]}', "{}"],
)
def test_a_run_json_that_is_none_is_no_run_to_any_command(call: Call, tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    for command in (
        ["status"],
        ["report"],
        ["sql"],
        ["sample"],
        ["verify"],
        ["clean"],
        ["trace"],
        ["what-if", "--set", "a.b=1"],
    ):
        more = {"sql": ["select 1"], "trace": ["x"]}.get(command[0], [])
        result = call(command[0], tmp_path, *command[1:], *more)
        assert result.exit_code == 2, result.output
        assert "holds no run (no run.json with a finished stage)" in result.stderr


@pytest.mark.parametrize("arguments", [("sql", "RUN", "select 1"), ("trace", "RUN", "x"), ("index", "RUN")])
def test_a_missing_file_of_a_run_is_named_with_the_commands_that_help(
    call: Call, finished: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    run = shutil.copytree(finished, tmp_path / "run")
    for path in (run / "curated").glob("*.parquet"):
        path.unlink()
    result = call(*(str(run) if a == "RUN" else a for a in arguments))
    assert result.exit_code == 1 and len(result.stderr.splitlines()) == 1, result.stderr
    assert result.stderr.startswith("curate: a file of the run cannot be read: ")
    assert "curated/part-" in result.stderr and "errno" not in result.stderr
    assert "`curate verify RUN` names damaged files, `curate run CONFIG` makes them again" in result.stderr
