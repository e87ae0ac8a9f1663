"""Web archives: every record is a document, a reason, or counted by its kind; damage costs one record."""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import brotli
import pyarrow as pa
import pytest
import zstandard
from ingest_reading import Result, read, write
from ingest_warc import PAGE, http, packed, page, warc

import curate
from pipeline.documents import DOCUMENTS
from pipeline.hashing import identity
from stages.language import Language

DATA = Path(os.environ.get("CURATE_TEST_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
SIMPLIFIED = "渡船九点开。它运送邮件、木材，星期天还带上一支小乐队。"


def sentence(number: int) -> str:
    return f"The ferry number {number} leaves at nine."


def archive(folder: Path, *records: bytes, name: str = "a.warc.gz") -> Result:
    return read(write(folder, name, packed(*records)))


@pytest.mark.parametrize("form", ["plain", "members", "one member", "frames", "one frame"])
def test_pages_of_an_archive_become_documents_however_it_is_packed(tmp_path: Path, form: str) -> None:
    records = [warc(b"software: x", "warcinfo", None), *(page(n) for n in range(1, 5))]
    content = {
        "plain": b"".join(records),
        "members": packed(*records),
        "one member": gzip.compress(b"".join(records)),
        "frames": b"".join(zstandard.compress(r) for r in records),
        "one frame": zstandard.compress(b"".join(records)),
    }[form]
    result = read(write(tmp_path, "a.warc.gz", content))
    assert result.texts == [sentence(n) for n in range(1, 5)]
    assert (result.ignored, result.reasons) == ({"warcinfo": 1}, {})
    assert [r["record"] for r in result.documents] == [f"a.warc.gz:{n}" for n in range(2, 6)]


@pytest.mark.parametrize("pack", [bytes, zstandard.compress])
def test_an_archive_of_frames_with_a_dictionary_in_front_is_read(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    records = [page(n) for n in range(1, 40)]
    dictionary = zstandard.train_dictionary(2_000, records * 20)
    compress = zstandard.ZstdCompressor(dict_data=dictionary).compress
    packed_records = [compress(record) for record in records]
    assert sum(map(len, packed_records)) < len(b"".join(map(zstandard.compress, records))) / 2
    first = pack(dictionary.as_bytes())
    frame = b"\x5d\x2a\x4d\x18" + len(first).to_bytes(4, "little") + first
    result = read(write(tmp_path, "a.warc.zst", frame + b"".join(packed_records)))
    assert (result.texts, result.reasons) == ([sentence(n) for n in range(1, 40)], {})
    lost = read(write(tmp_path, "b.warc.zst", b"".join(packed_records)))
    assert (lost.texts, lost.reasons) == ([], {"corrupt_stream": 1})


def test_title_address_date_and_headers_are_kept(tmp_path: Path) -> None:
    html = (
        '<html lang="en"><head><title> The\nferry </title><meta property="article:published_time" '
        'content="2025-12-24T08:00:00Z"></head><body><p>It leaves at nine.</p></body></html>'
    )
    body = http(html.encode(), "Content-Type: text/html; charset=utf-8", "X-A: 1", "X-A: 2")
    (row,) = archive(
        tmp_path, warc(body, "response", "<https://ferry.example/a?b>", "WARC-Truncated: length")
    ).documents
    assert (row["url"], row["title"], row["text"]) == ("https://ferry.example/a?b", "The ferry", "It leaves at nine.")
    assert row["doc_id"] == identity("web", "<urn:uuid:00000001>", body)
    assert json.loads(row["metadata"]) == {
        "warc_type": "response",
        "warc_date": "2026-01-02T03:04:05Z",
        "warc_record_id": "<urn:uuid:00000001>",
        "warc_truncated": "length",
        "http_status": 200,
        "http_headers": [["Content-Type", "text/html; charset=utf-8"], ["X-A", "1"], ["X-A", "2"]],
        "lang": "en",
        "date": "2025-12-24T08:00:00Z",
    }


def test_wet_records_are_documents_as_they_are(tmp_path: Path) -> None:
    records = [warc(b"x", "warcinfo", None), warc(f"渡船\n{SIMPLIFIED}\n".encode(), "conversion", "https://a.example/")]
    (row,) = read(write(tmp_path, "a.warc.wet.gz", packed(*records))).documents
    assert (row["text"], row["url"]) == (f"渡船\n{SIMPLIFIED}\n", "https://a.example/")


def test_every_other_record_has_its_reason_or_is_counted(tmp_path: Path) -> None:
    ok = PAGE.format(1).encode()
    records = {
        "redirect": warc(http(b"moved", status="301 Moved Permanently")),
        "http_status": warc(http(ok, status="404 Not Found")),
        "revisit": warc(http(b""), "revisit"),
        "segmented": warc(b"rest of a page", "continuation"),
        "no_target_uri": warc(http(ok), "response", None),
        "not_html": warc(http(b"%PDF-1.7 ...", "Content-Type: application/pdf")),
        "no_text": warc(http(b"<html><body><nav>Home</nav></body></html>")),
        "bad_http": warc(b"HTTP/1.1 two hundred\r\n\r\nx"),
        "bad_body": warc(http(gzip.compress(ok)[:10] + b"\xff" * 40, "Content-Encoding: gzip")),
        "binary_content": warc(http(b"\x89PNG" + bytes(range(32)) * 9)),
        "bad_record": warc(b"x", "invention"),
    }
    for reason, record in records.items():
        result = archive(tmp_path, record, page(2))
        assert result.reasons == {reason: 1}, reason
        assert result.texts == [sentence(2)]
        assert result.quarantine[0]["record"] == "a.warc.gz:1"
    kinds = [warc(b"x", k) for k in ("request", "metadata", "warcinfo", "request")] + [
        warc(b"1.2.3.4", uri="dns:a.example")
    ]
    assert archive(tmp_path, *kinds).ignored == {"request": 2, "metadata": 1, "warcinfo": 1, "dns": 1}


def test_the_detail_names_the_type_and_never_quotes_what_is_no_type(tmp_path: Path) -> None:
    records = [warc(http(b"x", f"Content-Type: {kind}")) for kind in ("image/png", "zoe@example.org secret")]
    details = [r["detail"] for r in archive(tmp_path, *records).quarantine]
    assert details == ["neither HTML nor plain text: image/png", "neither HTML nor plain text: of an unknown type"]


def test_plain_text_and_resource_records_and_pages_without_a_type_are_documents(tmp_path: Path) -> None:
    records = [
        warc(http(b"only text, 5 < 6\n", "Content-Type: text/plain; charset=us-ascii")),
        warc(PAGE.format(2).encode(), "resource", "file:///b.html", "Content-Type: text/html"),
        warc(http(PAGE.format(3).encode(), "Content-Type:")),
    ]
    assert archive(tmp_path, *records).texts == ["only text, 5 < 6\n", sentence(2), sentence(3)]


CODED = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
    "gzip, br": lambda b: brotli.compress(gzip.compress(b)),
    "identity": bytes,
}


def chunked(body: bytes) -> bytes:
    parts = [body[i : i + 50] for i in range(0, len(body), 50)]
    return b"".join(f"{len(p):x};x=1\r\n".encode() + p + b"\r\n" for p in parts) + b"0\r\nTrailer: x\r\n\r\n"


@pytest.mark.parametrize("coding", CODED)
@pytest.mark.parametrize("in_chunks", [False, True])
@pytest.mark.parametrize("undone", [(), ("chunks",), ("coding",), ("chunks", "coding")])
def test_bodies_are_read_as_they_came_or_decoded_already(
    tmp_path: Path, coding: str, in_chunks: bool, undone: tuple[str, ...]
) -> None:
    """`undone`: what the archive took off the body before it stored it, and left in the headers."""
    body = (PAGE.format(7) + f"<p>{SIMPLIFIED}</p>").encode()
    stored = body if "coding" in undone else CODED[coding](body)
    stored = chunked(stored) if in_chunks and "chunks" not in undone else stored
    headers = [f"Content-Encoding: {coding}"] + (["Transfer-Encoding: chunked"] if in_chunks else [])
    (row,) = archive(tmp_path, warc(http(stored, *headers))).documents
    assert row["text"] == f"{sentence(7)}\n\n{SIMPLIFIED}"
    assert "body" not in json.loads(row["metadata"])


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate"])
def test_a_compressed_bomb_in_a_body_is_one_record_too_large(tmp_path: Path, coding: str) -> None:
    bomb = CODED[coding](b"<p>" + b"a" * 5_000_000)
    path = write(tmp_path, "a.warc", warc(http(bomb, f"Content-Encoding: {coding}")) + page(2))
    result = read(path, {"max_record_bytes": 1_000_000})
    assert (result.texts, result.reasons) == ([sentence(2)], {"record_too_large": 1})


def test_a_body_cut_at_the_crawler_s_limit_gives_what_there_is(tmp_path: Path) -> None:
    body = (PAGE.format(1) + "".join(f"<p>Line {i * i} of many.</p>" for i in range(300))).encode()
    for stored, header in (
        (gzip.compress(body)[:-200], "Content-Encoding: gzip"),
        (chunked(body)[:-500], "Transfer-Encoding: chunked"),
    ):
        (row,) = archive(tmp_path, warc(http(stored, header))).documents
        assert row["text"].startswith(sentence(1)) and "Line 10000 " in row["text"]
        assert json.loads(row["metadata"])["body"] == "cut"


def test_header_lines_may_end_with_a_line_feed_alone(tmp_path: Path) -> None:
    body = http(PAGE.format(3).encode(), "X: y").replace(b"\r\n", b"\n")
    (row,) = archive(tmp_path, warc(body)).documents
    assert row["text"] == sentence(3)
    assert ["X", "y"] in json.loads(row["metadata"])["http_headers"]


@pytest.mark.parametrize(
    ("header", "meta", "codec"),
    [
        ('text/html; charset="GBK"', "utf-8", "gb18030"),
        ("text/html;charset=bogus", "gb2312", "gb18030"),
        ("text/html; charset=", "gbk", "gb18030"),
        ("text/html", "gbk", "gb18030"),
        ("text/html; charset=big5", "gbk", "big5hkscs"),
    ],
)
def test_the_http_charset_goes_before_the_page_s_own(tmp_path: Path, header: str, meta: str, codec: str) -> None:
    html = f'<meta charset="{meta}"><p>{SIMPLIFIED if codec == "gb18030" else "渡船九點開。它運送郵件、木材。"}</p>'
    raw = html.encode("gbk" if codec == "gb18030" else "big5")
    (row,) = archive(tmp_path, warc(http(raw, f"Content-Type: {header}"))).documents
    assert (row["encoding"], row["encoding_by"]) == (codec, "declared")
    assert row["text"] in html


def test_the_config_s_charset_goes_before_all(tmp_path: Path) -> None:
    raw = f'<meta charset="big5"><p>{SIMPLIFIED}</p>'.encode("gbk")
    path = write(tmp_path, "a.warc", warc(http(raw, "Content-Type: text/html; charset=windows-1251")))
    assert read(path, encoding="gbk").texts == [SIMPLIFIED]


@pytest.mark.parametrize("members", [True, False])
def test_ing_05_a_wrong_length_costs_nothing_and_a_cut_stream_is_reported(tmp_path: Path, members: bool) -> None:
    """ING-05: with a gzip member for each record, and with one for all."""
    r2 = warc(http(PAGE.format(2).encode()), "response", None, number=2)
    records = (page(1), r2, page(3, short=1), page(4))
    content = (packed(*records) if members else gzip.compress(b"".join(records), mtime=0))[:-6]
    result = read(write(tmp_path, "a.warc.gz", content))
    assert result.texts == [sentence(1), sentence(3), sentence(4)]
    assert result.reasons == {"no_target_uri": 1, "truncated_stream": 1}
    warning = json.loads(result.documents[1]["metadata"])["warning"]
    assert warning.startswith("Content-Length says ") and "the record has" in warning


@pytest.mark.parametrize("wrong", [1, 7, 300, -1, -3000, -60_000_000])
def test_a_wrong_content_length_swallows_no_other_record(tmp_path: Path, wrong: int) -> None:
    records = [page(1), page(2, short=wrong), page(3)]
    result = read(write(tmp_path, "a.warc", b"".join(records)))
    assert sentence(1) in result.texts and sentence(3) in result.texts
    assert result.texts == [sentence(1), sentence(2), sentence(3)] or wrong > 150


def test_a_length_beyond_the_limit_is_too_large_and_the_next_record_is_found(tmp_path: Path) -> None:
    long = warc(http(b"<p>" + b"a" * 3_000_000))
    for second in (long, page(2, short=-(10**15))):
        result = read(write(tmp_path, "a.warc", page(1) + second + page(3)), {"max_record_bytes": 100_000})
        assert (result.texts, result.reasons) == ([sentence(1), sentence(3)], {"record_too_large": 1})


def test_a_damaged_member_costs_its_record_and_is_reported(tmp_path: Path) -> None:
    members = [packed(page(n)) for n in range(1, 6)]
    members[2] = members[2][:60] + bytes(b ^ 0x55 for b in members[2][60:90]) + members[2][90:]
    result = read(write(tmp_path, "a.warc.gz", b"".join(members)))
    assert result.texts == [sentence(n) for n in (1, 2, 4, 5)]
    assert (result.reasons, result.quarantine[0]["record"]) == ({"corrupt_stream": 1}, "a.warc.gz:3")


def test_an_archive_cut_within_a_record_says_so(tmp_path: Path) -> None:
    content = page(1) + page(2)
    result = read(write(tmp_path, "a.warc", content[:-30]))
    assert (result.texts, result.reasons) == ([sentence(1)], {"cut_record": 1})
    middle = packed(page(1), page(2))
    result = read(write(tmp_path, "b.warc.gz", middle[: len(middle) - 120]))
    assert (result.texts, result.reasons) == ([sentence(1)], {"truncated_stream": 1})
    assert result.quarantine[0]["record"] == "b.warc.gz:2"


def test_rubbish_between_records_is_one_record_of_its_own(tmp_path: Path) -> None:
    result = read(write(tmp_path, "a.warc", b"junk " * 1000 + page(1) + b"\r\nmore junk\r\n" + page(2)))
    assert result.texts == [sentence(1), sentence(2)]
    assert result.reasons["bad_record"] == 2
    assert read(write(tmp_path, "b.warc", b"<html>no archive</html>")).reasons == {"bad_record": 1}
    assert read(write(tmp_path, "c.warc", b"")).records == 0


def test_a_record_whose_own_first_line_is_damaged_does_not_become_part_of_the_one_before_it(tmp_path: Path) -> None:
    damaged = page(2).replace(b"WARC/1.1", b"WaRC/1.1")
    result = read(write(tmp_path, "a.warc", page(1) + damaged + page(3)))
    assert (result.texts, result.reasons) == ([sentence(1), sentence(3)], {"bad_record": 1})


@pytest.mark.parametrize("end", [b"\r\n\0\0", b"\r\n\r\n?", b"\n", b"x", b""])
def test_damage_between_two_records_costs_neither(tmp_path: Path, end: bytes) -> None:
    content = page(1).removesuffix(b"\r\n\r\n") + end + page(2) + page(3)
    result = read(write(tmp_path, "a.warc", content))
    assert result.texts == [sentence(1), sentence(2), sentence(3)]
    assert result.reasons == ({"bad_record": 1} if end.strip() else {})


def test_a_run_reads_an_archive_and_counts_every_record(tmp_path: Path) -> None:
    records = [warc(b"x", "warcinfo", None), *(page(n) for n in range(1, 4)), warc(http(b"", status="302 Found"))]
    write(tmp_path, "a.warc.gz", packed(*records))
    write(tmp_path, "b.html", PAGE.format(8))
    config = (
        "name: t\nsources:\n  - {name: w, path: ['a.warc.gz', 'b.html'], license: CC0-1.0}\nstages:\n  - ingest: {}\n"
    )
    run = curate.run(write(tmp_path, "c.yaml", config), run_dir=tmp_path / "run", workers=1)
    assert run.sql("select count(*) from curated").fetchone() == (4,)
    assert run.sql("select text from documents where record = 'b.html'").fetchall() == [(sentence(8),)]
    assert run.sql("select reason, record from quarantine").fetchall() == [("redirect", "a.warc.gz:5")]
    (source,) = json.loads((tmp_path / "run" / "ingest" / "manifest.json").read_text())["sources"]
    assert (source["records"], source["documents"], source["ignored"]) == (5, 4, {"warcinfo": 1})
    assert (source["quarantined"], source["unusable"]) == (1, 0)


FOLDERS = {
    "libreoffice-help-de": "de",
    "libreoffice-help-ja": "ja",
    "libreoffice-help-ko": "ko",
    "libreoffice-help-ru": "ru",
    "libreoffice-help-zh-cn": "zh",
    "libreoffice-help-zh-tw": "zh",
    "lilypond-doc-html-zh": "zh",
    "cppreference-doc-en-html": "en",
    "postgresql-doc-15": "en",
}
LETTERS = {"ja": "\u3040-\u30ff", "ko": "\uac00-\ud7a3", "ru": "\u0400-\u04ff", "zh": "\u4e00-\u9fff"}


@pytest.fixture(scope="module")
def debian() -> Result:
    path = DATA / "raw" / "debian-docs.warc.gz"
    if not path.exists():
        pytest.skip(f"no {path}: put the shared data there or set CURATE_TEST_DATA")
    return read(path)


def test_no_record_of_a_real_archive_is_unaccounted_for(debian: Result) -> None:
    assert debian.records == 1792
    assert debian.reasons == {"no_text": 2}
    assert Counter(r["encoding"] for r in debian.documents) == {"utf-8": 1775, "cp949": 15}


def test_languages_agree_with_the_folders_of_a_real_archive(debian: Result) -> None:
    """Where they do not, the page is really in another language: English that was never translated."""
    rows = [(r, lang) for r in debian.documents for folder, lang in FOLDERS.items() if f"/{folder}/" in r["url"]]
    table = pa.Table.from_pylist([r for r, _ in rows], schema=DOCUMENTS)
    found = Language.measure(table, Language.Params.model_validate({}), None)["lang"].to_pylist()
    differing = [(r, lang, label) for (r, lang), label in zip(rows, found, strict=True) if lang != label]
    assert len(rows) == 808 and len(differing) < 150
    for row, lang, label in differing:
        if "/mask_array/operator_arith." in row["url"]:
            continue  # a table of operators with hardly a word between them
        assert label == "en" and lang in LETTERS, (row["url"], label)
        assert _share(row["text"][:1000], lang) < 0.5, row["url"]  # the judge looks at so many characters


def _share(text: str, lang: str) -> float:
    """Share of letters in the script of a language."""
    letters = [c for c in text if c.isalpha()]
    return len(re.findall(f"[{LETTERS[lang]}]", text)) / max(1, len(letters))
