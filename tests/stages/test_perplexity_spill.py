"""Training out of core: the same bytes for every amount of memory, files that go away, a disk that is full."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stages.perplexity import Perplexity, PerplexityParams, contexts, counts, ngram, references
from stages.perplexity.columns import Column, bisect
from stages.perplexity.normalise import NORMALISERS
from stages.perplexity.references import ReferenceTextError, batches, corpus
from tests.stages.perplexity_models import FIXTURES, written

DATA = Path(os.environ.get("CURATE_TEST_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
TRUSTED = DATA / "trusted" / "en.jsonl.zst"


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Buffers of a few rows, two runs merged at once; gives the number of parts that each order was cut into."""
    for module in (counts, contexts, ngram):
        monkeypatch.setattr(module, "CHUNK", 211)
    monkeypatch.setattr(contexts, "_WINDOW", 500)
    monkeypatch.setattr(counts, "_MOST_RUNS", 2)
    parts: list[int] = []
    cut = contexts._parts

    def noted(*given: Any) -> Any:
        found = cut(*given)
        parts.append(len(found[1]))
        return found

    monkeypatch.setattr(contexts, "_parts", noted)
    return parts


@pytest.mark.parametrize(
    ("name", "order", "prune"),
    [("lmplz-english", 5, [0, 0, 1]), ("lmplz-chinese", 3, [0]), ("lmplz-fallback", 6, [0, 1, 1])],
)
def test_runs_and_parts_of_any_size_give_the_same_bytes(
    name: str, order: int, prune: list[int], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    text = (FIXTURES / f"{name}.txt").read_text(encoding="utf-8")
    whole = written([text], order, prune, tmp_path / "whole").read_bytes()
    parts = request.getfixturevalue("tiny")
    assert written([text], order, prune, tmp_path / "cut", block=1, room=1).read_bytes() == whole
    assert parts[0] == 1 and max(parts) > 5  # the lowest order is the vocabulary, which is not cut


def zipf(tokens: int) -> list[str]:
    """Documents of made-up words, frequent and rare ones, in lines of different lengths."""
    dice = np.random.default_rng(7)
    words = [f"w{k}" for k in np.minimum(dice.zipf(1.3, tokens), 60_000).tolist()]
    ends = np.cumsum(dice.integers(1, 30, tokens))
    return ["\n".join(" ".join(words[a:b]) for a, b in zip([0, *ends], ends, strict=False) if a < tokens)]


def test_a_small_memory_sorts_several_runs_and_gives_the_same_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "en.txt").write_text(zipf(1_100_000)[0], encoding="utf-8")
    runs: list[int] = []
    merged = counts.merged

    def noted(given: list[Column], room: int) -> Any:
        runs.append(len(given))
        return merged(given, room)

    monkeypatch.setattr(counts, "merged", noted)
    models = []
    for memory in ("64MB", "2GB"):
        params = PerplexityParams.model_validate(
            {"reference": [{"path": [str(tmp_path / "en.txt")], "language": "en"}], "memory": memory, "order": 3}
        )
        (tmp_path / memory).mkdir()
        Perplexity.prepare(params, tmp_path / memory)
        left = sorted(p.name for p in (tmp_path / memory).iterdir())
        assert left == ["en.arpa", "en.probing", "models.json", "reference.u64"]
        models.append((tmp_path / memory / "en.arpa").read_bytes())
    assert runs[0] > 1 and runs[1] == 1
    assert models[0] == models[1]


def test_blocks_are_whole_lines_and_hold_the_whole_text(tmp_path: Path) -> None:
    known = corpus(["a b\nc", "d " * 2500, "e"], NORMALISERS["standard"], tmp_path)
    blocks = list(known.blocks(1))
    assert len(blocks) > 1 and all(block[0] == counts.BEGIN and block[-1] == counts.END for block in blocks)
    (whole,) = known.blocks(1 << 20)
    assert np.concatenate(blocks).tolist() == whole.tolist()
    assert len(whole) == known.tokens + 2 * known.lines == len(known.ids)


def test_long_documents_are_split_at_line_ends_into_the_same_units() -> None:
    text = "one two ...\n\n" * 50 + "x" * 90 + "\n" + "last line"
    parts = [piece for batch in batches(["", text, "y"], 40) for piece in batch]
    assert "".join(parts) == text + "y" and len(parts) > 10
    standard = NORMALISERS["standard"]
    assert standard.units_of(parts[1:-1]).text.tobytes() == standard.units_of([text]).text.tobytes()


def test_columns_are_read_in_slices_and_searched(tmp_path: Path) -> None:
    column = Column(tmp_path / "c", np.int32)
    for block in ([1, 3], [], [3, 3, 7]):
        column.append(np.array(block))
    assert column.read(1, 4).tolist() == [3, 3, 3] and column.read(4, 99).tolist() == [7] and len(column) == 5
    assert [bisect(column, v) for v in (0, 3, 4, 9)] == [0, 1, 4, 5]
    assert [bisect(column, v, right=True) for v in (0, 3, 7)] == [0, 4, 5]


def test_a_full_disk_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "ids").symlink_to(full)
    monkeypatch.setattr(tempfile, "TemporaryDirectory", lambda **_: contextlib.nullcontext(str(tmp_path / "work")))
    (tmp_path / "en.txt").write_bytes((FIXTURES / "lmplz-english.txt").read_bytes())
    params = PerplexityParams.model_validate({"reference": [{"path": [str(tmp_path / "en.txt")], "language": "en"}]})
    with pytest.raises(ReferenceTextError, match=r"no en model: No space left on device .* make room, move the run"):
        Perplexity.prepare(params, tmp_path)


def test_more_text_than_can_be_numbered_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "MOST_TOKENS", 1000)
    (tmp_path / "en.txt").write_bytes((FIXTURES / "lmplz-english.txt").read_bytes())
    params = PerplexityParams.model_validate({"reference": [{"path": [str(tmp_path / "en.txt")], "language": "en"}]})
    with pytest.raises(
        ReferenceTextError, match=r"tokens is more than this estimator counts \(1,000\); take a smaller"
    ):
        Perplexity.prepare(params, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not TRUSTED.is_file(), reason=f"no real text: {TRUSTED.name} is absent (set CURATE_TEST_DATA)")
def test_the_process_stays_within_its_memory_on_real_text(tmp_path: Path) -> None:
    program = (
        "import json, pathlib, sys\n"
        "from stages.perplexity import Perplexity, PerplexityParams\n"
        "settings, folder = json.loads(sys.argv[1]), pathlib.Path(sys.argv[2])\n"
        "Perplexity.prepare(PerplexityParams.model_validate(settings), folder)\n"
        "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')][0])\n"
    )
    models = []
    for megabytes in (384, 1024):
        settings = {"reference": [{"path": [str(TRUSTED)], "language": "en"}], "memory": megabytes << 20}
        (tmp_path / str(megabytes)).mkdir()
        command = [sys.executable, "-c", program, json.dumps(settings), str(tmp_path / str(megabytes))]
        root = Path(__file__).parents[2]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=root)
        assert int(done.stdout) <= megabytes << 10
        models.append((tmp_path / str(megabytes) / "en.arpa").read_bytes())
    assert models[0] == models[1]


def test_a_stream_of_several_frames_is_read_in_small_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import zstandard

    monkeypatch.setattr(references, "_BLOCK", 7)
    pack = zstandard.ZstdCompressor().compress
    (tmp_path / "a.jsonl.zst").write_bytes(pack(b'{"text": "on') + pack(b'e"}\n\n{"text": "tw') + pack(b'o"}'))
    file = str(tmp_path / "a.jsonl.zst")
    assert list(references.texts(references.Reference(path=file), file)) == ["one", "two"]
