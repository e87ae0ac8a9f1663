"""Mojibake: measured always, repaired where a source asks for it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard
from ftfy.badness import badness as slow_badness
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_reading import read, write

from stages.ingest.mojibake import _members, badness, badness_of, repaired
from stages.ingest.suspicion import suspicious

DATA = Path(os.environ.get("CURATE_TEST_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
LINES = [
    "L’été, où l’on fût — “déjà”.",
    "渡船九点开，带上乐队——",
    "Паром везёт почту «в девять».",
    "naïve café £5 ½ °C",
]
damaged = st.builds(
    lambda line, codec: line.encode().decode(codec, "replace"),
    st.sampled_from(LINES),
    st.sampled_from(["cp1252", "latin-1", "cp1251", "cp1250", "mac_roman", "cp1253", "cp437", "cp1257"]),
)
strange = st.text(st.sampled_from("aZ .ÃÂ©€œŒ°²½£¿«»“”’…—Ђвâ€™àéñ×√≈‚Ø│░\x85\xa0\xad\ufffd渡\n"), max_size=40)


@settings(max_examples=600, deadline=None)
@given(st.lists(damaged | strange | st.text(max_size=20), max_size=4).map("".join))
def test_the_measure_is_ftfy_s_badness(text: str) -> None:
    assert badness(text) == slow_badness(text)


@pytest.mark.parametrize("name", ["web/c4-1000", "trusted/zh"])
def test_the_measure_is_ftfy_s_badness_on_real_text(name: str) -> None:
    path = DATA / f"{name}.jsonl.zst"
    if not path.exists():
        pytest.skip(f"no {path}: put the shared data there or set CURATE_TEST_DATA")
    lines = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read(1_500_000).split(b"\n")[:-1]
    texts = [json.loads(line)["text"] for line in lines]
    expected = [slow_badness(text) for text in texts]
    assert [badness(text) for text in texts] == expected
    assert badness_of(pa.array(texts, pa.large_string())).to_pylist() == expected


def test_enc_09_a_repair_gives_the_text_back_and_is_counted() -> None:
    """ENC-09."""
    assert repaired("cafÃ© rÃ©sumÃ© naÃ¯ve") == ("café résumé naïve", 1)
    assert repaired("a clean line with Ã and “quotes”") == ("a clean line with Ã and “quotes”", 0)
    text, count = repaired("the Ã…kra ferry")  # no certain answer, but whatever happens is counted
    assert count == (text != "the Ã…kra ferry")
    assert repaired("cafÃ©\nplain\nÐŸÐ°Ñ€Ð¾Ð¼") == ("café\nplain\nПаром", 2)


@settings(max_examples=400, deadline=None)
@given(st.lists(damaged | strange, max_size=4).map("".join))
def test_enc_09_a_repair_changes_nothing_a_second_time(text: str) -> None:
    """ENC-09: f(f(x)) == f(x), and every changed line is counted."""
    once, count = repaired(text)
    assert repaired(once)[0] == once
    assert count == sum(a != b for a, b in zip(text.split("\n"), once.split("\n"), strict=True))
    assert badness(once) <= badness(text)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(max_codepoint=127)))
def test_enc_09_pure_ascii_is_never_changed(text: str) -> None:
    """ENC-09."""
    assert repaired(text) == (text, 0)


@pytest.mark.parametrize("word", ["cafÃ©", "naÃ¯ve", "ÐŸÐ°Ñ€Ð¾Ð¼"])
def test_enc_09_quotes_around_it_do_not_change_a_repair(word: str) -> None:
    """ENC-09."""
    plain = repaired(f"the {word} is")[0].removeprefix("the ").removesuffix(" is")
    for before, after in (('"', '"'), ("“", "”"), ("„", "“"), ("'", "'")):
        assert repaired(f"the {before}{word}{after} is")[0] == f"the {before}{plain}{after} is"


def test_a_source_s_texts_and_titles_are_measured_and_only_on_demand_repaired(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", json.dumps({"text": "cafÃ©\nplain", "title": "rÃ©sumÃ©"}) + '\n{"text":"fine"}\n')
    measured, clean = read(path).documents
    assert (measured["text"], measured["mojibake"], measured["repairs"]) == ("cafÃ©\nplain", 1, None)
    assert (clean["mojibake"], clean["repairs"]) == (0, None)
    mended, untouched = read(path, mojibake="repair").documents
    assert (mended["text"], mended["title"], mended["mojibake"], mended["repairs"]) == ("café\nplain", "résumé", 0, 2)
    assert untouched["repairs"] == 0
    assert mended["doc_id"] == measured["doc_id"]


between = st.sampled_from(["", "plain words " * 9, "渡船九点开，" * 12, "é" * 50, "—" * 40, "ﬁ\ufffd" * 30, "x" * 64])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(between | damaged | strange | st.text(max_size=20), max_size=6).map("".join), max_size=6))
def test_a_batch_is_measured_like_its_texts(texts: list[str]) -> None:
    array = pa.array(["Ã©Ã", *texts, "Ã© "], pa.large_string()).slice(1, len(texts))
    assert badness_of(array).to_pylist() == [slow_badness(text) for text in texts]


def test_places_that_look_suspicious_come_with_what_is_around_them_and_are_cut_between_characters() -> None:
    texts = pa.array(["plain", "渡" * 30 + "Ã©" + "x" * 100 + "»»", "", "Œ"], pa.large_string())
    places, owners = suspicious(texts, *_members())
    assert places.to_pylist() == ["渡" * 11 + "Ã©" + "x" * 64, "x" * 32 + "»»", "Œ"]
    assert owners.tolist() == [1, 1, 3]
