import numpy as np
import pytest

from kernels import unicode_tables as tables


def test_the_committed_table_equals_a_rebuild_of_the_same_unicode_version():
    table, unicode = tables.load_classes()
    installed = tables.regex_unicode_version()
    if installed != unicode:
        pytest.skip(f"the regex module has Unicode {installed}, the committed table {unicode}")
    assert np.array_equal(tables.build_classes(), table)


def test_the_table_knows_the_classes_of_some_characters():
    table, _ = tables.load_classes()
    expected = {
        "a": tables.LOWER,
        "A": tables.UPPER,
        "ǅ": tables.UPPER,
        "日": tables.UNCASED,
        "ʰ": tables.UNCASED,
        "\u0301": tables.MARK,
        "½": tables.DIGIT,
        "\u3000": tables.SPACE,
        "\r": tables.NEWLINE,
        " ": tables.BLANK,
        "'": tables.QUOTE,
        "/": tables.SLASH,
        "!": tables.OTHER,
        "\x1c": tables.OTHER,
    }
    assert {c: int(table[ord(c)]) for c in expected} == expected


def test_a_table_survives_saving_and_loading(tmp_path):
    table, _ = tables.load_classes()
    tables.save_classes(table, "1.2.3", tmp_path / "t.npz")
    again, unicode = tables.load_classes(tmp_path / "t.npz")
    assert np.array_equal(again, table) and unicode == "1.2.3"


def test_a_damaged_table_is_refused_with_what_to_do(tmp_path):
    table, _ = tables.load_classes()
    tables.save_classes(table, "1.2.3", tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz") as data:
        parts = {name: data[name] for name in data.files}
    parts["classes"] = parts["classes"].copy()
    parts["classes"][5] ^= 1
    np.savez_compressed(tmp_path / "t.npz", **parts)
    with pytest.raises(tables.TableError, match=r"t\.npz.*rebuild it with"):
        tables.load_classes(tmp_path / "t.npz")
