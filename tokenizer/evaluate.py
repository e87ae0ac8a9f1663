"""How well a tokenizer fits texts: bytes per token, by group, beside other tokenizers."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tokenizer import splitting
from tokenizer.peers import load_peer

EncodeBatch = Callable[[pa.Array], NDArray[np.int64]]  # texts -> number of ids of each
ALL = "all"


def evaluate(encoders: dict[str, EncodeBatch], texts: pa.Array, groups: Sequence[str]) -> list[dict[str, Any]]:
    """As `evaluate_batches` for one batch."""
    return evaluate_batches(encoders, [(texts, groups)])


def evaluate_batches(
    encoders: dict[str, EncodeBatch], batches: Iterable[tuple[pa.Array, Sequence[str]]]
) -> list[dict[str, Any]]:
    """One row per tokenizer and group, and per tokenizer for all texts together (group "all").

    tokenizer, group, documents, bytes (UTF-8), tokens, bytes_per_token (NULL without tokens), tokens_per_document.
    Special tokens in the texts are ordinary text. batches: texts with one name of a group per text. A group is summed,
    not averaged, so long documents weigh more. Of a batch nothing but sums is kept.
    """
    sums: dict[str, dict[str, NDArray[np.int64]]] = {name: {} for name in encoders}  # documents, bytes, tokens
    for texts, groups in batches:
        texts = splitting.as_large_string(texts)
        if len(groups) != len(texts):
            raise ValueError(f"groups: {len(groups)} names for {len(texts)} texts; give one per text")
        sizes = np.diff(splitting.buffers(texts)[1]) if len(texts) else np.empty(0, np.int64)
        members = {name: np.array([group == name for group in groups], bool) for name in set(groups)}
        for name, count in encoders.items():
            tokens = count(texts)
            for group, here in members.items():
                found = np.array([here.sum(), sizes[here].sum(), tokens[here].sum()], np.int64)
                sums[name][group] = sums[name].get(group, np.zeros(3, np.int64)) + found
    return [row for name, groups in sums.items() for row in _rows(name, groups)]


def _rows(name: str, sums: dict[str, NDArray[np.int64]]) -> list[dict[str, Any]]:
    total: NDArray[np.int64] = np.zeros(3, np.int64)
    for found in sums.values():
        total = total + found
    rows = []
    for group in (*sorted(sums.keys() - {ALL}), ALL):
        documents, size, tokens = (total if group == ALL else sums[group]).tolist()
        rows.append(
            {
                "tokenizer": name,
                "group": group,
                "documents": documents,
                "bytes": size,
                "tokens": tokens,
                "bytes_per_token": size / tokens if tokens else None,
                "tokens_per_document": tokens / documents if documents else None,
            }
        )
    return rows


def encoder(path: str | Path, expression: str | None = None) -> EncodeBatch:
    """The number of ids of texts by the tokenizer at a path; see `peers.load_peer`, also for the errors."""
    peer = load_peer(path, expression)
    return lambda texts: np.diff(peer.encode(texts)[1])
