"""Pages: visible text with its blocks as lines, whatever charset they are written in and however they are broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ingest_reading import Result, read, write

from pipeline.hashing import identity
from stages.ingest.page import declared_charset, like_html

TEXTS = {
    "gbk": "渡船九点开。它运送邮件、木材，星期天还带上一支小乐队。",
    "gb18030": "渡船九点开，㐀镕𠀀。它运送邮件、木材。",
    "big5": "渡船九點開。它運送郵件、木材，星期天還帶上一支小樂隊。",
    "shift_jis": "渡し船は九時に出ます。郵便と材木を運び、日曜日には小さな楽団も乗せます。",
    "euc_jp": "渡し船は九時に出ます。郵便と材木を運び、日曜日には小さな楽団も乗せます。",
    "iso2022_jp": "渡し船は九時に出ます。郵便と材木を運びます。",
    "euc_kr": "나룻배는 아홉 시에 떠난다. 우편물과 목재를 나르고 일요일에는 작은 악단도 태운다.",
    "cp1251": "Паром отходит в девять. Он везёт почту, лес и по воскресеньям маленький оркестр.",
    "koi8_r": "Паром отходит в девять. Он везёт почту, лес и по воскресеньям маленький оркестр.",
    "cp1252": "L’été dernier, le bac transportait déjà le courrier, où que l’on fût arrêté.",
    "utf-8": "渡船九点开，naïve “plans”, 😀.",
}
LABELS = {
    "gbk": "gb2312",
    "shift_jis": "Shift_JIS",
    "euc_jp": "x-euc-jp",
    "iso2022_jp": "iso-2022-jp",
    "euc_kr": "ks_c_5601-1987",
    "cp1251": "windows-1251",
    "koi8_r": "koi8-r",
    "cp1252": "iso-8859-1",
}


def html(folder: Path, content: str | bytes, **options: object) -> Result:
    return read(write(folder, "a.html", content), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("codec", TEXTS)
@pytest.mark.parametrize(
    "declaration",
    [
        '<meta charset="{}">',
        "<META CHARSET={}>",
        '<meta http-equiv="Content-Type" content="text/html; charset={}">',
        "<meta content='text/html; charset={}' http-equiv=content-type />",
        '<?xml version="1.0" encoding="{}"?>',
    ],
)
def test_a_page_in_a_declared_charset_comes_back_exactly(tmp_path: Path, codec: str, declaration: str) -> None:
    head = declaration.format(LABELS.get(codec, codec))
    (row,) = html(tmp_path, f"{head}<title>{TEXTS[codec]}</title><p>{TEXTS[codec]}</p>".encode(codec)).documents
    assert (row["text"], row["title"], row["replacements"]) == (TEXTS[codec], TEXTS[codec], 0)
    assert row["encoding_by"] == {"utf-8": "utf-8", "iso2022_jp": "pattern"}.get(codec, "declared")


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("text", list(TEXTS.values()))
def test_utf_16_pages_come_back_exactly_with_and_without_a_mark(
    tmp_path: Path, codec: str, mark: str, text: str
) -> None:
    page = f'{mark}<html><head><meta charset="utf-16"></head><body><p>{text}</p></body></html>'
    (row,) = html(tmp_path, page.encode(codec)).documents
    assert (row["text"], row["encoding"], row["encoding_by"]) == (text, codec, "bom" if mark else "pattern")


def test_enc_03_a_page_that_says_gb2312_is_read_as_gb18030(tmp_path: Path) -> None:
    """ENC-03."""
    raw = bytes.fromhex("3c6d65746120636861727365743d22676232333132223e3c703ee946c2af3c2f703e")
    assert html(tmp_path, raw).texts == ["镕炉"]


def test_enc_04_the_charset_in_meta_counts_and_iso_8859_1_means_windows_1252(tmp_path: Path) -> None:
    """ENC-04."""
    raw = bytes.fromhex(
        "3c68746d6c3e3c686561643e3c6d65746120636861727365743d2269736f2d383835392d31223e3c2f686561643e3c626f64793e"
        "6772fc6e6520c47066656c3c2f626f64793e3c2f68746d6c3e"
    )
    assert html(tmp_path, raw).texts == ["grüne Äpfel"]
    assert html(tmp_path, raw.replace(b"gr\xfcne", b"\x93gr\xfcne\x94")).texts == ["“grüne” Äpfel"]


def test_valid_utf_8_is_utf_8_whatever_the_page_says(tmp_path: Path) -> None:
    (row,) = html(tmp_path, f'<meta charset="gbk"><p>{TEXTS["gbk"]}</p>').documents
    assert (row["text"], row["encoding_by"]) == (TEXTS["gbk"], "utf-8")


@pytest.mark.parametrize(
    ("raw", "label"),
    [
        (b"<meta charset=gbk>", "gbk"),
        (b"<!-- <meta charset=big5> --><meta charset=gbk>", "gbk"),
        (b"<!-- <meta charset=big5>", None),
        (b"<meta charset=''><p>charset=gbk", None),
        (b"<metal charset=gbk>", None),
        (b"<meta charset=utf-16>", None),
        (b"<meta name=x content=y><meta name=z charset = 'Shift_JIS'>", "Shift_JIS"),
        (b" " * 5000 + b"<meta charset=gbk>", None),
    ],
)
def test_the_declaration_of_a_page_is_found_where_it_counts(raw: bytes, label: str | None) -> None:
    assert declared_charset(raw) == label


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>cut pa", "cut pa"),
        ("<p>a\0b</p>", "ab"),
        ("<h1>T</h1><strong><a></a></strong><p>body text</p>", "T\n\nbody text"),
        ("<div>" * 5_000 + "deep" + "</div>" * 5_000, "deep"),
        ("<div>" * 20_000 + "deep", "deep"),
        ("plain text without a tag", "plain text without a tag"),
        ("<p>lone &#xD83D; and &#0; nul</p>", "lone \ufffd and \ufffd nul"),
        ("<p>a &lt;b&gt; &amp;amp; &nbsp;c", "a <b> &amp; \xa0c"),
    ],
)
def test_ing_07_broken_pages_give_their_text(tmp_path: Path, page: str, text: str) -> None:
    """ING-07."""
    assert html(tmp_path, page).texts == [text]


def test_ing_07_a_nul_in_a_page_is_counted(tmp_path: Path) -> None:
    """ING-07."""
    assert html(tmp_path, "<title>x\0y</title><p>a\0b</p>").documents[0]["nuls"] == 2


@pytest.mark.parametrize(
    "page",
    [
        "",
        " \n",
        "<html></html>",
        "<script>var a = 1;</script><style>p{}</style>",
        "<nav><a href=/>Home</a></nav>",
        "<!-- x",
    ],
)
def test_ing_07_a_page_without_text_has_its_reason(tmp_path: Path, page: str) -> None:
    """ING-07."""
    assert html(tmp_path, page).reasons == {"no_text": 1}


def test_paragraphs_lists_code_and_headings_stay_as_lines(tmp_path: Path) -> None:
    page = """<html><head><title>Ferry</title><style>p{}</style></head><body>
    <header>Site</header><nav><a href=/>Home</a></nav>
    <h1>1. The ferry</h1><p>It leaves
    at nine.</p><ul><li>mail</li><li>timber<ol><li>oak</li></ol></li></ul>
    <pre>for i in range(3):
        print(i)
</pre><table><tr><td>a</td><td>b</td></tr></table><img alt="a map"><script>x()</script>
    <footer>Imprint</footer></body></html>"""
    (text,) = html(tmp_path, page).texts
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    assert lines[:2] == ["1. The ferry", "It leaves at nine."]
    assert [line.strip(" •") for line in lines[2:5]] == ["mail", "timber", "1. oak"]
    assert lines[5:7] == ["for i in range(3):", "        print(i)"]
    assert not {"Home", "Site", "Imprint", "x()", "a map"} & set(text.split("\n"))


def test_title_language_and_date_are_kept_and_the_path_is_the_own_id(tmp_path: Path) -> None:
    page = """<html lang=de-AT><meta name="date" content='2025-12-24'><title>
    Fähre </title><p>Um neun.</p>"""
    (row,) = read(write(tmp_path, "a.htm", page), label="x/a.htm").documents
    assert (row["title"], row["text"], row["url"]) == ("Fähre", "Um neun.", None)
    assert json.loads(row["metadata"]) == {"lang": "de-AT", "date": "2025-12-24"}
    assert row["doc_id"] == identity("web", "x/a.htm", page.encode())


def test_main_content_takes_less(tmp_path: Path) -> None:
    page = (
        "<div class=sidebar><p>Menu of the day</p></div><main><p>" + "The ferry leaves at nine. " * 20 + "</p></main>"
    )
    whole, less = html(tmp_path, page).texts, html(tmp_path, page, params={"main_content": True}).texts
    assert "Menu" in whole[0] and "Menu" not in less[0]


def test_what_is_no_page_has_a_reason(tmp_path: Path) -> None:
    assert html(tmp_path, b"\x89PNG\r\n" + bytes(range(32)) * 4).reasons == {"binary_content": 1}
    assert html(tmp_path, b"<p>" + b"x" * 100, params={"max_record_bytes": 50}).reasons == {"record_too_large": 1}


def test_html_is_known_by_its_beginning() -> None:
    assert like_html(b"\n<!DOCTYPE html><html>") and like_html(b"<HTML>") and like_html(b"<p>x")
    assert not like_html(b"a < b") and not like_html(b"%PDF-1.7") and not like_html(b"{'a': 1}")
