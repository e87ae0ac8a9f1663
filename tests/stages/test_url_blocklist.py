"""The judge `url_blocklist`: hosts, domains, patterns, lists from files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import curate
from pipeline.documents import DOCUMENTS, VERDICT
from pipeline.stage import measuring
from stages.url_blocklist import MEASURES, URLBlocklist, URLBlocklistParams, domain, host_of


def judge(urls: list[str | None], **params: Any) -> list[dict[str, Any]]:
    wanted = URLBlocklistParams(**params)
    measures = URLBlocklist.measure(pa.table({"url": pa.array(urls, DOCUMENTS.field("url").type)}), wanted)
    assert measures.schema == MEASURES
    verdicts = URLBlocklist.decide(measures, None, wanted)
    assert verdicts.schema == VERDICT
    rows: list[dict[str, Any]] = verdicts.to_pylist()
    return rows


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com", "example.com"),
        ("HTTP://WWW.Example.COM:8080/Path", "www.example.com"),
        ("https://user:p@ss@example.com/", "example.com"),
        ("https://example.com@evil.example/", "evil.example"),
        ("https://example.com./a", "example.com"),
        ("//example.com/a", "example.com"),
        ("ftp://example.com?x=//other.example", "example.com"),
        ("https:\\\\example.com\\a", "example.com"),
        ("  https://exa\tmple.com\n", "example.com"),
        ("https://ex%61mple.com/", "example.com"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("https://BÜCHER.example/", "xn--bcher-kva.example"),
        ("https://straße.example/", "xn--strae-oqa.example"),
        ("https://例子。测试/", "xn--fsqu00a.xn--0zwm56d"),
        ("https://xn--fsqu00a.xn--0zwm56d/", "xn--fsqu00a.xn--0zwm56d"),
        ("https://i❤.example/", "xn--i-7iq.example"),
        ("https://[2001:DB8::1]:443/", "[2001:db8::1]"),
        ("https://192.0.2.7/x", "192.0.2.7"),
        ("https://my_host.example/", "my_host.example"),
        ("example.com/page", "example.com"),
        ("example.com:8080", "example.com"),
        ("mailto:joe@example.com", None),
        ("just words. And more", None),
        ("file:///etc/hosts", None),
        ("https://", None),
        ("https://exa mple.com/", None),
        ("https://[::1", None),
        ("", None),
        (None, None),
    ],
)
def test_the_host_of_an_address(url: str | None, host: str | None) -> None:
    assert host_of(url) == host


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_no_address_is_an_error(url: str) -> None:
    for text in (url, f"https://{url}/", f"https://{url}.example"):
        host = host_of(text)
        assert host is None or (host.isascii() and host == host.lower() and host_of(f"https://{host}/") == host)


@pytest.mark.parametrize(
    ("entry", "normal"),
    [
        ("Example.COM.", "example.com"),
        ("*.example.com", "example.com"),
        (".example.com", "example.com"),
        ("0.0.0.0 ads.example", "ads.example"),
        ("127.0.0.1\tads.example", "ads.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("[2001:db8::1]", "[2001:db8::1]"),
        ("com", "com"),
    ],
)
def test_an_entry_has_one_normal_form(entry: str, normal: str) -> None:
    assert domain(entry) == normal


def test_a_domain_blocks_itself_and_its_subdomains_and_nothing_else() -> None:
    urls = ["https://example.com/", "https://a.b.EXAMPLE.com:1/", "https://notexample.com/", "https://example.com.au/"]
    rows = judge([*urls, "https://x.example/?u=example.com", None, "nowhere"], domains=["example.com"])
    assert [row["keep"] for row in rows] == [False, False, True, True, True, True, True]
    assert [(row["rule"], row["detail"]) for row in rows[:2]] == [("url_domain", "example.com")] * 2


def test_the_longest_entry_is_named() -> None:
    (row,) = judge(["https://a.b.example.com/"], domains=["example.com", "b.example.com"])
    assert row["detail"] == "b.example.com"


def test_an_address_of_numbers_has_no_subdomains() -> None:
    rows = judge(["https://10.0.0.1/", "https://110.0.0.1/", "https://[::1]/"], domains=["0.0.1", "10.0.0.1", "[::1]"])
    assert [row["keep"] for row in rows] == [False, True, False]


def test_a_pattern_is_searched_anywhere_in_the_address_and_the_first_is_named() -> None:
    rows = judge(
        ["https://a.example/tag/x", "https://a.example/Casino-x", "https://a.example/tag/casino", "https://a.example/"],
        patterns=["/tag/", "(?i)casino"],
    )
    assert [row["detail"] for row in rows] == ["/tag/", "(?i)casino", "/tag/", None]
    assert [row["rule"] for row in rows] == ["url_pattern"] * 3 + [None]


def test_both_rules_are_listed_and_the_domain_comes_first() -> None:
    (row,) = judge(["https://a.example/tag/"], domains=["a.example"], patterns=["tag"])
    assert (row["rule"], row["detail"], row["failed"]) == ("url_domain", "a.example", ["url_domain", "url_pattern"])


def test_a_document_without_an_address_passes_even_a_pattern_that_matches_nothing() -> None:
    assert judge([None], patterns=["^$", ".*"])[0]["keep"]


def test_lists_come_from_files_with_comments_and_blank_lines(tmp_path: Path) -> None:
    domains, patterns = tmp_path / "d.txt", tmp_path / "p.txt"
    domains.write_text("\ufeff# bad ones\r\n\r\nads.example  # banners\r\n0.0.0.0 track.example\r\n", encoding="utf-8")
    patterns.write_text("# by path\n\n/print#top$\n  /login  \n", encoding="utf-8")
    settings = {"domain_files": [str(domains)], "pattern_files": [str(patterns)]}
    urls = ["https://x.ads.example", "https://track.example", "https://a.example/print#top", "https://a.example/login"]
    assert [row["detail"] for row in judge(urls, **settings)] == [
        "ads.example",
        "track.example",
        "/print#top$",
        "/login",
    ]


def test_a_list_that_changes_is_read_again(tmp_path: Path) -> None:
    listed = tmp_path / "d.txt"
    listed.write_text("a.example\n")
    assert not judge(["https://a.example"], domain_files=[str(listed)])[0]["keep"]
    listed.write_text("b.example\n")
    os.utime(listed, ns=(1, 1))
    assert judge(["https://a.example"], domain_files=[str(listed)])[0]["keep"]


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        (
            "domain_files",
            b"a.example\nhttps://b.example/x\n",
            r"l\.txt:2: 'https://b\.example/x' is no domain; write it",
        ),
        ("domain_files", b"a.example\n\xff\n", r"l\.txt:2: is not UTF-8: save the list as UTF-8"),
        ("pattern_files", b"ok\n(\n", r"l\.txt:2: '\(' is no regular expression \(RE2\): missing \)"),
    ],
)
def test_a_wrong_line_is_an_error_with_file_and_line(tmp_path: Path, kind: str, content: bytes, message: str) -> None:
    (tmp_path / "l.txt").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        judge(["https://a.example"], **{kind: [str(tmp_path / "l.txt")]})


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "blocks nothing: give `domains`, `domain_files`, `patterns` or `pattern_files`"),
        ({"domains": ["a.example/x"]}, "'a.example/x' is no domain; write it like example.com"),
        ({"domains": ["a.example:80"]}, "is no domain"),
        ({"domains": ["two words"]}, "is no domain"),
        ({"patterns": ["(?<=x)y"]}, "is no regular expression (RE2)"),
    ],
)
def test_a_wrong_setting_is_an_error(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as error:
        URLBlocklistParams(**params)
    assert message in str(error.value)


def test_domains_decide_and_only_patterns_measure() -> None:
    params = URLBlocklistParams(domains=("a.example",), patterns=("x",))
    assert measuring(params) == {"patterns": ["x"], "pattern_files": []}


def test_an_empty_table_is_judged() -> None:
    assert judge([], domains=["a.example"]) == []


def test_in_a_run_a_new_domain_decides_again_and_a_new_pattern_measures_again(tmp_path: Path) -> None:
    lines = [f'{{"text": "t{i}", "url": "https://{host}/x"}}' for i, host in enumerate(("a.example", "b.example"))]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    (tmp_path / "d.txt").write_text("a.example\n")
    (tmp_path / "p.txt").write_text("/never/\n")
    (tmp_path / "c.yaml").write_text(
        "name: c\nsources: [{name: a, path: a.jsonl, license: MIT}]\nstages:\n  - ingest\n"
        "  - url_blocklist: {domain_files: [d.txt], pattern_files: [p.txt]}\n"
    )

    def run() -> tuple[set[str], list[Any]]:
        found = curate.run(tmp_path / "c.yaml", run_dir=tmp_path / "run", workers=1)
        dropped = found.sql("select rule, detail from verdicts where not keep order by all").fetchall()
        return {task.split("/")[1] for task in found.computed if task.startswith("url_blocklist/")}, dropped

    assert run() == ({"measures", "verdicts"}, [("url_domain", "a.example")])
    (tmp_path / "d.txt").write_text("a.example\nexample\n")
    assert run() == ({"verdicts"}, [("url_domain", "a.example"), ("url_domain", "example")])
    (tmp_path / "p.txt").write_text("/x$\n")
    (tmp_path / "d.txt").write_text("c.example\n")
    assert run() == ({"measures", "verdicts"}, [("url_pattern", "/x$")] * 2)
