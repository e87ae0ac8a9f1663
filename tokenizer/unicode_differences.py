"""Where the libraries that our exports are loaded by give a character another class than our own table does.

A class such as `\\p{L}` means what a library's Unicode version says. Ours is newer, so a character that was assigned in
between may be cut otherwise there. The libraries are asked; nothing is assumed about their versions. tiktoken is asked
about every code point; `tokenizers`, which is slow at it, about every assigned one but the large uniform blocks (Han,
Hangul, private use), and there about those that tiktoken sees otherwise than we do.
"""

import re
from functools import cache
from importlib.metadata import version

import numpy as np

from tokenizer.patterns import Pattern

_CLASS = re.compile(r"\\[pP]\{(\w+)\}|\\([sS])")


def unicode_differences(pattern: Pattern) -> dict[str, dict[str, str]]:
    """By library ("tiktoken 0.14.0"), by class of the pattern: the code points it decides otherwise than we do.

    Written as ranges: "U+0558, U+058B-U+058C". Only classes that differ are named; empty without differences.
    """
    names = {f"\\p{{{m[1]}}}" if m[1] else "\\s" for step in pattern.steps for m in _CLASS.finditer(step)}
    found: dict[str, dict[str, str]] = {}
    for library, ask in (("tiktoken", _tiktoken), ("tokenizers", _tokenizers)):
        differing = {name: _ranges(_ours(name) ^ ask(name)) for name in sorted(names)}
        if any(differing.values()):
            found[f"{library} {version(library)}"] = {name: text for name, text in differing.items() if text}
    return found


@cache
def _every_character() -> str:
    points = np.concatenate([np.arange(0xD800), np.arange(0xE000, 0x110000)])
    return points.astype("<u4").tobytes().decode("utf-32-le")


@cache
def _not_uniform() -> frozenset[str]:
    import regex

    return frozenset(regex.findall(r"(?V1)[\P{Cn}--[\p{Han}\p{Hangul}\p{Co}]]", _every_character()))


@cache
def _ours(name: str) -> frozenset[str]:
    import regex

    return frozenset(regex.findall(name, _every_character()))


@cache
def _tiktoken(name: str) -> frozenset[str]:
    import tiktoken

    ranks = {bytes([b]): b for b in range(256)}
    encoding = tiktoken.Encoding("class", pat_str=name, mergeable_ranks=ranks, special_tokens={})
    return frozenset(encoding.decode(encoding.encode_ordinary(_every_character())))


@cache
def _tokenizers(name: str) -> frozenset[str]:
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    asked = "".join(sorted(_not_uniform() | (_ours(name) ^ _tiktoken(name))))
    kept = Split(Regex(name), "removed").pre_tokenize_str(asked)
    theirs = frozenset(asked).difference(*(piece for piece, _ in kept))
    return theirs | (_ours(name) - frozenset(asked))


def _ranges(characters: frozenset[str]) -> str:
    points = sorted(map(ord, characters))
    parts: list[list[int]] = []
    for point in points:
        if parts and parts[-1][1] == point - 1:
            parts[-1][1] = point
        else:
            parts.append([point, point])
    return ", ".join(f"U+{a:04X}" if a == b else f"U+{a:04X}-U+{b:04X}" for a, b in parts)
