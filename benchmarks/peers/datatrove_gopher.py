"""Runs datatrove's two Gopher filters over texts: `datatrove_gopher.py [--split] < texts.jsonl`, in an environment of
its own (`pip install 'datatrove==0.10.*' 'xxhash<4' nltk spacy`; it has none of this project's dependencies).

Each input line is a JSON string. Prints one JSON object: `seconds` of process time of each filter over all texts,
`verdicts` [keep, reason] of both, one after the other. With --split words are those of `str.split`.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version

from datatrove.data import Document
from datatrove.pipeline.filters import gopher_quality_filter, gopher_repetition_filter


def judged(document: Document, filters: list) -> list:
    """The verdict of the first filter that drops it, else kept."""
    for one in filters:
        found = one.filter(document)
        if found is not True:
            return list(found)
    return [True, None]


def main() -> None:
    if "--split" in sys.argv:
        for module in (gopher_quality_filter, gopher_repetition_filter):
            module.split_into_words = lambda text, language=None: text.split()
    filters = [gopher_quality_filter.GopherQualityFilter(), gopher_repetition_filter.GopherRepetitionFilter()]
    documents = [Document(text=json.loads(line), id=str(i)) for i, line in enumerate(sys.stdin)]
    filters[0].filter(Document(text="warm up", id="warm"))  # word splitters load what they need on first use
    seconds = {}
    for one in filters:
        start = time.process_time()
        for document in documents:
            one.filter(document)
        seconds[type(one).__name__] = time.process_time() - start
    verdicts = [judged(document, filters) for document in documents]
    json.dump({"version": version("datatrove"), "seconds": seconds, "verdicts": verdicts}, sys.stdout)


if __name__ == "__main__":
    main()
