"""Finished runs as deduplication sees them: the settings a stage had, and the texts it was given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.manifest import read_manifest
from pipeline.runner import read_run
from pipeline.storage import read_table
from stages.dedup import earlier
from stages.dedup.indexing import rows
from stages.dedup.minhash import MinHashParams


class NoStageError(Exception):
    """A run that has not what is asked of it: which, and what it has."""


@dataclass(frozen=True)
class Deduplicated:
    """A finished stage of a run: its name, its settings, the stage whose documents it was given, its files."""

    root: Path
    name: str
    params: dict[str, Any]
    generation: str
    outputs: list[str]

    @property
    def measures(self) -> list[Path]:
        """Its tables of measures, in the order of shard names."""
        return [self.root / p for p in sorted(self.outputs) if p.startswith(f"{self.name}/measures/")]


def finished(root: Path, kind: str, name: str | None = None) -> Deduplicated | None:
    """The last finished stage of this type (or the one of this name) in a run."""
    run = read_run(root)
    generation, found = "", None
    for entry in run.get("stages", []):
        manifest = read_manifest(root, entry["stage"])
        if entry["type"] == kind and manifest is not None and name in (None, entry["stage"]):
            outputs = [o["path"] for o in manifest["outputs"]]
            found = Deduplicated(root, entry["stage"], run["params"][entry["stage"]], generation, outputs)
        if entry["kind"] in ("source", "editor"):
            generation = entry["stage"]
    return found


def minhash_of(root: Path, name: str | None = None) -> tuple[Deduplicated, MinHashParams]:
    """The finished stage `minhash` of a run, and its settings. Raises NoStageError."""
    found = finished(root, "minhash", name)
    if found is None:
        listed = ", ".join(entry["stage"] for entry in read_run(root).get("stages", [])) or "no finished stage"
        wanted = "minhash" if name is None else f"{name!r} of type minhash"
        raise NoStageError(f"{root} has no finished stage {wanted}; it has: {listed}")
    return found, MinHashParams.model_validate(found.params)


def write_index(root: Path, out: Path, name: str | None = None) -> dict[str, Any]:
    """Write the index of a run's curated documents; returns what it holds. Raises NoStageError."""
    exact, near = finished(root, "exact_dedup"), finished(root, "minhash", name)
    if near is None and (exact is None or name is not None):
        minhash_of(root, name)
    params = None if near is None else MinHashParams.model_validate(near.params)
    stage = exact or near
    assert stage is not None
    curated = read_manifest(root, "curated")
    if curated is None:
        raise NoStageError(f"{root} has no curated documents yet; finish it with: curate run CONFIG")
    run = str(read_run(root)["name"])
    layout = earlier.schema(
        run, None if params is None else params.signature(), 1 if params is None else params.permutations
    )

    def tables() -> Iterator[pa.Table]:
        for output in curated["outputs"]:
            file = Path(output["path"]).name
            ids = read_table(root / output["path"], ["doc_id"])["doc_id"].combine_chunks()
            seen = _documents(root, stage.generation, file, ids)
            other = seen if near is None else _documents(root, near.generation, file, ids)
            if seen.num_rows != len(ids) or not seen["doc_id"].equals(other["doc_id"]):
                raise NoStageError(
                    f"{root}: documents of {output['path']} are missing; mend it with: curate run CONFIG"
                )
            yield rows(seen, other["text"], params)

    documents = earlier.write(out, layout, tables())
    return {
        "index": str(out),
        "run": run,
        "documents": documents,
        "minhash": None if params is None else params.signature(),
    }


def _documents(root: Path, generation: str, file: str, ids: pa.Array) -> pa.Table:
    table = read_table(root / generation / "documents" / file, ["doc_id", "text"])
    return table.filter(pc.is_in(table["doc_id"], ids))
