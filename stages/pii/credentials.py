"""Secrets in text and code: private-key blocks, access tokens by their published prefixes, passwords in URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stages.pii.spans import Span


def _free(anchor: str, pattern: str) -> str:
    """`pattern` with nothing word-like before it; a literal beginning stays first, which lets `re` skip to it."""
    rest = pattern.removeprefix(re.escape(anchor))
    if rest == pattern:
        return rf"(?<![0-9A-Za-z_]){pattern}"
    return rf"{re.escape(anchor)}(?<![0-9A-Za-z_]{re.escape(anchor)}){rest}"


# Anchor (what must occur in the text), rule, pattern. Prefixes and lengths as the services publish them.
_TOKENS: Final = tuple(
    (anchor, rule, re.compile(rf"{_free(anchor, pattern)}(?![0-9A-Za-z_])"))
    for anchor, rule, pattern in (
        ("AKIA", "aws_key", r"AKIA[0-9A-Z]{16}"),
        ("ASIA", "aws_key", r"ASIA[0-9A-Z]{16}"),
        ("gh", "github_token", r"gh[pousr]_[0-9A-Za-z]{36,255}"),
        ("github_pat_", "github_token", r"github_pat_[0-9A-Za-z_]{82}"),
        ("glpat-", "gitlab_token", r"glpat\-[0-9A-Za-z_.-]{20,300}"),
        ("xox", "slack_token", r"xox[abeoprs]-[0-9A-Za-z-]{10,250}"),
        ("AIza", "google_key", r"AIza[0-9A-Za-z_-]{35}"),
        ("_live_", "stripe_key", r"[rs]k_live_[0-9A-Za-z]{24,247}"),
        ("sk-ant-", "anthropic_key", r"sk\-ant\-[0-9A-Za-z_-]{40,200}"),
        ("sk-", "openai_key", r"sk\-(?:proj-|svcacct-)?[0-9A-Za-z_]{20}[0-9A-Za-z_-]{20,200}"),
        ("npm_", "npm_token", r"npm_[0-9A-Za-z]{36}"),
        ("pypi-", "pypi_token", r"pypi\-AgEIcHlwaS5vcmc[0-9A-Za-z_-]{50,300}"),
        ("hf_", "hugging_face_token", r"hf_[0-9A-Za-z]{34,40}"),
        ("SG.", "sendgrid_key", r"SG\.[0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{43}"),
        (":AA", "telegram_token", r"[0-9]{8,10}:AA[0-9A-Za-z_-]{33}"),
        ("dop_v1_", "digitalocean_token", r"dop_v1_[0-9a-f]{64}"),
        ("eyJ", "json_web_token", r"eyJ[0-9A-Za-z_-]{10,2000}\.eyJ[0-9A-Za-z_-]{10,4000}\.[0-9A-Za-z_-]{10,1000}"),
    )
)
ANCHORS: Final = (
    *((anchor, anchor not in ("_live_", ":AA")) for anchor, _, _ in _TOKENS if anchor != "gh"),
    *((f"gh{kind}_", True) for kind in "pousr"),
    ("PRIVATE KEY", False),
)
"""What a text with a secret holds (beside passwords in URLs), and whether nothing word-like stands before it."""
_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_BODY = re.compile(r"[0-9A-Za-z+/=:,\s-]{0,20000}")
_URL_PASSWORD = re.compile(r"(?<=://)[^\s/:@\"'<>{}]{1,64}:[^\s/@\"'<>{}]{3,64}(?=@)")


def find(text: str) -> Iterator[Span]:
    """Secrets of `text`."""
    for anchor, rule, pattern in _TOKENS:
        if anchor in text:
            for match in pattern.finditer(text):
                yield Span(match.start(), match.end(), "secret", rule, 1.0)
    if "PRIVATE KEY" in text:
        yield from _private_keys(text)
    if "://" in text and "@" in text:
        for match in _URL_PASSWORD.finditer(text):
            yield Span(match.start(), match.end(), "secret", "url_password", 0.6)


def _private_keys(text: str) -> Iterator[Span]:
    """Blocks from BEGIN to END; without an END the base64 text that follows BEGIN."""
    begins = [m.span() for m in _BEGIN.finditer(text)]
    ends = [m.span() for m in _END.finditer(text)]
    at = 0
    for i, (start, behind) in enumerate(begins):
        limit = begins[i + 1][0] if i + 1 < len(begins) else len(text)
        while at < len(ends) and ends[at][0] < behind:
            at += 1
        if at < len(ends) and ends[at][1] <= limit:
            yield Span(start, ends[at][1], "secret", "private_key", 1.0)
        else:
            body = _BODY.match(text, behind, limit)
            yield Span(start, body.end() if body else behind, "secret", "private_key", 1.0)
