"""The band of perplexities that are kept, fitted on the corpus, for each language model on its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from pipeline.rules import Failure, verdicts
from pipeline.stage import Fitting, Params, State

STATE: Final = pa.schema(
    [
        pa.field("lang", pa.string(), nullable=False),  # language of the model
        pa.field("low", pa.float64()),  # perplexity; NULL: no limit on this side
        pa.field("high", pa.float64()),
        pa.field("centre", pa.float64()),  # of log10 perplexity
        pa.field("spread", pa.float64()),
        pa.field("documents", pa.int64(), nullable=False),  # scored ones
    ]
)
_CONSISTENT: Final = 1.4826  # makes the median absolute deviation of a normal distribution its standard deviation
_BINS_PER_DECADE: Final = 10
_UNFAMILIAR: Final = 0.5


class Band(Params):
    """Which perplexities are kept."""

    fit: Literal["gaussian", "quantile", "fixed"] = Field(
        default="gaussian",
        description="`gaussian`: median ± width · 1.4826 · median absolute deviation of log10 perplexity; "
        "`quantile`: between the quantiles low and high; `fixed`: between the perplexities low and high.",
    )
    width: float = Field(default=2.0, gt=0, description="Half width of a gaussian band, in standard deviations.")
    low: float | None = Field(
        default=None, ge=0, description="Lower limit (quantile or perplexity); a value equal to it stays."
    )
    high: float | None = Field(default=None, ge=0, description="Upper limit; a value equal to it stays.")
    min_documents: int = Field(
        default=20,
        ge=1,
        description="A language with fewer scored documents gets no fitted band: nothing of it is dropped.",
    )

    @model_validator(mode="after")
    def _limits(self) -> Band:
        limits = [x for x in (self.low, self.high) if x is not None]
        if self.fit == "gaussian" and limits:
            raise ValueError("a gaussian band takes `width`; low and high belong to fit: quantile or fixed")
        if self.fit != "gaussian" and not limits:
            raise ValueError(f"fit: {self.fit} needs `low`, `high` or both")
        if self.fit == "quantile" and any(x > 1 for x in limits):
            raise ValueError("quantiles lie between 0 and 1")
        if len(limits) == 2 and limits[0] >= limits[1]:
            raise ValueError("low must be less than high")
        return self


def fit(corpus: Fitting, band: Band) -> State:
    """Limits for each language (schema STATE); the summary holds counts on each side, a histogram, and warnings."""
    logs: dict[str, list[float]] = {}
    unknown: dict[str, list[float]] = {}
    for table in corpus.measures(["model", "log10_perplexity", "oov_share"]):
        columns = (table[c].to_pylist() for c in ("model", "log10_perplexity", "oov_share"))
        for model, value, share in zip(*columns, strict=True):
            if value is not None:
                logs.setdefault(model, []).append(value)
                unknown.setdefault(model, []).append(share)
    rows, summary = [], {}
    for lang in sorted(logs):
        values = sorted(logs[lang])
        row, warnings = _limits(values, band)
        if _median(sorted(unknown[lang])) > _UNFAMILIAR:
            warnings.append("half of the documents hold more unknown than known words: is this the right reference?")
        rows.append({"lang": lang, **row, "documents": len(values)})
        summary[lang] = _summary(values, row, warnings)
    return State(pa.Table.from_pylist(rows, STATE), {"bands": summary})


def _limits(values: Sequence[float], band: Band) -> tuple[dict[str, float | None], list[str]]:
    """low, high (perplexity), centre, spread (log10) for sorted log10 perplexities; and what went wrong."""
    centre = _median(values)
    spread = _CONSISTENT * _median(sorted(abs(v - centre) for v in values))
    low: float | None = band.low
    high: float | None = band.high
    warnings: list[str] = []
    if band.fit != "fixed" and len(values) < band.min_documents:
        low = high = None
        warnings.append(f"only {len(values)} scored documents, fewer than min_documents: no band, nothing is dropped")
    elif band.fit == "gaussian" and spread == 0:
        warnings.append("more than half of the documents have the same perplexity: no band, nothing is dropped")
    elif band.fit == "gaussian":
        low, high = 10.0 ** (centre - band.width * spread), 10.0 ** (centre + band.width * spread)
    elif band.fit == "quantile":
        low, high = (None if q is None else 10.0 ** _quantile(values, q) for q in (band.low, band.high))
    return {"low": low, "high": high, "centre": centre, "spread": spread}, warnings


def _median(values: Sequence[float]) -> float:
    return _quantile(values, 0.5)


def _quantile(values: Sequence[float], q: float) -> float:
    """Quantile of sorted values, linear between neighbours."""
    place = q * (len(values) - 1)
    below = math.floor(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (place - below)


def _summary(values: Sequence[float], row: dict[str, float | None], warnings: list[str]) -> dict[str, Any]:
    """JSON for the manifest: the histogram counts documents by tenths of log10 perplexity, from `first` upwards."""
    bins = [math.floor(v * _BINS_PER_DECADE) for v in values]
    counts = np.bincount(np.array(bins) - bins[0]).tolist()
    above = 0 if row["high"] is None else sum(10.0**v > row["high"] for v in values)
    below = 0 if row["low"] is None else sum(10.0**v < row["low"] for v in values)
    return {
        **row,
        "documents": len(values),
        "below": below,
        "inside": len(values) - above - below,
        "above": above,
        "histogram": {"first": bins[0] / _BINS_PER_DECADE, "step": 1 / _BINS_PER_DECADE, "counts": counts},
        "warnings": warnings,
    }


def decide(measures: pa.Table, state: pa.Table | None, band: Band, drop_unscored: bool) -> pa.Table:
    """Verdicts: `perplexity_above`, `perplexity_below` of the band, and `perplexity_unscored` where asked for."""
    limits = {row["lang"]: (row["low"], row["high"]) for row in (state.to_pylist() if state is not None else [])}
    unfitted = (band.low, band.high) if band.fit == "fixed" else (None, None)
    sides = [limits.get(model, unfitted) for model in measures["model"].to_pylist()]
    low, high = (np.array([pair[k] for pair in sides], np.float64) for k in (0, 1))  # None becomes NaN
    values = np.array(measures["perplexity"].to_pylist(), np.float64)
    with np.errstate(invalid="ignore"):
        failures = [
            Failure("perplexity_above", values > high, values, high),
            Failure("perplexity_below", values < low, values, low),
        ]
    if drop_unscored:
        reasons = measures["unscored"].to_pylist()
        rows = np.array([reason is not None for reason in reasons], bool)
        failures.append(Failure("perplexity_unscored", rows, detail=reasons))
    return verdicts(measures.num_rows, failures)
