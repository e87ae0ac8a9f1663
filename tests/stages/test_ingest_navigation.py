"""Selectors left out because a page cannot have what they match: the text is the same as with all of them."""

from __future__ import annotations

from html.entities import html5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLTree

from stages.ingest.navigation import ALL, SKIPPED, WORTH, skipped_in
from stages.ingest.page import read_page
from stages.ingest.params import IngestParams


def spelt(selector: str) -> str:
    """An element that the selector matches."""
    if selector[0] == ".":
        return f'<div class="x {selector[1:]}">out</div>'
    if selector[0] == "[":
        name, value = selector[1:-1].split("=")
        return f'<p {name}="{value}">out</p>'
    return f"<{selector}>out</{selector}>"


def text_of(html: str, selectors: list[str], main_content: bool) -> str:
    return extract_plain_text(
        HTMLTree.parse(html),
        preserve_formatting=True,
        main_content=main_content,
        alt_texts=False,
        skip_elements=selectors,
    )


@pytest.mark.parametrize("selector", SKIPPED)
def test_a_selector_is_kept_where_it_matches_however_it_is_spelt(selector: str) -> None:
    element = spelt(selector)
    for html in (element, element.upper(), element.replace('"', ""), element.replace('"', "'"), element + "&#8217;"):
        assert HTMLTree.parse(html).document.query_selector(selector) is None or selector in (
            skipped_in(html.encode()) or []
        )
    assert skipped_in(element.encode()) == [selector]


def test_words_of_the_text_keep_no_selector() -> None:
    assert (
        skipped_in("Navigation: the menus related_to <navigation>, a header, menü-menu; <td class=submenu>".encode())
        == []
    )
    assert skipped_in(b'<p class="menu">') == [".menu"] and skipped_in(b"<p>\x01") is None


@pytest.mark.parametrize("reference", ["&#110;", "&#x6E;", "&#X6e", "&#0110;", "&#00000110;"])
def test_a_word_spelt_with_character_references_keeps_all_selectors(reference: str) -> None:
    html = f'<p>in<p class="me{reference}u">out</p>'
    assert HTMLTree.parse(html).document.query_selector(".menu") is not None
    assert skipped_in(html.encode()) is ALL
    for space in ("&#32;", "&#9;", "&#10;", "&#xC;", "&Tab;", "&NewLine;"):
        assert ".menu" in (skipped_in(f'<p class="a{space}menu{space}b">'.encode()) or [])


def test_the_named_references_that_stand_for_letters_are_no_part_of_any_word() -> None:
    letters = {value for value in html5.values() if any(c.isascii() and (c.isalnum() or c == "-") for c in value)}
    assert letters == {"fj"}
    assert not any("fj" in selector or "_" in selector for selector in SKIPPED)


tags = st.sampled_from(["div", "p", "span", "NAV", *SKIPPED[:8]])
values = st.sampled_from(
    [*(s.strip(".[]").split("=")[-1] for s in SKIPPED), "x", "MENU", "me&#110;u", "a>b", "<nav", "a=b"]
)
attributes = st.tuples(
    st.sampled_from(["class", "role", "ROLE", "aria-hidden", "title"]),
    st.lists(values, min_size=1, max_size=3).map(" ".join),
    st.sampled_from(['{}="{}"', "{}='{}'", "{}={}", "{} = {}", '{}="{}"/', "{}='\n{}\t'", '/{}="a\f{}"']),
).map(lambda a: a[2].format(a[0], a[1]))
elements = st.tuples(tags, st.lists(attributes, max_size=2)).map(lambda e: f"<{e[0]} {' '.join(e[1])}>")
parts = st.lists(
    elements
    | st.sampled_from(
        ["one", "two &amp; ", "</div>", "</p>", "<!-- <nav> -->", "<script>'<nav>'</script>", "<br>", "–", "<"]
    )
    | tags.map("</{}>".format),
    min_size=1,
    max_size=14,
)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(["", "<!doctype html>"]), parts, st.booleans())
def test_the_text_is_the_same_as_with_all_selectors(start: str, parts: list[str], main_content: bool) -> None:
    html = start + " three ".join(parts)
    selectors = skipped_in(html.encode())
    assert selectors is not None and text_of(html, selectors, main_content) == text_of(html, ALL, main_content)


def test_long_and_short_pages_lose_the_same_elements() -> None:
    for filling in ("word " * 10, "word " * WORTH):
        html = f"<title>T</title>{''.join(map(spelt, SKIPPED))}<p>{filling}"
        assert read_page(html.encode(), [], IngestParams()).decoded.text == filling.strip()
        assert read_page(html.encode("utf-16"), [], IngestParams()).decoded.text == filling.strip()
