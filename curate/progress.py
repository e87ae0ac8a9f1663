"""What a person sees of a run: the reason for each recomputation, and bars on a terminal. All of it goes to stderr."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from pipeline.observe import Observer


class Plan(Observer):
    """Collects what a dry pass finds."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []

    def planned(self, stage: str, step: str, reused: int, reasons: Sequence[tuple[str, str]]) -> None:
        """Keep the step's numbers and reasons."""
        if reused or reasons:
            listed = [{"task": task, "reason": reason} for task, reason in reasons]
            self.steps.append({"stage": stage, "step": step, "reuse": reused, "compute": listed})


class Progressing(Observer):
    """Lines and bars. Quiet (reasons of recomputation only) when stderr is no terminal."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.progress: Progress | None = None
        self.bars: dict[tuple[str, str], TaskID] = {}
        if console.is_terminal:
            self.progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=console,
            )
            self.progress.start()

    def note(self, message: str) -> None:
        """A line of its own."""
        self.console.print(f"curate: {message}", highlight=False)

    def planned(self, stage: str, step: str, reused: int, reasons: Sequence[tuple[str, str]]) -> None:
        """Say why finished work is done again, each reason once."""
        for reason, n in Counter(r for _, r in reasons if r != "new").items():
            self.console.print(f"{stage}: {step} again for {n} of {reused + len(reasons)}: {reason}", highlight=False)
        if reasons and self.progress is not None:
            self.bars[stage, step] = self.progress.add_task(f"{stage} {step}", total=len(reasons))

    def progress_made(self, stage: str, step: str, done: int) -> None:
        """Move a bar."""
        if self.progress is not None and (stage, step) in self.bars:
            self.progress.update(self.bars[stage, step], completed=done)

    def stage_finished(self, stage: str, counts: dict[str, Any]) -> None:
        """Take the stage's bars away."""
        if self.progress is not None:
            for bar in [self.bars.pop(k) for k in list(self.bars) if k[0] == stage]:
                self.progress.remove_task(bar)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self.progress is not None:
            self.progress.stop()
