"""How well a tokenizer fits texts: bytes per token, by group, beside other tokenizers."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tokenizer import splitting
from tokenizer.model import Tokenizer

EncodeBatch = Callable[[pa.Array], NDArray[np.int64]]  # texts -> number of ids of each
ALL = "all"


def evaluate(encoders: dict[str, EncodeBatch], texts: pa.Array, groups: Sequence[str]) -> list[dict[str, Any]]:
    """One row per tokenizer and group, and per tokenizer for all texts together (group "all").

    tokenizer, group, documents, bytes (UTF-8), tokens, bytes_per_token (NULL without tokens), tokens_per_document.
    Special tokens in the texts are ordinary text. groups: one name per text. A group is summed, not averaged, so long
    documents weigh more.
    """
    texts = splitting.as_large_string(texts)
    if len(groups) != len(texts):
        raise ValueError(f"groups: {len(groups)} names for {len(texts)} texts; give one per text")
    sizes = np.diff(splitting.buffers(texts)[1]) if len(texts) else np.empty(0, np.int64)
    members = {name: np.array([group == name for group in groups], bool) for name in sorted(set(groups))}
    members[ALL] = np.ones(len(texts), bool)
    rows = []
    for name, count in encoders.items():
        tokens = count(texts)
        for group, here in members.items():
            size, number = int(sizes[here].sum()), int(tokens[here].sum())
            rows.append(
                {
                    "tokenizer": name,
                    "group": group,
                    "documents": int(here.sum()),
                    "bytes": size,
                    "tokens": number,
                    "bytes_per_token": size / number if number else None,
                    "tokens_per_document": number / int(here.sum()) if here.any() else None,
                }
            )
    return rows


def encoder(path: str | Path) -> EncodeBatch:
    """The encoder of a folder of ours (model.json), or of a tokenizer.json of Hugging Face.

    Raises ValueError (`TokenizerError` for a damaged folder of ours) where there is neither.
    """
    path = Path(path)
    if (path / "model.json").exists():
        loaded = Tokenizer.load(path)
        return lambda texts: np.diff(loaded.encode_batch(texts).offsets.to_numpy())
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise ValueError(f"{path}: holds neither model.json nor tokenizer.json; give a folder with a tokenizer")
    import tokenizers

    try:
        theirs = tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises plain Exception
        raise ValueError(f"{file}: cannot be loaded ({error}); give a tokenizer.json") from error
    theirs.encode_special_tokens = True

    def count(texts: pa.Array) -> NDArray[np.int64]:
        found = theirs.encode_batch_fast(texts.to_pylist(), add_special_tokens=False)
        return np.array([len(encoding.ids) for encoding in found], np.int64)

    return count
