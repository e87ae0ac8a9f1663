"""The README shows the real result of `make small`."""

from __future__ import annotations

import io

from rich.console import Console
from sample.small import ROOT

import curate
from report.funnel import table


def funnel_text(run: curate.Run) -> str:
    """The funnel as it prints on a terminal of 100 columns."""
    out = io.StringIO()
    Console(file=out, width=100, highlight=False).print(table(run.report()))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def test_the_readme_shows_the_funnel_that_the_run_gives(run: curate.Run) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = readme.split("<!-- funnel: begin -->")[1].split("<!-- funnel: end -->")[0].strip().strip("`").strip("\n")
    assert shown == funnel_text(run), "README.md: put the funnel of the run between its marks"
