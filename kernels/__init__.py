"""Compiled loops over Arrow buffers. Their machine code is cached in a folder keyed by the hash of this package.

numba's own cache does not notice an edit in an imported helper; a folder per state of the code does.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pkgutil
from collections.abc import Callable
from pathlib import Path


def _cache_folder() -> Path:
    here = Path(__file__).parent
    h = hashlib.blake2b(digest_size=8)
    for file in sorted(here.glob("*.py")):
        h.update(file.name.encode() + b"\0" + file.read_bytes())
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "curate" / f"kernels-{h.hexdigest()}"


# numba reads this when it is imported, which only modules of this package do
CACHE = Path(os.environ.setdefault("NUMBA_CACHE_DIR", str(_cache_folder())))


def modules() -> list[str]:
    """Names of all kernel modules."""
    return [f"{__name__}.{m.name}" for m in pkgutil.iter_modules(__path__) if m.name != "preload"]


def compile_all(say: Callable[[str], None] | None = None) -> None:
    """Import every kernel, compiling what the cache does not hold; `say` is told before that takes long."""
    if say is not None and not any(CACHE.rglob("*.nbi")):
        say("compiling kernels (first run)")
    for module in modules():
        importlib.import_module(module)
