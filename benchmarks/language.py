"""How often the language judge's label from the first characters is the label of the whole text.

    python benchmarks/language.py DATA [CHARACTERS…]

DATA: a folder with trusted/*.jsonl.zst, web/*.jsonl.zst and raw/debian-docs.warc.gz. Numbers of documents.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import zstandard

from pipeline.sources import Source
from stages.ingest import Ingest, IngestParams
from stages.language import identify

CHARACTERS = (80, 200, 1_000, 2_000)


def texts_of(path: Path) -> Iterator[str]:
    """Texts of a JSON Lines file, or of the pages of an archive."""
    if ".jsonl" in path.name:
        with zstandard.open(path, "rb") as stream:
            yield from (json.loads(line)["text"] for line in io.BufferedReader(stream))
        return
    source = Source.model_validate({"name": "pages", "path": str(path)})
    for read in Ingest.read(str(path), path.name, source, IngestParams.model_validate({})):
        yield from read.documents["text"].to_pylist()


def main() -> None:
    data = Path(sys.argv[1])
    sizes = tuple(map(int, sys.argv[2:])) or CHARACTERS
    paths = [*sorted(data.glob("trusted/*.jsonl.zst")), *sorted(data.glob("web/*.jsonl.zst")),
             *sorted(data.glob("raw/*.warc.gz"))]  # fmt: skip
    print("| file | documents | longer |", " | ".join(f"first {n:,}" for n in sizes), "|")
    for path in paths:
        documents, longer, same = 0, 0, dict.fromkeys(sizes, 0)
        for text in texts_of(path):
            whole = identify(text)[0]
            documents += 1
            longer += len(text) > 1_000
            for n in sizes:
                same[n] += identify(text[:n])[0] == whole
        shares = " | ".join(f"{n / documents:.2%}" for n in same.values())
        print(f"| {path.relative_to(data)} | {documents:,} | {longer:,} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
