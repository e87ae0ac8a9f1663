"""From Arrow text to pieces: segments, the cuts at special tokens, and where pieces end.

A document is cut into segments at its special tokens; a piece never crosses a cut. Segments and pieces are byte
ranges of the Arrow buffer: no Python string is made unless a pattern needs the `regex` module or a document has cuts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tokenizer.expressions import matches
from tokenizer.patterns import Pattern

BLOCK_BYTES = 1 << 20  # text that is split at once

Cut = tuple[int, int, int]  # start and stop in bytes from the document's first byte; index of the special token
Cuts = Mapping[int, Sequence[Cut]]  # by row


@dataclass(frozen=True)
class Segments:
    """Byte ranges of a buffer, in document order.

    data: uint8. starts, stops: int64, from the start of data. documents: int64, the row of each segment. specials:
    int64, the index of the special token that stands there (its range is then empty), or -1 for ordinary text.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    documents: NDArray[np.int64]
    specials: NDArray[np.int64]

    @property
    def most_pieces(self) -> int:
        """A number of ids that the segments cannot exceed, and 2 more for a writer that goes two by two."""
        return int((self.stops - self.starts).sum()) + len(self.starts) + 2


def as_large_string(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One large_string array of valid UTF-8; a null text counts as empty. Raises ValueError for other types."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if not (pa.types.is_large_string(texts.type) or pa.types.is_string(texts.type)):
        raise ValueError(f"texts: expected an Arrow string or large_string array, got {texts.type}")
    texts = texts.cast(pa.large_string())
    if texts.null_count:
        texts = texts.fill_null("")
    try:
        texts.validate(full=True)  # the kernels read past the end of a truncated character
    except pa.ArrowInvalid as error:
        raise ValueError(f"texts: {error}; decode the text to valid UTF-8 first") from error
    return texts


def buffers(texts: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Data and offsets (n + 1) of a large_string or large_binary array, without a copy."""
    _, offsets, data = texts.buffers()
    if offsets is None or not len(texts):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8), ends


def blocks(texts: pa.Array, size: int = BLOCK_BYTES) -> Iterator[tuple[int, int]]:
    """Row ranges of about `size` bytes of text, at least one row each."""
    _, offsets = buffers(texts)
    row = 0
    while row < len(texts):
        end = int(np.searchsorted(offsets, offsets[row] + size, side="right")) - 1
        end = min(max(end, row + 1), len(texts))
        yield row, end
        row = end


def segments_of(texts: pa.Array, cuts: Cuts | None = None) -> Segments:
    """The segments of large_string texts: one per row without cuts, else the stretches between them and the cuts."""
    data, offsets = buffers(texts)
    rows = np.arange(len(texts), dtype=np.int64)
    if not cuts:
        return Segments(data, offsets[:-1], offsets[1:], rows, np.full(len(texts), -1, np.int64))
    extra: list[tuple[int, int, int, int]] = []
    for row in sorted(cuts):
        start = origin = int(offsets[row])
        for first, stop, special in cuts[row]:
            extra.append((start, origin + first, row, -1))
            extra.append((origin + first, origin + first, row, special))
            start = origin + stop
        extra.append((start, int(offsets[row + 1]), row, -1))
    whole = np.ones(len(texts), bool)
    whole[list(cuts)] = False
    plain = np.stack([offsets[:-1], offsets[1:], rows, np.full(len(texts), -1, np.int64)])[:, whole]
    table = np.concatenate([plain, np.array(extra, np.int64).T], axis=1)
    table = np.ascontiguousarray(table[:, np.argsort(table[2], kind="stable")])
    return Segments(data, table[0], table[1], table[2], table[3])


def normalised_stretch(stretch: str, form: str) -> str:
    """A stretch of text in a normalisation form; one of escaped bytes that are no UTF-8 as it is."""
    if "\udc80" <= stretch[0] <= "\udcff":
        return stretch
    text: str = pc.utf8_normalize(pa.scalar(stretch), form=form).as_py()
    return text


def segment_blocks(texts: pa.Array, cuts: Cuts, normalization: str) -> Iterator[tuple[int, int, Segments]]:
    """Row ranges as of `blocks`, each with its normalised segments, whose documents count from 0."""
    for first, end in blocks(texts):
        inside = {row - first: cuts[row] for row in cuts if first <= row < end} if cuts else None
        segments = segments_of(texts.slice(first, end - first), inside)
        yield first, end, normalised(segments, normalization)


def split(segments: Segments, pattern: Pattern) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ends of all pieces (bytes, from the start of data), and the number of pieces before each segment (n + 1)."""
    if not pattern.splits:
        full = segments.stops > segments.starts
        return segments.stops[full], np.concatenate([[0], np.cumsum(full)]).astype(np.int64)
    if pattern.family is None:
        return _split_by_regex(segments, pattern)
    from kernels import scanners

    ends, before = scanners.scan(
        segments.data, segments.starts, segments.stops, pattern.table, pattern.family, pattern.digits
    )
    return ends, before


def _split_by_regex(segments: Segments, pattern: Pattern) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """With the `regex` module, expression after expression."""
    import regex

    steps = [regex.compile(expression) for expression in pattern.steps]
    find = matches if pattern.name == "custom" else regex.Pattern.finditer  # the clock is looked at after every match
    ends: list[int] = []
    before = [0]
    data = segments.data.data
    for start, stop in zip(segments.starts.tolist(), segments.stops.tolist(), strict=True):
        pieces = [str(data[start:stop], "utf-8")] if stop > start else []
        for step in steps:
            pieces = [part for piece in pieces for part in _isolated(find(step, piece), piece)]
        end = start
        for piece in pieces:
            end += len(piece.encode())
            ends.append(end)
        before.append(len(ends))
    return np.array(ends, np.int64), np.array(before, np.int64)


def _isolated(found: Iterator[Any], text: str) -> Iterator[str]:
    """The matches of an expression in a text and what lies between them."""
    at = 0
    for match in found:
        for a, b in ((at, match.start()), match.span()):
            if b > a:
                yield text[a:b]
        at = match.end()
    if at < len(text):
        yield text[at:]


def normalised(segments: Segments, form: str) -> Segments:
    """The segments in a Unicode normalisation form ("NFC", "NFKC"; "none": as they are), each by itself."""
    if form == "none":
        return segments
    data = segments.data.data
    texts = pa.array(
        [str(data[a:b], "utf-8") for a, b in zip(segments.starts.tolist(), segments.stops.tolist(), strict=True)],
        pa.large_string(),
    )
    changed, offsets = buffers(pc.utf8_normalize(texts, form=form))
    return Segments(changed, offsets[:-1], offsets[1:], segments.documents, segments.specials)


def span_cuts(texts: pa.Array, spans: pa.Array | pa.ChunkedArray | None, specials: Sequence[str]) -> Cuts:
    """Cuts at trusted placeholder spans: list<struct<start, end, token>> per row, code points of the text.

    Raises ValueError where a span leaves the text, overlaps the one before it, names a token that is not declared, or
    does not cover that token's text.
    """
    if spans is None:
        return {}
    if len(spans) != len(texts):
        raise ValueError(f"spans: {len(spans)} rows for {len(texts)} texts; give one list per text")
    lengths = pc.fill_null(pc.list_value_length(spans), 0).to_numpy(zero_copy_only=False)
    index = {token: k for k, token in enumerate(specials)}
    return {
        row: placeholder_cuts(
            texts[row].as_py(), [(s["start"], s["end"], s["token"]) for s in spans[row].as_py()], index, f"row {row}"
        )
        for row in np.flatnonzero(lengths).tolist()
    }


def placeholder_cuts(
    text: str, spans: Sequence[tuple[int, int, str]], index: Mapping[str, int], where: str
) -> list[Cut]:
    """Cuts of one text; index gives the number of each declared token, where names the text in errors."""
    cuts: list[Cut] = []
    at = position = 0
    for start, end, token in sorted(spans):
        if token not in index:
            raise ValueError(
                f"{where}: the placeholder {token!r} at {start} is not a declared special token; declare it"
            )
        if start < at or text[start:end] != token:
            raise ValueError(
                f"{where}: span {start}..{end} does not cover {token!r} or overlaps the span before it; "
                "spans count code points of this very text"
            )
        position += len(text[at:start].encode())
        width = len(token.encode())
        cuts.append((position, position + width, index[token]))
        at, position = end, position + width
    return cuts


def string_cuts(texts: pa.Array, specials: Sequence[str], allowed: Sequence[str] | None = None) -> Cuts:
    """Cuts wherever one of the allowed special strings (default: all) stands, leftmost first, then longest."""
    allowed = specials if allowed is None else allowed
    if not allowed or not len(texts):
        return {}
    mask = pc.match_substring(texts, allowed[0])
    for special in allowed[1:]:
        mask = pc.or_(mask, pc.match_substring(texts, special))
    matcher = special_matcher(allowed)
    index = {special.encode(): k for k, special in enumerate(specials)}
    return {
        row: [(m.start(), m.end(), index[m[0]]) for m in matcher.finditer(texts[row].as_buffer())]
        for row in np.flatnonzero(mask.to_numpy(zero_copy_only=False)).tolist()
    }


def special_matcher(specials: Sequence[str]) -> re.Pattern[bytes]:
    """Finds the special strings in UTF-8; of several at one place the longest."""
    longest_first = sorted(specials, key=lambda special: (-len(special), special))
    return re.compile(b"|".join(re.escape(special.encode()) for special in longest_first))
