"""Writes the sample's input files and its answer key from the written texts: `python data/sample/make.py`.

Plain files come out byte for byte the same everywhere; compressed ones hold the same content in the same members, in
whatever bytes the installed compressor chooses.
"""

from __future__ import annotations

import json
import shutil
import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import planted
import zstandard
from material import HERE, Text, digest, texts
from planted import Planted

DIGESTS_EN, DIGESTS_ZH = 150, 80
GBK, GB18030, BIG5, BOM = (
    "07-zaozhi",
    "41-zhongbiao",
    "13-shufa",
    "20-suanpan",
)  # Chinese texts that are stored in another form
BROKEN: Sequence[tuple[bytes, str]] = (
    (b'{"id": "broken-1", "text": "This line was cut in the middle of', "bad_json"),
    (b'["broken-2", "a list is no record"]', "not_object"),
    (b'{"id": "broken-3", "text": null}', "text_null"),
    (b'{"id": "broken-4", "title": "A record without its text"}', "text_missing"),
    (b'{"id": "broken-5", "text": 20240317}', "text_not_string"),
)


class Key:
    """The answer key while the files are written."""

    def __init__(self) -> None:
        self.documents: dict[str, dict[str, Any]] = {}
        self.quarantine: list[dict[str, str]] = []

    def plant(self, source: str, records: Iterable[Planted]) -> list[dict[str, Any]]:
        """Enter planted records in the key; returns them as JSON objects."""
        rows = []
        for record in records:
            self.documents[record.id] = {"source": source, **record.expect}
            rows.append({"id": record.id, **record.more, "text": record.text})
        return rows

    def reject(self, source: str, file: str, line: int | None, reason: str) -> None:
        """Enter a record that cannot be used; `line` counts from 1, None stands for a whole file."""
        record = file if line is None else f"{file}:{line}"
        self.quarantine.append({"source": source, "file": file, "record": record, "reason": reason})

    def save(self, file: Path) -> None:
        content = {
            "documents": self.documents,
            "quarantine": sorted(self.quarantine, key=lambda q: (q["source"], q["record"])),
            "natural_drops": _natural_drops(),
        }
        file.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def build(target: Path) -> None:
    """Write `inputs/` and `expected.json` below the folder `target`; an `inputs/` that is there is replaced."""
    inputs = target / "inputs"
    shutil.rmtree(inputs, ignore_errors=True)
    inputs.mkdir(parents=True)
    key = Key()
    write_essays(inputs)
    write_pages(inputs, key)
    write_digests_en(inputs / "digests-en", key)
    write_digests_zh(inputs / "digests-zh", key)
    write_planted(inputs, key)
    key.save(target / "expected.json")


def line(record: dict[str, Any]) -> bytes:
    """One record as a line of JSON; lone surrogates and NUL as escapes, everything else as it is."""
    shown = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return shown.replace(b"\xed\xa0\xbd", b"\\ud83d") + b"\n"


def write(file: Path, data: bytes | Sequence[bytes]) -> None:
    """Write bytes, or lines of bytes, and make the folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data if isinstance(data, bytes) else b"".join(data))


def write_essays(inputs: Path) -> None:
    """English essays with metadata: an integer beyond 64 bit, a date, a list, a null."""
    rows = []
    for number, essay in enumerate(texts("en"), 1):
        rows.append(
            {
                "id": essay.id,
                "title": essay.title,
                "url": f"https://example.org/essays/{essay.id}",
                "catalogue": 2**64 + 7919 * number,
                "written": f"2023-{1 + number % 12:02}-{1 + number * 5 % 28:02}",
                "subjects": essay.id.split("-")[1:],
                "revision_of": None,
                "text": essay.body,
            }
        )
    write(inputs / "essays-en.jsonl", [line(row) for row in rows])


def write_pages(inputs: Path, key: Key) -> None:
    """Chinese essays as text files: UTF-8, one with a BOM, one in GBK, GB18030 and Big5, and a binary one."""
    for page in texts("zh"):
        name = f"{page.id}.txt"
        if page.id == GBK:
            write(inputs / "pages-zh-gbk" / name, page.body.encode("gbk"))
            key.documents[name] = {"source": "pages-zh-gbk", **planted.kept(encoding="gb18030")}
        elif page.id == GB18030:
            note = "\n\n附记：招牌上的“𠮷”字是“吉”字的另一种写法。"  # its first character takes four bytes
            write(inputs / "pages-zh-gbk" / name, (page.body + note).encode("gb18030"))
            key.documents[name] = {"source": "pages-zh-gbk", **planted.kept(encoding="gb18030")}
        elif page.id == BIG5:
            write(inputs / "pages-zh-big5" / name, page.body.encode("big5"))
            key.documents[name] = {"source": "pages-zh-big5", **planted.kept(encoding="big5hkscs")}
        else:
            bom = page.id == BOM
            write(inputs / "pages-zh" / name, page.body.encode("utf-8-sig" if bom else "utf-8"))
            if bom:
                key.documents[name] = {"source": "pages-zh", **planted.kept(encoding="utf-8", encoding_by="bom")}
    binary = bytes(7 * i * i % 32 for i in range(600))
    write(inputs / "pages-zh" / "99-binary.txt", binary)
    key.reject("pages-zh", "99-binary.txt", None, "binary_content")


def digest_line(text: Text) -> bytes:
    return line({"id": text.id, "title": text.title, "url": f"https://example.org/{text.id}", "text": text.body})


def write_digests_en(folder: Path, key: Key) -> None:
    """Two files: zstd of three frames, and plain lines behind a BOM with broken ones and a blank one among them."""
    rows = [digest_line(digest("en", i)) for i in range(DIGESTS_EN)]
    frames = [zstd(b"".join(rows[at : at + 30])) for at in (0, 30, 60)]
    write(folder / "part-1.jsonl.zst", frames)
    lines = list(rows[90:])
    for number, (broken, reason) in enumerate(BROKEN):
        at = 7 + 11 * number
        lines.insert(at, broken + b"\n")
        key.reject("digests-en", "part-2.jsonl", at + 1, reason)
    lines.append(b"\n")
    write(folder / "part-2.jsonl", [b"\xef\xbb\xbf", *lines])


def write_digests_zh(folder: Path, key: Key) -> None:
    """Two files: gzip of three members, and one that breaks off inside its last record."""
    rows = [digest_line(digest("zh", i)) for i in range(DIGESTS_ZH + 1)]
    write(folder / "part-1.jsonl.gz", [gzip(rows[at : at + 20]) for at in (0, 20, 40)])
    *whole, last = rows[60:]
    write(folder / "part-2.jsonl.gz", gzip([*whole, last[: len(last) // 2]], complete=False))
    key.reject("digests-zh", "part-2.jsonl.gz", len(whole) + 1, "truncated_stream")


def write_planted(inputs: Path, key: Key) -> None:
    """The files of planted documents, and the sources that a licence keeps out."""
    near = list(planted.near_copies())
    three, two = planted.repeated_records()
    files: dict[str, list[Planted]] = {
        "near.jsonl": [*(p for p in near if p.id.endswith("-en")), *planted.exact_copies("en")],
        "records-a.jsonl": [three, two, three],
        "records-b.jsonl": [two, three],
        "quality.jsonl": [*planted.lengths(), *planted.symbols(), *planted.repetition(), *planted.perplexity()],
        "private.jsonl": [*planted.private()],
        "oddities.jsonl": [*planted.oddities()],
    }
    for name, records in files.items():
        write(inputs / "planted-en" / name, [line(row) for row in key.plant("planted-en", records)])
    long = key.plant("planted-en", [planted.too_long()])
    write(inputs / "planted-en" / "too-long.jsonl.zst", zstd(line(long[0])))
    chinese = [
        *(p for p in near if p.id.endswith("-zh")),
        *planted.exact_copies("zh"),
        *planted.junk_zh(),
        *planted.perplexity_zh(),
        *planted.private_zh(),
    ]
    write(inputs / "planted-zh.jsonl", [line(row) for row in key.plant("planted-zh", chinese)])
    kept_out = {
        "mixed-licences": planted.licences(),
        "unlicensed": planted.whole_source("license_unknown", 186),
        "non-commercial": planted.whole_source("license_not_allowed", 188),
    }
    for source, found in kept_out.items():
        write(inputs / f"{source}.jsonl", [line(row) for row in key.plant(source, found)])


def zstd(data: bytes) -> bytes:
    """One zstd frame with its checksum."""
    return zstandard.ZstdCompressor(level=19, write_checksum=True).compress(data)


def gzip(rows: Sequence[bytes], complete: bool = True) -> bytes:
    """One gzip member without name or time; an incomplete one ends behind its rows, without an end mark or a sum."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    header = b"\x1f\x8b\x08\x00" + bytes(4) + b"\x02\xff"
    body = b"".join([compressor.compress(row) for row in rows])
    if not complete:
        return header + body + compressor.flush(zlib.Z_SYNC_FLUSH)
    content = b"".join(rows)
    return header + body + compressor.flush() + struct.pack("<II", zlib.crc32(content), len(content) & 0xFFFFFFFF)


def _natural_drops() -> dict[str, list[str]]:
    """Texts written as good ones that the run drops all the same: own id or file -> stage and rule."""
    file = HERE / "natural_drops.json"
    found: dict[str, list[str]] = json.loads(file.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    build(HERE)
