"""Evaluation items: read from files, cut into n-grams, kept as a sorted index of hashes.

An item is a line of JSON Lines (all its strings, or those of named fields) or a paragraph of a text file. Its n-grams
are those of each string by itself. `name:line` (with several files `name/2:line`) is its label.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import Field

from pipeline.stage import InputPath, Params
from stages.ingest.streams import StreamError, blocks, plain_name

I64s = NDArray[np.int64]
_FILTER_BITS: Final = (16, 26)  # least and most address bits of the filter in front of the index


class EvaluationError(ValueError):
    """Evaluation files that give nothing to look for: which, why, and what to do."""


class Evaluation(Params):
    """Text that models are evaluated on."""

    name: str = Field(pattern=r"^[^\s:/]+$", description="what verdicts call it")
    path: InputPath | list[InputPath] = Field(description="file or glob of JSON Lines or UTF-8 text, also compressed")
    format: Literal["auto", "text", "jsonl"] = Field(
        "auto", description="auto: .jsonl and .ndjson are JSON Lines, others text, of which each paragraph is an item"
    )
    fields: tuple[str, ...] = Field((), description="fields of a JSON line to read; by default all that hold text")

    def files(self) -> list[str]:
        return [self.path] if isinstance(self.path, str) else list(self.path)


@dataclass(frozen=True)
class Item:
    """One item: its label and its strings."""

    label: str
    strings: list[str]


def items(evaluation: Evaluation, unusable: list[str]) -> Iterator[Item]:
    """All items of one entry; labels of lines that are no JSON object go to `unusable`. Raises EvaluationError."""
    files = evaluation.files()
    for number, file in enumerate(files, 1):
        prefix = evaluation.name if len(files) == 1 else f"{evaluation.name}/{number}"
        try:
            content = b"".join(blocks(file, file))
        except StreamError as error:
            raise EvaluationError(f"decontaminate: {evaluation.name}: {error}; mend or replace the file") from error
        jsonl = plain_name(file).endswith((".jsonl", ".ndjson"))
        if evaluation.format == "jsonl" or (evaluation.format == "auto" and jsonl):
            yield from _lines(content, prefix, evaluation.fields, unusable)
        else:
            yield from _paragraphs(content, prefix, file)


def _lines(content: bytes, prefix: str, fields: tuple[str, ...], unusable: list[str]) -> Iterator[Item]:
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            record = None
        if not isinstance(record, dict) or any(f not in record for f in fields):
            unusable.append(f"{prefix}:{number}")
            continue
        yield Item(f"{prefix}:{number}", list(_strings([record[f] for f in fields] if fields else record)))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _paragraphs(content: bytes, prefix: str, file: str) -> Iterator[Item]:
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise EvaluationError(
            f"decontaminate: {file}: evaluation text must be UTF-8, byte {error.start} is not; convert the file"
        ) from error
    first, paragraph = 1, list[str]()
    for number, line in enumerate([*lines, ""], 1):
        if line.strip():
            first = first if paragraph else number
            paragraph.append(line)
        elif paragraph:
            yield Item(f"{prefix}:{first}", ["\n".join(paragraph)])
            paragraph = []


def grams(data: NDArray[np.uint8], offsets: I64s, size: int) -> tuple[I64s, I64s]:
    """Hashes of all n-grams of each text, in order: those of text d are values[ends[d]:ends[d + 1]].

    Units are those of the normaliser `words/1`; a text shorter than `size` units gives one hash of all its units.
    """
    from kernels import minhash, normaliser

    values = np.empty((offsets[-1] - offsets[0]) // 2 + len(offsets), np.int64)
    ends = np.zeros(len(offsets), np.int64)
    minhash.shingles(data, offsets, normaliser.load(), size, size, values, ends)
    return values[: ends[-1]], ends


def places(text: bytes) -> tuple[I64s, I64s, bool]:
    """Start and end, in bytes, of each unit of a text; and whether most are characters of unspaced scripts."""
    from kernels import normaliser, units

    starts, ends = np.empty((2, len(text) // 2 + 2), np.int64)
    count, single = units.unit_places(np.frombuffer(text, np.uint8), normaliser.load(), starts, ends)
    return starts[:count], ends[:count], 2 * single > count


@dataclass(frozen=True)
class Index:
    """n-grams of all items. Pairs (n-gram, item) stand in the order of both."""

    hashes: I64s  # of the n-gram, a pair each
    items: I64s  # its item
    sizes: I64s  # distinct n-grams of each item
    labels: list[str]
    lengths: list[int]  # lengths of n-grams that occur

    @staticmethod
    def build(given: Iterable[Item], words: int, characters: int) -> tuple[Index, int]:
        """The index of the items that are long enough, and how many are too short."""
        pairs: set[tuple[int, int]] = set()
        labels: list[str] = []
        lengths: set[int] = set()
        short = 0
        for item in given:
            own: set[int] = set()
            for string in item.strings:
                text = string.encode("utf-8", "replace")
                starts, _, unspaced = places(text)
                size = characters if unspaced else words
                if len(starts) >= size:
                    found, _ = grams(np.frombuffer(text, np.uint8), np.array([0, len(text)]), size)
                    own.update(found.tolist())
                    lengths.add(size)
            short += not own
            if own:
                pairs.update((value, len(labels)) for value in own)
                labels.append(item.label)
        table = np.array(sorted(pairs), np.int64).reshape(-1, 2)
        sizes = np.bincount(table[:, 1], minlength=len(labels)).astype(np.int64)
        return Index(table[:, 0].copy(), table[:, 1].copy(), sizes, labels, sorted(lengths)), short

    def save(self, folder: Path) -> None:
        for name in ("hashes", "items", "sizes"):
            np.save(folder / f"{name}.npy", getattr(self, name))
        (folder / "index.json").write_text(json.dumps({"labels": self.labels, "lengths": self.lengths}), "utf-8")

    @staticmethod
    def load(folder: Path) -> Index:
        hashes, owners, sizes = (np.load(folder / f"{name}.npy") for name in ("hashes", "items", "sizes"))
        about = json.loads((folder / "index.json").read_text("utf-8"))
        return Index(hashes, owners, sizes, about["labels"], about["lengths"])

    def filter(self) -> NDArray[np.bool_]:
        """By the low bits of a hash: may the index hold it? Sends away nearly all hashes at the cost of one look."""
        least, most = _FILTER_BITS
        bits = min(most, max(least, len(self.hashes).bit_length() + 5))
        marks = np.zeros(1 << bits, bool)
        marks[self.hashes & (len(marks) - 1)] = True
        return marks

    def found(self, values: I64s, marks: NDArray[np.bool_]) -> I64s:
        """Places in `values` of hashes that the index holds, ascending."""
        likely = np.flatnonzero(marks[values & (len(marks) - 1)])
        at = np.searchsorted(self.hashes, values[likely])
        at[at == len(self.hashes)] = 0
        return likely[self.hashes[at] == values[likely]] if len(self.hashes) else likely[:0]

    def items_of(self, value: int) -> list[int]:
        """The items that have this n-gram."""
        first, last = np.searchsorted(self.hashes, value), np.searchsorted(self.hashes, value, "right")
        return [int(i) for i in self.items[first:last]]
