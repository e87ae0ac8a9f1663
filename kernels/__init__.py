"""Compiled loops over Arrow buffers. Their machine code is cached in a folder keyed by the hash of this package.

numba's own cache does not notice an edit in an imported helper; a folder per state of the code does.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

TEMPORARY: Final = "curate-kernels-"
"""Beginning of the name of a cache folder that ends with the process."""


def _cache_folder() -> Path:
    here = Path(__file__).parent
    h = hashlib.blake2b(str(here).encode(), digest_size=8)  # numba's index holds the path of the source
    for file in sorted(here.glob("*.py")):
        h.update(file.name.encode() + b"\0" + file.read_bytes())
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "curate" / f"kernels-{h.hexdigest()}"


def _usable(folder: Path) -> Path:
    """The folder; where it cannot be made or written, a temporary one for this process and those it starts.

    numba would fall back to the folder of the sources, where it does not notice an edit in an imported helper.
    """
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if there.is_dir() and os.access(there, os.W_OK):
        return folder
    temporary = tempfile.mkdtemp(prefix=TEMPORARY)
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return Path(temporary)


# numba reads this when it is imported, which only modules of this package do
CACHE = Path(os.environ.get("NUMBA_CACHE_DIR") or _usable(_cache_folder()))
os.environ["NUMBA_CACHE_DIR"] = str(CACHE)


def modules() -> list[str]:
    """Names of all kernel modules."""
    return [f"{__name__}.{m.name}" for m in pkgutil.iter_modules(__path__) if m.name != "preload"]


def compile_all(say: Callable[[str], None] | None = None) -> None:
    """Import every kernel, compiling what the cache does not hold; `say` is told before that takes long.

    An empty cache is filled by several processes side by side, one module each.
    """
    if not any(CACHE.rglob("*.nbi")):
        if say is not None:
            lost = CACHE.name.startswith(TEMPORARY)
            why = f"{_cache_folder().parent} cannot be written, so each run compiles" if lost else "first run"
            say(f"compiling kernels ({why})")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(_compile_elsewhere, modules()))
    for module in modules():
        importlib.import_module(module)


def _compile_elsewhere(module: str) -> None:
    """A failure there shows when the module is imported here."""
    above = str(Path(__file__).parents[1])
    path = os.pathsep.join([above, *filter(None, [os.environ.get("PYTHONPATH")])])
    subprocess.run(
        [sys.executable, "-c", f"import {module}"],
        env=os.environ | {"PYTHONPATH": path},
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
