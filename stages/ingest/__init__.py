"""Ingest: raw files become documents, and whatever cannot become one is listed with its place and a reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, cast

from pipeline.sources import Read, Source, SourceStage
from pipeline.stage import StageUse
from stages.ingest.archives import is_archive, read_archive
from stages.ingest.charsets import codec_of
from stages.ingest.csv import read_csv
from stages.ingest.html import read_html
from stages.ingest.jsonl import read_jsonl
from stages.ingest.params import IngestParams
from stages.ingest.parquet import read_parquet
from stages.ingest.streams import Location, plain_name
from stages.ingest.text import read_text
from stages.ingest.warc import read_warc

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
    "bad_csv": "the row's quotes do not fit, or it has more or fewer fields than the first row",
    "no_text": "a page without text outside of its navigation, or an empty record",
    "bad_html": "the page cannot be parsed",
    "not_html": "a record that holds neither HTML nor plain text",
    "redirect": "an HTTP response that points elsewhere (status 3xx)",
    "http_status": "an HTTP response with an error (status 4xx, 5xx) or an interim one",
    "revisit": "a record that only says that an earlier one was seen again",
    "segmented": "a part of a record that was cut into segments",
    "no_target_uri": "a record that does not say which address it is about",
    "bad_http": "a response without HTTP status or without an end of its HTTP headers",
    "bad_body": "a compressed HTTP body that is damaged",
    "bad_record": "bytes that are no WARC record, or a record whose header cannot be used",
    "cut_record": "the archive ends within the record",
    "bad_member": "a member of an archive that is encrypted, damaged or packed by an unknown method",
    "nested_archive": "an archive inside an archive",
    "archive_bomb": "an archive that unpacks to more than `max_archive_ratio` or `max_archive_bytes` allow",
    "truncated_stream": "the compressed file ends early; what came before was read",
    "corrupt_stream": "the file is damaged from here on; what came before was read",
    "unreadable": "the file cannot be opened or read",
    "not_parquet": "the file is no complete Parquet file",
    "not_archive": "the file is no complete zip or tar file",
    "text_column": "the Parquet or CSV file has no column (of strings) under the name of the text field",
}
"""Every reason code of this stage; the last four concern whole files (UnreadableFileError)."""

Format = Literal["jsonl", "parquet", "csv", "html", "warc", "text"]

_READERS: Final = {
    "jsonl": read_jsonl,
    "parquet": read_parquet,
    "csv": read_csv,
    "html": read_html,
    "warc": read_warc,
    "text": read_text,
}
_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "parquet": (".parquet",),
    "csv": (".csv", ".tsv"),
    "html": (".html", ".htm", ".xhtml"),
    "warc": (".warc", ".wet"),
}


class Ingest(SourceStage):
    """Raw files -> documents and quarantine."""

    name = "ingest"
    Params = IngestParams
    libraries = ("brotli", "charset-normalizer", "fastwarc", "ftfy", "orjson", "pyarrow", "resiliparse")
    reasons = REASONS
    expected = frozenset({"redirect", "http_status", "revisit", "not_html"})

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
        if is_archive(location):
            return read_archive(location, label, source, params, _read_plain)
        return _read_plain(location, label, source, params)


def _read_plain(location: Location, label: str, source: Source, params: IngestParams) -> Iterator[Read]:
    return _READERS[format_of(location, source)](location, label, source, params)


def format_of(location: Location, source: Source) -> Format:
    """How a file is read: as the source says, or by its name without .gz, .zst, .bz2, .xz; else as text."""
    if source.format != "auto":
        return source.format
    name = plain_name(location)
    return cast(Format, next((form for form, ends in _NAMES.items() if name.endswith(ends)), "text"))
