"""Every written failure of a comparable tool has a test that names it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
DATA = Path(os.environ.get("CURATE_TEST_DATA", TESTS.parent.parent / "shared" / "data"))
CASES = DATA.parent / "cases" / "cases.jsonl"


def named(ids: set[str], folder: Path) -> set[str]:
    """Those of the ids that stand in some test file."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))
    return ids & set(re.findall(r"\b[A-Z]{3}-\d\d\b", text))


def test_every_written_case_is_named_by_a_test() -> None:
    if not CASES.is_file():
        pytest.skip(f"the written cases are not here: {CASES} (beside the folder of CURATE_TEST_DATA)")
    lines = CASES.read_text(encoding="utf-8").split("\n")
    ids = {json.loads(line)["id"] for line in lines if line}
    assert len(ids) >= 62
    assert sorted(ids - named(ids, TESTS)) == [], "write a test with the input and the expected values of these cases"


def test_the_search_finds_what_is_named_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        '"""' + "-".join(("ABC", "01")) + ': one; and in an id: "' + "DEF-02-1" + '"."""\n'
    )
    assert named({"ABC-01", "DEF-02", "GHI-03"}, tmp_path) == {"ABC-01", "DEF-02"}
