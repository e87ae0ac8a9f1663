"""E-mail addresses: Presidio's recogniser on the characters round each `@`.

A run ends where letters of a script without spaces begin: "邮箱bob@example.com谢谢" holds one address and no
Chinese. Runs are bounded (256 characters before the `@`, 255 behind it), which keeps hostile text linear. In a URL
the address starts behind the last of `/ = ? &`. An `ssh`-like remote (`git@host:path/…`) is not an address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stages.pii import presidio
from stages.pii.spans import Span, Starts

# Thai to Khmer, Hangul, CJK with its symbols, full-width forms, and the supplementary planes of Han.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
)
_LOCAL_BACKWARDS = re.compile(rf"(?:[^\W{_UNSPACED}]|[!#$%'*+\-^`{{|}}~.]){{1,256}}")
_DOMAIN = re.compile(rf"(?:[^\W_{_UNSPACED}]|[-.]){{1,255}}")
_REMOTE = re.compile(r":(?![0-9]+/)(?:[\w.~-]*/|[\w.~/-]{1,200}\.git\b)")
_ENCODED = re.compile(r"[A-Za-z0-9._+-]{1,64}%40[A-Za-z0-9.-]{3,255}")


def find(text: str, ats: Starts = None) -> Iterator[Span]:
    """E-mail addresses of `text` round each @ (or those `ats` where one can be)."""
    for at in _ats(text) if ats is None else ats:
        yield from _around(text, at)
    if "%40" in text:
        yield from _encoded(text)


def _ats(text: str) -> Iterator[int]:
    at = text.find("@")
    while at >= 0:
        yield at
        at = text.find("@", at + 1)


def _around(text: str, at: int) -> Iterator[Span]:
    domain = _DOMAIN.match(text, at + 1)
    if domain is None or "." not in domain[0]:
        return
    local = _LOCAL_BACKWARDS.match(text[max(0, at - 256) : at][::-1])
    if local is None:
        return
    left = at - local.end()
    for hit in presidio.hits(presidio.email(), text[left : domain.end()]):
        end = left + hit.end
        if not _REMOTE.match(text, end):
            yield Span(left + hit.start, end, "email", "email", hit.score)


def _encoded(text: str) -> Iterator[Span]:
    """Addresses in percent-encoded form, `name%40host`."""
    for match in _ENCODED.finditer(text):
        at = match[0].index("%40")
        for hit in presidio.hits(presidio.email(), match[0].replace("%40", "@", 1)):
            if hit.start < at < hit.end:
                start = match.start()
                yield Span(start + hit.start, start + hit.end + 2, "email", "email_percent", hit.score)
