"""Where a band fitted on a mixture leaves trusted, shuffled and boilerplate text: `perplexity_bands.py DATA [SVG]`.

DATA: a folder with trusted/en.jsonl.zst, trusted/zh.jsonl.zst and web/classical-zh-400.jsonl.zst. Models learn a
hash-chosen half of the trusted text; the other half is held out. Prints a Markdown table, writes the plot.
docs/perplexity.md has both.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import regex

from stages.gopher import Gopher, GopherParams
from stages.perplexity import Perplexity, PerplexityParams
from stages.perplexity.band import Band, fit
from stages.perplexity.counts import BEGIN, END, count
from stages.perplexity.normalise import NORMALISERS
from stages.perplexity.references import Reference, corpus, in_sample, texts

SHARE, MIN_TOKENS, CHAINS = 0.5, 10, 200
CREDIT = regex.compile(r"\((?:credit|attribution)[^()]*\)")
LICENCE = regex.compile(r"(?i)licen[cs]e|copyright|creative commons|GFDL|许可|授权|版权")
LICENCES = Path("/usr/share/common-licenses")
COLOURS = {"held out": "#2b6cb0", "shuffled": "#c05621", "boilerplate": "#2f855a", "classical": "#6b46c1"}


class Mixture:
    """Scores as `fit` reads them."""

    def __init__(self, logs: list[float]) -> None:
        self.logs = logs

    def measures(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        n = len(self.logs)
        yield pa.table({"model": ["x"] * n, "log10_perplexity": self.logs, "oov_share": [0.0] * n})


def scored(documents: list[str], language: str, artefact: Path) -> list[float]:
    """log10 perplexity of the documents that are long enough."""
    params = PerplexityParams.model_validate({"reference": ["-"], "min_tokens": MIN_TOKENS})
    table = pa.table({"text": pa.array(documents, pa.large_string()), "lang": [language] * len(documents)})
    values = Perplexity.measure(table, params, artefact)["log10_perplexity"].to_pylist()
    return [v for v in values if v is not None]


def shuffled(text: str, language: str, dice: random.Random) -> str:
    """The words (Chinese: characters) of each line in another order."""
    if language == "zh":
        return "\n".join("".join(dice.sample(line, len(line))) for line in text.split("\n"))
    return "\n".join(" ".join(dice.sample(line.split(), len(line.split()))) for line in text.split("\n"))


Gram = tuple[int, ...]


def frequent(learned: list[str], language: str) -> tuple[list[tuple[Gram, int]], Callable[[Iterable[int]], str]]:
    """The 300 most frequent 5-grams inside lines of the reference, how often they occur, and what makes text of ids."""
    with tempfile.TemporaryDirectory() as work:
        known = corpus(learned, NORMALISERS["standard"], Path(work))
        table = count(known.blocks(1 << 22), len(known.vocabulary), [0] * 5, Path(work), 1 << 28).tables[-1]
        words, occurrences = table.words.read(0, len(table)), table.size.read(0, len(table))
    inside = ((words != BEGIN) & (words != END)).all(axis=1)
    best = np.argsort(np.where(inside, -occurrences.astype(np.int64), 0), kind="stable")[:300]
    names, glue = known.vocabulary.to_pylist(), "" if language == "zh" else " "
    grams = [(tuple(row), int(n)) for row, n in zip(words[best].tolist(), occurrences[best], strict=True)]
    return grams, lambda ids: glue.join(names[i] for i in ids)


def chain(grams: list[tuple[Gram, int]], dice: random.Random) -> list[int]:
    """A 5-gram, and as long as there is one (40 words at most) another that begins with the last four words."""
    words = list(_drawn(grams, dice))
    while len(words) < 40 and (following := [(g, n) for g, n in grams if g[:4] == tuple(words[-4:])]):
        words.append(_drawn(following, dice)[4])
    return words


def _drawn(grams: list[tuple[Gram, int]], dice: random.Random) -> Gram:
    return dice.choices([g for g, _ in grams], weights=[n for _, n in grams])[0]


def notices(learned: list[str]) -> list[str]:
    """Licence notices of the reference: credits in brackets, and lines on licences that stand in several documents."""
    credits = [credit for text in learned for credit in CREDIT.findall(text)]
    lines = Counter(line for text in learned for line in {row.strip() for row in text.split("\n")})
    return credits + sorted(line for line, n in lines.items() if n > 1 and LICENCE.search(line))


def documents_of(make: Callable[[], str]) -> list[str]:
    """Documents of 15 lines."""
    return ["\n".join(make() for _ in range(15)) for _ in range(CHAINS)]


def licences() -> list[str]:
    """Licence texts in pieces of 40 lines, as far as this machine has them (Debian)."""
    found = []
    for file in sorted(p for p in LICENCES.glob("*") if p.is_file() and not p.is_symlink()):
        lines = file.read_text("utf-8", "replace").splitlines()
        found += ["\n".join(lines[i : i + 40]) for i in range(0, len(lines), 40)]
    return found


def licences_learned(data: Path, times: int, limits: tuple[float, float]) -> str:
    """The row of the licence texts under a model whose English reference holds them so many times."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = [p.read_text("utf-8", "replace") for p in LICENCES.glob("*") if p.is_file() and not p.is_symlink()]
        rows = (json.dumps({"text": text + "\n" * k}) + "\n" for text in whole for k in range(times))
        (folder / "licences.jsonl").write_text("".join(rows), encoding="utf-8")
        trusted = {"path": [str(data / "trusted/en.jsonl.zst")], "language": "en", "sample": {"share": SHARE}}
        reference = [trusted, {"path": [str(folder / "licences.jsonl")], "language": "en"}]
        Perplexity.prepare(PerplexityParams.model_validate({"reference": reference}), folder)
        return row(f"licences, {times} x in the reference", scored(licences(), "en", folder), limits)


def row(name: str, logs: list[float], limits: tuple[float, float]) -> str:
    """How many documents lie on each side, as a row of Markdown."""
    low, high = limits
    sides = (lambda v: v < low, lambda v: low <= v <= high, lambda v: v > high)
    return f"| {name} | {len(logs):,} | " + " | ".join(share(logs, side) for side in sides) + " |"


def repeated(documents: list[str], language: str) -> list[str]:
    """One ordinary sentence of each of 200 documents, 40 times, a line each."""
    pattern = regex.compile(r"[\p{Han}，]{15,40}。" if language == "zh" else r"[A-Z][a-z]+(?: [a-z,]+){9,25}\.")
    sentences = [match[0] for d in documents if (match := pattern.search(d))]
    return ["\n".join([sentence] * 40) for sentence in sentences[:200]]


def share(values: list[float], inside: Callable[[float], bool]) -> str:
    return f"{100 * sum(map(inside, values)) / len(values):.1f} %" if values else "-"


def experiment(data: Path, language: str, artefact: Path) -> tuple[dict[str, list[float]], tuple[float, float]]:
    """Print the rows of one language; returns the distributions and the band's limits (log10)."""
    dice = random.Random(1)
    file = str(data / f"trusted/{language}.jsonl.zst")
    every = list(texts(Reference(path=file), file))
    held = [t for t in every if not in_sample(t, SHARE)]
    if language == "zh":
        held = [t for t in held if len(regex.findall(r"\p{Han}", t)) > 0.6 * len(t)]
    made = {"held out": held, "shuffled": [shuffled(t, language, dice) for t in held]}
    learned = [t for t in every if in_sample(t, SHARE)]
    grams, write = frequent(learned, language)
    stock = notices(learned)
    kinds = {"chained": lambda: write(chain(grams, dice)), "notices": lambda: dice.choice(stock)}
    made |= {name: documents_of(make) for name, make in kinds.items()}
    made["mixed"] = documents_of(lambda: kinds[dice.choice(list(kinds))]())
    made["side by side"] = documents_of(lambda: write(i for g, _ in dice.choices(grams, k=8) for i in g))
    made["repetition"] = repeated(held, language)
    if language == "zh":
        classical = str(data / "web/classical-zh-400.jsonl.zst")
        made["classical"] = list(texts(Reference(path=classical), classical))
    else:
        made["licences"] = licences()
    found = {name: scored(documents, language, artefact) for name, documents in made.items()}
    part = len(found["held out"]) // 8
    boilerplate = found["chained"] + found["notices"] + found["mixed"]
    mixture = found["held out"] + dice.sample(found["shuffled"], part) + dice.choices(boilerplate, k=part)
    band = fit(Mixture(mixture), Band()).table.to_pylist()[0]  # type: ignore[arg-type]
    low, high = float(np.log10(band["low"])), float(np.log10(band["high"]))
    print(f"\n{language}: band {band['low']:.0f} to {band['high']:.0f}, fitted on {len(mixture):,} documents\n")
    print("| documents | number | below | inside | above |\n|---|---|---|---|---|")
    for name, logs in found.items():
        print(row(name, logs, (low, high)))
    print("\nrules that take the repetitions:", rules(made["repetition"], language))
    return found | {"boilerplate": boilerplate}, (low, high)


def rules(documents: list[str], language: str) -> dict[str, int]:
    """How many of these documents each rule of the Gopher judge fails."""
    table = pa.table({"text": pa.array(documents, pa.large_string()), "lang": [language] * len(documents)})
    params = GopherParams.model_validate({})
    verdicts = Gopher.decide(Gopher.measure(table, params, None), None, params)
    failed: dict[str, int] = {"any": verdicts["keep"].to_pylist().count(False)}
    for listed in verdicts["failed"].to_pylist():
        for rule in listed:
            failed[rule] = failed.get(rule, 0) + 1
    return dict(sorted(failed.items(), key=lambda item: -item[1]))


def plot(panels: dict[str, tuple[dict[str, list[float]], tuple[float, float]]]) -> str:
    """One panel a language: share of documents by tenths of a decade of perplexity; the band is shaded."""
    left, right, width, height = 0.4, 4.8, 720, 210
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {len(panels) * height}" ']
    parts.append('font-family="sans-serif" font-size="12">')

    def x(value: float) -> float:
        return 30 + (value - left) / (right - left) * (width - 50)

    for i, (language, (found, (low, high))) in enumerate(panels.items()):
        bottom, tall = (i + 1) * height - 30, height - 60
        parts.append(f'<rect x="{x(low):.0f}" y="{bottom - tall}" width="{x(high) - x(low):.0f}" height="{tall}" ')
        parts.append('fill="#edf2f7"/>')
        parts.append(f'<text x="30" y="{bottom - tall - 8}">{language}: share of documents by perplexity</text>')
        edges = np.arange(left, right + 0.05, 0.1)
        shares = {k: np.histogram(found[k], edges)[0] / max(1, len(found[k])) for k in COLOURS if k in found}
        top = max(float(s.max()) for s in shares.values())
        for k, (name, values) in enumerate(shares.items()):
            points = [(x(edges[j] + 0.05), bottom - tall * v / top) for j, v in enumerate(values.tolist())]
            line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
            parts.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[name]}" stroke-width="1.5"/>')
            parts.append(f'<text x="{320 + 100 * k}" y="{bottom - tall - 8}" fill="{COLOURS[name]}">{name}</text>')
        parts.append(f'<line x1="30" x2="{width - 20}" y1="{bottom}" y2="{bottom}" stroke="#4a5568"/>')
        for decade in (1, 2, 3, 4):
            parts.append(f'<text x="{x(decade):.0f}" y="{bottom + 16}" text-anchor="middle">{10**decade:,}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main(data: Path, svg: Path | None) -> None:
    reference: list[dict[str, Any]] = [
        {"path": [str(data / f"trusted/{language}.jsonl.zst")], "language": language, "sample": {"share": SHARE}}
        for language in ("en", "zh")
    ]
    with tempfile.TemporaryDirectory() as folder:
        Perplexity.prepare(PerplexityParams.model_validate({"reference": reference}), Path(folder))
        panels = {language: experiment(data, language, Path(folder)) for language in ("en", "zh")}
    print("\nEnglish licence texts:\n")
    for times in (1, 2):
        print(licences_learned(data, times, panels["en"][1]))
    if svg is not None:
        svg.write_text(plot(panels), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
