"""Lines of JSON to documents: equal to the standard library's reader on every line that is taken."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.json_records import (
    CONTROLS,
    DONE,
    END,
    FULL,
    META,
    META_END,
    NAMED,
    ODD,
    SPACE,
    START,
    TEXT_END,
    WIDTH,
    records,
)

NAMES = ("text", "id", "lic", "url", "title")
Found = list[tuple[Any, ...]]


def taken(
    data: bytes, rows: int = 100, limits: tuple[int, int, int] = (1 << 40, 1 << 40, 0), room: int | None = None
) -> tuple[Found, int, int]:
    """(line, text, control characters, metadata, values of the named fields) of each record; the next; why."""
    names = np.frombuffer("".join(NAMES).encode(), np.uint8)
    bounds = np.cumsum([0, *map(len, NAMES)])
    texts = np.full(3 + len(data) + SPACE if room is None else room, 7, np.uint8)
    rest, found = np.full(2 * len(data) + SPACE, 7, np.uint8), np.full((rows, WIDTH), 7, np.int64)
    count, end, why = records(np.frombuffer(data, np.uint8), 0, names, bounds, np.array(limits), texts, 3, rest, found)
    result: Found = []
    start = 3
    for row in found[:count].tolist():
        named = [
            rest[a:b].tobytes() if a >= 0 else None for a, b in zip(row[NAMED::2], row[NAMED + 1 :: 2], strict=True)
        ]
        text = texts[start : row[TEXT_END]].tobytes()
        meta = rest[row[META] : row[META_END]].tobytes()
        result.append((data[row[START] : row[END]], text, row[CONTROLS], meta, *named))
        start = row[TEXT_END]
    return result, end, why


def slow(line: bytes) -> tuple[Any, ...]:
    """The twin: one line with the standard library's reader."""
    value = json.loads(line)
    text = value.pop("text").encode()
    controls = sum((c < 32 and c not in b"\t\n\f\r") or c == 127 for c in text)
    own, lic = value.get("id"), value.get("lic")
    url, title = (value.pop(n) if isinstance(value.get(n), str) else None for n in ("url", "title"))
    own = own if own is None or isinstance(own, str) else json.dumps(own)
    named = [None if not isinstance(v, str) else v.encode() for v in (own, lic, url, title)]
    return line.removesuffix(b"\r"), text, controls, written(value), *named


def written(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


strings = st.lists(
    st.sampled_from(["plain words " * 7, "渡船九点开" * 20, "é", "😀", '"', "\\", "\n", "\x01", "/", "\x1f"])
    | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5),
    max_size=6,
).map("".join)
numbers = st.integers(-(10**30), 10**30) | st.sampled_from([0.5, -2.25, 1e300])
scalars = st.none() | st.booleans() | numbers | strings
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strings, inner, max_size=3), max_leaves=8
)
objects = st.fixed_dictionaries(
    {"text": strings},
    optional={"id": scalars, "lic": scalars, "url": scalars, "title": scalars, "m": values, "n": values},
).flatmap(lambda d: st.permutations(list(d.items())).map(dict))


@settings(max_examples=300, deadline=None)
@given(st.lists(objects, max_size=5), st.booleans(), st.sampled_from([None, 1]), st.sampled_from(["\n", " \t\r\n"]))
def test_records_are_those_of_the_standard_library(
    given_objects: list[dict[str, Any]], ascii: bool, indent: int | None, end: str
) -> None:
    lines = [json.dumps(v, ensure_ascii=ascii, indent=indent).replace("\n", " ") for v in given_objects]
    data = "".join(line + end for line in lines).encode()
    found, at, why = taken(data)
    assert (at, why) == (len(data), DONE)
    assert found == [slow(line) for line in data.split(b"\n")[:-1]]


@settings(max_examples=500, deadline=None)
@given(objects, st.integers(0, 1 << 30), st.binary(max_size=3), st.integers(0, 4))
def test_damaged_lines_are_taken_only_where_the_standard_library_reads_the_same(
    value: dict[str, Any], at: int, damage: bytes, cut: int
) -> None:
    line = json.dumps(value, ensure_ascii=False).encode()
    at %= len(line)
    line = line[:at] + damage.replace(b"\n", b"") + line[at + cut :]
    found, _, why = taken(line)
    assert why == (DONE if found else ODD)
    if found:
        read, expected = found[0], slow(line)
        assert read[:3] == expected[:3]
        assert json.loads(read[3]) == json.loads(expected[3])  # numbers keep a spelling that Python does not


@pytest.mark.parametrize(
    "odd",
    [
        *(b"", b" ", b"[]", b"{}", b'{"a":1}', b'{"text":null}', b'{"text":"a","text":"b"}', b'{"text":"\\u0000"}'),
        *(b'{"text":"a","n":-0}', b'{"text":"a","id":[1]}', b'{"text":"\\ud800"}', b'\xef\xbb\xbf{"text":"a"}'),
        *(b'{"text":"a","m":{"x":1,"\\u0078":2}}', b'{"text":"a"} x', b'{"text":"a"', b'{"text":"\xff"}'),
        *(b'{"text":"a","m":NaN}', b'{"text":"a","m":01}', b'{"text":"a","m":[1,]}', b'{"text":"a",}'),
        b'{"text":"a","m":' + b"[" * 33 + b"]" * 33 + b"}",
        b'{"text":"a",' + b",".join(b'"%d":1' % n for n in range(64)) + b"}",
    ],
)
def test_what_depends_on_the_reader_ends_the_pass_before_it(odd: bytes) -> None:
    before = b'{"text":"x"}\n'
    assert taken(before + odd + b"\n" + before) == ([(before[:-1], b"x", 0, b"{}", *[None] * 4)], len(before), ODD)


def test_the_pass_ends_where_a_limit_is_met() -> None:
    line = b'{"text":"x"}\n'
    size, least = len(line), 0
    assert [len(taken(line * 5, rows=3)[0]), *taken(line * 5, rows=3)[1:]] == [3, 3 * size, FULL]
    assert taken(line * 5, limits=(100, 2 * size, least))[1:] == (2 * size, FULL)
    assert taken(line * 5, limits=(100, 1, least))[1:] == (0, FULL)
    assert taken(line * 5, limits=(100, 1, 1))[1:] == (size, FULL)
    assert taken(line * 5, limits=(size - 2, 1000, least))[1:] == (0, ODD)
    assert taken(line * 5, room=SPACE + 5 * size)[1:] == (0, FULL)
