"""The tokenizer: text and bytes to ids and back.

Ids 0..255 are the raw bytes, merges follow from 256, declared special tokens come last; in an extended tokenizer old
special tokens keep their ids and new tokens follow (`tokenizer.extend`). Special text in the input is ordinary text
unless the caller allows it, or gives the trusted spans where placeholders stand. Decoding is exact as bytes; as text,
bytes that are no UTF-8 become U+FFFD (`errors="replace"`). With a normalization the text between special tokens is
normalised before it is cut, and what decodes is the normalised text.

`model.json` holds all of it: the pattern with its expression, Unicode version and hash, the merges, the specials, and a
hash of the vocabulary that is checked on loading.
"""

import codecs
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tokenizer import layout, splitting
from tokenizer.patterns import NAMES, Pattern, pattern
from tokenizer.splitting import Cut, Segments
from tokenizer.trainer import BASE, check_normalization, check_specials

FORMAT = "curate-tokenizer"
VERSION = 1
FILE = "model.json"
DECODE_RULE = "the bytes of the ids, joined, read as UTF-8 with errors replaced by U+FFFD"

Allowed = Literal["all"] | Iterable[str]
Span = tuple[int, int, str]  # start and end in code points, token


class TokenizerError(ValueError):
    """A tokenizer folder that is missing, damaged or contradicts itself."""


class Tokenizer:
    """A byte-level BPE tokenizer.

    merges: int64, shape (n, 2), left and right id of each merge; further columns are ignored. special_ids: the id of
    each special token, where they are not the last ids; the merges then have the other ids from 256, in order.
    extended_from: vocabulary hash of the tokenizer that this one continues, for the record. normalization: none, NFC
    or NFKC. pad_to_multiple: a model's table of embeddings has n_padded rows, the smallest multiple that holds all ids;
    the rows behind the n_real ids have the names in `reserved`, no bytes, and are never produced. Raises ValueError for
    merges that do not build on earlier ids or that make one byte string twice.
    """

    def __init__(
        self,
        pattern: Pattern,
        merges: NDArray[np.int64] | Sequence[Sequence[int]],
        specials: Sequence[str],
        normalization: str = "none",
        pad_to_multiple: int = 1,
        special_ids: Sequence[int] | None = None,
        extended_from: str | None = None,
    ):
        self.pattern = pattern
        self.normalization = check_normalization(normalization)
        if not 1 <= pad_to_multiple <= 1 << 16:
            small = "small; use 1 or more" if pad_to_multiple < 1 else f"large; use {1 << 16} or less"
            raise ValueError(f"pad_to_multiple: {pad_to_multiple} is too {small}")
        self.pad_to_multiple = pad_to_multiple
        self.merges = layout.merge_pairs(merges)
        self.specials = check_specials(specials)
        self.extended_from = extended_from
        self._ids = layout.ids_of(len(self.merges), len(self.specials), special_ids)
        self._ordinary = self._ids[: BASE + len(self.merges)]
        self._tokens = layout.token_bytes(self.merges, self._ids, self.specials)
        self.special_tokens = {s: int(i) for s, i in zip(self.specials, self._ids[len(self._ordinary) :], strict=True)}
        self._in_order = self.in_order
        self._encoders: list[Any] = []  # with pieces that were encoded before and their ids, one per thread

    @property
    def ordinary_ids(self) -> list[int]:
        """The ids of bytes and merges, in order of rank: 0, 1, 2 … but for special tokens in between."""
        ids: list[int] = self._ordinary.tolist()
        return ids

    @property
    def in_order(self) -> bool:
        """The special tokens are the last ids, as after a first training."""
        return bool(self._ids[-1] == len(self._ids) - 1 and (np.diff(self._ids) == 1).all())

    @property
    def first_special(self) -> int:
        """Number of bytes and merges: where special tokens are the last ids, the first of these."""
        return BASE + len(self.merges)

    @property
    def vocab_size(self) -> int:
        """Number of ids: 256 bytes, merges and special tokens."""
        return len(self._tokens)

    def __len__(self) -> int:
        return len(self._tokens)

    @property
    def n_padded(self) -> int:
        """The number of ids, reserved ones included: a multiple of pad_to_multiple."""
        return -(-self.vocab_size // self.pad_to_multiple) * self.pad_to_multiple

    @property
    def reserved(self) -> dict[str, int]:
        """Names and ids of the reserved rows behind the vocabulary."""
        return {f"<|reserved_{k}|>": k for k in range(self.vocab_size, self.n_padded)}

    @cached_property
    def vocabulary_hash(self) -> str:
        """BLAKE2b (32 bytes, hex) over ids and bytes, merges, and specials with their ids."""
        return layout.hash_of(self._tokens, self.merges, self.special_tokens)

    @cached_property
    def _tables(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.bool_]]:
        from kernels import merging

        rank_of = np.zeros(self.vocab_size, np.int64)
        rank_of[self._ordinary] = np.arange(len(self._ordinary))
        return merging.tables_of(rank_of[self.merges])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_tables"} | {"_encoders": []}

    # --- encoding -------------------------------------------------------------------------------------------------

    def encode(self, text: str, allowed_special: Allowed = frozenset()) -> list[int]:
        """Ids of a text. Special tokens in it are ordinary text, except the allowed ones ("all" or their strings).

        Of special tokens that begin at one place the longest is taken. Raises ValueError for an allowed token that is
        not declared and for a lone surrogate, which has no UTF-8.
        """
        data = _utf8(text)
        allowed = self._allowed(allowed_special)
        cuts: list[Cut] = []
        if allowed:
            index = {special.encode(): k for k, special in enumerate(self.specials)}
            found = splitting.special_matcher(allowed).finditer(data)
            cuts = [(match.start(), match.end(), index[match[0]]) for match in found]
        return self._encode(_segments(data, cuts))

    def encode_with_spans(self, text: str, spans: Sequence[Span]) -> list[int]:
        """Ids of a text whose special tokens are exactly the given (start, end, token) spans, in code points.

        Raises ValueError for a span that overlaps another or does not cover its declared token.
        """
        index = {special: k for k, special in enumerate(self.specials)}
        return self._encode(_segments(_utf8(text), splitting.placeholder_cuts(text, spans, index, "text")))

    def encode_bytes(self, data: bytes) -> list[int]:
        """Ids of any bytes; special tokens are ordinary. Equals `encode` where the bytes are valid UTF-8.

        A run of bytes that are no UTF-8 is a piece of its own.
        """
        escaped = data.decode("utf-8", "surrogateescape")
        stretches = re.findall("[\udc80-\udcff]+|[^\udc80-\udcff]+", escaped)
        if self.normalization != "none":
            stretches = [splitting.normalised_stretch(stretch, self.normalization) for stretch in stretches]
            data = "".join(stretches).encode("utf-8", "surrogateescape")
        sizes = [len(stretch.encode("utf-8", "surrogateescape")) for stretch in stretches]
        valid = np.array([not "\udc80" <= stretch[0] <= "\udcff" for stretch in stretches], bool)
        stops = np.cumsum(np.array(sizes, np.int64))
        starts, rows = stops - np.array(sizes, np.int64), np.zeros(len(stops), np.int64)
        source = np.frombuffer(data, np.uint8)
        text = Segments(source, starts[valid], stops[valid], rows[valid], rows[valid] - 1)
        text_ends, text_before = splitting.split(text, self.pattern)
        pieces = np.ones(len(stops), np.int64)
        pieces[valid] = np.diff(text_before)
        ends = np.repeat(stops, pieces)
        ends[np.repeat(valid, pieces)] = text_ends
        before = np.concatenate([[0], np.cumsum(pieces)]).astype(np.int64)
        ids: list[int] = self._merge(Segments(source, starts, stops, rows, rows - 1), ends, before)[0].tolist()
        return ids

    def encode_batch(
        self,
        texts: pa.Array | pa.ChunkedArray,
        spans: pa.Array | pa.ChunkedArray | None = None,
        allowed_special: Allowed = frozenset(),
    ) -> pa.ListArray:
        """list<int32> of the ids of Arrow texts (string or large_string), a null text as an empty list.

        spans: trusted placeholders per text, list<struct<start, end, token>> in code points; or allowed_special, as in
        `encode`; not both. Raises ValueError when the ids need more than 2**31 places: encode smaller batches.
        """
        texts = splitting.as_large_string(texts)
        allowed = self._allowed(allowed_special)
        if spans is not None and allowed:
            raise ValueError("encode_batch takes spans or allowed_special, not both: spans are the whole truth")
        if spans is not None:
            cuts = splitting.span_cuts(texts, spans, self.specials)
        else:
            cuts = splitting.string_cuts(texts, self.specials, allowed)
        ids, offsets = self._encode_rows(texts, cuts)
        if offsets[-1] >= 2**31:
            raise ValueError(
                f"encode_batch: {offsets[-1]} ids do not fit one list<int32> array; encode smaller batches"
            )
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(ids))

    def _encode_rows(self, texts: pa.Array, cuts: splitting.Cuts) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Ids of large_string texts in one array, and offsets (n + 1) of each text's ids."""
        places = splitting.buffers(texts)[1]
        out = np.empty(int(places[-1] - places[0]) // 3, np.int32)  # three bytes an id; it grows where they are fewer
        starts = [np.zeros(1, np.int64)]
        at = 0
        for first, end, segments in splitting.segment_blocks(texts, cuts, self.normalization):
            if at + segments.most_pieces > len(out):
                longer = np.empty(2 * at + segments.most_pieces, np.int32)
                longer[:at] = out[:at]
                out = longer
            found = self._merge_into(out, at, segments, *splitting.split(segments, self.pattern))
            at = int(found[-1])
            starts.append(found[np.searchsorted(segments.documents, np.arange(1, end - first + 1))])
        return out[:at], np.concatenate(starts)

    def encode_pieces(self, pieces: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Ids of large_binary pieces, which are not split further, and offsets (n + 1) of each piece's ids."""
        data, offsets = splitting.buffers(pieces)
        full = np.diff(offsets) > 0
        before = np.concatenate([[0], np.cumsum(full)]).astype(np.int64)
        rows = np.arange(len(full), dtype=np.int64)
        segments = Segments(data, offsets[:-1], offsets[1:], rows, np.full(len(full), -1, np.int64))
        return self._merge(segments, offsets[1:][full], before)

    def _encode(self, segments: Segments) -> list[int]:
        segments = splitting.normalised(segments, self.normalization)
        ids: list[int] = self._merge(segments, *splitting.split(segments, self.pattern))[0].tolist()
        return ids

    def _merge(
        self, segments: Segments, ends: NDArray[np.int64], before: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Ids of the pieces, and per segment and once more at the end the number of ids before it."""
        out = np.empty(segments.most_pieces, np.int32)
        offsets = self._merge_into(out, 0, segments, ends, before)
        return out[: offsets[-1]], offsets

    def _merge_into(
        self, out: NDArray[np.int32], at: int, segments: Segments, ends: NDArray[np.int64], before: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Write the ids into out[at:], where there is room; returns where those of each segment begin, and the end."""
        from kernels import encoding

        specials = np.where(segments.specials >= 0, segments.specials + self.first_special, -1)
        try:
            encoder = self._encoders.pop()  # list.pop and append are atomic: no two threads share one
        except IndexError:
            encoder = encoding.Encoder(self._tables)
        offsets: NDArray[np.int64] = encoder.encode(segments.data, segments.starts, ends, before, specials, out, at)
        self._encoders.append(encoder)
        if not self._in_order:
            out[at : offsets[-1]] = self._ids[out[at : offsets[-1]]]
        return offsets

    def _allowed(self, allowed: Allowed) -> tuple[str, ...]:
        if allowed == "all":
            return self.specials
        chosen = {allowed} if isinstance(allowed, str) else set(allowed)
        unknown = sorted(chosen - set(self.specials))
        if unknown:
            raise ValueError(f"allowed_special: {unknown[0]!r} is no special token; declared: {list(self.specials)}")
        return tuple(special for special in self.specials if special in chosen)

    # --- decoding -------------------------------------------------------------------------------------------------

    def token_bytes(self, id_: int) -> bytes:
        """The bytes of one id (of a special token: its text). Raises ValueError for an id out of range."""
        if not 0 <= id_ < len(self._tokens):
            if 0 <= id_ < self.n_padded:
                raise ValueError(f"id {id_} is reserved padding; it stands for no bytes")
            raise ValueError(f"id {id_} is not in the vocabulary; ids are 0..{len(self._tokens) - 1}")
        return self._tokens[id_]

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of the ids, joined; exact. Raises ValueError for an id out of range."""
        return b"".join(map(self.token_bytes, ids))

    def decode(self, ids: Iterable[int], errors: str = "replace") -> str:
        """The text of the ids; errors as in `bytes.decode` ("strict" raises UnicodeDecodeError)."""
        return self.decode_bytes(ids).decode("utf-8", errors)

    def decode_stream(self, ids: Iterable[int]) -> Iterator[str]:
        """The text of ids as they come, in parts that join to `decode(ids)`: a character comes when it is complete."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for id_ in ids:
            if part := decoder.decode(self.token_bytes(id_)):
                yield part
        if part := decoder.decode(b"", final=True):
            yield part

    # --- on disk --------------------------------------------------------------------------------------------------

    def contract(self) -> dict[str, Any]:
        """What a user of the ids must know, as JSON values: all but the merges themselves."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "pattern": {
                "name": self.pattern.name,
                "regex": self.pattern.regex,
                "unicode": self.pattern.unicode,
                "hash": self.pattern.hash,
                **({"before": list(self.pattern.before)} if self.pattern.before else {}),
            },
            "normalization": self.normalization,
            "n_real": self.vocab_size,
            "n_padded": self.n_padded,
            "pad_to_multiple": self.pad_to_multiple,
            "reserved": self.reserved,
            "special_tokens": self.special_tokens,
            **({"extended_from": self.extended_from} if self.extended_from else {}),
            "vocab_size": self.vocab_size,
            "maximum_token_bytes": max(map(len, self._tokens)),
            "maximum_length": None,  # a text of any length can be encoded
            "decode": DECODE_RULE,
            "vocabulary_hash": self.vocabulary_hash,
        }

    def save(self, directory: str | Path) -> Path:
        """Write model.json into an existing or new folder; the same tokenizer always gives the same bytes."""
        path = Path(directory) / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        merges = [f"{left} {right}" for left, right in self.merges.tolist()]
        content = {**self.contract(), "merges": merges, "specials": list(self.specials)}
        path.write_text(json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8", newline="\n")
        return path

    @classmethod
    def load(cls, directory: str | Path) -> "Tokenizer":
        """Read model.json from a folder. Raises TokenizerError where it is missing or damaged.

        Warns where the pattern was made with another Unicode version than this installation has.
        """
        path = Path(directory) / FILE
        try:
            content = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise TokenizerError(f"{path}: no such file; give the folder that holds a trained tokenizer") from None
        except ValueError as error:
            raise TokenizerError(f"{path}: not valid JSON ({error}); train the tokenizer again") from error
        if content.get("format") != FORMAT or content.get("version") != VERSION:
            raise TokenizerError(f"{path}: not a {FORMAT} file of version {VERSION}")
        try:
            merges = [[int(part) for part in merge.split()] for merge in content["merges"]]
            found = cls(
                _stored_pattern(content["pattern"], path),
                merges,
                content["specials"],
                content.get("normalization", "none"),
                content.get("pad_to_multiple", 1),
                layout.stored_ids(content),
                content.get("extended_from"),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise TokenizerError(f"{path}: damaged ({error}); train the tokenizer again") from error
        if found.vocabulary_hash != content.get("vocabulary_hash"):
            raise TokenizerError(f"{path}: the vocabulary does not match its hash; restore the file or train again")
        return found


def _stored_pattern(stored: dict[str, Any], path: Path) -> Pattern:
    """The pattern a file names, if its expression is still that one; else the expression itself."""
    named = pattern(stored["name"]) if stored["name"] in NAMES else None
    found = named if named is not None and named.regex == stored["regex"] else pattern(stored["regex"])
    if found.unicode != stored["unicode"]:
        warnings.warn(
            f"{path}: made with Unicode {stored['unicode']}, this installation has {found.unicode}; "
            "characters assigned between the two may be cut otherwise",
            stacklevel=3,
        )
    return found


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the text holds a lone surrogate at {error.start}, which has no UTF-8; "
            "replace it by U+FFFD or use encode_bytes"
        ) from None


def _segments(data: bytes, cuts: Sequence[Cut]) -> Segments:
    """Segments of one text, as `splitting.segments_of` makes them of Arrow rows."""
    rows: list[tuple[int, int, int]] = []
    at = 0
    for start, stop, special in cuts:
        rows += [(at, start, -1), (start, start, special)]
        at = stop
    rows.append((at, len(data), -1))
    starts, stops, specials = np.ascontiguousarray(np.array(rows, np.int64).T)
    return Segments(np.frombuffer(data, np.uint8), starts, stops, np.zeros(len(rows), np.int64), specials)
