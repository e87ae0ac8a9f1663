"""A config that cannot run stops before any work, with file, line, key, what is wrong and the nearest valid name."""

from __future__ import annotations

from pathlib import Path

import pytest
from toys import Project, small

from pipeline.config import ConfigError, RunConfig, load
from stages.registry import registry

HEAD = "name: toy\nsources:\n  - {name: notes, path: notes.jsonl, license: CC0-1.0}\n"
STAGES = "stages:\n  - ingest: {shard_rows: 64}\n"


def check(folder: Path, text: str, *overrides: str, allow_code: bool = True) -> RunConfig:
    for name in ("notes.jsonl", "x", "a", "b"):  # the inputs that these configs name
        (folder / name).touch()
    path = folder / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path, registry(allow_code, folder), overrides)


# name of the case: (text, line, key, pieces of the message)
WRONG: dict[str, tuple[str, int | None, str, list[str]]] = {
    "unknown top-level key": (HEAD + "memroy: 4GB\n" + STAGES, 4, "memroy", ["unknown key", "did you mean 'memory'?"]),
    "unknown top-level key far from all": (
        HEAD + "qqq: 1\n" + STAGES,
        4,
        "qqq",
        ["unknown key", "known here: max_quarantine_share, memory, name, sources, stages, tokenizer"],
    ),
    "unknown key of a source": (
        "name: toy\nsources:\n  - name: notes\n    path: a\n    licence: MIT\n" + STAGES,
        5,
        "sources.licence",
        ["unknown key", "did you mean 'license'?"],
    ),
    "unknown stage": (HEAD + STAGES + "  - langage: {}\n", 6, "langage", ["unknown stage", "did you mean 'language'?"]),
    "unknown setting of a stage": (
        HEAD + STAGES + "  - license:\n      alow: [MIT]\n",
        7,
        "stages.license.alow",
        ["unknown key", "did you mean 'allow'?"],
    ),
    "unknown nested setting": (
        HEAD + STAGES + "  - toy_stages:Words:\n      reader:\n        dept: 2\n",
        8,
        "stages.toy_stages:Words.reader.dept",
        ["unknown key", "did you mean 'depth'?"],
    ),
    "wrong type": (
        HEAD + "stages:\n  - ingest:\n      shard_rows: many\n",
        6,
        "stages.ingest.shard_rows",
        ["valid integer", "got 'many'"],
    ),
    "wrong type where several are allowed": (
        "name: toy\nsources:\n  - name: notes\n    path: 5\n" + STAGES,
        4,
        "sources.path",
        ["valid string", "got 5"],
    ),
    "number out of range": (
        HEAD + "max_quarantine_share: 1.5\n" + STAGES,
        4,
        "max_quarantine_share",
        ["less than or equal to 1", "got 1.5"],
    ),
    "not a number": (
        HEAD + STAGES + "  - toy_stages:Words: {min_words: .inf}\n",
        6,
        "stages.toy_stages:Words.min_words",
        ["finite"],
    ),
    "missing setting": (HEAD + STAGES + "  - license: {}\n", 6, "stages.license.allow", ["is required"]),
    "missing key of a source": (
        "name: toy\nsources:\n  - {name: notes}\n" + STAGES,
        3,
        "sources.path",
        ["is required"],
    ),
    "missing name": (HEAD.removeprefix("name: toy\n") + STAGES, None, "name", ["is required"]),
    "missing sources": ("name: toy\n" + STAGES, None, "sources", ["is required"]),
    "no sources": ("name: toy\nsources: []\n" + STAGES, 2, "sources", ["at least 1 item"]),
    "key given twice": (HEAD + STAGES + "name: other\n", 6, "name", ["stands here twice"]),
    "setting given twice": (HEAD + "stages:\n  - ingest: {shard_rows: 1, shard_rows: 2}\n", 5, "shard_rows", ["twice"]),
    "two sources of one name": (
        "name: toy\nsources:\n  - {name: a, path: x}\n  - {name: a, path: y}\n" + STAGES,
        4,
        "sources.name",
        ["two sources are called 'a'"],
    ),
    "both ways of a licence": (
        "name: toy\nsources:\n  - {name: a, path: x, license: MIT, license_field: l}\n" + STAGES,
        3,
        "sources",
        ["'a'", "`license` or `license_field`, not both"],
    ),
    "a name that is no folder name": (HEAD.replace("toy", "../toy") + STAGES, 1, "name", ["pattern", "got '../toy'"]),
    "bad YAML": (HEAD + "stages: [\n", 5, "", ["expected the node content"]),
    "a tab": (HEAD + "\tstages: 1\n", 4, "", ["cannot start any token"]),
    "a date that is none": (
        "name: toy\nsources:\n  - {name: a, path: x, version: 2024-13-45}\n" + STAGES,
        3,
        "sources.version",
        ["put it in quotes"],
    ),
    "an alias of itself": ("name: &a [*a]\n", 1, "", ["refers to itself"]),
    "an object of Python": ("name: !!python/name:os.system\n", 1, "", ["could not determine a constructor"]),
    "an empty file": ("", 1, "", ["a config is a mapping"]),
    "a list": ("- a\n", 1, "", ["a config is a mapping"]),
    "no read as a boolean": (
        "name: no\n" + HEAD.removeprefix("name: toy\n") + STAGES,
        1,
        "name",
        ["reads an unquoted yes/no", "False", "quotes"],
    ),
    "no read as a boolean in a list": (
        HEAD + STAGES + "  - language: {keep: [no]}\n",
        6,
        "stages.language.keep",
        ["quotes", "Norwegian"],
    ),
    "an unknown language": (
        HEAD + STAGES + "  - language: {keep: [eng]}\n",
        6,
        "stages.language.keep",
        ["'eng' is no language code", "did you mean 'en'?"],
    ),
    "an unknown licence": (
        HEAD + STAGES + "  - license: {allow: [CC0]}\n",
        6,
        "stages.license.allow",
        ["'CC0' is no SPDX licence id", "did you mean"],
    ),
    "a stage twice": (
        HEAD + STAGES + "  - language: {}\n  - language: {}\n",
        7,
        "language",
        ["stands twice", "`as: NAME`"],
    ),
    "a name of its own that is none": (
        HEAD + STAGES + "  - language: {as: ../x}\n",
        6,
        "stages.language.as",
        ["'../x' is no name"],
    ),
    "a name that a closing step has": (
        HEAD + STAGES + "  - language: {as: curated}\n",
        None,
        "curated",
        ["is the name of a closing step", "as: NAME"],
    ),
    "stages empty": (HEAD + "stages: []\n", 4, "stages", ["a list of stages is required", "`ingest`"]),
    "stages missing": (HEAD, None, "stages", ["a list of stages is required"]),
    "stages a mapping": (HEAD + "stages: {ingest: {}}\n", 4, "stages", ["a list of stages is required"]),
    "a stage of two keys": (HEAD + "stages:\n  - {ingest: {}, license: {}}\n", 5, "stages", ["`- name: {settings}`"]),
    "a stage that is a number": (HEAD + "stages:\n  - 5\n", 5, "stages", ["`- name: {settings}`", "not 5"]),
    "settings that are none": (
        HEAD + "stages:\n  - ingest: 5\n",
        5,
        "stages.ingest",
        ["needs settings (key: value), not 5"],
    ),
    "no ingest": (HEAD + "stages:\n  - language: {}\n", 5, "language", ["the first stage", "`- ingest: {}`"]),
    "ingest not first": (HEAD + "stages:\n  - language: {}\n  - ingest: {}\n", 5, "language", ["the first stage"]),
    "ingest twice": (HEAD + STAGES + "  - ingest: {as: again}\n", 6, "again", ["no other, reads the sources"]),
    "a closing step in the list": (
        HEAD + STAGES + "  - curated: {}\n",
        6,
        "curated",
        ["is added at the end by itself"],
    ),
    "an encoding that is none": (
        "name: toy\nsources:\n  - {name: a, path: x, encoding: klingon}\n" + STAGES,
        5,
        "ingest",
        ["'klingon' is no charset"],
    ),
    "a module that is not there": (
        HEAD + STAGES + "  - no_such:Thing: {}\n",
        6,
        "",
        ["no_such:Thing: cannot be imported"],
    ),
    "a class that is not there": (
        HEAD + STAGES + "  - toy_stages:Wrods: {}\n",
        6,
        "",
        ["toy_stages:Wrods: cannot be imported"],
    ),
    "a class that is no stage": (HEAD + STAGES + "  - pathlib:Path: {}\n", 6, "", ["pathlib:Path: is no stage"]),
}


@pytest.mark.parametrize("case", sorted(WRONG))
def test_what_is_wrong_in_a_config_is_said_with_file_line_key_and_a_remedy(tmp_path: Path, case: str) -> None:
    text, line, key, pieces = WRONG[case]
    with pytest.raises(ConfigError) as caught:
        check(tmp_path, text)
    error = caught.value
    if line is not None:
        assert error.line == line
        assert str(error).startswith(f"{tmp_path / 'config.yaml'}:{line}: ")
    else:
        assert str(error).startswith(f"{tmp_path / 'config.yaml'}")
    if key:
        assert error.key == key
    for piece in pieces:
        assert piece in str(error)


def test_a_stage_of_ones_own_needs_leave_to_run_code(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="allow it with --allow-code"):
        check(tmp_path, HEAD + STAGES + "  - toy_stages:Words: {}\n", allow_code=False)
    assert check(tmp_path, HEAD + STAGES + "  - toy_stages:Words: {}\n").stages[1].name == "words"


@pytest.mark.parametrize(
    ("override", "pieces"),
    [
        ("language.keep=[en]", ["--set names no stage or source of this config: language"]),
        ("sources.nots.weight=2", ["--set names no stage or source"]),
        ("shard_rows", ["write --set KEY=VALUE", "gopher.min_words=30"]),
        ("=3", ["write --set KEY=VALUE"]),
        ("ingest.shard_rows=[", ["the value is not YAML"]),
        ("ingest.shard_rws=3", ["stages.ingest.shard_rws", "did you mean 'shard_rows'?"]),
        ("ingest.shard_rows=x", ["stages.ingest.shard_rows", "got 'x'"]),
        ("ingest.shard_rows.deep=3", ["shard_rows holds no settings"]),
        ("memroy=4GB", ["memroy", "did you mean 'memory'?"]),
    ],
)
def test_a_wrong_set_says_what_it_should_be(tmp_path: Path, override: str, pieces: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        check(tmp_path, HEAD + STAGES, override)
    for piece in pieces:
        assert piece in str(caught.value)


@pytest.mark.parametrize(
    "stages", ["stages:\n  - {}\n", "stages:\n  - 5\n", "stages: ingest\n", "", "sources: 5\nstages: 5\n"]
)
def test_a_set_on_a_broken_config_is_a_message_too(tmp_path: Path, stages: str) -> None:
    with pytest.raises(ConfigError):
        check(tmp_path, (HEAD if "sources" not in stages else "name: x\n") + stages, "words.min_words=1")
    with pytest.raises(ConfigError):
        check(tmp_path, (HEAD if "sources" not in stages else "name: x\n") + stages, "sources.notes.weight=1")


def test_set_reaches_stages_sources_and_top_level_keys(tmp_path: Path) -> None:
    text = HEAD + STAGES + "  - language\n  - toy_stages:Words: {as: short}\n  - toy_stages:Vowels: {}\n"
    overrides = [
        "language.keep=[zh]",
        "short.reader.depth=3",
        "vowels.min_vowels=2",
        "sources.notes.weight=2.5",
        "name=other",
    ]
    config = check(tmp_path, text, *overrides)
    params = {use.name: use.params for use in config.stages}
    assert params["language"].keep == ("zh",)
    assert params["short"].reader.depth == 3
    assert params["vowels"].min_vowels == 2
    assert config.settings.sources[0].weight == 2.5
    assert config.settings.name == "other"


@pytest.mark.parametrize(
    ("given", "size"),
    [("4GB", 4 << 30), ("500MB", 500 << 20), ("1.5 gb", 3 << 29), ("0.001TB", int(0.001 * (1 << 40)))],
)
def test_memory_sizes_may_be_written_for_people(tmp_path: Path, given: str, size: int) -> None:
    assert check(tmp_path, HEAD + STAGES, f"memory={given}").settings.memory == size


@pytest.mark.parametrize("given", ["4", "4 apples", "GB", "infGB", "'512'", "1KB", "-2GB", "true"])
def test_a_memory_size_that_is_none_or_too_small_is_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check(tmp_path, HEAD + f"memory: {given}\n" + STAGES)
    assert (caught.value.line, caught.value.key) == (4, "memory")


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        (HEAD + f"max_quarantine_share: {1 << 63}\n" + STAGES, 4, "max_quarantine_share"),
        (HEAD + "stages:\n  - ingest:\n      shard_rows: -9999999999999999999\n", 6, "stages.ingest.shard_rows"),
    ],
)
def test_a_number_beyond_64_bits_is_refused_with_its_place(tmp_path: Path, text: str, line: int, key: str) -> None:
    with pytest.raises(ConfigError, match="is too large; no setting takes more than 9223372036854775807") as caught:
        check(tmp_path, text)
    assert (caught.value.line, caught.value.key) == (line, key)


def test_a_value_that_is_no_yaml_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the value is not YAML: .*; put it in quotes") as caught:
        check(tmp_path, HEAD + STAGES, "name={")
    assert "\n" not in str(caught.value)


def test_a_source_without_a_path_is_refused(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.config(sources=[{"name": "notes", "path": []}])
    with pytest.raises(ConfigError, match=r"sources\.path: the list of paths is empty; give a path or a glob"):
        project.checked()


def test_a_config_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.yaml: there is no such config; check the path"):
        load(tmp_path / "absent.yaml", registry())
    with pytest.raises(ConfigError, match=r"is a folder; give the config in it"):
        load(tmp_path, registry())
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9\n")
    with pytest.raises(ConfigError, match=r"latin\.yaml: is no UTF-8 text \(byte 9\); save it as UTF-8"):
        load(tmp_path / "latin.yaml", registry())


def test_a_byte_order_mark_in_front_of_a_config_does_no_harm(tmp_path: Path) -> None:
    assert check(tmp_path, "\ufeff" + HEAD + STAGES).settings.name == "toy"


@pytest.mark.parametrize("path", ["inputs/absent.jsonl", "inputs/*.parquet", "inputs"])
def test_an_input_that_is_not_there_stops_the_run_and_names_pattern_and_folder(tmp_path: Path, path: str) -> None:
    project = small(tmp_path)
    project.config(sources=[{"name": "notes", "path": path}])
    with pytest.raises(ConfigError) as caught:
        project.run()
    assert caught.value.line is not None and caught.value.key == "sources.path"
    assert f"no file matches {path!r} (looked in {tmp_path})" in caught.value.message


def test_paths_are_relative_to_the_config_file_and_labels_do_not_depend_on_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path / "project")
    project.write(".hidden.jsonl", ["one"])
    project.write("inputs/more.jsonl", ["two"])
    sources = [{"name": "a", "path": ".hidden.jsonl"}, {"name": "b", "path": [".hidden.jsonl", "inputs/*.jsonl"]}]
    project.config(sources=sources)
    monkeypatch.chdir(tmp_path)
    project.run(tmp_path / "far", until="ingest")
    monkeypatch.chdir(project.folder)
    Project(Path()).run(tmp_path / "near", until="ingest")
    far, near = (sorted(p.name for p in (tmp_path / d / "ingest" / "documents").iterdir()) for d in ("far", "near"))
    assert far == near


def test_a_file_that_two_patterns_match_is_read_once(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.config(sources=[{"name": "notes", "path": ["inputs/*.jsonl", "inputs/notes.jsonl"]}])
    project.run(until="ingest")
    assert len(list((tmp_path / "run" / "ingest" / "read").glob("*.json"))) == 1


def test_priority_goes_before_the_order_of_declaration(tmp_path: Path) -> None:
    text = "name: t\nsources:\n" + "".join(
        f"  - {{name: {n}, path: x{p}}}\n"
        for n, p in [("a", ""), ("b", ", priority: 2"), ("c", ", priority: 1"), ("d", "")]
    )
    assert check(tmp_path, text + STAGES).source_order() == ("c", "b", "a", "d")


def test_closing_steps_come_last_by_themselves(tmp_path: Path) -> None:
    assert [use.name for use in check(tmp_path, HEAD + STAGES + "  - language\n").stages] == [
        "ingest",
        "language",
        "curated",
    ]


def test_a_link_to_nothing_that_a_pattern_matches_is_an_error_before_any_work(tmp_path: Path) -> None:
    project = small(tmp_path)
    (tmp_path / "inputs/lost.jsonl").symlink_to(tmp_path / "nowhere")
    project.config(sources=[{"name": "notes", "path": "inputs/*.jsonl"}])
    with pytest.raises(ConfigError) as caught:
        project.run()
    assert caught.value.message == (
        "'inputs/lost.jsonl', which 'inputs/*.jsonl' matches, is a link to nothing: remove or mend it"
    )
