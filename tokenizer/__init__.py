"""Byte-level BPE: patterns, counts, training, encoding, exports. Works alone, without a pipeline.

Names are loaded when they are first used, so importing this package is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizer.counts import count_pieces, count_pieces_by_group, count_plain_pieces, merge_counts, total_counts
    from tokenizer.export import write_exports
    from tokenizer.model import Tokenizer, TokenizerError
    from tokenizer.patterns import Pattern, pattern
    from tokenizer.tokens import write_tokens
    from tokenizer.trainer import Training, train

_HOMES = {
    "Pattern": "patterns",
    "Tokenizer": "model",
    "TokenizerError": "model",
    "Training": "trainer",
    "count_pieces": "counts",
    "count_pieces_by_group": "counts",
    "count_plain_pieces": "counts",
    "merge_counts": "counts",
    "pattern": "patterns",
    "total_counts": "counts",
    "train": "trainer",
    "write_exports": "export",
    "write_tokens": "tokens",
}

__all__ = [
    "Pattern",
    "Tokenizer",
    "TokenizerError",
    "Training",
    "count_pieces",
    "count_pieces_by_group",
    "count_plain_pieces",
    "merge_counts",
    "pattern",
    "total_counts",
    "train",
    "write_exports",
    "write_tokens",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tokenizer' has no attribute {name!r}")
    return getattr(import_module(f"tokenizer.{_HOMES[name]}"), name)
