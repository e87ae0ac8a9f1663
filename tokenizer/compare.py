"""Two tokenizers side by side: what they are, and how they cut the same texts.

Texts come in batches and are forgotten; what is kept is one sum per group and the stretches of text that the two cut
differently (`tokenizer.stretches`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tokenizer import splitting
from tokenizer.expressions import SlowExpressionError
from tokenizer.peers import Peer
from tokenizer.stretches import Bytes, Cuts, Stretches, Text, equal_rows, same_ids
from tokenizer.stretches import as_text as text_of

ALL = "all"
SHOWN = 20  # tokens, stretches and failures that are listed unless told otherwise
_EXCERPT = 60
_BLOCK_BYTES = 1 << 21


@dataclass(frozen=True)
class Batch:
    """Some texts. places: where each is from. groups: the value of each text by name (`source`, `lang`)."""

    texts: pa.Array
    places: Sequence[str]
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)


# --- what they are ------------------------------------------------------------------------------------------------


def compare_models(a: Peer, b: Peer, shown: int = SHOWN) -> dict[str, Any]:
    """Facts of both, what agrees, shared and other tokens, special tokens, and the first merge where they part."""
    id_a, id_b = ({token: id_ for id_, token in peer.tokens.items()} for peer in (a, b))
    shared = id_a.keys() & id_b.keys()
    special_a, special_b = dict(a.special_tokens), dict(b.special_tokens)
    both = special_a.keys() & special_b.keys()
    same_hash = a.vocabulary_hash is not None and a.vocabulary_hash == b.vocabulary_hash
    return {
        "a": _facts(a),
        "b": _facts(b),
        "same": {
            "pattern": a.steps == b.steps,
            "normalization": a.normalization == b.normalization,
            "special_tokens": special_a == special_b,
            "vocabulary_hash": same_hash,
        },
        "tokens": {
            "shared": len(shared),
            "shared_with_the_same_id": sum(id_a[token] == id_b[token] for token in shared),
            "only_a": len(id_a) - len(shared),
            "only_b": len(id_b) - len(shared),
            "first_only_a": _listed(a, id_b, shown),
            "first_only_b": _listed(b, id_a, shown),
        },
        "special_tokens": {
            "shared": len(both),
            "other_id": {s: [special_a[s], special_b[s]] for s in sorted(both) if special_a[s] != special_b[s]},
            "only_a": sorted(special_a.keys() - both),
            "only_b": sorted(special_b.keys() - both),
        },
        "first_other_merge": _first_other_merge(a, b),
    }


def _facts(peer: Peer) -> dict[str, Any]:
    return {
        "kind": peer.kind,
        "vocab_size": peer.vocab_size,
        "merges": None if peer.merges is None else len(peer.merges),
        "special_tokens": len(peer.special_tokens),
        "pattern": peer.pattern,
        "normalization": peer.normalization,
        "vocabulary_hash": peer.vocabulary_hash,
    }


def _listed(peer: Peer, other: Mapping[bytes, int], shown: int) -> list[dict[str, Any]]:
    """The first tokens by id that the other does not have."""
    ids = [id_ for id_ in sorted(peer.tokens) if peer.tokens[id_] not in other][:shown]
    return [{"id": id_, "text": text_of(peer.tokens[id_]), "bytes": peer.tokens[id_].hex()} for id_ in ids]


def _first_other_merge(a: Peer, b: Peer) -> dict[str, Any] | None:
    """Rank and both merges, as texts (None: it has no more); None where one list is the other, or has no merges."""
    if a.merges is None or b.merges is None or a.merges == b.merges:
        return None
    least = min(len(a.merges), len(b.merges))
    pairs = zip(a.merges, b.merges, strict=False)
    rank = next((rank for rank, (one, other) in enumerate(pairs) if one != other), least)
    found: dict[str, Any] = {"rank": rank}
    for name, merges in (("a", a.merges), ("b", b.merges)):
        found[name] = [text_of(part) for part in merges[rank]] if rank < len(merges) else None
    return found


# --- how they cut texts -------------------------------------------------------------------------------------------


class Comparison:
    """Counts of two tokenizers over any number of batches."""

    def __init__(self, a: Peer, b: Peer, shown: int = SHOWN) -> None:
        self.peers, self.shown = (a, b), shown
        self._tables = [Bytes(peer) for peer in self.peers]
        # (group's name, its value) -> sums, as _COLUMNS
        self._sums: dict[tuple[str, str], NDArray[np.int64]] = {(ALL, ALL): np.zeros(len(_COLUMNS), np.int64)}
        self._stretches = Stretches()
        self._failures: list[list[dict[str, str]]] = [[], []]

    def add(self, batch: Batch) -> None:
        """Encode the texts of a batch with both and count, in blocks: arrays take about forty times the text."""
        texts = splitting.as_large_string(batch.texts)
        for first, end in splitting.blocks(texts, _BLOCK_BYTES):
            groups = {name: values[first:end] for name, values in batch.groups.items()}
            try:
                self._add_block(texts.slice(first, end - first), batch.places[first:end], groups)
            except SlowExpressionError as error:
                rows = (row for row in range(first, end) if error.text in texts[row].as_py())
                place = next((f"{batch.places[row]}: " for row in rows), "")
                raise ValueError(f"{place}{error}") from error

    def _add_block(self, texts: pa.Array, places: Sequence[str], groups: Mapping[str, Sequence[str]]) -> None:
        data, offsets = splitting.buffers(texts)
        given = Text(data[offsets[0] : offsets[-1]], offsets - offsets[0])
        cuts = [Cuts.of(table, peer.encode(texts)) for table, peer in zip(self._tables, self.peers, strict=True)]
        table = np.zeros((len(texts), len(_COLUMNS)), np.int64)
        table[:, _DOCUMENTS] = 1
        table[:, _BYTES] = np.diff(offsets)
        table[:, _WORDS] = _words(texts)
        for side, cut in enumerate(cuts):
            table[:, _TOKENS + side] = np.diff(cut.offsets)
            lost = self._not_returning(side, cut, given, texts)
            table[:, _LOST + side] = lost
            self._note(side, lost, texts, places)
        table[:, _SAME_IDS] = same_ids(*cuts)
        comparable = equal_rows(cuts[0].decoded, cuts[1].decoded)
        table[:, _UNALIGNED] = ~comparable
        table[comparable, _SAME_CUTS] = self._stretches.add(cuts[0].only(comparable), cuts[1].only(comparable))
        for name, values in ((ALL, [ALL] * len(texts)), *groups.items()):
            self._add(name, values, table)

    def _add(self, name: str, values: Sequence[str], table: NDArray[np.int64]) -> None:
        column = np.array(values, object)
        for value in sorted(set(values)):
            sums = self._sums.setdefault((name, value), np.zeros(len(_COLUMNS), np.int64))
            sums += table[column == value].sum(axis=0)

    def _not_returning(self, side: int, cut: Cuts, given: Text, texts: pa.Array) -> NDArray[np.bool_]:
        decode = self.peers[side].decode
        if decode is None:
            return ~equal_rows(cut.decoded, given)
        rows = np.split(cut.ids, cut.offsets[1:-1]) if len(texts) else []
        back = [decode(ids.tolist()) != text for ids, text in zip(rows, texts.to_pylist(), strict=True)]
        return np.array(back, bool)

    def _note(self, side: int, lost: NDArray[np.bool_], texts: pa.Array, places: Sequence[str]) -> None:
        for row in np.flatnonzero(lost)[: self.shown - len(self._failures[side])].tolist():
            text = texts[row].as_py()
            begin = text[:_EXCERPT] + ("…" if len(text) > _EXCERPT else "")
            self._failures[side].append({"place": places[row], "begins": begin})

    def result(self) -> dict[str, Any]:
        """JSON values: `groups` (all texts together first), `pieces` with `pieces_exact`, and `round_trip`."""
        order = sorted(self._sums, key=lambda key: (key[0] != ALL, key))
        total = self._sums[ALL, ALL]
        return {
            "groups": [_row(*key, self._sums[key]) for key in order],
            "pieces": {
                "a_needs_more": self._stretches.largest(self.shown, 1),
                "b_needs_more": self._stretches.largest(self.shown, -1),
                "exact": self._stretches.exact,
                "longer_than_listed": self._stretches.long,
            },
            "round_trip": {
                name: {"failures": int(total[_LOST + side]), "first": self._failures[side]}
                for side, name in enumerate("ab")
            },
        }


def compare(a: Peer, b: Peer, batches: Iterable[Batch], shown: int = SHOWN) -> dict[str, Any]:
    """`compare_models` and, where there are texts, `Comparison.result`, as one dict of JSON values."""
    found = compare_models(a, b, shown)
    counted = Comparison(a, b, shown)
    empty = True
    for batch in batches:
        counted.add(batch)
        empty = False
    return found if empty else found | counted.result()


_COLUMNS = (
    "documents",
    "bytes",
    "words",
    "tokens_a",
    "tokens_b",
    "lost_a",
    "lost_b",
    "same_ids",
    "same_cuts",
    "unaligned",
)
_DOCUMENTS, _BYTES, _WORDS, _TOKENS, _LOST, _SAME_IDS, _SAME_CUTS, _UNALIGNED = 0, 1, 2, 3, 5, 7, 8, 9


def _row(by: str, value: str, sums: NDArray[np.int64]) -> dict[str, Any]:
    """One group. tokens_per_word is the fertility (Rust et al. 2021, section 3.2); NULL stands for a division by 0."""

    def share(part: int, whole: int) -> float | None:
        return part / whole if whole else None

    n = dict(zip(_COLUMNS, sums.tolist(), strict=True))
    sides = {
        name: {
            "tokens": n[f"tokens_{name}"],
            "bytes_per_token": share(n["bytes"], n[f"tokens_{name}"]),
            "tokens_per_word": share(n[f"tokens_{name}"], n["words"]),
            "round_trip_failures": n[f"lost_{name}"],
        }
        for name in "ab"
    }
    return {
        "by": by,
        "group": value,
        **{name: n[name] for name in ("documents", "bytes", "words")},
        **sides,
        "same_ids": share(n["same_ids"], n["documents"]),
        "same_cuts": share(n["same_cuts"], n["documents"]),
        "unaligned": n["unaligned"],
    }


def _words(texts: pa.Array) -> NDArray[np.int64]:
    """Words of each text: runs between white space with a letter or number; single characters in unspaced scripts."""
    from kernels import words

    found = [np.empty(0, np.int64)]
    for first, end in splitting.blocks(texts):
        data, offsets = splitting.buffers(texts.slice(first, end - first))
        found.append(words.Scan(offsets, data).counts[:, words.WORDS])
    return np.concatenate(found)
