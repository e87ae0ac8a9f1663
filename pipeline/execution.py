"""One pass over a run's tasks: which are reused, which are computed, and why.

`phase` settles a step's tasks: same key and intact outputs are reused; anything else is computed, after the observer
was told which setting, input or code changed. In a dry pass nothing is computed, and the first step that would have
to be ends it, since later keys depend on its outputs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.engines import Engine
from pipeline.observe import Observer
from pipeline.steps import copy_outputs
from pipeline.storage import Output
from pipeline.tasks import Sidecar, Task, damaged, differences, read_sidecar

CODE_PARTS = frozenset({"code", "libraries"})


class StrictError(Exception):
    """--strict: something that was finished would have to be computed again."""


class PlanEnds(Exception):  # noqa: N818 - not an error: a dry pass has learned all it can
    """A dry pass met a step whose results are not there yet."""


@dataclass(frozen=True)
class Policy:
    """How a run treats what it finds in its folder."""

    dry: bool = False
    strict: bool = False
    accept_code: bool = False
    reuse: Path | None = None


@dataclass
class Execution:
    """Settles tasks in one run folder and keeps count of them."""

    root: Path
    engine: Engine
    policy: Policy
    observer: Observer
    computed: list[str] = field(default_factory=list)
    reused: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    def phase(self, stage: str, step: str, tasks: Sequence[Task]) -> dict[str, Sidecar]:
        """Sidecars of all tasks, by task name; computes what cannot be reused."""
        started = time.monotonic()
        if len({task.name for task in tasks}) != len(tasks):
            raise ValueError(f"{stage} {step}: two tasks have one name; please report this")
        found: dict[str, Sidecar] = {}
        todo: list[tuple[Task, str]] = []
        for task in tasks:
            sidecar, reason = self._settle(task)
            if sidecar is not None:
                found[task.name] = sidecar
            else:
                todo.append((task, reason))
        self.reused += len(found)
        self.observer.planned(stage, step, len(found), [(t.name, reason) for t, reason in todo])
        if todo:
            self._may_compute(todo)
            for done, sidecar in enumerate(self.engine.run([t for t, _ in todo], self.root), 1):
                found[sidecar.name] = sidecar
                self.computed.append(sidecar.name)
                self.observer.progress_made(stage, step, done)
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.monotonic() - started
        return found

    def _may_compute(self, todo: Sequence[tuple[Task, str]]) -> None:
        changed = [f"{task.name}: {reason}" for task, reason in todo if reason != "new"]
        if self.policy.strict and changed:
            more = f" (and {len(changed) - 3} more)" if len(changed) > 3 else ""
            raise StrictError("--strict: this would be computed again: " + "; ".join(changed[:3]) + more)
        if self.policy.dry:
            raise PlanEnds()

    def _settle(self, task: Task) -> tuple[Sidecar | None, str]:
        """The task's sidecar if its results can be reused, else None and why not."""
        old = read_sidecar(self.root, task.name)
        reason = "new"
        if old is not None and old.key == task.key:
            bad = damaged(self.root, old)
            if not bad:
                return old, ""
            reason = f"{bad[0]} is missing or damaged"
        elif old is not None:
            reason = "; ".join(differences(old.parts, task.parts))
            accepted = self._accept(task, old)
            if accepted is not None:
                return accepted, ""
        return self._from_elsewhere(task), reason

    def _accept(self, task: Task, old: Sidecar) -> Sidecar | None:
        """--accept-code: the old result under the new key, if nothing but code changed; recorded for good."""
        same = all(
            old.parts.get(p) == task.parts.get(p)
            for p in old.parts.keys() | task.parts.keys() - CODE_PARTS
            if p not in CODE_PARTS
        )
        if not self.policy.accept_code or not same or damaged(self.root, old):
            return None
        codes = sorted({*old.accepted_code, str(old.parts.get("code"))})
        taken = Sidecar(task.name, task.key, task.parts, old.outputs, old.summary, codes)
        if not self.policy.dry:
            taken.write(self.root)
        return taken

    def _from_elsewhere(self, task: Task) -> Sidecar | None:
        """--reuse RUN: the same key's outputs from another run folder, copied here."""
        if self.policy.reuse is None:
            return None
        other = read_sidecar(self.policy.reuse, task.name)
        if other is None or other.key != task.key or damaged(self.policy.reuse, other):
            return None
        if not self.policy.dry:
            copy_outputs(self.root, self.policy.reuse, other.outputs)
            other.write(self.root)
        return other

    def previous(self, name: str, parts: dict[str, object], besides: str) -> Output | None:
        """The first output of an earlier task of this name that differs in no part but `besides`."""
        old = read_sidecar(self.root, name)
        if old is None or not old.outputs:
            return None
        same = {k: v for k, v in old.parts.items() if k != besides} == {k: v for k, v in parts.items() if k != besides}
        return old.outputs[0] if same else None
