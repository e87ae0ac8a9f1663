"""Why a text has the ids it has: its pieces, their tokens, and the merges in the order in which they happen."""

from bisect import bisect_left
from itertools import pairwise
from typing import Any

import pyarrow as pa

from tokenizer import splitting
from tokenizer.model import Tokenizer
from tokenizer.reference import merge
from tokenizer.trainer import BASE


def explain(tokenizer: Tokenizer, text: str) -> list[dict[str, Any]]:
    """Per piece: `piece` (text), `bytes` (hex), `tokens` and `merges`, as JSON values.

    tokens: id, text, bytes (hex), rank of the merge that made it (None: a byte). merges: rank, left, right and new id,
    and the symbols behind it. Special tokens in the text are ordinary text. The slow, obvious way: merge after merge.
    Raises ValueError for a lone surrogate.
    """
    rank_of = {(left, right): rank for rank, (left, right) in enumerate(tokenizer.merges.tolist())}
    ids = tokenizer.ordinary_ids
    return [_piece(tokenizer, piece, rank_of, ids) for piece in pieces_of(tokenizer, text)]


def pieces_of(tokenizer: Tokenizer, text: str) -> list[bytes]:
    """The pieces of a text, after normalisation."""
    lone = next((at for at, character in enumerate(text) if "\ud800" <= character <= "\udfff"), None)
    if lone is not None:
        raise ValueError(f"the text holds a lone surrogate at {lone}, which has no UTF-8; replace it by U+FFFD")
    segments = splitting.segments_of(splitting.as_large_string(pa.array([text], pa.large_string())))
    segments = splitting.normalised(segments, tokenizer.normalization)
    ends, _ = splitting.split(segments, tokenizer.pattern)
    cuts = [int(segments.starts[0]), *ends.tolist()]
    return [segments.data[a:b].tobytes() for a, b in pairwise(cuts)]


def _piece(tokenizer: Tokenizer, piece: bytes, rank_of: dict[tuple[int, int], int], id_of: list[int]) -> dict[str, Any]:
    ids = list(piece)
    merges = []
    while found := [rank_of[pair] for pair in pairwise(ids) if pair in rank_of]:
        rank = min(found)
        left, right = tokenizer.merges[rank].tolist()
        new = id_of[BASE + rank]
        ids = merge(ids, (left, right), new)
        symbols = [_text(tokenizer.token_bytes(i)) for i in ids]
        merges.append({"rank": rank, "left": left, "right": right, "id": new, "symbols": symbols})
    tokens = [_token(tokenizer, i, id_of) for i in ids]
    return {"piece": _text(piece), "bytes": piece.hex(), "tokens": tokens, "merges": merges}


def _token(tokenizer: Tokenizer, id_: int, id_of: list[int]) -> dict[str, Any]:
    token = tokenizer.token_bytes(id_)
    rank = bisect_left(id_of, id_) - BASE if id_ >= BASE else None
    return {"id": id_, "text": _text(token), "bytes": token.hex(), "rank": rank}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
