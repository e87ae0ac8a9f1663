"""The closing step `tokenizer`: pieces counted per source and licence, a byte-level BPE trained, exported and checked.

Counts depend on the text, the pattern, the special tokens and the hold-out alone; another vocabulary size, tie rule or
source weight costs only the merge loop. A document without a clear licence never enters the counts, whatever the stage
list says. `tokenizer/manifest.json` holds the hash of the curated manifest it was trained from.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, field_validator

from pipeline.stage import Closing, Editor, Params, StageUse, decides
from stages.license import Status, read
from stages.token_counts import SummedCounts

if TYPE_CHECKING:
    from pipeline.sources import Source
    from tokenizer.trainer import Training

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
    normalization: Literal["none", "NFC", "NFKC"] = Field(
        "none",
        description="Unicode normalisation before pieces are cut; what decodes is then the normalised text.",
    )
    vocab_sizes: tuple[int, ...] = decides(
        (), description="Further sizes from the same merges, each in a folder of its own: size-4096, say."
    )
    pad_to_multiple: int = decides(
        1,
        ge=1,
        le=1 << 16,
        description="Ids are rounded up to a multiple of this; the reserved ones are never produced.",
    )
    temperature: float = decides(
        1.0, ge=1, description="Shares of sources follow weight times bytes ** (1 / temperature): above 1 they flatten."
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

    @field_validator("vocab_size", "vocab_sizes", mode="before")
    @classmethod
    def _in_full(cls, value: Any) -> Any:
        for size in value if isinstance(value, list | tuple) else (value,):
            if isinstance(size, str) and re.fullmatch(r"\d+(\.\d+)?\s*[kK]", size):
                thousands = float(size.rstrip("kK "))
                raise ValueError(
                    f"{size!r} may mean {thousands * 1000:.0f} or {thousands * 1024:.0f}: write the number"
                )
        return value

    @field_validator("pattern")
    @classmethod
    def _usable(cls, name: str) -> str:
        from tokenizer.patterns import pattern

        pattern(name)
        return name

    def declared(self) -> list[str]:
        """All special tokens, in the order of their ids."""
        return [*self.special_tokens, *(p for p in self.placeholders if p not in self.special_tokens)]


class TrainTokenizer(Closing):
    """Curated documents -> counts of pieces -> merges -> a tokenizer folder with its exports."""

    name: ClassVar[str] = "tokenizer"
    Params: ClassVar[type[Params]] = TokenizerParams
    libraries: ClassVar[tuple[str, ...]] = ("duckdb", "license-expression", "regex", "tiktoken", "tokenizers")
    folder: ClassVar[str] = "counts"
    finishes: ClassVar[bool] = True

    @classmethod
    def link(cls, params: TokenizerParams, uses: Sequence[StageUse], sources: Sequence[Source]) -> TokenizerParams:
        """Take over the editors' placeholders and the sources' weights. ValueError where they leave no room."""
        from tokenizer.counts import integer_multipliers
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
        integer_multipliers(weights)
        check_specials(linked.special_tokens)
        for size in (params.vocab_size, *params.vocab_sizes):
            check_vocab_size(size, linked.declared())
        check_limits(params.tie_rule, params.min_frequency, params.max_token_bytes, params.max_piece_bytes)
        return linked

    @staticmethod
    def each(documents: pa.Table, params: TokenizerParams) -> tuple[pa.Table, dict[str, Any]]:
        """Counts of one shard (schema COUNTS, sorted by piece), and which documents stayed out of them, by reason."""
        from tokenizer.counts import count_pieces_by_group
        from tokenizer.expressions import SlowExpressionError
        from tokenizer.patterns import pattern

        clear = _clear(documents["license"])
        held = held_out(documents["doc_id"], params.holdout)
        used = documents.filter(pa.array(clear & ~held))
        try:
            counts = count_pieces_by_group(
                used["text"].combine_chunks(),
                used["placeholders"].combine_chunks(),
                used.select(["source", "license"]),
                pattern(params.pattern),
                params.declared(),
                params.normalization,
            )
        except SlowExpressionError as error:
            raise ValueError(f"document {_holder(used, error.text)}: tokenizer.pattern: {error}") from error
        dropped = {UNCLEAR: int((~clear).sum()), HOLD_OUT: int((clear & held).sum())}
        return counts.select(COUNTS.names).cast(COUNTS), {
            "dropped": {k: n for k, n in dropped.items() if n},
            "pattern": pattern(params.pattern).hash,
        }

    @staticmethod
    def finish(parts: list[Path], params: TokenizerParams, folder: Path, memory: int) -> dict[str, Any]:
        """Train, and write model.json, the checked exports and tokens.parquet; returns the tokenizer's contract."""
        from tokenizer.train_files import summary
        from tokenizer.trainer import train

        sizes = sorted({params.vocab_size, *params.vocab_sizes})
        with tempfile.TemporaryDirectory(dir=folder) as work, SummedCounts(parts, memory, Path(work)) as counts:
            multipliers = _multipliers(params, counts)
            totals = counts.totals(multipliers)
            training = train(
                totals,
                sizes[-1],
                params.declared(),
                params.tie_rule,
                params.min_frequency,
                params.max_token_bytes,
                params.max_piece_bytes,
            )
            written = {size: _write(training.of_size(size), params, folder, counts, totals) for size in sizes}
        chosen = training.of_size(params.vocab_size)
        return {
            **written[params.vocab_size],
            **summary(chosen),
            "shortfall": chosen.shortfall,
            "multipliers": multipliers,
            "distinct_pieces": totals.num_rows,
            "sizes": {str(size): written[size]["vocabulary_hash"] for size in sizes},
        }


def _multipliers(params: TokenizerParams, counts: SummedCounts) -> dict[str, int]:
    """How often each source counts: from its weight and the temperature; 0 for a source that is not used."""
    from tokenizer.counts import integer_multipliers, tempered

    used = {source: weight for source, weight in params.weights.items() if weight > 0}
    if params.temperature != 1:
        used = tempered(used, counts.source_bytes(), params.temperature)
    return integer_multipliers(used) | dict.fromkeys(params.weights.keys() - used.keys(), 0)


def _write(
    training: Training, params: TokenizerParams, folder: Path, counts: SummedCounts, totals: pa.Table
) -> dict[str, Any]:
    """Write one tokenizer, into the folder itself or, for a further size, below it; returns its contract."""
    from tokenizer.export import write_exports
    from tokenizer.model import Tokenizer
    from tokenizer.patterns import pattern
    from tokenizer.tokens import origins, write_tokens

    where = folder if training.asked == params.vocab_size else folder / f"size-{training.asked}"
    tokenizer = Tokenizer(
        pattern(params.pattern), training.merges, params.declared(), params.normalization, params.pad_to_multiple
    )
    tokenizer.save(where)
    exports = write_exports(tokenizer, where, params.name)
    found = origins(tokenizer, counts.batches(), totals)
    write_tokens(tokenizer, where, training.merges[:, 2], found, training.tied)
    return {
        **tokenizer.contract(),
        "refused_exports": exports.refused,
        "unicode_differences": exports.unicode_differences,
    }


def held_out(doc_ids: pa.ChunkedArray, share: float) -> npt.NDArray[np.bool_]:
    """Which documents a hold-out of this share keeps back: those whose doc_id, read as a fraction, lies below it."""
    limit = int(share * (1 << 32))
    return np.array([int(i[:8], 16) < limit for i in doc_ids.to_pylist()], bool)


def _holder(documents: pa.Table, text: str) -> str:
    """The doc_id of the first document that holds a text; normalised text may be in none."""
    for doc_id, whole in zip(documents["doc_id"].to_pylist(), documents["text"].to_pylist(), strict=True):
        if text in whole:
            return str(doc_id)
    return "(normalised text)"


def _clear(licenses: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    return np.array([read(text).status is Status.KNOWN for text in licenses.to_pylist()], bool)


def _unused(sources: Sequence[Source]) -> list[str]:
    return [source.name for source in sources if source.weight == 0]
