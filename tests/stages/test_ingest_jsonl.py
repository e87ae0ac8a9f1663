"""JSON Lines: every line is a document, blank, or in quarantine with its reason; metadata is exact."""

from __future__ import annotations

import gzip
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_reading import Result, read, write

from pipeline.hashing import identity
from stages.ingest import rows


def lines(tmp_path: Path, content: bytes | str, params: dict[str, Any] | None = None, **source: Any) -> Result:
    return read(write(tmp_path, "a.jsonl", content), params, **source)


def test_enc_05_a_byte_order_mark_leaves_the_first_record_whole(tmp_path: Path) -> None:
    """ENC-05."""
    content = (
        "efbbbf7b226964223a2231222c2274657874223a226669727374227d0a"
        "7b226964223a2232222c2274657874223a227365636f6e64227d0a"
    )
    result = lines(tmp_path, bytes.fromhex(content))
    assert [json.loads(row["metadata"])["id"] for row in result.documents] == ["1", "2"]
    assert result.texts == ["first", "second"]
    assert result.quarantine == []
    assert {row["encoding_by"] for row in result.documents} == {"bom"}
    without = lines(tmp_path, bytes.fromhex(content)[3:])
    assert [row["doc_id"] for row in result.documents] == [row["doc_id"] for row in without.documents]


def test_a_byte_order_mark_in_the_middle_of_joined_files_does_no_harm(tmp_path: Path) -> None:
    result = lines(tmp_path, b'{"text":"a"}\n\xef\xbb\xbf{"text":"b"}\n')
    assert (result.texts, result.quarantine) == (["a", "b"], [])


def test_enc_07_lone_surrogates_become_u_fffd_and_are_counted(tmp_path: Path) -> None:
    """ENC-07."""
    content = [
        r'{"id":"1","text":"a\ud83d b"}',
        r'{"id":"2","text":"\ud83d\ude00"}',
        r'{"id":"3","text":"\udcb2 tail"}',
    ]
    result = lines(tmp_path, "\n".join(content))
    assert result.texts == ["a\ufffd b", "😀", "\ufffd tail"]
    assert [row["surrogates"] for row in result.documents] == [1, 0, 1]


def test_lone_surrogates_in_other_fields_are_replaced_and_counted_too(tmp_path: Path) -> None:
    result = lines(tmp_path, r'{"text":"a","title":"t\ud800","k\udfff":["\ud800x",1.50]}')
    (row,) = result.documents
    assert (row["title"], row["metadata"], row["surrogates"]) == ("t\ufffd", '{"k\ufffd":["\ufffdx",1.50]}', 3)


def test_enc_08_a_nul_is_removed_from_the_text_and_counted(tmp_path: Path) -> None:
    """ENC-08."""
    result = lines(tmp_path, r'{"id":"1","text":"width 3\u0000 to 5 cm","title":"a\u0000b","k":"\u0000"}')
    (row,) = result.documents
    assert (row["text"], row["title"], row["nuls"]) == ("width 3 to 5 cm", "ab", 2)
    assert row["metadata"] == r'{"id":"1","k":"\u0000"}'


def test_enc_08_a_text_of_control_characters_is_binary(tmp_path: Path) -> None:
    result = lines(
        tmp_path, json.dumps({"text": "oscar" + "\0" * 64}) + "\n" + '{"text":"\\b\\b\\bx"}\n{"text":"\x7f\x7fy"}'
    )
    assert result.reasons == {"binary_content": 3}


def test_ing_01_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    """ING-01."""
    result = lines(tmp_path, '{"id":"1","text":"x\u2028y\x85z"}\n{"id":"2","text":"w"}\n')
    assert (result.texts, result.quarantine, result.records) == (["x\u2028y\x85z", "w"], [], 2)


def test_ing_02_each_unusable_line_is_listed_and_the_rest_is_read(tmp_path: Path) -> None:
    """ING-02."""
    content = (
        '{"id":"1","text":"a"}\n\n{"id":"2","text":\n"text"\n["text"]\n42\n{"id":"3","text":null}\n'
        '{"id":"4","body":"b"}\n{"id":"5","text":7}\n{"id":"6","text":"z"}\n{"id":"7","text":"cut'
    )
    result = lines(tmp_path, content, id_field="id")
    assert [json.loads(row["metadata"])["id"] for row in result.documents] == ["1", "6"]
    assert result.blank == 1
    assert result.reasons == {"bad_json": 2, "not_object": 3, "text_null": 1, "text_missing": 1, "text_not_string": 1}
    assert result.records == 11
    assert [(row["record"], row["reason"]) for row in result.quarantine] == [
        ("a.jsonl:3", "bad_json"),
        ("a.jsonl:4", "not_object"),
        ("a.jsonl:5", "not_object"),
        ("a.jsonl:6", "not_object"),
        ("a.jsonl:7", "text_null"),
        ("a.jsonl:8", "text_missing"),
        ("a.jsonl:9", "text_not_string"),
        ("a.jsonl:11", "bad_json"),
    ]
    assert [row["record"] for row in result.documents] == ["a.jsonl:1", "a.jsonl:10"]


def test_a_detail_says_what_is_wrong_and_never_quotes_the_record(tmp_path: Path) -> None:
    content = (
        '{"secret": oops}\n"secret"\n{"body":"secret"}\n{"text":null}\n{"text":["secret"]}\n{"text":"secret","n":NaN}\n'
    )
    result = lines(tmp_path, content)
    assert [row["detail"] for row in result.quarantine] == [
        "not JSON: Expecting value at character 12",
        "the line is a string, not an object",
        "no field 'text'; set `text_field` if the text has another name",
        "field 'text' is null",
        "field 'text' is an array",
        "not JSON: NaN is no JSON number",
    ]


def test_ing_04_metadata_values_stay_exactly_as_they_came(tmp_path: Path) -> None:
    """ING-04."""
    exact = '{"d":"25-11-2025","u":"BBD05AE7BBD05AE7BBD05AE7BBD05AE7","n":9007199254740993,"big":12345678901234567890}'
    (row,) = lines(tmp_path, f'{{"id":"007","text":"2024","meta":{exact}}}', id_field="id").documents
    assert (row["text"], row["metadata"]) == ("2024", f'{{"id":"007","meta":{exact}}}')
    meta = (
        '{"d":"25-11-2025","u":"BBD05AE7BBD05AE7BBD05AE7BBD05AE7","n":9007199254740993,"big":12345678901234567890,'
        '"huge":123456789012345678901234567890,"price":1.50,"tiny":1e-400,"digits":3.14159265358979323846}'
    )
    (row,) = lines(tmp_path, f'{{"id":"007","text":"2024","meta":{meta}}}').documents
    assert row["text"] == "2024"
    assert row["metadata"] == f'{{"id":"007","meta":{meta}}}'
    assert json.loads(row["metadata"])["meta"]["big"] == 12345678901234567890


def test_url_and_title_are_columns_and_no_metadata_unless_they_are_no_strings(tmp_path: Path) -> None:
    result = lines(
        tmp_path, '{"text":"a","link":"u","title":"t","n":1}\n{"text":"b","link":7,"title":null}', url_field="link"
    )
    assert [(r["url"], r["title"], r["metadata"]) for r in result.documents] == [
        ("u", "t", '{"n":1}'),
        (None, None, '{"link":7,"title":null}'),
    ]


def test_the_licence_is_the_source_s_or_the_record_s_and_null_where_it_is_no_string(tmp_path: Path) -> None:
    content = '{"text":"a","lic":"MIT"}\n{"text":"b","lic":3}\n{"text":"c"}\n'
    assert [r["license"] for r in lines(tmp_path, content, license_field="lic").documents] == ["MIT", None, None]
    assert {r["license"] for r in lines(tmp_path, content, license="CC0-1.0").documents} == {"CC0-1.0"}


def test_of_equal_keys_the_last_one_counts(tmp_path: Path) -> None:
    for number in ("1", "1.0"):  # the fast way and the slow way
        (row,) = lines(tmp_path, f'{{"text":"a","k":1,"text":"b","k":{number}}}').documents
        assert (row["text"], row["metadata"]) == ("b", f'{{"k":{number}}}')


def test_nesting_has_one_limit_whatever_reads_it(tmp_path: Path) -> None:
    def nested(depth: int, inner: str) -> str:
        return f'{{"text":"a","k":{"[" * depth}{inner}{"]" * depth}}}\n'

    depths = (199, 200, 500, 1200, 100_000)
    content = "".join(nested(depth, inner) for depth in depths for inner in ("1", "1.0"))
    result = lines(tmp_path, content)
    assert len(result.documents) == 2
    assert {(row["reason"], row["detail"]) for row in result.quarantine} == {
        ("bad_json", "not JSON: nested deeper than 200 levels")
    }
    assert len(result.quarantine) == 8


@pytest.mark.parametrize("bad", ["NaN", "Infinity", "-Infinity", "01", "+1", ".5", "1.", "'a'", '"\t"', "True", "1,"])
def test_what_json_does_not_have_is_bad_json(tmp_path: Path, bad: str) -> None:
    assert lines(tmp_path, f'{{"text":"a","k":{bad}}}').reasons == {"bad_json": 1}


def test_identity_is_source_own_id_and_the_line_without_its_end(tmp_path: Path) -> None:
    one, two = '{"id":7,"text":"a"}', '{"id":"x","text":"a"}'
    result = lines(tmp_path, f"{one}\r\n{two}\n", id_field="id")
    assert [r["doc_id"] for r in result.documents] == [
        identity("web", "7", one.encode()),
        identity("web", "x", two.encode()),
    ]
    (row,) = lines(tmp_path, one).documents
    assert row["doc_id"] == identity("web", None, one.encode())


def test_a_record_above_the_limit_is_skipped_and_the_next_one_read(tmp_path: Path) -> None:
    big = json.dumps({"text": "x" * 3_000_000})
    result = lines(tmp_path, f'{{"text":"a"}}\n{big}\n{{"text":"b"}}\n{big}', {"max_record_bytes": 100_000})
    assert (result.texts, result.reasons) == (["a", "b"], {"record_too_large": 2})
    assert [row["record"] for row in result.quarantine] == ["a.jsonl:2", "a.jsonl:4"]
    exact = lines(tmp_path, '{"text":"a"}\n{"text":"ab"}\n', {"max_record_bytes": 12})
    assert (exact.texts, exact.reasons) == (["a"], {"record_too_large": 1})


def test_batches_are_bounded_by_rows_and_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "BATCH_ROWS", 10)
    assert lines(tmp_path, '{"text":"a"}\n' * 25).batches == 3
    monkeypatch.setattr(rows, "BATCH_BYTES", 1000)
    content = '{"text":"%s"}\n' % ("x" * 400)
    result = lines(tmp_path, content * 5 + '{"text":"%s"}\n' % ("y" * 5000))
    assert (result.batches, len(result.documents)) == (4, 6)


def test_a_file_without_lines_gives_one_empty_batch(tmp_path: Path) -> None:
    assert lines(tmp_path, b"").batches == 1
    blank = lines(tmp_path, b"\n \t\r\n\n")
    assert (blank.batches, blank.blank, blank.records) == (1, 3, 3)


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("gbk", "渡船九点开，带上一支小乐队。孩子们在岸边等着听音乐，老人们也来了。"),
        ("gb18030", "渡船九点开，㐀镕。孩子们在岸边等着听音乐。"),
        ("big5", "渡船九點開，帶上一支小樂隊。功許蓋"),  # 功, 許, 蓋 end in the byte of a backslash
        ("shift_jis", "渡し船は九時に出ます。表示とソース、能力と予算"),  # so do 表, ソ, 能, 予
        ("euc_jp", "渡し船は九時に出ます。郵便と材木を運びます。"),
        ("euc_kr", "나룻배는 아홉 시에 떠난다. 우편물과 목재를 나른다."),
        ("cp1251", "Паром отходит в девять, он везёт почту и лес."),
    ],
)
def test_lines_in_a_declared_charset_come_back_exactly(tmp_path: Path, codec: str, text: str) -> None:
    content = json.dumps({"text": text, "k": text}, ensure_ascii=False).encode(codec)
    result = lines(tmp_path, content + b"\n" + b'{"text":"plain"}\n', encoding=codec)
    assert result.texts == [text, "plain"]
    assert [r["encoding_by"] for r in result.documents] == ["declared", "utf-8"]
    assert json.loads(result.documents[0]["metadata"]) == {"k": text}


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_files_are_cut_at_their_own_line_ends(tmp_path: Path, codec: str, mark: str) -> None:
    texts = ["渡船九点开，上岸", "਀ਊ in a Gurmukhi text whose bytes hold 0x0A", "😀 plain"]
    content = (
        mark
        + "".join(json.dumps({"text": t, "n": 1.50}, ensure_ascii=False) + "\r\n" for t in texts)
        + '{"text":"\\ud800"}'
    )
    result = lines(tmp_path, content.encode(codec))
    assert (result.texts, result.quarantine) == ([*texts, "\ufffd"], [])
    assert {(r["encoding"], r["encoding_by"]) for r in result.documents} == {(codec, "bom" if mark else "pattern")}
    cut = lines(tmp_path, content.encode(codec)[:-1])
    assert (cut.texts, cut.reasons) == (texts, {"corrupt_stream": 1})


BAD = "é".encode() * 50 + b"\xff\xfe\xff" * 20


def test_a_few_undecodable_bytes_are_replaced_and_counted_and_many_reject_the_line(tmp_path: Path) -> None:
    good = '{"text":"' + "é" * 200
    result = lines(tmp_path, good.encode() + b'\xff"}\n' + b'{"text":"%b"}\n{"text":"ok"}' % BAD)
    assert result.texts == ["é" * 200 + "\ufffd", "ok"]
    assert [(r["replacements"], r["encoding_by"]) for r in result.documents] == [(1, "replacement"), (0, "utf-8")]
    assert result.reasons == {"undecodable": 1}


def test_raw_control_bytes_are_bad_json_and_a_line_of_them_is_binary(tmp_path: Path) -> None:
    result = lines(tmp_path, b'{"text":"one raw \x01 control"}\n' + b"\x00\x01\x02\x03\x1b" * 9 + b'\n{"text":"ok"}\n')
    assert [r["reason"] for r in result.quarantine] == ["bad_json", "binary_content"]
    assert result.texts == ["ok"]


CONTENT = b"".join(b'{"id":%d,"text":"line %d of a file that was packed"}\n' % (i, i) for i in range(4000))


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst", "a.jsonl"])
def test_compression_is_known_by_its_bytes_and_all_members_are_read(tmp_path: Path, name: str) -> None:
    parts = [CONTENT[:50_001], b"", CONTENT[50_001:]]
    zstd = zstandard.ZstdCompressor(write_checksum=True)
    for packed in (
        b"".join(map(gzip.compress, parts)),
        b"".join(map(gzip.compress, parts)) + bytes(1000),
        b"".join(map(zstd.compress, parts)),
        b"\x50\x2a\x4d\x18\x04\0\0\0skip" + zstd.compress(CONTENT) + b"\x5f\x2a\x4d\x18\x04\0\0\0skip",
        CONTENT,
    ):
        result = read(write(tmp_path, name, packed))
        assert (len(result.documents), result.quarantine) == (4000, [])
        assert result.documents[-1]["record"] == f"{name}:4000"


@pytest.mark.parametrize("form", ["gz", "zst"])
def test_a_truncated_stream_keeps_what_came_before_and_is_reported(tmp_path: Path, form: str) -> None:
    zstd = zstandard.ZstdCompressor()
    compress = gzip.compress if form == "gz" else zstd.compress
    one, two = compress(CONTENT), compress(CONTENT)
    for cut, at_least in (
        (len(one) - 1, 0),
        (len(one) // 2, 0),
        (len(one) + len(two) // 2, 4000),
        (len(one) + 2, 4000),
        (6, 0),
    ):
        result = read(write(tmp_path, f"a.jsonl.{form}", (one + two)[:cut]))
        assert result.reasons == {"truncated_stream": 1}
        assert at_least <= len(result.documents) < 8000
        assert result.quarantine[0]["record"] == f"a.jsonl.{form}:{len(result.documents) + 1}"
    empty = read(write(tmp_path, f"a.jsonl.{form}", b""))
    assert empty.reasons == {"truncated_stream": 1}


def test_a_damaged_stream_keeps_what_came_before_and_is_reported(tmp_path: Path) -> None:
    one = gzip.compress(CONTENT)
    broken = bytearray(gzip.compress(CONTENT))
    broken[len(broken) // 2] ^= 0xFF
    wrong_sum = bytearray(one)
    wrong_sum[-5] ^= 0xFF
    zstd = zstandard.ZstdCompressor(write_checksum=True).compress(CONTENT)
    for packed, documents in (
        (one + broken, range(4000, 8000)),
        (one + b"garbage behind the end", range(4000, 4001)),
        (bytes(wrong_sum), range(4001)),
        (zstd[:-1] + bytes([zstd[-1] ^ 1]), range(4001)),
        (zstd + b"garbage behind the end", range(4000, 4001)),
    ):
        result = read(write(tmp_path, "a.jsonl.gz", bytes(packed)))
        assert result.reasons["corrupt_stream"] == 1
        assert result.quarantine[-1]["reason"] == "corrupt_stream"  # deflate notices late: lines before may be bad_json
        assert len(result.documents) in documents


def test_a_bomb_is_one_record_too_large(tmp_path: Path) -> None:
    bomb = zstandard.ZstdCompressor().compress(b"\0" * 100_000_000)
    assert len(bomb) < 10_000
    result = read(write(tmp_path, "a.jsonl.zst", bomb + zstandard.compress(b'\n{"text":"after"}\n')))
    assert (result.texts, result.reasons) == (["after"], {"record_too_large": 1})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(["id", "k", "title", "url", "ü"]), json_values), max_size=4))
def test_any_json_object_keeps_its_values(
    tmp_path_factory: pytest.TempPathFactory, objects: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("values")
    for ascii_only in (False, True):
        content = "".join(json.dumps({"text": "t", **o}, ensure_ascii=ascii_only) + "\n" for o in objects)
        result = lines(folder, content)
        assert len(result.documents) == len(objects)
        for row, value in zip(result.documents, objects, strict=True):
            kept = json.loads(row["metadata"])
            for name in ("url", "title"):
                if isinstance(value.get(name), str):
                    assert row[name] == value[name].replace("\0", "")
                    assert name not in kept
                    kept[name] = value[name]
            assert kept == value
            assert list(kept) != [] or value == {}


DATA = Path(os.environ.get("CURATE_TEST_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared test data is not here (CURATE_TEST_DATA)")
@pytest.mark.parametrize("name", ["web/c4-1000.jsonl.zst", "pii/presidio-research.jsonl.zst"])
def test_real_files_are_read_without_loss(name: str) -> None:
    result = read(DATA / name, license_field="license", id_field="id")
    with (DATA / name).open("rb") as file:
        reader = zstandard.ZstdDecompressor().stream_reader(file)
        expected = [json.loads(line) for line in io.TextIOWrapper(reader, "utf-8", newline="\n")]
    assert result.quarantine == [] and result.blank == 0
    for row, record in zip(result.documents, expected, strict=True):
        shown = {name: row[name] for name in ("url", "title") if row[name] is not None}
        assert {"text": row["text"], **shown, **json.loads(row["metadata"])} == record
        assert row["license"] == record.get("license")
