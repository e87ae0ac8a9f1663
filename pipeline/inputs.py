"""Paths of a config: globs and fsspec URLs made into sorted lists of files, and params with their paths filled in."""

from __future__ import annotations

import glob
import os
import posixpath
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
from pydantic import BaseModel

from pipeline.stage import FilePath, Params


class MissingInputError(Exception):
    """A path or glob of the config that points to no file."""


@dataclass(frozen=True)
class InputFile:
    """A file of a source: where to open it, its label (its path below the common folder), its size in bytes."""

    location: str
    label: str
    size: int | None = None  # None: the store does not say


def expand(pattern: str, base: Path) -> list[str]:
    """Files that a path, glob or URL means, sorted; a folder is not a file. Raises MissingInputError for none."""
    if "://" in pattern:
        try:
            filesystem, path = fsspec.core.url_to_fs(pattern)
            filesystem.invalidate_cache()  # what an earlier run of this process saw may have changed
            found = sorted(p for p in filesystem.glob(path) if filesystem.isfile(p))
        except Exception as error:  # a store raises its own types: no access, no connection, a driver that is missing
            said = str(error) or type(error).__name__
            raise MissingInputError(f"{pattern!r} cannot be opened: {said.rstrip('.')}") from error
        located = [filesystem.unstrip_protocol(p) for p in found]
    else:
        whole = base / pattern
        listed = [pattern] if whole.is_file() else glob.glob(pattern, root_dir=base, recursive=True)
        located = sorted(str(base / p) for p in listed if (base / p).is_file())
        lost = next((p for p in sorted(listed) if os.path.islink(base / p) and not (base / p).exists()), None)
        if lost is not None:
            raise MissingInputError(f"{lost!r}, which {pattern!r} matches, is a link to nothing: remove or mend it")
    if not located:
        looked = "" if "://" in pattern else f" (looked in {base}); paths are relative to the config file"
        raise MissingInputError(f"no file matches {pattern!r}{looked}")
    return located


def source_files(patterns: str | list[str], base: Path) -> list[InputFile]:
    """All files of a source, each once, in the order of their labels."""
    base = Path(os.path.abspath(base))  # labels must not depend on the folder that a command was started in
    listed = [patterns] if isinstance(patterns, str) else patterns
    if not listed:
        raise MissingInputError("the list of paths is empty; give a path or a glob")
    locations = sorted({location for pattern in listed for location in expand(pattern, base)})
    roots = [_fixed_folder(p if "://" in p else (base / p).as_posix()) for p in listed]
    root = _common(roots)
    files = [InputFile(location, spelled(_below(root, location)), _size(location)) for location in locations]
    return sorted(files, key=lambda f: f.label)


def _size(location: str) -> int | None:
    if "://" not in location:
        return os.path.getsize(location)
    filesystem, path = fsspec.core.url_to_fs(location)
    size = filesystem.info(path).get("size")  # the listing is still in memory
    return None if size is None else int(size)


def _common(folders: list[str]) -> str:
    """The folder above all of them; "" for folders of different stores."""
    protocols = {f.partition("://")[0] if "://" in f else "" for f in folders}
    if len(protocols) > 1:
        return ""
    (protocol,) = protocols
    if not protocol:
        return posixpath.commonpath(folders)
    return f"{protocol}://{posixpath.commonpath([f.partition('://')[2] for f in folders])}"


def spelled(label: str) -> str:
    """A label that can be stored: bytes of a file name that are no UTF-8 are spelled out."""
    return label.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _fixed_folder(pattern: str) -> str:
    """The folder above the first wildcard, or the folder of a plain file."""
    parts = pattern.split("/")
    fixed = [p for i, p in enumerate(parts[:-1]) if not any(c in q for q in parts[: i + 1] for c in "*?[")]
    return posixpath.normpath("/".join(fixed)) if "://" not in pattern else "/".join(fixed)


def _below(root: str, location: str) -> str:
    path = posixpath.normpath(Path(location).as_posix()) if "://" not in location else location
    return path.removeprefix(root).lstrip("/") if root and path.startswith(root) else path


def resolve(params: Params, base: Path, hash_of: Callable[[str], str]) -> tuple[Any, dict[str, Any]]:
    """Params with every path field replaced by the files it means, and the JSON that keys use instead of them.

    In the JSON a path is the list of content hashes of the files it points to. A field declared as a single
    InputPath becomes a string; one that may be a list becomes a flat, sorted list.
    """
    given: dict[str, Any] = {}
    hashed: dict[str, Any] = params.model_dump(mode="json")
    for name, field in type(params).model_fields.items():
        value = getattr(params, name)
        if _is_path(field):
            files = sorted({f for p in ([value] if isinstance(value, str) else value or []) for f in expand(p, base)})
            if value is not None:
                given[name] = files[0] if field.annotation is str and len(files) == 1 else files
                hashed[name] = [hash_of(f) for f in files]
        else:
            given[name], hashed[name] = _resolve_inner(value, hashed[name], base, hash_of)
    return params.model_copy(update=given), hashed


def _resolve_inner(value: Any, dumped: Any, base: Path, hash_of: Callable[[str], str]) -> tuple[Any, Any]:
    if isinstance(value, Params):
        return resolve(value, base, hash_of)
    if isinstance(value, (list, tuple)):
        pairs = [_resolve_inner(v, d, base, hash_of) for v, d in zip(value, dumped, strict=True)]
        return type(value)(p[0] for p in pairs), [p[1] for p in pairs]
    if isinstance(value, dict):
        inner = {k: _resolve_inner(v, dumped[k], base, hash_of) for k, v in value.items()}
        return {k: p[0] for k, p in inner.items()}, {k: p[1] for k, p in inner.items()}
    return value, dumped


def _is_path(field: Any) -> bool:
    if any(isinstance(m, FilePath) for m in field.metadata):
        return True
    waiting = [field.annotation]
    while waiting:
        annotation = waiting.pop()
        if any(isinstance(m, FilePath) for m in getattr(annotation, "__metadata__", ())):
            return True
        arguments = getattr(annotation, "__args__", ())
        if not any(isinstance(a, type) and issubclass(a, BaseModel) for a in arguments):
            waiting += arguments
    return False
