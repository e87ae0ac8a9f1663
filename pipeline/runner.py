"""Drives a run: stage after stage, each as tasks that are reused or computed, each ending with its manifest.

The runner knows the shapes of stage and nothing of any stage. See `pipeline.execution` for what is reused and why.
"""

from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline import manifest as manifests
from pipeline.codehash import code_hash, versions
from pipeline.config import RunConfig
from pipeline.corpus import Shard
from pipeline.engines import Engine
from pipeline.execution import Execution, PlanEnds, Policy
from pipeline.hashing import file_hash
from pipeline.ingesting import ingest
from pipeline.inputs import resolve
from pipeline.lock import run_lock
from pipeline.manifest import Counts
from pipeline.observe import Observer
from pipeline.shapes import close, edit, judge
from pipeline.sources import SourceStage
from pipeline.stage import Closing, Editor, Judge, Stage, StageUse, measuring
from pipeline.storage import publish_json, remove_temporaries
from pipeline.tasks import Sidecar, read_sidecar


class QuarantineLimitError(Exception):
    """More of a source's records were unusable than the config allows."""


@dataclass
class StageContext:
    """What the functions of one shape need: the stage, its resolved params, and the parts every key of it holds."""

    use: StageUse
    params: Any
    hashed: dict[str, Any]  # params as JSON, paths as content hashes
    execution: Execution
    config: RunConfig
    limit: int | None
    shards: list[Shard]
    inputs: list[str]  # hash of the manifest before
    sidecars: list[Sidecar] = field(default_factory=list)
    counts: Counts | None = None
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.use.name

    def parts(self, step: str, *, everything: bool, **more: Any) -> dict[str, Any]:
        """A key's parts: stage, step, settings (all, or those that measures depend on), code, libraries, inputs."""
        settings = self.hashed
        if not everything:
            settings = {k: v for k, v in self.hashed.items() if k in measuring(self.params)}
        libraries = (*self.use.stage.libraries, *self.use.stage.libraries_of(self.params))
        return {
            "stage": self.name,
            "step": step,
            "params": settings,
            "code": code_of(self.use.stage),
            "libraries": versions(libraries),
            **more,
        }

    def phase(self, step: str, tasks: list[Any]) -> dict[str, Sidecar]:
        """Settle a step's tasks and keep their sidecars for the manifest."""
        found = self.execution.phase(self.name, step, tasks)
        self.sidecars += found.values()
        return found


@dataclass(frozen=True)
class Outcome:
    """What a run did: tasks computed (by name) and reused, the hash over all manifests, stages a plan could not see."""

    root: Path
    computed: tuple[str, ...]
    reused: int
    provenance: str | None
    waiting: tuple[str, ...] = ()


def run(
    config: RunConfig,
    root: Path,
    engine: Engine,
    policy: Policy,
    observer: Observer,
    *,
    until: str | None = None,
    limit: int | None = None,
) -> Outcome:
    """Execute (or with `policy.dry` only plan) a config in a run folder.

    Raises RunLockedError, UnreadableFileError, MissingInputError, QuarantineLimitError, StrictError, TaskError.
    """
    execution = Execution(root, engine, policy, observer)
    if policy.dry:
        return _pass(config, execution, until, limit)
    with run_lock(root):
        remove_temporaries(root)
        try:
            return _pass(config, execution, until, limit)
        finally:
            engine.close()
            remove_temporaries(root)  # of workers that were stopped while they wrote


def _pass(config: RunConfig, execution: Execution, until: str | None, limit: int | None) -> Outcome:
    root, policy = execution.root, execution.policy
    hashes: dict[str, str] = {}
    shards: list[Shard] = []
    cache: dict[str, str] = {}
    before = {s["stage"]: s for s in read_run(root).get("stages", [])}

    def hash_of(path: str) -> str:
        return cache[path] if path in cache else cache.setdefault(path, file_hash(path))

    for position, use in enumerate(config.stages):
        execution.observer.stage_started(use.name, position, len(config.stages))
        params, hashed = resolve(use.params, config.base, hash_of)
        context = StageContext(use, params, hashed, execution, config, limit, shards, list(hashes.values())[-1:])
        try:
            shards = _shape(context, hash_of)
        except PlanEnds:
            names = tuple(u.name for u in config.stages[position + 1 :])
            return Outcome(root, (), execution.reused, None, names)
        if not policy.dry:
            hashes[use.name] = _finish(context)
            _write_run(config, execution, limit, position, before)
            _check_quarantine(context)
        if until == use.name:
            break
    provenance = None if policy.dry else manifests.write_provenance(root, hashes)
    return Outcome(root, tuple(execution.computed), execution.reused, provenance)


def _shape(context: StageContext, hash_of: Any) -> list[Shard]:
    stage = context.use.stage
    if issubclass(stage, SourceStage):
        return ingest(context, hash_of)
    if issubclass(stage, Judge):
        return judge(context)
    if issubclass(stage, Editor):
        return edit(context)
    if issubclass(stage, Closing):
        return close(context)
    raise TypeError(f"{context.name}: {stage.__name__} has none of the shapes of a stage")


def code_of(stage: type[Stage]) -> str:
    """Hash of the code that computes a stage's results: its own, and that of the engine's steps."""
    return code_hash((stage.__module__, "pipeline.reading" if issubclass(stage, SourceStage) else "pipeline.steps"))


def kind_of(stage: type) -> str:
    """source | judge | editor | closing"""
    for kind, shape in (("source", SourceStage), ("judge", Judge), ("editor", Editor)):
        if issubclass(stage, shape):
            return kind
    return "closing"


def _finish(context: StageContext) -> str:
    """Write the manifest, then take away files of the stage's folder that no sidecar names any more."""
    root, stage = context.execution.root, context.use.stage
    assert context.counts is not None
    about = {
        "type": stage.name,
        "kind": kind_of(stage),
        "params": context.hashed,
        "code": code_of(stage),
        "libraries": context.parts("", everything=True)["libraries"],
        **context.about,
    }
    written = manifests.write_manifest(root, context.name, about, context.counts, context.sidecars, context.inputs)
    _sweep(root / context.name, root, context.sidecars)
    context.execution.observer.stage_finished(context.name, context.counts.as_json())
    return written


def _sweep(folder: Path, root: Path, sidecars: list[Sidecar]) -> None:
    wanted = {root / f"{s.name}.json" for s in sidecars} | {root / o.path for s in sidecars for o in s.outputs}
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() and path not in wanted and path.name != "manifest.json":
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def _check_quarantine(context: StageContext) -> None:
    if not issubclass(context.use.stage, SourceStage):
        return
    limit = context.config.settings.max_quarantine_share
    root = context.execution.root
    for source in context.about["sources"]:
        unusable, records = source["unusable"], source["records"]
        if records and unusable / records > limit:
            raise QuarantineLimitError(
                f"source {source['source']!r}: {unusable} of {records} records ({unusable / records:.1%}) are unusable "
                f"(in quarantine), more than max_quarantine_share {limit:.1%}, a setting at the top level of the "
                f"config. See them with: curate sql {root} "
                f"\"select file, record, reason, detail from quarantine where source = '{source['source']}'\""
            )


def _write_run(
    config: RunConfig, execution: Execution, limit: int | None, position: int, before: dict[str, Any]
) -> None:
    """run.json: what is not hashed. Seconds of a stage that computed nothing stay those of the run that did."""
    root = execution.root
    stages = []
    for i, use in enumerate(config.stages[: position + 1]):
        computed = sum(1 for name in execution.computed if name.startswith(f"{use.name}/"))
        earlier = before.get(use.name, {})
        seconds = round(execution.seconds.get(use.name, 0.0), 3)
        if not computed and "seconds" in earlier:
            seconds = earlier["seconds"]
        stages.append(
            {
                "position": i,
                "stage": use.name,
                "type": use.stage.name,
                "kind": kind_of(use.stage),
                "seconds": seconds,
                "computed": computed,
            }
        )
    publish_json(
        root / "run.json",
        {
            "name": config.settings.name,
            "config": config.file,
            "base": str(config.base.resolve()),
            "settings": config.settings.model_dump(mode="json"),
            "order": [u.name for u in config.stages],
            "params": {u.name: u.params.model_dump(mode="json") for u in config.stages},
            "stages": stages,
            "limit": limit,
            "machine": {"python": platform.python_version(), "system": platform.platform(), "node": platform.node()},
        },
    )


def read_run(root: Path) -> dict[str, Any]:
    """run.json as it stands, empty where there is none or something else lies under its name."""
    import json

    try:
        data: dict[str, Any] = json.loads((root / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if _is_run(data) else {}


def _is_run(data: Any) -> bool:
    """Has it what `_write_run` writes, as far as others read it?"""
    kinds = {"name": str, "stages": list, "order": list, "params": dict, "settings": dict}
    return (
        isinstance(data, dict)
        and all(isinstance(data.get(key), kind) for key, kind in kinds.items())
        and all(
            isinstance(e, dict) and {"stage", "type", "kind", "position", "seconds"} <= e.keys() for e in data["stages"]
        )
    )


def clean(root: Path) -> list[str]:
    """Take away half-written files and folders of stages that the last run no longer had; returns what went."""
    with run_lock(root):
        gone = [str(p.relative_to(root)) for p in root.rglob(".tmp-*")]
        remove_temporaries(root)
        stages = set(read_run(root).get("params", {}))  # all of its config's, also where a run stopped earlier
        for folder in sorted(p for p in root.iterdir() if p.is_dir()):
            if folder.name not in stages and (folder / "manifest.json").exists():
                shutil.rmtree(folder)
                gone.append(folder.name)
        for stage in sorted(stages):
            found = manifests.read_manifest(root, stage)
            if found is not None:
                sidecars = [s for n in found["tasks"] if (s := read_sidecar(root, n)) is not None]
                before = {p for p in (root / stage).rglob("*") if p.is_file()}
                _sweep(root / stage, root, sidecars)
                gone += sorted(str(p.relative_to(root)) for p in before if not p.exists())
    return gone
