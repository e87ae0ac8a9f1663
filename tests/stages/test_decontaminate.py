"""Overlap with evaluation items: what is found, how much of it, where, and what is said."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import documents
from pydantic import ValidationError
from toys import Project

from pipeline.documents import DOCUMENTS, VERDICT
from pipeline.stage import measuring
from stages.decontaminate import Decontaminate
from stages.decontaminate.evaluation import EvaluationError, Index
from stages.decontaminate.judge import MEASURES, DecontaminateParams

GENERATOR = random.Random(1)
QUESTION = " ".join(f"q{k}" for k in range(30)) + "?"
OTHER = " ".join(f"other{k}" for k in range(20))
CHINESE = "有一个水池，打开甲管三小时可以注满，打开乙管五小时可以注满，如果同时打开两根水管，需要多少时间才能注满？"


def words(count: int) -> str:
    return " ".join(f"w{GENERATOR.randrange(50_000)}" for _ in range(count))


def judged(
    folder: Path, records: list[Any], texts: list[str], **settings: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Measures and verdicts of each text against JSON Lines of records."""
    file = folder / "evaluation.jsonl"
    file.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")
    return against(folder, texts, evaluation=[{"name": "quiz", "path": str(file)}], **settings)


def against(folder: Path, texts: list[str], **settings: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    params = DecontaminateParams(**settings)
    artefact = folder / "artefact"
    artefact.mkdir()
    Decontaminate.prepare(params, artefact)
    measures = Decontaminate.measure(documents(texts), params, artefact)
    assert measures.schema == MEASURES
    verdicts = Decontaminate.decide(measures, None, params)
    assert verdicts.schema == VERDICT
    return measures.to_pylist(), verdicts.to_pylist()


def test_a_document_that_quotes_an_item_is_dropped_with_the_item_and_where_it_stands(tmp_path: Path) -> None:
    before = "Some words stand before it, e.g. über 你好: "
    text = f"{before}{QUESTION.upper()} And some more behind it."
    measures, verdicts = judged(tmp_path, [{"question": OTHER}, {"question": QUESTION}], [text, words(100)])
    span = {"start": len(before), "end": len(before) + len(QUESTION) - 1}
    units = 8 + 2 + 30 + 5
    assert measures[0] == {
        "item": "quiz:2",
        "item_share": 1.0,
        "document_share": 30 / units,
        "ngrams": 18,
        "spans": [span],
    }
    assert measures[1] == {"item": None, "item_share": 0.0, "document_share": 0.0, "ngrams": 0, "spans": []}
    assert verdicts[0]["rule"] == "evaluation_item"
    assert (verdicts[0]["value"], verdicts[0]["threshold"]) == (1.0, 0.5)
    assert verdicts[0]["detail"] == f"quiz:2 at {span['start']}-{span['end']}"
    assert verdicts[1]["keep"]


@pytest.mark.parametrize(("count", "share"), [(12, 0.0), (13, 1 / 18), (21, 0.5), (22, 10 / 18)])
def test_the_share_counts_distinct_ngrams_of_the_item(tmp_path: Path, count: int, share: float) -> None:
    text = f"{words(50)} {' '.join(QUESTION.split()[:count])} {words(50)}"
    measures, verdicts = judged(tmp_path, [QUESTION and {"q": QUESTION}], [text])
    assert measures[0]["item_share"] == share
    assert verdicts[0]["keep"] == (share <= 0.5)


def test_a_share_of_zero_lets_no_ngram_pass(tmp_path: Path) -> None:
    text = " ".join(QUESTION.split()[:13])
    _, verdicts = judged(tmp_path, [{"q": QUESTION}], [text, words(40)], max_item_share=0)
    assert [v["keep"] for v in verdicts] == [False, True]


def test_a_document_made_of_pieces_of_long_items_fails_by_its_own_share(tmp_path: Path) -> None:
    book = words(2000)
    text = " ".join(book.split()[100:300])
    measures, verdicts = judged(tmp_path, [{"text": book}], [text], max_document_share=0.8)
    assert measures[0]["document_share"] == 1.0 and measures[0]["item_share"] < 0.1
    assert verdicts[0]["rule"] == "evaluation_share"


def test_the_twin_of_the_definition_agrees_on_random_text(tmp_path: Path) -> None:
    generator = random.Random(2)
    items = [[f"v{generator.randrange(6)}" for _ in range(generator.randrange(3, 9))] for _ in range(20)]
    texts = [[f"v{generator.randrange(6)}" for _ in range(40)] for _ in range(30)]
    n = 3

    def cut(units: list[str]) -> set[tuple[str, ...]]:
        return {tuple(units[k : k + n]) for k in range(len(units) - n + 1)}

    records = [{"a": " ".join(item)} for item in items]
    measures, _ = judged(tmp_path, records, [", ".join(t) for t in texts], ngram=3)
    for text, measured in zip(texts, measures, strict=True):
        shares = [len(cut(item) & cut(text)) / len(cut(item)) for item in items]
        assert measured["item_share"] == max(shares)
        assert measured["item"] is None or shares[int(measured["item"][5:]) - 1] == max(shares)
        every = set().union(*map(cut, items)) & cut(text)
        hit = {j for k in range(len(text) - n + 1) if tuple(text[k : k + n]) in every for j in range(k, k + n)}
        assert measured["document_share"] == len(hit) / len(text)
        assert measured["ngrams"] == len(every)


def test_items_of_unspaced_scripts_are_found_by_characters(tmp_path: Path) -> None:
    text = f"题目：{CHINESE.replace('，', ' ')}答案见书末。"
    measures, verdicts = judged(tmp_path, [{"q": CHINESE}], [text, "打开甲管三小时可以注满", words(30)])
    assert measures[0]["item_share"] == 1.0
    assert text[measures[0]["spans"][0]["start"] : measures[0]["spans"][0]["end"]].startswith("有一个水池")
    assert [v["keep"] for v in verdicts] == [False, True, True]


def test_fields_are_read_by_name_or_all_of_them_and_ngrams_span_no_two(tmp_path: Path) -> None:
    halves = QUESTION.split()
    record = {"a": " ".join(halves[:15]), "b": {"c": [" ".join(halves[15:]), 7, None]}, "id": 3}
    measures, _ = judged(tmp_path, [record], [QUESTION])
    assert measures[0]["ngrams"] == 3 + 3
    (tmp_path / "second").mkdir()
    file = str(tmp_path / "evaluation.jsonl")
    measures, _ = against(tmp_path / "second", [QUESTION], evaluation=[{"name": "x", "path": file, "fields": ["a"]}])
    assert measures[0]["ngrams"] == 3


def test_text_files_hold_an_item_in_each_paragraph_and_may_be_compressed(tmp_path: Path) -> None:
    file = tmp_path / "quiz.txt.gz"
    file.write_bytes(gzip.compress(f"\n{OTHER}\nand on\n\n{QUESTION}\n".encode()))
    measures, _ = against(tmp_path, [f"{OTHER} and on", QUESTION], evaluation=[{"name": "quiz", "path": str(file)}])
    assert [m["item"] for m in measures] == ["quiz:2", "quiz:5"]
    assert [m["item_share"] for m in measures] == [1.0, 1.0]


def test_short_items_and_broken_lines_are_counted_and_said(tmp_path: Path) -> None:
    file = tmp_path / "quiz.jsonl"
    file.write_text(f'{{"q": "too short"}}\n{{broken\n[1]\n{json.dumps({"q": QUESTION})}\n')
    params = DecontaminateParams(evaluation=[{"name": "quiz", "path": str(file)}])
    (tmp_path / "a").mkdir()
    summary = Decontaminate.prepare(params, tmp_path / "a")
    assert (summary["items"], summary["too_short"], summary["unusable"]) == ({"quiz": 2}, 1, 2)
    assert summary["warnings"] == [
        "1 evaluation items are shorter than an n-gram and cannot be found",
        "2 lines are no usable JSON object, the first of them quiz:2",
    ]


def test_nothing_to_look_for_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match=r"none of 1 evaluation items has 13 words \(or 20 characters\): check"):
        judged(tmp_path, [{"q": "too short"}], ["x"])


def test_files_that_cannot_be_read_are_errors(tmp_path: Path) -> None:
    latin = tmp_path / "latin.txt"
    latin.write_bytes(b"caf\xe9 " * 20)
    params = DecontaminateParams(evaluation=[{"name": "x", "path": str(latin)}])
    with pytest.raises(EvaluationError, match=r"latin\.txt: evaluation text must be UTF-8, byte 3 is not; convert"):
        Decontaminate.prepare(params, tmp_path)
    cut = tmp_path / "cut.txt.gz"
    cut.write_bytes(gzip.compress(QUESTION.encode() * 50)[:-20])
    params = DecontaminateParams(evaluation=[{"name": "x", "path": str(cut)}])
    with pytest.raises(EvaluationError, match=r"decontaminate: x: .*; mend or replace the file"):
        Decontaminate.prepare(params, tmp_path)


def test_measuring_without_an_index_is_an_error() -> None:
    params = DecontaminateParams(evaluation=[{"name": "x", "path": "x"}])
    with pytest.raises(ValueError, match="decontaminate measures with its prepared index, and there is none"):
        Decontaminate.measure(documents(["x"]), params, None)


def test_rows_do_not_depend_on_their_neighbours_and_an_empty_shard_is_fine(tmp_path: Path) -> None:
    texts = ["", QUESTION, "...", f"{words(20)} {OTHER}", CHINESE * 2]
    together, _ = judged(tmp_path, [{"q": QUESTION}, {"q": OTHER}, {"q": CHINESE}], texts)
    params = DecontaminateParams(evaluation=[{"name": "quiz", "path": "unused"}])
    for k, text in enumerate(texts):
        alone = Decontaminate.measure(documents(["first", text]), params, tmp_path / "artefact")
        assert alone.to_pylist()[1] == together[k]
    assert Decontaminate.measure(DOCUMENTS.empty_table(), params, tmp_path / "artefact").num_rows == 0


def test_the_filter_lets_every_hash_of_the_index_through(tmp_path: Path) -> None:
    values = np.random.default_rng(3).integers(-(1 << 63), 1 << 63, 5000, np.int64)
    index = Index(np.sort(values[:2500]), np.zeros(2500, np.int64), np.array([2500]), ["x"], [13])
    assert index.found(values, index.filter()).tolist() == list(range(2500))


def test_thresholds_are_no_part_of_the_measures() -> None:
    params = DecontaminateParams(evaluation=[{"name": "x", "path": "x"}])
    assert set(measuring(params)) == {"evaluation", "ngram", "ngram_characters"}


@pytest.mark.parametrize("settings", [{"evaluation": []}, {"evaluation": [{"name": "a b", "path": "x"}]}, {}])
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DecontaminateParams(**settings)


def test_in_a_run_an_evaluation_file_counts_by_its_content(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("inputs/notes.jsonl", [QUESTION, words(40)])
    project.write("eval/a.jsonl", [QUESTION])
    stages: list[Any] = [{"ingest": {}}, {"decontaminate": {"evaluation": [{"name": "quiz", "path": "eval/*.jsonl"}]}}]
    project.config(stages)
    first = project.run()
    assert any("decontaminate/artefact" in n for n in first.computed)
    (tmp_path / "eval/a.jsonl").rename(tmp_path / "eval/b.jsonl")
    assert project.run().computed == ()
    project.write("eval/b.jsonl", [QUESTION, OTHER])
    assert any("decontaminate/measures" in n for n in project.run().computed)
