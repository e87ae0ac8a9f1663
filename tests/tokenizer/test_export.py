import base64
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokenizer import conformance, counts, export, tokens
from tokenizer.model import Tokenizer
from tokenizer.patterns import pattern
from tokenizer.trainer import train

TEXTS = ["the cat sat on the mat; the cat's 12345", "été日本 日本語 ABCdef\r\n\n  x", "<|e|> is text"]
FILES = ["tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt", "x.tiktoken", "special_tokens.json"]


def trained(name: str, specials: tuple[str, ...] = ("<|e|>", "<|endoftext|>"), texts: list[str] = TEXTS) -> Tokenizer:
    pieces = counts.count_pieces(pa.array(texts), None, pattern(name))
    return Tokenizer(pattern(name), train(pieces, 320 + len(specials), specials).merges, specials)


@pytest.fixture(autouse=True)
def fewer_conformance_texts(request, monkeypatch):
    """All strings of three classes take seconds; two of them will do where a test is about something else."""
    if "whole_conformance" not in request.fixturenames:
        every = list(conformance.conformance_texts(["<|e|>"]))
        monkeypatch.setattr(export, "conformance_texts", lambda specials: every[:25] + every[-5:])


@pytest.fixture
def whole_conformance():
    pass


def test_what_the_libraries_classes_decide_otherwise_is_reported(tmp_path):
    done = export.write_exports(trained("gpt2"), tmp_path, "x")
    assert {library.split()[0] for library in done.unicode_differences} <= {"tiktoken", "tokenizers"}
    for classes in done.unicode_differences.values():
        assert set(classes) <= {r"\p{L}", r"\p{N}", r"\s"}
        assert all(part.startswith("U+") for ranges in classes.values() for part in ranges.split(", "))
    assert export.write_exports(trained("bytes"), tmp_path, "x").unicode_differences == {}


def test_a_reported_character_is_indeed_cut_otherwise_there(tmp_path):
    import regex
    import tokenizers

    ours = trained("cl100k")
    found = export.write_exports(ours, tmp_path, "x").unicode_differences
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    ranges = next((v for k, v in found.items() if k.startswith("tokenizers")), {}).get(r"\p{L}", "")
    points = [int(part.split("-")[0][2:], 16) for part in filter(None, ranges.split(", "))]
    for point in points:
        text = f"a{chr(point)}"
        here = regex.findall(ours.pattern.regex, text)
        assert [p for p, _ in theirs.pre_tokenizer.pre_tokenize_str(text)].__len__() != len(here)


@pytest.mark.parametrize("name", ["deepseek-coder", "deepseek-v3"])
def test_a_pattern_of_several_expressions_is_carried_by_hugging_face_alone(name, tmp_path):
    done = export.write_exports(trained(name), tmp_path, "x", TEXTS)
    assert done.refused == {"x.tiktoken": f"the pattern {name} is several expressions; tiktoken has one"}
    assert (tmp_path / "tokenizer.json").exists()


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_a_normalization_is_carried_by_hugging_face_and_refused_for_tiktoken(form, whole_conformance, tmp_path):
    plain = trained("cl100k")
    ours = Tokenizer(plain.pattern, plain.merges, plain.specials, form)
    done = export.write_exports(ours, tmp_path, "x", ["e\u0301t\u00e9 ﬁ <|e|> e\u0301"])
    assert done.refused == {"x.tiktoken": f"the tokenizer normalises to {form}; tiktoken does not"}
    assert json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))["normalizer"] == {"type": form}


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "qwen2", "starcoder", "bytes"])
def test_every_named_pattern_is_carried_by_every_export(name, tmp_path):
    done = export.write_exports(trained(name), tmp_path, "x", TEXTS)
    assert [path.name for path in done.paths] == FILES and not done.refused
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)


def test_the_default_pattern_agrees_on_the_whole_conformance_text(whole_conformance, tmp_path):
    assert not export.write_exports(trained("o200k"), tmp_path, "x").refused


def test_exports_agree_on_real_text(shared_texts, tmp_path):
    texts = shared_texts("web/c4-1000", 100) + shared_texts("trusted/zh", 100)
    pieces = counts.count_pieces(pa.array(texts), None, pattern())
    found = Tokenizer(pattern(), train(pieces, 2000, ["<|endoftext|>"]).merges, ["<|endoftext|>"])
    assert len(export.write_exports(found, tmp_path, "x", texts).paths) == 6


def test_the_files_are_loaded_by_their_own_libraries(tmp_path):
    import tiktoken
    import tokenizers

    ours = trained("o200k")
    export.write_exports(ours, tmp_path, "x")
    text = "The cat's <|e|> 日本"
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert theirs.encode(text).ids == ours.encode(text, "all")
    assert theirs.get_vocab_size() == ours.vocab_size
    assert theirs.decode(ours.encode(text, "all"), skip_special_tokens=False) == text
    ranks = {}
    for line in (tmp_path / "x.tiktoken").read_text().splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    specials = json.loads((tmp_path / "special_tokens.json").read_text("utf-8"))
    encoding = tiktoken.Encoding("x", pat_str=ours.pattern.regex, mergeable_ranks=ranks, special_tokens=specials)
    assert encoding.encode(text, allowed_special="all") == ours.encode(text, "all")
    assert encoding.n_vocab == ours.vocab_size


def test_the_same_tokenizer_gives_the_same_bytes(tmp_path):
    for folder in ("one", "two"):
        export.write_exports(trained("o200k"), tmp_path / folder, "x")
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_configuration_names_the_end_of_text(tmp_path):
    export.write_exports(trained("o200k"), tmp_path, "x")
    config = json.loads((tmp_path / "tokenizer_config.json").read_text("utf-8"))
    assert config["eos_token"] == "<|endoftext|>"
    assert config["added_tokens_decoder"][str(trained("o200k").first_special)]["content"] == "<|e|>"


def test_transformers_loads_the_folder_and_encodes_alike(tmp_path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed (extra `bench`)")
    ours = trained("o200k")
    export.write_exports(ours, tmp_path, "x")
    theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    assert theirs.eos_token == "<|endoftext|>" and len(theirs) == ours.vocab_size
    for text in [*TEXTS, "x <|endoftext|> . , 日本\r\n"]:
        ids = theirs.encode(text, add_special_tokens=False)
        assert ids == ours.encode(text, "all")
        assert theirs.decode(ids) == text


def test_a_custom_pattern_that_tiktoken_cannot_carry_is_refused_for_it_alone(tmp_path):
    done = export.write_exports(trained(r"\w+"), tmp_path, "x")
    assert list(done.refused) == ["x.tiktoken"]
    assert done.refused["x.tiktoken"].startswith("x.tiktoken: with special tokens as text, ' ' has the ids [] there")
    assert not (tmp_path / "x.tiktoken").exists() and (tmp_path / "tokenizer.json").exists()


def test_an_expression_that_the_libraries_do_not_know_is_refused(tmp_path):
    done = export.write_exports(trained(r"(?p)\w+|\W+"), tmp_path, "x")
    assert set(done.refused) == {"tokenizer.json", "vocab.json + merges.txt", "x.tiktoken"}
    assert all("its library cannot load it" in reason for reason in done.refused.values())
    assert not list(tmp_path.iterdir())


def test_special_tokens_that_begin_with_one_another_are_refused_for_tiktoken(tmp_path):
    done = export.write_exports(trained("o200k", ("<|e|>", "<|e|>>")), tmp_path, "x")
    assert done.refused == {
        "x.tiktoken": "the special token '<|e|>>' begins with '<|e|>'; tiktoken does not take the longest"
    }


def test_a_special_token_spelled_like_an_ordinary_one_is_refused_for_hugging_face(tmp_path):
    done = export.write_exports(trained("o200k", ("a",)), tmp_path, "x")
    reason = "the special token 'a' is spelled like an ordinary token of the vocabulary"
    assert done.refused == {"tokenizer.json": reason, "vocab.json + merges.txt": reason}


def test_a_mismatch_of_a_named_pattern_is_an_error_with_the_first_differing_text(tmp_path, monkeypatch):
    right = export.tiktoken_files

    def wrong(tokenizer, name):
        files = right(tokenizer, name)
        lines = files[f"{name}.tiktoken"].splitlines(keepends=True)
        swapped = [line.split()[0] + f" {rank ^ 1}\n" for rank, line in enumerate(lines)]
        return files | {f"{name}.tiktoken": "".join(swapped)}

    monkeypatch.setattr(export, "tiktoken_files", wrong)
    with pytest.raises(export.ExportError, match=r"x\.tiktoken: with special tokens as text, ' ' has the ids \[33\]"):
        export.write_exports(trained("o200k"), tmp_path, "x")
    assert not (tmp_path / "x.tiktoken").exists()


def test_tokens_hold_their_parts_and_their_counts_per_source(tmp_path):
    groups = pa.table({"source": ["s", "t"], "license": ["A", "B"]})
    pieces = counts.count_pieces_by_group(pa.array(["aab aab", "aa"]), None, groups, pattern())
    found = train(counts.total_counts(pieces), 259, ["<|e|>"])
    ours = Tokenizer(pattern(), found.merges, ["<|e|>"])
    where = tokens.origins(ours, [pieces], counts.total_counts(pieces))
    path = tokens.write_tokens(ours, tmp_path, found.merges[:, 2], where, found.tied)
    table = pq.read_table(path)
    rows = table.to_pylist()
    assert table.schema.equals(tokens.SCHEMA)
    assert [row["id"] for row in rows] == list(range(259))
    columns = ("id", "bytes", "text", "kind", "rank", "left", "right", "count", "tied", "utf8", "unreachable")
    assert [rows[97][c] for c in columns] == [97, b"a", "a", "byte", None, None, None, None, None, True, None]
    assert (rows[256]["tied"], rows[257]["tied"]) == (False, False)
    assert dict(rows[257]["licenses"]) == {"A": 2} and rows[257]["single_source"] == "s"
    assert (rows[257]["documents_min"], rows[257]["documents_max"]) == (1, 2)
    assert rows[255]["utf8"] is False and rows[258]["single_source"] is None
    assert rows[256]["bytes"] == b"aa" and rows[256]["count"] == 3
    assert (rows[257]["left"], rows[257]["right"], rows[257]["rank"], rows[257]["count"]) == (256, 98, 1, 2)
    assert dict(rows[256]["sources"]) == {"t": 1} and dict(rows[257]["sources"]) == {"s": 2}
    assert dict(rows[32]["sources"]) == {"s": 1} and rows[97]["sources"] == []
    assert (rows[258]["kind"], rows[258]["text"], rows[258]["sources"]) == ("special", "<|e|>", [])
    assert rows[255]["text"] == "\ufffd"


def test_a_token_that_an_earlier_merge_takes_apart_is_unreachable_with_the_reason():
    ours = Tokenizer(pattern(), [(97, 98), (98, 99), (97, 257)], ())
    assert tokens.unreachable(ours) == {258: "its bytes are encoded as [256, 99]: an earlier merge takes them apart"}
    assert tokens.unreachable(trained("o200k")) == {}


def test_a_single_source_has_at_least_95_per_cent():
    import numpy as np

    sources = {"s": np.array([95, 94, 1, 0]), "t": np.array([5, 6, 0, 0])}
    assert tokens.single_sources(sources, 4) == ["s", None, "s", None]


def test_token_counts_per_source_add_up_to_the_encoded_text():
    texts = ["the cat", "the mat the", "été"]
    groups = pa.table({"source": ["s", "t", "s"]})
    pieces = counts.count_pieces_by_group(pa.array(texts), None, groups, pattern())
    ours = trained("o200k")
    found = tokens.source_counts(ours, pieces)
    assert list(found) == ["s", "t"]
    for source, members in (("s", [0, 2]), ("t", [1])):
        ids = [i for k in members for i in ours.encode(texts[k])]
        assert found[source].tolist() == [ids.count(i) for i in range(ours.vocab_size)]


def test_merge_counts_of_another_length_are_refused():
    with pytest.raises(ValueError, match="merge_counts: 1 counts for 47 merges"):
        tokens.tokens_table(trained("o200k"), [1], tokens.Origins())
