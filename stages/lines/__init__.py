"""The editor `line_dedup`: lines or paragraphs that many documents share stay in the first of them only."""

from stages.lines.editor import LineDedup

__all__ = ["LineDedup"]
