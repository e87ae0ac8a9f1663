"""Small models and documents for the tests of perplexity."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.hashing import file_hash
from stages.perplexity import Perplexity, PerplexityParams, ngram
from stages.perplexity import arpa as files
from stages.perplexity.normalise import NORMALISERS
from stages.perplexity.references import corpus, digest, write_trusted

FIXTURES = Path(__file__).parent / "fixtures"
TWO_WORDS = (
    "\\data\\\nngram 1=5\nngram 2=2\n\n\\1-grams:\n-1.0\t<unk>\t0\n-99\t<s>\t-0.3\n-1.0\t</s>\t0\n-0.5\ta\t-0.2\n"
    "-0.7\tb\t-0.1\n\n\\2-grams:\n-0.2\t<s> a\n-0.3\ta b\n\n\\end\\\n"
)
"""A model of two words whose scores can be added up by hand."""


def params(**settings: Any) -> PerplexityParams:
    return PerplexityParams.model_validate({"reference": ["none.txt"], **settings})


def artefact(
    folder: Path, arpa: str = TWO_WORDS, normaliser: str = "standard", language: str = "en", learned: Sequence[str] = ()
) -> Path:
    (folder / f"{language}.arpa").write_text(arpa, encoding="utf-8")
    about: dict[str, Any] = {"file": f"{language}.arpa", "hash": file_hash(folder / f"{language}.arpa")}
    about["normaliser"] = NORMALISERS[normaliser].identity()
    (folder / "models.json").write_text(json.dumps({"models": {language: about}}), encoding="utf-8")
    write_trusted(np.array([digest(text) for text in learned], np.uint64), folder)
    return folder


def measured(texts: list[str], folder: Path, langs: list[str | None] | None = None, **settings: Any) -> list[Any]:
    table = pa.table(
        {"text": pa.array(texts, pa.large_string()), "lang": pa.array(langs or [None] * len(texts), pa.string())}
    )
    return Perplexity.measure(table, params(**settings), folder).to_pylist()


@dataclass(frozen=True)
class Whole:
    """A model in memory: words, probabilities and back-off weights of each order, and what its text held."""

    orders: list[ngram.Block]
    words: list[str]


def trained(
    texts: Iterable[str], order: int, prune: Sequence[int], normaliser: str = "whitespace", block: int = 1 << 20
) -> Whole:
    """A model of these texts, counted in blocks of about `block` ids."""
    with tempfile.TemporaryDirectory() as name:
        known = corpus(texts, NORMALISERS[normaliser], Path(name))
        model = ngram.estimate(known.blocks(block), len(known.vocabulary), order, prune, Path(name), 1 << 25)
        orders = []
        for blocks in model.orders:
            parts = list(blocks)
            columns = ("words", "probability", "backoff")
            orders.append(ngram.Block(*(np.concatenate([getattr(part, c) for part in parts]) for c in columns)))
        assert [len(o.words) for o in orders] == model.sizes
        return Whole(orders, known.vocabulary.to_pylist())


def written(
    texts: Iterable[str],
    order: int,
    prune: Sequence[int],
    path: Path,
    normaliser: str = "whitespace",
    block: int = 1 << 20,
    room: int = 1 << 25,
) -> Path:
    """The same as an ARPA file. room: bytes for buffers."""
    with tempfile.TemporaryDirectory() as name:
        known = corpus(texts, NORMALISERS[normaliser], Path(name))
        model = ngram.estimate(known.blocks(block), len(known.vocabulary), order, prune, Path(name), room)
        files.write(model, known.vocabulary, path)
    return path
