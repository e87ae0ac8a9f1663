"""`curate doctor`: what the bytes are, why, what is damaged, what to write into the config."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from curate.cli import main
from stages.ingest.charsets import DETECTABLE, WIDE, codec_of
from stages.ingest.damage import byte_spelling, misdecoding
from stages.ingest.examine import label_of, look, read_bytes

HAN = (
    "今天天气很好，我们一起去公园散步，然后回家吃饭。水少的时候，轮子转得很慢，到了春天，它转得飞快。\n"
    "大人告诉孩子们不要在水渠旁边玩耍，可是他们从来不听。"
)
RUSSIAN = "Сегодня хорошая погода, и мы пошли гулять в парк у реки.\nПотом вернулись домой и долго пили чай с вареньем."
PATTERN = "byte pattern of UTF-16, or escapes of ISO-2022"
FRENCH = "Le café était fermé à midi, et le garçon rêvait déjà d'été.\nVoilà."


def run(path: Path, *options: str) -> str:
    result = CliRunner().invoke(main, ["doctor", str(path), *options])
    assert result.exit_code == 0, result.output
    return result.output


def examine(tmp_path: Path, content: bytes, *options: str, name: str = "f.txt") -> dict[str, Any]:
    path = tmp_path / name
    path.write_bytes(content)
    data: dict[str, Any] = json.loads(run(path, "--json", *options))
    return data


def decided(data: dict[str, Any]) -> list[str]:
    return [step["question"] for step in data["reading"]["steps"] if step["decided"]]


@pytest.mark.parametrize(
    ("content", "options", "codec", "by", "question"),
    [
        (HAN.encode("utf-8-sig"), [], "utf-8", "bom", "byte-order mark"),
        (HAN.encode("utf-16"), [], "utf-16-le", "bom", "byte-order mark"),
        (("Plain. " * 9).encode("utf-16-be"), [], "utf-16-be", "pattern", PATTERN),
        ("こんにちは".encode("iso2022_jp"), [], "iso2022_jp_ext", "pattern", PATTERN),
        (HAN.encode(), [], "utf-8", "utf-8", "strict UTF-8"),
        (HAN.encode("gbk"), ["--encoding", "gb2312"], "gb18030", "declared", "declared gb2312"),
        (HAN.encode("gbk") * 9, [], "gb18030", "detected", "detector"),
        (HAN.encode() * 9 + b"\xff", [], "utf-8", "replacement", "UTF-8 with replacements"),
    ],
)  # fmt: skip
def test_the_reason_for_a_charset_is_named(
    tmp_path: Path, content: bytes, options: list[str], codec: str, by: str, question: str
) -> None:
    data = examine(tmp_path, content, *options)
    assert (data["reading"]["codec"], data["reading"]["by"]) == (codec, by)
    assert decided(data) == [question]


def test_strict_utf8_fails_at_a_named_byte(tmp_path: Path) -> None:
    data = examine(tmp_path, b"one\ntwo\nth\xe9\n")
    assert {"question": "strict UTF-8", "answer": "no: bytes e9 at offset 10, line 3", "decided": False} in data[
        "reading"
    ]["steps"]


def test_the_detector_tells_its_confidence_and_what_else_is_possible(tmp_path: Path) -> None:
    data = examine(tmp_path, RUSSIAN.encode("cp1251") * 5)
    first = data["reading"]["guesses"][0]
    assert first["label"] == "windows-1251"
    assert 0 <= first["noise"] < 0.4
    assert 0.5 < first["coherence"] <= 1
    assert data["advice"][0].startswith("encoding: windows-1251   # on the source, if the text reads well")


def test_replacements_are_listed_with_offset_line_and_bytes(tmp_path: Path) -> None:
    content = (HAN * 20).encode() + b"\nbad \xff\xfe here\n" + b"cut \xe4\xbd\n"
    data = examine(tmp_path, content)
    start = content.index(b"\xff")
    losses = data["reading"]["losses"]
    assert [(x["offset"], x["hex"]) for x in losses] == [
        (start, "ff"),
        (start + 1, "fe"),
        (content.index(b"\xe4\xbd\n"), "e4 bd"),
    ]
    assert losses[0]["line"] == content[:start].count(b"\n") + 1
    assert data["reading"]["replacements"] == 3
    assert any("max_replacement_share: 0" in line for line in data["advice"])


def test_of_many_replacements_twenty_are_listed_and_the_others_counted(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_bytes((HAN.encode() * 3 + b"\xff") * 30)
    assert "and 10 more" in run(tmp_path / "f.txt")


def test_characters_that_were_lost_before_are_told_apart(tmp_path: Path) -> None:
    data = examine(tmp_path, "fine\nlo\ufffd\ufffdst\nfine\n".encode())
    assert (data["damage"]["inherited"], data["damage"]["inherited_lines"]) == (2, [2])
    assert data["reading"]["replacements"] == 0
    assert data["advice"][-1].startswith("take the file from its origin")


@pytest.mark.parametrize(
    ("text", "written", "read_as", "repairable"),
    [
        (FRENCH.encode().decode("cp1252", "replace"), "utf-8", "windows-1252", True),
        (RUSSIAN.encode().decode("latin-1"), "utf-8", "windows-1252", True),
        (HAN.encode().decode("latin-1"), "utf-8", "windows-1252", True),
        ("“naïve” – c’est la vie".encode("cp1252").decode("latin-1"), "windows-1252", "iso-8859-1", True),
        ("naïve Ærøskøbing".encode().decode("mac_roman"), "utf-8", "macroman", True),
        (HAN.encode().decode("gb18030", "replace"), "utf-8", "gb18030", False),
        (HAN.encode("gb18030").decode("latin-1"), "gb18030", "windows-1252", False),
        (RUSSIAN.encode("cp1251").decode("cp1252"), "cp1251", "windows-1252", False),
    ],
)
def test_the_mis_decoding_behind_mojibake_is_named(text: str, written: str, read_as: str, repairable: bool) -> None:
    found = misdecoding(list(enumerate(text.split("\n"), 1)))
    assert found is not None
    assert (found.written, found.read_as, found.repairable) == (written, read_as, repairable)
    assert found.examples[0].after[:3] in (FRENCH[:3], RUSSIAN[:3], HAN[:3], "naï", "“na")


def test_two_mis_decodings_upon_each_other_are_counted() -> None:
    found = misdecoding([(1, "déjà vu, café".encode().decode("cp1252", "ignore").encode().decode("cp1252", "ignore"))])
    assert found is not None
    assert found.times == 2


@pytest.mark.parametrize(
    "text", [HAN, RUSSIAN, FRENCH, "Ærøskøbing, naïve, Ñandú", "Þetta er íslenska", "日本語のテキスト", "한국어 문장"]
)
def test_good_text_is_not_called_damaged(text: str) -> None:
    found = look(list(enumerate(text.split("\n"), 1)))
    assert (found.mojibake, found.spelling, found.inherited) == (None, None, 0)


@pytest.mark.parametrize(
    ("text", "spelled"), [("Ġthe Ġcat", " the"), ("ä½łå¥½", "你好"), ('{"Ġhello": 1, "ä½ł": 2}', "你")]
)
def test_the_byte_alphabet_of_vocabularies_is_no_damage(tmp_path: Path, text: str, spelled: str) -> None:
    data = examine(tmp_path, text.encode())
    assert data["damage"]["spelling"]["examples"][0]["after"] == spelled
    assert data["damage"]["mojibake"] is None
    assert any(line.startswith("nothing is damaged: this is how vocabularies write bytes") for line in data["advice"])


@pytest.mark.parametrize(
    "text",
    ["był źródło, łąka", "māja un kāpēc", "Ġorġ mar il-Ħamrun biż-żiemel ta' Ġanni", "ılık ağaç", "čeština, ěščřž"],
)
def test_letters_that_the_byte_alphabet_uses_are_letters(text: str) -> None:
    assert byte_spelling([(1, text)]) is None


def test_mojibake_has_its_line_in_the_config(tmp_path: Path) -> None:
    repairable = examine(tmp_path, FRENCH.encode().decode("latin-1").encode())
    assert (
        "mojibake: repair   # on the source, or `- normalise: {mojibake: true}` among the stages"
        in repairable["advice"]
    )
    other = examine(tmp_path, HAN.encode("gb18030").decode("latin-1").encode())
    assert "text.encode('windows-1252').decode('gb18030')" in other["advice"][-1]


def test_what_is_shown_is_masked(tmp_path: Path) -> None:
    content = f"write to zoe.miller@example.org\n{'cafÃ© zoe.miller@example.org'}\nĠ\n"
    (tmp_path / "f.txt").write_text(content, encoding="utf-8")
    for output in (run(tmp_path / "f.txt"), run(tmp_path / "f.txt", "--json")):
        assert "zoe.miller" not in output
        assert "<|email|>" in output


@pytest.mark.parametrize(
    ("content", "kind", "advice"),
    [
        (b"PK\x03\x04....", "zip archive", "a source reads the files inside"),
        (b"\0" * 257 + b"ustar" + b"\0" * 300, "tar archive", "a source reads the files inside"),
        (b"WARC/1.0\r\n", "web archive (WARC)", "a source reads its records"),
        (b"%PDF-1.7", "PDF", "a PDF is no text: take the text out"),
    ],
)
def test_a_container_is_named_and_not_read_as_text(tmp_path: Path, content: bytes, kind: str, advice: str) -> None:
    data = examine(tmp_path, content)
    assert (data["kind"], data["reading"], data["text"]) == (kind, None, [])
    assert data["advice"][0].startswith(advice)


def test_binary_content_has_no_text(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_bytes(bytes(range(256)) * 8)
    output = run(tmp_path / "f.txt")
    assert "no text: more than 10% control characters: not text (binary_content)" in output
    assert "leave the file out of the source's path" in output
    assert "no damage" not in output


def test_what_no_charset_explains_is_said_so(tmp_path: Path) -> None:
    data = examine(tmp_path, (HAN.encode() + b"\xff\xff\xfe\xc0") * 9)
    assert data["reading"]["rejected"] == "undecodable"
    assert "no charset was certain; the detector names:" in data["advice"][0]


def test_json_lines_are_examined_in_their_text_field(tmp_path: Path) -> None:
    lines = [json.dumps({"id": "x", "body": "clean"}), json.dumps({"body": "cafÃ©"}), "{broken", "[1]"]
    data = examine(tmp_path, "\n".join(lines).encode(), "--text-field", "body", name="f.jsonl")
    assert data["kind"] == "json lines"
    assert [line["text"] for line in data["text"]] == ["clean", "cafÃ©", "{broken", "[1]"]
    assert data["damage"]["mojibake"]["examples"] == [{"line": 2, "before": "cafÃ©", "after": "café"}]


def test_parquet_strings_are_looked_through(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["clean", None, "cafÃ©"], "n": [1, 2, 3]}), tmp_path / "f.parquet")
    data = json.loads(run(tmp_path / "f.parquet", "--json"))
    assert (data["kind"], data["reading"]) == ("parquet", None)
    assert data["damage"]["mojibake"]["examples"][0]["line"] == 3


def test_a_page_is_read_as_it_declares(tmp_path: Path) -> None:
    page = f'<html><meta charset="gb2312"><p>{HAN}</p>'
    data = examine(tmp_path, page.encode("gbk"), name="f.html")
    assert (data["reading"]["codec"], data["reading"]["by"]) == ("gb18030", "declared")


def test_a_compressed_file_is_unpacked_and_a_broken_one_said_so(tmp_path: Path) -> None:
    packed = gzip.compress((HAN * 50).encode())
    data = examine(tmp_path, packed, name="f.txt.gz")
    assert (data["compression"], data["complete"], data["reading"]["by"]) == ("gzip", True, "utf-8")
    (tmp_path / "f.txt.gz").write_bytes(packed[:-9])
    assert "the stream breaks off: " in run(tmp_path / "f.txt.gz")


def test_of_a_large_file_the_beginning_is_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stages.ingest.doctor.EXAMINED", 10_001)
    data = examine(tmp_path, (HAN + "\n").encode() * 100)
    assert not data["complete"]
    assert data["reading"]["by"] == "utf-8"
    assert data["examined_bytes"] <= 10_001


def test_an_example_shows_the_place_and_control_characters_are_spelled_out(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text(f"\x1b[31mred\n{'word ' * 99}cafÃ© {'more ' * 99}\n", encoding="utf-8")
    output = run(tmp_path / "f.txt")
    assert "\\x1b[31mred" in output
    assert "\x1b" not in output
    assert "word cafÃ© more" in output
    assert "word café more" in output


def test_a_terminal_without_utf8_is_blamed_and_not_the_file(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text(HAN, encoding="utf-8")
    result = CliRunner(charset="ascii").invoke(main, ["doctor", str(tmp_path / "f.txt")])
    assert result.exit_code == 0
    assert "this terminal is set to ascii" in result.output
    assert "\\u4eca" in result.output


def test_good_text_in_a_good_terminal_leaves_the_screen(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text(HAN, encoding="utf-8")
    output = run(tmp_path / "f.txt")
    assert "the text shows no damage: if it looks wrong on your screen, the screen is wrong" in output
    assert "nothing about the encoding: it is found without help" in output


def test_an_unknown_charset_and_a_missing_file_are_usage_errors(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_bytes(b"x")
    result = CliRunner().invoke(main, ["doctor", str(tmp_path / "f.txt"), "--encoding", "klingon"])
    assert (result.exit_code, "--encoding klingon: no charset of this name" in result.output) == (2, True)
    assert CliRunner().invoke(main, ["doctor", str(tmp_path / "none.txt")]).exit_code == 2


def test_an_empty_file_is_examined(tmp_path: Path) -> None:
    assert examine(tmp_path, b"")["reading"]["by"] == "utf-8"


@pytest.mark.parametrize("codec", [*DETECTABLE, *sorted(WIDE), "utf-8", "iso2022_jp_ext", "iso2022_kr", "mac_roman"])
def test_the_label_for_a_codec_leads_back_to_it(codec: str) -> None:
    assert codec_of(label_of(codec)) == ("big5hkscs" if codec == "big5" else codec)


@given(st.one_of(st.binary(max_size=200), st.text(max_size=80).map(lambda t: t.encode("utf-8", "replace"))))
@settings(max_examples=150, deadline=None)
def test_no_bytes_are_an_error(content: bytes) -> None:
    reading = read_bytes(content, ["gbk", "bogus"])
    assert (reading.codec is None) == (reading.rejected is not None)
    assert sum(step.decided for step in reading.steps) <= 1
    look(list(enumerate(reading.text.split("\n"), 1)))


def test_what_ingest_makes_of_the_records_is_told_with_personal_data_masked(tmp_path: Path, call: Any) -> None:
    (tmp_path / "a.jsonl").write_text('{"body":"write to zoe@example.org"}\n{broken\n')
    told = call("doctor", tmp_path / "a.jsonl").stdout
    assert "as ingest reads it (jsonl): documents 0, unusable 2\n" in told
    assert f"       1  bad_json (first: {tmp_path}/a.jsonl:2, not JSON" in told
    assert "  text_field: body   # on the source" in told and "zoe@" not in told
    (tmp_path / "d.html").write_text("<body><p>Ask zoe@example.org about the ferries of this long evening.</p></body>")
    data = json.loads(call("doctor", tmp_path / "d.html", "--json").stdout)
    assert data["ingest"]["excerpt"] == "Ask <|email|> about the ferries of this long evening."


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("f.txt", b""),
        ("f.txt", b" \n\n"),
        ("f.txt", b"\x00\x01\x02" * 9),
        ("f.pdf", b"%PDF-1.7 x"),
        ("f.parquet", b"PAR1x"),
    ],
)
def test_where_no_text_was_read_nothing_is_said_about_damage(tmp_path: Path, name: str, content: bytes) -> None:
    assert examine(tmp_path, content, name=name)["damage"] is None
    output = run(tmp_path / name)
    assert "nothing was read as text here, so damage was not looked for" in output
    assert "no damage" not in output


def test_a_pipe_is_refused_at_once_by_every_command_that_reads_files(tmp_path: Path, call: Any) -> None:
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    for arguments in (
        ["doctor", pipe],
        ["tokenizer", "train", pipe, "--out", tmp_path / "t", "--vocab-size", 300],
        ["tokenizer", "evaluate", tmp_path, pipe],
        ["tokenizer", "compare", tmp_path, tmp_path, pipe],
        ["tokenizer", "extend", tmp_path, "-o", tmp_path / "t", "--from", pipe],
    ):
        result = call(*arguments)
        assert result.exit_code == 2
        assert "pipe.txt' is a named pipe, no regular file; save what it gives to a file first" in result.stderr
    assert "is a device or socket, no regular file" in call("doctor", "/dev/null").stderr
