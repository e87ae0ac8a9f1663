"""Named thresholds on measures, and the verdicts that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.documents import VERDICT


@dataclass(frozen=True)
class Rule:
    """A named threshold. `at_least` and `at_most` keep a value equal to it, `below` and `above` do not."""

    name: str
    measure: str
    comparison: str
    threshold: float

    def fails(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """True where a value breaks the rule; a NaN (no measure) never does."""
        with np.errstate(invalid="ignore"):
            match self.comparison:
                case "at_least":
                    return values < self.threshold
                case "at_most":
                    return values > self.threshold
                case "below":
                    return values >= self.threshold
                case "above":
                    return values <= self.threshold
        raise ValueError(f"rule {self.name}: unknown comparison {self.comparison!r}")


@dataclass(frozen=True)
class Failure:
    """The rows that break one rule, with the value and threshold to show (scalars or one for each row)."""

    rule: str
    rows: npt.NDArray[np.bool_]
    value: npt.NDArray[np.float64] | float | None = None
    threshold: npt.NDArray[np.float64] | float | None = None
    detail: Sequence[str | None] | None = None


def by_threshold(measures: pa.Table, rules: Sequence[Rule]) -> list[Failure]:
    """One failure for each rule, in their order, from numeric (or boolean) measure columns."""
    failures = []
    for rule in rules:
        values = pc.cast(measures[rule.measure], pa.float64()).to_numpy()
        failures.append(Failure(rule.name, rule.fails(values), values, rule.threshold))
    return failures


def verdicts(rows: int, failures: Sequence[Failure]) -> pa.Table:
    """The verdict table (schema VERDICT) of `rows` documents: the first failure in order decides, all are listed."""
    first = np.full(rows, -1, np.int64)
    value = np.full(rows, np.nan)
    threshold = np.full(rows, np.nan)
    detail: list[str | None] = [None] * rows
    failed: list[list[str]] = [[] for _ in range(rows)]
    for k, failure in enumerate(failures):
        hit = np.asarray(failure.rows, dtype=bool)
        for row in np.flatnonzero(hit):
            failed[row].append(failure.rule)
        new = np.flatnonzero(hit & (first < 0))
        first[new] = k
        for column, given in ((value, failure.value), (threshold, failure.threshold)):
            if given is not None:
                column[new] = np.broadcast_to(np.asarray(given, dtype=np.float64), (rows,))[new]
        if failure.detail is not None:
            for row in new:
                detail[int(row)] = failure.detail[int(row)]
    names = np.array([f.rule for f in failures] + [None], dtype=object)
    columns = [
        pa.array(first < 0, pa.bool_()),
        pa.array(names[first], pa.string()),
        pa.array(value, pa.float64(), mask=np.isnan(value)),
        pa.array(threshold, pa.float64(), mask=np.isnan(threshold)),
        pa.array(detail, pa.string()),
        pa.array(failed, pa.list_(pa.string())),
    ]
    return pa.Table.from_arrays(columns, schema=VERDICT)
