"""HTML to text: the visible text of a page without its navigation, blocks as lines, title, language and date.

Resiliparse parses and extracts (docs/ingest.md has the comparison that chose it and these settings).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLTree

from stages.ingest.charsets import WIDE, codec_of
from stages.ingest.decode import Decoded, RejectedError, decode, plain_utf8, remove_nuls
from stages.ingest.navigation import ALL, WORTH, skipped_in
from stages.ingest.params import IngestParams

_HEAD_BYTES: Final = 4096
"""How far a declaration is looked for: WHATWG says 1,024 bytes, pages in the wild have it later."""

_COMMENT: Final = re.compile(rb"<!--.*?(?:-->|$)", re.DOTALL)
_CHARSET: Final = re.compile(
    rb"""<(?:meta\s[^>]*?charset\s*=|\?xml\s[^>]*?encoding\s*=)\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.IGNORECASE
)
_LANGUAGE: Final = re.compile(r"""<html\s[^>]*?\blang\s*=\s*["']?([A-Za-z0-9-]{2,35})""", re.IGNORECASE)
_META: Final = re.compile(r"<meta\s([^>]{1,1000})>", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(r"""([a-zA-Z:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_DATES: Final = (
    *("article:published_time", "datepublished", "dc.date.issued", "dcterms.issued", "dc.date", "dcterms.date"),
    *("dcterms.created", "pubdate", "date"),
)
_LIKE_HTML: Final = re.compile(rb"<(?:!doctype\s+html|html|head|body|title|meta|p|div|h1|table|\?xml)[\s>/]", re.I)


class Page(NamedTuple):
    """A page's text (in `decoded`), its title, and what else it says of itself; `nuls` were removed from its HTML."""

    decoded: Decoded
    title: str | None
    said: dict[str, str]
    nuls: int


def read_page(raw: bytes, labels: Sequence[str | None], params: IngestParams) -> Page:
    """`labels`: declared charsets, the most trusted first; the page's own declaration comes behind them.

    Raises RejectedError: `no_text`, `bad_html`, `binary_content`, `undecodable`.
    """
    selectors = skipped_in(raw) if len(raw) >= WORTH else ALL
    decoded = plain_utf8(raw, clean=selectors is not ALL) if selectors is not None else None
    if decoded is None:
        selectors = ALL
        decoded = decode(
            raw,
            [label for label in (*labels, declared_charset(raw)) if label],
            max_replacement_share=params.max_replacement_share,
            max_control_share=params.max_control_share,
        )
    html, nuls = remove_nuls(decoded.text) if b"\0" in raw else (decoded.text, 0)
    said = _said(html)  # before the tree is built: the text is still in the processor's cache
    try:
        tree = HTMLTree.parse(html)
        text = extract_plain_text(
            tree,
            preserve_formatting=True,
            main_content=params.main_content,
            alt_texts=False,
            skip_elements=selectors,
        )
        title = (tree.title or "").strip()
    except Exception as error:  # whatever a parser raises on one page costs that page
        raise RejectedError("bad_html", f"the page cannot be parsed: {type(error).__name__}") from error
    if not text or text.isspace():
        raise RejectedError("no_text", "the page has no text outside of navigation")
    found = Decoded(text, decoded.codec, decoded.by, decoded.replacements)
    return Page(found, title or None, said, nuls)


def declared_charset(raw: bytes) -> str | None:
    """The charset that a `<meta>` element or an XML declaration near the beginning names.

    UTF-16 and UTF-32 named in readable ASCII are not what the bytes are (HTML Standard, 13.2.3.2).
    """
    head = _COMMENT.sub(b"", raw[:_HEAD_BYTES])
    found = _CHARSET.search(head)
    if found is None:
        return None
    label = found[1].decode("ascii")
    return None if codec_of(label) in WIDE else label


def like_html(raw: bytes) -> bool:
    """Does the beginning look like HTML?"""
    return _LIKE_HTML.search(raw, 0, 1024) is not None


def _said(html: str) -> dict[str, str]:
    """`lang` and `date` as the page's head states them."""
    end = html.find("</head", 0, 1 << 16)
    head = html[: end if end > 0 else _HEAD_BYTES]
    said: dict[str, str] = {}
    if (language := _LANGUAGE.search(head)) is not None:
        said["lang"] = language[1]
    dates: dict[str, str] = {}
    for meta in _META.finditer(head) if "date" in head or "published" in head or "Date" in head else ():
        attributes = {m[1].lower(): m[2] or m[3] or m[4] or "" for m in _ATTRIBUTE.finditer(meta[1])}
        name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or ""
        if attributes.get("content"):
            dates.setdefault(name.lower(), attributes["content"].strip())
    if (found := next((dates[n] for n in _DATES if n in dates), None)) is not None:
        said["date"] = found
    return said
