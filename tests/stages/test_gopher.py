"""The Gopher judge: thresholds, presets, profiles."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pydantic import ValidationError

from pipeline.documents import VERDICT
from pipeline.rules import Rule
from pipeline.stage import measuring
from stages.gopher import Gopher, GopherParams, ThresholdParams
from stages.gopher.measures import SCHEMA
from stages.gopher.rules import CATALOGUE, PRESETS, PROFILES
from tests.stages.test_gopher_measures import TEXTS, shared

PROSE = (
    "The old mill has stood by the river since before anyone now alive was born, and the people of the valley still "
    "bring their grain to it in autumn. Its wheel turns slowly when the water is low, but in spring it turns so fast "
    "that the whole house shakes. Children are told not to play near the race, which they have never obeyed."
)
HAN = (
    "磨坊在河边立了很久，没有人记得它是什么时候建成的。每到秋天，山谷里的人们都会带着粮食来这里。水少的时候，轮子转得很慢；"
    "到了春天，它转得飞快，整座房子都在摇晃。大人告诉孩子们不要在水渠旁边玩耍，可是他们从来不听。"
)


def judge(texts: list[str], langs: list[str | None] | None = None, **params: Any) -> list[dict[str, Any]]:
    settings = GopherParams(**params)
    documents = pa.table({"text": pa.array(texts, pa.large_string())})
    if langs is not None:
        documents = documents.append_column("lang", pa.array(langs, pa.string()))
    verdicts = Gopher.decide(Gopher.measure(documents, settings), None, settings)
    assert verdicts.schema == VERDICT
    rows: list[dict[str, Any]] = verdicts.to_pylist()
    return rows


def decide(values: dict[str, Any], **params: Any) -> dict[str, Any]:
    """The verdict of one row of measures: an ordinary English document, but for `values`."""
    ordinary: dict[str, Any] = dict.fromkeys(SCHEMA.names, 0)
    ordinary |= {"words": 500, "mean_word_length": 5, "alpha_word_ratio": 1, "stop_words": 8, "lines": 9}
    ordinary |= {"terminal_line_ratio": 1, "sentences": 30}
    row = pa.table({k: pa.array([v], SCHEMA.field(k).type) for k, v in (ordinary | values).items()})
    (verdict,) = Gopher.decide(row, None, GopherParams(**params)).to_pylist()
    result: dict[str, Any] = verdict
    return result


def all_rules() -> list[tuple[str, str, Rule]]:
    from stages.gopher.rules import rules

    return [
        (preset, profile, rule)
        for preset in PRESETS
        for profile in PROFILES
        for rule in rules(preset, PRESETS[preset].thresholds(profile))
    ]


@pytest.mark.parametrize("preset", PRESETS)
def test_ordinary_prose_is_kept(preset: str) -> None:
    assert all(verdict["keep"] for verdict in judge([PROSE, HAN][: 1 if preset == "datatrove" else 2], preset=preset))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "min_words"),
        ("too short to keep", "min_words"),
        (PROSE.replace(" ", ""), "min_words"),
        ("\n".join(f"• the and {PROSE[i : i + 40]}" for i in range(30)), "max_bullet_lines"),
        ("\n".join(f"the and {PROSE[i : i + 40]}…" for i in range(30)), "max_ellipsis_lines"),
        ("\n".join(["the and"] + [f"{i} {i * 7} {i * 13}" for i in range(50)]), "min_alpha_words"),
        (" ".join(f"#word{i}" for i in range(60)), "max_symbol_ratio"),
        (" ".join(f"antidisestablishment{i}" for i in range(60)), "max_mean_word_length"),
        (" ".join(f"{chr(97 + i % 26)}" for i in range(60)), "min_mean_word_length"),
        ("\n".join(PROSE.split(". ") * 3), "max_duplicate_lines"),
        ("\n\n".join([PROSE] * 2), "max_duplicate_lines"),
        (f"{PROSE} " * 3, "max_duplicate_5gram"),
        (" ".join(f"buy now item{i}" for i in range(40)), "max_top_2gram"),
    ],
)
def test_a_defect_is_dropped_by_its_rule(text: str, rule: str) -> None:
    (verdict,) = judge([text], ["en"])
    assert not verdict["keep"]
    assert rule in verdict["failed"]


@pytest.mark.parametrize(
    ("preset", "text", "rule"),
    [
        ("cs336", "# a ... b ... " * 30, "max_total_symbol_ratio"),
        ("cs336", " ".join(f"buy now item{i}" for i in range(40)), "max_top3_2grams"),
        ("c4", "One sentence only. And a second one", "min_sentences"),
        ("c4", f"{PROSE} if (x) {{ y }}", "max_curly_brackets"),
        ("c4", f"{PROSE} Lorem ipsum dolor sit amet.", "max_lorem_ipsum"),
        ("fineweb", "Home\nProducts and services that we offer\nContact", "min_terminal_lines"),
        ("fineweb", "Short.\nAlso short.\nShort as well.", "max_short_lines"),
        ("fineweb", f"{PROSE}\n{PROSE}", "max_duplicate_line_characters"),
    ],
)
def test_each_preset_drops_what_its_source_drops(preset: str, text: str, rule: str) -> None:
    (verdict,) = judge([text], ["en"], preset=preset)
    assert rule in verdict["failed"]


def test_text_without_stop_words_is_dropped_in_languages_that_have_a_list() -> None:
    text = " ".join(f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(100))
    unknown, english, german, cebuano = judge([text] * 4, [None, "en", "de", "ceb"])
    assert unknown["rule"] == english["rule"] == german["rule"] == "min_stop_words"
    assert cebuano["keep"]
    assert judge([f"{text} und {text[::-1]} nicht"], ["de"])[0]["keep"]


@pytest.mark.parametrize("script", TEXTS)
@pytest.mark.parametrize("preset", ["gopher", "cs336"])
def test_no_script_is_dropped_for_having_no_spaces(script: str, preset: str) -> None:
    text = "\n".join(f"{TEXTS[script][i:]}{TEXTS[script][: i * 2]}" for i in range(12))
    for verdict in judge([text], ["und"], preset=preset):
        about_words = {"min_words", "min_mean_word_length", "max_mean_word_length", "min_stop_words", "min_alpha_words"}
        assert not about_words & set(verdict["failed"])


def test_a_chinese_text_with_code_listings_may_repeat_their_lines() -> None:
    parts = ["".join(f"第{i}段讲的是第{i + j}个例子，它与别的例子不同，" for j in range(2)) for i in range(10, 20)]
    listing = "\n".join(f"{part}\n```cpp\nint x{i};\n}}\n```" for i, part in enumerate(parts))
    (verdict,) = judge([listing], ["zh"])
    assert not {"max_duplicate_lines", "max_duplicate_line_characters"} & set(verdict["failed"])
    (verdict,) = judge(["\n".join([*parts, *parts, *parts])], ["zh"])
    assert {"max_duplicate_lines", "max_duplicate_line_characters"} <= set(verdict["failed"])


@pytest.mark.parametrize("preset", ["gopher", "cs336"])
def test_repeated_chinese_and_thai_sentences_fall_to_repetition_rules_alone(preset: str) -> None:
    """GOP-08."""
    chinese = "今天天气很好，我们一起去公园散步，然后回家吃饭。" * 20
    thai = "วันนี้อากาศดีมากเราไปเดินเล่นในสวนสาธารณะ" * 20
    for verdict in judge([chinese, thai], ["zh", "th"], preset=preset):
        assert all("gram" in rule or "duplicate" in rule for rule in verdict["failed"])


def test_chinese_spam_is_dropped() -> None:
    (verdict,) = judge(["加微信领红包，" * 30], ["zh"])
    assert verdict["rule"] == "max_top_2gram" or "max_duplicate_10gram" in verdict["failed"]
    assert not verdict["keep"]


def test_double_spaced_prose_is_kept() -> None:
    assert judge(["\n\n".join(PROSE.split(". "))], ["en"])[0]["keep"]


@pytest.mark.parametrize(("preset", "profile", "rule"), all_rules(), ids=lambda v: v.name if hasattr(v, "name") else v)
def test_every_rule_fires_just_beyond_its_threshold_and_only_there(preset: str, profile: str, rule: Rule) -> None:
    up = rule.comparison in ("at_most", "below")
    integer = SCHEMA.field(rule.measure).type == pa.int64()
    step = 1 if integer else 1e-9
    at, beyond = rule.threshold, rule.threshold + (step if up else -step)
    settings = {"preset": preset, "profile": profile}
    values = {"unspaced_ratio": 1.0 if profile == "unspaced" else 0.0}
    verdict = decide({**values, rule.measure: int(beyond) if integer else beyond}, **settings)
    assert rule.name in verdict["failed"]
    assert verdict["threshold"] == rule.threshold
    equal = decide({**values, rule.measure: int(at) if integer else at}, **settings)
    assert (rule.name in equal["failed"]) == (rule.comparison in ("below", "above"))


def test_the_first_rule_in_the_order_of_the_catalogue_decides_and_all_are_listed() -> None:
    verdict = decide({"words": 10, "mean_word_length": 2.0, "top_2gram_ratio": 0.5})
    assert (verdict["rule"], verdict["value"], verdict["threshold"]) == ("min_words", 10.0, 50.0)
    assert verdict["failed"] == ["min_words", "min_mean_word_length", "max_top_2gram"]


def test_each_row_is_judged_by_the_thresholds_of_its_profile() -> None:
    assert decide({"duplicate_5gram_ratio": 0.3})["threshold"] == 0.15
    assert decide({"duplicate_5gram_ratio": 0.3, "unspaced_ratio": 0.9})["keep"]
    assert decide({"duplicate_5gram_ratio": 0.6, "unspaced_ratio": 0.9})["threshold"] == 0.55
    assert decide({"duplicate_5gram_ratio": 0.6}, profile="code")["keep"]


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_threshold_can_be_set_by_its_name(name: str) -> None:
    measure, comparison = CATALOGUE[name]
    settings = (
        {name.replace("max_", "min_"): False, name: 0.5} if name.replace("max_", "min_") in CATALOGUE else {name: 0.5}
    )
    low, high = decide({measure: 0}, **settings), decide({measure: 1}, **settings)
    assert (name in low["failed"]) == (comparison == "at_least")
    assert (name in high["failed"]) == (comparison == "at_most")


@pytest.mark.parametrize("name", PRESETS["gopher"].spaced)
def test_every_rule_can_be_switched_off(name: str) -> None:
    measure, comparison = CATALOGUE[name]
    value = 0 if comparison == "at_least" else 1_000_000
    assert name in decide({measure: value})["failed"]
    assert name not in decide({measure: value}, **{name: False})["failed"]


def test_a_shared_threshold_leaves_alone_what_a_profile_has_of_its_own() -> None:
    params = GopherParams(max_symbol_ratio=0.2, max_words=90_000, max_duplicate_5gram=0.01)
    assert params.thresholds("spaced")["max_duplicate_5gram"] == 0.01
    assert params.thresholds("unspaced")["max_duplicate_5gram"] == 0.55
    assert params.thresholds("unspaced")["max_symbol_ratio"] == 0.2
    assert params.thresholds("unspaced")["max_words"] == 170_000


def test_a_profile_can_be_set_alone_and_wins_over_the_shared_threshold() -> None:
    params = GopherParams(min_words=10, unspaced=ThresholdParams(min_words=80, max_mean_word_length=20))
    assert params.thresholds("spaced")["min_words"] == 10
    assert params.thresholds("unspaced")["min_words"] == 80
    assert params.thresholds("unspaced")["max_mean_word_length"] == 20
    assert params.thresholds("spaced")["max_mean_word_length"] == 10


def test_under_a_forced_profile_a_shared_threshold_is_its_own() -> None:
    params = GopherParams(profile="unspaced", max_duplicate_5gram=0.01)
    assert params.thresholds("unspaced")["max_duplicate_5gram"] == 0.01


def test_no_setting_but_the_definitions_reaches_the_measures() -> None:
    params = GopherParams(preset="cs336", profile="code", min_words=3, code=ThresholdParams(max_words=9))
    assert measuring(params) == {"definitions": "own"}
    assert measuring(GopherParams(preset="datatrove")) == {"definitions": "datatrove"}


def test_the_params_name_every_rule_and_nothing_else() -> None:
    assert list(ThresholdParams.model_fields) == list(CATALOGUE)
    assert {measure for measure, _ in CATALOGUE.values()} < set(SCHEMA.names)
    for preset in PRESETS.values():
        for profile in PROFILES:
            assert set(preset.thresholds(profile)) <= set(CATALOGUE)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"min_words": True}, "a threshold is a number, or `off` to switch the rule off"),
        ({"max_bullet_lines": 1.5}, "less than or equal to 1"),
        ({"min_words": -1}, "greater than or equal to 0"),
        ({"min_words": "many"}, "valid number"),
        ({"min_wrods": 5}, "min_wrods"),
        ({"preset": "datatrove", "definitions": "own"}, "preset datatrove goes with definitions: datatrove"),
        ({"preset": "gophr"}, "'gopher', 'cs336', 'c4', 'fineweb' or 'datatrove'"),
        (
            {"min_words": 200_000},
            "min_words 200000 is above max_words 100000 (profile spaced): nothing would be kept",
        ),
        (
            {"profile": "code", "code": {"min_mean_word_length": 50}},
            "min_mean_word_length 50 is above max_mean_word_length 40",
        ),
    ],
)
def test_a_wrong_setting_is_an_error(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as error:
        GopherParams(**params)
    assert message in str(error.value)


def test_an_empty_table_is_judged() -> None:
    assert judge([]) == []


def test_the_presets_hold_what_their_sources_say() -> None:
    gopher, cs336 = PRESETS["gopher"].spaced, PRESETS["cs336"].spaced
    assert [gopher[f"max_top_{n}gram"] for n in (2, 3, 4)] == [0.20, 0.18, 0.16]
    assert [gopher[f"max_duplicate_{n}gram"] for n in range(5, 11)] == [0.15, 0.14, 0.13, 0.12, 0.11, 0.10]
    assert [gopher[k] for k in ("min_words", "max_words", "min_stop_words")] == [50, 100_000, 2]
    assert list(cs336.values()) == [50, 100_000, 3, 10, 0.1, 0.2, 0.2]
    assert list(PRESETS["c4"].spaced.values()) == [3, 0, 0]
    assert list(PRESETS["fineweb"].spaced.values()) == [0.12, 0.67, 0.1]


@pytest.mark.parametrize("preset", ["gopher", "cs336"])
def test_good_chinese_passes(preset: str) -> None:
    verdicts = judge(shared("trusted/zh.jsonl.zst")[::4], preset=preset)
    assert sum(v["keep"] for v in verdicts) >= 0.97 * len(verdicts)
