"""The editor `c4_lines`: takes out lines that are no prose, and citation markers, as C4 does (Raffel et al. 2020).

Section 2.2 of "Exploring the Limits of Transfer Learning": only lines that end in terminal punctuation and hold at
least five words stay; lines that say "javascript" or name a policy go, and so do markers such as `[1]` or
`[citation needed]`. The rules for whole pages are the preset `c4` of the judge `gopher`; let it run behind this.

A line ends at U+000A. Terminal is what Unicode calls Sentence_Terminal, or an ellipsis; closing quotes and brackets may
follow. In scripts without spaces, where a character is a word, `min_units` takes the place of `min_words` when such
characters are more than half of the words. A trusted placeholder is one word, is never read as text and never cut: it
goes with its line; a line whose edge one crosses stays.

Documents: text and placeholders are new. Edits: one row for each removed line (kind `line`; rule, the first that
applies: `no_terminal_punctuation`, `few_words`, `javascript`, `policy`) and for each marker in a line that stays (kind
`citation`, rule `citation_marker`). Rule: `empty_after_c4_lines` drops a document of which nothing visible is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa
import regex
from pydantic import Field

from kernels.word_tables import CLASSES, CLOSING, UNIT
from pipeline.documents import DOCUMENTS, EDITS
from pipeline.rules import Failure, verdicts
from pipeline.stage import Edited, Editor, Params
from stages.lines.units import Placeholder, Unit, crosses, spans, units, without

POLICIES: Final = (
    *("terms of use", "privacy policy", "cookie policy"),
    *("uses cookies", "use of cookies", "use cookies"),
)
_UNIT: Final = next(pattern for bit, pattern in CLASSES if bit == UNIT)
_RUN: Final = regex.compile(rf"({_UNIT})\p{{M}}*|(?:(?!{_UNIT})\P{{White_Space}})+", regex.V1)
_COUNTS: Final = regex.compile(r"[\p{L}\p{N}]")
_TERMINAL: Final = regex.compile(rf"[\p{{Sentence_Terminal}}…⋯][{regex.escape(CLOSING)}]*\p{{White_Space}}*$")
_CITATION: Final = regex.compile(r"\[(?:\d{1,3}|edit|citation needed)\]", regex.IGNORECASE | regex.ASCII)
_OPAQUE: Final = "\ue000"  # stands for a placeholder's characters: no letter, space or punctuation


class C4LinesParams(Params):
    """Settings of the editor `c4_lines`."""

    terminal_punctuation: bool = Field(True, description="lines must end in terminal punctuation")
    min_words: int = Field(5, ge=0, description="fewest words of a line; 0 switches the rule off")
    min_units: int = Field(8, ge=0, description="fewest characters of a line in scripts without spaces")
    javascript: bool = Field(True, description='lines that say "javascript" go')
    policies: tuple[str, ...] = Field(POLICIES, description="lines that say one of these go, in any letter case")
    citations: bool = Field(True, description="markers such as [1], [edit] or [citation needed] go")


class C4Lines(Editor):
    """Takes out lines that are no prose, and citation markers, after C4."""

    name: ClassVar[str] = "c4_lines"
    Params: ClassVar[type[Params]] = C4LinesParams
    libraries: ClassVar[tuple[str, ...]] = ("regex",)

    @staticmethod
    def edit(documents: pa.Table, state: pa.Table | None, params: C4LinesParams, artefact: Path | None) -> Edited:
        """See `pipeline.stage.Edited`; `state` and `artefact` are not used."""
        texts, trusted = documents["text"].to_pylist(), documents["placeholders"].to_pylist()
        edits: list[dict[str, Any]] = []
        emptied = np.zeros(documents.num_rows, np.bool_)
        for row, doc_id in enumerate(documents["doc_id"].to_pylist()):
            found = edits_of(texts[row], trusted[row], params)
            if found:
                gone = [(edit["start"], edit["end"]) for edit in found]
                texts[row], trusted[row] = without(texts[row], gone, trusted[row])
                edits += [{"doc_id": doc_id, "field": "text", "replacement": "", **edit} for edit in found]
                emptied[row] = not texts[row].strip()
        columns = {name: documents[name] for name in DOCUMENTS.names}
        columns["text"] = pa.array(texts, DOCUMENTS.field("text").type)
        columns["placeholders"] = pa.array(trusted, DOCUMENTS.field("placeholders").type)
        return Edited(
            documents=pa.Table.from_arrays(list(columns.values()), schema=DOCUMENTS),
            edits=pa.Table.from_pylist(edits, schema=EDITS),
            verdicts=verdicts(documents.num_rows, [Failure("empty_after_c4_lines", emptied)]),
        )


def edits_of(text: str, placeholders: Sequence[Placeholder], params: C4LinesParams) -> list[dict[str, Any]]:
    """What goes: kind, rule, start, end (code points), disjoint and in order."""
    plain = _opaque(text, placeholders)
    removed: list[Unit] = []
    rules: list[str] = []
    markers: list[dict[str, Any]] = []
    for unit in units(text, "line"):
        rule = None if crosses(unit, placeholders) else _rule(plain[unit.start : unit.end], params)
        if rule is not None:
            removed.append(unit)
            rules.append(rule)
        elif params.citations:
            found = _CITATION.finditer(plain, unit.start, unit.end)
            markers += [
                {"kind": "citation", "rule": "citation_marker", "start": m.start(), "end": m.end()} for m in found
            ]
    lines = [
        {"kind": "line", "rule": rule, "start": start, "end": end}
        for (start, end), rule in zip(spans(text, removed), rules, strict=True)
    ]
    return sorted(lines + markers, key=lambda edit: int(str(edit["start"])))


def _opaque(text: str, placeholders: Sequence[Placeholder]) -> str:
    """The text, each placeholder hidden as a word that nothing matches."""
    parts, at = [], 0
    for p in placeholders:
        start, end = int(p["start"]), int(p["end"])
        parts += [text[at:start], "x", _OPAQUE * (end - start - 1)]
        at = end
    return "".join([*parts, text[at:]])


def _rule(line: str, params: C4LinesParams) -> str | None:
    """The first rule under which a line goes, None where it stays."""
    stripped = _CITATION.sub("", line) if params.citations else line
    if params.terminal_punctuation and not _TERMINAL.search(stripped):
        return "no_terminal_punctuation"
    if _few(stripped, params):
        return "few_words"
    low = line.lower()
    if params.javascript and "javascript" in low:
        return "javascript"
    return "policy" if any(policy.lower() in low for policy in params.policies) else None


def _few(line: str, params: C4LinesParams) -> bool:
    words = [run[1] for run in _RUN.finditer(line) if _COUNTS.search(run[0])]
    in_units = sum(unit is not None for unit in words) * 2 > len(words)
    return len(words) < (params.min_units if in_units else params.min_words)
