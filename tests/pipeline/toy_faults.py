"""Stages that break their contract, each in one way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from toy_stages import Redact, Words

from pipeline.documents import VERDICT
from pipeline.rules import Failure, verdicts
from pipeline.stage import Edited


class FewMeasures(Words):
    """Measures one document too few."""

    name: ClassVar[str] = "few_measures"

    @staticmethod
    def measure(documents: pa.Table, params: Any, artefact: Path | None) -> pa.Table:
        return Words.measure(documents, params, artefact).slice(1)


class FewVerdicts(Words):
    """Decides one document too few."""

    name: ClassVar[str] = "few_verdicts"

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: Any) -> pa.Table:
        return Words.decide(measures, state, params).slice(1)


class Undecided(Words):
    """Says neither keep nor drop of the first document."""

    name: ClassVar[str] = "undecided"

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: Any) -> pa.Table:
        decided = Words.decide(measures, state, params)
        keep = pa.array([None, *decided["keep"].to_pylist()[1:]], pa.bool_())
        return decided.set_column(0, VERDICT.field("keep"), keep)


class NoRule(Words):
    """Drops every document and does not say under which rule."""

    name: ClassVar[str] = "no_rule"

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: Any) -> pa.Table:
        decided = Words.decide(measures, state, params)
        return decided.set_column(0, VERDICT.field("keep"), pa.array([False] * decided.num_rows))


class WrongColumn(Words):
    """Gives a column that it has not declared instead of the one it has."""

    name: ClassVar[str] = "wrong_column"

    @staticmethod
    def measure(documents: pa.Table, params: Any, artefact: Path | None) -> pa.Table:
        return Words.measure(documents, params, artefact).rename_columns(["wrods"])


class Raises(Words):
    """Fails at the first document."""

    name: ClassVar[str] = "raises"

    @staticmethod
    def measure(documents: pa.Table, params: Any, artefact: Path | None) -> pa.Table:
        raise RuntimeError("this document is beyond me")


class Dies(Words):
    """Takes its process with it."""

    name: ClassVar[str] = "dies"

    @staticmethod
    def measure(documents: pa.Table, params: Any, artefact: Path | None) -> pa.Table:
        os._exit(9)


class FewDocuments(Redact):
    """Loses a document without a verdict."""

    name: ClassVar[str] = "few_documents"

    @staticmethod
    def edit(documents: pa.Table, state: pa.Table | None, params: Any, artefact: Path | None) -> Edited:
        done = Redact.edit(documents, state, params, artefact)
        return Edited(done.documents.slice(1), done.edits, done.verdicts)


class FewEditVerdicts(Redact):
    """Has no verdict on the last document."""

    name: ClassVar[str] = "few_edit_verdicts"

    @staticmethod
    def edit(documents: pa.Table, state: pa.Table | None, params: Any, artefact: Path | None) -> Edited:
        done = Redact.edit(documents, state, params, artefact)
        return Edited(done.documents, done.edits, done.verdicts.slice(1))


class Shuffles(Redact):
    """Gives the documents back in another order."""

    name: ClassVar[str] = "shuffles"

    @staticmethod
    def edit(documents: pa.Table, state: pa.Table | None, params: Any, artefact: Path | None) -> Edited:
        done = Redact.edit(documents, state, params, artefact)
        return Edited(done.documents.take(pa.array(np.arange(documents.num_rows)[::-1])), done.edits, done.verdicts)


class DropsUnnamed(Redact):
    """Drops every document and does not say why."""

    name: ClassVar[str] = "drops_unnamed"

    @staticmethod
    def edit(documents: pa.Table, state: pa.Table | None, params: Any, artefact: Path | None) -> Edited:
        done = Redact.edit(documents, state, params, artefact)
        lost = verdicts(documents.num_rows, [Failure("", np.ones(documents.num_rows, bool))])
        return Edited(done.documents, done.edits, lost)
