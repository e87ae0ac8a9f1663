"""Elements whose text is no part of a page's content, and which of them a page can have at all.

The extractor tries every selector on every element, a quarter of its time. Most pages have a few of these elements, and
one that is there is spelt in the page's bytes: so only the selectors whose words occur are handed on. The text is the
same.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

from stages.ingest.occurrences import Words

SKIPPED: Final = (
    *("nav", "header", "footer", "aside", "dialog", "template", "button", "select"),
    *("[role=navigation]", "[role=banner]", "[role=contentinfo]", "[role=search]", "[aria-hidden=true]"),
    *(".sphinxsidebar", ".related", ".headerlink", ".navheader", ".navfooter", ".docnav", ".navbar", ".t-navbar"),
    *(".breadcrumb", ".breadcrumbs", ".menu"),
)
"""CSS selectors: elements by name, by the value of an attribute, or by class."""

ALL: Final = list(SKIPPED)
"""For pages that are not looked through. Never changed."""

WORTH: Final = 2048
"""Bytes of a page that is looked through; smaller ones do without numba."""

_REFERENCES: Final = tuple(b"&#" + start for start in (b"0 x 9 10 11 12 13 32 45 6 7 8".split()))
_SPELLING: Final = re.compile(
    rb"&#(?:x|0*(?:9|1[0-3]|32|45|6[5-9]|[78]\d|90|9[5-9]|1[01]\d|12[0-2])(?!\d))", re.IGNORECASE
)
"""References to characters that words are made of. Of named ones there is none (`&fjlig;` is the only letters)."""


def skipped_in(raw: bytes) -> list[str] | None:
    """The selectors of SKIPPED that can match in a page of these bytes, UTF-8; None where it has control characters."""
    words, bits, spelt = _words()
    found = words.among(raw)
    if found < 0:
        return None
    if found & spelt and _SPELLING.search(raw):
        return ALL
    return _selected(found & bits)


@cache
def _words() -> tuple[Words, int, int]:
    """The words, the bits of those of selectors, and of those that may spell others."""
    named = sorted({word for selector in SKIPPED for word in _words_of(selector)})
    bits = (1 << len(named)) - 1
    return Words(named, _REFERENCES), bits, ~bits


@lru_cache(4096)
def _selected(found: int) -> list[str]:
    words = sorted({word for selector in SKIPPED for word in _words_of(selector)})
    there = {word for i, word in enumerate(words) if found >> i & 1}
    return [selector for selector in SKIPPED if there.issuperset(_words_of(selector))]


def _words_of(selector: str) -> list[bytes]:
    """What the bytes of a page hold where the selector matches: a tag, a class, or an attribute and its value."""
    if selector[0] == "[":
        return selector[1:-1].encode().split(b"=")
    return [(selector[1:] if selector[0] == "." else "<" + selector).encode()]
