"""The closing step `tokenizer`: pieces counted per source and licence, a byte-level BPE trained, exported and checked.

Counts depend on the text, the pattern, the special tokens and the hold-out alone; another vocabulary size, tie rule or
source weight costs only the merge loop. A document without a clear licence never enters the counts, whatever the stage
list says. `tokenizer/manifest.json` holds the hash of the curated manifest it was trained from.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from pipeline.stage import Closing, Editor, Params, StageUse, decides
from pipeline.storage import read_table
from stages.license import Status, read

if TYPE_CHECKING:
    from pipeline.sources import Source

HOLD_OUT: Final = "held_out"
UNCLEAR: Final = "license_unknown"

COUNTS: Final = pa.schema(
    [
        pa.field("piece", pa.large_binary()),
        pa.field("source", pa.string()),
        pa.field("license", pa.string()),
        pa.field("count", pa.int64()),
        pa.field("documents", pa.int64()),
    ]
)


class TokenizerParams(Params):
    """Settings of the tokenizer."""

    vocab_size: int = decides(32_768, ge=256, description="Size of the vocabulary: 256 bytes, merges, special tokens.")
    pattern: str = Field("o200k", description="Pre-tokenisation pattern by name, or a regular expression of your own.")
    special_tokens: tuple[str, ...] = Field(
        (), description="Declared special tokens; placeholders of editors join them."
    )
    tie_rule: str = decides("smallest_ids", description="Which of equally frequent pairs is merged first.")
    min_frequency: int = decides(2, ge=1, description="A pair that occurs less often is never merged.")
    max_token_bytes: int | None = decides(None, ge=2, description="A longer token is never made.")
    max_piece_bytes: int | None = decides(
        65_536, ge=4, description="For training only, longer pieces are cut and reported."
    )
    holdout: float = Field(0.0, ge=0, lt=1, description="Share of the curated documents kept out of the counts.")
    name: str = decides("tokenizer", pattern=r"^[A-Za-z0-9._-]+$", description="Name of the .tiktoken file.")
    placeholders: tuple[str, ...] = Field((), description="Filled in: the placeholders that editors of this run write.")
    weights: dict[str, float] = decides({}, description="Filled in: the weight of each source.")

    def declared(self) -> list[str]:
        """All special tokens, in the order of their ids."""
        return [*self.special_tokens, *(p for p in self.placeholders if p not in self.special_tokens)]


class TrainTokenizer(Closing):
    """Curated documents -> counts of pieces -> merges -> a tokenizer folder with its exports."""

    name: ClassVar[str] = "tokenizer"
    Params: ClassVar[type[Params]] = TokenizerParams
    libraries: ClassVar[tuple[str, ...]] = ("license-expression", "regex", "tiktoken", "tokenizers")
    folder: ClassVar[str] = "counts"
    finishes: ClassVar[bool] = True

    @classmethod
    def link(cls, params: TokenizerParams, uses: Sequence[StageUse], sources: Sequence[Source]) -> TokenizerParams:
        """Take over the editors' placeholders and the sources' weights. ValueError where they leave no room."""
        from tokenizer.counts import integer_multipliers
        from tokenizer.patterns import pattern
        from tokenizer.trainer import check_limits, check_specials, check_vocab_size

        if params.placeholders or params.weights:
            raise ValueError(
                "`placeholders` and `weights` are filled in from the stages and sources; take them out here"
            )
        written = [t for use in uses if issubclass(use.stage, Editor) for t in use.stage.declares(use.params)]
        weights = {source.name: source.weight for source in sources if source.weight > 0}
        linked = params.model_copy(
            update={
                "placeholders": tuple(dict.fromkeys(written)),
                "weights": weights | dict.fromkeys(_unused(sources), 0.0),
            }
        )
        pattern(params.pattern)
        integer_multipliers(weights)
        check_specials(linked.special_tokens)
        check_vocab_size(params.vocab_size, linked.declared())
        check_limits(params.tie_rule, params.min_frequency, params.max_token_bytes, params.max_piece_bytes)
        return linked

    @staticmethod
    def each(documents: pa.Table, params: TokenizerParams) -> tuple[pa.Table, dict[str, Any]]:
        """Counts of one shard (schema COUNTS, sorted by piece), and which documents stayed out of them, by reason."""
        from tokenizer.counts import count_pieces_by_group
        from tokenizer.patterns import pattern

        clear = _clear(documents["license"])
        held = held_out(documents["doc_id"], params.holdout)
        used = documents.filter(pa.array(clear & ~held))
        counts = count_pieces_by_group(
            used["text"].combine_chunks(),
            used["placeholders"].combine_chunks(),
            used.select(["source", "license"]),
            pattern(params.pattern),
            params.declared(),
        )
        dropped = {UNCLEAR: int((~clear).sum()), HOLD_OUT: int((clear & held).sum())}
        return counts.select(COUNTS.names).cast(COUNTS), {"dropped": {k: n for k, n in dropped.items() if n}}

    @staticmethod
    def finish(parts: list[Path], params: TokenizerParams, folder: Path) -> dict[str, Any]:
        """Train, and write model.json, the checked exports and tokens.parquet; returns the tokenizer's contract."""
        from tokenizer.counts import integer_multipliers, merge_counts, total_counts
        from tokenizer.export import write_exports
        from tokenizer.model import Tokenizer
        from tokenizer.patterns import pattern
        from tokenizer.tokens import write_tokens
        from tokenizer.train_files import summary
        from tokenizer.trainer import train

        counts = merge_counts([read_table(part) for part in parts])
        used = {source: weight for source, weight in params.weights.items() if weight > 0}
        multipliers = integer_multipliers(used) | dict.fromkeys(params.weights.keys() - used.keys(), 0)
        training = train(
            total_counts(counts, multipliers),
            params.vocab_size,
            params.declared(),
            params.tie_rule,
            params.min_frequency,
            params.max_token_bytes,
            params.max_piece_bytes,
        )
        tokenizer = Tokenizer(pattern(params.pattern), training.merges, params.declared())
        tokenizer.save(folder)
        exports = write_exports(tokenizer, folder, params.name)
        write_tokens(tokenizer, folder, training.merges[:, 2], counts)
        return {
            **tokenizer.contract(),
            **summary(training),
            "shortfall": training.shortfall,
            "multipliers": multipliers,
            "distinct_pieces": counts["piece"].combine_chunks().dictionary_encode().dictionary.__len__(),
            "refused_exports": exports.refused,
        }


def held_out(doc_ids: pa.ChunkedArray, share: float) -> npt.NDArray[np.bool_]:
    """Which documents a hold-out of this share keeps back: those whose doc_id, read as a fraction, lies below it."""
    limit = int(share * (1 << 32))
    return np.array([int(i[:8], 16) < limit for i in doc_ids.to_pylist()], bool)


def _clear(licenses: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    return np.array([read(text).status is Status.KNOWN for text in licenses.to_pylist()], bool)


def _unused(sources: Sequence[Source]) -> list[str]:
    return [source.name for source in sources if source.weight == 0]
