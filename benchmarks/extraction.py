"""What HTML extractors keep and leave out, on every eighth page of a web archive: `extraction.py ARCHIVE`.

trafilatura is compared where it is installed (`pip install -e '.[bench]'`). docs/ingest.md has its
output.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version

from fastwarc.warc import ArchiveIterator, WarcRecordType
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding
from resiliparse.parse.html import HTMLTree

from stages.ingest.navigation import SKIPPED

NAVIGATION = re.compile(r"nav|menu|sidebar|breadcrumb|footer|toolbar", re.IGNORECASE)


def pages(archive: str, step: int = 8) -> list[str]:
    """The HTML of every `step`-th response."""
    found = []
    for i, record in enumerate(ArchiveIterator(archive, record_types=WarcRecordType.response)):
        if i % step == 0:
            raw = record.reader.read()
            found.append(bytes_to_str(raw, detect_encoding(raw, from_html_meta=True), "replace", ()))
    return found


def flat(text: str) -> str:
    return " ".join(text.split())


def parts(html: str) -> dict[str, list[str]]:
    """What a page holds by kind: texts that an extractor should keep, and link texts of its navigation."""
    tree = HTMLTree.parse(html)
    inside = [n for n in tree.document.query_selector_all("[class],[id],nav,header,footer") if is_navigation(n)]
    skipped = {flat(link.text) for node in inside for link in node.query_selector_all("a")}
    within = Counter(flat(n.text) for node in inside for n in node.query_selector_all("p,li,h1,h2,h3,h4,h5,h6"))

    def texts(selector: str, least: int) -> list[str]:
        all_texts = (flat(n.text.replace("¶", "")) for n in tree.document.query_selector_all(selector))
        return [t for t in all_texts if len(t) >= least and t not in skipped and t not in within]

    return {
        "paragraphs": texts("p", 20),
        "list items": [t for t in texts("li", 10) if len(t) < 2000],
        "headings": texts("h1,h2,h3,h4,h5,h6", 4),
        "code lines": [
            line.rstrip()
            for n in tree.document.query_selector_all("pre")
            for line in n.text.split("\n")
            if len(line.strip()) >= 8
        ],
        "navigation links": [t for t in skipped if len(t) >= 4],
    }


def is_navigation(node: object) -> bool:
    attributes = " ".join(filter(None, (node.getattr("class"), node.getattr("id"))))  # type: ignore[attr-defined]
    return node.tag in ("nav", "header", "footer") or NAVIGATION.search(attributes) is not None  # type: ignore[attr-defined]


def extractors() -> dict[str, Callable[[str], str]]:
    skip = list(SKIPPED)
    found: dict[str, Callable[[str], str]] = {
        "Resiliparse, everything": lambda h: extract_plain_text(h, preserve_formatting=True, alt_texts=False),
        "Resiliparse, without SKIPPED (chosen)": lambda h: extract_plain_text(
            h, preserve_formatting=True, alt_texts=False, skip_elements=skip
        ),
        "Resiliparse, main_content": lambda h: extract_plain_text(
            h, preserve_formatting=True, alt_texts=False, main_content=True
        ),
    }
    try:
        import trafilatura
    except ImportError:
        print("trafilatura is not installed; compared without it")
    else:
        found["trafilatura"] = lambda h: trafilatura.extract(h) or ""
        found["trafilatura, fast"] = lambda h: trafilatura.extract(h, fast=True) or ""
    return found


def main(archive: str) -> None:
    """Print one row for each extractor: speed, and the share of each kind that is in its output."""
    given = pages(archive)
    held = [parts(html) for html in given]
    kinds = list(held[0])
    totals = {k: sum(len(p[k]) for p in held) for k in kinds}
    names = ["fastwarc", "resiliparse", "trafilatura"]
    print(f"{len(given)} pages; " + ", ".join(f"{n} {installed(n)}" for n in names))
    print("| extractor | pages/s | MB/s of HTML | empty | " + " | ".join(f"{k} ({totals[k]})" for k in kinds) + " |")
    print("|---|---|---|---|" + "---|" * len(kinds))
    for name, extract in extractors().items():
        start = time.process_time()
        texts = [extract(html) for html in given]
        seconds = time.process_time() - start
        kept: Counter[str] = Counter()
        for text, page in zip(texts, held, strict=True):
            lines, whole = {line.rstrip() for line in text.split("\n")}, flat(text)
            for kind in kinds:
                kept[kind] += sum(t in lines if kind == "code lines" else t in whole for t in page[kind])
        size = sum(len(h.encode()) for h in given) / 1e6
        cells = [f"{len(given) / seconds:.0f}", f"{size / seconds:.1f}", str(sum(not t.strip() for t in texts))]
        cells += [f"{kept[k] / max(1, totals[k]):.1%}" for k in kinds]
        print(f"| {name} | " + " | ".join(cells) + " |")


def installed(name: str) -> str:
    try:
        return version(name)
    except ImportError:
        return "absent"


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "../shared/data/raw/debian-docs.warc.gz")
