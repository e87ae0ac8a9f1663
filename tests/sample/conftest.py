"""The sample's run, once for all tests of this folder."""

from __future__ import annotations

import pytest
from sample.small import small_run

import curate


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> curate.Run:
    return small_run(tmp_path_factory.mktemp("runs") / "small")
