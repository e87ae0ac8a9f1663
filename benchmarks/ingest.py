"""Speed and memory of ingest: `ingest.py [--gigabyte]` prints a table.

JSON Lines to published Parquet, and a web archive to text against the bare loop of FastWARC and the same extractor, one
process, one thread, process time, the best of five, both sides in turn. `--gigabyte` also reads a generated file of
1 GB with records up to 60 MB in a process of its own and prints its peak memory. Texts: CURATE_TEST_DATA (default:
`../shared/data` beside the repository). Speed of BLAKE2b is printed as a measure of how busy the machine is.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import zstandard
from fastwarc.warc import ArchiveIterator, WarcRecordType
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding

from pipeline.hashing import file_hash
from pipeline.reading import read_files
from pipeline.sources import Source
from stages.ingest import Ingest
from stages.ingest.navigation import SKIPPED

DATA = Path(os.environ.get("CURATE_TEST_DATA", Path(__file__).parents[1].parent / "shared" / "data"))
PARAMS = Ingest.Params()
ROUNDS = 5


def best(*calls: Callable[[], object]) -> list[float]:
    """Least process time of each call in seconds; the calls take turns, so that all meet the same conditions."""
    found = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for i, call in enumerate(calls):
            start = time.process_time()
            call()
            found[i] = min(found[i], time.process_time() - start)
    return found


def to_parquet(path: Path, **declared: str) -> int:
    """Everything a worker does for one file; documents read."""
    with tempfile.TemporaryDirectory() as folder:
        result = read_files(
            Path(folder),
            stage=Ingest,
            params=PARAMS,
            source=Source.model_validate({"name": "s", "path": "unused"} | declared),
            files=((str(path), file_hash(path), path.name),),
            folder="ingest",
            part="part",
            limit=None,
        )
    return int(result.summary["documents"])


def to_text(path: Path) -> int:
    """The reader alone: batches of documents, not published."""
    source = Source.model_validate({"name": "s", "path": "unused"})
    return sum(read.documents.num_rows for read in Ingest.read(str(path), path.name, source, PARAMS))


def bare_loop(path: Path) -> int:
    """FastWARC, charset detection and the same extractor, nothing else."""
    skip = list(SKIPPED)
    size = 0
    for record in ArchiveIterator(str(path), record_types=WarcRecordType.response):
        raw = record.reader.read()
        html = bytes_to_str(raw, detect_encoding(raw, from_html_meta=True), "replace", ())
        size += len(extract_plain_text(html, preserve_formatting=True, alt_texts=False, skip_elements=skip))
    return size


def text_bytes(path: Path) -> int:
    with zstandard.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return sum(len(json.loads(line)["text"].encode()) for line in file)


def gigabyte(path: Path) -> None:
    """1 GB of JSON Lines: records of 1 KB to 1 MB, and every 200 MB one of 60 MB."""
    words = [f"word{i * i % 9973}" for i in range(2000)]
    with zstandard.open(path, "wb") as file:
        size = number = 0
        while size < 1_000_000_000:
            number += 1
            length = 60_000_000 if size // 200_000_000 != (size - 500_000) // 200_000_000 else 1000 << (number % 11)
            turned = words[number % 2000 :] + words[: number % 2000]
            text = (" ".join(turned) + "\n") * (1 + length // 14_000)
            size += file.write(json.dumps({"id": number, "text": text[:length]}).encode() + b"\n")


def peak() -> str:
    """Seconds and peak resident memory of a process that reads the generated file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.jsonl.zst"
        gigabyte(path)
        found = subprocess.run(
            [sys.executable, __file__, "--peak", str(path)], check=True, capture_output=True, text=True
        )
    return found.stdout.strip()


def read_and_report(path: Path) -> None:
    base = most_memory()
    start = time.process_time()
    count = to_parquet(path)
    seconds = time.process_time() - start
    print(
        f"{most_memory():.0f} MB at most ({base:.0f} MB before the first record), {count} documents in {seconds:.0f} s"
    )


def most_memory() -> float:
    """Largest resident memory of this process so far, MB; not `ru_maxrss`, which a parent's size is part of."""
    (line,) = (x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def blake() -> float:
    data = bytes(1 << 26)
    return (1 << 26) / best(lambda: hashlib.blake2b(data).digest())[0] / 1e6


def main() -> None:
    """Print the table."""
    names = ("fastwarc", "resiliparse", "pyarrow", "orjson", "zstandard", "ftfy")
    print(f"Python {platform.python_version()}, " + ", ".join(f"{n} {version(n)}" for n in names))
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}; BLAKE2b {blake():.0f} MB/s\n")
    print("| what | input | speed |")
    print("|---|---|---|")
    for name in ("trusted/en", "trusted/zh", "trusted/technical-en"):
        path = DATA / f"{name}.jsonl.zst"
        if path.exists():
            size = text_bytes(path) / 1e6
            (seconds,) = best(lambda path=path: to_parquet(path, license_field="license", id_field="id"))  # type: ignore[misc]
            print(f"| JSON Lines.zst → published Parquet | {name}, {size:.0f} MB of text | {size / seconds:.0f} MB/s |")
    archive = DATA / "raw" / "debian-docs.warc.gz"
    if archive.exists():
        ours, bare = best(lambda: to_text(archive), lambda: bare_loop(archive))
        print(f"| WARC → documents | {archive.name}, 1,792 pages | {1792 / ours:.0f} pages/s |")
        print(
            f"| bare loop of FastWARC and extractor | the same | {1792 / bare:.0f} pages/s; ratio {bare / ours:.0%} |"
        )
    if "--gigabyte" in sys.argv:
        print(f"| peak memory, JSON Lines.zst → Parquet | 1 GB generated, records up to 60 MB | {peak()} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        read_and_report(Path(sys.argv[2]))
    else:
        main()
