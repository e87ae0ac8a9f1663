"""tokens.parquet: one row per id of the vocabulary, with where it came from.

id       int64    0..vocab_size - 1
bytes    binary   a special token's text
text     string   the bytes as UTF-8, U+FFFD where they are none
kind     string   byte, merge or special
rank     int64    order of the merge, from 0; NULL otherwise
left     int64    ids of the merged pair; NULL unless kind is merge
right    int64
count    int64    occurrences of the pair when it was merged, in the weighted counts that were trained on
sources  map<string, int64>   how often the id occurs in the encoded pieces of each source; only sources where it does
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokenizer.model import Tokenizer
from tokenizer.trainer import BASE

FILE = "tokens.parquet"
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("bytes", pa.binary(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("rank", pa.int64()),
        pa.field("left", pa.int64()),
        pa.field("right", pa.int64()),
        pa.field("count", pa.int64()),
        pa.field("sources", pa.map_(pa.string(), pa.int64()), nullable=False),
    ]
)
_ROWS = 1 << 18  # pieces encoded at once


def source_counts(tokenizer: Tokenizer, counts: pa.Table) -> dict[str, NDArray[np.int64]]:
    """How often each id occurs per source, shape (vocab_size,), from counts with a column `source`.

    The distinct pieces are encoded, each times its count. Special tokens were cut out before counting: they have 0.
    """
    totals: dict[str, NDArray[np.int64]] = {}
    for start in range(0, counts.num_rows, _ROWS):
        part = counts.slice(start, _ROWS).combine_chunks()
        pieces = part["piece"].cast(pa.large_binary()).combine_chunks()
        ids, offsets = tokenizer.encode_pieces(pieces)
        coded = part["source"].combine_chunks().dictionary_encode()
        rows = np.repeat(np.arange(len(pieces)), np.diff(offsets))
        source_of = coded.indices.to_numpy()[rows]
        times = part["count"].to_numpy()[rows]
        for number, source in enumerate(coded.dictionary.to_pylist()):
            total = totals.setdefault(source, np.zeros(tokenizer.vocab_size, np.int64))
            here = source_of == number
            np.add.at(total, ids[here], times[here])
    return dict(sorted(totals.items()))


def tokens_table(
    tokenizer: Tokenizer, merge_counts: Sequence[int] | NDArray[np.int64], sources: dict[str, NDArray[np.int64]]
) -> pa.Table:
    """The table above. merge_counts: the count of each merge, `Training.merges[:, 2]`; sources: `source_counts`."""
    first, size = tokenizer.first_special, tokenizer.vocab_size
    if len(merge_counts) != first - BASE:
        raise ValueError(f"merge_counts: {len(merge_counts)} counts for {first - BASE} merges; give one per merge")
    tokens = [tokenizer.token_bytes(i) for i in range(size)]

    def of_merges(values: list[int]) -> list[int | None]:
        return [None] * BASE + values + [None] * (size - first)

    columns = {
        "id": list(range(size)),
        "bytes": tokens,
        "text": [token.decode("utf-8", "replace") for token in tokens],
        "kind": ["byte"] * BASE + ["merge"] * (first - BASE) + ["special"] * (size - first),
        "rank": of_merges(list(range(first - BASE))),
        "left": of_merges(tokenizer.merges[:, 0].tolist()),
        "right": of_merges(tokenizer.merges[:, 1].tolist()),
        "count": of_merges(np.asarray(merge_counts, np.int64).tolist()),
        "sources": [[(s, int(n[i])) for s, n in sources.items() if n[i]] for i in range(size)],
    }
    return pa.table([pa.array(columns[f.name], f.type) for f in SCHEMA], schema=SCHEMA)


def write_tokens(
    tokenizer: Tokenizer,
    directory: str | Path,
    merge_counts: Sequence[int] | NDArray[np.int64],
    counts: pa.Table | None = None,
) -> Path:
    """Write tokens.parquet; without counts that have a column `source`, the map of sources is empty."""
    known = source_counts(tokenizer, counts) if counts is not None and "source" in counts.column_names else {}
    path = Path(directory) / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(tokens_table(tokenizer, merge_counts, known), path, compression="zstd")
    return path
