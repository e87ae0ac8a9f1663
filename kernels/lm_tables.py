"""The table of the normaliser `standard` that language models see text through: kind and folded form of a code point.

`lm_units.npz` stores it as runs, so that no installed Unicode version changes a result. Rebuild it with
`python -m kernels.lm_tables`, and give a changed table a new DIGEST (and the normaliser a new version).
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

DIGEST: Final = "b4ec180a99e5937d939587f6ba43b198"
DATA: Final = Path(__file__).with_name("lm_units.npz")
CODE_POINTS: Final = 0x110000

SPACE, NEWLINE, DROP, WORD, CHARACTER, MARK = range(6)
KIND_SHIFT: Final = 21  # an entry is the folded code point, with its kind above bit 21
APOSTROPHE: Final = ord("'")
KINDS: Final = (
    (WORD, r"[\p{L}\p{M}\p{N}]"),
    (CHARACTER, r"[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]"),
    (MARK, r"[\p{P}\p{S}\p{Co}\p{Cn}]"),
    (WORD, r"\p{Nd}"),
    (DROP, r"[\p{Cc}\p{Cf}\p{Cs}]"),
    (SPACE, r"[\s\p{Z}]"),
    (NEWLINE, r"\n"),
)
"""Later kinds win; every other code point is WORD."""

Table = NDArray[np.int32]


class TableError(Exception):
    """The stored table is damaged or not the one this version of the code was made for."""


def build() -> Table:
    """Entry of every code point, shape (0x110000,), asked of Python and the installed `regex` module."""
    import regex

    points = [*range(0xD800), *range(0xE000, CODE_POINTS)]
    text = "".join(map(chr, points))
    kinds = np.full(CODE_POINTS, WORD, np.int32)
    for kind, pattern in KINDS:
        members = regex.findall(pattern, text)
        kinds[np.fromiter(map(ord, members), np.int64, len(members))] = kind
    kinds[0xD800:0xE000] = DROP
    codes = np.arange(CODE_POINTS, dtype=np.int32)
    for letter in regex.findall(r"\p{Changes_When_Casefolded}", text):
        codes[ord(letter)] = ord(next((c for c in (letter.casefold(), letter.lower()) if len(c) == 1), letter))
    for digit in regex.findall(r"\p{Nd}", text):
        codes[ord(digit)] = ord("0")
    codes[kinds == SPACE] = ord(" ")
    codes[0x2019] = APOSTROPHE
    return kinds << KIND_SHIFT | codes


def digest_of(table: Table) -> str:
    """BLAKE2b (16 bytes, hex) of an expanded table."""
    return hashlib.blake2b(table.astype("<i4").tobytes(), digest_size=16).hexdigest()


def save(table: Table, path: Path = DATA) -> None:
    """Write the table as runs of equal distance to the code point itself."""
    distance = table - np.arange(CODE_POINTS, dtype=np.int32)
    starts = np.flatnonzero(np.diff(distance, prepend=distance[0] - 1)).astype(np.uint32)
    np.savez_compressed(path, starts=starts, distances=distance[starts])


@cache
def load(path: Path = DATA) -> Table:
    """The stored table, read-only, shape (0x110000,). Raises TableError when it is not the expected one."""
    with np.load(path, allow_pickle=False) as data:
        starts, distances = data["starts"].astype(np.int64), data["distances"]
    table = np.repeat(distances, np.diff(starts, append=CODE_POINTS)) + np.arange(CODE_POINTS, dtype=np.int32)
    if digest_of(table) != DIGEST:
        raise TableError(f"{path}: not the table of the normaliser `standard`; restore it from the distribution")
    table.setflags(write=False)
    return table


@cache
def plain() -> Table:
    """A table that changes nothing: units stand between ASCII spaces, lines between newlines."""
    table = np.arange(CODE_POINTS, dtype=np.int32) | WORD << KIND_SHIFT
    table[ord(" ")], table[ord("\n")] = SPACE << KIND_SHIFT | ord(" "), NEWLINE << KIND_SHIFT | ord("\n")
    table.setflags(write=False)
    return table


if __name__ == "__main__":
    built = build()
    save(built)
    print(f"{DATA.name}: digest {digest_of(built)}")
