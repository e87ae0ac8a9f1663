"""The editor `normalise`: one written form for text that says the same. It runs only where the config lists it.

Switches, in the order in which they work: `mojibake`, `controls`, `zero_width`, `line_ends`, `unicode`,
`max_blank_lines` (what each does: `stages.normalise.steps`). They run again until nothing changes, so that normalising
twice changes nothing.

Documents: text, title and placeholders are new. Trusted placeholders stay as they are and move with the text; nothing
is read across one. Edits: one row for each contiguous change, kind = the switch. `replacement` is what was written
where that is one character, or line feeds, or nothing (""); NULL where it is longer: an edits table quotes no text.
Edits overlap where one switch worked on what another wrote. Rule: `empty_after_normalise` drops a document whose text
had characters and is now nothing but white space.

It must stand before `pii`: normal forms can spell an address, or a special token, that was none before.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator, Field, model_validator

from pipeline.documents import DOCUMENTS, EDITS
from pipeline.rules import Failure, verdicts
from pipeline.stage import Edited, Editor, Params, StageUse
from stages.normalise.texts import Edit, normalise

if TYPE_CHECKING:
    from pipeline.sources import Source


def _no_true(value: Any) -> Any:
    if value is True:
        raise ValueError("is a value or `off`, not true")
    return value.lower() if isinstance(value, str) else value


class NormaliseParams(Params):
    """Settings of the editor `normalise`: each switch can be `off` (false)."""

    unicode: Annotated[Literal["nfc", "nfkc"] | Literal[False], BeforeValidator(_no_true)] = Field(
        "nfc", description="normal form: nfc, nfkc (also ligatures, full width, superscripts), or off"
    )
    line_ends: bool = Field(True, description="CR LF, CR, VT, NEL, U+2028 and U+2029 become LF")
    max_blank_lines: Annotated[Annotated[int, Field(ge=0, le=100)] | Literal[False], BeforeValidator(_no_true)] = Field(
        2, description="of a run of blank lines so many stay; or off"
    )
    zero_width: bool = Field(
        True, description="invisible characters go, but those that emoji, Persian, Indic or Thai spelling needs"
    )
    controls: bool = Field(True, description="control characters and terminal colours go")
    mojibake: bool = Field(False, description="text decoded with the wrong charset is repaired (ftfy)")

    @model_validator(mode="before")
    @classmethod
    def _zero_is_no_switch(cls, values: Any) -> Any:
        # in Python 0 == False: a literal False would also match the number 0
        if isinstance(values, dict) and type(values.get("unicode")) is int:
            raise ValueError("unicode is nfc, nfkc or off")
        return values


class Normalise(Editor):
    """Brings text and title into one written form; off unless it is listed."""

    name: ClassVar[str] = "normalise"
    Params: ClassVar[type[Params]] = NormaliseParams
    libraries: ClassVar[tuple[str, ...]] = ("ftfy", "regex")

    @classmethod
    def link(cls, params: NormaliseParams, uses: Sequence[StageUse], sources: Sequence[Source]) -> NormaliseParams:
        """ValueError where it stands behind `pii`."""
        names = [use.stage.name for use in uses]
        if "pii" in names and cls.name in names[names.index("pii") :]:
            raise ValueError(
                "stands behind `pii`: a normal form can spell an address that was none before; put it before `pii`"
            )
        return params

    @staticmethod
    def edit(documents: pa.Table, state: pa.Table | None, params: NormaliseParams, artefact: Path | None) -> Edited:
        """See `pipeline.stage.Edited`; `state` and `artefact` are not used."""
        found: list[tuple[int, str, Edit]] = []
        columns = {name: documents[name] for name in DOCUMENTS.names}
        for name in ("text", "title"):
            columns |= _edit_column(documents, name, params, found)
        emptied = pc.and_not(_blank(columns["text"]), _blank(documents["text"])).to_numpy()
        ids = documents["doc_id"].to_pylist()
        rows = sorted((row, name, edit) for row, name, edit in found)
        return Edited(
            documents=pa.Table.from_arrays(list(columns.values()), schema=DOCUMENTS),
            edits=_edits_table([(ids[row], name, edit) for row, name, edit in rows]),
            verdicts=verdicts(documents.num_rows, [Failure("empty_after_normalise", emptied)]),
        )


def _blank(text: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(text)), 0)


def _edit_column(
    documents: pa.Table, name: str, params: NormaliseParams, found: list[tuple[int, str, Edit]]
) -> dict[str, pa.ChunkedArray]:
    """The columns that normalising one field changes; its edits go to `found`."""
    column = documents[name]
    spans = documents["placeholders"] if name == "text" else None
    changed: dict[int, str] = {}
    moved: dict[int, list[dict[str, Any]]] = {}
    for row in np.flatnonzero(suspicious(column, params)).tolist():
        trusted = [] if spans is None else [(p["start"], p["end"], p["token"]) for p in spans[row].as_py()]
        try:
            result = normalise(column[row].as_py(), trusted, params)
        except ValueError as error:
            raise ValueError(f"document {documents['doc_id'][row].as_py()}: {error}") from error
        if result.edits:
            found += [(row, name, edit) for edit in result.edits]
            changed[row] = result.text
            moved[row] = [span._asdict() for span in result.placeholders]
    if not changed:
        return {}
    columns = {name: _replaced(column, changed)}
    if spans is not None and any(moved.values()):
        listed = spans.to_pylist()
        columns["placeholders"] = pa.chunked_array(
            [pa.array([moved.get(i, s) for i, s in enumerate(listed)], spans.type)]
        )
    return columns


def _replaced(column: pa.ChunkedArray, values: dict[int, str]) -> pa.ChunkedArray:
    mask = np.zeros(len(column), np.bool_)
    mask[list(values)] = True
    new = pa.array([values[row] for row in sorted(values)], column.type)
    return pa.chunked_array([pc.replace_with_mask(column.combine_chunks(), pa.array(mask), new)])


def suspicious(column: pa.ChunkedArray, params: NormaliseParams) -> npt.NDArray[np.bool_]:
    """Rows that some switch may change: a search in the bytes of all texts, so that clean ones cost next to nothing."""
    classes = []
    if params.controls:
        classes.append(r"[\x00-\x08\x0e-\x1f\x7f\x{80}-\x{84}\x{86}-\x{9f}]")
    if params.line_ends:
        classes.append(r"[\r\x0b\x{85}\x{2028}\x{2029}]")
    if params.zero_width:
        classes.append(r"[\x{ad}\x{180e}\x{200b}-\x{200d}\x{206a}-\x{206f}\x{feff}\x{e0000}-\x{e007f}]")
    if params.max_blank_lines is not False:
        blank = r"[\t\x0b\x0c\r\x1c-\x20\x{85}\pZ]*\n"
        classes.append(rf"(?:^|\n)(?:{blank}){{{params.max_blank_lines + 1}}}")
    rows = np.zeros(len(column), np.bool_)
    if classes:
        hits = pc.match_substring_regex(column, "|".join(classes))
        rows |= pc.fill_null(hits, False).to_numpy().astype(np.bool_)
    if params.unicode or params.mojibake:
        other = ~rows & pc.fill_null(pc.invert(pc.string_is_ascii(column)), False).to_numpy().astype(np.bool_)
        for row in np.flatnonzero(other).tolist():
            rows[row] = _formed_otherwise(column[row].as_py(), params)
    return rows


def _formed_otherwise(text: str, params: NormaliseParams) -> bool:
    import unicodedata

    if params.unicode and not unicodedata.is_normalized("NFC" if params.unicode == "nfc" else "NFKC", text):
        return True
    if params.mojibake:
        from stages.ingest.mojibake import badness

        return badness(text) > 0
    return False


def _edits_table(rows: Sequence[tuple[str, str, Edit]]) -> pa.Table:
    edits = [edit for _, _, edit in rows]
    columns = [
        pa.array([doc_id for doc_id, _, _ in rows], pa.string()),
        pa.array([name for _, name, _ in rows], pa.string()),
        pa.array([e.kind for e in edits], pa.string()),
        pa.array([e.rule for e in edits], pa.string()),
        pa.nulls(len(edits), pa.float64()),
        pa.array([e.start for e in edits], pa.int64()),
        pa.array([e.end for e in edits], pa.int64()),
        pa.array([e.new if len(e.new) <= 1 or not e.new.strip("\n") else None for e in edits], pa.string()),
    ]
    return pa.Table.from_arrays(columns, schema=EDITS)
