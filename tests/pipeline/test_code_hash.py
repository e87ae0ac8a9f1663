"""The hash of the code that computes a result: what changes it and what does not."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.codehash import code_hash, versions
from pipeline.runner import code_of
from stages.ingest import Ingest
from stages.license import License

BEFORE = '''
"""Docstring of the module."""
import math
from helpers_{n} import LIMIT
from . import nothing

TABLE = "table_{n}.json"

class Rule:
    """Docstring of a class."""

    def passes(self, value: float) -> bool:
        """Docstring of a method."""
        return value < LIMIT  # a comment
'''


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of its own: one module, what it imports, a table beside it."""
    package = tmp_path / f"pack_{abs(hash(tmp_path))}"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "rule.py").write_text(BEFORE.replace("from helpers_{n}", "from .helpers").replace("table_{n}", "table"))
    (package / "helpers.py").write_text("from .deep import DEEP\nLIMIT = DEEP + 1\n")
    (package / "deep.py").write_text("DEEP = 1\n")
    (package / "aside.py").write_text("X = 1\n")
    (package / "table.json").write_text("[1]")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield package
    for name in [m for m in sys.modules if m.startswith(package.name)]:
        del sys.modules[name]


def hash_of(package: Path) -> str:
    code_hash.cache_clear()
    return code_hash((f"{package.name}.rule",))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  # a comment", ""),
        ("Docstring of the module.", "Another."),
        ('    """Docstring of a class."""\n', ""),
        ('        """Docstring of a method."""\n', ""),
        ("value < LIMIT", "(value    <    LIMIT)"),
        ("import math\n", "import math\n\n\n"),
    ],
)
def test_comments_docstrings_and_layout_do_not_count(modules: Path, old: str, new: str) -> None:
    before = hash_of(modules)
    edit(modules / "rule.py", old, new)
    assert hash_of(modules) == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("rule.py", "value < LIMIT", "value <= LIMIT"),
        ("rule.py", "class Rule", "class Rules"),
        ("rule.py", "value: float", "value: int"),
        ("helpers.py", "+ 1", "+ 2"),
        ("deep.py", "1", "2"),
        ("table.json", "1", "2"),
    ],
)
def test_code_its_imports_and_the_tables_it_names_count(modules: Path, file: str, old: str, new: str) -> None:
    before = hash_of(modules)
    edit(modules / file, old, new)
    assert hash_of(modules) != before


def test_a_module_that_nobody_imports_does_not_count(modules: Path) -> None:
    before = hash_of(modules)
    edit(modules / "aside.py", "1", "2")
    (modules / "unnamed.json").write_text("[]")
    assert hash_of(modules) == before


def test_a_string_in_the_code_that_is_no_docstring_counts(modules: Path) -> None:
    edit(modules / "deep.py", "DEEP = 1", 'DEEP = 1\nNAME = "a"')
    before = hash_of(modules)
    edit(modules / "deep.py", '"a"', '"b"')
    assert hash_of(modules) != before


def sources(stage: type, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Modules that a stage's code hash covers."""
    seen: set[str] = set()
    import pipeline.codehash as module

    real = module._file_of

    def watch(name: str) -> Path | None:
        found = real(name)
        if found is not None:
            seen.add(name)
        return found

    monkeypatch.setattr(module, "_file_of", watch)
    code_hash.cache_clear()
    code_of(stage)
    return seen


def test_the_engine_code_that_makes_a_result_is_covered_and_that_which_only_drives_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judge, source = sources(License, monkeypatch), sources(Ingest, monkeypatch)
    assert {"stages.license", "pipeline.steps", "pipeline.rules", "pipeline.storage", "pipeline.documents"} <= judge
    assert {"stages.ingest", "stages.ingest.jsonl", "pipeline.reading", "pipeline.hashing"} <= source
    for driving in ("pipeline.runner", "pipeline.engines", "pipeline.config", "pipeline.lock", "curate.cli"):
        assert driving not in judge | source


def test_the_hash_is_the_same_in_another_process_and_under_another_hash_seed() -> None:
    import subprocess

    from toys import environment

    code_hash.cache_clear()
    program = "from pipeline.runner import code_of; from stages.license import License; print(code_of(License))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=environment(PYTHONHASHSEED=seed),
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1")
    }
    assert seen == {code_of(License)}


def test_versions_name_python_and_each_declared_library_in_one_order() -> None:
    found = versions(("pyarrow", "numpy"))
    assert list(found) == ["python", "numpy", "pyarrow"]
    assert found["python"] == f"{sys.version_info[0]}.{sys.version_info[1]}"
