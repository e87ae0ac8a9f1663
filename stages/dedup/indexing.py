"""Making the index of a corpus (see `stages.dedup.earlier`)."""

from __future__ import annotations

import pyarrow as pa

from stages.dedup import texts
from stages.dedup.exact import ExactDedup, ExactDedupParams
from stages.dedup.minhash import MinHash, MinHashParams
from stages.dedup.shingles import Shingles


def rows(exact: pa.Table, near: pa.ChunkedArray, params: MinHashParams | None) -> pa.Table:
    """Rows of an index: documents with `doc_id` and `text` as `exact_dedup` saw it, and the texts `minhash` saw.

    Without params of `minhash` there are no signatures and no shingles.
    """
    hashed = ExactDedup.measure(exact, ExactDedupParams(), None)
    columns = {"doc_id": exact["doc_id"], "characters": hashed["characters"], "content_hash": hashed["content_hash"]}
    if params is None:
        nothing = pa.nulls(exact.num_rows)
        return pa.table(columns | {"signature": nothing, "shingles": nothing})
    measured = MinHash.measure(exact.set_column(exact.schema.get_field_index("text"), "text", near), params, None)
    values, ends = Shingles(params.shingle, params.shingle_characters).of(near)
    sets = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(values))
    return pa.table(
        columns | {"characters": texts.characters(near), "signature": measured["signature"], "shingles": sets}
    )
