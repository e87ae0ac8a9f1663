"""Near-duplicates: what is found, verified, kept, and that nothing but the documents decides it."""

from __future__ import annotations

import io
import json
import os
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import regex
import zstandard
from corpus import Corpus, documents, judged, survivors
from pydantic import ValidationError

from pipeline.documents import DOCUMENTS, VERDICT
from pipeline.hashing import table_hash
from pipeline.stage import measuring
from stages.dedup import MinHash, lsh
from stages.dedup.minhash import MinHashParams

PARAMS = MinHashParams()
DATA = Path(os.environ.get("CURATE_TEST_DATA", Path(__file__).parents[2] / "../shared/data"))
UNSPACED = r"[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]"


@cache
def shingle_set(text: str) -> set[tuple[str, ...]]:
    """A plain twin of the definition: words or single characters, then every 5 (8) of them in a row."""
    visible = regex.sub(r"[\p{Cf}\p{Default_Ignorable_Code_Point}]", "", text.casefold())
    units = regex.findall(
        rf"(?V1){UNSPACED}|[[^\p{{Z}}\p{{P}}\p{{Cc}}\s]--{UNSPACED}]+", regex.sub(r"\p{P}", " ", visible)
    )
    single = sum(1 for unit in units if regex.fullmatch(UNSPACED, unit))
    n = min(len(units), 8 if 2 * single > len(units) else 5)
    return {tuple(units[k : k + n]) for k in range(len(units) - n + 1)} if units else set()


def jaccard(a: str, b: str) -> float:
    x, y = shingle_set(a), shingle_set(b)
    return len(x & y) / len(x | y)


def words(generator: random.Random, count: int) -> list[str]:
    return [f"w{generator.randrange(50_000)}" for _ in range(count)]


def family(generator: random.Random, size: int, length: int = 200) -> list[str]:
    """Near-copies of one text, each with up to a few words replaced."""
    base = words(generator, length)
    copies = []
    for _ in range(size):
        copy = list(base)
        for _ in range(generator.randrange(4)):
            copy[generator.randrange(length)] = f"x{generator.randrange(10**9)}"
        copies.append(" ".join(copy))
    return copies


def kept_texts(texts: list[str], **params: Any) -> list[str]:
    verdicts, _ = judged(MinHash, MinHashParams(**params), [documents(texts)])
    return [texts[int(doc_id[1:])] for doc_id in survivors(verdicts)]


def test_short_texts_are_whole_text_shingles() -> None:
    """DUP-01."""
    assert kept_texts(["yes", "no", "yes", "你好", "再见"]) == ["yes", "no", "你好", "再见"]


def test_documents_without_a_shingle_are_dropped_as_empty_and_join_nothing() -> None:
    """DUP-02."""
    texts = ["", "   ", "\n", "!!!", "real text of ten words that is not a copy here", ""]
    verdicts, state = judged(MinHash, PARAMS, [documents(texts)])
    assert [verdicts[f"d{k:04}"]["rule"] for k in range(6)] == ["empty"] * 4 + [None, "empty"]
    assert verdicts["d0000"]["value"] == 0.0
    assert state.table.num_rows == 0
    assert state.summary["empty"] == 5
    assert state.summary["documents"] == 1


def test_a_document_without_a_shingle_has_no_signature() -> None:
    measures = MinHash.measure(documents(["", "a b c", "..."]), PARAMS, None)
    assert [s is None for s in measures["signature"].to_pylist()] == [True, False, True]
    assert measures["shingles"].to_pylist() == [0, 1, 0]
    assert measures["characters"].to_pylist() == [0, 5, 3]


@pytest.mark.parametrize(
    ("bands", "rows", "expected"), [(14, 8, 0.9235), (60, 13, 0.9664), (13, 60, 0.00002), (20, 13, 0.6773)]
)
def test_the_curve_tells_swapped_bands_and_rows(bands: int, rows: int, expected: float) -> None:
    """DUP-04."""
    assert lsh.probability(0.8, bands, rows) == pytest.approx(expected, abs=5e-5)
    _, state = judged(MinHash, MinHashParams(permutations=780, bands=bands, rows=rows), [documents(["a"])])
    assert bool(state.summary["warnings"]) == (expected < 0.5)


def test_a_shape_that_finds_less_than_half_is_a_warning() -> None:
    _, state = judged(MinHash, MinHashParams(permutations=780, bands=13, rows=60), [documents(["a"])])
    assert state.summary["warnings"] == ["13 bands of 60 rows find only 0.0% of pairs at the threshold"]


def test_the_default_shape_has_the_most_rows_then_the_fewest_bands_that_reach_the_recall() -> None:
    assert lsh.shape(128, 0.8) == (16, 8)
    assert MinHashParams().shape() == (16, 8)
    for permutations, threshold in [(128, 0.5), (256, 0.8), (64, 0.9), (128, 1.0), (9, 0.3)]:
        bands, rows = lsh.shape(permutations, threshold)
        assert lsh.probability(threshold, bands, rows) >= 0.94
        assert bands == 1 or lsh.probability(threshold, bands - 1, rows) < 0.94
        assert lsh.probability(threshold, permutations // (rows + 1), rows + 1) < 0.94
    assert lsh.shape(2, 0.3) == (2, 1)


def test_the_curve_of_the_docstring_is_the_curve() -> None:
    table = {0.3: 0.001, 0.4: 0.010, 0.5: 0.061, 0.6: 0.237, 0.7: 0.613, 0.8: 0.947, 0.85: 0.994}
    for j, p in table.items():
        assert lsh.probability(j, 16, 8) == pytest.approx(p, abs=5e-4)
    assert lsh.probability(0.9, 16, 8) == pytest.approx(0.9999, abs=5e-5)


def test_pairs_share_a_bucket_about_as_often_as_the_curve_says() -> None:
    from kernels import minhash

    generator = np.random.default_rng(5)
    hits, pairs = 0, 300
    for _ in range(pairs):
        common, left, right = (generator.integers(0, 1 << 32, n, np.uint32) for n in (70, 15, 15))
        a, b = minhash.permutations(128, int(generator.integers(1, 1 << 31)))
        rows = np.stack([_signature(np.concatenate([common, own]), a, b) for own in (left, right)])
        keys = np.empty((16, 2), np.int64)
        minhash.band_keys(rows, 16, 8, keys)
        hits += bool((keys[:, 0] == keys[:, 1]).any())
    assert hits / pairs == pytest.approx(lsh.probability(0.7, 16, 8), abs=0.09)  # three standard deviations


def _signature(hashes: Any, a: Any, b: Any) -> Any:
    x = hashes.astype(np.uint32)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = (x ^ (x >> np.uint32(shift))) * np.uint32(factor)
    x ^= x >> np.uint32(16)
    return (x[:, None] * a + b).min(axis=0)


def test_chains_do_not_collapse_into_one_document() -> None:
    """DUP-05 through signatures and bands: far from 1 survivor, and each removal stands on a kept document."""
    texts = [" ".join(f"w{k}" for k in range(2 * i + 1, 2 * i + 25)) for i in range(1000)]
    assert jaccard(texts[0], texts[1]) == pytest.approx(0.8181818181818182)
    assert jaccard(texts[0], texts[2]) == pytest.approx(0.6666666666666666)
    verdicts, state = judged(MinHash, PARAMS, [documents(texts)])
    assert 500 <= len(survivors(verdicts)) < 560
    for verdict in verdicts.values():
        assert verdict["keep"] or verdicts[verdict["detail"]]["keep"]
    assert state.summary["largest_cluster"] <= 3


def test_template_texts_that_differ_in_a_name_are_kept() -> None:
    """DUP-09."""
    a, b = (f"route {n} runs through oak county in the north" for n in (101, 102))
    assert jaccard(a, b) == pytest.approx(0.4286, abs=5e-5)
    for n, expected in ((1, 0.8), (2, 0.6), (3, 0.5556), (5, 0.4286)):
        for threshold, kept in ((expected - 1e-4, 1), (expected + 1e-4, 2)):
            assert len(kept_texts([a, b], shingle=n, threshold=threshold, bands=128, rows=1)) == kept
    assert kept_texts([a, b]) == [a, b]
    assert kept_texts([a, b], shingle=1) == [a]


def test_many_copies_of_one_page_cost_a_star_of_comparisons() -> None:
    """DUP-11."""
    generator = random.Random(1)
    texts = [" ".join(words(generator, 60))] * 20_000 + [" ".join(words(generator, 60)) for _ in range(1_000)]
    verdicts, state = judged(MinHash, PARAMS, [documents(texts)])
    assert len(survivors(verdicts)) == 1_001
    assert state.summary["comparisons"] == 19_999
    assert state.summary["largest_cluster"] == 20_000


def test_a_document_never_matches_itself() -> None:
    """DUP-14, the document level."""
    texts = ["p one is here\n\np two is here", "other text alone"]
    assert kept_texts(texts) == texts


def test_a_bucket_too_large_to_compare_is_reported() -> None:
    generator = random.Random(2)
    common = " ".join(words(generator, 40))
    texts = [common + " " + " ".join(words(generator, 40)) for _ in range(30)]
    params = MinHashParams(threshold=0.9, permutations=16, bands=16, rows=1, max_bucket=3)
    _, state = judged(MinHash, params, [documents(texts)])
    assert state.summary["abandoned_buckets"]
    assert all(bucket["comparisons"] == 3 for bucket in state.summary["abandoned_buckets"])
    assert "near-duplicates in it may remain: raise max_bucket" in state.summary["warnings"][0]


def test_the_longer_text_of_the_source_with_priority_is_kept() -> None:
    base = " ".join(words(random.Random(4), 100))
    texts = [base, base + " end", base + " end of it", base]
    shard = documents(texts, ["a", "b", "c", "d"], ["first", "first", "second", "first"])
    verdicts, _ = judged(MinHash, PARAMS, [shard], sources=("first", "second"))
    assert survivors(verdicts) == ["b"]
    verdicts, state = judged(MinHash, PARAMS, [shard], sources=("second", "first"))
    assert survivors(verdicts) == ["c"]
    assert state.summary["removed_by_source"] == {
        "first": {"documents": 3, "removed": 3},
        "second": {"documents": 1, "removed": 0},
    }


def test_a_verdict_names_the_kept_document_and_their_exact_jaccard() -> None:
    generator = random.Random(6)
    base = words(generator, 100)
    texts = [" ".join(base), " ".join([*base[:60], "new", *base[61:]]), " ".join(words(generator, 100))]
    verdicts, state = judged(MinHash, PARAMS, [documents(texts)])
    (removed,) = (k for k in (0, 1) if not verdicts[f"d000{k}"]["keep"])
    kept = 1 - removed
    verdict = verdicts[f"d000{removed}"]
    assert verdict["rule"] == "near_duplicate"
    assert verdict["detail"] == f"d000{kept}"
    assert verdict["value"] == jaccard(*texts[:2])
    assert verdict["threshold"] == 0.8
    (row,) = state.table.to_pylist()
    a, b = shingle_set(texts[removed]), shingle_set(texts[kept])
    assert row["containment"] == len(a & b) / len(a)
    assert 0 <= row["band"] < 16


def test_shuffled_rows_and_shards_give_one_state() -> None:
    """DUP-08."""
    generator = random.Random(7)
    texts = [text for size in (2, 5, 7, 1, 1, 1, 1, 1, 1) for text in family(generator, size)]
    whole = documents(texts, sources=[generator.choice(["a", "b"]) for _ in texts])
    _, expected = judged(MinHash, PARAMS, [whole], sources=("a", "b"))
    assert expected.table.num_rows >= 8
    for _ in range(20):
        rows = generator.sample(range(len(texts)), len(texts))
        cuts = sorted(generator.randrange(len(texts) + 1) for _ in range(3))
        shards = [
            whole.take(pa.array(rows[i:j], pa.int64())) for i, j in zip([0, *cuts], [*cuts, len(texts)], strict=True)
        ]
        _, state = judged(MinHash, PARAMS, shards, sources=("a", "b"))
        assert table_hash(state.table) == table_hash(expected.table)
        assert state.summary == expected.summary


def test_a_second_pass_removes_nothing() -> None:
    generator = random.Random(8)
    shard = documents([text for size in (3, 9, 1, 30) for text in family(generator, size, 60)])
    verdicts, _ = judged(MinHash, PARAMS, [shard])
    kept = shard.filter(pa.array([verdicts[d]["keep"] for d in shard["doc_id"].to_pylist()]))
    assert 4 <= kept.num_rows < shard.num_rows
    again, _ = judged(MinHash, PARAMS, [kept])
    assert all(verdict["keep"] for verdict in again.values())


def test_documents_that_share_a_licence_header_survive() -> None:
    generator = random.Random(9)
    header = " ".join(words(generator, 150))
    texts = [header + "\n" + " ".join(words(generator, 90)) for _ in range(500)]
    assert kept_texts(texts) == texts


CHINESE = (
    "春天来了，公园里的花都开了，孩子们在草地上放风筝，老人们坐在长椅上聊着过去的故事，湖面上有几只白色的鸭子慢慢游过。"
)
JAPANESE = (
    "春になると、公園の桜がいっせいに咲き、子どもたちは芝生の上で凧をあげ、お年寄りはベンチに座って昔の話をしています。"
)
THAI = "เมื่อถึงฤดูใบไม้ผลิ ดอกไม้ในสวนสาธารณะก็บานสะพรั่ง เด็กๆ วิ่งเล่นว่าวบนสนามหญ้า ส่วนผู้สูงอายุนั่งคุยกันบนม้านั่งริมทะเลสาบ"
ARABIC = (
    "عندما يأتي الربيع تتفتح الأزهار في الحديقة ويلعب الأطفال بالطائرات الورقية على العشب "
    "ويجلس كبار السن على المقاعد الخشبية يتحدثون عن قصص الماضي وتسبح البطات البيضاء ببطء في البحيرة"
)


@pytest.mark.parametrize("text", [CHINESE, JAPANESE, THAI, ARABIC], ids=["chinese", "japanese", "thai", "arabic"])
def test_a_near_copy_is_found_in_every_script(text: str) -> None:
    copy = text + " ."
    longer = text + (" جديدة" if text is ARABIC else text[0])
    assert jaccard(text, copy) == 1.0
    assert 0.8 <= jaccard(text, longer) < 1.0
    assert kept_texts([text, copy]) == [copy]
    assert kept_texts([text, longer, "something else in English that is no copy"])[0] == longer


@pytest.mark.parametrize(
    "texts",
    [
        ["你好", "再见", "谢谢", "今天天气很好", "明天天气很好"],
        ["こんにちは", "さようなら", "今日は晴れです", "明日は晴れです"],
        ["สวัสดี", "ลาก่อน", "วันนี้อากาศดี", "พรุ่งนี้อากาศดี"],
        ["مرحبا", "مع السلامة", "الطقس جميل اليوم", "الطقس جميل غدا"],
    ],
    ids=["chinese", "japanese", "thai", "arabic"],
)
def test_different_short_texts_are_kept_in_every_script(texts: list[str]) -> None:
    assert kept_texts(texts) == texts


def test_only_candidates_are_read_again() -> None:
    generator = random.Random(10)
    shard = documents([" ".join(words(generator, 50)) for _ in range(50)] + family(generator, 2))
    corpus = Corpus(MinHash, PARAMS, [shard], ("web",))
    MinHash.fit(corpus, PARAMS)
    assert corpus.asked and set(corpus.asked) <= {"d0050", "d0051"}


def test_a_text_that_is_not_delivered_is_an_error() -> None:
    corpus = Corpus(MinHash, PARAMS, [documents(["a b c", "a b c"])], ("web",))
    corpus.shards = []
    with pytest.raises(RuntimeError, match="2 documents are to be compared, and the texts of 0 were delivered"):
        MinHash.fit(corpus, PARAMS)


def test_an_empty_corpus_and_an_empty_shard_are_fine() -> None:
    assert judged(MinHash, PARAMS, [])[0] == {}
    verdicts, state = judged(MinHash, PARAMS, [DOCUMENTS.empty_table(), documents(["a b", "a b"])])
    assert survivors(verdicts) == ["d0000"]
    assert state.table.num_rows == 1
    corpus = Corpus(MinHash, PARAMS, [DOCUMENTS.empty_table()], ("web",))
    assert MinHash.decide(corpus.measured[0], state.table, PARAMS).schema == VERDICT


def test_measures_survive_parquet(tmp_path: Path) -> None:
    measures = MinHash.measure(documents(["", "a b c", "你好", "..."]), PARAMS, None)
    pq.write_table(measures, tmp_path / "measures.parquet")
    back = pq.read_table(tmp_path / "measures.parquet", schema=MinHash.schema(PARAMS))
    assert back.equals(measures)
    assert table_hash(back) == table_hash(measures)


def test_measures_of_a_row_do_not_depend_on_its_neighbours() -> None:
    shard = documents(["", "a b c d e f", CHINESE, THAI, "..."])
    whole = MinHash.measure(pa.concat_tables([shard.slice(3), shard.slice(0, 3)]), PARAMS, None).to_pylist()
    alone = [MinHash.measure(shard.slice(k, 1), PARAMS, None).to_pylist()[0] for k in (3, 4, 0, 1, 2)]
    assert whole == alone


def test_only_what_signatures_depend_on_is_measured_anew() -> None:
    assert set(measuring(PARAMS)) == {"permutations", "shingle", "shingle_characters", "seed", "normaliser"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bands": 9}, "bands and rows are set together or not at all"),
        ({"bands": 20, "rows": 13}, "bands x rows = 20 x 13 needs 260 permutations, and there are 128; lower one of"),
        ({"threshold": 0}, "greater than 0"),
        ({"threshold": 1.1}, "less than or equal to 1"),
        ({"normaliser": "words/0"}, "Input should be 'words/1'"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        MinHashParams.model_validate(settings)


def test_deciding_without_a_state_is_an_error() -> None:
    with pytest.raises(ValueError, match="minhash decides from its fitted state, and there is none"):
        MinHash.decide(documents(["x"]), None, PARAMS)


def read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        pytest.skip(f"shared test data is absent: {path}")
    with zstandard.open(path, "rb") as raw:
        return [json.loads(line) for line in io.TextIOWrapper(raw, encoding="utf-8", newline="\n")]


@pytest.mark.parametrize("language", ["en/ch0", "zh_CN/ch0"])
def test_on_real_near_duplicates_every_removal_is_justified_and_no_close_pair_is_left(language: str) -> None:
    rows = read(DATA / "neardup/debian-install-guide.docs.jsonl.zst")
    text = {row["id"]: row["text"] for row in rows if row["group"].startswith(language)}
    verdicts, _ = judged(MinHash, PARAMS, [documents(list(text.values()), list(text))])
    removed = {d: v for d, v in verdicts.items() if v["rule"] == "near_duplicate"}
    assert len(removed) > 50
    for doc_id, verdict in removed.items():
        assert verdicts[verdict["detail"]]["keep"]
        assert verdict["value"] == jaccard(text[doc_id], text[verdict["detail"]]) >= 0.8
    for pair in read(DATA / "neardup/debian-install-guide.pairs.jsonl.zst"):
        if pair["a"] in text and pair["b"] in text and verdicts[pair["a"]]["keep"] and verdicts[pair["b"]]["keep"]:
            assert jaccard(text[pair["a"]], text[pair["b"]]) < 0.9
