"""The estimator equals KenLM's lmplz, a slow twin, and itself."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.perplexity import ngram
from stages.perplexity.counts import BEGIN, END, SPECIALS, count
from tests.reference.kneser_ney import KneserNey
from tests.stages.perplexity_models import FIXTURES, Whole, trained, written

LINES = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=8), min_size=1, max_size=12)


def of_lines(lines: list[list[str]], order: int, prune: list[int]) -> Whole:
    return trained(["\n".join(" ".join(line) for line in lines)], order, prune)


def as_words(model: Whole, backoff: bool = False) -> dict[tuple[str, ...], float]:
    return {
        tuple(model.words[i] for i in row): value
        for order in model.orders
        for row, value in zip(order.words.tolist(), order.backoff if backoff else order.probability, strict=True)
    }


def sections(path: Path) -> dict[str, tuple[float, float]]:
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return {r[1]: (float(r[0]), float(r[2]) if len(r) > 2 else 0.0) for r in rows if len(r) > 1}


@pytest.mark.parametrize(
    ("name", "order", "prune"),
    [("lmplz-english", 4, [0, 0, 1]), ("lmplz-chinese", 3, [0]), ("lmplz-fallback", 5, [0])],
)
def test_probabilities_and_backoffs_equal_those_of_lmplz(
    name: str, order: int, prune: list[int], tmp_path: Path
) -> None:
    text = (FIXTURES / f"{name}.txt").read_text(encoding="utf-8")
    written([text], order, prune, tmp_path / "own.arpa")
    own, theirs = sections(tmp_path / "own.arpa"), sections(FIXTURES / f"{name}.arpa")
    assert own.keys() == theirs.keys()
    assert max(abs(own[g][k] - theirs[g][k]) for g in own for k in (0, 1)) < 2e-6


@settings(max_examples=40, deadline=None)
@given(LINES, st.integers(2, 6), st.sampled_from([[0], [0, 0, 1], [0, 1, 2]]))
def test_every_order_equals_the_slow_twin(lines: list[list[str]], order: int, prune: list[int]) -> None:
    limits = ngram.prune_limits(prune[:order], order)
    twin = KneserNey(lines, order, limits)
    try:
        model = of_lines(lines, order, prune[:order])
    except ngram.TooSmallError:
        assert not any(len(g) == 2 for g in twin.kept)
        return
    own = as_words(model)
    assert own.pop(("<s>",)) == 1.0
    assert own.keys() == twin.probability.keys()
    assert all(math.isclose(own[g], p, rel_tol=1e-12) for g, p in twin.probability.items())
    weights = as_words(model, backoff=True)
    assert all(math.isclose(w, twin.backoff.get(g, 1.0), rel_tol=1e-12) for g, w in weights.items() if len(g) < order)


@settings(max_examples=25, deadline=None)
@given(LINES, st.integers(2, 5), st.sampled_from([[0], [0, 0, 1]]))
def test_probabilities_sum_to_one_after_every_context(lines: list[list[str]], order: int, prune: list[int]) -> None:
    model = of_lines(lines, order, prune)
    words = model.words
    p, weight = as_words(model), as_words(model, backoff=True)

    def after(context: tuple[str, ...], word: str) -> float:
        if (*context, word) in p:
            return p[(*context, word)]
        return weight.get(context, 1.0) * after(context[1:], word)

    predicted = [w for w in words if w != "<s>"]
    contexts = {(), ("<unk>",)} | {g for g in p if len(g) < order and g[-1] != "</s>"}
    for context in contexts:
        assert math.isclose(math.fsum(after(context, w) for w in predicted), 1.0, rel_tol=1e-12)


def test_adjusted_counts_are_distinct_left_neighbours_but_occurrences_after_a_line_begins(tmp_path: Path) -> None:
    ids = {"a": 3, "b": 4}
    stream = [x for line in ("a b", "a b", "b b") for x in (BEGIN, *(ids[w] for w in line.split()), END)]
    counts = count([np.array(stream, np.int32)], 5, [0, 1, 1], tmp_path, 1 << 20)
    assert counts.unigrams.tolist() == [0, 0, 1, 1, 3]  # </s> after b; a after <s>; b after a, <s>, b
    table = counts.tables[0]
    suffix, first, size = (column.read(0, 9).tolist() for column in (table.suffix, table.first, table.size))
    pairs = {pair: n for *pair, n in zip(first, suffix, size, strict=True) for pair in [tuple(pair)]}
    assert pairs == {(1, 3): 2, (1, 4): -1, (3, 4): 1, (4, 4): -1, (4, 2): 2}  # below zero: occurs once, pruned
    assert table.words.read(0, 9).tolist() == [[4, 2], [1, 3], [3, 4]]
    assert table.classes.tolist() == [0, 3, 2, 0, 0, 0]


def test_small_data_takes_the_fallback_discounts() -> None:
    assert ngram.discounts_of([0, 2, 1, 0, 0, 0]) == (0.5, 1.0, 1.5)
    assert ngram.discounts_of([0, 1, 1, 10, 0, 0]) == (0.5, 1.0, 1.5)  # D2 would be -8


def test_prune_values_beyond_the_order_are_not_used() -> None:
    assert ngram.prune_limits([0, 0, 1], 2) == [0, 0]
    assert ngram.prune_limits([0, 0, 1], 5) == [0, 0, 1, 1, 1]


def test_an_order_longer_than_every_line_is_left_out() -> None:
    model = of_lines([["a"], ["b"]], 6, [0])
    assert [len(order.words) for order in model.orders] == [5, 4, 2]


def test_the_same_text_in_another_order_gives_the_same_bytes(tmp_path: Path) -> None:
    lines = [line.split() for line in (FIXTURES / "lmplz-english.txt").read_text(encoding="utf-8").splitlines()]
    for name, given_lines in (("a", lines), ("b", lines[::-1])):
        written((" ".join(line) for line in given_lines), 4, [0, 0, 1], tmp_path / name, "standard")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert b"-0\t" not in (tmp_path / "a").read_bytes()


@pytest.mark.parametrize("prune", [[1], [0, 2, 1]])
def test_a_prune_list_that_cannot_be_meant_is_refused(prune: list[int]) -> None:
    with pytest.raises(ValueError, match="prune"):
        of_lines([["a", "b"]], 3, prune)


def test_an_order_out_of_range_and_a_text_without_words_are_refused() -> None:
    with pytest.raises(ValueError, match="order must be from 2 to 6, got 7"):
        of_lines([["a"]], 7, [0])
    with pytest.raises(ngram.TooSmallError, match="holds no words"):
        of_lines([], 3, [0])
    with pytest.raises(ngram.TooSmallError, match="no pair of words is left"):
        of_lines([["a", "b"]], 3, [0, 5])


def test_special_words_come_first_and_words_follow_in_byte_order() -> None:
    assert trained(["b a", "é z A"], 2, [0]).words == [*SPECIALS, "A", "a", "b", "z", "é"]
