"""The tokenizer of the sample's run, in the libraries it was exported for, on every document of the sample."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

import curate

SPECIALS = ["<|endoftext|>", "<|email|>", "<|phone|>", "<|ip|>", "<|card|>", "<|iban|>", "<|ssn|>", "<|itin|>",
            "<|cn_id|>", "<|address|>", "<|secret|>", "<|national_id|>"]  # fmt: skip


@pytest.fixture(scope="module")
def folder(run: curate.Run) -> Path:
    return run.root / "tokenizer"


@pytest.fixture(scope="module")
def ours(folder: Path) -> Any:
    return curate.Tokenizer.load(folder)


@pytest.fixture(scope="module")
def hugging_face(folder: Path) -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(folder / "tokenizer.json"))


@pytest.fixture(scope="module")
def openai(folder: Path) -> Any:
    import tiktoken

    settings = json.loads((folder / "special_tokens.json").read_text(encoding="utf-8"))
    lines = (folder / "tokenizer.tiktoken").read_text(encoding="ascii").splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}
    contract = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    return tiktoken.Encoding(
        name="small", pat_str=contract["pattern"]["regex"], mergeable_ranks=ranks,
        special_tokens=settings.get("special_tokens", settings),
    )  # fmt: skip


def test_the_declared_specials_are_the_tokenizers_own_then_every_placeholder_in_a_fixed_order(ours: Any) -> None:
    assert list(ours.specials) == SPECIALS
    assert [ours.special_tokens[s] for s in SPECIALS] == list(range(4096 - len(SPECIALS), 4096))


def test_raw_text_is_encoded_alike_everywhere_with_specials_off(
    run: curate.Run, ours: Any, hugging_face: Any, openai: Any
) -> None:
    hugging_face.encode_special_tokens = True
    texts = [t for (t,) in run.sql("select text from documents order by doc_id").fetchall()]
    assert len(texts) > 400
    for text in texts:
        ids = ours.encode(text)
        assert ids == hugging_face.encode(text, add_special_tokens=False).ids
        assert ids == openai.encode_ordinary(text)
        assert ours.decode(ids) == text


def test_curated_text_is_encoded_alike_everywhere_with_its_declared_specials_on(
    run: curate.Run, ours: Any, hugging_face: Any, openai: Any
) -> None:
    hugging_face.encode_special_tokens = False
    used = 0
    for text, spans in run.sql("select text, placeholders from curated order by doc_id").fetchall():
        ids = ours.encode(text, allowed_special="all")
        assert ids == hugging_face.encode(text, add_special_tokens=False).ids
        assert ids == openai.encode(text, allowed_special="all")
        assert ids == ours.encode_with_spans(text, [(s["start"], s["end"], s["token"]) for s in spans])
        assert ours.decode(ids) == text
        used += sum(i in ours.special_tokens.values() for i in ids)
    assert used == run.sql("select sum(len(placeholders)) from curated").fetchone()[0] > 10


def test_a_planted_address_is_followed_from_the_raw_file_to_one_special_id(run: curate.Run, ours: Any) -> None:
    name = "planted-pii-address"
    query = "select doc_id, text from documents where json_extract_string(metadata, '$.id') = ?"
    ((doc_id, raw),) = run.sql(query, [name]).fetchall()
    ((start, end),) = run.sql(
        "select start, \"end\" from edits where doc_id = ? and kind = 'address'", [doc_id]
    ).fetchall()
    assert "1200 Maple Street" in raw[start:end]
    ((text,),) = run.sql("select text from curated where doc_id = ?", [doc_id]).fetchall()
    assert ours.encode(text, allowed_special="all").count(ours.special_tokens["<|address|>"]) == 1


def test_the_tokenizers_manifest_holds_the_hash_of_the_curated_manifest(run: curate.Run) -> None:
    from pipeline.hashing import json_hash
    from pipeline.manifest import read_manifest

    curated, tokenizer = read_manifest(run.root, "curated"), read_manifest(run.root, "tokenizer")
    assert tokenizer["inputs"] == [json_hash(curated)]
    contract = tokenizer["summaries"]["tokenizer/finished"]
    assert contract["vocabulary_hash"] == curate.Tokenizer.load(run.root / "tokenizer").vocabulary_hash
