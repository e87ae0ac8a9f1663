"""Declared inputs: what the config says of a source, and what a source stage gives back when it reads one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pyarrow as pa
from pydantic import Field, model_validator

from pipeline.stage import InputPath, Params, Stage, decides


class Source(Params):
    """One declared input of a run."""

    name: str = Field(
        max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="Unique name; part of every doc_id."
    )
    path: InputPath | list[InputPath] = decides(
        description="File, glob, or list of them: relative to the config file, absolute, or any fsspec URL."
    )
    format: Literal["auto", "jsonl", "parquet", "csv", "html", "warc", "text"] = Field(
        "auto",
        description="`auto` goes by the file name: .jsonl/.ndjson/.json, .parquet, .csv/.tsv, .html/.htm/.xhtml, "
        ".warc/.wet, else one text a file. In .zip and .tar files it holds for the members.",
    )
    text_field: str = Field("text", description="Field or column that holds the text.")
    id_field: str | None = Field(None, description="Field with the record's own id; it becomes part of doc_id.")
    url_field: str = Field("url", description="Field with the document's address.")
    title_field: str = Field("title", description="Field with the document's title.")
    encoding: str | None = Field(None, description="Declared charset (WHATWG label) for bytes that are not UTF-8.")
    mojibake: Literal["measure", "repair"] = Field(
        "measure", description="`repair`: text and title as ftfy decodes them anew, line by line, each change counted."
    )
    weight: float = decides(1.0, ge=0, description="How often the tokenizer counts this source, relative to others.")
    version: str | None = decides(None, description="Version of the data, for the record.")
    license: str | None = Field(None, description="SPDX expression that holds for the whole source.")
    license_field: str | None = Field(None, description="Field that carries each record's SPDX expression.")
    attribution: str | None = decides(None, description="Whom to credit, for the record.")
    redistribution: bool | None = decides(None, description="May the text itself be passed on? For the record.")
    priority: int | None = decides(
        None, description="Lower goes first when duplicates are chosen; default: config order."
    )
    on_unreadable: Literal["stop", "quarantine"] = decides(
        "stop",
        description="What a file that cannot be read at all does: stop the run, or be listed in quarantine.",
    )

    @model_validator(mode="after")
    def _one_licence(self) -> Source:
        if self.license is not None and self.license_field is not None:
            raise ValueError(f"source {self.name!r}: give `license` or `license_field`, not both")
        return self


@dataclass(frozen=True)
class Read:
    """A batch of one file's records, in file order.

    documents: schema DOCUMENTS; `doc_id` holds the identity of the record, 32 hex digits of `pipeline.hashing.identity`
        over (source name, own id, raw content); the runner turns equal identities into distinct ids.
    quarantine: schema QUARANTINE, one row for each record that cannot be used.
    blank: lines without content, which are no records.
    ignored: records that are no documents by their kind (requests of a web archive, folders of a tar file), by kind.
    """

    documents: pa.Table
    quarantine: pa.Table
    blank: int = 0
    ignored: Mapping[str, int] = field(default_factory=dict)


class UnreadableFileError(Exception):
    """An input file that cannot be read at all (no access, no Parquet footer, not the format it is said to be)."""

    def __init__(self, file: str, reason: str, detail: str) -> None:
        super().__init__(f"{file}: {detail} ({reason})")
        self.file, self.reason, self.detail = file, reason, detail

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.file, self.reason, self.detail)


class SourceStage(Stage):
    """Raw files -> documents and quarantine."""

    reasons: ClassVar[dict[str, str]] = {}  # every reason code it gives, with what it means
    expected: ClassVar[frozenset[str]] = (
        frozenset()
    )  # reasons that are no fault of the data: no share of them stops a run

    @staticmethod
    def read(location: str, label: str, source: Source, params: Any) -> Iterator[Read]:
        """Batches of bounded rows and bytes. `location`: path or URL to open; `label`: how messages name the file.

        Raises UnreadableFileError for a file that gives no record at all because of what it is. A stream that breaks
        off later gives the records before the break and a quarantine row of its own (`truncated_stream`).
        """
        raise NotImplementedError("a source stage reads files")
