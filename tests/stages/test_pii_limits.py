"""The recognisers under hostile text, without network, and without an import that nobody asked for."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from stages.pii import PIIParams, find

DEFAULT = PIIParams()
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("dotted letters", "b." * 40_000 + "#", 0),
        ("dotted letters and an at", "b." * 40_000 + "@", 0),
        ("dotted digits", "2.2.2." * 8_000, 0),
        ("a page of digits", "1" * 80_000, 0),
        ("digits and blanks", "12 " * 30_000, 0),
        ("ats", "a@" * 40_000, 0),
        ("colons", "a:" * 40_000, 0),
        ("capitals", "A" * 80_000, 0),
        ("iban heads", "GB12" * 20_000, 0),
        ("names", "1 " + "Aa " * 30_000, 0),
        ("han", "路1" * 40_000, 0),
        ("key heads", "-----BEGIN PRIVATE KEY----- " * 3_000, 3_000),
        ("slashes", "://" * 30_000 + "@", 0),
        ("web token heads", "eyJ" * 30_000 + ".", 0),
        ("parentheses", "(" * 80_000, 0),
        ("addresses", "81.2.69.142 " * 5_000, 5_000),
    ],
)
def test_hostile_text_takes_linear_time(name: str, text: str, expected: int) -> None:
    find("a@example.org " * 200, DEFAULT)  # Presidio is imported, the scan compiled
    began = time.process_time()
    assert len(find(text, DEFAULT)) == expected
    assert time.process_time() - began < 1.0, name


def test_an_address_behind_a_long_run_is_not_hidden() -> None:
    text = "Q" * 70 + "kim@example.org"
    assert [text[s.start : s.end] for s in find(text, DEFAULT)] == [text]
    text = "Q" * 700 + "kim@example.org"
    assert [s.end for s in find(text, DEFAULT)] == [len(text)]


def test_nothing_reaches_for_the_network_or_the_cache_folder(tmp_path: Path) -> None:
    program = (
        "import socket\n"
        "def refuse(*_, **__): raise AssertionError('network')\n"
        "socket.socket.connect = refuse\n"
        "socket.create_connection = socket.getaddrinfo = refuse\n"
        "from stages.pii import mask\n"
        "print(mask('zoe@example.org +1 415 555 0199 219-09-9999 912-71-1234 DE89370400440532013000'))\n"
    )
    home = tmp_path / "home"
    home.mkdir()
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={"HOME": str(home), "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path / "kernels")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout == "<|email|> <|phone|> <|ssn|> <|itin|> <|iban|>\n", result.stderr
    assert list(home.rglob("*")) == []


def test_importing_the_package_does_not_import_presidio() -> None:
    program = "import sys, stages.pii; print('presidio_analyzer' in sys.modules, 'spacy' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout == "False False\n"
