"""The editor `c4_lines`: which lines and markers go, what is said of them, and that placeholders stay whole."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents import EDITS, VERDICT
from pipeline.stage import Edited
from stages.c4_lines import C4Lines, C4LinesParams
from stages.registry import registry
from tests.stages.corpus import documents

GOOD = "The mill stands by the river."


def edit(texts: list[str], spans: list[list[dict[str, Any]]] | None = None, **params: Any) -> Edited:
    table = documents(texts)
    if spans is not None:
        at = table.schema.get_field_index("placeholders")
        import pyarrow as pa

        table = table.set_column(at, table.schema.field(at), pa.array(spans, table.schema.field(at).type))
    found = C4Lines.edit(table, None, C4LinesParams(**params), None)
    assert found.edits.schema == EDITS and found.verdicts.schema == VERDICT
    return found


def texts_of(found: Edited) -> list[str]:
    texts: list[str] = found.documents["text"].to_pylist()
    return texts


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("Home", "no_terminal_punctuation"),
        ("The mill stands by the river,", "no_terminal_punctuation"),
        ("Buy it now.", "few_words"),
        ("Please enable JavaScript to see this page.", "javascript"),
        ("Read our Privacy Policy before you go.", "policy"),
        ("This site uses cookies for many things.", "policy"),
        ("磨坊在河边。", "few_words"),
        ("- - - - - .", "few_words"),
        (GOOD, None),
        ("“The mill stands by the river.”", None),
        ("The mill stands by the river…", None),
        ("磨坊坐落在河边，很久了。", None),
        ("Did the mill stand there?\r", None),
        ("The mill stands by the river.[1]", None),
    ],
)
def test_a_line_goes_under_the_first_rule_that_applies(line: str, rule: str | None) -> None:
    found = edit([f"{GOOD}\n{line}\n{GOOD}"])
    lines = [row for row in found.edits.to_pylist() if row["kind"] == "line"]
    assert [row["rule"] for row in lines] == ([] if rule is None else [rule])
    if rule is not None:
        assert texts_of(found) == [f"{GOOD}\n{GOOD}"]
        (row,) = lines
        assert (row["start"], row["end"], row["replacement"]) == (len(GOOD) + 1, len(GOOD) + len(line) + 2, "")


def test_citation_markers_go_and_each_is_listed() -> None:
    text = "It was built [12] early[citation needed] in spring.[Edit] See a[i] and [1234] too."
    found = edit([text])
    assert texts_of(found) == ["It was built  early in spring. See a[i] and [1234] too."]
    rows = found.edits.to_pylist()
    assert [text[r["start"] : r["end"]] for r in rows] == ["[12]", "[citation needed]", "[Edit]"]
    assert {r["rule"] for r in rows} == {"citation_marker"}
    assert texts_of(edit([text], citations=False)) == [text]


def test_blank_lines_stay_between_lines_that_stay() -> None:
    assert texts_of(edit([f"{GOOD}\n\nMenu\n\n{GOOD}\n"])) == [f"{GOOD}\n\n\n{GOOD}\n"]


def test_a_document_without_a_line_left_is_dropped_and_an_empty_one_is_not() -> None:
    found = edit(["Home\nAbout\n", GOOD, ""])
    assert found.verdicts["keep"].to_pylist() == [False, True, True]
    assert found.verdicts["rule"].to_pylist()[0] == "empty_after_c4_lines"


def test_every_rule_can_be_switched_off() -> None:
    off = {"terminal_punctuation": False, "min_words": 0, "min_units": 0, "javascript": False, "policies": ()}
    text = "Home\nUse cookies.\njavascript\n磨坊"
    assert texts_of(edit([text], **off)) == [text]
    assert texts_of(edit(["one two three four.\none two three."], min_words=4)) == ["one two three four."]
    assert texts_of(edit([f"{GOOD}\nThe MILL stands by no River."], policies=("mill STANDS by no",))) == [GOOD]


def test_a_placeholder_moves_with_its_line_is_one_word_and_never_read() -> None:
    token = "<|javascript.|>"
    first, last = f"Write to {token} about the mill.", f"Mill {token}"
    text = f"Menu\n{first}\n{last}"
    at, end_at = text.index(token), text.rindex(token)
    spans = [{"start": a, "end": a + len(token), "token": token} for a in (at, end_at)]
    found = edit([text], [spans])
    assert texts_of(found) == [first]
    (kept,) = found.documents["placeholders"].to_pylist()
    assert kept == [{"start": 9, "end": 9 + len(token), "token": token}]
    assert [row["rule"] for row in found.edits.to_pylist()] == ["no_terminal_punctuation"] * 2
    four = f"one two {token} four."
    assert edit([four], [[{"start": 8, "end": 8 + len(token), "token": token}]], min_words=4).edits.num_rows == 0


@pytest.mark.parametrize("line", ["-" * 300_000, ".)" * 150_000, "a " * 150_000, "[1" * 150_000, "磨" * 300_000])
def test_a_hostile_line_takes_time_in_proportion_to_its_length(line: str) -> None:
    start = time.perf_counter()
    edit([f"{line}\n{GOOD}"])
    assert time.perf_counter() - start < 5.0  # about 0.2 s; quadratic time would be minutes


def test_it_is_a_stage_of_the_registry() -> None:
    assert registry().find("c4_lines") is C4Lines


PARTS = st.sampled_from([GOOD, "Home", "[1]", "\n", "磨坊坐落在河边，很久了。", " ", ".", "javascript", "[edit]."])


@settings(max_examples=200, deadline=None)
@given(st.lists(PARTS, max_size=20).map("".join), st.integers(0, 60), st.integers(1, 8))
def test_what_stays_is_the_text_without_its_edits_and_editing_twice_removes_no_more_lines(
    text: str, start: int, size: int
) -> None:
    span = {"start": start, "end": start + size, "token": text[start : start + size]}
    spans = [[span] if start + size <= len(text) and "\n" not in span["token"] else []]
    found = edit([text], spans)
    rows = found.edits.to_pylist()
    assert all(a["end"] <= b["start"] for a, b in pairwise(rows))
    left = "".join(c for i, c in enumerate(text) if not any(r["start"] <= i < r["end"] for r in rows))
    assert texts_of(found) == [left]
    for (kept,) in [p for p in found.documents["placeholders"].to_pylist() if p]:
        assert left[kept["start"] : kept["end"]] == kept["token"] == span["token"]
    again = edit([left], found.documents["placeholders"].to_pylist())
    assert not [row for row in again.edits.to_pylist() if row["kind"] == "line"]
