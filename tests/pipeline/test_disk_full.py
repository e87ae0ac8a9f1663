"""RES-08: a disk that fills up ends the run with an error, leaves no half-written file, and the run can go on."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from toys import curate, files, whole

from pipeline.engines import TaskError


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1.2 MB, in memory."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1200k", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    ) if os.geteuid() == 0 else None  # fmt: skip
    if made is None or made.returncode != 0:
        pytest.skip("needs leave to mount a small file system: " + ("not root" if made is None else made.stderr))
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.faults
def test_a_full_disk_is_an_error_without_left_overs_and_the_run_goes_on_when_there_is_room(
    tmp_path: Path, tiny_disk: Path
) -> None:
    project = whole(tmp_path)
    project.run("fresh")
    ballast = tiny_disk / "ballast"
    ballast.write_bytes(b"\0" * 800_000)
    failed = curate(
        "run", "config.yaml", "--run-dir", tiny_disk / "run", "--workers", "2", "--allow-code", cwd=tmp_path
    )
    assert failed.returncode == 1, failed.stderr
    assert "No space left on device" in failed.stderr
    assert "Traceback" not in failed.stderr
    finished = left_whole(tiny_disk / "run")
    with pytest.raises((TaskError, OSError), match="No space left on device"):
        project.run(tiny_disk / "run")
    assert left_whole(tiny_disk / "run") >= finished  # a second attempt makes nothing worse
    assert finished > 0
    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,size=40m", str(tiny_disk)], check=True)
    assert project.run(tiny_disk / "run").reused >= finished
    assert files(tiny_disk / "run") == files(tmp_path / "fresh")


def left_whole(root: Path) -> int:
    """How many tasks have a sidecar; all their files are whole, and nothing half-written lies about."""
    assert not [p for p in root.rglob("*") if ".tmp-" in str(p)]
    sidecars = [json.loads(p.read_text()) for p in root.rglob("part-*.json")]
    for output in (o for sidecar in sidecars for o in sidecar["outputs"]):
        assert (root / output["path"]).stat().st_size == output["size"]
    return len(sidecars)
