"""RES-04: what a result depends on is in its key: normalisers, Unicode tables, hash families, models, tokens."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from toys import PLAIN, Project, Watching, environment, small, texts

from pipeline import codehash
from pipeline.codehash import code_hash
from pipeline.runner import code_of
from stages.registry import registry

PROBE = (
    "from pipeline.runner import code_of; from stages.registry import registry; print(code_of(registry().find({!r})))"
)


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Path]]:
    """Modules by name that the engine finds at another place; a data file beside a module moves with it."""
    moved: dict[str, Path] = {}
    real = codehash._file_of
    monkeypatch.setattr(codehash, "_file_of", lambda name: moved.get(name) or real(name))
    yield moved
    code_hash.cache_clear()


def moved(folder: Path, module: str, data: str | None) -> Path:
    """A copy of a module with one more statement, or of the module with a byte changed in a data file beside it."""
    source = codehash._file_of(module)
    assert source is not None
    (folder / source.name).write_bytes(source.read_bytes() + (b"" if data else b"EDITED = 1\n"))
    for path in source.parent.glob("*.npz"):
        content = path.read_bytes()
        (folder / path.name).write_bytes(content[:-1] + b"\xff" if path.name == data else content)
    return folder / source.name


@pytest.mark.parametrize(
    ("stage", "module", "data"),
    [
        pytest.param("minhash", "kernels.normaliser", None, id="shingle normaliser version"),
        pytest.param("minhash", "kernels.normaliser", "normaliser.npz", id="Unicode data of shingles"),
        pytest.param("gopher", "kernels.word_tables", "word_classes.npz", id="Unicode data of words"),
        pytest.param("tokenizer", "kernels.unicode_tables", "unicode_classes.npz", id="Unicode data of patterns"),
        pytest.param("minhash", "kernels.minhash", None, id="hash family"),
    ],
)
def test_an_edited_dependency_changes_the_key_of_its_stage_alone(
    tmp_path: Path, edited: dict[str, Path], stage: str, module: str, data: str | None
) -> None:
    found = registry().find
    before = code_of(found(stage)), code_of(found("license"))
    edited[module] = moved(tmp_path, module, data)
    code_hash.cache_clear()
    assert code_of(found(stage)) != before[0]
    assert code_of(found("license")) == before[1]


@pytest.mark.parametrize("stage", ["minhash", "perplexity", "tokenizer"])
def test_two_processes_have_the_same_key_whatever_their_hash_seed(stage: str) -> None:
    program = PROBE.format(stage)
    seen = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=environment(PYTHONHASHSEED=seed),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    ]
    assert seen[0] == seen[1] == f"{code_of(registry().find(stage))}\n"


def test_another_model_file_scores_again_and_so_do_the_stages_behind(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("inputs/notes.jsonl", texts(0, 40))
    project.write("reference/en.jsonl", texts(200, 60))
    trains = {"reference": [{"path": "reference/*.jsonl", "language": "en"}], "min_tokens": 3}
    project.config([PLAIN[0], {"perplexity": trains}])
    project.run("trained")
    model = (tmp_path / "trained" / "perplexity" / "artefact" / "en.arpa").read_text()
    path = project.write("models/own.arpa", model)
    given = {"models": [{"path": "models/own.arpa", "language": "en", "normaliser": "standard"}], "min_tokens": 3}
    project.config([PLAIN[0], {"perplexity": given}])
    project.run()
    number = next(line for line in model.splitlines() if line.startswith("-"))
    path.write_text(model.replace(number, "-0.5" + number[number.index("\t") :], 1))
    outcome = project.run()
    assert project.tasks("perplexity/measures", "perplexity/verdicts") <= set(outcome.computed)
    assert not [name for name in outcome.computed if name.startswith("ingest")]


def test_another_list_of_special_tokens_counts_and_trains_again(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.config(PLAIN, tokenizer={"vocab_size": 300, "special_tokens": ["<|end|>"]})
    project.run()
    seen = Watching()
    outcome = project.run(overrides=["tokenizer.special_tokens=['<|end|>', '<|pad|>']"], observer=seen)
    assert {name.split("/")[0] for name in outcome.computed} == {"tokenizer"}
    assert project.tasks("tokenizer/counts") <= set(outcome.computed)
    assert any("special_tokens" in reason for reason in seen.reasons.values())
