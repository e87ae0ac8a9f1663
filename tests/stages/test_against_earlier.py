"""Deduplication against an earlier corpus: what its index removes, what it says, and which indexes are refused."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus import documents, judged, survivors

from stages.dedup import ExactDedup, MinHash
from stages.dedup.earlier import EarlierCorpus, EarlierCorpusError, schema, write
from stages.dedup.exact import ExactDedupParams
from stages.dedup.indexing import rows
from stages.dedup.minhash import MinHashParams

GENERATOR = random.Random(5)
SIZE = 60


def text(count: int = SIZE) -> list[str]:
    return [f"w{GENERATOR.randrange(50_000)}" for _ in range(count)]


def index(folder: Path, texts: list[str], run: str = "old", **settings: Any) -> str:
    params = MinHashParams(**settings)
    path = folder / f"{run}.parquet"
    table = documents(texts, [f"{run}{k}" for k in range(len(texts))])
    write(path, schema(run, params.signature(), params.permutations), [rows(table, table["text"], params)])
    return str(path)


BASE, NEAR, NEW = text(), text(), text()
CHANGED = " ".join([*NEAR[:30], "other", *NEAR[31:]])


def test_copies_and_near_copies_of_an_earlier_document_go_and_name_it(tmp_path: Path) -> None:
    old = index(tmp_path, [" ".join(BASE), " ".join(NEAR)])
    shard = documents([" ".join(BASE), CHANGED, " ".join(NEW)])
    verdicts, state = judged(MinHash, MinHashParams(against=[old]), [shard])
    assert survivors(verdicts) == ["d0002"]
    assert [verdicts[f"d000{k}"]["rule"] for k in range(2)] == ["in_earlier_corpus"] * 2
    assert verdicts["d0000"]["detail"] == "old:old0" and verdicts["d0000"]["value"] == 1.0
    assert verdicts["d0001"]["detail"] == "old:old1"
    shingles, common = SIZE - 4, SIZE - 4 - 5
    assert verdicts["d0001"]["value"] == common / (2 * shingles - common)
    assert state.table.select(["kept_id", "run"]).to_pylist()[0] == {"kept_id": "old0", "run": "old"}
    assert state.summary["earlier"] == 2 and state.summary["largest_cluster"] == 0


def test_exact_copies_of_an_earlier_document_go_without_signatures(tmp_path: Path) -> None:
    old = index(tmp_path, ["same", "other"])
    verdicts, state = judged(ExactDedup, ExactDedupParams(against=[old]), [documents(["same", "new", "same", "new"])])
    assert survivors(verdicts) == ["d0001"]
    assert [verdicts[f"d000{k}"]["detail"] for k in (0, 2, 3)] == ["old:old0", "old:old0", "d0001"]
    assert [verdicts[f"d000{k}"]["rule"] for k in (0, 3)] == ["in_earlier_corpus", "exact_duplicate"]
    assert state.summary == {"removed": 3, "removed_as_earlier": 2, "largest_cluster": 2}


def test_earlier_documents_that_are_alike_both_stay_and_both_remove(tmp_path: Path) -> None:
    further = " ".join([*NEAR[:2], "x", *NEAR[3:30], "other", *NEAR[31:]])
    old = index(tmp_path, [" ".join(NEAR), CHANGED])
    verdicts, _ = judged(MinHash, MinHashParams(against=[old]), [documents([further])])
    assert verdicts["d0000"]["rule"] == "in_earlier_corpus"


def test_several_earlier_corpora_are_asked_in_order_and_the_same_run_may_be_its_own_past(tmp_path: Path) -> None:
    listed = [index(tmp_path, [" ".join(BASE)], "a"), index(tmp_path, [" ".join(BASE), " ".join(NEAR)], "b")]
    shard = documents([" ".join(BASE), " ".join(NEAR)], ["a0", "b1"])
    for judge, params in ((MinHash, MinHashParams(against=listed)), (ExactDedup, ExactDedupParams(against=listed))):
        verdicts, _ = judged(judge, params, [shard])
        assert [verdicts[k]["detail"] for k in ("a0", "b1")] == ["a:a0", "b:b1"]


def test_what_is_like_nothing_earlier_is_deduplicated_as_without(tmp_path: Path) -> None:
    old = index(tmp_path, [" ".join(text()) for _ in range(20)])
    shard = documents([" ".join(BASE), " ".join(BASE), " ".join(NEAR), CHANGED])
    plain, expected = judged(MinHash, MinHashParams(), [shard])
    verdicts, state = judged(MinHash, MinHashParams(against=[old]), [shard])
    assert verdicts == plain and state.table.equals(expected.table)


def test_documents_without_a_shingle_in_the_index_match_nothing(tmp_path: Path) -> None:
    old = index(tmp_path, ["...", " ".join(BASE), ""])
    verdicts, _ = judged(MinHash, MinHashParams(against=[old]), [documents(["!!!", " ".join(BASE)])])
    assert [verdicts[f"d000{k}"]["rule"] for k in range(2)] == ["empty", "in_earlier_corpus"]


def test_an_index_made_with_other_settings_is_refused(tmp_path: Path) -> None:
    old = index(tmp_path, ["a b c"], permutations=64, shingle=3)
    message = (
        r"old\.parquet: the index of the run 'old' was made with other settings \(permutations: 64 there, 128 here; "
        r"shingle: 3 there, 5 here\); use the same here, or index a run that was made with these"
    )
    with pytest.raises(EarlierCorpusError, match=message):
        judged(MinHash, MinHashParams(against=[old]), [documents(["x"])])
    judged(MinHash, MinHashParams(against=[old], permutations=64, shingle=3, threshold=0.5), [documents(["x"])])


def test_files_that_are_no_index_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), tmp_path / "other.parquet")
    (tmp_path / "text.parquet").write_text("no parquet")
    for name in ("other.parquet", "text.parquet", "absent.parquet"):
        with pytest.raises(
            EarlierCorpusError, match=rf"{name}: is no index of an earlier corpus; make one with: curate"
        ):
            EarlierCorpus.open(str(tmp_path / name), None)


def test_an_index_of_another_version_or_without_signatures_is_refused(tmp_path: Path) -> None:
    layout = schema("old", None, 128)
    write(tmp_path / "plain.parquet", layout, [])
    assert EarlierCorpus.open(str(tmp_path / "plain.parquet"), None).run == "old"
    with pytest.raises(EarlierCorpusError, match="the run 'old' had no stage `minhash`, its index holds no signatures"):
        EarlierCorpus.open(str(tmp_path / "plain.parquet"), MinHashParams().signature())
    newer = {k: v.replace(b'"version": 1', b'"version": 2') for k, v in layout.metadata.items()}
    write(tmp_path / "newer.parquet", layout.with_metadata(newer), [])
    with pytest.raises(EarlierCorpusError, match="is an index of version 2, and this curate reads version 1; make it"):
        EarlierCorpus.open(str(tmp_path / "newer.parquet"), None)


def test_a_run_folder_stands_for_the_index_in_it() -> None:
    assert MinHashParams(against=["../runs/old/", "x/y.parquet"]).against == [
        "../runs/old/index.parquet",
        "x/y.parquet",
    ]
