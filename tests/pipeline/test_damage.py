"""What was published and is no longer as it was is computed again: that, and nothing that reads equal content."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from toys import Project, Watching, files, small, whole

from pipeline.execution import Policy, StrictError
from pipeline.manifest import verify
from pipeline.storage import read_table


def flip(path: Path) -> None:
    """One byte in the middle, in place: every name of the file sees it."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    with path.open("rb+") as f:
        f.write(data)


def cut(path: Path) -> None:
    """The end is gone; the file is a new one, another name of the old one keeps its bytes."""
    data = path.read_bytes()[:-20]
    path.unlink()
    path.write_bytes(data)


HURTS: dict[str, Callable[[Path], None]] = {"flip": flip, "cut": cut, "remove": Path.unlink}


@pytest.fixture
def run(tmp_path: Path) -> tuple[Project, dict[str, bytes]]:
    project = small(tmp_path)
    project.run()
    return project, files(tmp_path / "run")


@pytest.mark.parametrize("how", sorted(HURTS))
@pytest.mark.parametrize("step", ["words/measures", "words/verdicts", "vowels/measures", "redact/documents", "curated"])
def test_a_damaged_output_is_computed_again_and_only_it(
    run: tuple[Project, dict[str, bytes]], step: str, how: str
) -> None:
    project, before = run
    name = f"{step}/{project.shards()[2]}"
    HURTS[how](project.folder / "run" / f"{name}.parquet")
    seen = Watching()
    assert project.run(observer=seen).computed == (name,)
    assert seen.reasons == {name: f"{name}.parquet is missing or damaged"}
    assert files(project.folder / "run") == before


@pytest.mark.parametrize("step", ["words/measures", "words/verdicts", "vowels/verdicts", "redact/documents", "curated"])
def test_an_output_without_its_sidecar_does_not_exist(run: tuple[Project, dict[str, bytes]], step: str) -> None:
    project, before = run
    name = f"{step}/{project.shards()[2]}"
    (project.folder / "run" / f"{name}.json").unlink()
    assert project.run().computed == (name,)
    assert files(project.folder / "run") == before


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"key": 1, "outputs": 5}', "\ud800"])
def test_a_sidecar_that_cannot_be_read_does_not_exist(run: tuple[Project, dict[str, bytes]], text: str) -> None:
    project, before = run
    name = f"words/verdicts/{project.shards()[0]}"
    (project.folder / "run" / f"{name}.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert project.run().computed == (name,)
    assert files(project.folder / "run") == before


def test_a_lost_edits_table_is_computed_again_with_its_shard(run: tuple[Project, dict[str, bytes]]) -> None:
    project, before = run
    shard = project.shards()[1]
    (project.folder / "run" / "redact" / "edits" / f"{shard}.parquet").unlink()
    assert project.run().computed == (f"redact/documents/{shard}",)
    assert files(project.folder / "run") == before


def test_a_damaged_documents_shard_is_made_again_from_what_was_read(run: tuple[Project, dict[str, bytes]]) -> None:
    project, before = run
    shard = project.shards()[0]
    cut(project.folder / "run" / "ingest" / "documents" / f"{shard}.parquet")
    assert project.run().computed == (f"ingest/documents/{shard}",)
    assert files(project.folder / "run") == before


def test_bytes_flipped_under_both_names_of_a_shard_read_its_input_again(run: tuple[Project, dict[str, bytes]]) -> None:
    project, before = run
    shard = project.shards()[0]
    flip(project.folder / "run" / "ingest" / "documents" / f"{shard}.parquet")
    part = shard.rpartition("-")[0]
    assert set(project.run().computed) <= {f"ingest/documents/{shard}", f"ingest/read/{part}"}
    assert files(project.folder / "run") == before


@pytest.mark.parametrize("stage", ["ingest", "words", "redact", "curated"])
def test_a_lost_manifest_is_gathered_again_without_computing(run: tuple[Project, dict[str, bytes]], stage: str) -> None:
    project, before = run
    (project.folder / "run" / stage / "manifest.json").unlink()
    (project.folder / "run" / "provenance.json").write_text("{")
    assert project.run().computed == ()
    assert files(project.folder / "run") == before


def test_a_lost_fitted_state_is_fitted_again_and_nothing_else(tmp_path: Path) -> None:
    project = whole(tmp_path)
    project.run()
    before = files(tmp_path / "run")
    (tmp_path / "run" / "typical" / "state.parquet").unlink()
    assert project.run().computed == ("typical/state",)
    assert files(tmp_path / "run") == before


def test_strict_does_not_repair_by_stealth(run: tuple[Project, dict[str, bytes]]) -> None:
    project, _ = run
    name = f"words/verdicts/{project.shards()[0]}"
    (project.folder / "run" / f"{name}.parquet").unlink()
    with pytest.raises(StrictError, match=r"is missing or damaged"):
        project.run(policy=Policy(strict=True))


def test_earlier_measures_that_are_damaged_are_never_taken_over(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run(overrides=["words.min_words=10"])
    for path in (tmp_path / "run" / "vowels" / "measures").glob("*.parquet"):
        flip(path)
    project.run(overrides=["words.min_words=8"])
    project.run("fresh", overrides=["words.min_words=8"])
    assert files(tmp_path / "run") == files(tmp_path / "fresh")


def test_verify_finds_nothing_in_an_intact_run_and_names_every_damage(run: tuple[Project, dict[str, bytes]]) -> None:
    project, _ = run
    root = project.folder / "run"
    assert verify(root) == [] and verify(root, deep=True) == []
    shard = project.shards()[0]
    cut(root / "words" / "measures" / f"{shard}.parquet")
    assert verify(root) == [f"words/measures/{shard}.parquet is missing or its bytes have changed"]
    (root / "redact" / "manifest.json").unlink()
    manifest = json.loads((root / "curated" / "manifest.json").read_text())
    (root / "curated" / "manifest.json").write_text(json.dumps(manifest | {"counts": {}}))
    assert set(verify(root)) == {
        f"words/measures/{shard}.parquet is missing or its bytes have changed",
        "redact/manifest.json is missing or no JSON",
        "curated/manifest.json is not the one that provenance.json names",
    }
    (root / "provenance.json").unlink()
    assert verify(root)[0].startswith("provenance.json cannot be read")


def test_deep_verification_sees_content_that_its_hash_does_not_say(run: tuple[Project, dict[str, bytes]]) -> None:
    """A forger who also rewrites every byte hash is found by the content hash."""
    from pipeline.hashing import file_hash, json_hash
    from pipeline.storage import publish_table

    project, _ = run
    root = project.folder / "run"
    name = f"curated/{project.shards()[0]}.parquet"
    table = read_table(root / name)
    publish_table(root, name, table.slice(1))
    path = root / "curated" / "manifest.json"
    manifest = json.loads(path.read_text())
    entry = next(o for o in manifest["outputs"] if o["path"] == name)
    entry |= {"byte_hash": file_hash(root / name), "size": (root / name).stat().st_size}
    path.write_text(json.dumps(manifest))
    provenance = json.loads((root / "provenance.json").read_text())
    provenance["manifests"][-1]["manifest"] = json_hash(manifest)
    provenance["provenance"] = json_hash(provenance["manifests"])
    (root / "provenance.json").write_text(json.dumps(provenance))
    assert verify(root) == []
    assert verify(root, deep=True) == [f"{name}: its content is not what its hash says"]


def test_a_summary_hash_that_does_not_fit_is_found(run: tuple[Project, dict[str, bytes]]) -> None:
    project, _ = run
    path = project.folder / "run" / "provenance.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"provenance": "0" * 32}))
    assert verify(project.folder / "run") == ["provenance.json: the summary hash does not fit the manifests it lists"]
