"""A task: one pure call with a key, the files it publishes, and the sidecar that says they exist."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.hashing import json_hash
from pipeline.storage import Output, intact, publish_json


@dataclass(frozen=True)
class Result:
    """What a task's call gives back: the files it published and a JSON summary (counts, fitted values)."""

    outputs: list[Output]
    summary: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """One call of a stage's step on one input.

    name: path of the sidecar below the run folder, without `.json`.
    parts: everything the result depends on, as JSON; their hash is the key.
    call: a module-level function `call(root, **arguments) -> Result`, importable in any worker.
    """

    name: str
    parts: dict[str, Any]
    call: Callable[..., Result]
    arguments: dict[str, Any]

    @property
    def key(self) -> str:
        return json_hash(self.parts)


@dataclass(frozen=True)
class Sidecar:
    """The record of a finished task, stored beside its outputs. Holds no times and no machine facts."""

    name: str
    key: str
    parts: dict[str, Any]
    outputs: list[Output]
    summary: dict[str, Any]
    accepted_code: list[str] = field(
        default_factory=list
    )  # code hashes whose results were taken over with --accept-code

    def as_json(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "parts": self.parts,
            "outputs": [o.as_json() for o in self.outputs],
            "summary": self.summary,
            **({"accepted_code": self.accepted_code} if self.accepted_code else {}),
        }

    def write(self, root: Path) -> None:
        publish_json(root / f"{self.name}.json", self.as_json())


def read_sidecar(root: Path, name: str) -> Sidecar | None:
    """The sidecar of a task, or None where there is none that can be read: then its outputs do not exist."""
    try:
        data = json.loads((root / f"{name}.json").read_text(encoding="utf-8"))
        outputs = [Output(**o) for o in data["outputs"]]
        return Sidecar(name, data["key"], data["parts"], outputs, data["summary"], data.get("accepted_code", []))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def damaged(root: Path, sidecar: Sidecar) -> list[str]:
    """Paths of outputs that are missing or whose bytes are no longer those published."""
    return [o.path for o in sidecar.outputs if not intact(root, o)]


def execute(task: Task, root: Path) -> Sidecar:
    """Run a task here and publish its sidecar, last of all."""
    result = task.call(root, **task.arguments)
    sidecar = Sidecar(task.name, task.key, task.parts, result.outputs, result.summary)
    sidecar.write(root)
    return sidecar


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What changed between two tasks' parts, in words: settings by their dotted name, inputs, code, libraries."""
    said = []
    for part in sorted(old.keys() | new.keys()):
        a, b = old.get(part), new.get(part)
        if a == b:
            continue
        if part in ("params", "source", "libraries") and isinstance(a, dict) and isinstance(b, dict):
            word = {"params": "setting", "source": "source setting", "libraries": "library"}[part]
            said += [f"{word} {k}: {_short(v)} → {_short(w)}" for k, v, w in _changed(a, b)]
        else:
            said.append(f"{part} changed")
    return said


def _changed(a: dict[str, Any], b: dict[str, Any], prefix: str = "") -> list[tuple[str, Any, Any]]:
    found = []
    for k in sorted(a.keys() | b.keys()):
        v, w = a.get(k), b.get(k)
        if isinstance(v, dict) and isinstance(w, dict):
            found += _changed(v, w, f"{prefix}{k}.")
        elif v != w:
            found.append((prefix + k, v, w))
    return found


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"
