"""The band of perplexities that are kept, fitted on the corpus for each language, or each source of a language."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from pipeline.rules import Failure, verdicts
from pipeline.stage import Fitting, Params, State

STATE: Final = pa.schema(
    [
        pa.field("lang", pa.string(), nullable=False),  # language of the model
        pa.field("source", pa.string()),  # NULL: the band holds for every source
        pa.field("low", pa.float64()),  # perplexity; NULL: no limit on this side
        pa.field("high", pa.float64()),
        pa.field("centre", pa.float64()),  # of log10 perplexity
        pa.field("spread", pa.float64()),
        pa.field("head", pa.float64()),  # perplexity: up to here the label is head
        pa.field("middle", pa.float64()),  # and up to here middle
        pa.field("documents", pa.int64(), nullable=False),  # scored ones
    ]
)
TRUSTED: Final = "in_reference"
"""Why a document of the reference has no score. It is trusted: it stays, whatever becomes of other unscored ones."""
_CONSISTENT: Final = 1.4826  # makes the median absolute deviation of a normal distribution its standard deviation
_BINS_PER_DECADE: Final = 10
_UNFAMILIAR: Final = 0.5


class Limits(Params):
    """How the limits of a band are found."""

    fit: Literal["gaussian", "quantile", "fixed"] = Field(
        default="gaussian",
        description="`gaussian`: median ± width · 1.4826 · median absolute deviation of log10 perplexity; "
        "`quantile`: between the quantiles low and high; `fixed`: between the perplexities low and high.",
    )
    width: float = Field(default=2.0, gt=0, description="Half width of a gaussian band, in standard deviations.")
    width_below: float | None = Field(default=None, gt=0, description="Its width below the median, where another.")
    width_above: float | None = Field(default=None, gt=0, description="Its width above the median, where another.")
    low: float | None = Field(
        default=None, ge=0, description="Lower limit (quantile or perplexity); a value equal to it stays."
    )
    high: float | None = Field(default=None, ge=0, description="Upper limit; a value equal to it stays.")
    min_documents: int = Field(
        default=20,
        ge=1,
        description="A group with fewer scored documents gets no fitted band: nothing of it is dropped.",
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        limits = [x for x in (self.low, self.high) if x is not None]
        if self.fit == "gaussian" and limits:
            raise ValueError("a gaussian band takes `width`; low and high belong to fit: quantile or fixed")
        if self.fit != "gaussian" and not limits:
            raise ValueError(f"fit: {self.fit} needs `low`, `high` or both")
        if self.fit != "gaussian" and (self.width_below or self.width_above):
            raise ValueError("width_below and width_above belong to a gaussian band")
        if self.fit == "quantile" and any(x > 1 for x in limits):
            raise ValueError("quantiles lie between 0 and 1")
        if len(limits) == 2 and limits[0] >= limits[1]:
            raise ValueError("low must be less than high")
        return self


class Band(Limits):
    """Which perplexities are kept."""

    languages: dict[str, Limits] = Field(
        default={}, description="Other limits for some languages, by code, as `zh: {fit: fixed, high: 900}`."
    )
    group_by: tuple[Literal["language", "source"], ...] = Field(
        default=("language",),
        description="`[language]`, or `[language, source]`: a band for each source of a language.",
    )
    labels: bool = Field(
        default=False,
        description="Write head, middle or tail into the verdict's detail: thirds of the scored documents of a group, "
        "the lowest perplexities first (the buckets of CCNet, Wenzek et al. 2020).",
    )
    warn_ratio: float = Field(
        default=30.0,
        gt=1,
        description="A fitted band whose upper limit is more than this times its lower one is reported.",
    )

    @field_validator("group_by")
    @classmethod
    def _by_language(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value not in (("language",), ("language", "source")):
            raise ValueError("a model speaks one language: group_by is [language] or [language, source]")
        return value

    def of(self, lang: str) -> Limits:
        return self.languages.get(lang, self)

    @property
    def by_source(self) -> bool:
        return "source" in self.group_by


Group = tuple[str, str | None]  # language of the model, source


def fit(corpus: Fitting, band: Band) -> State:
    """Limits for each group (schema STATE); the summary holds counts on each side, a histogram, and warnings."""
    logs: dict[Group, list[float]] = {}
    unknown: dict[Group, list[float]] = {}
    names = ["model", "log10_perplexity", "oov_share", *(["source"] if band.by_source else [])]
    for table in corpus.measures(names):
        for model, value, share, *source in zip(*(table[c].to_pylist() for c in names), strict=True):
            if value is not None:
                group = (model, source[0] if source else None)
                logs.setdefault(group, []).append(value)
                unknown.setdefault(group, []).append(share)
    rows, summary, said = [], {}, []
    for group in sorted(logs, key=lambda g: (g[0], g[1] or "")):
        values = sorted(logs[group])
        row, warnings = _fitted(values, band.of(group[0]), band.warn_ratio)
        if _median(sorted(unknown[group])) > _UNFAMILIAR:
            warnings.append("half of the documents hold more unknown than known words: is this the right reference?")
        thirds = {"head": 10.0 ** _quantile(values, 1 / 3), "middle": 10.0 ** _quantile(values, 2 / 3)}
        rows.append({"lang": group[0], "source": group[1], **row, **thirds, "documents": len(values)})
        name = "/".join(filter(None, group))
        summary[name] = _summary(values, row, warnings)
        said += [f"{name}: {warning}" for warning in warnings]
    return State(pa.Table.from_pylist(rows, STATE), {"bands": summary, "warnings": said})


def _fitted(values: Sequence[float], band: Limits, warn_ratio: float) -> tuple[dict[str, float | None], list[str]]:
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
        low = 10.0 ** (centre - (band.width_below or band.width) * spread)
        high = 10.0 ** (centre + (band.width_above or band.width) * spread)
    elif band.fit == "quantile":
        low, high = (None if q is None else 10.0 ** _quantile(values, q) for q in (band.low, band.high))
    if band.fit != "fixed" and low and high and high / low > warn_ratio:
        warnings.append(
            f"the band is wide: its upper limit is {high / low:.0f} times the lower one (warn_ratio {warn_ratio:g}); "
            "different kinds of text in one group? group_by: [language, source] fits each source on its own"
        )
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
    models = measures["model"].to_pylist()
    sources = measures["source"].to_pylist() if band.by_source else [None] * len(models)
    fitted = {(row["lang"], row["source"]): row for row in (state.to_pylist() if state is not None else [])}
    groups = [fitted.get(group) or _unfitted(group[0], band) for group in zip(models, sources, strict=True)]
    low, high = (np.array([row[side] for row in groups], np.float64) for side in ("low", "high"))  # None becomes NaN
    values = np.array(measures["perplexity"].to_pylist(), np.float64)
    with np.errstate(invalid="ignore"):
        failures = [
            Failure("perplexity_above", values > high, values, high),
            Failure("perplexity_below", values < low, values, low),
        ]
    if drop_unscored:
        reasons = measures["unscored"].to_pylist()
        rows = np.array([reason not in (None, TRUSTED) for reason in reasons], bool)
        failures.append(Failure("perplexity_unscored", rows, detail=reasons))
    table = verdicts(measures.num_rows, failures)
    return _labelled(table, values, groups) if band.labels else table


def _unfitted(lang: str | None, band: Band) -> dict[str, float | None]:
    """The limits of a group that had no scored document when the band was fitted."""
    limits = band.of(lang or "")
    fixed = limits.fit == "fixed"
    return {"low": limits.low if fixed else None, "high": limits.high if fixed else None, "head": None, "middle": None}


def _labelled(table: pa.Table, values: NDArray[np.float64], groups: Sequence[dict[str, Any]]) -> pa.Table:
    """The verdicts with a label as the detail of every scored document."""
    details = table["detail"].to_pylist()
    for row, (value, group) in enumerate(zip(values.tolist(), groups, strict=True)):
        if not math.isnan(value) and group["head"] is not None:
            details[row] = "head" if value <= group["head"] else "middle" if value <= group["middle"] else "tail"
    place = table.schema.get_field_index("detail")
    return table.set_column(place, table.schema.field(place), pa.array(details, pa.string()))
