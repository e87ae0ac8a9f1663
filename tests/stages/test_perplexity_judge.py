"""The perplexity judge: measures, the fitted band, verdicts; and the known failures of comparable tools."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import ValidationError

from pipeline.documents import VERDICT
from pipeline.stage import measuring
from stages.perplexity import Perplexity
from stages.perplexity.judge import MEASURES
from stages.perplexity.normalise import NORMALISERS
from stages.perplexity.references import Reference, texts
from stages.perplexity.scoring import ModelFile, ModelMismatchError, Scorer, load
from tests.stages.perplexity_models import FIXTURES, TWO_WORDS, artefact, measured, params

CASES = Path(os.environ.get("CURATE_TEST_DATA", Path(__file__).parents[2].parent / "shared" / "data")).parent / "cases"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return artefact(tmp_path)


# The known failures, with their values.


def test_the_end_of_a_line_is_scored_and_counted_and_its_beginning_is_not(model: Path) -> None:  # PPL-01
    score = Scorer(model / "en.arpa").score(["a b"])
    assert score.log10_sum == pytest.approx(-1.6, abs=1e-6)
    assert (score.tokens, score.lines) == (2, 1)
    assert score.perplexity == pytest.approx(3.4145, abs=1e-4)


def test_an_empty_document_is_unscored_and_more_text_lowers_the_share_of_line_ends(model: Path) -> None:  # PPL-03
    rows = measured(["", "\n\n", "a b", "a b " * 10, "a b " * 100], model, min_tokens=1)
    assert [row["unscored"] for row in rows] == ["empty", "empty", None, None, None]
    assert rows[0]["perplexity"] is None and rows[1]["perplexity"] is None
    assert [row["perplexity"] for row in rows[2:]] == pytest.approx([3.4145, 2.8967, 2.8265], abs=1e-4)


def test_unknown_words_are_scored_as_unknown_and_their_share_is_reported(tmp_path: Path) -> None:  # PPL-04
    folder = artefact(tmp_path, normaliser="whitespace")
    rows = measured(["zzz", "A B", "a b."], folder, min_tokens=1, normaliser="whitespace")
    assert [row["perplexity"] for row in rows] == pytest.approx([14.1254, 12.5893, 6.3096], abs=1e-4)
    assert [row["oov_share"] for row in rows] == [1.0, 1.0, 0.5]


def test_a_model_of_other_units_is_refused_and_both_units_are_named(tmp_path: Path) -> None:  # PPL-05
    folder = artefact(tmp_path, normaliser="whitespace")
    with pytest.raises(ModelMismatchError, match=r"made from word units of normaliser whitespace 1 .* script units"):
        measured(["a b"], folder)
    index = json.loads((folder / "models.json").read_text())
    index["models"]["en"]["normaliser"] = {"name": "cc_net", "version": 1, "unit": "sentencepiece", "table": ""}
    (folder / "models.json").write_text(json.dumps(index))
    with pytest.raises(ModelMismatchError, match="sentencepiece units of normaliser cc_net"):
        measured(["a b"], folder)


def test_a_no_break_space_separates_in_the_score_and_in_the_count(model: Path) -> None:  # PPL-06
    for space in ("\u00a0", "\u3000", "\u2028", "\u0085", " \0"):
        row = measured([f"a{space}b"], model, min_tokens=1)[0]
        assert (row["tokens"], row["perplexity"]) == (2, pytest.approx(3.4145, abs=1e-4))


@pytest.mark.skipif(not (CASES / "cases.jsonl").is_file(), reason="cases.jsonl is absent (set CURATE_TEST_DATA)")
def test_every_written_perplexity_case_has_its_test_here() -> None:
    lines = (CASES / "cases.jsonl").read_text(encoding="utf-8").split("\n")
    ids = [case["id"] for case in map(json.loads, filter(None, lines)) if case["id"].startswith("PPL")]
    assert ids and all(case in Path(__file__).read_text(encoding="utf-8") for case in ids)


# Measures.


def test_lines_are_pooled_and_blank_ones_do_not_count(model: Path) -> None:
    row = measured(["a b\n\n  \na b\na b"], model, min_tokens=1)[0]
    assert (row["tokens"], row["lines"]) == (6, 3)
    assert row["perplexity"] == pytest.approx(3.4145, abs=1e-4)


def test_markers_in_the_text_are_ordinary_words(model: Path) -> None:
    row = measured(["<s> a </s>"], model, min_tokens=1)[0]
    assert (row["tokens"], row["oov_share"]) == (8, 7 / 8)


def test_a_document_goes_to_the_model_of_its_language_or_says_why_not(model: Path) -> None:
    rows = measured(["a b", "a b", "a b", "a"], model, ["en", "zh", None, "en"], min_tokens=2)
    assert [row["unscored"] for row in rows] == [None, "no_model", None, "too_short"]
    assert [row["model"] for row in rows] == ["en", None, "en", "en"]
    assert rows[1]["tokens"] == 2 and rows[3]["tokens"] == 1


def test_with_several_models_a_document_of_unknown_language_is_unscored(model: Path) -> None:
    index = json.loads((model / "models.json").read_text())
    index["models"]["de"] = {**index["models"]["en"], "file": "de.arpa"}
    (model / "models.json").write_text(json.dumps(index))
    assert measured(["a b"], model, [None], min_tokens=1)[0]["unscored"] == "no_model"


def test_measures_have_the_declared_schema_even_without_rows_or_language(model: Path) -> None:
    for given in ([], ["a b a b a b a b a b"]):
        table = Perplexity.measure(pa.table({"text": pa.array(given, pa.large_string())}), params(), model)
        assert table.schema == MEASURES == Perplexity.schema(params())


def test_measuring_without_a_model_is_an_error() -> None:
    with pytest.raises(ValueError, match="no model to score with"):
        Perplexity.measure(pa.table({"text": ["a"]}), params(), None)


def test_the_band_and_the_policy_are_no_part_of_what_measures_depend_on() -> None:
    assert measuring(params(unscored="drop", band={"width": 3})) == measuring(params())
    assert measuring(params(min_tokens=3)) != measuring(params())


# Band and verdicts.


class Corpus:
    """Stored measures, as `fit` is given them."""

    sources: tuple[str, ...] = ("one",)
    memory = 1 << 28

    def __init__(self, workspace: Path, *shards: pa.Table) -> None:
        self.workspace, self.shards = workspace, shards

    def measures(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        for shard in self.shards:
            yield shard.select(columns) if columns else shard

    def documents(self, doc_ids: Iterable[str]) -> Iterator[pa.Table]:
        raise AssertionError("the band needs no text")


def shard(logs: Sequence[float | None], model: str = "en", oov: float = 0.1) -> pa.Table:
    rows: list[dict[str, Any]] = [
        {
            "perplexity": None if v is None else 10.0**v,
            "log10_perplexity": v,
            "tokens": 50,
            "lines": 1,
            "oov_share": None if v is None else oov,
            "model": model,
            "unscored": "too_short" if v is None else None,
        }
        for v in logs
    ]
    return pa.Table.from_pylist(rows, MEASURES)


def spread_out(n: int = 41) -> list[float]:
    return [2.0 + (k - n // 2) / 100 for k in range(n)]


def test_a_gaussian_band_is_the_median_and_the_scaled_median_deviation(tmp_path: Path) -> None:
    state = Perplexity.fit(Corpus(tmp_path, shard([*spread_out(), None]), shard([9.0])), params())
    row = state.table.to_pylist()[0]
    assert row["centre"] == pytest.approx(2.005) and row["spread"] == pytest.approx(1.4826 * 0.105)
    assert row["high"] == pytest.approx(10 ** (row["centre"] + 2 * row["spread"])) and row["documents"] == 42
    summary = state.summary["bands"]["en"]
    assert (summary["below"], summary["inside"], summary["above"]) == (0, 41, 1)
    assert sum(summary["histogram"]["counts"]) == 42 and summary["histogram"]["first"] == 1.8
    json.dumps(state.summary, allow_nan=False)


def test_the_band_does_not_depend_on_how_documents_lie_in_shards(tmp_path: Path) -> None:
    logs = [1.0 + (k * 37 % 101) / 77 for k in range(101)]
    whole = Perplexity.fit(Corpus(tmp_path, shard(logs)), params())
    parts = Perplexity.fit(Corpus(tmp_path, shard(logs[70:]), shard(logs[:70][::-1])), params())
    assert whole == parts


def test_each_language_has_its_own_band(tmp_path: Path) -> None:
    state = Perplexity.fit(Corpus(tmp_path, shard([v + 1 for v in spread_out()], "zh"), shard(spread_out())), params())
    assert [row["lang"] for row in state.table.to_pylist()] == ["en", "zh"]
    decided = Perplexity.decide(pa.concat_tables([shard([2.0]), shard([2.0], "zh")]), state.table, params())
    assert decided["rule"].to_pylist() == [None, "perplexity_below"]


def test_verdicts_name_the_side_the_value_and_the_limit(tmp_path: Path) -> None:
    settings = params(band={"fit": "fixed", "low": 10, "high": 1000})
    state = Perplexity.fit(Corpus(tmp_path, shard([2.0])), settings)
    rows = Perplexity.decide(shard([0.5, 1.0, 2.0, 3.0, 3.5, None]), state.table, settings)
    assert rows.schema == VERDICT
    assert rows["rule"].to_pylist() == ["perplexity_below", None, None, None, "perplexity_above", None]
    assert rows["threshold"].to_pylist() == [10, None, None, None, 1000, None]
    assert rows["value"].to_pylist()[0] == pytest.approx(10**0.5)


def test_a_fixed_band_holds_for_a_language_that_was_not_seen_when_it_was_fitted(tmp_path: Path) -> None:
    settings = params(band={"fit": "fixed", "high": 1000})
    state = Perplexity.fit(Corpus(tmp_path), settings)
    assert Perplexity.decide(shard([4.0]), state.table, settings)["rule"].to_pylist() == ["perplexity_above"]


def test_unscored_documents_are_kept_or_dropped_with_the_reason_as_asked(tmp_path: Path) -> None:
    state = Perplexity.fit(Corpus(tmp_path, shard(spread_out())), params())
    assert Perplexity.decide(shard([None]), state.table, params())["keep"].to_pylist() == [True]
    dropped = Perplexity.decide(shard([None]), state.table, params(unscored="drop")).to_pylist()[0]
    assert (dropped["rule"], dropped["detail"]) == ("perplexity_unscored", "too_short")


def test_quantiles_cut_the_tails_that_were_asked_for(tmp_path: Path) -> None:
    settings = params(band={"fit": "quantile", "low": 0.1, "high": 0.9})
    logs = spread_out()
    state = Perplexity.fit(Corpus(tmp_path, shard(logs)), settings)
    kept = Perplexity.decide(shard(logs), state.table, settings)["keep"].to_pylist()
    assert kept == [False] * 4 + [True] * 33 + [False] * 4


def test_few_or_equal_documents_give_no_band_and_a_warning(tmp_path: Path) -> None:
    for logs, words in ((spread_out(19), "only 19 scored documents"), ([2.0] * 40 + [5.0], "the same perplexity")):
        state = Perplexity.fit(Corpus(tmp_path, shard(logs)), params())
        assert state.table["low"].to_pylist() == state.table["high"].to_pylist() == [None]
        assert words in state.summary["bands"]["en"]["warnings"][0]
        assert all(Perplexity.decide(shard(logs), state.table, params())["keep"].to_pylist())


def test_a_corpus_of_mostly_unknown_words_is_reported(tmp_path: Path) -> None:  # PPL-05
    state = Perplexity.fit(Corpus(tmp_path, shard(spread_out(), oov=0.6)), params())
    assert "more unknown than known words" in state.summary["bands"]["en"]["warnings"][0]


def test_nothing_to_fit_is_an_empty_state(tmp_path: Path) -> None:
    state = Perplexity.fit(Corpus(tmp_path), params())
    assert state.table.num_rows == 0
    assert Perplexity.decide(shard([None, 2.0]), state.table, params())["keep"].to_pylist() == [True, True]


@pytest.mark.parametrize(
    ("band", "message"),
    [
        ({"low": 0.1}, "a gaussian band takes `width`"),
        ({"fit": "quantile"}, "needs `low`, `high` or both"),
        ({"fit": "quantile", "high": 95}, "between 0 and 1"),
        ({"fit": "fixed", "low": 9, "high": 9}, "low must be less than high"),
        ({"width": 0}, "greater than 0"),
        ({"fit": "fixed", "high": 9, "width_below": 3}, "belong to a gaussian band"),
        ({"group_by": ["source"]}, r"group_by is \[language\] or \[language, source\]"),
        ({"languages": {"zh": {"fit": "fixed"}}}, "needs `low`, `high` or both"),
    ],
)
def test_a_band_that_cannot_be_meant_is_refused(band: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        params(band=band)


def test_a_model_is_loaded_quietly_and_once(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = ModelFile(model / "en.arpa", "one")
    assert load(file) is load(ModelFile(model / "en.arpa", "one"))
    assert capfd.readouterr() == ("", "")


def test_a_new_model_at_the_same_place_is_loaded_anew(model: Path) -> None:
    before = measured(["a b"], model, min_tokens=1)[0]["perplexity"]
    artefact(model, TWO_WORDS.replace("-0.3\ta b", "-0.1\ta b"))
    assert measured(["a b"], model, min_tokens=1)[0]["perplexity"] < before


# Documents of the reference, and bands of several kinds.


def test_a_document_of_the_reference_is_unscored_and_stays_under_either_policy(tmp_path: Path) -> None:
    folder = artefact(tmp_path, learned=["a b a b", "b"])
    rows = measured(["a b a b", "a b a", "b", "a b a b "], folder, ["en", "en", "zh", None], min_tokens=1)
    assert [row["unscored"] for row in rows] == ["in_reference", None, "in_reference", None]
    assert rows[0]["perplexity"] is None and rows[0]["tokens"] == 4
    table = pa.Table.from_pylist(rows, MEASURES)
    for policy in ("keep", "drop"):
        assert Perplexity.decide(table, None, params(unscored=policy))["keep"].to_pylist() == [True] * 4


def test_the_band_is_fitted_without_the_documents_of_the_reference(tmp_path: Path) -> None:
    known = shard([None] * 50)
    known = known.set_column(MEASURES.get_field_index("unscored"), "unscored", pa.array(["in_reference"] * 50))
    alone = Perplexity.fit(Corpus(tmp_path, shard(spread_out())), params())
    assert Perplexity.fit(Corpus(tmp_path, shard(spread_out()), known), params()) == alone


def test_each_side_of_a_gaussian_band_may_have_its_own_width(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, shard(spread_out()))
    row = Perplexity.fit(corpus, params(band={"width_below": 3.0, "width_above": 1.0})).table.to_pylist()[0]
    assert row["low"] == pytest.approx(10 ** (row["centre"] - 3 * row["spread"]))
    assert row["high"] == pytest.approx(10 ** (row["centre"] + row["spread"]))
    one = Perplexity.fit(corpus, params(band={"width_below": 3.0})).table.to_pylist()[0]
    assert one["high"] == pytest.approx(10 ** (row["centre"] + 2 * row["spread"]))


def with_source(table: pa.Table, source: str) -> pa.Table:
    return table.append_column("source", pa.array([source] * table.num_rows))


def test_a_band_can_be_fitted_for_each_source_of_a_language(tmp_path: Path) -> None:
    settings = params(band={"group_by": ["language", "source"]})
    one, two = with_source(shard(spread_out()), "one"), with_source(shard([v + 1 for v in spread_out()]), "two")
    state = Perplexity.fit(Corpus(tmp_path, one, two), settings)
    assert [(r["lang"], r["source"]) for r in state.table.to_pylist()] == [("en", "one"), ("en", "two")]
    assert sorted(state.summary["bands"]) == ["en/one", "en/two"]
    values = pa.concat_tables([with_source(shard([2.0]), name) for name in ("one", "two", "three")])
    assert Perplexity.decide(values, state.table, settings)["rule"].to_pylist() == [None, "perplexity_below", None]


def test_languages_may_have_bands_of_their_own(tmp_path: Path) -> None:
    band = {"languages": {"zh": {"fit": "fixed", "high": 50}, "de": {"fit": "quantile", "low": 0.5}}}
    settings = params(band=band)
    logs = spread_out()
    shards = [shard(logs), shard(logs, "de"), shard(logs, "zh")]
    state = Perplexity.fit(Corpus(tmp_path, *shards), settings)
    kept = [sum(Perplexity.decide(s, state.table, settings)["keep"].to_pylist()) for s in shards]
    assert kept == [41, 21, 0]
    assert Perplexity.decide(shard([3.0], "zh"), None, settings)["rule"].to_pylist() == ["perplexity_above"]


def test_labels_are_thirds_of_the_scored_documents_and_stand_in_the_detail(tmp_path: Path) -> None:
    settings = params(band={"fit": "quantile", "high": 0.9, "labels": True}, unscored="drop")
    logs = [1.0 + k / 100 for k in range(30)]
    state = Perplexity.fit(Corpus(tmp_path, shard(logs)), settings)
    decided = Perplexity.decide(shard([*logs, None]), state.table, settings)
    assert decided.schema == VERDICT
    assert decided["detail"].to_pylist() == ["head"] * 10 + ["middle"] * 10 + ["tail"] * 10 + ["too_short"]
    assert sum(decided["keep"].to_pylist()) == 27


def test_a_band_wider_than_the_stated_ratio_is_reported(tmp_path: Path) -> None:
    wide = shard([v * 2 for v in spread_out()])
    warnings = Perplexity.fit(Corpus(tmp_path, wide), params(band={"warn_ratio": 3})).summary["bands"]["en"]["warnings"]
    assert warnings and "the band is wide: its upper limit is 15 times the lower one" in warnings[0]
    assert not Perplexity.fit(Corpus(tmp_path, wide), params()).summary["bands"]["en"]["warnings"]


def test_scores_equal_full_scores_on_ten_thousand_lines_of_real_text() -> None:
    file = CASES.parent / "data" / "trusted" / "technical-en.jsonl.zst"
    if not file.is_file():
        pytest.skip(f"no real text: {file.name} is absent (set CURATE_TEST_DATA)")
    lines: list[str] = []
    for text in texts(Reference(path=str(file)), str(file)):
        lines += NORMALISERS["standard"].lines(text)
        if len(lines) > 10_000:
            break
    scorer = Scorer(FIXTURES / "lmplz-english.arpa")
    scores = scorer.scores(NORMALISERS["standard"].units_of(lines[:10_000]))
    for line, score in zip(lines, scores, strict=False):
        full = list(scorer.model.full_scores(line))
        assert score.log10_sum == pytest.approx(sum(p for p, _, _ in full), rel=1e-5)
        assert (score.tokens + 1, score.unknown) == (len(full), sum(oov for _, _, oov in full))


def test_a_document_of_one_very_long_line_is_scored_in_pieces(model: Path) -> None:
    size = 8 << 20
    row = measured(["a b " * (size // 4)], model)[0]
    assert (row["tokens"], row["lines"], row["oov_share"]) == (size // 2, -(-size // 2000), 0)
    assert row["perplexity"] == pytest.approx(measured(["a b " * 500], model)[0]["perplexity"], rel=1e-4)
