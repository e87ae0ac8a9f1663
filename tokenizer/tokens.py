"""tokens.parquet: one row per id of the vocabulary, with where it came from.

id            int64    0..vocab_size - 1
bytes         binary   a special token's text
text          string   the bytes as UTF-8, U+FFFD where they are none
kind          string   byte, merge or special
rank          int64    order of the merge, from 0; NULL otherwise
left, right   int64    ids of the merged pair; NULL unless kind is merge
count         int64    occurrences of the pair when it was merged, in the weighted counts that were trained on
tied          bool     another pair had the same count then, so the tie rule decided; NULL unless kind is merge
sources       map<string, int64>   how often the id occurs in the encoded pieces of each source, where it does
licenses      map<string, int64>   the same per licence
single_source string   the source that at least 95 % of its occurrences come from; NULL where there is none
documents_min int64    bounds on the number of documents that hold the id: a piece is counted exactly, but two pieces
documents_max int64    with the id may or may not lie in one document; NULL without counts per document
utf8          bool     the bytes are valid UTF-8
unreachable   string   why no text is ever encoded to the id; NULL where one can be
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
        pa.field("tied", pa.bool_()),
        pa.field("sources", pa.map_(pa.string(), pa.int64()), nullable=False),
        pa.field("licenses", pa.map_(pa.string(), pa.int64()), nullable=False),
        pa.field("single_source", pa.string()),
        pa.field("documents_min", pa.int64()),
        pa.field("documents_max", pa.int64()),
        pa.field("utf8", pa.bool_(), nullable=False),
        pa.field("unreachable", pa.string()),
    ]
)
_ROWS = 1 << 18  # pieces encoded at once
_SINGLE = 95  # per cent of a token's occurrences that make it one source's

Counts = dict[str, NDArray[np.int64]]


@dataclass
class Origins:
    """Where tokens occur: arrays of shape (vocab_size,), per source and per licence, and bounds on documents."""

    sources: Counts = field(default_factory=dict)
    licenses: Counts = field(default_factory=dict)
    documents_min: NDArray[np.int64] | None = None
    documents_max: NDArray[np.int64] | None = None


def origins(tokenizer: Tokenizer, parts: Iterable[pa.Table], totals: pa.Table | None = None) -> Origins:
    """From counts with the columns piece, source, count and perhaps license, and from totals with one row per piece.

    The distinct pieces are encoded, each times its count. Special tokens were cut out before counting: they have 0.
    """
    found: dict[str, Counts] = {"source": {}, "license": {}}
    for part, ids, rows in _encoded(tokenizer, parts):
        times = part["count"].to_numpy()[rows]
        for column, totalled in found.items():
            if column in part.column_names:
                _add(totalled, part[column].combine_chunks(), ids, rows, times, tokenizer.vocab_size)
    result = Origins(dict(sorted(found["source"].items())), dict(sorted(found["license"].items())))
    if totals is not None:
        least = np.zeros(tokenizer.vocab_size, np.int64)
        most = np.zeros(tokenizer.vocab_size, np.int64)
        for part, ids, rows in _encoded(tokenizer, [totals]):
            once = np.unique(np.stack([rows, ids]), axis=1)  # an id twice in a piece does not double its documents
            documents = part["documents"].to_numpy()[once[0]]
            np.maximum.at(least, once[1], documents)
            np.add.at(most, once[1], documents)
        result.documents_min, result.documents_max = least, most
    return result


def _encoded(
    tokenizer: Tokenizer, tables: Iterable[pa.Table]
) -> Iterable[tuple[pa.Table, NDArray[np.int32], NDArray[np.int64]]]:
    """Stretches of the tables with the ids of their pieces and the row of each id."""
    for table in tables:
        for start in range(0, table.num_rows, _ROWS):
            part = table.slice(start, _ROWS).combine_chunks()
            pieces = part["piece"].cast(pa.large_binary()).combine_chunks()
            ids, offsets = tokenizer.encode_pieces(pieces)
            yield part, ids, np.repeat(np.arange(len(pieces)), np.diff(offsets))


def _add(
    totalled: Counts,
    groups: pa.Array,
    ids: NDArray[np.int32],
    rows: NDArray[np.int64],
    times: NDArray[np.int64],
    size: int,
) -> None:
    coded = groups.dictionary_encode()
    group_of = coded.indices.to_numpy()[rows]
    for number, name in enumerate(coded.dictionary.to_pylist()):
        here = group_of == number
        np.add.at(totalled.setdefault(name, np.zeros(size, np.int64)), ids[here], times[here])


def source_counts(tokenizer: Tokenizer, counts: pa.Table) -> Counts:
    """How often each id occurs per source, shape (vocab_size,), from counts with a column `source`."""
    return origins(tokenizer, [counts]).sources


def unreachable(tokenizer: Tokenizer) -> dict[int, str]:
    """Ids that no text is ever encoded to, with the reason.

    A token arises inside a piece exactly if its bytes alone are encoded to it: no merge crosses its ends before it
    exists. Special tokens are reached by allowing them.
    """
    tokens = [tokenizer.token_bytes(i) for i in tokenizer.ordinary_ids]
    ids, offsets = tokenizer.encode_pieces(pa.array(tokens, pa.large_binary()))
    found = {}
    for place, id_ in enumerate(tokenizer.ordinary_ids):
        got = ids[offsets[place] : offsets[place + 1]].tolist()
        if got != [id_]:
            found[id_] = f"its bytes are encoded as {got}: an earlier merge takes them apart"
    return found


def single_sources(sources: Mapping[str, NDArray[np.int64]], size: int) -> list[str | None]:
    """Per id the source with at least 95 % of its occurrences, if there is one."""
    found: list[str | None] = [None] * size
    total = np.sum(list(sources.values()), axis=0, dtype=np.int64) if sources else np.zeros(size, np.int64)
    for source, counts in sources.items():
        for id_ in np.flatnonzero((counts > 0) & (100 * counts >= _SINGLE * total)).tolist():
            found[id_] = source
    return found


def _valid(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def tokens_table(
    tokenizer: Tokenizer,
    merge_counts: Sequence[int | None] | NDArray[np.int64],
    found: Origins,
    tied: Sequence[bool | None] | NDArray[np.bool_] | None = None,
) -> pa.Table:
    """The table above. merge_counts, tied: the count and the tie of each merge, as in `Training`; None: not known."""
    first, size = tokenizer.first_special, tokenizer.vocab_size
    if len(merge_counts) != first - BASE:
        raise ValueError(f"merge_counts: {len(merge_counts)} counts for {first - BASE} merges; give one per merge")
    tokens = [tokenizer.token_bytes(i) for i in range(size)]
    lost = unreachable(tokenizer)

    def of_merges(values: Iterable[object]) -> list[object]:
        column: list[object] = [None] * size
        for id_, value in zip(tokenizer.ordinary_ids[BASE:], values, strict=True):
            column[id_] = value
        return column

    def maps(counts: Counts) -> list[list[tuple[str, int]]]:
        return [[(name, int(n[i])) for name, n in counts.items() if n[i]] for i in range(size)]

    columns: dict[str, object] = {
        "id": range(size),
        "bytes": tokens,
        "text": [token.decode("utf-8", "replace") for token in tokens],
        "kind": ["byte"] * BASE + [kind or "special" for kind in of_merges(["merge"] * (first - BASE))[BASE:]],
        "rank": of_merges(range(first - BASE)),
        "left": of_merges(tokenizer.merges[:, 0].tolist()),
        "right": of_merges(tokenizer.merges[:, 1].tolist()),
        "count": of_merges(merge_counts.tolist() if isinstance(merge_counts, np.ndarray) else merge_counts),
        "tied": of_merges([None] * (first - BASE) if tied is None else list(tied)),
        "sources": maps(found.sources),
        "licenses": maps(found.licenses),
        "single_source": single_sources(found.sources, size),
        "documents_min": [None] * size if found.documents_min is None else found.documents_min,
        "documents_max": [None] * size if found.documents_max is None else found.documents_max,
        "utf8": list(map(_valid, tokens)),
        "unreachable": [lost.get(i) for i in range(size)],
    }
    return pa.table([pa.array(columns[f.name], f.type) for f in SCHEMA], schema=SCHEMA)


def write_tokens(
    tokenizer: Tokenizer,
    directory: str | Path,
    merge_counts: Sequence[int | None] | NDArray[np.int64],
    found: Origins | None = None,
    tied: Sequence[bool | None] | NDArray[np.bool_] | None = None,
) -> Path:
    """Write tokens.parquet; without origins the maps are empty and the bounds NULL."""
    return write_table(tokens_table(tokenizer, merge_counts, found or Origins(), tied), directory)


def write_table(table: pa.Table, directory: str | Path) -> Path:
    """Write a table of tokens as tokens.parquet."""
    path = Path(directory) / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="zstd")
    return path
