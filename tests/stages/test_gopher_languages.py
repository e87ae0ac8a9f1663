"""Thresholds of the Gopher judge that follow a document's language: `by_language`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import ValidationError

from pipeline.config import ConfigError, load
from pipeline.stage import measuring
from stages.gopher import Gopher, GopherParams
from stages.gopher.measures import SCHEMA
from stages.registry import registry

WORDS = " ".join(f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(30))


def measures(langs: list[str | None], text: str = WORDS) -> pa.Table:
    columns = {"text": pa.array([text] * len(langs), pa.large_string()), "lang": pa.array(langs, pa.string())}
    return Gopher.measure(pa.table(columns), GopherParams())


def decide(table: pa.Table, **params: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = Gopher.decide(table, None, GopherParams(**params)).to_pylist()
    return rows


def test_the_language_is_stored_beside_the_measures() -> None:
    table = measures(["de", None])
    assert table.schema == Gopher.schema(GopherParams()) == SCHEMA.append(pa.field("lang", pa.string()))
    assert table["lang"].to_pylist() == ["de", None]
    without = Gopher.measure(pa.table({"text": pa.array([WORDS], pa.large_string())}), GopherParams())
    assert without["lang"].to_pylist() == [None]


def test_each_document_is_judged_by_the_thresholds_of_its_language() -> None:
    table = measures(["de", "en", None, "und", "fr"])
    routed = {"de": {"min_words": 30, "min_stop_words": False}, "und": {"min_words": 31}, "fr": {"min_words": False}}
    rows = decide(table, min_stop_words=False, by_language=routed)
    assert [(row["rule"], row["threshold"]) for row in rows] == [
        (None, None),
        ("min_words", 50.0),
        ("min_words", 50.0),
        ("min_words", 31.0),
        (None, None),
    ]


def test_a_language_can_have_a_rule_that_no_other_has() -> None:
    rows = decide(
        measures(["de", "en"]), preset="c4", by_language={"de": {"min_words": 40}, "en": {"min_sentences": 0}}
    )
    assert [row["failed"] for row in rows] == [["min_words", "min_sentences"], []]


def test_a_language_wins_over_profile_and_shared_thresholds_in_every_profile() -> None:
    params = GopherParams(
        min_words=10,
        unspaced={"min_words": 80},
        by_language={"zh": {"min_words": 7, "max_duplicate_5gram": 0.9}},
    )
    for profile in ("spaced", "unspaced", "code"):
        assert params.thresholds(profile, "zh")["min_words"] == 7
        assert params.thresholds(profile, "zh")["max_duplicate_5gram"] == 0.9
    assert params.thresholds("unspaced", "ja") == params.thresholds("unspaced")
    assert params.thresholds("unspaced")["min_words"] == 80


def test_routing_decides_and_never_measures() -> None:
    assert measuring(GopherParams(by_language={"de": {"min_words": 5}})) == measuring(GopherParams())


def test_measures_of_before_without_a_language_are_judged_as_of_none() -> None:
    (row,) = decide(measures(["de"]).drop_columns(["lang"]), by_language={"de": {"min_words": 1}})
    assert row["rule"] == "min_words"


def test_an_empty_table_is_judged() -> None:
    assert decide(measures([]), by_language={"de": {"min_words": 1}}) == []


@pytest.mark.parametrize(
    ("routed", "message"),
    [
        ({"zh-cn": {}}, "'zh-cn' is no language code of the model lid.176; did you mean 'zh'?"),
        ({False: {}}, 'write it in quotes, "no" for Norwegian'),
        ({"de": {"min_wrods": 1}}, "min_wrods"),
        (
            {"de": {"min_words": 200_000}},
            "min_words 200000 is above max_words 100000 (profile spaced, language de): nothing would be kept",
        ),
    ],
)
def test_a_wrong_setting_is_an_error(routed: dict[Any, Any], message: str) -> None:
    with pytest.raises(ValidationError) as error:
        GopherParams(by_language=routed)
    assert message in str(error.value)


def test_without_the_language_judge_before_it_the_config_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    config = tmp_path / "c.yaml"
    head = "name: c\nsources: [{name: a, path: a.txt}]\nstages:\n  - ingest\n"
    gopher = "  - gopher: {by_language: {de: {min_stop_words: off}}}\n"
    config.write_text(head + gopher + "  - language\n")
    with pytest.raises(ConfigError, match=r"c\.yaml:5: gopher: by_language needs the stage `language` before it"):
        load(config, registry())
    config.write_text(head + "  - language\n" + gopher)
    gopher_use = load(config, registry()).stages[2]
    assert gopher_use.params.thresholds("spaced", "de")["min_stop_words"] is None
