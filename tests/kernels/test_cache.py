"""Where the kernels' machine code is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHOW = "import kernels, os; print(kernels.CACHE); print(kernels.CACHE.is_dir()); print(os.environ['NUMBA_CACHE_DIR'])"


def folder_with(**environment: str) -> tuple[Path, bool, str]:
    env = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | {"PYTHONPATH": str(ROOT)} | environment
    out = subprocess.run([sys.executable, "-c", SHOW], env=env, capture_output=True, text=True, check=True).stdout
    path, there, told = out.splitlines()
    return Path(path), there == "True", told


def test_machine_code_is_kept_below_the_cache_folder_of_the_user(tmp_path: Path) -> None:
    path, there, told = folder_with(XDG_CACHE_HOME=str(tmp_path))
    assert path.parent == tmp_path / "curate" and told == str(path)
    assert not there and not path.parent.exists()  # made when something is compiled, not by an import


def test_without_a_writable_cache_folder_it_is_kept_for_the_process_and_never_beside_the_sources(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("no folder can be made here")
    path, there, told = folder_with(XDG_CACHE_HOME=str(tmp_path / "file"), TMPDIR=str(tmp_path))
    assert path.parent == tmp_path and there and told == str(path)
    assert not path.exists()
