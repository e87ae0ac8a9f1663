"""curate: raw text in, a clean corpus and a traced vocabulary out.

import curate
run = curate.run("configs/small.yaml", run_dir="runs/small", workers=2)   # or curate.open("runs/small")
run.sql("select stage, kept, dropped from stages order by position").fetchall()
tokenizer = curate.Tokenizer.load("runs/small/tokenizer")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from curate.api import Run, open, run
    from tokenizer import Tokenizer

__all__ = ["Run", "Tokenizer", "__version__", "open", "run"]


def __getattr__(name: str) -> Any:
    """Import what is asked for, when it is asked for: `curate --help` needs none of it."""
    if name == "Tokenizer":
        from tokenizer import Tokenizer

        return Tokenizer
    if name in ("Run", "open", "run"):
        from curate import api

        return getattr(api, name)
    raise AttributeError(f"module 'curate' has no attribute {name!r}")
