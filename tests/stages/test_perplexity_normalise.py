"""Text comes out as KenLM must see it: what it scores and what is counted are the same units."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.perplexity.normalise import MAX_LINE_TOKENS, NORMALISERS, whitespace
from stages.perplexity.scoring import Scorer
from tests.stages.perplexity_models import FIXTURES, TWO_WORDS

AWKWARD = st.text(
    st.one_of(st.characters(), st.sampled_from("aB9 \n\t\r\0\u00a0\u3000\u2028\ufeff<>/s'’.!中の")), max_size=60
)

standard = NORMALISERS["standard"].lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Straße ÉTÉ İ Σς", "straße été İ σσ"),
        ("in 1999 or ٤٢", "in 0000 or 00"),
        ("a,b (c)--d...", "a , b ( c ) - d ."),
        ("don’t 'quote' rock'n'roll", "don't ' quote ' rock'n'roll"),
        ("a\u00a0b\u3000c\td", "a b c d"),
        ("a\0b\u200bc\ufeff\u00ad d", "abc d"),
        ("一二 three四。", "一 二 three 四 。"),
        ("コーヒー สวัสดี", "コ ー ヒ ー ส ว ั ส ด ี"),
        ("<s> a </s> <unk>", "< s > a < / s > < unk >"),
        ("a\r\n\n b \n", "a\n\nb\n"),
        ("\u2028a\u0085b\x0bc", "a b c"),
        ("", ""),
        ("\0\u200b\ud800", ""),
    ],
)
def test_standard_units(text: str, expected: str) -> None:
    assert standard(text) == [line for line in expected.split("\n") if line]


def test_whitespace_units_leave_words_as_they_are_but_no_marker_and_no_control() -> None:
    assert whitespace("A\u00a0 b.\0\n\n <S> </s>\t<unk> x<s>\r\n") == "A b.\n\n＜S＞ ＜/s＞ ＜unk＞ x<s>\n"


@settings(max_examples=200, deadline=None)
@given(AWKWARD)
@pytest.mark.parametrize("name", sorted(NORMALISERS))
def test_lines_hold_units_between_single_ascii_spaces_and_no_marker(name: str, text: str) -> None:
    for line in NORMALISERS[name].lines(text):
        units = line.split(" ")
        assert all(units) and units == line.split()
        assert units == [unit.decode() for unit in re.split(rb"[ \t\n\v\f\r]", line.encode())]
        assert "\0" not in line and not {"<s>", "</s>", "<unk>"} & set(units)


@settings(max_examples=100, deadline=None)
@given(AWKWARD)
def test_standard_text_normalised_again_stays_as_it_is(text: str) -> None:
    assert standard("\n".join(standard(text))) == standard(text)


@settings(max_examples=100, deadline=None)
@given(st.lists(AWKWARD, max_size=4))
def test_each_line_is_normalised_on_its_own(parts: list[str]) -> None:
    lines = [p.replace("\n", " ") for p in parts]
    assert standard("\n".join(lines)) == [found for line in lines for found in standard(line)]


@settings(max_examples=60, deadline=None)
@given(text=AWKWARD)
@pytest.mark.parametrize("name", sorted(NORMALISERS))
def test_kenlm_scores_exactly_the_tokens_that_are_counted(name: str, text: str, scorer: Scorer) -> None:
    lines = NORMALISERS[name].lines(text)
    score = scorer.score(lines)
    full = [list(scorer.model.full_scores(line)) for line in lines]
    assert score.tokens + score.lines == sum(map(len, full))
    assert score.log10_sum == pytest.approx(sum(p for line in full for p, _, _ in line), rel=1e-5)
    assert score.unknown == sum(oov for line in full for _, _, oov in line)


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> Scorer:
    path = tmp_path_factory.mktemp("model") / "en.arpa"
    path.write_text(TWO_WORDS, encoding="utf-8")
    return Scorer(path)


def test_a_long_line_becomes_lines_of_a_thousand_tokens() -> None:
    lines = NORMALISERS["standard"].lines("a " * (2 * MAX_LINE_TOKENS + 5))
    assert [line.count("a") for line in lines] == [MAX_LINE_TOKENS, MAX_LINE_TOKENS, 5]
    assert len(NORMALISERS["standard"].lines("a " * MAX_LINE_TOKENS)) == 1


def test_scores_on_text_equal_the_sum_of_full_scores() -> None:
    scorer = Scorer(FIXTURES / "lmplz-english.arpa")
    for line in (FIXTURES / "lmplz-english.txt").read_text(encoding="utf-8").splitlines():
        full = list(scorer.model.full_scores(line))
        score = scorer.score([line])
        assert score.log10_sum == pytest.approx(sum(p for p, _, _ in full), rel=1e-5)
        assert score.unknown == sum(oov for _, _, oov in full) == 0


def test_a_missing_model_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"gone\.arpa"):
        Scorer(tmp_path / "gone.arpa")
