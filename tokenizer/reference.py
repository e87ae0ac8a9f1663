"""Byte-level BPE training the slow, obvious way: count all pairs, merge the most frequent, count again.

This module is documentation and oracle: the fast trainer must give the same merges. It follows the byte-level BPE of
Sennrich et al. (2016) and Radford et al. (2019) with the base ids 0..255 for the raw bytes.

>>> train({b"aabaab": 1}, 2)
[(97, 97, 2), (256, 98, 2)]
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

Pair = tuple[int, int]
TieRule = Callable[[Pair, Sequence[bytes]], object]


def byte_alphabet() -> dict[int, str]:
    """The printable character that stands for each byte in GPT-2's files: itself where it prints, else U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [b for b in range(256) if b not in printable]
    return {b: chr(b) for b in printable} | {b: chr(0x100 + k) for k, b in enumerate(rest)}


def get_stats(words: Sequence[tuple[list[int], int]]) -> dict[Pair, int]:
    """How often each pair of neighbours occurs. A run of n equal symbols counts n - 1 pairs, overlaps included.

    >>> get_stats([([97, 97, 97, 97, 97], 1), ([98, 99], 3)])
    {(97, 97): 4, (98, 99): 3}
    """
    stats: dict[Pair, int] = {}
    for ids, count in words:
        for pair in pairwise(ids):
            stats[pair] = stats.get(pair, 0) + count
    return stats


def merge(ids: Sequence[int], pair: Pair, new: int) -> list[int]:
    """ids with every occurrence of the pair replaced, from left to right.

    >>> merge([1, 1, 1, 2], (1, 1), 3)
    [3, 1, 2]
    """
    out: list[int] = []
    i = 0
    while i < len(ids):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def smallest_ids(pair: Pair, tokens: Sequence[bytes]) -> object:
    """Ties go to the smallest (left id, right id)."""
    return -pair[0], -pair[1]


def cs336(pair: Pair, tokens: Sequence[bytes]) -> object:
    """Ties go to the lexicographically greatest pair of byte strings (Stanford CS336, assignment 1)."""
    return tokens[pair[0]], tokens[pair[1]]


def huggingface(pair: Pair, tokens: Sequence[bytes]) -> object:
    """Ties go to the smallest pair of ids, where bytes are numbered in the order of GPT-2's printable alphabet."""
    return -_alphabet_id(pair[0]), -_alphabet_id(pair[1])


def first_seen(pair: Pair, tokens: Sequence[bytes]) -> object:
    """Ties go to the pair that a count in the order of the pieces meets first: minbpe's rule; depends on that order."""
    return 0


_ORDER = {ord_: k for k, ord_ in enumerate(sorted(range(256), key=byte_alphabet().__getitem__))}


def _alphabet_id(token: int) -> int:
    return _ORDER.get(token, token)


TIE_RULES: dict[str, TieRule] = {
    "smallest_ids": smallest_ids,
    "cs336": cs336,
    "huggingface": huggingface,
    "first_seen": first_seen,
}


def train(
    pieces: Mapping[bytes, int],
    merges: int,
    tie_rule: str = "smallest_ids",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    given: Sequence[Pair] = (),
) -> list[tuple[int, int, int]]:
    """Up to `merges` merges (left id, right id, count of the pair when it was merged) from pieces with counts.

    They follow the merges that are given, which are not among those returned. Stops when no pair is left that occurs
    min_frequency times and whose token would have at most max_token_bytes bytes.
    """
    rule = TIE_RULES[tie_rule]
    words = [(list(piece), count) for piece, count in pieces.items()]
    tokens = [bytes([b]) for b in range(256)]
    for pair in given:
        words = [(merge(ids, pair, len(tokens)), count) for ids, count in words]
        tokens.append(tokens[pair[0]] + tokens[pair[1]])
    out: list[tuple[int, int, int]] = []
    while len(out) < merges:
        stats = {
            pair: count
            for pair, count in get_stats(words).items()
            if count >= max(min_frequency, 1)
            and (max_token_bytes is None or len(tokens[pair[0]] + tokens[pair[1]]) <= max_token_bytes)
        }
        if not stats:
            break
        best = max(stats, key=lambda pair: (stats[pair], rule(pair, tokens)))
        words = [(merge(ids, best, len(tokens)), count) for ids, count in words]
        tokens.append(tokens[best[0]] + tokens[best[1]])
        out.append((*best, stats[best]))
    return out
