"""Class bits of every code point for `kernels.words`, and letters in lower case: data, no compiled code.

`word_classes.npz` holds the class bits, from the `regex` module: `starts` (first code point of a run of equal classes)
and `classes`. Rebuild it with `python -m kernels.word_tables`, and set `DIGEST` to what that prints.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

CODE_POINTS: Final = 0x110000
DATA: Final = Path(__file__).with_name("word_classes.npz")
DIGEST: Final = "a7de8045fff9c8394846aeb591b45283"

UNSPACED_SCRIPTS: Final = (
    *("Han", "Hiragana", "Katakana", "Bopomofo", "Yi"),
    *("Thai", "Lao", "Khmer", "Myanmar", "Tai_Le", "New_Tai_Lue", "Tai_Tham", "Tai_Viet"),
    *("Tibetan", "Javanese", "Balinese"),
)

SPACE, LETTER, NUMBER, MARK, UNIT, DOT, BULLET, TERMINAL = (1 << k for k in range(8))
UPPER: Final = BULLET
"""On a letter this bit says upper case: no letter is a bullet, and a byte has but eight bits."""
CLASSES: Final = (
    (SPACE, r"\p{White_Space}"),
    (LETTER, r"\p{L}"),
    (NUMBER, r"\p{N}"),
    (MARK, r"\p{M}"),
    # Below U+0800 only tone letters qualify, which other scripts use too; so a unit takes at least three bytes.
    (UNIT, r"[[\p{L}\p{N}]&&[\u0800-\U0010FFFF]&&[" + "".join(rf"\p{{scx={s}}}" for s in UNSPACED_SCRIPTS) + "]]"),
    (DOT, "[.。…⋯]"),
    (BULLET, "[•‣⁃◦●○▪▫■□∙·]"),
    (TERMINAL, r"[\p{Sentence_Terminal}…⋯]"),
    (UPPER, r"\p{Lu}"),
)

CLOSING: Final = "\"'”’»)]}」』】）》〉"
"""What may stand between the end of a sentence and the end of its line."""


def build_classes() -> NDArray[np.uint8]:
    """Class bits of every code point, shape (0x110000,), from the installed `regex` module; surrogates have none."""
    import regex

    points = [*range(0xD800), *range(0xE000, CODE_POINTS)]
    text = "".join(map(chr, points))
    table = np.zeros(CODE_POINTS, np.uint8)
    for bit, pattern in CLASSES:
        members = np.array([ord(c) for c in regex.findall(pattern, text, regex.V1)], np.int64)
        table[members] |= bit
    return table


@cache
def class_table() -> NDArray[np.uint8]:
    """The stored classes, shape (0x110000,), read-only; ValueError when the file is not the one this code is for."""
    with np.load(DATA) as stored:
        starts, classes = stored["starts"], stored["classes"]
    table = np.repeat(classes, np.diff(starts, append=CODE_POINTS)).astype(np.uint8)
    if digest(table) != DIGEST:
        raise ValueError(f"{DATA} does not hold the word classes of this version: install the package again")
    table.flags.writeable = False
    return table


def digest(table: NDArray[np.uint8]) -> str:
    """BLAKE2b (128 bits, hex) of a class table."""
    return hashlib.blake2b(table.tobytes(), digest_size=16).hexdigest()


@cache
def lower_table() -> NDArray[np.int32]:
    """Every code point's lower case where that is one code point, else itself; shape (0x110000,), read-only."""
    table = np.arange(CODE_POINTS, dtype=np.int32)
    for point in (*range(0xD800), *range(0xE000, 0x1F000)):
        lower = chr(point).lower()
        if len(lower) == 1:
            table[point] = ord(lower)
    table.flags.writeable = False
    return table


if __name__ == "__main__":
    built = build_classes()
    starts = np.flatnonzero(np.diff(built, prepend=255)).astype(np.uint32)
    np.savez_compressed(DATA, starts=starts, classes=built[starts])
    print(digest(built))
