"""Hash of the code that computes a result: syntax trees, without comments and docstrings, of a module and its imports.

Only project modules are followed; of other distributions the version counts, and a stage declares which. Data files
that a module names in a string and that lie beside it (tables of character classes, say) count by their content.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from pipeline.hashing import combined, file_hash, json_hash

PROJECT: Final = ("curate", "stages", "report", "tokenizer", "pipeline", "kernels")


@dataclass(frozen=True)
class _Source:
    """What the hash needs of one source file: its tree, the names it may import, the names of files it may read."""

    tree: str  # hash of the stripped tree
    imports: tuple[str, ...]
    data: tuple[str, ...]


@cache
def code_hash(roots: tuple[str, ...]) -> str:
    """Hash over the modules in `roots` and every project module that they import, directly or not."""
    own = {r.split(".")[0] for r in roots} | set(PROJECT)
    seen: dict[str, str] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        path = _file_of(name)
        if path is None:
            continue
        source = _source(path.read_bytes(), name, path)
        seen[name] = json_hash([source.tree, _contents(source.data, path.parent)])
        waiting += [m for m in source.imports if m.split(".")[0] in own]
    return combined(f"{name}={seen[name]}" for name in sorted(seen))


@cache
def _source(content: bytes, name: str, path: Path) -> _Source:
    tree = ast.parse(content, str(path))
    nodes = list(ast.walk(tree))
    imports = _imports(nodes, name, path.name == "__init__.py")
    strings = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    data = sorted(n for n in strings if n.endswith((".npz", ".npy", ".json", ".txt")) and "/" not in n)
    return _Source(json_hash(_stripped(tree, nodes)), tuple(imports), tuple(data))


def versions(distributions: tuple[str, ...]) -> dict[str, str]:
    """Versions of the named distributions, and of Python (major.minor), as installed here."""
    found = {"python": f"{sys.version_info[0]}.{sys.version_info[1]}"}
    return found | {d: _version(d) for d in sorted(distributions)}


@cache
def _version(distribution: str) -> str:
    return importlib.metadata.version(distribution)


def _file_of(module: str) -> Path | None:
    """Where a module's source lies; nothing below its top package is imported, as `find_spec` would do."""
    top, *below = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if not below:
        return Path(spec.origin) if spec.origin is not None and spec.origin.endswith(".py") else None
    for folder in spec.submodule_search_locations or ():
        base = Path(folder).joinpath(*below)
        for path in (base / "__init__.py", base.with_name(f"{base.name}.py")):
            if path.is_file():
                return path
    return None


def _imports(nodes: list[ast.AST], module: str, is_package: bool) -> list[str]:
    """Names that may be modules: `from a import b` gives both a and a.b."""
    names: list[str] = []
    for node in nodes:
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


def _stripped(tree: ast.AST, nodes: list[ast.AST]) -> str:
    """The syntax tree as text, without docstrings, and (by nature) without comments and layout."""
    for node in nodes:
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree, include_attributes=False)


def _contents(names: tuple[str, ...], folder: Path) -> list[str]:
    return [f"{n}={file_hash(folder / n)}" for n in names if (folder / n).is_file()]
