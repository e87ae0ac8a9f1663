"""What readers of records take from a record's fields: text, address, title, own id, licence."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from pipeline.sources import Source
from stages.ingest.decode import RejectedError, remove_nuls


class Fields(NamedTuple):
    """A record's columns; `nuls` were removed from `url` and `title`. What is left of the record is its metadata."""

    own_id: str | None
    license: str | None
    url: str | None
    title: str | None
    metadata: str
    nuls: int


def take_fields(record: dict[str, Any], source: Source) -> Fields:
    """Columns of `record` (string keys, values that orjson can write, no lone surrogates), which becomes the metadata.

    `url` and `title` leave the metadata where they are strings; the own id and the licence stay there.
    """
    own_id = record.get(source.id_field) if source.id_field is not None else None
    license = record.get(source.license_field) if source.license_field is not None else source.license
    url, title = _taken(record, source.url_field), _taken(record, source.title_field)
    nuls = (url or "").count("\0") + (title or "").count("\0")
    if nuls:
        url, title = (value and remove_nuls(value)[0] for value in (url, title))
    return Fields(
        own_id if own_id is None or isinstance(own_id, str) else orjson.dumps(own_id).decode(),
        license if isinstance(license, str) else None,
        url,
        title,
        orjson.dumps(record).decode(),
        nuls,
    )


def _taken(record: dict[str, Any], name: str) -> str | None:
    return record.pop(name) if isinstance(record.get(name), str) else None


def text_missing(name: str) -> RejectedError:
    """The record has no such field."""
    return RejectedError("text_missing", f"no field {name!r}; set `text_field` if the text has another name")


def text_null(name: str) -> RejectedError:
    """The field is there and null."""
    return RejectedError("text_null", f"field {name!r} is null")
