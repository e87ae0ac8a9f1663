"""Model files and scores: which model speaks for a language, and a document's perplexity under it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from stages.perplexity import arpa
from stages.perplexity.normalise import Normaliser

INDEX: Final = "models.json"


class ModelMismatchError(ValueError):
    """A model that was made from other units than it is asked to score."""


@dataclass(frozen=True)
class Score:
    """log10_sum: sum over lines of log10 p(line, its end). unknown: tokens that the vocabulary lacks."""

    log10_sum: float
    tokens: int
    lines: int
    unknown: int

    @property
    def log10_perplexity(self) -> float:
        return -self.log10_sum / (self.tokens + self.lines)

    @property
    def perplexity(self) -> float:
        """10^(-sum log10 p / (tokens + lines)): the end of each line is predicted too, its beginning is not."""
        return float(math.pow(10.0, self.log10_perplexity))


class Scorer:
    """A loaded model and its vocabulary."""

    def __init__(self, path: Path) -> None:
        import kenlm

        config = kenlm.Config()
        config.show_progress = False
        config.arpa_complain = kenlm.ARPALoadComplain.NONE
        self.model = kenlm.Model(str(path), config)
        self.words = frozenset(arpa.unigrams(path)) - {"<unk>", "<s>", "</s>"}

    def score(self, lines: list[str]) -> Score:
        """Score of a document given as normalised lines (`Normaliser.lines`)."""
        total, tokens, known = 0.0, 0, 0
        for line in lines:
            total += self.model.score(line)
            units = line.split(" ")
            tokens += len(units)
            known += sum(map(self.words.__contains__, units))
        return Score(total, tokens, len(lines), tokens - known)


@dataclass(frozen=True)
class ModelFile:
    """A model by place and content: a new model at the same place is another one."""

    path: Path
    hash: str


@lru_cache(maxsize=16)
def load(model: ModelFile) -> Scorer:
    """The scorer of a model, loaded once in a process."""
    return Scorer(model.path)


def write_index(folder: Path, models: dict[str, dict[str, Any]]) -> None:
    """Write what scoring must know of each language's model beside the models."""
    text = json.dumps({"models": models}, indent=1, sort_keys=True, ensure_ascii=False)
    (folder / INDEX).write_text(text + "\n", encoding="utf-8")


def models_in(folder: Path, normaliser: Normaliser) -> dict[str, ModelFile]:
    """Model files by language. Raises ModelMismatchError where one was not made with this normaliser."""
    index = json.loads((folder / INDEX).read_text(encoding="utf-8"))["models"]
    wanted = normaliser.identity()
    for language, about in index.items():
        if about["normaliser"] != wanted:
            raise ModelMismatchError(
                f"perplexity: the {language} model {about['file']} was made from {_named(about['normaliser'])}, "
                f"but would score {_named(wanted)}; train it again or set `normaliser` to what it was made with"
            )
    return {language: ModelFile(folder / about["file"], about["hash"]) for language, about in index.items()}


def _named(identity: dict[str, Any]) -> str:
    return "{unit} units of normaliser {name} {version} (table {table!r})".format(**identity)
