"""HTML files: one page a file."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from pipeline.sources import Read, Source
from stages.ingest import streams
from stages.ingest.decode import RejectedError
from stages.ingest.fields import Fields
from stages.ingest.page import read_page
from stages.ingest.params import IngestParams
from stages.ingest.rows import Rows
from stages.ingest.streams import Location
from stages.ingest.text import content_of


def read_html(location: Location, label: str, source: Source, params: IngestParams) -> Iterator[Read]:
    """One batch with the page's document, or its quarantine row. Its own id is `label`, its raw content the bytes."""
    rows = Rows(source, label)
    try:
        raw = content_of(location, label, params.max_record_bytes)
        page = read_page(raw, [source.encoding], params)
        fields = Fields(label, source.license, None, page.title, orjson.dumps(page.said).decode(), page.nuls)
        rows.accept(label, raw, label, page.decoded, fields)
    except (RejectedError, streams.StreamError) as error:
        rows.reject(label, error.reason, error.detail)
    yield rows.take()
