"""Fixtures for the tests of report."""

from __future__ import annotations

import os

import pytest
import toy_stages


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process nothing waits for the disk; that files are synced at all is a test of its own."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(autouse=True)
def _nothing_given() -> None:
    toy_stages.GIVEN.clear()
