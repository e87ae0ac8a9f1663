"""Which class a stage name stands for. A class is imported when a config names it: `curate --help` stays quick."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Final

from pipeline.config import Registry
from pipeline.stage import Stage

STAGES: Final = {
    "ingest": "stages.ingest:Ingest",
    "license": "stages.license:License",
    "language": "stages.language:Language",
    "gopher": "stages.gopher:Gopher",
    "url_blocklist": "stages.url_blocklist:URLBlocklist",
    "normalise": "stages.normalise:Normalise",
    "perplexity": "stages.perplexity:Perplexity",
    "exact_dedup": "stages.dedup:ExactDedup",
    "minhash": "stages.dedup:MinHash",
    "c4_lines": "stages.c4_lines:C4Lines",
    "line_dedup": "stages.lines:LineDedup",
    "decontaminate": "stages.decontaminate:Decontaminate",
    "pii": "stages.pii:PII",
    "curated": "stages.curated:Curated",
    "tokenizer": "stages.train_tokenizer:TrainTokenizer",
}


def registry(allow_code: bool = False, folder: Path | None = None) -> Registry:
    """The project's stages, and with `allow_code` also `module:Class`, looked for in `folder` first."""

    def find(name: str) -> type[Stage]:
        if name in STAGES:
            return _load(STAGES[name])
        if ":" not in name:
            raise KeyError(name)
        if not allow_code:
            raise KeyError(f"{name}: a stage from your own module runs its code: allow it with --allow-code")
        if folder is not None and str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
        try:
            found = _load(name)
        except (ImportError, AttributeError, SyntaxError) as error:
            raise KeyError(f"{name}: cannot be imported: {error}") from error
        if not (isinstance(found, type) and issubclass(found, Stage)):
            raise KeyError(f"{name}: is no stage (a subclass of Judge or Editor from pipeline.stage)")
        return found

    names = tuple(n for n in STAGES if n not in ("curated", "tokenizer"))
    return Registry(find, names, always=("curated",), keyed=("tokenizer",))


def _load(path: str) -> type[Stage]:
    module, _, name = path.partition(":")
    found: type[Stage] = getattr(importlib.import_module(module), name)
    return found
