"""Hash of the code that computes a result: syntax trees, without comments and docstrings, of a module and its imports.

Only project modules are followed; of other distributions the version counts, and a stage declares which. Data files
that a module names in a string and that lie beside it (tables of character classes, say) count by their content.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import Final

from pipeline.hashing import combined, file_hash, json_hash

PROJECT: Final = ("curate", "stages", "report", "tokenizer", "pipeline", "kernels")


@cache
def code_hash(roots: tuple[str, ...]) -> str:
    """Hash over the modules in `roots` and every project module that they import, directly or not."""
    own = tuple({r.split(".")[0] for r in roots} | set(PROJECT))
    seen: dict[str, str] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        path = _file_of(name)
        if path is None:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        imported = _imports(tree, name, path.name == "__init__.py")
        seen[name] = json_hash([_stripped(tree), _data(tree, path.parent)])
        waiting += [m for m in imported if m.split(".")[0] in own]
    return combined(f"{name}={seen[name]}" for name in sorted(seen))


def versions(distributions: tuple[str, ...]) -> dict[str, str]:
    """Versions of the named distributions, and of Python (major.minor), as installed here."""
    found = {"python": f"{sys.version_info[0]}.{sys.version_info[1]}"}
    return found | {d: _version(d) for d in sorted(distributions)}


@cache
def _version(distribution: str) -> str:
    return importlib.metadata.version(distribution)


def _file_of(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin)


def _imports(tree: ast.AST, module: str, is_package: bool) -> list[str]:
    """Names that may be modules: `from a import b` gives both a and a.b."""
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".") if is_package else module.split(".")[:-1]
                above = parents[: len(parents) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return names


def _stripped(tree: ast.AST) -> str:
    """The syntax tree as text, without docstrings, and (by nature) without comments and layout."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree, include_attributes=False)


def _data(tree: ast.AST, folder: Path) -> list[str]:
    names = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    files = sorted(n for n in names if n.endswith((".npz", ".npy", ".json", ".txt")) and "/" not in n)
    return [f"{n}={file_hash(folder / n)}" for n in files if (folder / n).is_file()]
