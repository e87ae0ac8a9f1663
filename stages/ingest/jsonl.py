"""JSON Lines: one JSON object a line, lines end at "\\n" alone, every line is a document, blank, or in quarantine.

The fast way is a kernel over many lines (`stages.ingest.records`); the lines it leaves go through orjson. What that
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
    decode,
    replace_surrogates,
    stream_signature,
)
from stages.ingest.fields import take_fields, text_missing, text_null
from stages.ingest.params import IngestParams
from stages.ingest.records import Records
from stages.ingest.rows import UNKNOWN, Rows
from stages.ingest.runs import runs
from stages.ingest.streams import Location

MAX_DEPTH: Final = 200
"""Deeper nesting is bad_json: within what every JSON reader behind this stage accepts, however deep its own stack."""

_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\r"
_UNICODE: Final = WIDE | {"utf-8"}
_UTF8: Final = Decoded("", "utf-8", "utf-8")


def read_jsonl(location: Location, label: str, source: Source, params: IngestParams) -> Iterator[Read]:
    """Batches of one file. The raw content of a record is its line without the line end (and without a BOM)."""
    rows, number = Rows(source, label, params.max_control_share), 0
    content, encoding = _utf8_lines(streams.blocks(location, label), source)
    fast, parse = Records(source, params, label, encoding), _Parser(source, params, encoding)
    try:
        for run in runs(content, params.max_record_bytes):
            at = 0
            while at < _size(run):
                at, count, odd = fast.read(rows, run, at, number + 1) if run is not None else (at, 0, True)
                number += count
                if not odd:
                    if at < _size(run):
                        yield rows.take()
                    continue
                line = None if run is None else _line(run, at)
                if rows.full_with(_size(line)):
                    yield rows.take()
                number += 1
                parse.line(rows, line, f"{label}:{number}")
                at += _size(line) + 1
                line = None  # a large one is not to be in memory while the next is read
    except streams.StreamError as error:
        rows.reject(f"{label}:{number + 1}", error.reason, error.detail)
    if rows.pending:
        yield rows.take()


def _size(part: bytes | None) -> int:
    """Bytes of a run or line; one for a line that is too long to be there."""
    return 1 if part is None else len(part)


def _line(run: bytes, at: int) -> bytes:
    end = run.find(b"\n", at)
    return run[at : end if end >= 0 else len(run)]  # of a run without line end, the run itself


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

    def line(self, rows: Rows, line: bytes | None, record: str) -> None:
        """Takes a line in, whatever it is; None for one that was too long to be kept."""
        if line is None or len(line) > self._params.max_record_bytes:
            rows.reject(record, "record_too_large", f"a line of more than {self._params.max_record_bytes} bytes")
        elif not line.strip(_BLANK):
            rows.blank += 1
        else:
            try:
                self._into(rows, line.removesuffix(b"\r"), record)
            except RejectedError as error:
                rows.reject(record, error.reason, error.detail)

    def _into(self, rows: Rows, line: bytes, record: str) -> None:
        line = line.removeprefix(_BOM)
        value, decoded, surrogates = self._parsed(line)
        text = _text(value, self._source.text_field)
        del value[self._source.text_field]
        fields = take_fields(value, self._source)
        document = Decoded(text, decoded.codec, decoded.by, decoded.replacements)
        # control characters are escapes but for DEL, and an escape has at least one byte more than its character
        escaped = decoded.codec in _UNICODE and not decoded.replacements and b"\x7f" not in line
        within = len(line) if escaped else UNKNOWN
        rows.accept(fields.own_id, line, record, document, fields, surrogates, within=within)

    def _parsed(self, line: bytes) -> _Parsed:
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            return self._exact(*self._decoded(line))
        if _is_plain(value, 0):
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


_EXACT_KINDS: Final = frozenset({str, int, bool, type(None)})


def _is_plain(value: Any, depth: int) -> bool:
    """Did orjson keep this exactly? It turns integers beyond 64 bit into floats, and floats lose their digits."""
    kind = type(value)
    if kind in _EXACT_KINDS:
        return True
    if kind is float or depth >= MAX_DEPTH:
        return False
    for inner in value.values() if kind is dict else value:
        if type(inner) not in _EXACT_KINDS and not _is_plain(inner, depth + 1):
            return False
    return True


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
