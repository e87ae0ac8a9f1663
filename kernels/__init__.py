"""Compiled loops over Arrow buffers. Their machine code is cached in a folder keyed by the hash of this package.

numba's own cache does not notice an edit in an imported helper; a folder per state of the code does.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
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


def uncompiled() -> list[str]:
    """Names of the kernel modules of which the cache holds nothing (numba: `module.function-line.….nbi`)."""
    there = {path.name.partition(".")[0] for path in CACHE.rglob("*.nbi")}
    here = Path(__file__).parent
    return [
        name
        for name in modules()
        if (stem := name.rpartition(".")[2]) not in there and b"cache=True" in (here / f"{stem}.py").read_bytes()
    ]


def compile_all(say: Callable[[str], None] | None = None, names: Sequence[str] | None = None) -> None:
    """Import every kernel (or those of `names`), compiling what the cache does not hold; `say` is told before.

    What is not there is compiled by a process for each core, side by side.
    """
    if lacking := [name for name in uncompiled() if names is None or name in names]:
        if say is not None:
            lost = CACHE.name.startswith(TEMPORARY)
            why = f"{_cache_folder().parent} cannot be written, so each run compiles" if lost else "first run"
            say(f"compiling kernels ({why})")
        waiting, cores = iter(lacking), os.cpu_count() or 1
        with ThreadPoolExecutor(cores) as pool:
            list(pool.map(_compile_elsewhere, [waiting] * cores))
    for module in modules() if names is None else names:
        importlib.import_module(module)


_IMPORT_NAMED = """
import importlib, sys
for line in sys.stdin:
    try:
        importlib.import_module(line.strip())
    except Exception:
        pass
    print(flush=True)
"""


def _compile_elsewhere(names: Iterator[str]) -> None:
    """Import modules in a process of its own, until no names are left. A failure shows when one is imported here."""
    above = str(Path(__file__).parents[1])
    path = os.pathsep.join([above, *filter(None, [os.environ.get("PYTHONPATH")])])
    with subprocess.Popen(
        [sys.executable, "-c", _IMPORT_NAMED],
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            for name in names:
                print(name, file=process.stdin, flush=True)
                if not process.stdout.readline():
                    break
            process.stdin.close()
