"""`curate sample --stage pii`: what stands round each entity, and never the entity."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from toys import Project

Call = Callable[..., Result]

TEXTS = [
    "The office of the harbour answers letters at zoe@example.org, and its telephone is +1 415 555 0199 all year.",
    "Nothing that anybody would have to hide stands in this second document, which is about rain and rivers.",
    "Server 81.2.69.142 keeps the older files; the literal <|email|> is a part of the manual, badge B-77 is not.",
]
PII = {"custom": [{"name": "badge", "pattern": "B-[0-9]+"}], "actions": {"ip": "keep"}}


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = Project(tmp_path_factory.mktemp("edited"))
    project.write("inputs/notes.jsonl", TEXTS)
    project.config(stages=[{"ingest": {}}, {"pii": PII}])
    project.run()
    return project.folder / "run"


def test_each_edit_is_shown_with_its_surroundings_masked(call: Call, edited: Path) -> None:
    rows = [
        json.loads(line) for line in call("sample", edited, "--stage", "pii", "-n", 9, "--json").stdout.splitlines()
    ]
    shown = {row["kind"]: (row["before"], row["inside"], row["after"]) for row in rows}
    assert shown["email"] == (
        "…ffice of the harbour answers letters at ",
        "<|email|>",
        ", and its telephone is <|phone|> all yea…",
    )
    assert shown["phone"][:2] == ("…ters at <|email|>, and its telephone is ", "<|phone|>")
    assert shown["ip"] == ("Server ", "[ip]", " keeps the older files; the literal <\u2060|e…")
    assert shown["badge"][1:] == ("<|badge|>", " is not.")
    assert {row["source"] for row in rows} == {"notes"}


def test_nothing_that_was_found_is_printed(call: Call, edited: Path) -> None:
    for flags in (["-n", 9], ["-n", 9, "--json"], ["--rule", "email"]):
        printed = call("sample", edited, "--stage", "pii", *flags).stdout
        assert printed
        for secret in ("zoe@", "555", "81.2", "B-77"):
            assert secret not in printed


def test_a_sample_for_people_names_kind_rule_and_place(call: Call, edited: Path) -> None:
    printed = call("sample", edited, "--stage", "pii", "--rule", "email").stdout
    assert "notes  text[45:60]" in printed
    assert "  email, email (1.00)" in printed
    assert "letters at ⟦<|email|>⟧, and" in printed


def test_one_kind_or_rule_can_be_asked_for(call: Call, edited: Path) -> None:
    for rule in ("ip", "ipv4"):
        rows = call("sample", edited, "--stage", "pii", "--rule", rule, "--json").stdout.splitlines()
        assert [json.loads(row)["kind"] for row in rows] == ["ip"]


def test_the_first_edit_of_each_document_comes_before_any_second(call: Call, edited: Path) -> None:
    rows = [
        json.loads(line) for line in call("sample", edited, "--stage", "pii", "-n", 2, "--json").stdout.splitlines()
    ]
    assert len({row["doc_id"] for row in rows}) == 2


def test_a_rule_that_changed_nothing_is_refused(call: Call, edited: Path) -> None:
    result = call("sample", edited, "--stage", "pii", "--rule", "iban")
    assert result.exit_code == 2
    assert "no document was dropped under a rule 'iban'" in result.stderr
