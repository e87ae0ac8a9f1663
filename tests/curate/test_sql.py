"""Queries over a run: what they may ask, and that they write nothing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from click.testing import Result

from curate.results import CELL, distinct, write
from report.query import QueryError, check, read_only

Call = Callable[..., Result]

ASKING = [
    "select 1", "SELECT(1)", "select*from stages;", "(select 1)", "values (1)", "table stages", "from stages",
    "with a as (select 1) select * from a", "describe curated", "show tables", "summarize stages",
    "pivot stages on kind using count(*)", "with a as (from stages) pivot a on kind", "unpivot stages on kept",
    "explain select 1", "EXPLAIN ANALYZE select 1", "explain (analyze, format json) select 1", "explain (select 1)",
    "-- 中\n select 1 -- end", "/* é */ explain/* 中 */analyze/**/select 1", "select 'copy x to y; drop'",
]  # fmt: skip
NOT_ASKING = [
    "copy (select 1) to 'F'", "COPY(select 1) to 'F'", "/* 中 */ copy (select 1) to 'F'",
    "copy (pivot stages on kind using count(*)) to 'F'", "explain analyze copy (select 1) to 'F'",
    "explain (analyze) copy (select 1) to 'F'", "explain (format json) copy (select 1) to 'F'",
    "export database 'F'", "import database 'F'", "attach 'F'", "detach x", "install httpfs", "load httpfs",
    "create temp table a as select 1", "create table a as pivot stages on kind", "drop table stages",
    "delete from stages", "update stages set kept = 0", "insert into stages values (1)", "set threads = 1",
    "reset threads", "pragma table_info('stages')", "call pragma_version()", "checkpoint", "vacuum", "use memory",
    "prepare x as copy (select 1) to 'F'", "execute x", "begin", "explain analyze delete from stages",
]  # fmt: skip


@pytest.mark.parametrize("query", ASKING)
def test_what_asks_is_let_through(query: str) -> None:
    check(duckdb.connect(), query)


@pytest.mark.parametrize("query", NOT_ASKING)
def test_what_could_write_or_change_settings_is_refused_and_writes_nothing(
    query: str, call: Call, finished: Path, tmp_path: Path
) -> None:
    result = call("sql", finished, query.replace("F", str(tmp_path / "f")))
    assert result.exit_code == 2 and result.stdout == ""
    assert " is no question, and evidence is only read: use " in result.stderr
    assert "`--out FILE` writes a result" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("query", "said"), [("", "is empty"), ("-- x", "is empty"), ("select 1; select 2", "2 queries")]
)
def test_one_query_at_a_time(query: str, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        check(duckdb.connect(), query)


def test_beside_the_check_duckdb_itself_writes_nothing_outside_of_the_run(finished: Path, tmp_path: Path) -> None:
    from report.views import connect

    with connect(finished) as db:
        read_only(db, finished, "select 1")
        for query in (
            f"copy (select 1) to '{tmp_path}/f'",
            f"attach '{tmp_path}/f'",
            "set threads = 1",
            "drop table stages",
        ):
            with pytest.raises(duckdb.Error):
                db.execute(query)
        assert db.execute("select count(*) > 0 from documents").fetchone() == (True,)
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_read_where_they_are_named(call: Call, finished: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("source,label\nnotes,good\n")
    query = f"select label from '{tmp_path}/labels.csv'"
    refused = call("sql", finished, query)
    assert refused.exit_code == 2 and "`--read PATH` names others that it may read" in refused.stderr
    for path in (tmp_path / "labels.csv", tmp_path):
        given = call("sql", finished, query, "--read", path, "--json")
        assert given.exit_code == 0 and json.loads(given.stdout) == {"label": "good"}


def test_a_result_is_written_to_a_file_in_the_format_of_its_name(call: Call, finished: Path, tmp_path: Path) -> None:
    query = "select stage, kept, null as nothing, [1, 2] as list, 'a|b' as a, 'c\nd' as a from stages order by position"
    wanted = {"stage": "ingest", "kept": 60, "nothing": None, "list": [1, 2], "a": "a|b", "a_1": "c\nd"}
    for name in ("x.csv", "x.json", "x.md", "x.parquet"):
        result = call("sql", finished, query, "--out", tmp_path / name)
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", f"wrote {tmp_path / name}\n")
    assert pq.read_table(tmp_path / "x.parquet").to_pylist()[0] == wanted
    assert json.loads((tmp_path / "x.json").read_text().splitlines()[0]) == wanted
    assert next(csv.DictReader(io.StringIO((tmp_path / "x.csv").read_text()))) == {
        "stage": "ingest", "kept": "60", "nothing": "", "list": "[1, 2]", "a": "a|b", "a_1": "c\nd"
    }  # fmt: skip
    assert (tmp_path / "x.md").read_text().splitlines()[:3] == [
        "| stage | kept | nothing | list | a | a_1 |", "|---|---|---|---|---|---|",
        "| ingest | 60 |  | [1, 2] | a\\|b | c<br>d |",
    ]  # fmt: skip
    assert call("sql", finished, query, "--format", "csv").stdout == (tmp_path / "x.csv").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.csv", "x.json", "x.md", "x.parquet"]


def test_a_result_goes_neither_into_the_run_nor_into_an_unknown_format(
    call: Call, finished: Path, tmp_path: Path
) -> None:
    inside = call("sql", finished, "select 1", "--out", finished / "curated" / "x.csv")
    assert inside.exit_code == 2 and "lies in the run folder, which holds evidence alone" in inside.stderr
    unknown = call("sql", finished, "select 1", "--out", tmp_path / "x.foo")
    assert unknown.exit_code == 2 and "say which format with --format" in unknown.stderr
    gone = call("sql", finished, "select 1", "--out", tmp_path / "none" / "x.csv")
    assert gone.exit_code == 1 and "No such file or directory; check the path" in gone.stderr
    failing = call("sql", finished, "select 1 / x from nowhere", "--out", tmp_path / "x.csv")
    assert failing.exit_code == 1 and list(tmp_path.iterdir()) == []


def test_a_terminal_shows_long_values_cut_and_no_control_characters() -> None:
    def shown(form: str, terminal: bool) -> tuple[int, str]:
        out = io.StringIO()
        return write(
            duckdb.execute("select repeat('z', 500) as long, chr(27) || '[31m\nred' as sign"), form, out, terminal
        ), out.getvalue()

    cut, text = shown("table", True)
    assert cut == 1 and text.count("z") == CELL - 1 and "…" in text
    assert "\x1b" not in text and "\\x1b[31m⏎red" in text
    for form, terminal in (("table", False), ("csv", True), ("json", True), ("markdown", True)):
        assert shown(form, terminal)[0] == 0 and "z" * 500 in shown(form, terminal)[1]


def test_columns_of_one_name_are_numbered_apart() -> None:
    assert distinct(["a", "a", "a_1", "a"]) == ["a", "a_2", "a_1", "a_3"]
