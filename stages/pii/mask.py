"""Masking for display: what a report, a sample or a quarantine detail shows has passed through here."""

from __future__ import annotations

from typing import Final

from stages.pii.fields import scrub_plain
from stages.pii.params import PIIParams
from stages.pii.scrub import apply

_DEFAULT: Final = PIIParams(ip="all")


def mask(text: str) -> str:
    """`text` with every entity (default settings, and IP addresses of any range) replaced by its placeholder.

    Mask before cutting an excerpt: half an address is not recognised. Masking twice changes nothing.
    """
    return scrub_plain(text, _DEFAULT)[0]


def mask_around(text: str, start: int, end: int) -> tuple[str, str, str]:
    """What stands before, in and behind `text[start:end]`, all masked; an entity that a limit cuts counts as inside."""
    edits = scrub_plain(text, _DEFAULT)[1]
    cut = [e for e in edits if e.start < end and e.end > start and (e.start < start or e.end > end)]
    start, end = min([start, *(e.start for e in cut)]), max([end, *(e.end for e in cut)])
    parts = []
    for left, right in ((0, start), (start, end), (end, len(text))):
        inside = [e._replace(start=e.start - left, end=e.end - left) for e in edits if left <= e.start < right]
        parts.append(apply(text[left:right], inside))
    return parts[0], parts[1], parts[2]
