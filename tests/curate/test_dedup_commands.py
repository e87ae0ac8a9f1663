"""`curate index`, `against: [RUN]` in a later config, and `curate similar`."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from toys import Project

from pipeline.config import ConfigError
from pipeline.engines import TaskError

Call = Callable[..., Result]
GENERATOR = random.Random(11)
STAGES: list[Any] = [{"ingest": {}}, {"license": {"allow": ["CC0-1.0"]}}, "exact_dedup", "minhash"]


def words(count: int = 60) -> list[str]:
    return [f"w{GENERATOR.randrange(50_000)}" for _ in range(count)]


BASE, OTHER = words(), words()
NEAR = [*BASE[:30], "changed", *BASE[31:]]
MAIL = "anna.schmidt@mailbox.org"


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A run with a near copy, an exact copy, and an address."""
    project = Project(tmp_path_factory.mktemp("old"))
    texts = [BASE, NEAR, OTHER, OTHER, [f"write to {MAIL}", *words(40)]]
    project.write("inputs/notes.jsonl", [" ".join(t) for t in texts])
    project.config([*STAGES, {"pii": {}}])
    project.run()
    return project


def later(folder: Path, against: str, **more: Any) -> Project:
    project = Project(folder)
    project.write("inputs/notes.jsonl", [" ".join(t) for t in ([*NEAR[:10], "again", *NEAR[11:]], OTHER, words())])
    dedup = [{"exact_dedup": {"against": [against]}}, {"minhash": {"against": [against], **more}}]
    project.config([*STAGES[:2], *dedup])
    return project


def test_the_nearest_documents_come_with_their_jaccard_and_what_became_of_them(old: Project, call: Call) -> None:
    result = call("similar", old.folder / "run", " ".join(NEAR[:50]), "--json")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [r["jaccard"] for r in rows] == [46 / 56, 41 / 61]
    assert [r["containment"] for r in rows] == [1.0, 41 / 46]
    assert sorted(str(r["dropped_by"]) for r in rows) == ["None", "minhash: near_duplicate"]
    assert rows[0]["excerpt"].startswith(NEAR[0]) and rows[0]["source"] == "notes"
    assert abs(rows[0]["estimate"] - rows[0]["jaccard"]) < 0.15


def test_a_file_stands_for_its_text_and_excerpts_are_masked(old: Project, call: Call, tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("a text of entirely other words", encoding="utf-8")
    shown = call("similar", old.folder / "run", file)
    assert shown.exit_code == 0 and shown.stdout.strip() == "no document shares a shingle with the text"
    whole = json.loads((old.folder / "inputs/notes.jsonl").read_text().splitlines()[4])["text"]
    file.write_text(whole, encoding="utf-8")
    shown = call("similar", old.folder / "run", file, "-n", "1")
    assert "Jaccard 1.0000, holds 100.0% of the text's shingles; kept" in shown.stdout
    assert MAIL not in shown.stdout and "<|email|>" in shown.stdout


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["..."], "the text holds no word; give some text to look for"),
        (
            ["x", "--stage", "exact_dedup"],
            "has no finished stage 'exact_dedup' of type minhash; it has: ingest, license",
        ),
    ],
)
def test_what_cannot_be_looked_for_is_said(old: Project, call: Call, given: list[str], message: str) -> None:
    result = call("similar", old.folder / "run", *given)
    assert result.exit_code == 2 and message in result.stderr


def test_a_file_that_is_no_utf8_is_refused(old: Project, call: Call, tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    result = call("similar", old.folder / "run", tmp_path / "latin.txt")
    assert result.exit_code == 2 and "latin.txt: is not UTF-8 (byte 3); convert it first" in result.stderr


def test_a_later_run_leaves_out_what_an_indexed_run_has(old: Project, call: Call, tmp_path: Path) -> None:
    made = json.loads(call("index", old.folder / "run", "--json").stdout)
    assert (made["documents"], made["run"]) == (3, "toy")
    assert made["index"] == str(old.folder / "run/index.parquet")
    assert not any(w.encode() in Path(made["index"]).read_bytes() for w in (MAIL, BASE[3]))
    project = later(tmp_path, str(old.folder / "run"))
    project.run()
    rows = json.loads(call("report", tmp_path / "run", "--json").stdout)["stages"]
    dropped = {r["stage"]: r["dropped"] for r in rows}
    assert dropped["exact_dedup"] == dropped["minhash"] == {"in_earlier_corpus": 1}
    query = "select stage, run, jaccard from clusters order by stage"
    found = [json.loads(line) for line in call("sql", tmp_path / "run", query, "--json").stdout.splitlines()]
    assert [(f["stage"], f["run"]) for f in found] == [("exact_dedup", "toy"), ("minhash", "toy")]
    assert found[0]["jaccard"] == 1.0


def test_another_index_decides_again_and_measures_nothing(old: Project, call: Call, tmp_path: Path) -> None:
    call("index", old.folder / "run", "--out", tmp_path / "index.parquet")
    project = later(tmp_path, str(tmp_path / "index.parquet"))
    project.run()
    (tmp_path / "index.parquet").rename(tmp_path / "moved.parquet")
    same = project.run(overrides=[f"{s}.against=['{tmp_path}/moved.parquet']" for s in ("exact_dedup", "minhash")])
    assert same.computed == ()
    without = project.run(overrides=["exact_dedup.against=[]", "minhash.against=[]"])
    assert "exact_dedup/state" in without.computed and "exact_dedup/measures" not in str(without.computed)


def test_an_index_of_other_settings_ends_the_run_with_a_message(old: Project, call: Call, tmp_path: Path) -> None:
    call("index", old.folder / "run")
    project = later(tmp_path, str(old.folder / "run"), permutations=64)
    with pytest.raises((TaskError, ValueError), match=r"made with other settings \(permutations: 128 there, 64 here\)"):
        project.run()


def test_a_run_that_was_never_indexed_is_a_missing_file(tmp_path: Path) -> None:
    project = later(tmp_path, "../nowhere")
    with pytest.raises(ConfigError, match=r"no file matches '\.\./nowhere/index\.parquet'"):
        project.run()


def test_a_run_without_what_an_index_needs_is_refused(finished: Path, call: Call, tmp_path: Path) -> None:
    result = call("index", finished, "--stage", "minhash", "--out", tmp_path / "i.parquet")
    assert result.exit_code == 2 and "has no finished stage 'minhash' of type minhash; it has: ingest" in result.stderr
    result = call("index", finished, "--out", tmp_path / "i.parquet")
    assert result.exit_code == 0 and "content hashes of" in result.stdout
    project = Project(tmp_path)
    project.write("inputs/notes.jsonl", ["a text"])
    project.config(STAGES)
    project.run(until="minhash")
    result = call("index", tmp_path / "run")
    assert result.exit_code == 2 and "has no curated documents yet; finish it with: curate run CONFIG" in result.stderr
