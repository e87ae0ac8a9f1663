"""Held-out text lies inside a band fitted on a mixture; shuffled copies, chains and another register lie outside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.perplexity_bands import SHARE, experiment
from stages.perplexity import Perplexity, PerplexityParams

DATA = Path(os.environ.get("CURATE_TEST_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
FILES = ["trusted/en.jsonl.zst", "trusted/zh.jsonl.zst", "web/classical-zh-400.jsonl.zst"]
ABSENT = [name for name in FILES if not (DATA / name).is_file()]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(ABSENT), reason=f"no real text: {', '.join(ABSENT)} absent (set CURATE_TEST_DATA)"),
]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nineteen_in_twenty_lie_where_they_belong(language: str, tmp_path: Path) -> None:
    file = str(DATA / f"trusted/{language}.jsonl.zst")
    reference = [{"path": [file], "language": language, "sample": {"share": SHARE}}]
    Perplexity.prepare(PerplexityParams.model_validate({"reference": reference}), tmp_path)
    found, (low, high) = experiment(DATA, language, tmp_path)

    def share(name: str, below: bool, inside: bool, above: bool) -> float:
        sides = [below if v < low else above if v > high else inside for v in found[name]]
        return sum(sides) / len(sides)

    assert share("held out", False, True, False) >= 0.95
    assert share("shuffled", False, False, True) >= 0.95
    assert share("repetition", False, True, False) > 0.5  # repetition is another rule's business
    for made in ("chained", "notices", "mixed"):  # of the reference's most frequent 5-grams and its licence notices
        assert len(found[made]) == 200 and share(made, True, False, False) >= 0.95
    if language == "zh":
        assert share("classical", True, False, True) >= 0.95
    elif found["licences"]:  # licences the reference does not hold are no boilerplate to the model
        assert share("licences", False, False, True) >= 0.95
