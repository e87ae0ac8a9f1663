"""`curate init`: what it sees in files, and that the config it writes runs as it is."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner, Result

import curate
from curate.cli import main
from curate.starting import patterns
from pipeline.config import load
from pipeline.inputs import source_files
from stages.registry import registry
from stages.survey import Fields, examine, survey

PROSE = (
    "The old mill has stood by the river since before anyone now alive was born, and the people of the valley still "
    "bring their grain to it in autumn. Its wheel turns slowly when the water is low, but in spring it turns so fast "
    "that the whole house shakes. Children are told not to play near the race, which they have never obeyed. "
)
HAN = (
    "今天天气很好，我们一起去公园散步，然后回家吃饭。水少的时候，轮子转得很慢；到了春天，它转得飞快，整座房子都在摇晃。"
)


def prose(n: int) -> str:
    return (
        f"Chapter {n}. {PROSE}What number {n} was about, nobody in the {n * 7} houses of the valley remembers any more."
    )


def init(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["init", *map(str, arguments)])


def written(*arguments: str | Path) -> dict[str, Any]:
    result = init(*arguments, "--json")
    assert result.exit_code == 0, result.output
    data: dict[str, Any] = yaml.safe_load(Path(json.loads(result.output)["config"]).read_text(encoding="utf-8"))
    return data


def lines(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(r if isinstance(r, str) else json.dumps(r, ensure_ascii=False) for r in records) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Every plain format, two charsets, two layouts of records, and things that are no sources."""
    root = tmp_path / "My corpus!"
    lines(root / "a.jsonl", *({"id": i, "body": prose(i), "url": f"https://example.org/{i}"} for i in range(4)))
    lines(root / "more" / "b.jsonl.gz", *({"id": f"b{i}", "body": prose(10 + i), "url": "u"} for i in range(3)))
    lines(root / "more" / "c.ndjson", *({"n": 1, "text": prose(20 + i), "rights": "CC-BY-4.0"} for i in range(3)))
    table = pa.table({"uuid": ["x", "y"], "story": [prose(30), prose(31)], "link": ["a", "b"]})
    pq.write_table(table, root / "p.parquet")
    (root / "t.csv").write_text(f'id,text\n1,"{prose(40)}"\n2,"{prose(41)}"\n', encoding="utf-8")
    (root / "page.html").write_text(
        f"<html><title>Mill</title><body><p>{prose(50)}</p></body></html>", encoding="utf-8"
    )
    (root / "zh").mkdir()
    (root / "zh" / "1.txt").write_bytes((HAN * 5).encode("gb18030"))
    (root / "zh" / "2.txt").write_text(HAN * 3 + "磨坊在河边立了很久，没有人记得它是什么时候建成的。", encoding="utf-8")
    (root / "notes [old].txt").write_text(prose(60), encoding="utf-8")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("inside.txt", prose(70))
    (root / "z.zip").write_bytes(packed.getvalue())
    (root / "photo.txt").write_bytes(bytes(range(256)) * 8)
    (root / "pretty.json").write_text(json.dumps([{"text": prose(80)}], indent=1), encoding="utf-8")
    (root / ".hidden.txt").write_text("x", encoding="utf-8")
    (root / "runs" / "old").mkdir(parents=True)
    (root / "runs" / "old" / "run.json").write_text("{}", encoding="utf-8")
    (root / "runs" / "old" / "merges.txt").write_text("a b", encoding="utf-8")
    return root


def test_the_written_config_runs_as_it_is(mixed: Path, tmp_path: Path) -> None:
    result = init(mixed, "--license", "cc0-1.0")
    assert result.exit_code == 0, result.output
    run = curate.run(mixed / "curate.yaml", run_dir=tmp_path / "run", workers=1)
    assert run.sql("select count(*) from quarantine").fetchone() == (0,)
    documents = dict(run.sql("select source, count(*) from documents group by 1").fetchall())
    assert documents == {"jsonl": 7, "ndjson": 3, "parquet": 2, "csv": 2, "html": 1, "txt": 3, "zip": 1}
    licences = run.sql("select distinct source = 'ndjson', license from documents order by 1").fetchall()
    assert licences == [(False, "CC0-1.0"), (True, "CC-BY-4.0")]
    kept = run.sql("select kept from stages where stage = 'license'").fetchone()
    assert kept == (16,), "CC-BY-4.0 was not among the licences that the user named"
    assert run.sql("select count(*) from curated").fetchone()[0] >= 10
    assert (tmp_path / "run" / "tokenizer" / "model.json").is_file()


def test_without_a_licence_it_runs_and_says_what_to_fill_in(tmp_path: Path) -> None:
    root = tmp_path / "in"
    lines(root / "a.jsonl", {"text": prose(1)}, {"text": prose(2)})
    result = init(root)
    config = (root / "curate.yaml").read_text(encoding="utf-8")
    assert f"no licence is known: fill in the `license:` lines of {root / 'curate.yaml'}" in result.output
    assert "# license: CC-BY-4.0   # FILL IN the SPDX id: without it all of this is dropped (license_unknown)" in config
    run = curate.run(root / "curate.yaml", run_dir=tmp_path / "run", workers=1, until="license")
    assert run.sql("select rule, detail, count(*) from verdicts where not keep group by all").fetchall() == [
        ("license_unknown", "no licence given", 2)
    ]


def test_sources_are_grouped_by_ending_and_fields(mixed: Path) -> None:
    data = written(mixed)
    assert data["name"] == "My-corpus"
    sources = {s["name"]: s for s in data["sources"]}
    assert list(sources) == ["zip", "csv", "html", "jsonl", "ndjson", "parquet", "txt"]
    assert sources["jsonl"] == {
        "name": "jsonl",
        "path": ["*.jsonl", "more/*.jsonl.gz"],
        "text_field": "body",
        "id_field": "id",
    }
    assert sources["ndjson"] == {
        "name": "ndjson",
        "path": "more/*.ndjson",
        "text_field": "text",
        "license_field": "rights",
    }
    assert sources["parquet"]["text_field"] == "story"
    assert (sources["parquet"]["id_field"], sources["parquet"]["url_field"]) == ("uuid", "link")
    assert sources["txt"]["path"] == ["zh/*.txt", "notes [[]old].txt"]


def test_what_cannot_be_used_is_left_out_with_the_reason(mixed: Path) -> None:
    result = init(mixed)
    text = (mixed / "curate.yaml").read_text(encoding="utf-8")
    for output in (result.output, text):
        assert "photo.txt" in output
        assert "(binary_content)" in output
        assert "no JSON Lines: write one object a line, for example with `jq -c '.[]'`" in output
        assert "hidden" not in output
        assert "merges.txt" not in output
    assert "# not UTF-8: gb18030 in 1 file; that is a guess" in text


def test_the_config_is_not_its_own_source(tmp_path: Path) -> None:
    lines(tmp_path / "a.jsonl", {"text": "x"})
    (tmp_path / "b.yaml").write_text("a: text\n", encoding="utf-8")
    first = written(tmp_path)
    assert written(tmp_path, "--force") == first
    assert [s["name"] for s in first["sources"]] == ["jsonl", "yaml"]
    assert [f.label for f in source_files(first["sources"][1]["path"], tmp_path)] == ["b.yaml"]


def test_single_files_are_named_alone(tmp_path: Path) -> None:
    wanted = [lines(tmp_path / "x" / "a.jsonl", {"text": "x"}), lines(tmp_path / "y" / "b.jsonl", {"text": "x"})]
    lines(tmp_path / "x" / "other.jsonl", {"text": "x"})
    data = written(*wanted, "--out", tmp_path / "c.yaml", "--name", "two")
    assert (data["name"], data["sources"][0]["path"]) == ("two", ["x/a.jsonl", "y/b.jsonl"])


def test_many_folders_become_one_glob_that_means_nothing_else(tmp_path: Path) -> None:
    for i in range(12):
        lines(tmp_path / "deep" / f"{i}" / "a.jsonl", {"text": "x"})
    (group,) = survey([tmp_path]).groups
    assert patterns(group, tmp_path / "c.yaml") == ["deep/**/*.jsonl"]
    lines(tmp_path / "deep" / "3" / "odd.jsonl", {"words": "x"})
    first, second = survey([tmp_path]).groups
    for group in (first, second):
        means = source_files(patterns(group, tmp_path / "c.yaml"), tmp_path)
        assert sorted(f.location for f in means) == sorted(map(str, group.files))


def test_a_few_unusable_texts_among_many_do_not_cost_the_glob(tmp_path: Path) -> None:
    for i in range(60):
        (tmp_path / f"{i}.txt").write_text("text", encoding="utf-8")
    (tmp_path / "00bad.txt").write_bytes(b"\0" * 100)
    found = survey([tmp_path])
    assert len(found.skipped) == 1
    skipped = frozenset(str(path) for path, _ in found.skipped)
    assert patterns(found.groups[0], tmp_path / "c.yaml", skipped) == ["*.txt"]
    assert len(patterns(found.groups[0], tmp_path / "c.yaml")) == 60


@pytest.mark.parametrize(
    ("records", "fields"),
    [
        ([{"text": "a", "body": "b" * 99}], Fields("text")),
        ([{"Content": "a" * 9, "n": 1}], Fields("Content")),
        ([{"q": "short", "a": "much longer than that"}], Fields("a")),
        ([{"id": 1, "text": "a"}, {"id": 1, "text": "b"}], Fields("text")),
        ([{"id": 1, "text": "a"}, {"id": 2, "text": "b"}], Fields("text", id="id")),
        ([{"id": True, "text": "a"}], Fields("text")),
        ([{"id": None, "uuid": "u", "text": "a"}], Fields("text", id="uuid")),
        ([{"text": "a", "link": "x", "headline": "h"}], Fields("text", url="link", title="headline")),
        ([{"text": "a", "license": "MIT"}], Fields("text", license="license")),
        ([{"text": "a", "license": "all rights reserved"}], Fields("text")),
        ([{"text": None, "body": "x"}, {"text": "y", "body": "z"}, {"body": "w"}], Fields("body")),
    ],
)
def test_the_fields_of_records_are_guessed(tmp_path: Path, records: list[Any], fields: Fields) -> None:
    kind, encoding = examine(lines(tmp_path / "a.jsonl", *records))
    assert (kind.fields, encoding) == (fields, "utf-8")


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_columns_are_found_under_any_delimiter(tmp_path: Path, delimiter: str) -> None:
    rows = [["id", "note", "story"], ["1", "a,b", "x" * 200_000], ["2", "", '"quoted, with\0 NUL"']]
    (tmp_path / "t.csv").write_text("\n".join(delimiter.join(row) for row in rows).replace("a,b", '"a,b"') + "\n")
    kind, _ = examine(tmp_path / "t.csv")
    assert kind.fields == Fields("story", id="id")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.jsonl", b'{"n": 1}\n', "no field that holds strings in at least half of the records"),
        ("a.jsonl", b"\n", "no record in it"),
        ("a.jsonl.gz", gzip.compress(b'{"text": "x"}' * 9)[:4], "truncated_stream"),
        ("a.parquet", b"PAR1", "no complete Parquet file"),
        ("a.csv", b"id,text\n", "no field that holds strings in at least half of the records"),
        ("a.txt", b"\0" * 100, "binary_content"),
    ],
)
def test_the_reason_for_leaving_a_file_out_is_named(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(content)
    ((_, said),) = survey([tmp_path]).skipped
    assert reason in said


def test_a_file_that_cannot_be_opened_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to(tmp_path / "gone.txt")
    ((_, said),) = survey([tmp_path]).skipped
    assert said == "cannot be opened: No such file or directory (unreadable)"


def test_names_that_yaml_would_misread_are_quoted(tmp_path: Path) -> None:
    lines(tmp_path / "a.jsonl", {"no": "some text", "id": "1"})
    lines(tmp_path / "ü # 1.txt", "x")
    data = written(tmp_path)
    assert data["sources"][0]["text_field"] == "no"
    assert len(load(tmp_path / "curate.yaml", registry()).settings.sources) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--license", "CC-BY-99"], 2, "--license: 'CC-BY-99' is no SPDX licence id; did you mean"),
        (["--license", "MIT OR Apache-2.0"], 2, "joins several licences: list each id on its own"),
        (["--out", "none/c.yaml"], 2, "no such folder for the config"),
    ],
)
def test_wrong_arguments_are_usage_errors(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    lines(tmp_path / "a.jsonl", {"text": "x"})
    result = init(tmp_path, *arguments)
    assert (result.exit_code, message in result.output) == (code, True), result.output


@pytest.mark.parametrize("name", ["two words", "a/b", "", "-x", "é"])
def test_a_name_that_no_config_takes_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.txt").write_text("some text")
    result = CliRunner().invoke(main, ["init", str(tmp_path), "--name", name])
    assert result.exit_code == 2 and "use letters, digits, '.', '_' and '-', a letter or digit first" in result.output
    assert not (tmp_path / "curate.yaml").exists()


def test_a_config_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    lines(tmp_path / "a.jsonl", {"text": "x"})
    (tmp_path / "curate.yaml").write_text("mine")
    result = init(tmp_path)
    assert result.exit_code == 2
    assert "is there already: give another file with --out, or --force to write over it" in result.output
    assert (tmp_path / "curate.yaml").read_text() == "mine"


def test_a_folder_without_anything_to_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(b"\0" * 50)
    result = init(tmp_path)
    assert result.exit_code == 1
    assert "no file there can be a source" in result.output
    assert "binary_content" in result.output
    assert not (tmp_path / "curate.yaml").exists()
