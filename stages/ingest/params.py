"""Settings of the ingest stage."""

from __future__ import annotations

from pydantic import Field

from pipeline.stage import Params


class IngestParams(Params):
    """Settings of the ingest stage."""

    shard_rows: int = Field(50_000, ge=1, description="Documents a shard holds at most.")
    shard_bytes: int = Field(
        64 << 20, ge=1, description="Bytes of text a shard holds at most, unless one document has more."
    )
    max_record_bytes: int = Field(
        64 << 20, ge=1, description="A record (line, row, page, text file) of more bytes is `record_too_large`."
    )
    max_archive_ratio: float = Field(
        200, gt=1, description="A .zip or .tar file that unpacks to more than this many times its size is a bomb."
    )
    max_archive_bytes: int = Field(
        1 << 40, ge=1, description="A .zip or .tar file that unpacks to more bytes is read no further."
    )
    main_content: bool = Field(
        False, description="Of a page, take only what Resiliparse takes for its main content; drops lists of links too."
    )
    max_replacement_share: float = Field(
        0.01, ge=0, le=1, description="Undecodable places may become U+FFFD up to this share of a text's characters."
    )
    max_control_share: float = Field(
        0.1, ge=0, le=1, description="A text with a higher share of control characters is `binary_content`."
    )
