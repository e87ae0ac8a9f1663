"""The judge `url_blocklist`: drops documents by their address, from lists of domains and of patterns.

Domains: one a line, with all its subdomains (`example.com` also blocks `www.example.com`); `*.example.com`,
`.example.com` and lines of a hosts file (`0.0.0.0 example.com`) mean the same. Patterns: one regular expression a line
(RE2 syntax), searched anywhere in the address as it stands. Blank lines and comments do not count: in files of domains
everything from `#` on, in files of patterns a line that begins with `#`.

Measures: `host` (lower case, IDN in its ASCII form, without user, port and trailing dot; NULL where there is none) and
`pattern` (the first that matches, in the order of the settings, then of the files' names). Rules, in order:
`url_domain`, `url_pattern`; detail: the entry. A document without an address passes.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import AfterValidator, Field, model_validator

from pipeline.rules import Failure, verdicts
from pipeline.stage import InputPath, Judge, Params, decides

MEASURES: Final = pa.schema([pa.field("host", pa.string()), pa.field("pattern", pa.string())])

_AUTHORITY: Final = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?[/\\]{2}([^/\\?#]*)", re.I)
_BARE: Final = re.compile(r"((?:[^/\\?#:@\s]+\.)+[^/\\?#:@\s.]+\.?(?::\d*)?)(?:[/\\?#]|$)")
_PORT: Final = re.compile(r":\d*$")
_HOST: Final = re.compile(r"\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")


def host_of(url: str | None) -> str | None:
    """The host of an address, or None where it names none.

    >>> host_of("https://User:pw@WWW.Example.COM.:8080/a?b"), host_of("//bücher.example/"), host_of("mailto:a@b.c")
    ('www.example.com', 'xn--bcher-kva.example', None)
    """
    cleaned = re.sub(r"[\t\r\n]", "", (url or "").strip())
    found = _AUTHORITY.match(cleaned) or _BARE.match(cleaned)
    return None if found is None else normal_host(_PORT.sub("", found[1].rpartition("@")[2]))


@lru_cache(maxsize=65_536)
def normal_host(host: str) -> str | None:
    """Lower case, ASCII (UTS 46), no trailing dot; None where it is no host."""
    name = unquote(host).strip().lower()
    if not name.isascii():
        import idna

        try:
            name = idna.uts46_remap(name, std3_rules=False, transitional=False)
        except idna.IDNAError:
            return None
        name = ".".join(_ascii(label) for label in re.split("[.\u3002\uff0e\uff61]", name))
    name = name.rstrip(".")
    return name if _HOST.fullmatch(name) else None


def _ascii(label: str) -> str:
    import idna

    if label.isascii():
        return label
    try:
        return idna.alabel(label).decode("ascii")
    except idna.IDNAError:  # such as an emoji: registered all the same
        return "xn--" + label.encode("punycode").decode("ascii")


def domain(entry: str) -> str:
    """One entry of a list of domains in its normal form. ValueError says what is wrong with it."""
    fields = entry.split()
    if len(fields) == 2 and _is_address(fields[0]):  # a line of a hosts file
        fields = fields[1:]
    host = None
    if len(fields) == 1 and not re.search(r"[/\\@?]|:(?!.*\])", fields[0].removeprefix("*.")):
        host = normal_host(fields[0].removeprefix("*").removeprefix("."))
    if host is None:
        raise ValueError(f"{entry!r} is no domain; write it like example.com, and addresses with a path as a pattern")
    return host


def pattern(entry: str) -> str:
    """One entry of a list of patterns, as it is. ValueError where RE2 cannot read it."""
    try:
        pc.match_substring_regex(pa.array([""]), entry)
    except pa.ArrowInvalid as error:
        said = str(error).removeprefix("Invalid regular expression: ")
        raise ValueError(f"{entry!r} is no regular expression (RE2): {said}") from error
    return entry


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


class URLBlocklistParams(Params):
    """Settings of the judge `url_blocklist`; at least one list."""

    domains: tuple[Annotated[str, AfterValidator(domain)], ...] = decides(
        (), description="blocked domains, each with its subdomains"
    )
    domain_files: list[InputPath] = decides([], description="files of domains, one a line")
    patterns: tuple[Annotated[str, AfterValidator(pattern)], ...] = Field(
        (), description="regular expressions (RE2), searched in the address"
    )
    pattern_files: list[InputPath] = Field([], description="files of regular expressions, one a line")

    @model_validator(mode="after")
    def _some_list(self) -> URLBlocklistParams:
        if not (self.domains or self.domain_files or self.patterns or self.pattern_files):
            raise ValueError("blocks nothing: give `domains`, `domain_files`, `patterns` or `pattern_files`")
        return self


class URLBlocklist(Judge):
    """Drops documents whose address is on a list of domains or matches a pattern."""

    name = "url_blocklist"
    Params = URLBlocklistParams
    libraries = ("idna", "pyarrow")

    @staticmethod
    def schema(params: URLBlocklistParams) -> pa.Schema:
        return MEASURES

    @staticmethod
    def measure(documents: pa.Table, params: URLBlocklistParams, artefact: Path | None = None) -> pa.Table:
        hosts = pa.array([host_of(url) for url in documents["url"].to_pylist()], pa.string())
        entries = [*params.patterns, *_listed(params.pattern_files, pattern)]
        return pa.Table.from_arrays([hosts, _first_match(documents["url"], entries)], schema=MEASURES)

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: URLBlocklistParams) -> pa.Table:
        entries = frozenset([*params.domains, *_listed(params.domain_files, domain)])
        blocked = [_entry(host, entries) for host in measures["host"].to_pylist()]
        patterns: list[str | None] = measures["pattern"].to_pylist()
        return verdicts(measures.num_rows, [_by_entry("url_domain", blocked), _by_entry("url_pattern", patterns)])


def _by_entry(rule: str, entries: Sequence[str | None]) -> Failure:
    return Failure(rule, np.array([e is not None for e in entries], dtype=np.bool_), detail=entries)


def _entry(host: str | None, entries: frozenset[str]) -> str | None:
    """The longest entry that is the host or a domain above it."""
    while host:
        if host in entries:
            return host
        host = "" if host.startswith("[") or _is_address(host) else host.partition(".")[2]
    return None


def _first_match(urls: pa.ChunkedArray, entries: Sequence[str]) -> pa.Array:
    """For each address the first pattern that is found in it."""
    matched = np.full(len(urls), -1, np.int64)
    for number, entry in enumerate(entries):
        open_rows = np.flatnonzero(matched < 0)
        hits = pc.fill_null(pc.match_substring_regex(urls.take(pa.array(open_rows)), entry), False)
        matched[open_rows[hits.to_numpy().astype(np.bool_)]] = number
    return pa.array(list(entries), pa.string()).take(pa.array(matched, mask=matched < 0))


def _listed(files: Sequence[str], read: Any) -> Iterator[str]:
    """The entries of all files."""
    for file in files:
        if "://" in file:
            yield from _entries.__wrapped__(file, (), read)
        else:
            about = os.stat(file)
            yield from _entries(file, (about.st_mtime_ns, about.st_size), read)


@lru_cache(maxsize=16)
def _entries(file: str, version: tuple[int, ...], read: Any) -> tuple[str, ...]:
    """The entries of one file, remembered for its version. ValueError names the file and the line."""
    import fsspec

    found = []
    with fsspec.open(file, "rb") as stream:
        for number, line in enumerate(stream.read().removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
            try:
                text = line.decode("utf-8").strip()
                entry = text if read is pattern else text.partition("#")[0].strip()
                if entry and not entry.startswith("#"):
                    found.append(read(entry))
            except UnicodeDecodeError as error:
                raise ValueError(f"{file}:{number}: is not UTF-8: save the list as UTF-8") from error
            except ValueError as error:
                raise ValueError(f"{file}:{number}: {error}") from error
    return tuple(found)
