"""Results are equal for any number of workers, order of files, hash seed, and way of being interrupted."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from toys import Interrupting, Project, command, curate, environment, files, manifests, whole


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with one worker that nothing disturbed."""
    project = whole(tmp_path_factory.mktemp("reference"))
    project.run()
    return project.folder / "run"


def test_one_worker_and_four_give_equal_manifests_and_equal_bytes(reference: Path, tmp_path: Path) -> None:
    whole(tmp_path).run(workers=4)
    assert manifests(tmp_path / "run") == manifests(reference)
    assert files(tmp_path / "run") == files(reference)


def test_files_that_came_to_the_disk_in_another_order_give_equal_bytes(reference: Path, tmp_path: Path) -> None:
    whole(tmp_path / "first")
    found = sorted(p for p in (tmp_path / "first").rglob("*") if p.is_file())
    random.Random(3).shuffle(found)
    for path in found:
        Project(tmp_path / "second").write(str(path.relative_to(tmp_path / "first")), path.read_bytes())
    Project(tmp_path / "second").run()
    assert files(tmp_path / "second" / "run") == files(reference)


@pytest.mark.parametrize("after", [0, 1, 5, 23, 60, 111, 150, 190])
def test_a_run_interrupted_after_any_task_ends_like_one_that_was_not(
    reference: Path, tmp_path: Path, after: int
) -> None:
    project = whole(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        project.run(engine=Interrupting(after))
    outcome = project.run()
    assert outcome.reused >= after
    assert files(tmp_path / "run") == files(reference)


def start(project: Project, *arguments: str, **environ: str) -> subprocess.Popen[str]:
    """`curate run` in a process group of its own, on the same toys."""
    return subprocess.Popen(
        command("run", "config.yaml", "--run-dir", "run", "--allow-code", *arguments),
        cwd=project.folder,
        env=environment(**environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hear_ctrl_c,
    )


def hear_ctrl_c() -> None:
    """A shell starts its background jobs deaf to Ctrl-C, and their children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def sidecars(root: Path) -> int:
    return sum(1 for p in root.rglob("part-*.json"))


def wait_for(root: Path, tasks: int, process: subprocess.Popen[str]) -> None:
    """Until so many tasks have published."""
    until = time.monotonic() + 180  # kernels may have to be compiled first
    while sidecars(root) < tasks and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    assert process.poll() is None, process.communicate()
    assert sidecars(root) >= tasks


@pytest.mark.faults
def test_kill_9_at_any_moment_leaves_only_complete_files_and_the_resumed_run_is_equal(
    reference: Path, tmp_path: Path
) -> None:
    """RES-01: the whole process group is killed again and again, each time some tasks further on."""
    project, root, rng = whole(tmp_path), tmp_path / "run", random.Random(11)
    total = sidecars(reference)
    for share in (0.1, 0.45, 0.8):
        process = start(project, "--workers", "2", TOY_SECONDS="0.01")
        wait_for(root, int(total * share), process)
        time.sleep(rng.random() * 0.05)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        known = files(reference)
        for name, data in files(root).items():
            if not Path(name).name.startswith(".tmp-") and ".tmp-" not in name and not name.endswith("manifest.json"):
                assert known.get(name) == data, name
    outcome = project.run()
    assert outcome.reused > 0
    assert files(root) == files(reference)


@pytest.mark.faults
def test_ctrl_c_ends_with_130_says_that_the_run_can_go_on_and_leaves_no_worker(reference: Path, tmp_path: Path) -> None:
    project, root = whole(tmp_path), tmp_path / "run"
    process = start(project, "--workers", "2", TOY_SECONDS="0.2")
    wait_for(root, 60, process)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.splitlines()[-1] == (
        "curate: interrupted; what was finished is kept, run the same command again to go on"
    )
    assert "Traceback" not in said
    assert gone(process.pid)
    outcome = project.run()
    assert outcome.reused >= 60
    assert files(root) == files(reference)


@pytest.mark.faults
def test_workers_end_when_only_their_parent_is_killed(tmp_path: Path) -> None:
    project, root = whole(tmp_path), tmp_path / "run"
    process = start(project, "--workers", "2", TOY_SECONDS="0.2")
    wait_for(root, 60, process)
    process.kill()
    process.wait()
    assert gone(process.pid)


def gone(group: int) -> bool:
    """Does every process of the group end within a few seconds?"""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    os.killpg(group, signal.SIGKILL)
    return False


@pytest.mark.faults
def test_terminate_is_an_interruption_too(tmp_path: Path) -> None:
    project = whole(tmp_path)
    process = start(project, "--workers", "1", TOY_SECONDS="0.2")
    wait_for(tmp_path / "run", 40, process)
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 130


@pytest.mark.faults
@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2])
def test_an_interruption_while_workers_start_is_one_line_and_leaves_no_process(tmp_path: Path, seconds: float) -> None:
    process = start(whole(tmp_path), "--workers", "4", TOY_SECONDS="0.2")
    until = time.monotonic() + 60
    while not (tmp_path / "run").is_dir() and time.monotonic() < until:
        time.sleep(0.005)
    time.sleep(seconds)
    process.terminate()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert [line for line in said.splitlines() if not line.startswith("curate: ")] == []
    assert gone(process.pid)


def test_hash_seed_run_folder_and_worker_count_are_in_no_key(reference: Path, tmp_path: Path) -> None:
    """RES-05: other processes, other hash seeds, other folders, other worker counts."""
    project = whole(tmp_path)
    one = curate(
        "run", "config.yaml", "--run-dir", "out/x1", "--workers", "2", "--allow-code", cwd=tmp_path, PYTHONHASHSEED="0"
    )
    assert one.returncode == 0, one.stderr
    two = curate(
        "run", "config.yaml", "--run-dir", "out/x2", "--workers", "8", "--allow-code", "--reuse", "out/x1", "--json",
        cwd=tmp_path, PYTHONHASHSEED="1",
    )  # fmt: skip
    assert '"computed": []' in two.stdout
    assert files(tmp_path / "out/x1") == files(tmp_path / "out/x2") == files(reference)
    assert project.run("out/x2").computed == ()
