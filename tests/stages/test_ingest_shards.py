"""Shards of one file: no larger than they may be, whatever single records bring."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipeline import storage
from pipeline.hashing import file_hash
from pipeline.reading import read_files
from pipeline.sources import Source
from pipeline.storage import Output, read_table
from pipeline.tasks import Result
from stages.ingest import Ingest


def shards(folder: Path, sizes: list[int], shard_bytes: int) -> tuple[Result, list[list[int]]]:
    """What reading texts of these sizes gives, and the sizes of the texts in each shard."""
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps({"text": str(i) * size}) + "\n" for i, size in enumerate(sizes)))
    result = read_files(
        folder,
        stage=Ingest,
        params=Ingest.Params.model_validate({"shard_bytes": shard_bytes}),
        source=Source.model_validate({"name": "web", "path": "unused"}),
        files=((str(path), file_hash(path), "a.jsonl"),),
        folder="ingest",
        part="part",
        limit=None,
    )
    return result, [read_table(folder / o.path)["bytes"].to_pylist() for o in documents(result)]


def documents(result: Result) -> list[Output]:
    return [o for o in result.outputs if "/read/" in o.path]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([400, 400, 400, 5000, 400], [[400, 400], [400], [5000], [400]]),
        ([5000], [[5000]]),
        ([5000, 5000, 1], [[5000], [5000], [1]]),
        ([600, 400, 600, 401], [[600, 400], [600], [401]]),
        ([999, 1, 1], [[999, 1], [1]]),
    ],
)
def test_a_shard_ends_before_a_document_that_would_make_it_too_large(
    tmp_path: Path, sizes: list[int], expected: list[list[int]]
) -> None:
    result, found = shards(tmp_path, sizes, 1000)
    assert found == expected
    assert len({o.path for o in documents(result)}) == len(expected)
    assert result.summary["documents"] == len(sizes)


def test_cuts_do_not_depend_on_how_the_records_came_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stages.ingest import rows

    sizes = [300 * (i % 4 + 1) for i in range(9)]
    (tmp_path / "one").mkdir()
    whole, _ = shards(tmp_path / "one", sizes, 1000)
    monkeypatch.setattr(rows, "BATCH_ROWS", 1)
    monkeypatch.setattr(storage, "ROW_GROUP_BYTES", 500)
    (tmp_path / "two").mkdir()
    single, _ = shards(tmp_path / "two", sizes, 1000)
    assert [(o.path, o.content_hash) for o in documents(whole)] == [(o.path, o.content_hash) for o in documents(single)]


def test_no_copy_of_a_text_is_kept_as_a_statistic(tmp_path: Path) -> None:
    result, _ = shards(tmp_path, [50, 60], 1000)
    group = pq.ParquetFile(tmp_path / documents(result)[0].path).metadata.row_group(0)
    columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    assert columns["text"].statistics is None
    assert columns["doc_id"].statistics is not None
