"""The source stage as tasks: read the files, number equal records across the files of a source, publish documents.

A folder of many small files is read in bundles, runs of neighbours in the order of labels: a task and a shard for each
file would cost more than the reading. Where a bundle ends follows from the labels and sizes of its files, so that one
file more changes one bundle.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from pipeline import reading
from pipeline.corpus import Shard
from pipeline.inputs import InputFile, source_files
from pipeline.manifest import Counts
from pipeline.sources import Source, SourceStage
from pipeline.stage import measuring
from pipeline.storage import Output, read_table
from pipeline.tasks import Sidecar, Task

if TYPE_CHECKING:
    from pipeline.runner import StageContext


FEW_FILES: Final = 8
"""A source of no more files has a shard, or several, of each."""

SMALL_FILE: Final = 1 << 20
"""Bytes from which on a file is no part of a bundle."""

BUNDLE_FILES: Final = (64, 1024)
"""Files from which on a bundle may end, and files of the largest."""

BUNDLE_BYTES: Final = (2 << 20, 16 << 20)
"""The same in bytes. Between the bounds the hash of a label says where it ends: after 256 files or 4 MB on average."""


@dataclass(frozen=True)
class _Input:
    """What one task reads: a file, or a bundle of small ones."""

    source: Source
    files: tuple[InputFile, ...]
    part: str


def ingest(context: StageContext, hash_of: Callable[[str], str]) -> list[Shard]:
    """Documents and quarantine of all sources; shards in the order of their names."""
    inputs = [
        _Input(source, files, _part(source, files[0]))
        for source in context.config.settings.sources
        for files in bundles(source_files(source.path, context.config.base))
    ]
    read = _read(context, inputs, hash_of)
    renumbered = _number(context, inputs, read)
    shards = _publish(context, inputs, read, renumbered)
    _count(context, inputs, read, shards)
    return sorted(shards, key=lambda s: s.name)


def bundles(files: Sequence[InputFile]) -> Iterator[tuple[InputFile, ...]]:
    """The files of one source, in their order, as the tasks read them."""
    few = len(files) <= FEW_FILES
    (least, most), (least_bytes, most_bytes) = BUNDLE_FILES, BUNDLE_BYTES
    open_: list[InputFile] = []
    size = 0
    for file in files:
        if few or file.size is None or file.size >= SMALL_FILE:
            if open_:
                yield tuple(open_)
            yield (file,)
            open_, size = [], 0
            continue
        open_.append(file)
        size += file.size
        chance = int.from_bytes(hashlib.blake2b(file.label.encode(), digest_size=4).digest()) / (1 << 32)
        ends = chance < max(1 / 256, file.size / (2 * least_bytes))
        if size >= most_bytes or len(open_) >= most or (ends and (len(open_) >= least or size >= least_bytes)):
            yield tuple(open_)
            open_, size = [], 0
    if open_:
        yield tuple(open_)


def _part(source: Source, file: InputFile) -> str:
    """Name of the shards of a file, or of the bundle that begins with it: from source and label, not a position."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", file.label)[-40:].strip("-.")
    digest = hashlib.blake2b(f"{source.name}\0{file.label}".encode(), digest_size=8).hexdigest()
    return f"part-{source.name}-{slug}-{digest}"


def _quota(context: StageContext) -> int | None:
    """Documents that a trial takes from each source."""
    if context.limit is None:
        return None
    return -(-context.limit // len(context.config.settings.sources))


def _read(context: StageContext, inputs: list[_Input], hash_of: Callable[[str], str]) -> dict[str, Sidecar]:
    tasks = []
    for one in inputs:
        parts = context.parts(
            "read",
            everything=True,
            input=[hash_of(file.location) for file in one.files],
            label=[file.label for file in one.files],
            source=measuring(one.source),
            limit=_quota(context),
        )
        arguments = {
            "stage": context.use.stage,
            "params": context.params,
            "source": one.source,
            "files": tuple((file.location, hash_of(file.location), file.label) for file in one.files),
            "folder": context.name,
            "part": one.part,
            "limit": _quota(context),
        }
        tasks.append(Task(f"{context.name}/read/{one.part}", parts, reading.read_files, arguments))
    found = context.phase("read", tasks)
    return {one.part: found[f"{context.name}/read/{one.part}"] for one in inputs}


def _number(context: StageContext, inputs: list[_Input], read: dict[str, Sidecar]) -> dict[str, dict[int, str]]:
    """By shard: rows whose doc_id changes since an earlier file of the source has an equal record."""
    tasks = []
    for source in context.config.settings.sources:
        mine = [read[one.part].outputs[-1] for one in inputs if one.source.name == source.name]
        if len(mine) > 1:
            name = f"{context.name}/numbers/{source.name}"
            parts = context.parts("number", everything=True, identities=[o.content_hash for o in mine])
            arguments = {
                "identities": tuple(o.path for o in mine),
                "memory": context.config.settings.memory,
                "output": f"{name}.parquet",
            }
            tasks.append(Task(name, parts, reading.number_records, arguments))
    renumbered: dict[str, dict[int, str]] = {}
    for sidecar in context.phase("number", tasks).values():
        for row in read_table(context.execution.root / sidecar.outputs[0].path).to_pylist():
            renumbered.setdefault(row["shard"], {})[row["row"]] = row["doc_id"]
    return renumbered


def _publish(
    context: StageContext, inputs: list[_Input], read: dict[str, Sidecar], renumbered: dict[str, dict[int, str]]
) -> list[Shard]:
    tasks = []
    sources: dict[str, str] = {}
    left = {source.name: _quota(context) for source in context.config.settings.sources}
    for one in inputs:
        summary, outputs = read[one.part].summary, read[one.part].outputs
        for shard, output in zip(summary["shards"], outputs, strict=False):
            rows, left[one.source.name] = _take(output, left[one.source.name])
            ids = {row: i for row, i in renumbered.get(shard, {}).items() if row < rows}
            name = f"{context.name}/documents/{shard}"
            parts = context.parts(
                "publish",
                everything=True,
                read=output.content_hash,
                file=output.byte_hash,  # line numbers, which no content hash covers, are to be right as well
                rows=rows,
                renumbered=[[row, ids[row]] for row in sorted(ids)],
            )
            arguments: dict[str, Any] = {"read": output, "rows": rows, "ids": ids, "output": f"{name}.parquet"}
            tasks.append(Task(name, parts, reading.publish_documents, arguments))
            sources[shard] = one.source.name
    found = context.phase("publish", tasks)
    shards = []
    for shard, source in sources.items():
        output = found[f"{context.name}/documents/{shard}"].outputs[0]
        sizes = read_table(context.execution.root / output.path, ["bytes"])["bytes"].to_numpy()
        shards.append(Shard(shard, source, output.path, output.content_hash, np.ones(output.rows, bool), sizes))
    return shards


def _take(output: Output, left: int | None) -> tuple[int, int | None]:
    """Rows of a shard that a trial takes, and what is left of the source's quota."""
    if left is None:
        return output.rows, None
    rows = min(output.rows, left)
    return rows, left - rows


def _summed(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items()))


def _count(context: StageContext, inputs: list[_Input], read: dict[str, Sidecar], shards: list[Shard]) -> None:
    """The manifest's counts, and for each source its files, records and documents."""
    listed = []
    reasons: dict[str, int] = {}
    expected = cast(type[SourceStage], context.use.stage).expected
    for source in context.config.settings.sources:
        own = [one for one in inputs if one.source.name == source.name]
        summaries = [read[one.part].summary for one in own]
        mine = [s.kept() for s in shards if s.source == source.name]
        found = _summed(s["quarantined"] for s in summaries)
        quarantined = sum(found.values())
        reasons = _summed([reasons, found])
        documents = sum(d for d, _ in mine)
        listed.append(
            {
                "source": source.name,
                **{k: getattr(source, k) for k in ("version", "license", "attribution", "redistribution", "weight")},
                "files": sum(len(one.files) for one in own),
                "records": documents + quarantined,
                "documents": documents,
                "quarantined": quarantined,
                "unusable": sum(n for reason, n in found.items() if reason not in expected),
                "ignored": _summed(s["ignored"] for s in summaries),
                "blank": sum(s["blank"] for s in summaries),
                "bytes": sum(b for _, b in mine),
            }
        )
    kept, size = sum(s["documents"] for s in listed), sum(s["bytes"] for s in listed)
    context.counts = Counts(kept + sum(reasons.values()), kept, {}, reasons, size, size)
    context.about["sources"] = listed
