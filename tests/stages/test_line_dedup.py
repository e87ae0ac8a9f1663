"""Lines and paragraphs that many documents share: what goes, what stays, and what is said about it."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from corpus import documents
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from toys import Project, files, manifests
from toys import documents as rows_of

from pipeline.documents import DOCUMENTS, EDITS, VERDICT
from pipeline.stage import measuring
from stages.lines import LineDedup
from stages.lines.editor import LineDedupParams
from stages.lines.units import Unit, Units, spans, units, without

MENU = "Home | About | Contact | Imprint"
SMALL = {"min_characters": 3, "min_documents": 2}


class Surveyed:
    """Implements `Gathering` over shards in memory."""

    def __init__(self, shards: Sequence[pa.Table], params: Any, sources: Sequence[str]) -> None:
        self.sources, self.memory = tuple(sources), 512 << 20
        self.folder = tempfile.TemporaryDirectory()
        self.workspace = Path(self.folder.name)
        self.tables = []
        for shard in shards:
            table = LineDedup.survey(shard, params, None)
            names = set(shard["source"].to_pylist())
            assert len(names) < 2, "a shard never spans sources"
            self.tables.append(table.add_column(0, "source", pa.array([*names] * table.num_rows, pa.string())))

    def surveys(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        yield from self.tables


def edited(shards: Sequence[pa.Table], sources: Sequence[str] = ("web",), **settings: Any) -> dict[str, dict[str, Any]]:
    """By doc_id: the new row, its edits, its verdict."""
    params = LineDedupParams(**settings)
    state = LineDedup.fit(Surveyed(shards, params, sources), params)
    found = {}
    for shard in shards:
        result = LineDedup.edit(shard, state.table, params, None)
        assert result.documents.schema.equals(DOCUMENTS) and result.edits.schema.equals(EDITS)
        assert result.verdicts.schema.equals(VERDICT)
        for row, verdict in zip(result.documents.to_pylist(), result.verdicts.to_pylist(), strict=True):
            own = [e for e in result.edits.to_pylist() if e["doc_id"] == row["doc_id"]]
            found[row["doc_id"]] = row | {"edits": own, "verdict": verdict}
    return found


def texts(shards: Sequence[pa.Table], **settings: Any) -> list[str]:
    return [row["text"] for _, row in sorted(edited(shards, **settings).items())]


def test_a_line_of_three_documents_stays_in_the_first_of_them() -> None:
    shard = documents([f"{MENU}\nbody number {k}\n" for k in range(3)])
    assert texts([shard]) == [f"{MENU}\nbody number 0\n", "body number 1\n", "body number 2\n"]


def test_a_line_of_fewer_documents_than_the_limit_stays_everywhere() -> None:
    given = [f"{MENU}\nbody number {k}\n" for k in range(3)]
    assert texts([documents(given)], min_documents=4) == given


def test_a_short_line_stays_however_often_it_occurs() -> None:
    given = [f"Chapter {k % 2}\nbody {k}" for k in range(9)]
    assert texts([documents(given)]) == given
    assert texts([documents(given)], min_characters=9)[2:] == [f"body {k}" for k in range(2, 9)]


def test_a_document_never_matches_itself() -> None:
    """DUP-14, the level of paragraphs."""
    given = ["p one is here\n\np two is here", "other text alone", f"{MENU}\n{MENU}\n{MENU}\n{MENU}"]
    for unit in ("line", "paragraph"):
        assert texts([documents(given)], unit=unit, **SMALL) == given


def test_the_first_document_keeps_all_its_occurrences_and_the_others_lose_all() -> None:
    shard = documents([f"{MENU}\nx\n{MENU}", f"{MENU}\ny\n{MENU}\n"])
    assert texts([shard], **SMALL) == [f"{MENU}\nx\n{MENU}", "y\n"]


def test_edits_say_what_went_where_and_in_how_many_documents_it_was() -> None:
    rows = edited([documents([f"{MENU}\na", f"über\n{MENU}\nb"])], **SMALL)
    place = {"field": "text", "kind": "line", "rule": "repeated", "score": 2.0, "start": 5, "end": 5 + len(MENU) + 1}
    assert rows["d0001"]["edits"] == [{"doc_id": "d0001", "replacement": "", **place}]
    assert rows["d0000"]["edits"] == []
    assert rows["d0001"]["text"] == "über\nb"


def test_white_space_at_the_ends_of_a_line_makes_no_difference() -> None:
    assert texts([documents([f"{MENU}\na", f"  {MENU} \r\nb"])], **SMALL) == [f"{MENU}\na", "b"]


def test_the_order_of_sources_decides_which_document_is_the_first() -> None:
    low, high = documents([f"{MENU}\na"], ["a"], "low"), documents([f"{MENU}\nb"], ["b"], "high")
    rows = edited([low, high], ("high", "low"), **SMALL)
    assert (rows["a"]["text"], rows["b"]["text"]) == ("a", f"{MENU}\nb")


def test_paragraphs_end_at_blank_lines_and_go_with_them() -> None:
    shard = documents([f"{MENU}\nand more\n\nbody a\n", f"x\n\n{MENU}\nand more\n \n\nbody b\n", f"{MENU}\n\nc"])
    assert texts([shard], unit="paragraph", **SMALL) == [
        f"{MENU}\nand more\n\nbody a\n",
        "x\n\nbody b\n",
        f"{MENU}\n\nc",
    ]


def test_a_document_of_nothing_else_is_dropped_as_empty() -> None:
    rows = edited([documents([f"{MENU}\na", f"\n{MENU}\n", "", " \n"])], **SMALL)
    assert [rows[f"d000{k}"]["verdict"]["rule"] for k in range(4)] == [None, "empty_after_line_dedup", None, None]


def test_no_line_end_is_left_hanging_where_the_last_lines_go() -> None:
    given = ["first line\nsecond line", "body\nfirst line\nsecond line", "body two\nsecond line\n"]
    assert texts([documents(given)], **SMALL) == [given[0], "body", "body two\n"]


def placed(text: str, token: str) -> list[dict[str, Any]]:
    return [{"start": text.index(token), "end": text.index(token) + len(token), "token": token}]


def with_placeholders(given: list[str], token: str, rows: Sequence[int]) -> pa.Table:
    listed = [placed(t, token) if k in rows else [] for k, t in enumerate(given)]
    column = pa.array(listed, DOCUMENTS.field("placeholders").type)
    return documents(given).set_column(DOCUMENTS.get_field_index("placeholders"), "placeholders", column)


def test_placeholders_go_with_their_line_and_move_with_the_text() -> None:
    token = "<|email|>"
    given = [f"write to {token} now\na", f"write to {token} now\nb", f"{MENU}\nx", f"{MENU}\nsee {token}"]
    rows = edited([with_placeholders(given, token, (0, 1, 3))], **SMALL)
    assert (rows["d0001"]["text"], rows["d0001"]["placeholders"]) == ("b", [])
    assert rows["d0003"]["text"] == f"see {token}"
    assert rows["d0003"]["placeholders"] == [{"start": 4, "end": 13, "token": token}]


def test_text_that_only_looks_like_a_placeholder_is_another_line() -> None:
    token = "<|email|>"
    given = [f"write to {token} now\na", f"write to {token} now\nb", f" write to {token} now\nc"]
    rows = edited([with_placeholders(given, token, (1, 2))], **SMALL)
    assert [rows[f"d000{k}"]["text"] for k in range(3)] == [given[0], given[1], "c"]


def test_a_line_whose_edge_a_placeholder_crosses_stays() -> None:
    token = "one\ntwo"
    given = [f"{MENU} one\ntwo", f"{MENU} one\ntwo and a half"]
    rows = edited([with_placeholders(given, token, (1,))], **SMALL)
    assert rows["d0001"]["text"] == given[1]


def test_shuffled_rows_and_shards_give_one_result() -> None:
    generator = random.Random(3)
    lines = [f"shared line number {k}" for k in range(12)]
    given = ["\n".join([*generator.sample(lines, 4), f"own text {k}"]) for k in range(60)]
    names = [generator.choice(["a", "b"]) for _ in given]
    whole = documents(given, sources=names)

    def cut(order: list[int], size: int) -> list[pa.Table]:
        by_source = [[k for k in order if names[k] == name] for name in ("a", "b")]
        return [whole.take(rows[i : i + size]) for rows in by_source for i in range(0, len(rows), size)]

    expected = edited(cut(list(range(60)), 100), ("b", "a"))
    for size in (7, 13, 60):
        assert edited(cut(generator.sample(range(60), 60), size), ("b", "a")) == expected


def test_what_was_edited_is_not_edited_again() -> None:
    generator = random.Random(4)
    given = ["\n".join(f"shared line {generator.randrange(9)}" for _ in range(5)) + f"\nown {k}" for k in range(40)]
    rows = edited([documents(given)], **SMALL)
    once = [rows[f"d{k:04}"]["text"] for k in range(40)]
    assert once != given
    assert texts([documents(once)], **SMALL) == once
    holders = Counter(line for text in once for line in {u for u in text.split("\n") if u.startswith("shared")})
    assert set(holders.values()) == {1}


@given(st.text(alphabet="ab \n\t\r\x0b\x85　", max_size=40), st.sampled_from(["line", "paragraph"]), st.data())
def test_units_cover_every_visible_character_and_removal_takes_only_their_spans(
    text: str, kind: Any, data: st.DataObject
) -> None:
    found = units(text, kind)
    covered = {k for u in found for k in range(u.start, u.end)}
    assert all(k in covered or c.isspace() for k, c in enumerate(text))
    assert all(a.behind <= b.start for a, b in pairwise(found))
    removed = [u for u in found if data.draw(st.booleans())]
    gone = spans(text, removed)
    assert all(a[1] <= b[0] for a, b in pairwise(gone))
    left, _ = without(text, gone, [])
    kept = [text[u.start : u.end].strip() for u in found if u not in removed]
    assert [left[u.start : u.end].strip() for u in units(left, kind)] == kept
    assert len(left) == len(text) - sum(b - a for a, b in gone)


@given(
    st.lists(st.text(alphabet="ab \n\t\r\x0b\x85　é😀", max_size=30), max_size=4),
    st.sampled_from(["line", "paragraph"]),
)
def test_units_of_a_table_are_those_of_each_text(given: list[str], kind: Any) -> None:
    found = Units.of(documents(given), kind, 1)
    own = [(row, unit) for row, text in enumerate(given) for unit in units(text, kind)]
    assert list(zip(found.row.tolist(), found.listed(), strict=True)) == own
    contents = [given[row][unit.start : unit.end].strip() for row, unit in own]
    assert len(set(found.identities().to_pylist())) == len(set(contents))
    assert len(set(zip(contents, found.identities().to_pylist(), strict=True))) == len(set(contents))


@pytest.mark.parametrize("kind", ["line", "paragraph"])
def test_the_least_length_counts_code_points_without_the_blanks_at_the_ends(kind: Any) -> None:
    given = ["  éé😀\u3000", "  éé\u3000x", "　\u2028ab\x85\xa0"]
    assert Units.of(documents(given), kind, 3).row.tolist() == [0, 1]
    assert Units.of(documents(given), kind, 4).row.tolist() == [1]


def test_a_long_line_of_blanks_costs_little() -> None:
    found = Units.of(documents(["x\n" + " " * 200_000 + "\ny"]), "line", 1)
    assert found.listed() == [Unit(0, 1, 2), Unit(200_003, 200_004, 200_004)]


def test_an_empty_shard_and_an_empty_corpus_are_fine() -> None:
    assert edited([DOCUMENTS.empty_table(), documents(["a b c"])]).keys() == {"d0000"}
    assert LineDedup.fit(Surveyed([], LineDedupParams(), ("web",)), LineDedupParams()).table.num_rows == 0


def test_a_new_limit_of_documents_surveys_nothing_again() -> None:
    assert set(measuring(LineDedupParams())) == {"unit", "min_characters"}


def test_editing_without_a_state_is_an_error() -> None:
    with pytest.raises(ValueError, match="line_dedup edits from its fitted state, and there is none"):
        LineDedup.edit(documents(["x"]), None, LineDedupParams(), None)


@pytest.mark.parametrize("settings", [{"unit": "word"}, {"min_documents": 1}, {"min_characters": 0}])
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        LineDedupParams(**settings)


def test_in_a_run_two_sources_in_several_files_lose_the_menu_but_once(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for k in range(3):
        bodies = [f"{MENU}\nThis is body number {k} {j} of them all." for j in range(5)]
        project.write(f"inputs/{k}.jsonl", [*bodies, MENU])
    sources = [
        {"name": "second", "path": "inputs/[12].jsonl", "license": "CC0-1.0", "priority": 2},
        {"name": "first", "path": "inputs/0.jsonl", "license": "CC0-1.0", "priority": 1},
    ]
    project.config([{"ingest": {}}, {"line_dedup": {"min_documents": 4}}], sources)
    project.run()
    rows = rows_of(tmp_path / "run", "line_dedup")
    holders = [row for row in rows if MENU in row["text"]]
    first = sorted(r["doc_id"] for r in rows_of(tmp_path / "run") if r["source"] == "first")[0]
    assert [row["doc_id"] for row in holders] == [first]
    assert len(rows) in (15, 16)  # a document of the menu alone is left only where it is the first
    fitted = manifests(tmp_path / "run")["line_dedup"]["fitted"]
    assert fitted == {"units": 1, "removals": 17, "most_documents": 18}
    project.run("two", workers=2)
    assert files(tmp_path / "two") == files(tmp_path / "run")
    again = project.run(overrides=["line_dedup.min_documents=19"])
    assert not any("surveys" in name for name in again.computed)
    assert all(MENU in row["text"] for row in rows_of(tmp_path / "run", "line_dedup"))
