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
"""Bytes of a page from which on the look through it costs less than it saves."""

_SPACES_AND_LETTERS: Final = (*b"\t\n\f\r -_", *range(ord("A"), ord("Z") + 1), *range(ord("a"), ord("z") + 1))
_REFERENCE: Final = re.compile(
    rb"&#(?:0*(?:%s)(?![0-9])|x)" % b"|".join(b"%d" % c for c in _SPACES_AND_LETTERS), re.IGNORECASE
)
"""A reference to a character that words are made of or end at, and any in hexadecimal.

Named references are not: none stands for a letter but `&fjlig;`, and a word may stand next to `&Tab;` as it is.
"""


def skipped_in(raw: bytes) -> list[str] | None:
    """The selectors of SKIPPED that can match in a page of these bytes, UTF-8; None where it has control characters."""
    words, spelt = _words()
    found = words.among(raw)
    if found < 0:
        return None
    if found & spelt and _REFERENCE.search(raw):
        return ALL
    return _selected(found & ~spelt)


@cache
def _words() -> tuple[Words, int]:
    """The words of all selectors, and the bit that says that references may spell some."""
    words = sorted({word for selector in SKIPPED for word in _words_of(selector)})
    return Words(words, (b"&#x", b"&#0"), [b"&#%d" % c for c in _SPACES_AND_LETTERS]), 1 << len(words)


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
