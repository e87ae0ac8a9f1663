"""Text as the language model sees it: one named, versioned function for training and for scoring.

`standard` (version 1): case folded by simple (one to one) folding, decimal digits become 0, Unicode spaces become one
space, control and format characters (NUL, zero-width marks, byte order marks) vanish, lines stay lines. Units are
separated by one space: a word (letters, marks, digits, with an apostrophe between letters) of a spaced script, one
character of an unspaced one (Han, Kana, Thai, Lao, Khmer, Myanmar), one punctuation mark or symbol; a run of the same
mark counts once. Literal `<s>`, `</s>` and `<unk>` therefore come out as ordinary marks and words.

`whitespace` (version 1): words between Unicode spaces, otherwise as they are, for text that was prepared elsewhere. A
word that KenLM would take for one of its markers is written with full-width brackets.

Both leave no character that KenLM would split or cut at, so that its score and the count of tokens speak of the same
tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import regex
from numpy.typing import NDArray

from kernels import lm_tables

MAX_LINE_TOKENS: Final = 1000
"""A longer line is scored, and trained, as several lines of this many tokens."""

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Units:
    """Units of a batch of documents: single spaces between them, every line closed by a newline.

    text: UTF-8. ends: where each document ends in it. tokens, lines: how many each document has.
    """

    text: Bytes
    ends: Integers
    tokens: Integers
    lines: Integers

    def take(self, documents: Sequence[int]) -> Units:
        """The units of some of the documents."""
        if len(documents) == len(self.ends):
            return self
        begins = np.append(0, self.ends[:-1])
        parts = [self.text[begins[d] : self.ends[d]] for d in documents]
        ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        return Units(np.concatenate(parts), ends, self.tokens[documents], self.lines[documents])


@dataclass(frozen=True)
class Normaliser:
    """A named way from text to units. `identity` goes into every model file and must match when it is used.

    table: kinds and folded forms of code points (`kernels.lm_tables`), `digest` its hash. before: what is done to a
    text before the table is applied.
    """

    name: str
    version: int
    unit: str
    table: Callable[[], lm_tables.Table]
    digest: str = ""
    before: Callable[[str], str] | None = None

    def identity(self) -> dict[str, Any]:
        return {"name": self.name, "version": self.version, "unit": self.unit, "table": self.digest}

    def units(self, column: pa.ChunkedArray | pa.Array) -> Units:
        """Units of each text of a string column without NULL."""
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if self.before is not None:
            return self.units_of(array.to_pylist())
        array = array.cast(pa.large_string())
        _, offsets, data = array.buffers()
        places = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
        return self._split(np.frombuffer(data or b"", np.uint8), places if len(array) else np.zeros(1, np.int64))

    def units_of(self, texts: Sequence[str]) -> Units:
        """Units of each text."""
        given = texts if self.before is None else map(self.before, texts)
        encoded = [text.encode("utf-8", "surrogatepass") for text in given]
        places = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        return self._split(np.frombuffer(b"".join(encoded), np.uint8), places)

    def lines(self, text: str) -> list[str]:
        """Non-empty lines of units separated by single spaces, none longer than MAX_LINE_TOKENS."""
        return self.units_of([text]).text.tobytes().decode().split("\n")[:-1]

    def _split(self, data: Bytes, places: Integers) -> Units:
        from kernels.lm_units import GROWTH, split_units

        out = np.empty(GROWTH * int(places[-1] - places[0]) + 1, np.uint8)
        ends = np.zeros(len(places) - 1, np.int64)
        counted = np.zeros((len(ends), 2), np.int64)
        split_units(data, places, self.table(), MAX_LINE_TOKENS, out, ends, counted)
        return Units(out[: ends[-1] if len(ends) else 0], ends, counted[:, 0], counted[:, 1])


_BLANKS: Final = regex.compile(r"[^\S\n]+|[^\P{Z}\n]+")
_INVISIBLE: Final = regex.compile(r"[^\P{Cc}\n ]+|\p{Cs}+")
_SEVERAL: Final = regex.compile(" +")
_MARKER: Final = regex.compile(r"(?<!\S)<(s|/s|unk)>(?!\S)", regex.IGNORECASE)


def whitespace(text: str) -> str:
    """Lines of words, otherwise unchanged.

    >>> whitespace("a\\u00a0 B.\\x00 <s>")
    'a B. ＜s＞'
    """
    spaced = _SEVERAL.sub(" ", _INVISIBLE.sub("", _BLANKS.sub(" ", text)))
    return "\n".join(_MARKER.sub(r"＜\1＞", line.strip(" ")) for line in spaced.split("\n"))


NORMALISERS: Final = {
    "standard": Normaliser("standard", 1, "script", lm_tables.load, lm_tables.DIGEST),
    "whitespace": Normaliser("whitespace", 1, "word", lm_tables.plain, before=whitespace),
}
"""By name. Unit `script`: words in spaced scripts, characters in unspaced ones; `word`: what stands between spaces."""
