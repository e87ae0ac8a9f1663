import doctest
import itertools

import pytest

from tokenizer import reference


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(reference).failed == 0


def test_first_seen_takes_the_tied_pair_that_comes_first_in_the_text():
    pieces = {b"xy": 1, b"ab": 1}
    assert reference.train(pieces, 1, "first_seen") == [(120, 121, 1)]
    assert reference.train(pieces, 1, "smallest_ids") == [(97, 98, 1)]
    assert reference.train(pieces, 1, "cs336") == [(120, 121, 1)]


def test_cs336_compares_byte_strings_and_not_their_join():
    pieces = {b"ab": 2, b"abc": 1, b"az": 3}
    assert reference.train(pieces, 1, "cs336") == [(97, 122, 3)]


def test_huggingface_numbers_bytes_by_their_printable_character():
    assert reference.train({b"a!": 1, b"a ": 1}, 1, "huggingface") == [(97, 33, 1)]
    assert reference.train({b"a!": 1, b"a ": 1}, 1, "smallest_ids") == [(97, 32, 1)]


def test_the_byte_alphabet_is_that_of_gpt2():
    alphabet = reference.byte_alphabet()
    assert len(set(alphabet.values())) == 256
    assert (alphabet[32], alphabet[10], alphabet[97], alphabet[0], alphabet[255], alphabet[0xAD]) == tuple("ĠĊaĀÿŃ")


@pytest.mark.parametrize("n", range(2, 9))
def test_a_run_of_equal_symbols_counts_every_adjacent_pair(n):
    assert reference.get_stats([([7] * n, 3)]) == {(7, 7): 3 * (n - 1)}


def test_no_two_merges_ever_make_the_same_bytes():
    for parts in itertools.product([b"ab", b"ba", b"aab", b"bab", b"abba", b"aaa"], repeat=3):
        tokens = [bytes([b]) for b in range(256)]
        for left, right, _ in reference.train(dict.fromkeys(parts, 1), 20):
            tokens.append(tokens[left] + tokens[right])
        assert len(set(tokens)) == len(tokens)
