"""Models made elsewhere: by KenLM's own programs where they are on PATH, or given as files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import ValidationError

from pipeline.stage import measuring
from stages.perplexity import Perplexity, PerplexityParams
from stages.perplexity.references import ReferenceTextError
from stages.perplexity.scoring import ModelMismatchError, Scorer
from tests.stages.perplexity_models import FIXTURES, TWO_WORDS

needs_lmplz = pytest.mark.skipif(shutil.which("lmplz") is None, reason="KenLM's lmplz is not on PATH")
needs_binary = pytest.mark.skipif(shutil.which("build_binary") is None, reason="KenLM's build_binary is not on PATH")


def prepared(folder: Path, **settings: Any) -> tuple[PerplexityParams, dict[str, Any]]:
    params = PerplexityParams.model_validate(settings)
    folder.mkdir()
    return params, Perplexity.prepare(params, folder)["models"]


def english(tmp_path: Path) -> list[dict[str, Any]]:
    (tmp_path / "en.txt").write_bytes((FIXTURES / "lmplz-english.txt").read_bytes())
    return [{"path": [str(tmp_path / "en.txt")], "language": "en"}]


def measured(params: PerplexityParams, folder: Path, text: str, lang: str = "en") -> dict[str, Any]:
    table = pa.table({"text": pa.array([text], pa.large_string()), "lang": [lang]})
    row: dict[str, Any] = Perplexity.measure(table, params, folder).to_pylist()[0]
    return row


def test_a_model_of_ones_own_scores_and_names_no_place(tmp_path: Path) -> None:
    (tmp_path / "two.arpa").write_text(TWO_WORDS, encoding="utf-8")
    given = {"path": str(tmp_path / "two.arpa"), "language": "en", "normaliser": "standard"}
    params, models = prepared(tmp_path / "a", models=[given], min_tokens=1)
    row = measured(params, tmp_path / "a", "A b")
    assert (row["perplexity"], row["oov_share"]) == (pytest.approx(3.4145, abs=1e-4), 0)
    assert models["en"]["estimator"] == "given" and len(models["en"]["hash"]) > 20
    assert str(tmp_path) not in (tmp_path / "a" / "models.json").read_text()


def test_a_given_model_of_another_normaliser_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "two.arpa").write_text(TWO_WORDS, encoding="utf-8")
    given = {"path": str(tmp_path / "two.arpa"), "language": "en", "normaliser": "whitespace"}
    params, _ = prepared(tmp_path / "a", models=[given])
    with pytest.raises(ModelMismatchError, match=r"model two\.arpa was made from word units of normaliser whitespace"):
        measured(params, tmp_path / "a", "a b")


def test_a_given_model_stands_beside_trained_ones_but_not_for_the_same_language(tmp_path: Path) -> None:
    given = {"path": str(FIXTURES / "lmplz-chinese.arpa"), "language": "zh", "normaliser": "standard"}
    _, models = prepared(tmp_path / "a", models=[given], reference=english(tmp_path))
    assert [models[lang]["estimator"] for lang in ("en", "zh")] == ["own", "given"]
    with pytest.raises(ValidationError, match="one model for a language: en has several"):
        PerplexityParams.model_validate({"models": [given | {"language": "en"}], "reference": english(tmp_path)})
    identified = [{"path": [str(tmp_path / "en.txt")]}]
    with pytest.raises(ReferenceTextError, match="`reference` holds en text, and `models` a model for it"):
        prepared(tmp_path / "b", models=[given | {"language": "en"}], reference=identified)


def test_a_stage_without_reference_and_models_is_refused() -> None:
    with pytest.raises(ValidationError, match="perplexity needs `reference`"):
        PerplexityParams.model_validate({})


def test_a_given_model_must_lie_on_this_machine(tmp_path: Path) -> None:
    given = {"path": "memory://models/en.arpa", "language": "en", "normaliser": "standard"}
    with pytest.raises(ReferenceTextError, match=r"KenLM reads local files only; copy memory://models/en\.arpa"):
        prepared(tmp_path / "a", models=[given])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimator": "lmplz"}, "`lmplz` is not on PATH; install KenLM, or set estimator: own"),
        ({"binary": True}, "`build_binary` is not on PATH; install KenLM, or set binary: false"),
    ],
)
def test_a_program_that_is_asked_for_and_absent_is_an_error(
    settings: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ReferenceTextError, match=message):
        prepared(tmp_path / "a", reference=english(tmp_path), **settings)


@needs_lmplz
def test_lmplz_makes_the_same_model(tmp_path: Path) -> None:
    reference = english(tmp_path)
    _, theirs = prepared(tmp_path / "a", reference=reference, estimator="lmplz")
    _, own = prepared(tmp_path / "b", reference=reference)
    assert theirs["en"]["tokens"] == own["en"]["tokens"] and theirs["en"]["estimator"] == "lmplz"
    assert (tmp_path / "a" / "reference.u64").read_bytes() == (tmp_path / "b" / "reference.u64").read_bytes()
    text = "The ships came in at noon, and the harbour was full of people."
    one, two = (measured(PerplexityParams.model_validate({"reference": reference}), tmp_path / x, text) for x in "ab")
    assert one["log10_perplexity"] == pytest.approx(two["log10_perplexity"], rel=1e-5)


@pytest.mark.parametrize(
    ("program", "settings", "message"),
    [
        ("lmplz", {"estimator": "lmplz"}, "no en model: lmplz failed: no space left"),
        ("build_binary", {"binary": True}, r"build_binary failed on en\.arpa: no space left"),
    ],
)
def test_what_a_program_says_when_it_fails_is_passed_on(
    program: str, settings: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / program).write_text("#!/bin/sh\necho 'no space left' >&2\nexit 1\n")
    (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(ReferenceTextError, match=message):
        prepared(tmp_path / "a", reference=english(tmp_path), **settings)


@needs_binary
def test_a_binary_model_scores_as_its_arpa_does_with_and_without_its_word_list(tmp_path: Path) -> None:
    reference = english(tmp_path)
    params, models = prepared(tmp_path / "a", reference=reference, binary=True)
    assert (models["en"]["file"], models["en"]["listed"]) == ("en.binary", "en.arpa")
    text = "The ships came in at noon, and so did xyzzy."
    plain = Scorer(tmp_path / "a" / "en.arpa").score(text.lower().replace(",", " ,").replace(".", " .").split("\n"))
    row = measured(params, tmp_path / "a", text)
    assert row["log10_perplexity"] == pytest.approx(plain.log10_perplexity, rel=1e-5)
    given = {"path": str(tmp_path / "a" / "en.binary"), "language": "en", "normaliser": "standard"}
    alone, _ = prepared(tmp_path / "b", models=[given])
    assert measured(alone, tmp_path / "b", text)["oov_share"] == row["oov_share"] == plain.unknown / plain.tokens > 0


def test_memory_is_a_number_or_a_size() -> None:
    sizes = [
        PerplexityParams.model_validate({"reference": ["a"], "memory": m}).memory for m in ("0.5GB", "512 mb", 1 << 29)
    ]
    assert sizes == [1 << 29] * 3
    with pytest.raises(ValidationError, match="write a size as 4GB or 500MB"):
        PerplexityParams.model_validate({"reference": ["a"], "memory": "muchGB"})


def test_memory_and_band_are_no_part_of_what_models_and_measures_depend_on() -> None:
    plain = PerplexityParams.model_validate({"reference": ["a.txt"]})
    other = {"reference": ["a.txt"], "memory": 1 << 31, "band": {"labels": True}}
    assert measuring(PerplexityParams.model_validate(other)) == measuring(plain)
    assert json.dumps(measuring(plain))
