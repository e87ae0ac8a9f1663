"""JSON Lines: one JSON object a line, lines end at "\\n" alone, every line is a document, blank, or in quarantine.

The fast way is orjson on the line's bytes, without the text where that is long (`stages.ingest.longtext`). What it
cannot do exactly (numbers beyond 64 bit or with a fraction, lone surrogates, other charsets) goes the slow way, where
numbers keep their spelling.

Metadata is the record's object without the text, and without `url` and `title` where these are strings: keys in their
order (of equal keys the last one counts), strings unescaped, no spaces.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, NoReturn

import orjson

from pipeline.sources import Read, Source
from stages.ingest import streams
from stages.ingest.charsets import WIDE
from stages.ingest.decode import (
    SAMPLE_BYTES,
    Decoded,
    RejectedError,
    binary_content,
    decode,
    replace_surrogates,
    stream_signature,
)
from stages.ingest.fields import take_fields, text_missing, text_null
from stages.ingest.longtext import MAX_DEPTH, Cut, LongText, is_plain
from stages.ingest.params import IngestParams
from stages.ingest.rows import UNKNOWN, Rows
from stages.ingest.streams import Location

_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\r"
_UNICODE: Final = WIDE | {"utf-8"}
_UTF8: Final = Decoded("", "utf-8", "utf-8")


def read_jsonl(location: Location, label: str, source: Source, params: IngestParams) -> Iterator[Read]:
    """Batches of one file. The raw content of a record is its line without the line end (and without a BOM)."""
    rows, number = Rows(source, label, params.max_control_share), 0
    content, encoding = _utf8_lines(streams.blocks(location, label), source)
    parse = _Parser(source, params, encoding)
    try:
        for number, line in enumerate(streams.lines(content, params.max_record_bytes), 1):
            if rows.full_with(len(line or b"")):
                yield rows.take()
            record = f"{label}:{number}"
            if line is None:
                rows.reject(record, "record_too_large", f"a line of more than {params.max_record_bytes} bytes")
            elif not line.strip(_BLANK):
                rows.blank += 1
            else:
                try:
                    parse.into(rows, line.removesuffix(b"\r"), record)
                except RejectedError as error:
                    rows.reject(record, error.reason, error.detail)
    except streams.StreamError as error:
        rows.reject(f"{label}:{number + 1}", error.reason, error.detail)
    if rows.pending:
        yield rows.take()


def _utf8_lines(content: Iterator[bytes], source: Source) -> tuple[Iterator[bytes], Decoded]:
    """The content with UTF-16 and UTF-32 turned into UTF-8 and the BOM gone, and what its lines are by default."""
    head, content = streams.head(content, SAMPLE_BYTES)
    found = stream_signature(head, source.encoding)
    if found is None:
        return content, _UTF8
    codec, by, skip = found
    content = streams.without_first(content, skip)
    return (content if codec == "utf-8" else streams.transcoded(content, codec)), Decoded("", codec, by)


class _Parsed(NamedTuple):
    """A record's object, every string of it free of lone surrogates, ready for orjson."""

    value: dict[str, Any]
    decoded: Decoded
    surrogates: int = 0


class _Parser:
    """Turns the lines of one file into documents."""

    def __init__(self, source: Source, params: IngestParams, encoding: Decoded) -> None:
        self._source, self._params, self._encoding = source, params, encoding
        self._fast = LongText(source.text_field if source.mojibake == "measure" else None)

    def into(self, rows: Rows, line: bytes, record: str) -> None:
        """Accepts the record of `line`; RejectedError where it cannot be used."""
        line = line.removeprefix(_BOM)
        if (cut := self._fast.text_of(line)) is not None:
            self._accept_cut(rows, line, record, cut)
            return
        value, decoded, surrogates = self._parsed(line)
        text = _text(value, self._source.text_field)
        del value[self._source.text_field]
        fields = take_fields(value, self._source)
        document = Decoded(text, decoded.codec, decoded.by, decoded.replacements)
        # control characters are escapes but for DEL, and an escape has at least one byte more than its character
        escaped = decoded.codec in _UNICODE and not decoded.replacements and b"\x7f" not in line
        within = len(line) if escaped else UNKNOWN
        rows.accept(fields.own_id, line, record, document, fields, surrogates, within=within)

    def _accept_cut(self, rows: Rows, line: bytes, record: str, cut: Cut) -> None:
        if cut.controls > self._params.max_control_share * len(cut.text):
            raise binary_content(self._params.max_control_share)
        fields = take_fields(cut.rest, self._source)
        rows.accept(fields.own_id, line, record, self._encoding, fields, utf8=cut.text, within=0)

    def _parsed(self, line: bytes) -> _Parsed:
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            return self._exact(*self._decoded(line))
        if is_plain(value, 0):
            return _Parsed(_object(value), self._encoding)
        return self._exact(line.decode(), self._encoding)

    @staticmethod
    def _exact(text: str, decoded: Decoded) -> _Parsed:
        """The record with the standard library's reader, which accepts lone surrogates and lets numbers be kept."""
        try:
            value = _EXACT.decode(text)
            cleaner = _Cleaner()
            value = cleaner.cleaned(value, 0)
        except ValueError as error:
            said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            where = f" at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else ""
            raise RejectedError("bad_json", f"not JSON: {said}{where}") from None
        except RecursionError:
            raise RejectedError("bad_json", f"not JSON: {_TOO_DEEP}") from None
        return _Parsed(_object(value), decoded, cleaner.surrogates)

    def _decoded(self, line: bytes) -> tuple[str, Decoded]:
        if self._encoding.codec in WIDE:
            return line.decode("utf-8", "surrogatepass"), self._encoding
        found = decode(
            line,
            [self._source.encoding] if self._source.encoding else [],
            max_replacement_share=self._params.max_replacement_share,
            max_control_share=self._params.max_control_share,
        )
        return found.text, self._encoding if found.by == "utf-8" else found


class _Cleaner:
    """Replaces lone surrogates in a JSON value, keys included, and counts them."""

    def __init__(self) -> None:
        self.surrogates = 0

    def cleaned(self, value: Any, depth: int) -> Any:
        """The value without lone surrogates; ValueError where it is nested too deep."""
        if isinstance(value, str):
            text, count = replace_surrogates(value)
            self.surrogates += count
            return text
        if not isinstance(value, dict | list):
            return value
        if depth >= MAX_DEPTH:
            raise ValueError(_TOO_DEEP)
        if isinstance(value, list):
            return [self.cleaned(v, depth + 1) for v in value]
        return {self.cleaned(k, depth + 1): self.cleaned(v, depth + 1) for k, v in value.items()}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


_TOO_DEEP: Final = f"nested deeper than {MAX_DEPTH} levels"
_EXACT: Final = json.JSONDecoder(parse_float=orjson.Fragment, parse_int=orjson.Fragment, parse_constant=_no_constant)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RejectedError("not_object", f"the line is {_kind(value)}, not an object")
    return value


def _text(value: dict[str, Any], name: str) -> str:
    text = value.get(name)
    if isinstance(text, str):
        return text
    if name not in value:
        raise text_missing(name)
    if text is None:
        raise text_null(name)
    raise RejectedError("text_not_string", f"field {name!r} is {_kind(text)}")


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "a literal (null, true or false)"
    if isinstance(value, str):
        return "a string"
    return "an object" if isinstance(value, dict) else "an array" if isinstance(value, list) else "a number"
