"""The normaliser `words/1`: what near-duplicate detection sees of a text, as a table over code points.

Case is folded (Unicode simple case folding), white space, control characters and punctuation (General_Category Z, Cc
and P) separate words and are otherwise unseen, invisible characters (Cf, Default_Ignorable_Code_Point) are skipped
without separating. Symbols (S) belong to words: `5 < 3` and `5 > 3` differ. What is left is a sequence of *units*: a
word of a spaced script, or a single character of an unspaced one (Han, Kana, Thai, Lao, Khmer, Myanmar).

`normaliser.npz` stores the table as runs, so that no installed Unicode version changes a result. Rebuild it with
`python -m kernels.normaliser`, and give a changed table a new NAME and DIGEST.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

NAME: Final = "words/1"
DIGEST: Final = "e091f4afa06eba08a6f9baa9a2311592"
DATA: Final = Path(__file__).with_name("normaliser.npz")
CODE_POINTS: Final = 0x110000

SEPARATOR, WORD, CHARACTER, IGNORED = range(4)
KIND_SHIFT: Final = 21  # an entry is the folded code point, with its kind above bit 21
SCRIPTS: Final = ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar")
KINDS: Final = (
    (CHARACTER, "[" + "".join(rf"\p{{scx={script}}}" for script in SCRIPTS) + "]"),
    (IGNORED, r"[\p{Cf}\p{Default_Ignorable_Code_Point}]"),
    (SEPARATOR, r"[\p{Z}\p{Cc}\p{P}\s]"),
)
"""Later kinds win; every other code point is WORD."""


class TableError(Exception):
    """The stored table is damaged or not the one this version of the code was made for."""


def folded(code: int) -> int:
    """Simple case folding of a code point: the one character that `str.casefold` or else `str.lower` gives."""
    character = chr(code)
    for candidate in (character.casefold(), character.lower()):
        if len(candidate) == 1:
            return ord(candidate)
    return code


def build() -> NDArray[np.int32]:
    """Entry of every code point, shape (0x110000,), asked of Python and the installed `regex` module."""
    import regex

    points = [*range(0xD800), *range(0xE000, CODE_POINTS)]
    text = "".join(map(chr, points))
    kinds = np.full(CODE_POINTS, WORD, np.int32)
    for kind, pattern in KINDS:
        members = regex.findall(pattern, text)
        kinds[np.fromiter(map(ord, members), np.int64, len(members))] = kind
    codes = np.arange(CODE_POINTS, dtype=np.int32)
    codes[points] = [folded(code) for code in points]
    return kinds << KIND_SHIFT | codes


def digest_of(table: NDArray[np.int32]) -> str:
    """BLAKE2b (16 bytes, hex) of an expanded table."""
    return hashlib.blake2b(table.astype("<i4").tobytes(), digest_size=16).hexdigest()


def save(table: NDArray[np.int32], path: Path = DATA) -> None:
    """Write the table as runs of equal distance to the code point itself."""
    distance = table - np.arange(CODE_POINTS, dtype=np.int32)
    starts = np.flatnonzero(np.diff(distance, prepend=distance[0] - 1)).astype(np.uint32)
    np.savez_compressed(path, starts=starts, distances=distance[starts])


@cache
def load(path: Path = DATA) -> NDArray[np.int32]:
    """The stored table, read-only, shape (0x110000,). Raises TableError when it is not the expected one."""
    with np.load(path, allow_pickle=False) as data:
        starts, distances = data["starts"].astype(np.int64), data["distances"]
    table = np.repeat(distances, np.diff(starts, append=CODE_POINTS)) + np.arange(CODE_POINTS, dtype=np.int32)
    if digest_of(table) != DIGEST:
        raise TableError(f"{path}: not the table of the normaliser {NAME}; restore the file from the distribution")
    table.setflags(write=False)
    return table


if __name__ == "__main__":
    built = build()
    save(built)
    print(f"{DATA.name}: digest {digest_of(built)}")
