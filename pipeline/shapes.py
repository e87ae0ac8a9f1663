"""The shapes of stage as tasks: which keys they have, which files they give, and what is kept after them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pipeline import steps
from pipeline.corpus import Measured, Shard
from pipeline.manifest import Counts
from pipeline.stage import Judge, Stage
from pipeline.steps import Need, StateInput
from pipeline.storage import folder_hash, read_table
from pipeline.tasks import Sidecar, Task

if TYPE_CHECKING:
    from pipeline.runner import StageContext


def judge(context: StageContext) -> list[Shard]:
    """[prepare] → measure each shard → [fit] → decide each shard."""
    artefact = _prepare(context)
    measures = _measure(context, artefact)
    states = _fit(context, measures)
    tasks = []
    for shard in context.shards:
        source = measures[shard.name].outputs[0]
        name = f"{context.name}/verdicts/{shard.name}"
        state = states[shard.name]
        parts = context.parts("decide", everything=True, measures=source.content_hash, state=state.content_hash)
        tasks.append(
            Task(
                name,
                parts,
                steps.decide,
                {
                    "stage": context.use.stage,
                    "params": context.params,
                    "measures": source.path,
                    "source": shard.source,
                    "state": state.given,
                    "output": f"{name}.parquet",
                },
            )
        )
    found = context.phase("decide", tasks)
    verdicts = {shard.name: found[f"{context.name}/verdicts/{shard.name}"].outputs[0].path for shard in context.shards}
    for shard in context.shards:
        output = measures[shard.name].outputs[0]
        shard.measures[context.use.stage.name] = Measured(output.path, output.content_hash)
    context.counts = _apply(context, verdicts)
    return context.shards


def edit(context: StageContext) -> list[Shard]:
    """[prepare] → [survey each shard → fit] → edit each shard: a new generation of documents."""
    artefact = _prepare(context)
    states = _fit(context, _survey(context, artefact))
    tasks = []
    for shard in context.shards:
        folders = ("documents", "edits", "verdicts")
        names = [f"{context.name}/{folder}/{shard.name}" for folder in folders]
        needs, needed = _needs(context.use.stage, shard)
        parts = context.parts(
            "edit",
            everything=True,
            documents=shard.content_hash,
            survivors=shard.survivors(),
            artefact=_content(artefact),
            needs=needed,
            **({"state": states[shard.name].content_hash} if context.use.stage.fits else {}),
        )
        tasks.append(
            Task(
                names[0],
                parts,
                steps.edit,
                {
                    "stage": context.use.stage,
                    "params": context.params,
                    "artefact": _folder(context, artefact),
                    "state": states[shard.name].given,
                    "shard": shard.given(needs, everyone=False),
                    "outputs": tuple(f"{name}.parquet" for name in names),
                },
            )
        )
    found = context.phase("edit", tasks)
    counts = _apply(
        context, {s.name: found[f"{context.name}/documents/{s.name}"].outputs[2].path for s in context.shards}
    )
    edited = [_next_generation(context, shard, found) for shard in context.shards]
    context.counts = replace(counts, bytes_kept=_totals(edited)[1])
    return edited


def close(context: StageContext) -> list[Shard]:
    """A table for each shard of kept documents → [finish]."""
    stage: Any = context.use.stage
    folder = f"{context.name}/{stage.folder}".rstrip("/")
    tasks = []
    for shard in context.shards:
        needs, needed = _needs(stage, shard)
        parts = context.parts(
            "each", everything=False, documents=shard.content_hash, survivors=shard.survivors(), needs=needed
        )
        arguments = {
            "stage": stage,
            "params": context.params,
            "shard": shard.given(needs, everyone=False),
            "output": f"{folder}/{shard.name}.parquet",
        }
        tasks.append(Task(f"{folder}/{shard.name}", parts, steps.each, arguments))
    found = context.phase("each", tasks)
    kept, size = _totals(context.shards)
    dropped: Counter[str] = Counter()
    for sidecar in found.values():
        dropped.update(sidecar.summary.get("dropped", {}))
    context.counts = Counts(kept, kept - sum(dropped.values()), dict(dropped), {}, size, size)
    outputs = {s.name: found[f"{folder}/{s.name}"].outputs[0] for s in context.shards}
    if stage.finishes:
        inputs = [outputs[s.name] for s in context.shards]
        parts = context.parts("finish", everything=True, inputs=[o.content_hash for o in inputs])
        arguments = {
            "stage": stage,
            "params": context.params,
            "parts": tuple(o.path for o in inputs),
            "folder": context.name,
            "memory": context.config.settings.memory,
        }
        context.phase("finish", [Task(f"{context.name}/finished", parts, steps.finish, arguments)])
    return [
        Shard(
            s.name,
            s.source,
            outputs[s.name].path,
            outputs[s.name].content_hash,
            np.ones(outputs[s.name].rows, bool),
            s.sizes[s.alive][: outputs[s.name].rows],
        )
        for s in context.shards
    ]


def _prepare(context: StageContext) -> Sidecar | None:
    if not context.use.stage.prepares:
        return None
    name = f"{context.name}/artefact"
    parts = context.parts("prepare", everything=False)
    arguments = {"stage": context.use.stage, "params": context.params, "folder": name}
    return context.phase("prepare", [Task(name, parts, steps.prepare, arguments)])[name]


def _measure(context: StageContext, artefact: Sidecar | None) -> dict[str, Sidecar]:
    stage = context.use.stage
    assert issubclass(stage, Judge)
    everyone = stage.scope == "all"
    tasks = []
    for shard in context.shards:
        name = f"{context.name}/measures/{shard.name}"
        needs, needed = _needs(stage, shard)
        parts = context.parts(
            "measure",
            everything=False,
            documents=shard.content_hash,
            artefact=_content(artefact),
            needs=needed,
            survivors="all" if everyone else shard.survivors(),
        )
        tasks.append(
            Task(
                name,
                parts,
                steps.measure,
                {
                    "stage": stage,
                    "params": context.params,
                    "artefact": _folder(context, artefact),
                    "shard": shard.given(needs, everyone),
                    "previous": context.execution.previous(name, parts, "survivors"),
                    "output": f"{name}.parquet",
                },
            )
        )
    found = context.phase("measure", tasks)
    return {shard.name: found[f"{context.name}/measures/{shard.name}"] for shard in context.shards}


def _survey(context: StageContext, artefact: Sidecar | None) -> dict[str, Sidecar]:
    stage = context.use.stage
    if not stage.fits:
        return {}
    tasks = []
    for shard in context.shards:
        name = f"{context.name}/surveys/{shard.name}"
        needs, needed = _needs(stage, shard)
        parts = context.parts(
            "survey",
            everything=False,
            documents=shard.content_hash,
            survivors=shard.survivors(),
            artefact=_content(artefact),
            needs=needed,
        )
        arguments = {
            "stage": stage,
            "params": context.params,
            "artefact": _folder(context, artefact),
            "shard": shard.given(needs, everyone=False),
            "output": f"{name}.parquet",
        }
        tasks.append(Task(name, parts, steps.survey, arguments))
    found = context.phase("survey", tasks)
    return {shard.name: found[f"{context.name}/surveys/{shard.name}"] for shard in context.shards}


@dataclass(frozen=True)
class _State:
    """What a shard's step is given of the fitted state, and the hash that its key holds."""

    given: StateInput | None = None
    content_hash: str | None = None


def _fit(context: StageContext, gathered: dict[str, Sidecar]) -> dict[str, _State]:
    """Fit from each shard's measures or survey; the state of each shard, or nothing where the stage fits nothing."""
    stage, names = context.use.stage, [s.name for s in context.shards]
    if not stage.fits:
        return dict.fromkeys(names, _State())
    order = context.config.source_order()
    name = f"{context.name}/state"
    found = "measures" if issubclass(stage, Judge) else "surveys"
    parts = context.parts(
        "fit",
        everything=True,
        documents=[s.content_hash for s in context.shards],
        **{found: [gathered[n].outputs[0].content_hash for n in names]},
        sources=list(order) if stage.orders_sources else None,
    )
    arguments = {
        "stage": stage,
        "params": context.params,
        "shards": tuple((s.source, s.path, gathered[s.name].outputs[0].path) for s in context.shards),
        "sources": order,
        "memory": context.config.settings.memory,
        "output": f"{name}.parquet",
    }
    sidecar = context.phase("fit", [Task(name, parts, steps.fit, arguments)])[name]
    context.about["fitted"] = {k: v for k, v in sidecar.summary.items() if k != "slices"}
    output = sidecar.outputs[0]
    if not stage.state_by_document:
        return dict.fromkeys(names, _State(StateInput(output.path), output.content_hash))
    return {
        n: _State(StateInput(output.path, (first, count)), content)
        for n, (first, count, content) in zip(names, sidecar.summary["slices"], strict=True)
    }


def _needs(stage: type[Stage], shard: Shard) -> tuple[tuple[Need, ...], dict[str, str | None]]:
    """The columns of earlier judges that a stage asks for, and their content hashes for the key."""
    needs = []
    hashes: dict[str, str | None] = {}
    for column, wanted in sorted(stage.needs.items()):
        judge_name, measure = wanted.split(".")
        given = shard.measures.get(judge_name)
        needs.append(Need(column, None if given is None else given.path, measure))
        hashes[column] = None if given is None else given.content_hash
    return tuple(needs), hashes


def _apply(context: StageContext, verdicts: dict[str, str]) -> Counts:
    """Take dropped documents out of what is kept, and count them by rule."""
    documents_in, bytes_in = _totals(context.shards)
    dropped: Counter[str] = Counter()
    for shard in context.shards:
        table = read_table(context.execution.root / verdicts[shard.name], ["keep", "rule"])
        keep = table["keep"]
        drops: npt.NDArray[np.bool_] = np.array([k is False for k in keep.to_pylist()], bool) & shard.alive
        dropped.update(table["rule"].filter(_mask(drops)).to_pylist())
        shard.alive = shard.alive & ~drops
    kept, bytes_kept = _totals(context.shards)
    return Counts(documents_in, kept, dict(dropped), {}, bytes_in, bytes_kept)


def _next_generation(context: StageContext, shard: Shard, found: dict[str, Sidecar]) -> Shard:
    output = found[f"{context.name}/documents/{shard.name}"].outputs[0]
    sizes = read_table(context.execution.root / output.path, ["bytes"])["bytes"].to_numpy()
    return Shard(
        shard.name,
        shard.source,
        output.path,
        output.content_hash,
        np.ones(output.rows, bool),
        sizes,
        dict(shard.measures),
    )


def _totals(shards: list[Shard]) -> tuple[int, int]:
    kept = [s.kept() for s in shards]
    return sum(k for k, _ in kept), sum(b for _, b in kept)


def _mask(rows: npt.NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    return pa.array(rows)


def _content(sidecar: Sidecar | None) -> str | None:
    if sidecar is None:
        return None
    return folder_hash(sidecar.outputs) if len(sidecar.outputs) != 1 else sidecar.outputs[0].content_hash


def _folder(context: StageContext, artefact: Sidecar | None) -> str | None:
    return None if artefact is None else f"{context.name}/artefact"
