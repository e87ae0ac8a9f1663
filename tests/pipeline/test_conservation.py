"""No document appears or vanishes: a stage that breaks its contract fails by name, and counts add up."""

from __future__ import annotations

from pathlib import Path

import pytest
from toys import documents, manifests, small, whole

from pipeline.engines import TaskError
from pipeline.manifest import ConservationError, Counts

UNDECIDED = r"decided \d+ documents of \d+: each needs a verdict, keep or drop"
NAMELESS = r"dropped a document without naming the rule"
RETURNED = r"an editor gives back every document it was given \(\d+\), in the same order"
FAULTS = {
    "FewMeasures": r"few_measures/measures/part-notes-\S+: ValueError: measured \d+ documents of \d+: one row each is",
    "FewVerdicts": r"few_verdicts/verdicts/part-notes-\S+: ValueError: " + UNDECIDED,
    "Undecided": r"undecided/verdicts/\S+: ValueError: " + UNDECIDED,
    "NoRule": r"no_rule/verdicts/\S+: ValueError: " + NAMELESS,
    "WrongColumn": r"wrong_column/measures/\S+: ValueError: the stage left out the columns words",
    "Raises": r"raises/measures/\S+: RuntimeError: this document is beyond me",
    "FewDocuments": r"few_documents/documents/\S+: ValueError: " + RETURNED,
    "FewEditVerdicts": r"few_edit_verdicts/documents/\S+: ValueError: " + UNDECIDED,
    "Shuffles": r"shuffles/documents/\S+: ValueError: " + RETURNED,
    "DropsUnnamed": r"drops_unnamed/documents/\S+: ValueError: " + NAMELESS,
}


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_stage_that_breaks_its_contract_fails_by_task_and_says_how(tmp_path: Path, fault: str) -> None:
    project = small(tmp_path, [{"ingest": {"shard_rows": 64}}, f"toy_faults:{fault}"], documents=12)
    with pytest.raises(TaskError, match=FAULTS[fault]) as caught:
        project.run()
    assert "Traceback" in caught.value.details


def test_a_task_that_fails_in_a_worker_process_says_the_same(tmp_path: Path) -> None:
    project = small(tmp_path, [{"ingest": {"shard_rows": 64}}, "toy_faults:Raises"], documents=12)
    with pytest.raises(TaskError, match=FAULTS["Raises"]) as caught:
        project.run(workers=2)
    assert "in measure" in caught.value.details


def test_a_worker_that_dies_is_an_error_and_what_was_finished_is_kept(tmp_path: Path) -> None:
    project = small(tmp_path, [{"ingest": {"shard_rows": 64}}, "toy_faults:Dies"], documents=12)
    with pytest.raises(
        TaskError, match=r"dies: a worker process died \(killed, or out of memory; or a script .* without `if __name__"
    ):
        project.run(workers=2)
    project.config([{"ingest": {"shard_rows": 64}}])
    assert {n.split("/")[0] for n in project.run().computed} == {"curated"}


def test_counts_add_up_at_every_stage_and_from_stage_to_stage(tmp_path: Path) -> None:
    project = whole(tmp_path)
    project.run()
    found = manifests(tmp_path / "run")
    order = [entry["stage"] for entry in found["provenance"]["manifests"]]
    assert order == ["ingest", "license", "language", "words", "vowels", "typical", "exact_dedup", "redact", "curated"]
    left = None
    for stage in order:
        counts = found[stage]["counts"]
        lost = sum(counts["dropped"].values()) + sum(counts["quarantined"].values())
        assert counts["documents_in"] == counts["kept"] + lost
        if left is not None:
            assert (counts["documents_in"], counts["bytes_in"]) == left
        left = (counts["kept"], counts["bytes_kept"])
    assert found["redact"]["counts"]["bytes_kept"] == sum(
        len(r["text"].encode()) for r in documents(tmp_path / "run", "redact")
    )
    reasons = {stage: sorted(found[stage]["counts"]["dropped"]) for stage in order}
    assert reasons["language"] == ["language_not_kept"]
    assert reasons["words"] == ["too_few"]
    assert reasons["typical"] == ["untypical"]
    assert reasons["exact_dedup"] == ["exact_duplicate"]
    assert reasons["redact"] == ["short_after_edit"]
    assert found["ingest"]["counts"]["quarantined"] == {"bad_json": 1}


def test_counts_that_do_not_add_up_are_an_error_with_both_numbers() -> None:
    with pytest.raises(ConservationError, match="words: 10 documents came in, 9 are accounted for"):
        Counts(10, 7, {"too_few": 2}).check("words")


def test_a_run_over_nothing_but_empty_files_ends_with_empty_tables(tmp_path: Path) -> None:
    project = whole(tmp_path)
    for path in (tmp_path / "inputs").rglob("*.*"):
        path.write_text("")
    project.run()
    assert manifests(tmp_path / "run")["curated"]["counts"]["kept"] == 0
    assert project.run().computed == ()
