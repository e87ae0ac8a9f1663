import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenizer import conformance, counts, export
from tokenizer.evaluate import encoder, evaluate
from tokenizer.explain import explain
from tokenizer.model import Tokenizer, TokenizerError
from tokenizer.patterns import pattern
from tokenizer.tokens import write_tokens
from tokenizer.trainer import train
from tokenizer.verify import verify

PIECES = counts.count_pieces(pa.array(["the cat sat on the mat, the cat's été 日本"]), None, pattern())
TRAINING = train(PIECES, 290, ["<|e|>"])
OURS = Tokenizer(pattern(), TRAINING.merges, ["<|e|>"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(export, "conformance_texts", lambda specials: list(conformance.conformance_texts())[:25])
    OURS.save(tmp_path)
    export.write_exports(OURS, tmp_path, "x")
    write_tokens(OURS, tmp_path, TRAINING.merges[:, 2])
    return tmp_path


def test_the_history_of_a_piece_is_told_merge_by_merge():
    aabaab = Tokenizer(pattern("bytes"), [(97, 97), (256, 98)], ())
    (found,) = explain(aabaab, "aabaab")
    assert found["piece"] == "aabaab" and found["bytes"] == b"aabaab".hex()
    assert found["merges"] == [
        {"rank": 0, "left": 97, "right": 97, "id": 256, "symbols": ["aa", "b", "aa", "b"]},
        {"rank": 1, "left": 256, "right": 98, "id": 257, "symbols": ["aab", "aab"]},
    ]
    assert found["tokens"] == [{"id": 257, "text": "aab", "bytes": b"aab".hex(), "rank": 1}] * 2


def test_a_lone_surrogate_is_not_explained_but_named():
    with pytest.raises(ValueError, match="the text holds a lone surrogate at 2, which has no UTF-8; replace it"):
        explain(OURS, "ab\udcff")


@settings(max_examples=100, deadline=None)
@given(st.text("the cat's é日!\n", max_size=30))
def test_what_is_explained_is_what_is_encoded(text):
    assert [t["id"] for piece in explain(OURS, text) for t in piece["tokens"]] == OURS.encode(text)


def test_bytes_per_token_are_summed_by_group_and_equal_in_both_formats(folder):
    texts, groups = ["the cat", "été", "日本 the"], ["a", "b", "a"]
    encoders = {"ours": encoder(folder), "theirs": encoder(folder / "tokenizer.json")}
    rows = evaluate(encoders, pa.array(texts), groups)
    assert [(row["tokenizer"], row["group"]) for row in rows] == [
        (name, group) for name in ("ours", "theirs") for group in ("a", "b", "all")
    ]
    first = rows[0]
    tokens = len(OURS.encode(texts[0])) + len(OURS.encode(texts[2]))
    assert (first["documents"], first["bytes"], first["tokens"]) == (2, 7 + 10, tokens)
    assert first["bytes_per_token"] == pytest.approx(17 / tokens)
    assert [{**row, "tokenizer": ""} for row in rows[:3]] == [{**row, "tokenizer": ""} for row in rows[3:]]
    assert evaluate(encoders, pa.array([], pa.string()), [])[0]["bytes_per_token"] is None


def test_groups_of_another_number_are_refused(folder):
    with pytest.raises(ValueError, match="groups: 1 names for 2 texts"):
        evaluate({"ours": encoder(folder)}, pa.array(["a", "b"]), ["x"])


def test_a_folder_without_a_tokenizer_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"holds neither model\.json nor tokenizer\.json"):
        encoder(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match=r"tokenizer\.json: cannot be loaded"):
        encoder(tmp_path)


def test_a_sound_folder_has_no_problems_and_every_id_comes_back(folder):
    found = verify(folder)
    assert found["problems"] == [] and found["unreachable"] == {}
    assert (found["ids"], found["returning"], found["special"]) == (OURS.vocab_size, OURS.first_special, 1)
    assert len(found["files"]) == 7


def test_ids_that_never_come_back_are_listed_with_the_reason(tmp_path):
    Tokenizer(pattern(), [(97, 98), (98, 99), (97, 257)], ()).save(tmp_path)
    found = verify(tmp_path)
    assert list(found["unreachable"]) == ["258"] and found["returning"] == 258 and found["problems"] == []


@pytest.mark.parametrize("name", ["tokenizer.json", "merges.txt", "x.tiktoken", "special_tokens.json"])
def test_an_export_that_was_changed_is_named(folder, name):
    (folder / name).write_bytes((folder / name).read_bytes().replace(b"e", b"f", 1))
    assert verify(folder)["problems"] == [
        f"{name} does not hold what model.json says; write it again with `curate tokenizer export`"
    ]


def test_tokens_of_another_tokenizer_are_named(folder):
    other = Tokenizer(pattern(), [(97, 98)], ())
    write_tokens(other, folder, [1])
    assert verify(folder)["problems"] == ["tokens.parquet: its ids are not those of the model; train again"]


def test_a_model_that_was_changed_is_refused(folder):
    content = json.loads((folder / "model.json").read_text("utf-8"))
    content["merges"][0] = "97 97"
    (folder / "model.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(TokenizerError):
        verify(folder)


def test_batches_give_the_figures_of_one_and_nothing_of_them_is_kept():
    from tokenizer.evaluate import evaluate_batches

    encoders = {"a": lambda texts: np.array([len(text) for text in texts.to_pylist()], np.int64)}
    texts, groups = ["ab", "", "xyz", "日本"], ["s", "t", "s", "u"]
    whole = evaluate(encoders, pa.array(texts), groups)
    assert evaluate_batches(encoders, ((pa.array([t]), [g]) for t, g in zip(texts, groups, strict=True))) == whole
    held = []

    def batches():
        for _ in range(30):
            held.append(pa.total_allocated_bytes())
            yield pa.array(["the cat " * 100_000], pa.large_string()), ["s"]

    evaluate_batches(encoders, batches())
    assert max(held[3:]) < held[2] + (1 << 20)
