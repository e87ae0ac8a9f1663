"""The closing step `tokenizer`: counts summed out of core, weights, temperature, several sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from stages.token_counts import SummedCounts
from stages.train_tokenizer import COUNTS, TokenizerParams, TrainTokenizer
from tokenizer import counts
from tokenizer.model import Tokenizer

ROWS = [
    [(b"the", "a", "MIT", 5, 2), (b"thus", "a", "MIT", 3, 3), (b"the", "b", "CC0-1.0", 4, 1)],
    [(b"the", "a", "MIT", 1, 1), (b"\xff\xfe", "b", "CC0-1.0", 7, 7), (b"cats", "b", "CC0-1.0", 9, 2)],
    [],
]


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(COUNTS)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, COUNTS, strict=True)], schema=COUNTS)


def parts(folder: Path, shards: list[list[tuple[Any, ...]]]) -> list[Path]:
    paths = [folder / f"part-{k}.parquet" for k in range(len(shards))]
    for path, rows in zip(paths, shards, strict=True):
        pq.write_table(table(rows), path)
    return paths


def finish(folder: Path, shards: list[list[tuple[Any, ...]]], **params: Any) -> dict[str, Any]:
    given = TokenizerParams(weights={"a": 1.0, "b": 1.0}, min_frequency=1, **params)
    out = folder / "out"
    out.mkdir(exist_ok=True)
    return TrainTokenizer.finish(parts(folder, shards), given, out, 256 << 20)


keys = st.tuples(st.sampled_from([b"", b"ab", b"\x00", b"abc"]), st.sampled_from("ab"), st.sampled_from("LM"))
shard = st.dictionaries(keys, st.tuples(st.integers(1, 2**40), st.integers(1, 9)), max_size=6)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(shard, min_size=1, max_size=4))
def test_sums_over_shards_equal_those_in_memory(tmp_path, shards):
    rows = [[(*key, *value) for key, value in one.items()] for one in shards]
    expected = counts.merge_counts([table(one) for one in rows])
    multipliers = {"a": 2}
    with SummedCounts(parts(tmp_path, rows), 256 << 20, tmp_path) as found:
        whole = pa.concat_tables([COUNTS.empty_table(), *(batch.cast(COUNTS) for batch in found.batches())])
        assert counts.sort_counts(whole).equals(counts.sort_counts(expected))
        totals = found.totals(multipliers).cast(counts.SCHEMA)
    assert counts.sort_counts(totals).equals(counts.total_counts(expected, multipliers))


@pytest.mark.slow
def test_counts_larger_than_the_memory_are_summed_on_disk(tmp_path: Path) -> None:
    """Half a million pieces of 700 bytes, each in two shards of three, under the smallest `memory` there is."""
    numbers = pa.array(range(500_000), pa.int64())
    texts = pc.utf8_lpad(pc.cast(numbers, pa.string()), 700, "x")
    columns = {"piece": pc.cast(texts, pa.large_binary()), "source": pa.repeat("a", 500_000)}
    columns |= {"license": pa.repeat("MIT", 500_000), "count": numbers, "documents": pa.repeat(1, 500_000)}
    whole = pa.table(columns).cast(COUNTS)
    assert whole.nbytes > 256 << 20
    paths = []
    for k in range(3):  # shard k lacks the pieces of rest k
        paths.append(tmp_path / f"part-{k}.parquet")
        pq.write_table(
            whole.filter(pc.not_equal(pc.subtract(numbers, pc.multiply(pc.divide(numbers, 3), 3)), k)), paths[-1]
        )
    with SummedCounts(paths, 256 << 20, tmp_path) as found:
        assert found.source_bytes() == {"a": 700 * 2 * 499_999 * 250_000}
        rows = seen = total = 0
        for batch in found.batches():
            rows += batch.num_rows
            seen += pc.sum(batch["documents"]).as_py()
            total += pc.sum(batch["count"]).as_py()
    assert (rows, seen, total) == (500_000, 1_000_000, 499_999 * 500_000)


def test_several_sizes_come_from_one_training_each_in_its_folder(tmp_path):
    summary = finish(tmp_path, ROWS, vocab_size=262, vocab_sizes=(258, 260))
    out = tmp_path / "out"
    loaded = {262: Tokenizer.load(out), **{n: Tokenizer.load(out / f"size-{n}") for n in (258, 260)}}
    assert {n: t.vocab_size for n, t in loaded.items()} == {262: 262, 260: 260, 258: 258}
    assert loaded[258].merges.tolist() == loaded[262].merges[:2].tolist()
    assert summary["sizes"] == {str(n): loaded[n].vocabulary_hash for n in (258, 260, 262)}
    assert summary["vocabulary_hash"] == loaded[262].vocabulary_hash and summary["reached"] == 262
    assert {path.name for path in (out / "size-258").iterdir()} == {
        path.name for path in out.iterdir() if path.is_file()
    }
    assert not [path for path in out.iterdir() if path.is_dir() and not path.name.startswith("size-")]


def test_shards_in_another_order_give_the_same_files(tmp_path):
    hashes = set()
    for name, shards in (("one", ROWS), ("two", ROWS[::-1])):
        (tmp_path / name).mkdir()
        finish(tmp_path / name, shards, vocab_size=262)
        hashes.add(tuple((p.name, p.read_bytes()) for p in sorted((tmp_path / name / "out").iterdir())))
    assert len(hashes) == 1


def test_a_temperature_changes_the_multipliers_and_nothing_else_of_the_counts(tmp_path):
    flat = finish(tmp_path, ROWS, vocab_size=258, temperature=1e9)
    assert finish(tmp_path, ROWS, vocab_size=258)["multipliers"] == {"a": 1, "b": 1}
    size = {"a": 6 * 3 + 3 * 4, "b": 4 * 3 + 7 * 2 + 9 * 4}
    share = flat["multipliers"]["a"] * size["a"] / (flat["multipliers"]["b"] * size["b"])
    assert share == pytest.approx(1, rel=0.01)


def test_tokens_say_where_they_come_from(tmp_path):
    finish(tmp_path, ROWS, vocab_size=262)
    rows = pq.read_table(tmp_path / "out" / "tokens.parquet").to_pylist()
    the = next(row for row in rows if row["bytes"] == b"the")
    assert dict(the["sources"]) == {"a": 6, "b": 4} and dict(the["licenses"]) == {"CC0-1.0": 4, "MIT": 6}
    assert (the["documents_min"], the["documents_max"], the["single_source"]) == (4, 4, None)
    alone = next(row for row in rows if row["bytes"] == b"\xff\xfe")
    assert alone["single_source"] == "b" and alone["utf8"] is False


@pytest.mark.parametrize("given", [{"vocab_size": "32k"}, {"vocab_sizes": [8192, "32K"]}])
def test_a_size_in_thousands_is_asked_for_in_full(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"'32[kK]' may mean 32000 or 32768: write the number"):
        TokenizerParams.model_validate(given)


def test_an_unknown_size_is_refused_when_the_config_is_read():
    given = TokenizerParams(vocab_size=300, vocab_sizes=(256,), special_tokens=("<|e|>",))
    with pytest.raises(ValueError, match="vocab_size: 256 is too small; need at least 257"):
        TrainTokenizer.link(given, [], [])


@pytest.mark.parametrize(
    ("name", "message"),
    [("o200", "did you mean 'o200k'"), ("[a", "not a valid regular expression"), (r"\w*", "can match an empty text")],
)
def test_a_pattern_that_cannot_work_is_refused_with_its_key(name: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message) as error:
        TokenizerParams(pattern=name)
    assert error.value.errors()[0]["loc"] == ("pattern",)


def test_a_search_that_does_not_end_names_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    from tokenizer import expressions, patterns

    monkeypatch.setattr(expressions, "_SECONDS", 0.1)
    monkeypatch.setattr(patterns, "pattern", lambda name: patterns.Pattern("custom", name, "1"))
    rows = [{"doc_id": f"0000000{i}", "source": "s", "license": "CC0-1.0", "placeholders": [], "text": text}
            for i, text in enumerate(["ok", "a" * 60 + "b"])]  # fmt: skip
    params = TokenizerParams.model_construct(pattern="(a|aa)+$", holdout=0.0, normalization="none", **_NO_SPECIALS)
    with pytest.raises(
        ValueError, match=r"document 00000001: tokenizer.pattern: the expression '\(a\|aa\)\+\$' did not"
    ):
        TrainTokenizer.each(pa.Table.from_pylist(rows, _USED), params)


_NO_SPECIALS: dict[str, Any] = {"special_tokens": (), "placeholders": ()}
_SPANS = pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64()), ("token", pa.string())]))
_USED = pa.schema(
    [(name, pa.string()) for name in ("doc_id", "source", "license", "text")] + [("placeholders", _SPANS)]
)
