"""One run folder has one writer."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from toys import command, curate, environment, files, small

from pipeline.lock import RunLockedError, run_lock


def test_a_second_holder_is_refused_with_host_pid_and_start_time(tmp_path: Path) -> None:
    with run_lock(tmp_path), pytest.raises(RunLockedError) as caught, run_lock(tmp_path):
        pass
    holder = rf"process {os.getpid()} on {re.escape(socket.gethostname())}, started \d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d"
    assert re.search(holder, str(caught.value))
    assert str(caught.value).startswith(f"{tmp_path} is being written by ")


def test_a_lock_is_free_again_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), run_lock(tmp_path):
        raise RuntimeError
    with run_lock(tmp_path):
        pass


@pytest.mark.parametrize("text", ["", "{", "[]", "5", '{"pid": 1}', "\0"])
def test_what_a_dead_holder_left_in_the_lock_file_does_no_harm(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.lock").write_text(text)
    with run_lock(tmp_path):
        (tmp_path / "run.lock").write_text(text)
        with pytest.raises(RunLockedError, match="is being written by another process"), run_lock(tmp_path):
            pass


@pytest.mark.faults
def test_two_commands_on_one_folder_the_second_is_refused_and_takes_over_when_the_first_is_killed(
    tmp_path: Path,
) -> None:
    """RES-07."""
    project = small(tmp_path)
    arguments = ("run", "config.yaml", "--run-dir", "run", "--workers", "1", "--allow-code")
    first = subprocess.Popen(command(*arguments), cwd=tmp_path, env=environment(TOY_SECONDS="0.5"), text=True)
    try:
        until = time.monotonic() + 60
        while not list((tmp_path / "run").glob("words/measures/*.json")) and time.monotonic() < until:
            time.sleep(0.01)
        started = time.monotonic()
        second = curate(*arguments, cwd=tmp_path)
        assert second.returncode == 1
        assert re.fullmatch(
            rf"curate: run is being written by process {first.pid} on \S+, started \S+; wait for it or stop it",
            second.stderr.strip(),
        )
        assert time.monotonic() - started < 30
        assert first.poll() is None
        status = curate("status", "run", cwd=tmp_path)
        assert f"process {first.pid} on" in status.stdout
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    third = curate(*arguments, cwd=tmp_path)
    assert third.returncode == 0, third.stderr
    project.run("fresh")
    assert files(tmp_path / "run") == files(tmp_path / "fresh")
