"""What readers of records take from a record's fields: text, address, title, own id, licence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from pipeline.sources import Source
from stages.ingest.decode import RejectedError, remove_nuls


@dataclass(frozen=True, slots=True)
class Fields:
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
    (url, url_nuls), (title, title_nuls) = _taken(record, source.url_field), _taken(record, source.title_field)
    return Fields(
        own_id=own_id if own_id is None or isinstance(own_id, str) else orjson.dumps(own_id).decode(),
        license=license if isinstance(license, str) else None,
        url=url,
        title=title,
        metadata=orjson.dumps(record).decode(),
        nuls=url_nuls + title_nuls,
    )


def _taken(record: dict[str, Any], name: str) -> tuple[str | None, int]:
    return remove_nuls(record.pop(name)) if isinstance(record.get(name), str) else (None, 0)


def text_missing(name: str) -> RejectedError:
    """The record has no such field."""
    return RejectedError("text_missing", f"no field {name!r}; set `text_field` if the text has another name")


def text_null(name: str) -> RejectedError:
    """The field is there and null."""
    return RejectedError("text_null", f"field {name!r} is null")
