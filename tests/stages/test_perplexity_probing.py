"""Models as KenLM's probing tables: the bytes of `build_binary`, the scores of the ARPA file, one copy in memory."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from stages.perplexity import Perplexity, PerplexityParams, probing
from stages.perplexity.scoring import Scorer, kenlm_model
from tests.stages.perplexity_models import FIXTURES, TWO_WORDS, measured, written

MADE_BY_KENLM = {
    "lmplz-english": "333c1147d5048320459932a83a89793f",
    "lmplz-chinese": "c360802a4982386819e3a72e7e2db67d",
    "lmplz-fallback": "358739740ce841344f851c8ed09e578d",
}
"""BLAKE2b (16 bytes) of what KenLM 0.3.0's `build_binary probing` makes of the fixtures."""


@pytest.mark.parametrize("name", list(MADE_BY_KENLM))
def test_the_bytes_are_those_of_build_binary(name: str, tmp_path: Path) -> None:
    probing.write(FIXTURES / f"{name}.arpa", tmp_path / "own")
    assert hashlib.blake2b((tmp_path / "own").read_bytes(), digest_size=16).hexdigest() == MADE_BY_KENLM[name]


@pytest.mark.skipif(shutil.which("build_binary") is None, reason="KenLM's build_binary is not on PATH")
@pytest.mark.parametrize("order", [2, 6])
def test_models_of_the_estimator_equal_what_build_binary_makes_of_them(order: int, tmp_path: Path) -> None:
    text = (FIXTURES / "lmplz-english.txt").read_text(encoding="utf-8")
    arpa = written([text], order, [0, 0, 1], tmp_path / "en.arpa")
    probing.write(arpa, tmp_path / "own")
    subprocess.run(["build_binary", "probing", arpa, tmp_path / "theirs"], check=True, capture_output=True)
    assert (tmp_path / "own").read_bytes() == (tmp_path / "theirs").read_bytes()


@pytest.mark.parametrize("order", [2, 3, 5])
def test_every_word_scores_exactly_as_from_the_arpa_file(order: int, tmp_path: Path) -> None:
    text = (FIXTURES / "lmplz-english.txt").read_text(encoding="utf-8")
    arpa = written([text], order, [0, 0, 1], tmp_path / "en.arpa")
    probing.write(arpa, tmp_path / "en.probing")
    one, two = kenlm_model(arpa), kenlm_model(tmp_path / "en.probing")
    lines = text.splitlines()
    lines += [" ".join(reversed(line.split())) for line in lines] + ["xyzzy the of xyzzy"]
    for line in lines:
        assert list(one.full_scores(line)) == list(two.full_scores(line))


def test_words_are_listed_by_a_probing_file_and_by_no_other(tmp_path: Path) -> None:
    (tmp_path / "two.arpa").write_text(TWO_WORDS, encoding="utf-8")
    probing.write(tmp_path / "two.arpa", tmp_path / "two.probing")
    assert probing.words(tmp_path / "two.probing") == b"<unk>\0<s>\0</s>\0a\0b\0"
    assert probing.words(tmp_path / "two.arpa") == b""
    (tmp_path / "short").write_bytes(probing.MAGIC)
    assert probing.words(tmp_path / "short") == b""
    scorer = Scorer(tmp_path / "two.probing")
    assert scorer.score(["a b"]).perplexity == pytest.approx(3.4145, abs=1e-4)
    assert scorer.score(["a b z"]).unknown == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("-1.0\t<unk>\t0\n", "", "first word is not <unk>"),
        ("ngram 2=2", "ngram 2=3", "2 2-grams where 3 were announced"),
        ("ngram 2=2", "ngram 2=2\nngram 3=1", "no sections"),
        ("\\2-grams:", "\\3-grams:", "no sections"),
        ("-0.3\ta b", "-0.3\ta z", "the word b'z' is not among the single words"),
        ("-0.3\ta b", "-0.3\ta b a", "another number of words"),
        ("-0.3\ta b", "0.3\ta b", "a probability above 1"),
        ("-0.3\ta b", "x\ta b", "conversion error"),
        ("-0.5\ta\t-0.2", "-0.5 a -0.2", "Expected 3 columns"),
    ],
)
def test_an_arpa_file_that_does_not_fit_is_left_to_kenlm(old: str, new: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "two.arpa").write_text(TWO_WORDS.replace(old, new), encoding="utf-8")
    with pytest.raises(probing.UnsuitableError, match=message):
        probing.write(tmp_path / "two.arpa", tmp_path / "two.probing")
    assert not (tmp_path / "two.probing").exists()


def test_an_ngram_without_its_suffix_is_left_to_kenlm(tmp_path: Path) -> None:
    text = TWO_WORDS.replace("ngram 2=2", "ngram 2=2\nngram 3=1").replace("-0.2\t<s> a\n-0.3\ta b\n", "@")
    text = text.replace("@", "-0.2\t<s> a\t0\n-0.3\tb a\t0\n\n\\3-grams:\n-0.1\t<s> a b\n")
    (tmp_path / "gap.arpa").write_text(text, encoding="utf-8")
    with pytest.raises(probing.UnsuitableError, match="without its suffix or context"):
        probing.write(tmp_path / "gap.arpa", tmp_path / "gap.probing")
    given = {"path": str(tmp_path / "gap.arpa"), "language": "en", "normaliser": "standard"}
    params = PerplexityParams.model_validate({"models": [given], "min_tokens": 1})
    (tmp_path / "artefact").mkdir()
    assert Perplexity.prepare(params, tmp_path / "artefact")["models"]["en"]["file"] is None


def test_a_given_arpa_file_is_scored_from_tables_with_the_same_result(tmp_path: Path) -> None:
    given = {"path": str(FIXTURES / "lmplz-english.arpa"), "language": "en", "normaliser": "standard"}
    (tmp_path / "a").mkdir()
    summary = Perplexity.prepare(PerplexityParams.model_validate({"models": [given]}), tmp_path / "a")
    assert summary["models"]["en"]["file"] == "en.probing"
    text = "The ships came in at noon, and the harbour was full of xyzzy people."
    lines = ["the ships came in at noon , and the harbour was full of xyzzy people ."]
    row = measured([text], tmp_path / "a", ["en"], models=[given], reference=[])[0]
    plain = Scorer(FIXTURES / "lmplz-english.arpa").score(lines)
    assert (row["log10_perplexity"], row["oov_share"]) == (plain.log10_perplexity, plain.unknown / plain.tokens)


def test_a_loaded_model_is_mapped_not_copied(tmp_path: Path) -> None:
    if not Path("/proc/self/maps").exists():
        pytest.skip("needs /proc")
    probing.write(FIXTURES / "lmplz-english.arpa", tmp_path / "en.probing")
    kept = kenlm_model(tmp_path / "en.probing")
    mapped = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if "en.probing" in line]
    assert kept.score("the") < 0 and mapped and all(line[1][3] == "s" for line in mapped)  # shared
