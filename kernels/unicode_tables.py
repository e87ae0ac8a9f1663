"""Unicode class tables for the pre-tokenisation scanners: built from the `regex` module, stored as data.

`unicode_classes.npz` holds the class of every code point as runs: `starts` (uint32, first code point of a run) and
`classes` (uint8), with `unicode` (the version of the Unicode database) and `digest` (BLAKE2b of the expanded table).
Python's own `unicodedata` is older than the `regex` module, so the two disagree on thousands of code points; the
scanners must agree with `regex`. Rebuild the file with `python -m kernels.unicode_tables`.
"""

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

CODE_POINTS = 0x110000
DATA = Path(__file__).with_name("unicode_classes.npz")

# Classes of the stored table, in the order in which the character classes below are applied.
OTHER, LOWER, UPPER, UNCASED, MARK, DIGIT, SPACE, NEWLINE, BLANK, QUOTE, SLASH, END = range(12)
CHARACTER_CLASSES = (
    (LOWER, r"\p{Ll}"),
    (UPPER, r"[\p{Lu}\p{Lt}]"),
    (UNCASED, r"[\p{Lm}\p{Lo}]"),
    (MARK, r"\p{M}"),
    (DIGIT, r"\p{N}"),
    (SPACE, r"\s"),
    (NEWLINE, r"[\r\n]"),
    (BLANK, " "),
    (QUOTE, "'"),
    (SLASH, "/"),
)


class TableError(Exception):
    """The stored class table does not match its own digest."""


@cache
def regex_unicode_version() -> str:
    """Unicode version of the installed `regex` module, as its package description states it."""
    import regex

    try:
        description = metadata("regex").json.get("description", "")
    except PackageNotFoundError:
        description = ""
    found = regex.search(r"supports Unicode (\d+\.\d+\.\d+)", str(description))
    return found[1] if found else f"unknown (regex {regex.__version__})"


def build_classes() -> NDArray[np.uint8]:
    """Class of every code point, shape (0x110000,), asked of the installed `regex` module. Surrogates are OTHER."""
    import regex

    points = [*range(0xD800), *range(0xE000, CODE_POINTS)]
    text = "".join(map(chr, points))
    table = np.full(CODE_POINTS, OTHER, np.uint8)
    for number, pattern in CHARACTER_CLASSES:
        members = regex.findall(pattern, text)
        table[np.fromiter(map(ord, members), np.int64, len(members))] = number
    return table


def digest_of(table: NDArray[np.uint8]) -> str:
    """BLAKE2b (16 bytes, hex) of an expanded table."""
    return hashlib.blake2b(table.tobytes(), digest_size=16).hexdigest()


def save_classes(table: NDArray[np.uint8], unicode: str, path: Path = DATA) -> None:
    """Write the table as runs."""
    starts = np.flatnonzero(np.diff(table, prepend=np.uint8(255))).astype(np.uint32)
    np.savez_compressed(
        path, starts=starts, classes=table[starts], unicode=np.array(unicode), digest=np.array(digest_of(table))
    )


@cache
def load_classes(path: Path = DATA) -> tuple[NDArray[np.uint8], str]:
    """The stored table, read-only, shape (0x110000,), and its Unicode version. Raises TableError on damage."""
    with np.load(path, allow_pickle=False) as data:
        starts, classes = data["starts"].astype(np.int64), data["classes"]
        unicode, digest = str(data["unicode"]), str(data["digest"])
    table = np.repeat(classes, np.diff(starts, append=CODE_POINTS))
    if digest_of(table) != digest:
        raise TableError(
            f"{path}: the class table does not match its digest; "
            "restore the file or rebuild it with `python -m kernels.unicode_tables`"
        )
    table.setflags(write=False)
    return table, unicode


if __name__ == "__main__":
    save_classes(build_classes(), regex_unicode_version())
