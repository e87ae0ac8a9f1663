"""Web archives, WARC and WET: one document a page or text, every other record listed with a reason or counted.

`response` and `resource` records become documents when they hold HTML or plain text, `conversion` records (WET) as they
are. Requests, metadata and warcinfo are counted by kind; everything else is in quarantine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import orjson

from pipeline.sources import Read, Source
from stages.ingest import streams
from stages.ingest.bodies import decoded_body
from stages.ingest.decode import Decoded, RejectedError, decode, remove_nuls
from stages.ingest.fields import Fields
from stages.ingest.page import like_html, read_page
from stages.ingest.params import IngestParams
from stages.ingest.rows import Rows
from stages.ingest.streams import Location
from stages.ingest.warc_frames import Frame, by_name, frames, header_size, parsed_headers

_COUNTED: Final = frozenset({"warcinfo", "request", "metadata"})
_PAGES: Final = frozenset({"text/html", "application/xhtml+xml"})
_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.IGNORECASE)


def read_warc(location: Location, label: str, source: Source, params: IngestParams) -> Iterator[Read]:
    """Batches of one archive. `label:N` counts records from 1.

    The own id of a record is its WARC-Record-ID, its raw content the content of the record as it is stored.
    """
    rows = Rows(source, label)
    reader = _Records(source, params)
    for number, frame in enumerate(frames(streams.recovering(location, label), params.max_record_bytes), 1):
        if rows.full_with(len(frame.body)):
            yield rows.take()
        record = f"{label}:{number}"
        try:
            reader.into(rows, frame, record)
        except RejectedError as error:
            rows.reject(record, error.reason, error.detail)
    if rows.pending:
        yield rows.take()


class _Payload(NamedTuple):
    """What a record is about: its content type, declared charset, bytes, and metadata beside them."""

    type: str
    charset: str | None
    content: bytes
    metadata: dict[str, Any]


class _Records:
    """Turns the records of one archive into documents."""

    def __init__(self, source: Source, params: IngestParams) -> None:
        self._source, self._params = source, params

    def into(self, rows: Rows, frame: Frame, record: str) -> None:
        """Accepts the document of a record or counts its kind; RejectedError where it cannot be used."""
        headers = frame.headers
        if frame.problem is not None or headers is None:
            raise RejectedError(*(frame.problem or ("bad_record", "a record without headers")))
        kind = headers.get("warc-type", "").strip().lower()
        if kind in _COUNTED:
            rows.ignored[kind] += 1
            return
        _check_kind(kind, headers)
        url = headers.get("warc-target-uri", "").strip().strip("<>")
        if not url:
            raise RejectedError("no_target_uri", "the record has no WARC-Target-URI")
        if url.startswith("dns:"):
            rows.ignored["dns"] += 1
            return
        payload = self._payload(kind, headers, frame.body)
        decoded, title, said, nuls = self._text(kind, payload)
        own_id = headers.get("warc-record-id")
        metadata = _metadata(kind, headers, frame.note)
        metadata.update(payload.metadata)
        metadata.update(said)
        url, url_nuls = remove_nuls(url)
        fields = Fields(own_id, self._source.license, url, title, orjson.dumps(metadata).decode(), nuls + url_nuls)
        rows.accept(own_id, frame.body, record, decoded, fields)

    def _payload(self, kind: str, headers: dict[str, str], body: bytes) -> _Payload:
        about = headers.get("content-type", "")
        if kind == "response" and (about.startswith("application/http") or body.startswith(b"HTTP/")):
            return self._http(headers, body)
        return _Payload(_media_type(about), _charset(about), body, {})

    def _http(self, headers: dict[str, str], body: bytes) -> _Payload:
        size = header_size(body)
        http = parsed_headers(body[:size] if size >= 0 else body[: 1 << 16])
        status = http.status_code
        if status is None or size < 0:
            raise RejectedError("bad_http", "no HTTP status, or no end of the HTTP headers")
        if 300 <= status < 400:
            raise RejectedError("redirect", f"HTTP status {status}: the page is elsewhere")
        if not 200 <= status < 300:
            raise RejectedError("http_status", f"HTTP status {status}: not the page that was asked for")
        lines = http.to_tuples()
        given = by_name(lines)
        about = given.get("content-type", "")
        kind = _media_type(headers.get("warc-identified-payload-type") or about)
        metadata: dict[str, Any] = {"http_status": status, "http_headers": lines}
        content = body[size:]
        if kind and kind not in _PAGES and kind != "text/plain":
            raise _not_html(kind)
        transfer, coding = given.get("transfer-encoding"), given.get("content-encoding")
        if transfer or coding:
            content, complete = decoded_body(content, transfer or "", coding or "", self._params.max_record_bytes)
            if not complete:
                metadata["body"] = "cut"
        return _Payload(kind, _charset(about), content, metadata)

    def _text(self, kind: str, payload: _Payload) -> tuple[Decoded, str | None, dict[str, str], int]:
        labels = [self._source.encoding, payload.charset]
        if kind == "conversion" or payload.type == "text/plain":
            given = [label for label in labels if label]
            params = self._params
            decoded = decode(
                payload.content,
                given,
                max_replacement_share=params.max_replacement_share,
                max_control_share=params.max_control_share,
            )
            if not decoded.text or decoded.text.isspace():
                raise RejectedError("no_text", "the record's text is empty")
            return decoded, None, {}, 0
        if payload.type not in _PAGES and not (payload.type == "" and like_html(payload.content)):
            raise _not_html(payload.type)
        page = read_page(payload.content, labels, self._params)
        return page.decoded, page.title, page.said, page.nuls


def _check_kind(kind: str, headers: dict[str, str]) -> None:
    if kind == "revisit":
        raise RejectedError("revisit", "the page is in an earlier record, this one only says that it was seen again")
    if kind == "continuation" or headers.get("warc-segment-number") is not None:
        raise RejectedError("segmented", "part of a record that was cut into segments; these are not joined")
    if kind not in {"response", "resource", "conversion"}:
        raise RejectedError("bad_record", "the record's WARC-Type is none that is known")


_HEADERS: Final = (
    ("warc_date", "warc-date"),
    ("warc_record_id", "warc-record-id"),
    ("warc_truncated", "warc-truncated"),
    ("warc_languages", "warc-identified-content-language"),
)


def _metadata(kind: str, headers: dict[str, str], note: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {"warc_type": kind}
    for name, header in _HEADERS:
        if (value := headers.get(header)) is not None:
            found[name] = value
    if note is not None:
        found["warning"] = note
    return found


def _media_type(value: str) -> str:
    return value.split(";")[0].strip().lower()


def _charset(value: str) -> str | None:
    found = _CHARSET.search(value) if "=" in value else None
    return None if found is None else found[1]


def _not_html(kind: str) -> RejectedError:
    named = kind if re.fullmatch(r"[\w.+-]{1,60}/[\w.+-]{1,60}", kind) else "of an unknown type"
    return RejectedError("not_html", f"neither HTML nor plain text: {named}")
