"""Text files: one document a file, whatever its extension."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.sources import Read, Source
from stages.ingest import streams
from stages.ingest.decode import RejectedError, decode
from stages.ingest.fields import Fields
from stages.ingest.params import IngestParams
from stages.ingest.rows import Rows
from stages.ingest.streams import Location


def read_text(location: Location, label: str, source: Source, params: IngestParams) -> Iterator[Read]:
    """One batch with the file's document, or its quarantine row. Its own id is `label`, its raw content the bytes.

    A compressed file's raw content is what it decompresses to: the same text packed anew keeps its identity.
    """
    rows = Rows(source, label)
    try:
        raw = content_of(location, label, params.max_record_bytes)
        decoded = decode(
            raw,
            [source.encoding] if source.encoding else [],
            max_replacement_share=params.max_replacement_share,
            max_control_share=params.max_control_share,
        )
        fields = Fields(own_id=label, license=source.license, url=None, title=None, metadata="{}", nuls=0)
        rows.accept(label, raw, label, decoded, fields)
    except (RejectedError, streams.StreamError) as error:
        rows.reject(label, error.reason, error.detail)
    yield rows.take()


def content_of(location: Location, label: str, limit: int) -> bytes:
    parts, size = [], 0
    for block in streams.blocks(location, label):
        size += len(block)
        if size > limit:
            raise RejectedError("record_too_large", f"a text of more than {limit} bytes")
        parts.append(block)
    return b"".join(parts)
