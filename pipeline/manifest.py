"""Manifests: what a stage got, did and gave, with hashes, and the one summary hash over all of them.

A manifest holds no times and no machine facts; those are in run.json.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.hashing import json_hash
from pipeline.storage import Output, intact, publish_json, read_table
from pipeline.tasks import Sidecar


class ConservationError(Exception):
    """Counts that do not add up: documents would have appeared or vanished."""


@dataclass
class Counts:
    """A stage's documents and bytes of text: in = kept + Σ dropped by rule + quarantined."""

    documents_in: int
    kept: int
    dropped: dict[str, int] = field(default_factory=dict)
    quarantined: dict[str, int] = field(default_factory=dict)
    bytes_in: int = 0
    bytes_kept: int = 0

    def check(self, stage: str) -> None:
        """Raises ConservationError where the counts do not add up."""
        out = self.kept + sum(self.dropped.values()) + sum(self.quarantined.values())
        if out != self.documents_in:
            raise ConservationError(f"{stage}: {self.documents_in} documents came in, {out} are accounted for")

    def as_json(self) -> dict[str, Any]:
        return {
            "documents_in": self.documents_in,
            "kept": self.kept,
            "dropped": dict(sorted(self.dropped.items())),
            "quarantined": dict(sorted(self.quarantined.items())),
            "bytes_in": self.bytes_in,
            "bytes_kept": self.bytes_kept,
        }


def write_manifest(
    root: Path, stage: str, about: dict[str, Any], counts: Counts, sidecars: list[Sidecar], inputs: list[str]
) -> str:
    """Gather a stage's sidecars into `stage/manifest.json`; returns the manifest's hash."""
    counts.check(stage)
    ordered = sorted(sidecars, key=lambda s: s.name)
    manifest = about | {
        "stage": stage,
        "inputs": inputs,
        "counts": counts.as_json(),
        "tasks": {s.name: s.key for s in ordered},
        "outputs": [o.as_json() for s in ordered for o in s.outputs],
        "summaries": {s.name: s.summary for s in ordered if s.summary},
        "accepted_code": sorted({code for s in ordered for code in s.accepted_code}),
    }
    publish_json(root / stage / "manifest.json", manifest)
    return json_hash(manifest)


def read_manifest(root: Path, stage: str) -> dict[str, Any] | None:
    """A stage's manifest, or None where it has none yet."""
    try:
        data: dict[str, Any] = json.loads((root / stage / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    whole = isinstance(data, dict) and {"stage", "tasks", "outputs", "counts", "summaries", "kind"} <= data.keys()
    return data if whole else None


def write_provenance(root: Path, hashes: dict[str, str]) -> str:
    """The summary over all manifests, in stage order; returns its hash."""
    listed = [{"stage": stage, "manifest": manifest} for stage, manifest in hashes.items()]
    summary = json_hash(listed)
    publish_json(root / "provenance.json", {"provenance": summary, "manifests": listed})
    return summary


def unfinished(root: Path) -> bool:
    """Was a run stopped before its last stage? Then it has no provenance.json yet, and only manifests to be held to."""
    try:
        run = json.loads((root / "run.json").read_text(encoding="utf-8"))
        missing = run["params"].keys() - {entry["stage"] for entry in run["stages"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return bool(missing) and not (root / "provenance.json").exists()


def verify(root: Path, deep: bool = False) -> list[str]:
    """Faults of a run folder: files that are missing or altered, manifests that do not fit the summary hash.

    `deep` also reads every table and compares what it says with its content hash.
    """
    from pipeline.hashing import table_hash

    faults = []
    try:
        provenance = json.loads((root / "provenance.json").read_text(encoding="utf-8"))
        if json_hash(provenance["manifests"]) != provenance["provenance"]:
            faults.append("provenance.json: the summary hash does not fit the manifests it lists")
        listed = [(m["stage"], m["manifest"]) for m in provenance["manifests"]]
    except FileNotFoundError as error:
        if not unfinished(root):
            return [f"provenance.json cannot be read: {error}"]
        listed = [(path.parent.name, None) for path in sorted(root.glob("*/manifest.json"))]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return [f"provenance.json cannot be read: {error}"]
    for stage, expected in listed:
        manifest = read_manifest(root, stage)
        if manifest is None:
            faults.append(f"{stage}/manifest.json is missing or no JSON")
            continue
        if expected is not None and json_hash(manifest) != expected:
            faults.append(f"{stage}/manifest.json is not the one that provenance.json names")
        for output in (Output(**o) for o in manifest["outputs"]):
            if not intact(root, output):
                faults.append(f"{output.path} is missing or its bytes have changed")
            elif deep and output.rows and table_hash(read_table(root / output.path)) != output.content_hash:
                faults.append(f"{output.path}: its content is not what its hash says")
    return faults
