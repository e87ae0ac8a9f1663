import io
import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of third-party test data; tests that need it skip where it is absent."""
    folder = Path(os.environ.get("CURATE_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the shared data folder {folder} is absent")
    return folder


@pytest.fixture(scope="session")
def shared_texts(shared_data: Path) -> Callable[[str, int], list[str]]:
    """The first n texts of a JSON Lines file of the shared data."""

    def texts(name: str, n: int) -> list[str]:
        import zstandard

        with zstandard.open(shared_data / f"{name}.jsonl.zst", "rb") as stream:
            return [json.loads(row)["text"] for row in itertools.islice(io.BufferedReader(stream), n)]

    return texts
