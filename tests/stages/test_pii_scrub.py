"""Scrubbing text: trusted spans, look-alikes of special tokens, and that a second time changes nothing."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.pii import Edit, PIIParams, Placeholder, find, mask, restore, scrub
from stages.pii.params import JOINER

DEFAULT = PIIParams()
END = PIIParams(special_tokens=("<|endoftext|>", "ab", "ba", "abc"))
BROKEN = f"<{JOINER}|email|>"

PIECES = st.sampled_from(
    [
        *("zoe@example.org", "415-555-0199", "+1 415 555 0199", "8.8.8.8", "4111 1111 1111 1111", "219-09-9999"),
        *("110101190001010014", "13800000000", "DE89370400440532013000", "12 Oak Street", "南京路1号", "4155550199"),
        *("<|email|>", BROKEN, "<|endoftext|>", "<|phone|>", "<|", "|>", "email", JOINER, "aba", "abc", "ab", "c"),
        *("😀", "邮箱", "电话", "phone ", "ssn ", "ip ", "version ", "@", ".", "-", " ", "\n", "1", "7", "0", "x", "A"),
        *("AKIA" + "Z2" * 8, "-----BEGIN PRIVATE KEY-----", "u:hunter2@", "://", ":", "+", "(", ")", "/", "=", "%40"),
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join)
SETTINGS = st.sampled_from(
    [DEFAULT, END, PIIParams(actions={"email": "keep", "card": "drop_document"}, special_tokens=("<|endoftext|>",))]
)


@settings(max_examples=400, deadline=None)
@given(TEXTS, SETTINGS)
def test_scrubbing_its_own_output_changes_nothing(text: str, params: PIIParams) -> None:
    once = scrub(text, [], params)
    again = scrub(once.text, once.placeholders, params)
    assert (again.text, again.placeholders) == (once.text, once.placeholders)
    assert all(edit.replacement is None for edit in again.edits)


@settings(max_examples=300, deadline=None)
@given(TEXTS, SETTINGS)
def test_edits_and_spans_describe_the_change_exactly(text: str, params: PIIParams) -> None:
    once = scrub(text, [], params)
    rebuilt, at = "", 0
    for edit in once.edits:
        assert at <= edit.start <= edit.end
        rebuilt += text[at : edit.start] + (
            text[edit.start : edit.end] if edit.replacement is None else edit.replacement
        )
        at = edit.end
    assert rebuilt + text[at:] == once.text
    assert all(once.text[p.start : p.end] == p.token for p in once.placeholders)
    assert len(once.placeholders) == sum(e.replacement is not None and e.kind != "literal_special" for e in once.edits)


@settings(max_examples=300, deadline=None)
@given(TEXTS, SETTINGS)
def test_no_special_token_stands_outside_the_trusted_spans(text: str, params: PIIParams) -> None:
    once = scrub(text, [], params)
    parts, at = [], 0
    for span in once.placeholders:
        parts.append(once.text[at : span.start])
        at = span.end
    parts.append(once.text[at:])
    for token in ("<|email|>", "<|phone|>", *params.special_tokens):
        if token == "<|email|>" and params.actions:
            continue  # not written under these settings, so not declared
        assert not any(token in part for part in parts)


@given(
    st.lists(st.sampled_from(["<|endoftext|>", "<|email|>", "a", "b", "c", "<|", "|>", " "]), max_size=12).map("".join)
)
def test_restore_takes_out_what_was_put_in(text: str) -> None:
    scrubbed = scrub(text, [], END).text
    assert restore(scrubbed, ("<|endoftext|>", "ab", "ba", "abc", "<|email|>")) == text


def test_a_look_alike_is_broken_listed_and_not_counted_as_an_entity() -> None:
    result = scrub("Template: send to <|email|> or zoe@example.org", [], DEFAULT)
    assert result.text == f"Template: send to {BROKEN} or <|email|>"
    assert result.placeholders == [Placeholder(32, 41, "<|email|>")]
    assert result.edits == [
        Edit(19, 19, "literal_special", "declared_special", None, JOINER),
        Edit(31, 46, "email", "email", 1.0, "<|email|>"),
    ]


def test_overlapping_look_alikes_are_all_broken() -> None:
    assert scrub("aba", [], END).text == f"a{JOINER}b{JOINER}a"
    assert scrub("abc", [], END).text == f"a{JOINER}bc"


def test_only_declared_tokens_are_broken() -> None:
    assert scrub("<|im_start|> <|endoftext|>", [], DEFAULT).text == "<|im_start|> <|endoftext|>"


def test_trusted_placeholders_are_left_alone_and_move_with_the_text() -> None:
    text = "<|email|> zoe@example.org <|phone|> <|email|>"
    result = scrub(text, [(0, 9, "<|email|>"), (26, 35, "<|phone|>")], DEFAULT)
    assert result.text == f"<|email|> <|email|> <|phone|> {BROKEN}"
    assert result.placeholders == [
        Placeholder(0, 9, "<|email|>"),
        Placeholder(10, 19, "<|email|>"),
        Placeholder(20, 29, "<|phone|>"),
    ]


@pytest.mark.parametrize("spans", [[(0, 3, "<|email|>")], [(3, 12, "<|email|>"), (0, 9, "<|email|>")], [(0, 0, "")]])
def test_a_span_that_does_not_hold_its_token_is_refused(spans: list[tuple[int, int, str]]) -> None:
    with pytest.raises(ValueError, match=r"placeholder span \d+\.\.\d+ of the text does not hold"):
        scrub("<|email|> and more", spans, DEFAULT)


def test_an_entity_uncovered_by_a_replacement_is_found_too() -> None:
    text = "x@version.no 81.2.69.142"  # "version no 81.2.69.142" reads as a version while the address stands
    assert [span.entity for span in find(text, DEFAULT)] == ["email"]
    assert scrub(text, [], DEFAULT).text == "<|email|> <|ip|>"


def test_a_long_log_is_scrubbed_in_linear_time() -> None:
    began = time.process_time()
    assert len(scrub("from 81.2.69.142 port 22\n" * 5_000, [], DEFAULT).placeholders) == 5_000
    assert time.process_time() - began < 2.0


def test_offsets_hold_behind_an_emoji() -> None:
    result = scrub("😀 mail zoe@example.org now", [], DEFAULT)
    assert result.text == "😀 mail <|email|> now"
    assert result.placeholders == [Placeholder(7, 16, "<|email|>")]
    assert (result.edits[0].start, result.edits[0].end) == (7, 22)


def test_renamed_and_shared_placeholders_are_written() -> None:
    params = PIIParams(replace={"email": "<|contact|>", "phone": "<|contact|>"})
    assert scrub("zoe@example.org, +1 415 555 0199", [], params).text == "<|contact|>, <|contact|>"


def test_a_kept_entity_is_listed_and_stays() -> None:
    result = scrub("zoe@example.org", [], PIIParams(actions={"email": "keep"}))
    assert result.text == "zoe@example.org"
    assert result.placeholders == []
    assert result.edits == [Edit(0, 15, "email", "email", 1.0, None)]


def test_masking_shows_no_entity_of_any_range_and_leaves_the_rest() -> None:
    text = "zoe@example.org at 10.0.0.7 wrote <|email|>"
    assert mask(text) == "<|email|> at <|ip|> wrote <|email|>"
    assert mask(mask(text)) == mask(text)
