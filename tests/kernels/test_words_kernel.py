"""The word classes of the kernels, as data: they are those of the installed `regex` module."""

from __future__ import annotations

import numpy as np
import pytest
import regex

from kernels import word_tables as words


def test_the_stored_classes_are_what_the_regex_module_says() -> None:
    built = words.build_classes()
    stored = words.class_table()
    differ = np.flatnonzero(built != stored)
    if len(differ) and regex.__version__ != "2026.11.19":
        pytest.skip(f"regex {regex.__version__} has another Unicode version than the stored classes")
    assert not len(differ)


def test_a_table_that_does_not_match_its_digest_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "DIGEST", "0" * 32)
    words.class_table.cache_clear()
    try:
        with pytest.raises(ValueError, match="install the package again"):
            words.class_table()
    finally:
        words.class_table.cache_clear()


def test_a_unit_takes_three_bytes_or_more() -> None:
    """The word buffers are sized by it."""
    assert not np.any(words.class_table()[:0x800] & words.UNIT)


def test_the_table_is_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        words.class_table()[0] = 1
