"""Model files and scores: which model speaks for a language, and a document's perplexity under it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from stages.perplexity import arpa, probing
from stages.perplexity.normalise import NORMALISERS, Integers, Normaliser, Units

INDEX: Final = "models.json"
_MARKERS: Final = frozenset({b"<unk>", b"<s>", b"</s>"})


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


def kenlm_model(path: Path) -> Any:
    """The model of an ARPA or binary file, loaded without a word on the screen. Raises OSError."""
    import kenlm

    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    return kenlm.Model(str(path), config)


class Scorer:
    """A loaded model and the hashes of its vocabulary (None: a trie, which does not say where it lists its words)."""

    def __init__(self, path: Path, listed: Path | None = None) -> None:
        from kernels.lm_units import hashed

        self.model = kenlm_model(path)
        known = probing.words(path).split(b"\0")[:-1] or arpa.unigrams(listed or path)
        words = b"".join(word + b"\n" for word in known if word not in _MARKERS)
        self.vocabulary = hashed(words) if words else None

    def score(self, lines: list[str]) -> Score:
        """Score of one document given as normalised lines (`Normaliser.lines`)."""
        return self.scores(NORMALISERS["whitespace"].units_of(["\n".join(lines)]))[0]

    def scores(self, units: Units) -> list[Score]:
        """Score of each document."""
        logs = list(map(self.model.score, units.text.tobytes().split(b"\n")[:-1]))
        known = self._known(units)
        first = 0
        found = []
        for tokens, lines, k in zip(units.tokens.tolist(), units.lines.tolist(), known.tolist(), strict=True):
            found.append(Score(math.fsum(logs[first : first + lines]), tokens, lines, tokens - k))
            first += lines
        return found

    def _known(self, units: Units) -> Integers:
        """How many units of each document the model knows; `full_scores` takes three times as long."""
        from kernels.lm_units import count_known, hashed

        vocabulary = self.vocabulary
        if vocabulary is None:
            distinct = set(units.text.tobytes().split())
            vocabulary = hashed(b"".join(word + b"\n" for word in distinct if word.decode() in self.model))
        known = np.zeros(len(units.ends), np.int64)
        count_known(units.text, units.ends, vocabulary, known)
        return known


@dataclass(frozen=True)
class ModelFile:
    """A model by place and content: a new model at the same place is another one.

    listed: the ARPA file that lists a binary model's words, where there is one.
    """

    path: Path
    hash: str
    listed: Path | None = None


@lru_cache(maxsize=16)
def load(model: ModelFile) -> Scorer:
    """The scorer of a model, loaded once in a process."""
    return Scorer(model.path, model.listed)


def write_index(folder: Path, models: dict[str, dict[str, Any]]) -> None:
    """Write what scoring must know of each language's model beside the models."""
    text = json.dumps({"models": models}, indent=1, sort_keys=True, ensure_ascii=False)
    (folder / INDEX).write_text(text + "\n", encoding="utf-8")


def models_in(folder: Path, normaliser: Normaliser, given: dict[str, Path]) -> dict[str, ModelFile]:
    """Model files by language; those that were not trained here lie where `given` says.

    Raises ModelMismatchError where one was not made with this normaliser.
    """
    index = json.loads((folder / INDEX).read_text(encoding="utf-8"))["models"]
    wanted = normaliser.identity()
    files = {}
    for language, about in index.items():
        if about["normaliser"] != wanted:
            name = given[language].name if language in given else about["file"]
            raise ModelMismatchError(
                f"perplexity: the {language} model {name} was made from "
                f"{_named(about['normaliser'])}, but would score {_named(wanted)}; train it again or set `normaliser` "
                "to what it was made with"
            )
        path = folder / about["file"] if about["file"] else given[language]
        listed = folder / about["listed"] if about.get("listed") else None
        files[language] = ModelFile(path, about["hash"], listed)
    return files


def _named(identity: dict[str, Any]) -> str:
    return "{unit} units of normaliser {name} {version} (table {table!r})".format(**identity)
