"""The command line: what it prints where, with which exit code."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from toys import Project, command, curate, environment, jsonl, texts, whole

Call = Callable[..., Result]


def test_help_and_version_load_neither_numba_nor_arrow(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom curate.cli import main\ntry:\n    main([sys.argv[1]])\nfinally:\n"
        "    print(sorted({m.split('.')[0] for m in sys.modules} & {'numba','pyarrow','duckdb','numpy','pydantic'}))"
    )
    for option in ("--help", "--version"):
        done = subprocess.run(
            [sys.executable, "-c", program, option], cwd=tmp_path, env=environment(), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "[]"


def test_help_lists_every_command_and_each_command_has_help(call: Call) -> None:
    shown = call("--help").stdout
    for name in ("plan", "run", "status", "report", "sql", "sample", "trace", "verify", "clean", "tokenizer"):
        assert re.search(rf"^  {name} +\w", shown, re.M)
        assert call(name, "--help").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rnu"], "no command 'rnu'; did you mean 'run'?"),
        (["xyzzy"], "no command 'xyzzy'"),
        (["run"], "Missing argument 'CONFIG'"),
        (["run", "c.yaml", "--workers", "0"], "0 is not in the range 1<=x<=4096"),
        (["run", "c.yaml", "--limit", "many"], "'many' is not a valid integer"),
        (["run", "c.yaml", "--strcit"], "No such option"),
        (["report", "no-such-folder"], "does not exist"),
        (
            ["run", "absent.yaml"],
            "absent.yaml: there is no such config; check the path, or write one with: curate init DIR",
        ),
        (["plan", "absent/c.yaml"], "absent/c.yaml: there is no such config; check the path"),
    ],
)
def test_bad_usage_ends_with_2(call: Call, project: Project, arguments: list[str], said: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr and result.stdout == ""


def test_a_bad_config_ends_with_2_and_one_line(call: Call, project: Project) -> None:
    project.write("config.yaml", "name: toy\nsources:\n  - {name: a, path: x}\nstages:\n  - ingst: {}\n")
    result = call("run", "config.yaml")
    assert result.exit_code == 2
    assert result.stderr == "curate: config.yaml:5: ingst: unknown stage; did you mean 'ingest'?\n"
    assert not Path("runs").exists()


def test_a_stage_of_ones_own_is_refused_without_leave(call: Call, project: Project) -> None:
    result = call("run", "config.yaml")
    assert result.exit_code == 2
    assert "config.yaml:" in result.stderr and "allow it with --allow-code" in result.stderr


def test_a_missing_input_ends_with_2(call: Call, project: Project) -> None:
    (project.folder / "inputs" / "notes.jsonl").unlink()
    result = call("run", "config.yaml", "--allow-code")
    assert result.exit_code == 2
    assert "no file matches 'inputs/notes.jsonl'" in result.stderr
    assert "paths are relative to the config file" in result.stderr


def test_an_unknown_stage_in_until_is_refused_with_the_names_there_are(call: Call, project: Project) -> None:
    for name in ("run", "plan"):
        result = call(name, "config.yaml", "--allow-code", "--until", "wrods")
        assert result.exit_code == 2
        assert "--until: no stage 'wrods'; this config has: ingest, words, vowels, redact, curated" in result.stderr


def test_run_prints_the_funnel_then_that_there_is_nothing_to_compute(call: Call, project: Project) -> None:
    arguments = ("run", "config.yaml", "--workers", "1", "--allow-code")
    first = call(*arguments)
    assert first.exit_code == 0, first.stderr
    lines = first.stdout.splitlines()
    assert lines[0].split()[:4] == ["stage", "in", "kept", "dropped"]
    assert [line.split()[0] for line in lines[1:6]] == ["ingest", "words", "vowels", "redact", "curated"]
    assert re.fullmatch(r"computed \d+ tasks, reused 0; runs/toy", lines[-1])
    second = call(*arguments)
    assert re.fullmatch(
        r"nothing to compute: all \d+ tasks were there already; runs/toy", second.stdout.splitlines()[-1]
    )
    assert second.stderr == ""
    third = call(*arguments, "--set", "words.min_words=8")
    n = len(project.shards("runs/toy"))
    assert third.stderr.splitlines()[0] == f"words: decide again for {n} of {n}: setting min_words: 0.0 → 8.0"


def test_a_trial_has_a_folder_of_its_own(call: Call, project: Project) -> None:
    result = call("run", "config.yaml", "--workers", "1", "--allow-code", "--limit", "5", "--json")
    assert json.loads(result.stdout)["run"] == "runs/toy-limit-5"
    assert not Path("runs/toy").exists()


def test_plan_says_what_would_be_computed_and_why(call: Call, project: Project) -> None:
    arguments = ("config.yaml", "--allow-code", "--run-dir", "run")
    before = call("plan", *arguments)
    assert before.exit_code == 0
    assert before.stdout.splitlines()[0] == "ingest read: reuse 0, compute 1: new"
    assert before.stdout.splitlines()[1] == "then, as far as their inputs change: words, vowels, redact, curated"
    assert not Path("run").exists()
    project.run()
    assert call("plan", *arguments).stdout.splitlines()[-1] == "nothing to compute: run is complete"
    changed = call("plan", *arguments, "--set", "vowels.min_vowels=3").stdout
    n = len(project.shards())
    assert f"vowels decide: reuse 0, compute {n}: setting min_vowels: 0.0 → 3.0" in changed.splitlines()
    data = json.loads(call("plan", *arguments, "--json").stdout)
    assert data["run"] == "run" and data["waiting"] == [] and all(not s["compute"] for s in data["steps"])


def test_strict_ends_with_1(call: Call, project: Project) -> None:
    project.run()
    result = call("run", "config.yaml", "--allow-code", "--run-dir", "run", "--strict", "--set", "words.min_words=9")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("curate: --strict: this would be computed again: words/verdicts/")


def test_an_unreadable_input_ends_with_1_and_says_what_to_do(call: Call, project: Project) -> None:
    project.write("inputs/bad.parquet", b"no parquet")
    project.config(sources=[{"name": "notes", "path": "inputs/*"}])
    result = call("run", "config.yaml", "--allow-code", "--workers", "1")
    assert result.exit_code == 1
    assert result.stderr.startswith("curate: bad.parquet: ")
    assert "mend or remove the file, or give its source `on_unreadable: quarantine`" in result.stderr


def test_a_failing_task_ends_with_1_and_the_traceback_is_there_for_the_asking(
    call: Call, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.config([{"ingest": {}}, "toy_faults:Raises"])
    arguments = ("run", "config.yaml", "--allow-code", "--workers", "1")
    result = call(*arguments)
    assert result.exit_code == 1
    last = result.stderr.splitlines()[-1]
    assert "RuntimeError: this document is beyond me" in last
    assert last.endswith("(set CURATE_DEBUG=1 for the traceback); finished work is kept, run again to go on")
    monkeypatch.setenv("CURATE_DEBUG", "1")
    assert "Traceback" in call(*arguments).stderr


def test_too_much_in_quarantine_ends_with_3_and_the_query_it_names_works(call: Call, project: Project) -> None:
    project.write("inputs/notes.jsonl", jsonl(texts(0, 18)) + "{oops\n{oops\n")
    result = call("run", "config.yaml", "--allow-code", "--workers", "1")
    assert result.exit_code == 3
    query = re.search(r'curate sql (\S+) "(.+)"', result.stderr)
    assert query is not None
    shown = call("sql", query[1], query[2], "--json")
    assert [json.loads(line)["reason"] for line in shown.stdout.splitlines()] == ["bad_json", "bad_json"]


def test_report_and_its_json_agree(call: Call, finished: Path) -> None:
    data = json.loads(call("report", finished, "--json").stdout)
    shown = call("report", finished).stdout
    for stage in data["stages"]:
        assert re.search(rf"^{stage['stage']} +{stage['documents_in']} +{stage['kept']}\b", shown, re.M)
    assert f"provenance: {data['provenance']}" in shown


def test_sql_prints_a_table_or_json_lines(call: Call, finished: Path) -> None:
    query = "SELECT stage, kept, NULL AS nothing FROM stages ORDER BY position LIMIT 2"
    table = call("sql", finished, query).stdout.splitlines()
    assert [line.split() for line in table] == [
        ["stage", "kept", "nothing"], ["ingest", "60", "NULL"], ["license", "60", "NULL"]
    ]  # fmt: skip
    lines = call("sql", finished, query, "--json").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [
        {"stage": "ingest", "kept": 60, "nothing": None}, {"stage": "license", "kept": 60, "nothing": None}
    ]  # fmt: skip
    long = call("sql", finished, "SELECT repeat('x', 500) AS long").stdout
    assert "x" * 500 in long  # a pipe has no width: nothing is folded


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT * FROM nowhere", "nowhere"),
        ("SELECT read_parquet FROM stages", "read_parquet"),
    ],
)
def test_a_query_that_fails_ends_with_1(call: Call, finished: Path, query: str, said: str) -> None:
    result = call("sql", finished, query)
    assert result.exit_code == 1
    assert result.stderr.startswith("curate: the query failed: ") and said in result.stderr


def test_sample_and_trace_print_for_people_and_programs(call: Call, finished: Path) -> None:
    rows = [json.loads(line) for line in call("sample", finished, "--stage", "words", "--json").stdout.splitlines()]
    assert rows and {r["rule"] for r in rows} == {"too_few"}
    shown = call("sample", finished, "--stage", "words", "-n", "1").stdout
    assert "words: too_few" in shown and "(threshold 7)" in shown
    doc_id = rows[0]["doc_id"]
    traced = json.loads(call("trace", finished, doc_id, "--json").stdout)
    assert traced["doc_id"] == doc_id and traced["curated"] is False
    shown = call("trace", finished, doc_id[:10]).stdout
    assert shown.splitlines()[0] == doc_id
    assert "  words: dropped, too_few" in shown and "in the curated corpus: no" in shown
    assert "  vowels: not measured" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sample", "--stage", "wrods"], "no stage 'wrods' with verdicts in this run; it has: "),
        (["sample", "--rule", "few"], "no document was dropped under a rule 'few'; rules that did: "),
        (["trace", "zz"], "no document 'zz' in this run"),
    ],
)
def test_asking_for_what_is_not_there_ends_with_2(call: Call, finished: Path, arguments: list[str], said: str) -> None:
    result = call(arguments[0], finished, *arguments[1:])
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize("name", ["report", "status", "verify", "clean", "sample", "sql", "trace"])
def test_a_folder_without_a_run_ends_with_2(call: Call, tmp_path: Path, name: str) -> None:
    extra = {"sql": ["SELECT 1"], "trace": ["x"]}.get(name, [])
    result = call(name, tmp_path, *extra)
    assert result.exit_code == 2
    assert f"{tmp_path} holds no run" in result.stderr and "start one with: curate run CONFIG" in result.stderr


def test_status_tells_how_far_a_run_has_come(call: Call, project: Project) -> None:
    project.run(until="words")
    shown = call("status", "run").stdout.splitlines()
    assert shown[0] == "run: 2 of 5 stages finished: ingest, words"
    assert shown[1] == "missing: vowels, redact, curated; run the same command again to go on"
    data = json.loads(call("status", "run", "--json").stdout)
    assert data == {
        "run": "run", "finished": ["ingest", "words"], "missing": ["vowels", "redact", "curated"], "writer": None
    }  # fmt: skip


def test_verify_ends_with_1_where_a_file_is_damaged_and_run_mends_it(call: Call, project: Project) -> None:
    project.run()
    assert call("verify", "run").stdout == "run: every file is as its manifest says\n"
    assert json.loads(call("verify", "run", "--deep", "--json").stdout) == {"run": "run", "faults": []}
    victim = Path("run/curated") / f"{project.shards()[0]}.parquet"
    victim.write_bytes(b"damaged")
    result = call("verify", "run")
    assert result.exit_code == 1
    assert result.stdout == f"{victim.relative_to('run')} is missing or its bytes have changed\n"
    assert "1 faults in run" in result.stderr and "`curate run` computes damaged files again" in result.stderr
    data = call("verify", "run", "--json")
    assert data.exit_code == 1 and len(json.loads(data.stdout)["faults"]) == 1
    assert call("run", "config.yaml", "--run-dir", "run", "--allow-code", "--workers", "1").exit_code == 0
    assert call("verify", "run").exit_code == 0


def test_clean_names_what_it_took_away(call: Call, project: Project) -> None:
    project.run()
    Path("run/words/.tmp-9-x").write_bytes(b"half")
    assert call("clean", "run").stdout == "removed words/.tmp-9-x\n1 removed\n"
    assert json.loads(call("clean", "run", "--json").stdout) == {"run": "run", "removed": []}


def test_nothing_but_messages_goes_to_stderr_when_it_is_no_terminal(project: Project) -> None:
    arguments = ("run", "config.yaml", "--allow-code", "--workers", "2", "--json")
    done = curate(*arguments, cwd=project.folder, start="")  # with the kernels, as a user starts it
    assert done.returncode == 0
    assert all(line.startswith("curate: compiling kernels") for line in done.stderr.splitlines())
    assert set(json.loads(done.stdout)) >= {"run", "computed", "reused", "provenance"}


def test_a_terminal_gets_bars_and_is_left_as_it_was(project: Project) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command("run", "config.yaml", "--allow-code", "--workers", "1"),
        cwd=project.folder,
        env=environment(TERM="xterm", TOY_SECONDS="0.1"),
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    assert process.wait() == 0
    assert b"words measure" in seen
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l")  # the cursor is shown again


def test_the_api_gives_what_the_command_line_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import curate as package

    monkeypatch.chdir(tmp_path)
    whole(tmp_path)
    run = package.run("config.yaml", run_dir="run", workers=1, allow_code=True)
    assert len(run.computed) > 100 and run.reused == 0
    again = package.run("config.yaml", run_dir="run", workers=1, allow_code=True)
    assert (again.computed, again.provenance) == ((), run.provenance)
    opened = package.open("run")
    assert opened.sql("SELECT kept FROM stages WHERE stage = ?", ["ingest"]).fetchall() == [(60,)]
    assert opened.report() == run.report()
    assert repr(opened) == "Run('run')"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing
    from report.views import NoRunError

    with pytest.raises(NoRunError):
        package.open(tmp_path / "inputs")


def test_the_curve_of_the_bands_is_told_before_a_run_and_so_is_one_that_finds_too_little(
    project: Project, call: Call
) -> None:
    """DUP-04: 13 bands of 60 rows look careful and find hardly anything at 0.8."""
    project.config([{"ingest": {}}, {"minhash": {"permutations": 780, "bands": 13, "rows": 60}}])
    few = "13 bands of 60 rows find only 0.0% of pairs at the threshold"
    planned = call("plan", "config.yaml").stdout
    assert "minhash: 13 bands of 60 rows: of pairs with a Jaccard similarity they find" in planned
    assert "0.0% at 0.8, 2.3% at 0.9" in planned and few in planned
    assert call("run", "config.yaml", "--until", "ingest").stderr.startswith(f"curate: minhash: {few}")
    project.config([{"ingest": {}}, "minhash"])
    planned = call("plan", "config.yaml", "--json").stdout
    (curve,) = json.loads(planned)["foretold"]["minhash"]
    assert curve.startswith("16 bands of 8 rows") and "94.7% at 0.8" in curve


def test_a_trial_never_replaces_a_whole_run(project: Project, call: Call) -> None:
    assert call("run", "config.yaml", "--run-dir", "here", "--allow-code").exit_code == 0
    refused = call("run", "config.yaml", "--run-dir", "here", "--limit", "3", "--allow-code")
    assert refused.exit_code == 2
    assert "--limit: here holds a whole run, which a trial would replace: leave out --run-dir" in refused.stderr
    assert "nothing to compute" in call("run", "config.yaml", "--run-dir", "here", "--allow-code").stdout
    assert call("run", "config.yaml", "--run-dir", "trial", "--limit", "3", "--allow-code").exit_code == 0
