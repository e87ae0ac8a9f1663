"""RES-01: a run is killed while it writes, once in each stage, and goes on each time."""

from __future__ import annotations

import random
import signal
import subprocess
from pathlib import Path

import pytest
from toys import PLAIN_START, Project, curate, files, texts

STAGES = [
    {"ingest": {"shard_rows": 64}},
    {"license": {"allow": ["CC0-1.0"]}},
    {"language": {"keep": ["en"]}},
    {"gopher": {"preset": "c4", "min_sentences": 0}},
    {"perplexity": {"reference": [{"path": "reference/*.jsonl", "language": "en"}], "min_tokens": 3}},
    "exact_dedup",
    "minhash",
    {"line_dedup": {"min_documents": 2}},
    "pii",
]
KILLED = """
import os, signal
def fsync(descriptor, known=os.fsync):
    path = os.readlink(f"/proc/self/fd/{descriptor}")
    if ".tmp-" in path:
        folder = os.path.dirname(path.partition("/run/")[2])
        print("writes", folder)
        if folder == os.environ.get("KILL_IN"):
            if os.fstat(descriptor).st_nlink == 1:  # a second name of a file that is there is no writing
                os.ftruncate(descriptor, int(os.path.getsize(path) * float(os.environ["KILL_AT"])))
            os.kill(os.getpid(), signal.SIGKILL)
    known(descriptor)
os.fsync = fsync
"""
"""A process that says in which folders it writes, and dies in one when a share of a file's bytes is on the disk."""


def started(folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    made = Project(folder)
    notes = [
        *texts(0, 40),
        *texts(3, 2),
        *(f"Write to note{n}@example.org now.\nThe same line below." for n in range(4)),
    ]
    made.write("inputs/notes.jsonl", notes)
    made.write("reference/en.jsonl", texts(200, 60))
    made.config(STAGES, tokenizer={"vocab_size": 300})
    arguments = ("run", "config.yaml", "--run-dir", "run", "--workers", "1")
    return curate(*arguments, cwd=folder, start=KILLED + PLAIN_START, **environ)


@pytest.mark.faults
def test_a_kill_at_any_byte_of_a_stage_s_file_leaves_only_whole_files_and_the_run_goes_on(tmp_path: Path) -> None:
    whole, root, rng = started(tmp_path / "whole"), tmp_path / "killed" / "run", random.Random(17)
    assert whole.returncode == 0, whole.stderr
    said = [line.removeprefix("writes ") for line in whole.stdout.splitlines() if line.startswith("writes ")]
    stages: dict[str, list[str]] = {}
    for folder in filter(None, said):
        stages.setdefault(folder.split("/")[0], []).append(folder)
    assert len(stages) == len(STAGES) + 2
    reference = files(tmp_path / "whole" / "run")
    for folder in (rng.choice(written) for written in stages.values()):
        killed = started(tmp_path / "killed", KILL_IN=folder, KILL_AT=str(rng.random()))
        assert killed.returncode == -signal.SIGKILL, (folder, killed.stderr)
        for name, data in files(root).items():
            assert ".tmp-" in name or reference.get(name) == data, (folder, name)
    last = started(tmp_path / "killed")
    assert last.returncode == 0, last.stderr
    assert files(root) == reference
