"""One run folder has one writer: a lock file that a second process sees and a dead one's successor takes over."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class RunLockedError(Exception):
    """Another process is writing this run folder."""


@contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; raises RunLockedError with host, pid and start time of the holder.

    The system drops the lock with its process, however that ended. On file systems without flock across hosts, two
    hosts are not kept apart.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "run.lock").open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            raise RunLockedError(
                f"{folder} is being written by {_holder(file.read())}; wait for it or stop it"
            ) from error
        file.seek(0)
        file.truncate()
        started = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        json.dump({"host": socket.gethostname(), "pid": os.getpid(), "started": started}, file)
        file.flush()
        yield


def writer_of(folder: Path) -> str | None:
    """Who is writing the folder now, in words; None where nobody is. Leaves the lock file as it is."""
    try:
        with (folder / "run.lock").open("r", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return _holder(file.read())
    except FileNotFoundError:
        return None
    return None


def _holder(text: str) -> str:
    try:
        holder = json.loads(text)
        return f"process {holder['pid']} on {holder['host']}, started {holder['started']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
