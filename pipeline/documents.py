"""The tables every stage reads and writes: one declared schema each, for every shard, empty ones included.

Nothing is inferred from rows. Offsets in `placeholders` and `edits` are code points of the text they speak of.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

PLACEHOLDER: Final = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("token", pa.string())])

DOCUMENTS: Final = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("license", pa.string()),  # SPDX expression, or NULL where none is known
        pa.field("url", pa.string()),
        pa.field("title", pa.string()),
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("metadata", pa.string(), nullable=False),  # JSON object, values exactly as they came
        pa.field("placeholders", pa.list_(PLACEHOLDER), nullable=False),  # trusted spans, written by editors
        pa.field("encoding", pa.string()),  # codec that turned the bytes into text
        pa.field("encoding_by", pa.string()),  # bom | pattern | utf-8 | declared | detected | replacement
        pa.field("replacements", pa.int64(), nullable=False),  # undecodable places now U+FFFD
        pa.field("surrogates", pa.int64(), nullable=False),  # lone surrogates now U+FFFD
        pa.field("nuls", pa.int64(), nullable=False),  # U+0000 removed
        pa.field("mojibake", pa.int64()),  # places that look mis-decoded (ftfy's badness); NULL: not measured
        pa.field("repairs", pa.int64()),  # lines that `mojibake: repair` changed; NULL: the source does not ask for it
        pa.field("record", pa.string(), nullable=False),  # provenance: file and line; outside the content hash
    ]
)
"""One document a row. `record` says where it stood and is left out of the content hash."""

STORED: Final = DOCUMENTS.append(pa.field("bytes", pa.int64(), nullable=False))
"""Documents as they lie in shards: with the UTF-8 length of `text`, so that sums need not read it."""

PROVENANCE_COLUMNS: Final = frozenset({"record"})
"""Columns that no content hash covers: they may differ while the documents are the same."""

QUARANTINE: Final = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("file", pa.string(), nullable=False),
        pa.field("record", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("detail", pa.string(), nullable=False),
    ]
)

VERDICT: Final = pa.schema(
    [
        pa.field("keep", pa.bool_()),  # NULL: not measured, an earlier judge had dropped the document
        pa.field("rule", pa.string()),  # the first failing rule in declared order
        pa.field("value", pa.float64()),
        pa.field("threshold", pa.float64()),
        pa.field("detail", pa.string()),  # what a number cannot say: an expression, a label, a kept document's id
        pa.field("failed", pa.list_(pa.string())),  # every failing rule, in declared order
    ]
)
"""What a judge decides for one document. Stored files carry `doc_id` before these columns."""

EDITS: Final = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("field", pa.string(), nullable=False),  # text | title | url | metadata
        pa.field("kind", pa.string(), nullable=False),
        pa.field("rule", pa.string(), nullable=False),
        pa.field("score", pa.float64()),
        pa.field("start", pa.int64(), nullable=False),  # code points of the field before this editor
        pa.field("end", pa.int64(), nullable=False),
        pa.field("replacement", pa.string()),
    ]
)
"""What an editor replaced, where, by which rule; never the removed text itself."""

CURATED: Final = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("license", pa.string()),
        pa.field("lang", pa.string()),
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("url", pa.string()),
        pa.field("title", pa.string()),
        pa.field("metadata", pa.string(), nullable=False),
        pa.field("placeholders", pa.list_(PLACEHOLDER), nullable=False),
    ]
)

DOC_ID: Final = pa.field("doc_id", pa.string(), nullable=False)
MEASURED: Final = pa.field("measured", pa.bool_(), nullable=False)
