"""Which id stands for what: bytes, merges, and special tokens that may stand between the merges."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenizer.trainer import BASE


def merge_pairs(merges: NDArray[np.int64] | Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Left and right ids, int64, shape (n, 2). Raises ValueError for another shape."""
    table = np.asarray(merges, np.int64) if len(merges) else np.empty((0, 2), np.int64)
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError("merges are pairs of a left and a right id")
    return np.ascontiguousarray(table[:, :2])


def hash_of(tokens: Sequence[bytes], merges: NDArray[np.int64], special_tokens: dict[str, int]) -> str:
    """BLAKE2b (32 bytes, hex) over ids and bytes, merges as pairs of ids, and special tokens with their ids."""
    state = hashlib.blake2b(digest_size=32)
    for id_, token in enumerate(tokens):
        state.update(id_.to_bytes(8, "little") + len(token).to_bytes(8, "little") + token)
    state.update(merges.astype("<i8").tobytes())
    state.update(json.dumps(special_tokens, sort_keys=True).encode())
    return state.hexdigest()


def ids_of(merges: int, specials: int, special_ids: Sequence[int] | None) -> NDArray[np.int32]:
    """The ids of bytes, merges and special tokens, in this order; without special_ids special tokens come last.

    Raises ValueError for ids that are not different ones in the range.
    """
    size = BASE + merges + specials
    if special_ids is None:
        return np.arange(size, dtype=np.int32)
    taken = np.array(special_ids, np.int64)
    if len(taken) != specials or len(set(taken.tolist())) != specials or ((taken < BASE) | (taken >= size)).any():
        raise ValueError(f"special_ids: give {specials} different ids from {BASE} to {size - 1}")
    return np.concatenate([np.setdiff1d(np.arange(size), taken), taken]).astype(np.int32)


def stored_ids(content: dict[str, Any]) -> list[int] | None:
    """The ids of the special tokens in a model.json; None where they are the last ones, as by default."""
    specials, id_of = content["specials"], content.get("special_tokens", {})
    last = range(content["vocab_size"] - len(specials), content["vocab_size"])
    ids = [id_of.get(special) for special in specials]
    return None if ids == list(last) or None in ids or len(id_of) != len(ids) else ids


def token_bytes(merges: NDArray[np.int64], ids: NDArray[np.int32], specials: Sequence[str]) -> list[bytes]:
    """Bytes of all ids. Raises ValueError for merges that do not build on earlier ones or make a token twice."""
    tokens = [bytes([b]) for b in range(BASE)]
    rank_of = {id_: rank for rank, id_ in enumerate(ids[: BASE + len(merges)].tolist())}
    for rank, (left, right) in enumerate(merges.tolist()):
        a, b = rank_of.get(left, len(tokens)), rank_of.get(right, len(tokens))
        if a >= len(tokens) or b >= len(tokens):
            raise ValueError(f"merge {rank} ({left}, {right}) does not build on earlier ids")
        tokens.append(tokens[a] + tokens[b])
    if len(set(tokens)) != len(tokens):
        seen: set[bytes] = set()
        twice = next(token for token in tokens if token in seen or seen.add(token))  # type: ignore[func-returns-value]
        raise ValueError(f"two merges make the same bytes {twice!r}")
    tokens += [special.encode() for special in specials]
    return [tokens[place] for place in np.argsort(ids).tolist()]
