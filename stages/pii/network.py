"""IP addresses, told from version numbers, section numbers and scope operators."""

from __future__ import annotations

import ipaddress
import re
import string
from collections.abc import Iterator
from typing import Final, Literal

from stages.pii.spans import Span, Starts, matches, words_before

_V4 = re.compile(
    r"[0-9](?<![0-9A-Za-z_.].)[0-9]{0,2}\.(?:[0-9]{1,3}\.){2}[0-9]{1,3}(?![0-9A-Za-z_])(?!\.[0-9*])(?:/(?:3[0-2]|[12]?[0-9])(?![0-9]))?"
)
_V6 = re.compile(
    r"(?<![0-9A-Za-z_.:])(?:[0-9A-Fa-f]{0,4}:){2,8}(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f]{1,4})?"
    r"(?![0-9A-Za-z_:])"
)
_EUI_64 = re.compile(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){7}")  # a hardware address of eight bytes
_COLONS = re.compile(r":[0-9A-Fa-f]{0,4}:")  # what every IPv6 address holds
_VERSION_WORDS: Final = frozenset(
    {"v", "ver", "version", "versions", "release", "released", "releases", "rev", "revision", "build", "firmware"}
    | {"driver", "update", "upgrade", "upgraded", "patch", "section", "sections", "chapter", "clause", "appendix"}
    | {"oid", "changelog"}
)
_VERSION_SIGNS: Final = ("第", "版本", "发布", "發布", "发行", "升级", "章节")
_HOST_WORDS: Final = frozenset(
    {"ip", "address", "addr", "host", "hosts", "server", "dns", "ping", "client", "from", "gateway"}
)
_LINKS: Final = frozenset({"to", "of", "is", "no", "number"})  # "upgraded to 1.2.3.4", "version number 1.2.3.4"
# A product or package name with its version: Chrome/1.2.3.4, openssl-1.2.3.4, name==1.2.3.4, ^1.2.3.4.
_NAMED = re.compile(r"(?:(?:^|[\s(\"'`])[A-Za-z][\w+.-]*/|[A-Za-z]-|[=<>~!^]=\s?|[\^~]\s?)\Z")
_HEADING = re.compile(r"^[ \t]*#+[ \t]*$")
_SUFFIX = re.compile(
    r"-(?:[0-9]+[a-z]|[a-z])|\.(?:tar|t?gz|bz2|xz|zip|7z|exe|msi|dmg|deb|rpm|jar|whl|dll|so|pkg|apk|html?|txt|md|log)\b"
    r"|[ \t]+\((?:19|20)[0-9]{2}-"
)
_TITLE = re.compile(r"\.[ \t]+\w|[ \t]+[A-Z\u4e00-\u9fff]")
_GLOBAL_UNICAST: Final = ipaddress.IPv6Network("2000::/3")


def find(text: str, scope: Literal["public", "all"], starts: Starts = None, colons: Starts = None) -> Iterator[Span]:
    """IPv4 and IPv6 addresses, with a prefix length where one follows; `public` leaves reserved ranges out.

    An IPv6 address is looked for round a colon (or those `colons` where one can be).
    """
    for match in matches(_V4, text, starts):
        quad = match[0].partition("/")[0]
        if _is_v4(quad, scope) and not _is_version(text, match.start(), match.end(), quad):
            yield Span(match.start(), match.end(), "ip", "ipv4", 0.6)
    for start, value in _v6_candidates(text, colons):
        if _is_v6(value, scope):
            yield Span(start, start + len(value), "ip", "ipv6", 0.6)


def _v6_candidates(text: str, starts: Starts) -> Iterator[tuple[int, str]]:
    done = 0
    for colons in matches(_COLONS, text, starts):
        left = text[max(0, colons.start() - 5) : colons.start()]
        start = colons.start() - len(left) + len(left.rstrip(string.hexdigits))
        match = _V6.match(text, start) if start >= done else None
        if match is not None:
            done = match.end()
            yield start, match[0]


def _is_v4(quad: str, scope: str) -> bool:
    try:
        address = ipaddress.IPv4Address(quad)
    except ValueError:
        return False
    if address.is_unspecified or quad.endswith(".0.0.0"):  # a network or a version, no host
        return False
    return scope == "all" or (address.is_global and not address.is_multicast)


def _is_v6(value: str, scope: str) -> bool:
    try:
        address = ipaddress.IPv6Address(value)
    except ValueError:
        return False
    if address.ipv4_mapped is not None:
        return _is_v4(str(address.ipv4_mapped), scope)
    host = not value.endswith("::")  # else a network's prefix
    if _EUI_64.fullmatch(value):
        return False
    if scope == "public":
        # `::` is an operator in many languages: a short form must lie in the allocated range.
        return address.is_global and ((host and address in _GLOBAL_UNICAST) or "::" not in value)
    return host and (value.count(":") >= 3 or address.is_link_local or address.is_loopback)


def _is_version(text: str, start: int, end: int, quad: str) -> bool:
    before = text[max(0, start - 40) : start]
    line = before.rpartition("\n")[2]
    words = words_before(text, start, 2)
    nearest = words[-1:] if not _LINKS.issuperset(words[-1:]) else words
    if not _VERSION_WORDS.isdisjoint(nearest) or any(sign in before[-8:] for sign in _VERSION_SIGNS):
        return True
    if _NAMED.search(before) or _HEADING.match(line) or _SUFFIX.match(text, end):
        return True
    if len(quad) == 7 and len(set(quad)) > 2 and _HOST_WORDS.isdisjoint(words_before(text, start)):
        return True  # four single digits that are not all equal
    # "1.2.3.4 Title" at the start of a line is a numbered heading.
    small = all(int(part) <= 60 for part in quad.split("."))
    return small and not line.strip() and _TITLE.match(text, end) is not None
