"""Masking for display: what a report, a sample or a quarantine detail shows has passed through here."""

from __future__ import annotations

from typing import Final

from stages.pii.fields import scrub_plain
from stages.pii.params import PIIParams

_DEFAULT: Final = PIIParams(ip="all")


def mask(text: str) -> str:
    """`text` with every entity (default settings, and IP addresses of any range) replaced by its placeholder.

    Mask before cutting an excerpt: half an address is not recognised. Masking twice changes nothing.
    """
    return scrub_plain(text, _DEFAULT)[0]
