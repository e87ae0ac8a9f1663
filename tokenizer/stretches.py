"""Where two tokenizers cut the same texts differently, as arrays.

A *stretch* is a smallest run of bytes at whose ends both have a token's end: where the two agree it is one token, where
they do not, it is the shortest text that shows it. Stretches need no common pattern or vocabulary.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tokenizer.peers import Encoded, Peer

MOST_BYTES = 256  # a longer stretch is counted, and not listed
MOST_STRETCHES = 1 << 19  # different stretches that are kept; beyond, the half with the smallest differences goes


@dataclass(frozen=True)
class Text:
    """Bytes of texts, one after the other, and n + 1 offsets."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]


class Bytes:
    """The bytes of every id of a peer, as arrays: start and size by id in one store."""

    def __init__(self, peer: Peer) -> None:
        every = dict(peer.tokens) | {id_: special.encode() for special, id_ in peer.special_tokens.items()}
        self.size = np.zeros(max(every, default=-1) + 1, np.int64)
        for id_, token in every.items():
            self.size[id_] = len(token)
        self.start = np.cumsum(self.size) - self.size
        self.store = np.frombuffer(b"".join(every[id_] for id_ in sorted(every)), np.uint8)


@dataclass(frozen=True)
class Cuts:
    """Ids of texts (offsets: n + 1), bytes of each, and what they stand for."""

    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]
    decoded: Text

    @classmethod
    def of(cls, table: Bytes, encoded: Encoded) -> Self:
        ids, offsets = encoded
        sizes = table.size[ids]
        ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        where = np.arange(ends[-1]) + np.repeat(table.start[ids] - ends[:-1], sizes)
        return cls(ids, offsets, sizes, Text(table.store[where], ends[offsets]))

    def only(self, rows: NDArray[np.bool_]) -> Self:
        """The same of some texts."""
        if rows.all():
            return self
        kept = np.repeat(rows, np.diff(self.offsets))
        data = self.decoded.data[np.repeat(rows, np.diff(self.decoded.offsets))]
        text = Text(data, _offsets(np.diff(self.decoded.offsets)[rows]))
        return type(self)(self.ids[kept], _offsets(np.diff(self.offsets)[rows]), self.sizes[kept], text)


def _offsets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def equal_rows(a: Text, b: Text) -> NDArray[np.bool_]:
    """Which texts are the same bytes."""
    equal = np.diff(a.offsets) == np.diff(b.offsets)
    here, there = (text.data[np.repeat(equal, np.diff(text.offsets))] for text in (a, b))
    other = _offsets(np.diff(a.offsets)[equal])
    differing = np.searchsorted(other, np.flatnonzero(here != there), "right") - 1
    equal[np.flatnonzero(equal)[differing]] = False
    return equal


def same_ids(a: Cuts, b: Cuts) -> NDArray[np.bool_]:
    """Which texts have the same ids; compared as texts of ids."""
    one, other = (Text(cuts.ids, cuts.offsets) for cuts in (a, b))  # type: ignore[arg-type]
    return equal_rows(one, other)


class Stretches:
    """What two tokenizers cut differently: how often each stretch was met, with how many tokens."""

    def __init__(self) -> None:
        self._found: dict[bytes, list[int]] = {}  # stretch -> times, tokens of a, tokens of b
        self.long, self.exact = 0, True

    def add(self, a: Cuts, b: Cuts) -> NDArray[np.bool_]:
        """Count the stretches of texts that both decode to the same bytes; which texts are cut at the same places."""
        ends = [np.cumsum(cuts.sizes[cuts.sizes > 0]) for cuts in (a, b)]
        common = np.intersect1d(ends[0], ends[1], assume_unique=True)
        tokens = [np.diff(np.searchsorted(end, common, "right"), prepend=0) for end in ends]
        sizes = np.diff(common, prepend=0)
        other = (tokens[0] > 1) | (tokens[1] > 1)
        listed = (tokens[0] != tokens[1]) & (sizes <= MOST_BYTES)
        self.long += int(((tokens[0] != tokens[1]) & (sizes > MOST_BYTES)).sum())
        starts = _offsets(sizes)
        column = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(),
            len(sizes),
            [None, pa.py_buffer(starts), pa.py_buffer(np.ascontiguousarray(a.decoded.data))],
        )
        chosen = pa.table({"piece": column, "a": tokens[0], "b": tokens[1]}).filter(pa.array(listed))
        summed = chosen.group_by("piece", use_threads=False).aggregate([("a", "count"), ("a", "sum"), ("b", "sum")])
        for piece, *numbers in zip(*(summed[name].to_pylist() for name in summed.column_names), strict=True):
            kept = self._found.setdefault(piece, [0, 0, 0])
            for place, number in enumerate(numbers):
                kept[place] += number
        self._bound()
        parted = np.searchsorted(a.decoded.offsets, starts[:-1][other], "right") - 1
        same = np.ones(len(a.offsets) - 1, bool)
        same[parted] = False
        return same

    def _bound(self) -> None:
        if len(self._found) > MOST_STRETCHES:
            order = sorted(self._found.items(), key=lambda item: (-abs(item[1][1] - item[1][2]), item[0]))
            self._found = dict(order[: MOST_STRETCHES // 2])
            self.exact = False

    def largest(self, shown: int, sign: int) -> list[dict[str, Any]]:
        """The stretches with the largest difference in tokens: more of a (sign 1) or of b (-1)."""
        differing = [(piece, n, sign * (a - b), a, b) for piece, (n, a, b) in self._found.items() if sign * (a - b) > 0]
        differing.sort(key=lambda row: (-row[2], row[0]))
        return [
            {
                "piece": as_text(piece),
                "bytes": piece.hex(),
                "count": n,
                "tokens_a": a,
                "tokens_b": b,
                "difference": more,
            }
            for piece, n, more, a, b in differing[:shown]
        ]


def as_text(data: bytes) -> str:
    """Bytes as text; what is no UTF-8 in hexadecimal."""
    return data.decode("utf-8", "backslashreplace")
