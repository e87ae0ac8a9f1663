"""What the tests of the engine share: a corpus that is the same every time, small configs, and the real runner."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from pipeline.config import RunConfig, load
from pipeline.engines import Engine, LocalEngine
from pipeline.execution import Policy
from pipeline.manifest import read_manifest
from pipeline.observe import Observer
from pipeline.runner import Outcome, run
from pipeline.storage import read_table
from pipeline.tasks import Sidecar, Task
from stages.registry import registry

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
NOUNS = ("river", "stone", "garden", "window", "letter", "bridge", "market", "candle", "winter", "engine")
VERBS = ("keeps", "carries", "follows", "remembers", "measures", "paints", "opens", "repairs", "counts", "hides")

WORDS, VOWELS, TYPICAL, REDACT = (f"toy_stages:{name}" for name in ("Words", "Vowels", "Typical", "Redact"))
PLAIN: list[Any] = [{"ingest": {"shard_rows": 64}}, WORDS, VOWELS, REDACT]
"""A source stage, a judge of all documents, a judge of survivors, an editor: every shape, quickly."""

WHOLE: list[Any] = [
    {"ingest": {"shard_rows": 64}},
    {"license": {"allow": ["CC0-1.0"]}},
    {"language": {"keep": ["en"]}},
    {WORDS: {"min_words": 7}},
    VOWELS,
    {TYPICAL: {"factor": 1.5}},
    {"exact_dedup": {}},
    {REDACT: {"min_characters": 56}},
]
"""The project's own quick stages between toys, with drops at each of them."""


def text(n: int) -> str:
    """The n-th document: 6 to 23 English words, each text different, every fifth with the word that is redacted."""
    words = [f"Note {n}: the"]
    for k in range(3 + n * 7 % 18):
        words.append((NOUNS if k % 2 == 0 else VERBS)[(n * 5 + k * 3) % 10])
    return " ".join(words) + (" in secret" if n % 5 == 0 else "") + "."


def texts(first: int, count: int) -> list[str]:
    return [text(n) for n in range(first, first + count)]


def jsonl(listed: Sequence[str | dict[str, Any]]) -> str:
    """JSON Lines of records, or of texts."""
    rows = [{"text": item} if isinstance(item, str) else item for item in listed]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


class Project:
    """A folder with inputs, a config and runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, content: str | bytes | Sequence[str]) -> Path:
        """An input file: bytes or a string as they are, a list of texts as JSON Lines."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else jsonl(content), encoding="utf-8")
        return path

    def config(self, stages: Sequence[Any] = PLAIN, sources: Sequence[dict[str, Any]] = (), **more: Any) -> Path:
        """Writes config.yaml; by default one source `notes` that reads inputs/notes.jsonl."""
        listed = list(sources) or [{"name": "notes", "path": "inputs/notes.jsonl", "license": "CC0-1.0"}]
        data = {"name": "toy", "sources": listed, "stages": list(stages)} | more
        return self.write("config.yaml", yaml.safe_dump(data, sort_keys=False))

    def checked(self, overrides: Sequence[str] = ()) -> RunConfig:
        return load(self.folder / "config.yaml", registry(True, self.folder), overrides)

    def run(
        self,
        run_dir: str | Path = "run",
        *,
        workers: int = 1,
        overrides: Sequence[str] = (),
        policy: Policy | None = None,
        observer: Observer | None = None,
        until: str | None = None,
        limit: int | None = None,
        engine: Engine | None = None,
    ) -> Outcome:
        """The real runner, in this process for one worker."""
        return run(
            self.checked(overrides),
            self.folder / run_dir,
            engine or LocalEngine(workers, ("pipeline.steps", "pipeline.reading")),
            policy or Policy(),
            observer or Observer(),
            until=until,
            limit=limit,
        )

    def tasks(self, *steps: str, shards: Sequence[str] | None = None) -> set[str]:
        """Names of tasks: each of the steps (`words/measures`, `curated`) for each of the shards."""
        return {f"{step}/{shard}" for step in steps for shard in (self.shards() if shards is None else shards)}

    def shards(self, run_dir: str = "run", stage: str = "ingest") -> list[str]:
        return sorted(p.stem for p in (self.folder / run_dir / stage / "documents").glob("*.parquet"))


def small(folder: Path, stages: Sequence[Any] = PLAIN, documents: int = 40) -> Project:
    """One source, one file, a handful of shards."""
    project = Project(folder)
    project.write("inputs/notes.jsonl", texts(0, documents))
    project.config(stages)
    return project


def whole(folder: Path) -> Project:
    """Three sources in several files and formats, duplicates within and across them, defects, WHOLE stages."""
    project = Project(folder)
    project.write("inputs/notes.jsonl", [*texts(0, 30), text(3), text(3)])
    project.write("inputs/more/a.jsonl", [*texts(25, 15), text(3)])
    project.write("inputs/more/b.jsonl", jsonl([*texts(100, 10)]) + "{broken\n")
    project.write("inputs/more/empty.jsonl", "")
    project.write("inputs/pages/one.txt", text(200))
    project.write("inputs/pages/two.txt", "这是一篇用中文写的短文，里面没有英文单词。")
    project.config(
        WHOLE,
        [
            {"name": "notes", "path": "inputs/notes.jsonl", "license": "CC0-1.0"},
            {"name": "more", "path": "inputs/more/*.jsonl", "license": "CC0-1.0"},
            {"name": "pages", "path": ["inputs/pages/one.txt", "inputs/pages/two.txt"], "license": "CC0-1.0 OR MIT"},
        ],
        max_quarantine_share=0.5,
    )
    return project


class Interrupting(LocalEngine):
    """Runs tasks in this process until so many are done, then behaves like Ctrl-C."""

    def __init__(self, after: int) -> None:
        super().__init__(1)
        self.left = after

    def run(self, tasks: Sequence[Task], root: Path) -> Iterator[Sidecar]:
        for sidecar in super().run(tasks, root):
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            yield sidecar


class Watching(Observer):
    """Keeps what a run says: the reasons for computing something again."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}

    def planned(self, stage: str, step: str, reused: int, reasons: Sequence[tuple[str, str]]) -> None:
        self.reasons.update(reasons)


def manifests(root: Path) -> dict[str, Any]:
    """Every manifest of a run, and its provenance: all that must be equal between equal runs."""
    found: dict[str, Any] = {p.parent.name: read_manifest(root, p.parent.name) for p in root.glob("*/manifest.json")}
    found["provenance"] = json.loads((root / "provenance.json").read_text(encoding="utf-8"))
    return found


def contents(root: Path) -> dict[str, str]:
    """Content hash of every published file."""
    return {
        o["path"]: o["content_hash"] for p in root.glob("*/manifest.json") for o in json.loads(p.read_text())["outputs"]
    }


def documents(root: Path, stage: str = "ingest") -> list[dict[str, Any]]:
    """Rows of a generation of documents, in the order of shard names."""
    return [
        row for path in sorted((root / stage / "documents").glob("*.parquet")) for row in read_table(path).to_pylist()
    ]


def files(root: Path) -> dict[str, bytes]:
    """Every file of a run but those that are not part of its results."""
    aside = ("run.json", "run.lock", "curate.duckdb")
    return {
        p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file() and p.name not in aside
    }


def environment(**more: str) -> dict[str, str]:
    """Environment of a process that can import the toy stages."""
    path = os.pathsep.join([str(HERE), str(ROOT)])
    return os.environ | {"PYTHONPATH": path, "COLUMNS": "200"} | more


PLAIN_START = (
    "import curate.api, kernels; kernels.compile_all = lambda say=None: None; "
    "curate.api.PRELOAD = ('pipeline.steps', 'pipeline.reading'); "
)
"""Toy stages need no kernels: a process that does not load them starts in a fraction of the time."""


def command(*arguments: str | Path, start: str = PLAIN_START) -> list[str]:
    """The command line of `curate`, as a list."""
    return [sys.executable, "-c", start + "from curate.cli import main; main()", *map(str, arguments)]


def curate(
    *arguments: str | Path, cwd: Path, start: str = PLAIN_START, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run `curate` in a process of its own."""
    return subprocess.run(
        command(*arguments, start=start),
        cwd=cwd,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
