"""What a run tells whoever watches it. The engine calls these; the command line prints them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Observer:
    """Hears of everything a run does; this one says nothing."""

    def note(self, message: str) -> None:
        """Something worth a line: a long preparation, say."""

    def stage_started(self, stage: str, position: int, stages: int) -> None:
        """A stage begins."""

    def planned(self, stage: str, step: str, reused: int, reasons: Sequence[tuple[str, str]]) -> None:
        """A step's tasks: how many are reused, and for each of the others its name and why it must be computed."""

    def progress_made(self, stage: str, step: str, done: int) -> None:
        """So many of a step's computed tasks are finished."""

    def stage_finished(self, stage: str, counts: dict[str, Any]) -> None:
        """A stage's manifest is written."""
