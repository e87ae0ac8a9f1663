"""The floors of the house: imports only go down. And what no source file may hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("curate", "stages", "report", "tokenizer", "pipeline", "kernels")
BELOW: dict[str, set[str]] = {
    "kernels": set(),
    "pipeline": set(),
    "tokenizer": {"kernels"},
    "stages": {"tokenizer", "pipeline", "kernels"},
    "report": {"tokenizer", "pipeline", "kernels"},
    "curate": {"stages", "report", "tokenizer", "pipeline", "kernels"},
}
"""What each package may import besides itself."""

LONGEST = 400


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """(line, top-level package) of every import of project code, also inside functions and by name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            first = node.args[0]
            names = [first.value] if isinstance(first, ast.Constant) and isinstance(first.value, str) else []
        for name in names:
            if name.split(".")[0] in PACKAGES:
                yield node.lineno, name.split(".")[0]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_what_lies_below_it(package: str) -> None:
    allowed = BELOW[package] | {package}
    assert modules(package), f"{package} holds no module"
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {target}"
        for path in modules(package)
        for line, target in imported(path)
        if target not in allowed
    ]
    assert not wrong


def test_the_walk_finds_imports_in_functions_and_by_name(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(
        "import os\nfrom pipeline.stage import Judge\ndef f():\n    import report.views as v\n"
        "    importlib.import_module('curate.cli')\n"
    )
    assert sorted(imported(path)) == [(2, "pipeline"), (4, "report"), (5, "curate")]


def test_the_engine_names_no_stage() -> None:
    """The names of stages are known to the registry, and come into the engine as values."""
    names = set(re.findall(r'^    "(\w+)": "stages\.', (ROOT / "stages" / "registry.py").read_text(), re.M))
    names -= set(PACKAGES)
    assert len(names) >= 8
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.value!r}"
        for path in modules("pipeline")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    # `license` is also a column and a key of a source
    assert [f for f in found if not f.endswith("'license'")] == []


def sources() -> list[Path]:
    """Source files of the project: its packages, tests, benchmarks, sample and documents."""
    kinds = ("*.py", "*.md", "*.yaml", "*.yml", "*.toml", "*.sql", "*.html", "*.js", "*.css")
    folders = (*PACKAGES, "tests", "benchmarks", "docs", "configs", "data/sample")
    found = {p for folder in folders for kind in kinds for p in (ROOT / folder).rglob(kind)}
    found |= {p for kind in kinds for p in ROOT.glob(kind)} | {p for p in ROOT.glob("Makefile")}
    return sorted(p for p in found if not {"__pycache__", "node_modules"} & set(p.parts))


def test_no_module_is_longer_than_a_reader_can_bear() -> None:
    code = [p for p in sources() if p.suffix == ".py"]
    lengths = {str(p.relative_to(ROOT)): len(p.read_text(encoding="utf-8").splitlines()) for p in code}
    assert {name: n for name, n in lengths.items() if n > LONGEST} == {}


HOME = re.compile(r"(?<![\w.])/(home|work|root|Users)/[\w.-]+/?|[A-Z]:\\\\?Users")


def test_no_source_names_a_folder_of_the_machine_it_was_written_on() -> None:
    own = Path(__file__)
    found = [
        f"{path.relative_to(ROOT)}:{n} {match[0]}"
        for path in sources()
        if path != own
        for n, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if (match := HOME.search(line)) and "://" not in line[: match.start()].rsplit(" ", 1)[-1]
    ]
    assert found == []


@pytest.mark.parametrize("text", ["open('/home/me/x')", "/" + "root/.cache", "cd /" + "work/here", r"C:\Users\me"])
def test_the_search_finds_such_a_folder(text: str) -> None:
    assert HOME.search(text)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_that_it_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()
