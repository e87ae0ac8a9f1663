"""A finished run, and a way to call commands in this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from toys import Project, whole

import kernels
from curate.cli import main

Call = Callable[..., Result]


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process nothing waits for the disk."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(autouse=True, scope="session")
def _kernels() -> None:
    """What the cache lacks is compiled before any test looks at what a command says."""
    if kernels.uncompiled():
        kernels.compile_all()


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of a project with a drop at every stage."""
    project = whole(tmp_path_factory.mktemp("finished"))
    project.run()
    return project.folder / "run"


@pytest.fixture
def call() -> Call:
    """`curate ARGUMENTS`: exit code, stdout and stderr; an error that is no message is raised."""

    def run(*arguments: object) -> Result:
        result = CliRunner().invoke(main, [str(a) for a in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A small project in the working folder."""
    from toys import small

    monkeypatch.chdir(tmp_path)
    return small(tmp_path)
