"""Ingest: raw files become documents, and whatever cannot become one is listed with its place and a reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from pipeline.sources import Read, Source, SourceStage
from pipeline.stage import StageUse
from stages.ingest.charsets import codec_of
from stages.ingest.jsonl import read_jsonl
from stages.ingest.params import IngestParams
from stages.ingest.parquet import read_parquet
from stages.ingest.streams import plain_name
from stages.ingest.text import read_text

__all__ = ["REASONS", "Ingest", "IngestParams", "format_of"]

REASONS: Final = {
    "bad_json": "the line is not JSON (NaN, infinities and nesting beyond 200 levels count as such)",
    "not_object": "the line is JSON, but not an object",
    "text_missing": "the record has no text field",
    "text_null": "the text field is null",
    "text_not_string": "the text field is not a string",
    "record_too_large": "the record is larger than `max_record_bytes`",
    "binary_content": "control characters dominate: not text",
    "undecodable": "no charset gives text from these bytes",
    "truncated_stream": "the compressed file ends early; what came before was read",
    "corrupt_stream": "the file is damaged from here on; what came before was read",
    "unreadable": "the file cannot be opened or read",
    "not_parquet": "the file is no complete Parquet file",
    "text_column": "the Parquet file has no column of strings under the name of the text field",
}
"""Every reason code of this stage; the last three concern whole files (UnreadableFileError)."""

Format = Literal["jsonl", "parquet", "text"]


class Ingest(SourceStage):
    """Raw files -> documents and quarantine."""

    name = "ingest"
    Params = IngestParams
    libraries = ("charset-normalizer", "orjson", "pyarrow")
    reasons = REASONS

    @classmethod
    def link(cls, params: IngestParams, uses: Sequence[StageUse], sources: Sequence[Source]) -> IngestParams:
        """Checks what the sources declare; ValueError where an encoding is no charset."""
        for source in sources:
            if source.encoding is not None and codec_of(source.encoding) is None:
                raise ValueError(
                    f"source {source.name!r}: encoding {source.encoding!r} is no charset; "
                    "write a label such as gb18030, big5, shift_jis or windows-1251, or leave it out"
                )
        return params

    @staticmethod
    def read(location: str, label: str, source: Source, params: IngestParams) -> Iterator[Read]:
        """Batches of at most 1,000 records or 16 MiB of text (a single larger record is a batch of its own)."""
        readers = {"jsonl": read_jsonl, "parquet": read_parquet, "text": read_text}
        return readers[format_of(location, source)](location, label, source, params)


def format_of(location: str, source: Source) -> Format:
    """How a file is read: as the source says, or by its name (.jsonl, .ndjson, .json, .parquet; else text)."""
    if source.format != "auto":
        return source.format
    name = plain_name(location)
    if name.endswith((".jsonl", ".ndjson", ".json")):
        return "jsonl"
    return "parquet" if name.endswith(".parquet") else "text"
