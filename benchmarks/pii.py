"""PII scrubbing beside Presidio's own engine, on the same documents, in one run.

    python benchmarks/pii.py FILES… [--megabytes 8] [--sample 1]

FILES: JSON Lines with `text` (.zst allowed). The editor runs on `--megabytes` of each, Presidio's engine on the first
`--sample` megabytes, with the recognisers that both have (e-mail, phone in US and CN, IP, card, IBAN, SSN, ITIN): once
on NoOpNlpEngine, once on a blank spaCy pipeline. Process time; the best of three for the editor. Worst cases follow.
"""

from __future__ import annotations

import argparse
import io
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import zstandard

from pipeline.documents import DOCUMENTS
from stages.pii import PII, PIIParams, presidio

PARAMS = PIIParams()
BOTH = PIIParams(entities=("email", "phone", "ip", "card", "iban", "us_ssn", "us_itin"))
WORST = {
    "80 kB without white space": "x7b.q-9@k:1/" * 6_700,
    "80 kB of digits": "1234567890" * 8_000,
    "400 kB of dates": "2031-07-04 09:15:22 " * 20_000,
    "a log of 25,000 IP addresses": "from 81.2.69.142 port 22\n" * 25_000,
    "a log of 100,000 IP addresses": "from 81.2.69.142 port 22\n" * 100_000,
}


def load(path: Path, megabytes: float) -> list[str]:
    """Texts from the start of a file, up to so many megabytes."""
    found, size = [], 0
    with zstandard.open(path, "rb") if path.suffix == ".zst" else path.open("rb") as raw:
        for line in io.TextIOWrapper(raw, encoding="utf-8", newline="\n"):
            text = json.loads(line)["text"]
            size += len(text.encode())
            if size > megabytes * 1e6:
                break
            found.append(text)
    return found


def megabytes(texts: list[str]) -> float:
    return sum(len(t.encode()) for t in texts) / 1e6


def table(texts: list[str]) -> pa.Table:
    """Documents as the editor gets them."""
    fixed = {"source": "s", "metadata": "{}", "placeholders": [], "record": "r", "replacements": 0, "surrogates": 0}
    rows = [fixed | {"nuls": 0, "mojibake": 0, "doc_id": f"{i:032x}", "text": text} for i, text in enumerate(texts)]
    return pa.Table.from_pylist(rows, schema=DOCUMENTS)


def seconds(work: Callable[[], Any], rounds: int = 3) -> float:
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def engines() -> Iterator[tuple[str, Any]]:
    """AnalyzerEngine with the same recognisers, on no pipeline and on a blank one."""
    import spacy
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer import predefined_recognizers as recognisers
    from presidio_analyzer.nlp_engine import NoOpNlpEngine, SpacyNlpEngine

    class Blank(SpacyNlpEngine):
        def load(self) -> None:
            self.nlp = {"en": spacy.blank("en")}  # type: ignore[assignment]

    nothing = NoOpNlpEngine(models=[{"lang_code": "en", "model_name": "no_op"}])
    nothing.load()
    blank = Blank()
    blank.load()
    own = [presidio.email(), presidio.iban(), presidio.ssn(), presidio.itin()]
    others = [recognisers.CreditCardRecognizer(), recognisers.IpRecognizer()]
    phone = recognisers.PhoneRecognizer(supported_regions=("US", "CN"))
    for name, nlp in (("NoOp", nothing), ("blank spaCy", blank)):
        registry = RecognizerRegistry(recognizers=[*own, *others, phone], supported_languages=["en"])
        yield name, AnalyzerEngine(nlp_engine=nlp, registry=registry, supported_languages=["en"])


def compare(path: Path, size: float, sample: float) -> None:
    texts, few = load(path, size), load(path, sample)
    all_of_it, little = table(texts), table(few)
    ours = megabytes(texts) / seconds(lambda: PII.edit(all_of_it, None, PARAMS, None))
    same = megabytes(few) / seconds(lambda: PII.edit(little, None, BOTH, None))
    line = f"{path.name} | {megabytes(texts):.1f} MB | {ours:.1f} | {same:.1f}"
    for _, engine in engines():
        used = seconds(lambda e=engine: [e.analyze(text, "en") for text in few], 1)  # type: ignore[misc]
        line += f" | {megabytes(few) / used:.2f} | {same / (megabytes(few) / used):.0f} ×"
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--megabytes", type=float, default=8)
    parser.add_argument("--sample", type=float, default=1)
    options = parser.parse_args()
    PII.edit(table(["zoe@example.org +1 415 555 0199 219-09-9999 DE89370400440532013000 " * 20]), None, PARAMS, None)
    print("file | size | editor, MB/s | same entities, MB/s | NoOp engine, MB/s | ratio | blank spaCy, MB/s | ratio")
    for path in options.files:
        compare(path, options.megabytes, options.sample)
    for name, text in WORST.items():
        one = table([text])
        print(f"{name}: {seconds(lambda t=one: PII.edit(t, None, PARAMS, None), 1):.2f} s")  # type: ignore[misc]


if __name__ == "__main__":
    main()
