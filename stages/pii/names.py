"""Names of persons and places by an installed spaCy model: opt-in, as good as the model is, and slow."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from stages.pii.spans import Span

_ENTITIES: Final = {"PERSON": "person", "PER": "person", "GPE": "place", "LOC": "place", "FAC": "place"}
_PART: Final = 100_000  # characters at a time; spaCy refuses a million


def find(text: str, model: str) -> Iterator[Span]:
    """Spans that the model calls a person or a place. A text above 100,000 characters is cut at line ends."""
    start = 0
    while start < len(text):
        end = len(text) if len(text) - start <= _PART else text.rfind("\n", start + 1, start + _PART) + 1
        end = end or start + _PART
        for name in _pipeline(model)(text[start:end]).ents:
            if name.label_ in _ENTITIES:
                yield Span(start + name.start_char, start + name.end_char, _ENTITIES[name.label_], "spacy", 0.85)
        start = end


def require(model: str) -> None:
    """Raises ValueError where the model is no installed package."""
    try:
        importlib.metadata.distribution(model)
    except importlib.metadata.PackageNotFoundError as error:
        raise ValueError(
            f"pii: the entities `person` and `place` need the spaCy model {model!r}, which is not installed;"
            " install it as a package, name another one with `names_model:`, or leave these entities out"
        ) from error


@cache
def _pipeline(model: str) -> Any:
    require(model)
    import spacy

    return spacy.load(model)
