"""The licence judge: keeps documents whose SPDX expression is satisfied by an allow list.

Measures, per document: `expression` (the normalised SPDX expression; the text as it came where it has no reading) and
`status` (one of `Status`). Rules, in order: `license_unknown`, `license_not_allowed`.

An expression is read by the SPDX specification, annex "SPDX license expressions": `A OR B` is satisfied by either
branch, `A AND B` needs both, `A WITH X` is A with added permissions and is satisfied where A is (or where the allow
list names that very pair), `A+` is A or a later version and is satisfied where A is. Ids match without regard to case.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import field_validator

from pipeline.rules import Failure, verdicts
from pipeline.sources import Source
from pipeline.stage import Judge, Params, decides

UNKNOWN: Final = "license_unknown"
NOT_ALLOWED: Final = "license_not_allowed"

MAX_EXPRESSION: Final = 2_000  # characters; a longer one is prose, and the parser's time grows with it
NOTHING_SAID: Final = frozenset({"NOASSERTION", "NONE"})
_REFERENCE: Final = re.compile(r"(DocumentRef-[A-Za-z0-9.-]+:)?LicenseRef-[A-Za-z0-9.-]+")


_PLUS: Final = re.compile(r"[A-Za-z0-9.-]+(?=\+)")  # the id before the operator `+`


class Status(StrEnum):
    """What is known about a document's licence."""

    KNOWN = "known"  # every id is in the SPDX list, or is a LicenseRef
    MISSING = "missing"  # NULL, empty, NOASSERTION or NONE
    UNPARSABLE = "unparsable"  # no SPDX expression
    UNKNOWN_ID = "unknown_id"  # an expression with an id that SPDX does not list


READABLE: Final = (Status.KNOWN, Status.MISSING)


@dataclass(frozen=True)
class Reading:
    """One licence text, read: the normalised expression (the text itself unless KNOWN) and its syntax tree."""

    expression: str
    status: Status
    tree: Any = None


@lru_cache(maxsize=1)
def _spdx() -> Any:
    from license_expression import get_spdx_licensing

    return get_spdx_licensing()


@lru_cache(maxsize=1)
def _spellings() -> dict[str, str]:
    return {key.lower(): key for key, symbol in _spdx().known_symbols.items() if not symbol.is_exception}


def _respell(match: re.Match[str]) -> str:
    """The library matches ids in any letter case, but not the id in `apache-2.0+`."""
    return _spellings().get(match[0].lower(), match[0])


@lru_cache(maxsize=65_536)
def read(text: str | None) -> Reading:
    """Parse one licence text; never raises. The result of each distinct text is remembered."""
    from license_expression import ExpressionError, ExpressionParseError

    stripped = (text or "").strip()
    if not stripped or stripped.upper() in NOTHING_SAID:
        return Reading(stripped, Status.MISSING)
    if len(stripped) > MAX_EXPRESSION:
        return Reading(stripped, Status.UNPARSABLE)
    try:
        tree = _spdx().parse(_PLUS.sub(_respell, stripped), validate=False, strict=False)
    except (ExpressionError, ExpressionParseError, RecursionError):
        return Reading(stripped, Status.UNPARSABLE)
    if tree is None:
        return Reading(stripped, Status.UNPARSABLE)
    if not all(_known(symbol) for symbol in tree.symbols):
        return Reading(stripped, Status.UNKNOWN_ID)
    return Reading(tree.render(), Status.KNOWN, tree)


def _known(symbol: Any) -> bool:
    """Is it a listed licence, `LICENSE WITH EXCEPTION` of listed ones, `LICENSE+`, or a well-formed LicenseRef?"""
    if hasattr(symbol, "exception_symbol"):
        listed = _spdx().known_symbols.get(symbol.exception_symbol.key)
        return _known(symbol.license_symbol) and listed is not None and bool(listed.is_exception)
    listed = _spdx().known_symbols.get(symbol.key.removesuffix("+"))
    if listed is not None:
        return not listed.is_exception
    return _REFERENCE.fullmatch(symbol.key) is not None


def _satisfied(node: Any, allow: Collection[str]) -> bool:
    licensing = _spdx()
    if isinstance(node, licensing.OR):
        return any(_satisfied(branch, allow) for branch in node.args)
    if isinstance(node, licensing.AND):
        return all(_satisfied(branch, allow) for branch in node.args)
    if hasattr(node, "exception_symbol"):
        return node.render() in allow or _satisfied(node.license_symbol, allow)
    return node.key in allow or node.key.removesuffix("+") in allow


def allowed(expression: str | None, allow: Collection[str]) -> tuple[bool, str | None]:
    """May a document under `expression` be used, given an allow list in canonical spelling (see `canonical`)?

    Returns (True, None), (False, "license_unknown") or (False, "license_not_allowed").
    """
    reading = read(expression)
    if reading.status is not Status.KNOWN:
        return False, UNKNOWN
    return (True, None) if _satisfied(reading.tree, allow) else (False, NOT_ALLOWED)


def canonical(license_id: str) -> str:
    """The SPDX spelling of one id (or `ID WITH EXCEPTION`); ValueError names the nearest id of an unknown one."""
    reading = read(license_id)
    if reading.status is Status.KNOWN:
        if reading.tree.args:
            raise ValueError(f"{license_id!r} joins several licences: list each id on its own")
        return reading.expression
    near = _nearest(license_id)
    hint = f"; did you mean {near!r}?" if near else " (see https://spdx.org/licenses)"
    raise ValueError(f"{license_id!r} is no SPDX licence id{hint}")


def _nearest(license_id: str) -> str | None:
    public = {low: key for low, key in _spellings().items() if not low.startswith("licenseref-")}
    spelled = re.sub(r"-licen[cs]e\b", "", license_id.strip().lower().replace(" ", "-"))  # "MIT License"
    near = difflib.get_close_matches(spelled, public, n=1, cutoff=0.5)
    return public[near[0]] if near else None


class LicenseParams(Params):
    """Settings of the licence judge; none of them reaches a measure."""

    allow: tuple[str, ...] = decides(
        min_length=1, description="SPDX ids that may enter the corpus, in any letter case; `ID WITH EXCEPTION` too"
    )
    allow_unknown: bool = decides(
        False, description="keep documents whose licence is missing, unreadable or not an SPDX id"
    )

    @field_validator("allow")
    @classmethod
    def _canonical(cls, ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(canonical(i) for i in ids))


class License(Judge):
    """Keeps documents under an allowed licence (the column `license` of the documents)."""

    name = "license"
    Params = LicenseParams
    libraries = ("license-expression",)

    @classmethod
    def link(cls, params: LicenseParams, stages: Sequence[Any], sources: Sequence[Source]) -> LicenseParams:
        """Raises ValueError for a source whose own licence has no reading: all its documents would be dropped."""
        for source in sources:
            given = source.license
            if given is None or params.allow_unknown or (given.strip() and read(given).status in READABLE):
                continue
            near = _nearest(given)
            hint = f"; did you mean {near!r}?" if near else "."
            raise ValueError(
                f"`license: {given or repr(given)}` of source {source.name!r} is no SPDX expression{hint} All of it "
                "would be dropped as license_unknown: write an SPDX expression (LicenseRef-NAME for a licence that "
                "SPDX does not list), or `allow_unknown: true` in the stage"
            )
        return params

    @staticmethod
    def schema(params: LicenseParams) -> pa.Schema:
        return pa.schema([pa.field("expression", pa.string()), pa.field("status", pa.string(), nullable=False)])

    @staticmethod
    def measure(documents: pa.Table, params: LicenseParams, artefact: Any = None) -> pa.Table:
        readings = [read(text) for text in documents["license"].to_pylist()]
        columns = [
            pa.array([r.expression or None for r in readings], pa.string()),
            pa.array([r.status.value for r in readings], pa.string()),
        ]
        return pa.Table.from_arrays(columns, schema=License.schema(params))

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: LicenseParams) -> pa.Table:
        expressions: list[str | None] = measures["expression"].to_pylist()
        allow = frozenset(params.allow)
        reasons = [allowed(e, allow)[1] for e in expressions]
        unknown = [r == UNKNOWN and not params.allow_unknown for r in reasons]
        failures = [
            Failure(UNKNOWN, _mask(unknown), detail=[e or "no licence given" for e in expressions]),
            Failure(NOT_ALLOWED, _mask([r == NOT_ALLOWED for r in reasons]), detail=expressions),
        ]
        return verdicts(len(expressions), failures)


def _mask(values: Sequence[bool]) -> npt.NDArray[np.bool_]:
    return np.fromiter(values, dtype=np.bool_, count=len(values))
