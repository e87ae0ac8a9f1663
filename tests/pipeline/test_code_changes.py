"""A change of code or of a library computes its stage again, unless it is accepted; then it is on record (RES-04)."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest
from toys import PLAIN, VOWELS, Project, Watching, small

from pipeline import codehash
from pipeline.codehash import code_hash
from pipeline.execution import Policy
from pipeline.manifest import read_manifest


def test_a_changed_library_version_computes_again_the_stages_that_declare_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = small(tmp_path)
    project.run()
    monkeypatch.setattr(
        codehash, "_version", lambda name: "99.0" if name == "numpy" else importlib.metadata.version(name)
    )
    seen = Watching()
    outcome = project.run(observer=seen)
    assert set(outcome.computed) == project.tasks("words/measures", "words/verdicts")
    assert all(r.startswith("library numpy: ") and r.endswith('→ "99.0"') for r in seen.reasons.values())


OWN = '''
"""A judge in a file of its own."""
from toy_stages import Words


class Own(Words):
    name = "own"

    @staticmethod
    def decide(measures, state, params):
        return Words.decide(measures, state, params)
'''


@pytest.fixture
def own(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Project, Path]:
    """A project whose judge is a file of its own; Python imports it once, the engine reads it at each run."""
    module = f"own_{abs(hash(request.node.name))}"
    project = small(tmp_path, [PLAIN[0], f"{module}:Own", VOWELS])
    path = project.write(f"{module}.py", OWN)
    code_hash.cache_clear()
    project.run()
    return project, path


def edit(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))
    code_hash.cache_clear()


def test_an_edited_comment_computes_nothing(own: tuple[Project, Path]) -> None:
    project, path = own
    edit(path, '"""A judge in a file of its own."""', "# what a judge")
    assert project.run().computed == ()


def test_edited_code_computes_its_stage_again_and_says_so(own: tuple[Project, Path]) -> None:
    project, path = own
    edit(path, "return Words", "state = None\n        return Words")
    seen = Watching()
    assert set(project.run(observer=seen).computed) == project.tasks("own/measures", "own/verdicts")
    assert set(seen.reasons.values()) == {"code changed"}


def test_accepted_code_is_reused_and_recorded_for_good(own: tuple[Project, Path]) -> None:
    project, path = own
    old = code_hash((path.stem, "pipeline.steps"))
    edit(path, "return Words", "state = None\n        return Words")
    outcome = project.run(policy=Policy(accept_code=True))
    assert outcome.computed == ()
    for _ in range(2):  # also after a run without the flag
        manifest = read_manifest(project.folder / "run", "own")
        assert manifest is not None and manifest["accepted_code"] == [old]
        assert project.run().computed == ()
    project.run("fresh")
    fresh = read_manifest(project.folder / "fresh", "own")
    assert fresh is not None and fresh["accepted_code"] == []


def test_accept_code_accepts_nothing_but_code(own: tuple[Project, Path]) -> None:
    project, path = own
    edit(path, "return Words", "state = None\n        return Words")
    outcome = project.run(overrides=["own.reader.depth=9"], policy=Policy(accept_code=True))
    assert set(outcome.computed) == project.tasks("own/measures", "own/verdicts")
