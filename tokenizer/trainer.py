"""Exact byte-level BPE training from counted pieces.

Base ids 0..255 are the raw bytes, merges follow from 256 in the order in which they were learned, declared special
tokens come last; `vocab_size` counts all three. Each round merges the most frequent pair; a run of equal symbols
counts every adjacent pair, overlaps included. Equal to `tokenizer.reference.train`, and independent of the order of the
pieces.

Tie rules, for pairs with equal counts:
  smallest_ids  the smallest (left id, right id); the default
  cs336         the lexicographically greatest pair of byte strings (Stanford CS336, assignment 1)
  huggingface   the smallest pair of ids where bytes are numbered in the order of GPT-2's printable alphabet, as in the
                `tokenizers` library with its 256 byte-level characters as initial alphabet
`first_seen` (minbpe's) depends on the order of the text and exists in the reference trainer only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

BASE = 256
TIE_RULES = ("smallest_ids", "cs336", "huggingface")
DEFAULT_TIE_RULE = "smallest_ids"
NORMALIZATIONS = ("none", "NFC", "NFKC")
UNLIMITED = 2**31 - 1


@dataclass(frozen=True)
class Training:
    """What a training gave.

    merges: int64, shape (n, 3): left id, right id, count of the pair when it was merged (above 0).
    tied: bool, shape (n,): another pair had the same count, so the tie rule decided.
    asked, reached: vocabulary sizes, special tokens included. reached < asked is a shortfall, never padded.
    pieces_cut, occurrences_cut: distinct pieces (and their occurrences) longer than max_piece_bytes.
    longest_piece: bytes of the longest piece, before cutting.
    """

    merges: NDArray[np.int64]
    tied: NDArray[np.bool_]
    specials: tuple[str, ...]
    tie_rule: str
    asked: int
    reached: int
    pieces_cut: int
    occurrences_cut: int
    longest_piece: int

    @property
    def ties(self) -> int:
        """How many merges were decided by a tie."""
        return int(self.tied.sum())

    @property
    def shortfall(self) -> str | None:
        """A sentence on a vocabulary smaller than asked, or None."""
        if self.reached == self.asked:
            return None
        return f"asked {self.asked}, reached {self.reached}: no further pair occurs often enough to be merged"

    def of_size(self, vocab_size: int) -> "Training":
        """The training that would have asked for a smaller size: its merges are the first of these.

        Raises ValueError for a size above the one that was asked, or without room for bytes and special tokens.
        """
        check_vocab_size(vocab_size, self.specials)
        if vocab_size > self.asked:
            raise ValueError(f"vocab_size: {vocab_size} is above the {self.asked} that was trained")
        merges = self.merges[: vocab_size - BASE - len(self.specials)]
        return replace(
            self,
            merges=merges,
            tied=self.tied[: len(merges)],
            asked=vocab_size,
            reached=BASE + len(merges) + len(self.specials),
        )


def check_specials(specials: Sequence[str]) -> tuple[str, ...]:
    """The declared special tokens. Raises ValueError for an empty, repeated or unencodable one."""
    seen: set[str] = set()
    for special in specials:
        if not special:
            raise ValueError("special_tokens: a special token is empty; remove it")
        if special in seen:
            raise ValueError(f"special_tokens: {special!r} is declared twice; remove one")
        try:
            special.encode()
        except UnicodeEncodeError:
            raise ValueError(f"special_tokens: {special!r} holds a lone surrogate; use valid text") from None
        seen.add(special)
    return tuple(specials)


def check_normalization(form: str) -> str:
    """The form. Raises ValueError for one that is not offered."""
    if form not in NORMALIZATIONS:
        raise ValueError(f"normalization: {form!r} is unknown; use one of {', '.join(NORMALIZATIONS)}")
    return form


def check_vocab_size(vocab_size: int, specials: Sequence[str]) -> None:
    """Raises ValueError unless the vocabulary has room for bytes and special tokens, and ids of 32 bits for it."""
    if vocab_size > UNLIMITED:
        raise ValueError(f"vocab_size: {vocab_size} is too large; ids have 32 bits: use at most {UNLIMITED}")
    needed = BASE + len(specials)
    if vocab_size < needed:
        raise ValueError(
            f"vocab_size: {vocab_size} is too small; need at least {needed} "
            f"({BASE} bytes and {len(specials)} special tokens)"
        )


def train(
    pieces: pa.Table,
    vocab_size: int,
    specials: Sequence[str] = (),
    tie_rule: str = DEFAULT_TIE_RULE,
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    max_piece_bytes: int | None = None,
    given: NDArray[np.int64] | None = None,
) -> Training:
    """Learn the merges from a table with the columns piece (large_binary or binary) and count (int64).

    min_frequency: a pair that occurs less often is never merged. max_token_bytes: a pair whose token would have more
    bytes is never merged. max_piece_bytes: for training only, longer pieces are cut into parts of at most that many
    bytes at UTF-8 boundaries; encoding never cuts. Rows with the same piece are added up. given: int64, shape (n, 2),
    left and right id of merges that come first, as an earlier training gave them; training goes on behind them. Their
    counts are those in these pieces, 0 where they do not occur.

    Raises ValueError for unusable parameters, a negative count, or more than 2**31 bytes of distinct pieces.
    """
    specials = check_specials(specials)
    check_vocab_size(vocab_size, specials)
    check_limits(tie_rule, min_frequency, max_token_bytes, max_piece_bytes)
    store, ends, counts = _flat(pieces)
    sizes = np.diff(ends, prepend=0)
    longest = int(sizes.max(initial=0))
    cut = sizes > (max_piece_bytes or UNLIMITED)
    cut_occurrences = int(counts[cut].sum())
    if max_piece_bytes is not None and cut.any():
        ends, counts = cut_pieces(store, ends, counts, max_piece_bytes)
    wanted = vocab_size - BASE - len(specials)
    first = np.empty((0, 2), np.int64) if given is None else given
    if len(first) > wanted:
        raise ValueError(f"vocab_size: {vocab_size} is too small for the {len(first)} merges that are given")
    found = _merge(store, ends, counts, wanted, tie_rule, min_frequency, max_token_bytes, first)
    return Training(
        merges=np.ascontiguousarray(found[:, :3]),
        tied=found[:, 3] == 1,
        specials=specials,
        tie_rule=tie_rule,
        asked=vocab_size,
        reached=BASE + len(found) + len(specials),
        pieces_cut=int(cut.sum()),
        occurrences_cut=cut_occurrences,
        longest_piece=longest,
    )


def cut_pieces(
    store: NDArray[np.uint8], ends: NDArray[np.int64], counts: NDArray[np.int64], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ends and counts of the same bytes in parts of at most `limit` bytes.

    A part ends at a UTF-8 boundary, unless one character alone is longer than the limit.
    """
    new_ends: list[int] = []
    new_counts: list[int] = []
    start = 0
    for end, count in zip(ends.tolist(), counts.tolist(), strict=True):
        while end - start > limit:
            stop = start + limit
            while stop > start and store[stop] & 0xC0 == 0x80:
                stop -= 1
            if stop == start:
                stop = start + limit
            new_ends.append(stop)
            new_counts.append(count)
            start = stop
        new_ends.append(end)
        new_counts.append(count)
        start = end
    return np.array(new_ends, np.int64), np.array(new_counts, np.int64)


def check_limits(tie_rule: str, min_frequency: int, max_token_bytes: int | None, max_piece_bytes: int | None) -> None:
    """Raises ValueError for an unknown tie rule, and a limit below 1 or beyond 64 bits."""
    if tie_rule not in TIE_RULES:
        raise ValueError(f"tie_rule: {tie_rule!r} is unknown; use one of {', '.join(TIE_RULES)}")
    for name, value in (
        ("min_frequency", min_frequency),
        ("max_token_bytes", max_token_bytes),
        ("max_piece_bytes", max_piece_bytes),
    ):
        if value is not None and value < 1:
            raise ValueError(f"{name}: {value} is too small; use 1 or more")
        if value is not None and value >= 1 << 63:
            raise ValueError(f"{name}: {value} is too large; use less than 2**63")


def _flat(pieces: pa.Table) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """The bytes of all pieces that occur, their ends, their counts."""
    column = pieces["piece"].cast(pa.large_binary()).combine_chunks()
    counts = pieces["count"].cast(pa.int64()).to_numpy()
    if len(counts) and counts.min() < 0:
        raise ValueError(f"count: row {int(counts.argmin())} is negative; counts are 0 or more")
    if len(counts) and counts.min() == 0:
        column, counts = column.filter(pa.array(counts > 0)), counts[counts > 0]
    if not len(counts):
        return np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64)
    _, offsets_buffer, data_buffer = column.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None else np.empty(0, np.uint8)
    ends = offsets[1:] - offsets[0]
    if ends[-1] + len(ends) >= UNLIMITED:
        raise ValueError(f"the distinct pieces have {ends[-1]} bytes; training takes less than 2**31")
    if float(np.dot(np.diff(offsets).astype(float), counts.astype(float))) > 2.0**62:
        raise ValueError("the pieces occur too often: their bytes in all do not fit 64-bit counts")
    return data[offsets[0] : offsets[-1]], ends, counts


def _rare(ends: NDArray[np.int64], counts: NDArray[np.int64], wanted: int) -> int:
    """A count that the last merge surely has: pairs below it need no book-keeping. A guess; wrong, it costs time only.

    On 110 MB of text the last of 32,000 merges occurs 1/31 of (neighbours / merges) times; a hundredth leaves room.
    """
    sizes = np.diff(ends, prepend=0)
    return int(np.dot(sizes - 1, counts)) // (100 * wanted)


def _merge(
    store: NDArray[np.uint8],
    ends: NDArray[np.int64],
    counts: NDArray[np.int64],
    wanted: int,
    tie_rule: str,
    min_frequency: int,
    max_token_bytes: int | None,
    first: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Rows of the kernel: left, right, count, tied; ids of bytes as raw bytes whatever the tie rule numbers them."""
    if not len(ends) or wanted == 0:
        return np.hstack([first, np.zeros_like(first)])
    from kernels import merges

    symbols = np.arange(BASE, dtype=np.uint8)
    if tie_rule == "huggingface":
        from tokenizer.reference import byte_alphabet

        symbols[sorted(range(BASE), key=byte_alphabet().__getitem__)] = np.arange(BASE)
    order = merges.GREATEST_BYTES if tie_rule == "cs336" else merges.SMALLEST_IDS
    limit = max_token_bytes or UNLIMITED
    wanted = min(wanted, len(first) + int(ends[-1]))  # each new merge uses up at least one place between two bytes
    numbered = np.where(first < BASE, symbols[np.minimum(first, BASE - 1)], first)
    keys = np.ascontiguousarray(numbered[:, 0] << 32 | numbered[:, 1])
    least = max(min_frequency, _rare(ends, counts, wanted))
    given = np.ascontiguousarray(store), np.ascontiguousarray(ends), counts, symbols, wanted, order
    found: NDArray[np.int64] = merges.merges(*given, least, limit, keys)
    if len(found) < wanted and least > min_frequency:
        found = merges.merges(*given, min_frequency, limit, keys)
    byte_of = np.argsort(symbols)
    for column in (0, 1):
        base = found[:, column] < BASE
        found[base, column] = byte_of[found[base, column]]
    return found
