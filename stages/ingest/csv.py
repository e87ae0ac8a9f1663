"""CSV and TSV files: one document a row; the first row names the columns, values stay the strings they are.

Fields are quoted as RFC 4180 says. A quote that is never closed costs its line, not the rest of the file.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pipeline.sources import Read, Source, UnreadableFileError
from stages.ingest import streams
from stages.ingest.decode import (
    SAMPLE_BYTES,
    Decoded,
    RejectedError,
    check_text,
    decode,
    remove_nuls,
    stream_signature,
)
from stages.ingest.fields import take_fields
from stages.ingest.params import IngestParams
from stages.ingest.rows import Rows
from stages.ingest.streams import Location

DELIMITERS: Final = (",", "\t", ";", "|")


def read_csv(location: Location, label: str, source: Source, params: IngestParams) -> Iterator[Read]:
    """Batches of one file. The raw content of a record is its lines; `label:N` names the line it begins at.

    The delimiter is the one of comma, tab, semicolon and bar under which the first row has the text field.
    Raises UnreadableFileError: `text_column`.
    """
    rows = Rows(source, label)
    content, encoding = _content(location, label, source)
    table: _Table | None = None
    delimiters = bytearray("".join(DELIMITERS).encode())
    at = 1
    try:
        lines = streams.lines(content, params.max_record_bytes)
        for record in _records(lines, params.max_record_bytes, delimiters):
            at = record.line + 1
            if rows.full_with(len(record.raw)):
                yield rows.take()
            if not record.raw.strip(b" \t\r\n") and record.problem is None:
                rows.blank += 1
            elif table is None:
                table = _Table.of(record, label, source, params, encoding)
                delimiters[:] = table.delimiter.encode()
            else:
                _into(rows, table, record, label)
    except streams.StreamError as error:
        rows.reject(f"{label}:{at}", error.reason, error.detail)
    if rows.pending:
        yield rows.take()


def _into(rows: Rows, table: _Table, record: _Record, label: str) -> None:
    place = f"{label}:{record.line}"
    try:
        table.into(rows, record, place)
    except RejectedError as error:
        rows.reject(place, error.reason, error.detail)


def _content(location: Location, label: str, source: Source) -> tuple[Iterator[bytes], Decoded | None]:
    """The content as bytes that hold ASCII as ASCII, and what its text is by default (None: as each row decodes)."""
    head, content = streams.head(streams.blocks(location, label), SAMPLE_BYTES)
    found = stream_signature(head, source.encoding)
    if found is None:
        return content, None
    codec, by, skip = found
    content = streams.without_first(content, skip)
    return (content, None) if codec == "utf-8" else (streams.transcoded(content, codec), Decoded("", codec, by))


@dataclass(frozen=True, slots=True)
class _Record:
    """Physical lines that make one row: where it begins, its bytes, and what is wrong with it."""

    line: int
    raw: bytes
    problem: tuple[str, str] | None = None


_UNCLOSED: Final = ("bad_csv", "a quote is opened and not closed where a field ends")


def _records(lines: Iterator[bytes | None], limit: int, delimiters: bytearray) -> Iterator[_Record]:
    """Rows as bytes. A row goes on behind a line end that stands inside quotes; `delimiters` may stand before a quote.

    Where a quote is not closed before the file or the largest record ends, its line is rejected, and each of the lines
    behind it that were taken for its continuation stands for itself.
    """
    waiting: deque[bytes | None] = deque()
    number, alone = 1, 0  # `alone`: how many of the next lines cannot go on
    while True:
        first = waiting.popleft() if waiting else next(lines, _END)
        if first is _END:
            return
        if first is None:
            yield _Record(number, b"", ("record_too_large", f"a line of more than {limit} bytes"))
            number, alone = number + 1, max(0, alone - 1)
            continue
        taken, size, state = [first], len(first), _after(first, _CLOSED, delimiters)
        while state == _OPEN and not alone:
            line = waiting.popleft() if waiting else next(lines, _END)
            if line is _END or line is None or size + len(line) > limit:
                if line is not _END:
                    waiting.appendleft(line)
                break
            taken.append(line)
            size += len(line) + 1
            state = _after(line, _OPEN, delimiters)
        if state == _OPEN or (state == _BROKEN and len(taken) > 1):
            yield _Record(number, first, _UNCLOSED)
            alone = max(0, alone - 1) + len(taken) - 1
            waiting.extendleft(reversed(taken[1:]))
            number += 1
        else:
            yield _Record(number, b"\n".join(taken))
            number, alone = number + len(taken), max(0, alone - 1)


_END: Final = b"\0end of the lines"


_CLOSED, _OPEN, _BROKEN = range(3)


def _after(line: bytes, state: int, delimiters: bytearray) -> int:
    """Whether a quoted field is open at the end of `line`; broken: one was closed in the middle of a field.

    Only a quote at the beginning of a field opens one; a doubled one inside stands for itself.
    """
    at = 0
    while (at := line.find(b'"', at)) >= 0:
        at += 1
        if state == _CLOSED:
            state = _OPEN if at == 1 or line[at - 2] in delimiters else _CLOSED
        elif line[at : at + 1] == b'"':
            at += 1
        elif at < len(line) and line[at] not in delimiters and line[at:] != b"\r":
            return _BROKEN
        else:
            state = _CLOSED
    return state


class _Table:
    """The columns of one file, and how its rows become documents."""

    def __init__(
        self, columns: list[str], delimiter: str, source: Source, params: IngestParams, encoding: Decoded | None
    ) -> None:
        self._columns, self.delimiter = columns, delimiter
        self._source, self._params, self._encoding = source, params, encoding

    @classmethod
    def of(cls, record: _Record, label: str, source: Source, params: IngestParams, encoding: Decoded | None) -> _Table:
        """From the first row; UnreadableFileError (`text_column`) where it does not name the text field."""
        found: list[str] = []
        for delimiter in DELIMITERS:
            table = cls([], delimiter, source, params, encoding)
            try:
                table._columns = [c.strip() for c in table._values(record)[0]]
            except RejectedError:
                continue
            if source.text_field in table._columns:
                return table
            found = max(found, table._columns, key=len)
        raise UnreadableFileError(
            label,
            "text_column",
            f"the first row has no column {source.text_field!r}; set `text_field` to one of: "
            + ", ".join(repr(c[:40]) for c in found[:20]),
        )

    def into(self, rows: Rows, record: _Record, place: str) -> None:
        """Accepts the document of a row; RejectedError where it cannot be used."""
        if record.problem is not None:
            raise RejectedError(*record.problem)
        values, decoded = self._values(record)
        if len(values) != len(self._columns):
            raise RejectedError("bad_csv", f"the row has {len(values)} fields, the first row {len(self._columns)}")
        fields = dict(zip(self._columns, values, strict=True))
        text = fields.pop(self._source.text_field)
        check_text(text, self._params.max_control_share)
        nuls = sum(v.count("\0") for v in fields.values())
        kept = {remove_nuls(k)[0]: remove_nuls(v)[0] for k, v in fields.items()} if nuls else fields
        taken = take_fields(dict(kept), self._source)
        document = Decoded(text, decoded.codec, decoded.by, decoded.replacements)
        rows.accept(taken.own_id, record.raw, place, document, taken)

    def _values(self, record: _Record) -> tuple[list[str], Decoded]:
        if self._encoding is None:
            decoded = decode(
                record.raw,
                [self._source.encoding] if self._source.encoding else [],
                max_replacement_share=self._params.max_replacement_share,
                max_control_share=self._params.max_control_share,
            )
        else:
            text = record.raw.decode("utf-8", "replace")
            decoded = Decoded(text, self._encoding.codec, self._encoding.by, text.count("\ufffd"))
        csv.field_size_limit(max(csv.field_size_limit(), self._params.max_record_bytes))
        try:
            lines = (line + "\n" for line in decoded.text.split("\n"))
            rows = list(csv.reader(lines, delimiter=self.delimiter, strict=True))
        except csv.Error as error:
            raise RejectedError("bad_csv", f"not a row: {error}") from None
        if len(rows) != 1:
            raise RejectedError("bad_csv", "quotes that do not fit together")
        return rows[0], decoded
