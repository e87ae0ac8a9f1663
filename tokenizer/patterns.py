"""Pre-tokenisation patterns as data: they cut a text into pieces, which merges never cross.

Each pattern has its exact regular expression (syntax of the `regex` module), the Unicode version of the class table
that decides what `\\p{L}` and its like mean, and a hash of both, which belongs to a tokenizer's contract: another
pattern or another Unicode version gives other ids.

The expressions are those of the tokenizers they are named after: GPT-2 (Radford et al. 2019) and cl100k/o200k as
published with tiktoken, Llama 3 and Qwen 2 as in their tokenizer.json. cl100k is kept in its first published form,
which other libraries can carry (`\\s++$` of later releases means another thing in Oniguruma); the two differ only
where a text ends in a line break followed by other white space. `starcoder` isolates each digit and then applies gpt2
between them, written as one expression. `deepseek-coder` and `deepseek-v3` are several expressions, as in their
tokenizer.json: each isolates its matches inside the pieces of the one before. `bytes` does not split: each text is one
piece.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from kernels import unicode_tables
from tokenizer.expressions import checked

GPT2_FAMILY, CL100K_FAMILY, O200K_FAMILY = range(3)  # as in kernels/scanners.py, which this module must not import

_WORD = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_TAIL = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_PREFIX = r"[^\r\n\p{L}\p{N}]?"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"


def _cl100k(numbers: str) -> str:
    return rf"{_SUFFIX}|{_PREFIX}\p{{L}}+|{numbers}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACES}"


GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = _cl100k(r"\p{N}{1,3}")
QWEN2 = _cl100k(r"\p{N}")
O200K = "|".join(
    (
        rf"{_PREFIX}{_WORD}*{_TAIL}+{_SUFFIX}?",
        rf"{_PREFIX}{_WORD}+{_TAIL}*{_SUFFIX}?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        _SPACES,
    )
)
STARCODER = r"\p{N}|'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+"
BYTES = r"(?s:.+)"

DEEPSEEK_V3 = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CJK = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
# Expressions that cut first, each inside the pieces of the one before it.
_BEFORE = {
    "deepseek-coder": (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _CJK),
    "deepseek-v3": (r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"),
}

# name -> expression, family of its scanner (None: the `regex` module), longest number in digits
_NAMED: dict[str, tuple[str, int | None, int]] = {
    "gpt2": (GPT2, GPT2_FAMILY, 0),
    "cl100k": (CL100K, CL100K_FAMILY, 3),
    "o200k": (O200K, O200K_FAMILY, 3),
    "llama3": (CL100K, CL100K_FAMILY, 3),
    "qwen2": (QWEN2, CL100K_FAMILY, 1),
    "starcoder": (STARCODER, GPT2_FAMILY, 1),
    "deepseek-coder": (r"\p{N}", None, 0),
    "deepseek-v3": (DEEPSEEK_V3, None, 0),
    "bytes": (BYTES, None, 0),
}
NAMES = tuple(_NAMED)
DEFAULT = "o200k"


class PatternError(ValueError):
    """A pattern that is neither a known name nor a usable regular expression."""


@dataclass(frozen=True)
class Pattern:
    """One pattern. name is "custom" for an expression of the user's own; unicode is a Unicode version.

    before: expressions that cut first; regex then cuts inside their pieces.
    """

    name: str
    regex: str
    unicode: str
    family: int | None = None
    digits: int = 0
    before: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple[str, ...]:
        """All expressions, in the order in which they cut."""
        return (*self.before, self.regex)

    @property
    def splits(self) -> bool:
        """False for `bytes`, where each text is one piece."""
        return self.name != "bytes"

    @cached_property
    def hash(self) -> str:
        """BLAKE2b (16 bytes, hex) over the expression and the Unicode version."""
        parts: dict[str, object] = {"regex": self.regex, "unicode": self.unicode}
        if self.before:
            parts["before"] = self.before
        text = json.dumps(parts, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @cached_property
    def table(self) -> NDArray[np.uint8]:
        """The class table of the pattern's scanner, shape (0x110000,), read-only."""
        return _family_table(self.family if self.family is not None else O200K_FAMILY)


@cache
def _family_table(family: int) -> NDArray[np.uint8]:
    from kernels import scanners

    table = scanners.family_table(unicode_tables.load_classes()[0], family)
    table.setflags(write=False)
    return table


def pattern(name_or_regex: str = DEFAULT) -> Pattern:
    """The pattern of that name, or else the user's own expression.

    Raises PatternError for an expression that does not compile, can match an empty text or takes exponential time (see
    `tokenizer.expressions`). A single lower-case word that is no known name is taken for a misspelt one, not for an
    expression.
    """
    if name_or_regex in _NAMED:
        regex, family, digits = _NAMED[name_or_regex]
        by_table = family is not None or name_or_regex == "bytes"
        unicode = unicode_tables.load_classes()[1] if by_table else unicode_tables.regex_unicode_version()
        return Pattern(name_or_regex, regex, unicode, family, digits, _BEFORE.get(name_or_regex, ()))
    return _custom(name_or_regex)


def _custom(expression: str) -> Pattern:
    import regex

    if expression.replace("_", "").replace("-", "").isalnum():
        import difflib

        near = difflib.get_close_matches(expression, NAMES, 1, 0.4)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise PatternError(
            f"unknown pattern {expression!r}{hint} Known names: {', '.join(NAMES)}; or give a regular expression"
        )
    if not expression:
        raise PatternError("the pattern is empty; use 'bytes' for no splitting")
    try:
        compiled = checked(expression)
    except ValueError as error:
        raise PatternError(f"the pattern {error}") from error
    if compiled.flags & regex.REVERSE:
        raise PatternError(f"the pattern {expression!r} searches backwards; take out (?r)")
    return Pattern("custom", expression, unicode_tables.regex_unicode_version())
