"""A judge of one's own: drops documents in which too many lines are questions (quizzes, lists of search queries).

Use it in a config as `- questions:QuestionShare: {max_share: 0.3}` and run with --allow-code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from pipeline.rules import Rule, by_threshold, verdicts
from pipeline.stage import Judge, Params, decides


class QuestionParams(Params):
    """Settings of the judge."""

    max_share: float = decides(0.5, ge=0, le=1, description="Largest share of lines that end with a question mark.")


class QuestionShare(Judge):
    """Keeps documents in which at most `max_share` of the non-empty lines are questions."""

    name: ClassVar[str] = "questions"
    Params: ClassVar[type[Params]] = QuestionParams

    @staticmethod
    def schema(params: Any) -> pa.Schema:
        """question_share: lines that end with ? or ？, over non-empty lines; 0 for a document without lines."""
        return pa.schema([("question_share", pa.float64())])

    @staticmethod
    def measure(documents: pa.Table, params: Any, artefact: Path | None) -> pa.Table:
        """The share of each document, by itself."""
        shares = [_share(text) for text in documents["text"].to_pylist()]
        return pa.table({"question_share": pa.array(shares, pa.float64())})

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: QuestionParams) -> pa.Table:
        """One rule: question_share at most max_share; equal is kept."""
        rule = Rule("question_share", "question_share", "at_most", params.max_share)
        return verdicts(measures.num_rows, by_threshold(measures, [rule]))


def _share(text: str) -> float:
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    return sum(line.endswith(("?", "？")) for line in lines) / len(lines) if lines else 0.0
