"""What a run computes again after a change, by the exact names of the tasks, and what it takes over."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from toy_stages import GIVEN
from toys import (
    PLAIN,
    REDACT,
    WORDS,
    Interrupting,
    Project,
    Watching,
    contents,
    documents,
    files,
    manifests,
    small,
    texts,
    whole,
)

from pipeline.execution import Policy, StrictError
from pipeline.manifest import read_manifest
from pipeline.runner import clean
from pipeline.storage import read_table

LISTED = "toy_stages:Listed"
JUDGES = ("words/measures", "words/verdicts", "vowels/measures", "vowels/verdicts")


def counts(project: Project) -> dict[str, int]:
    """Words of each document, as `words` counts them."""
    return {row["doc_id"]: len(row["text"].split()) for row in documents(project.folder / "run")}


def holding(project: Project, doc_ids: set[str]) -> list[str]:
    """Shards that hold any of these documents."""
    root = project.folder / "run" / "ingest" / "documents"
    return [
        s
        for s in project.shards()
        if doc_ids & set(read_table(root / f"{s}.parquet", ["doc_id"])["doc_id"].to_pylist())
    ]


def test_a_first_run_computes_each_task_once_and_a_second_run_none(tmp_path: Path) -> None:
    project = small(tmp_path)
    first = project.run()
    every = project.tasks("ingest/documents", *JUDGES, "redact/documents", "curated")
    read = {n for n in first.computed if n.startswith("ingest/read/")}
    assert len(read) == 1
    assert sorted(first.computed) == sorted(every | read)
    before = files(tmp_path / "run")
    second = project.run()
    assert (second.computed, second.reused, second.provenance) == ((), len(first.computed), first.provenance)
    assert files(tmp_path / "run") == before
    assert set(GIVEN["words"]) == set(counts(project)) and len(GIVEN["words"]) == len(counts(project))


def test_a_threshold_without_effect_only_decides_again(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run()
    GIVEN.clear()
    seen = Watching()
    outcome = project.run(overrides=["words.min_words=1"], observer=seen)
    assert set(outcome.computed) == project.tasks("words/verdicts")
    assert not GIVEN
    assert set(seen.reasons.values()) == {"setting min_words: 0.0 → 1.0"}


def test_a_higher_threshold_measures_nothing_and_touches_only_shards_that_lose_documents(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run()
    lost = {doc_id for doc_id, n in counts(project).items() if n < 8}
    touched = holding(project, lost)
    assert lost and 0 < len(touched) < len(project.shards())
    GIVEN.clear()
    outcome = project.run(overrides=["words.min_words=8"])
    later = project.tasks("vowels/measures", "vowels/verdicts", "redact/documents", "curated", shards=touched)
    assert set(outcome.computed) == project.tasks("words/verdicts") | later
    assert "words" not in GIVEN and GIVEN["vowels"] == []


def test_a_lower_threshold_measures_only_what_newly_survives(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run(overrides=["words.min_words=10"])
    new = {doc_id for doc_id, n in counts(project).items() if 8 <= n < 10}
    assert new
    GIVEN.clear()
    outcome = project.run(overrides=["words.min_words=8"])
    assert "words" not in GIVEN
    assert sorted(GIVEN["vowels"]) == sorted(new)
    touched = holding(project, new)
    later = project.tasks("vowels/measures", "vowels/verdicts", "redact/documents", "curated", shards=touched)
    assert set(outcome.computed) == project.tasks("words/verdicts") | later
    fresh = project.run("fresh", overrides=["words.min_words=8"])
    assert files(tmp_path / "fresh") == files(tmp_path / "run")
    assert fresh.provenance == outcome.provenance


def test_a_setting_that_reaches_measures_measures_again(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run()
    seen = Watching()
    outcome = project.run(overrides=["words.reader.depth=2"], observer=seen)
    assert set(outcome.computed) == project.tasks("words/measures", "words/verdicts")
    assert set(seen.reasons.values()) == {"setting reader.depth: 1 → 2"}


def test_a_setting_of_an_editor_edits_again_and_closes_only_shards_whose_text_changed(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run()
    outcome = project.run(overrides=["redact.word=pencil"])
    before_after = {row["doc_id"]: row["text"] for row in documents(tmp_path / "run", "redact")}
    assert all("pencil" not in text for text in before_after.values())
    changed = {r["doc_id"] for r in documents(tmp_path / "run") if "pencil" in r["text"] or "secret" in r["text"]}
    assert set(outcome.computed) == project.tasks("redact/documents") | project.tasks(
        "curated", shards=holding(project, changed)
    )


def test_one_changed_byte_recomputes_only_what_depends_on_it(tmp_path: Path) -> None:
    project = whole(tmp_path)
    first = project.run()
    page = tmp_path / "inputs/pages/one.txt"
    page.write_text(page.read_text().replace("Note", "Nose"))
    outcome = project.run()
    mine = {n for n in first.computed if "part-pages-one" in n}
    assert len(mine) > 10
    # state of a corpus-wide rule is fitted again; its content is the same here, so nobody else decides again
    assert set(outcome.computed) == mine | {"ingest/numbers/pages", "typical/state", "exact_dedup/state"}
    fresh = project.run("fresh")
    assert fresh.provenance == outcome.provenance
    assert manifests(tmp_path / "fresh") == manifests(tmp_path / "run")


def test_a_fitted_state_that_changes_decides_every_shard_again_and_no_more(tmp_path: Path) -> None:
    project = whole(tmp_path)
    project.run(overrides=["typical.factor=3"])
    page = tmp_path / "inputs/pages/one.txt"
    page.write_text(page.read_text() + " It is one sentence longer than it was.")
    others = [s for s in project.shards() if "part-pages-one" not in s]
    outcome = project.run(overrides=["typical.factor=3"])
    assert {n for n in outcome.computed if "part-pages-one" not in n} == (
        project.tasks("typical/verdicts", shards=others)
        | {"ingest/numbers/pages", "typical/state", "exact_dedup/state"}
    )


def test_a_new_judge_in_the_middle_leaves_the_others_alone_where_it_drops_nothing(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run()
    project.config([*PLAIN[:2], {"license": {"allow": ["CC0-1.0"]}}, *PLAIN[2:]])
    assert set(project.run().computed) == project.tasks("license/measures", "license/verdicts")


def test_a_stage_that_is_gone_stays_on_disk_until_clean(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run()
    project.config([PLAIN[0], WORDS, REDACT])
    assert project.run().computed == ()
    assert (tmp_path / "run" / "vowels").is_dir()
    (tmp_path / "run" / "words" / ".tmp-1-x").write_bytes(b"half")
    assert sorted(clean(tmp_path / "run")) == ["vowels", "words/.tmp-1-x"]
    assert not (tmp_path / "run" / "vowels").exists()
    assert project.run().computed == ()


def test_clean_keeps_later_stages_of_a_run_that_was_told_to_stop_early(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run()
    project.run(until="words")
    assert clean(tmp_path / "run") == []
    assert project.run().computed == ()


def test_a_stage_used_twice_has_two_folders_and_two_sets_of_tasks(tmp_path: Path) -> None:
    project = small(tmp_path, [PLAIN[0], WORDS, {WORDS: {"as": "again", "max_words": 15}}])
    outcome = project.run()
    assert project.tasks("words/verdicts", "again/verdicts") <= set(outcome.computed)
    assert read_manifest(tmp_path / "run", "again")["counts"]["dropped"]["too_many"] > 0  # type: ignore[index]
    assert set(project.run(overrides=["again.max_words=14"]).computed) & project.tasks("words/verdicts") == set()


def test_folder_name_worker_count_and_engine_process_are_in_no_key(tmp_path: Path) -> None:
    project = small(tmp_path)
    first = project.run()
    shutil.move(tmp_path / "run", tmp_path / "elsewhere")
    again = project.run("elsewhere", workers=2)
    assert (again.computed, again.provenance) == ((), first.provenance)
    shutil.move(project.folder / "inputs", project.folder / "data")
    project.config(sources=[{"name": "notes", "path": "data/notes.jsonl", "license": "CC0-1.0"}])
    assert project.run("elsewhere").computed == ()


def test_weight_and_notes_of_a_source_are_in_no_key_before_the_tokenizer(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run()
    overrides = ["sources.notes.weight=3", "sources.notes.version='2'", "sources.notes.attribution=me", "memory=1GB"]
    assert project.run(overrides=overrides).computed == ()


def test_a_changed_licence_of_a_source_changes_its_documents(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run()
    seen = Watching()
    outcome = project.run(overrides=["sources.notes.license=MIT"], observer=seen)
    assert project.tasks("ingest/documents", "curated") <= set(outcome.computed)
    assert 'source setting license: "CC0-1.0" → "MIT"' in seen.reasons.values()


def test_an_auxiliary_file_counts_by_its_content_and_not_by_its_name(tmp_path: Path) -> None:
    project = small(tmp_path, [PLAIN[0], {LISTED: {"words": "list.txt"}}])
    project.write("list.txt", "river stone")
    assert "listed/artefact" in project.run().computed
    (tmp_path / "list.txt").rename(tmp_path / "renamed.txt")
    project.config([PLAIN[0], {LISTED: {"words": "renamed.txt"}}])
    assert project.run().computed == ()
    project.write("renamed.txt", "stone river\n")  # other bytes, the same artefact
    assert set(project.run().computed) == {"listed/artefact"} | project.tasks("listed/measures", "listed/verdicts")
    project.write("renamed.txt", "stone")
    assert set(project.run().computed) == {"listed/artefact"} | project.tasks("listed/measures", "listed/verdicts")
    assert {r["hits"] for r in rows(tmp_path / "run" / "listed" / "measures")} != {0}


def rows(folder: Path) -> list[dict[str, int]]:
    return [row for path in sorted(folder.glob("*.parquet")) for row in read_table(path).to_pylist()]


def test_strict_refuses_with_what_changed_and_leaves_the_run_as_it_was(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run(policy=Policy(strict=True))
    before = files(tmp_path / "run")
    with pytest.raises(StrictError) as caught:
        project.run(overrides=["words.min_words=8"], policy=Policy(strict=True))
    assert str(caught.value).startswith("--strict: this would be computed again: words/verdicts/part-notes-")
    assert "setting min_words: 0.0 → 8.0" in str(caught.value)
    assert f"(and {len(project.shards()) - 3} more)" in str(caught.value)
    assert files(tmp_path / "run") == before


def test_strict_lets_a_run_go_on_that_was_interrupted(tmp_path: Path) -> None:
    project = small(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        project.run(engine=Interrupting(9))
    assert project.run(policy=Policy(strict=True)).reused >= 9


def test_reuse_takes_matching_outputs_from_another_run(tmp_path: Path) -> None:
    project = whole(tmp_path)
    first = project.run()
    GIVEN.clear()
    other = project.run("other", policy=Policy(reuse=tmp_path / "run"))
    assert (other.computed, other.provenance) == ((), first.provenance)
    assert files(tmp_path / "other") == files(tmp_path / "run")
    third = project.run("third", overrides=["words.min_words=8"], policy=Policy(reuse=tmp_path / "run"))
    assert project.tasks("words/verdicts") <= set(third.computed)
    assert not {n for n in third.computed if n.startswith(("ingest/", "license/", "language/", "words/measures"))}
    assert "words" not in GIVEN


def test_reuse_takes_no_damaged_output(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run()
    shard = project.shards()[1]
    victim = tmp_path / "run" / "words" / "measures" / f"{shard}.parquet"
    victim.write_bytes(victim.read_bytes()[:-1])
    other = project.run("other", policy=Policy(reuse=tmp_path / "run"))
    assert other.computed == (f"words/measures/{shard}",)
    assert contents(tmp_path / "other") == contents(tmp_path / "run")


def test_a_plan_computes_nothing_writes_nothing_and_says_why(tmp_path: Path) -> None:
    project = small(tmp_path)
    dry = Policy(dry=True)
    assert project.run("plan", policy=dry).waiting == ("words", "vowels", "redact", "curated")
    assert not (tmp_path / "plan").exists()
    project.run()
    before = files(tmp_path / "run")
    assert project.run(policy=dry).waiting == ()
    seen = Watching()
    planned = project.run(policy=dry, overrides=["vowels.min_vowels=2"], observer=seen)
    assert planned.computed == ()
    assert planned.waiting == ("redact", "curated")
    assert set(seen.reasons) == project.tasks("vowels/verdicts")
    assert set(seen.reasons.values()) == {"setting min_vowels: 0.0 → 2.0"}
    assert files(tmp_path / "run") == before


def test_until_stops_after_a_stage_and_the_rest_follows_later(tmp_path: Path) -> None:
    project = small(tmp_path)
    first = project.run(until="words")
    assert {n.split("/")[0] for n in first.computed} == {"ingest", "words"}
    second = project.run()
    assert {n.split("/")[0] for n in second.computed} == {"vowels", "redact", "curated"}
    assert second.provenance == project.run("fresh").provenance


def test_a_trial_takes_about_as_many_documents_as_asked_and_the_same_ones(tmp_path: Path) -> None:
    project = whole(tmp_path)
    project.run("trial", limit=9)
    taken = [row["doc_id"] for row in documents(tmp_path / "trial")]
    assert len(taken) == 3 + 3 + 2  # three of each source, where it has them
    project.run()
    assert set(taken) <= {row["doc_id"] for row in documents(tmp_path / "run")}
    assert project.run("trial", limit=9).computed == ()


def test_a_trial_may_end_within_a_shard(tmp_path: Path) -> None:
    project = small(tmp_path)
    project.run("trial", limit=7)
    assert len(documents(tmp_path / "trial")) == 7
    assert read_manifest(tmp_path / "trial", "curated")["counts"]["kept"] == 7  # type: ignore[index]


def test_changed_settings_on_an_unfinished_run_leave_no_mixture(tmp_path: Path) -> None:
    """RES-02: a run with min_words 50 stops after two shards, another goes on with 80."""
    project = small(tmp_path)
    project.write("inputs/notes.jsonl", [" ".join(texts(9 * n, 3 + n % 6)) for n in range(40)])
    project.run("fresh", overrides=["words.min_words=80"])
    assert 0 < len(documents(tmp_path / "fresh", "redact")) < 40
    shards = len(project.shards("fresh"))
    with pytest.raises(KeyboardInterrupt):
        project.run(engine=Interrupting(1 + 2 * shards + 1), overrides=["words.min_words=50"])
    assert len(list((tmp_path / "run" / "words" / "verdicts").glob("*.json"))) == 2
    with pytest.raises(StrictError, match=r"setting min_words: 50\.0 → 80\.0"):
        project.run(overrides=["words.min_words=80"], policy=Policy(strict=True))
    seen = Watching()
    resumed = project.run(overrides=["words.min_words=80"], observer=seen)
    assert "setting min_words: 50.0 → 80.0" in seen.reasons.values()
    fresh = project.run("fresh", overrides=["words.min_words=80"])
    assert resumed.provenance == fresh.provenance
    assert files(tmp_path / "run") == files(tmp_path / "fresh")


def test_sidecars_hold_no_times_paths_or_machine_facts(tmp_path: Path) -> None:
    project = whole(tmp_path)
    project.run()
    for path in (tmp_path / "run").rglob("*.json"):
        if path.name != "run.json":
            text = path.read_text()
            assert str(tmp_path) not in text and "seconds" not in text and "pid" not in json.loads(text)
    assert sys.platform not in json.dumps(manifests(tmp_path / "run"))
