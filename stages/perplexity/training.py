"""From references to model files: with the project's own estimator, or with `lmplz`."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.hashing import file_hash
from stages.perplexity import arpa, ngram, references, scoring
from stages.perplexity.normalise import NORMALISERS

BYTES: Final = 20
"""What counting and smoothing take at most for each token and order (measured at order 5 on 10 million tokens)."""


def prepare(params: Any, folder: Path) -> dict[str, Any]:
    """Write all models, their index and the digests of what they learned; returns the manifest's summary."""
    train = _with_lmplz if params.estimator == "lmplz" else _with_own
    files = references.by_language(params.reference) if params.reference else {}
    models: dict[str, dict[str, Any]] = {}
    digests = [np.empty(0, np.uint64)]
    normaliser = NORMALISERS[params.normaliser].identity()
    for language, listed in files.items():
        path = folder / f"{language}.arpa"
        texts = (text for reference, file in listed for text in references.texts(reference, file))
        about, seen = train(texts, params, path)
        digests.append(seen)
        file = _binary(path) if params.binary else path
        placed = {"file": file.name, "hash": file_hash(file), "listed": path.name if params.binary else None}
        models[language] = {**placed, "normaliser": normaliser, "estimator": params.estimator, **about}
    for own in params.models:
        if own.language in models:
            raise references.ReferenceTextError(
                f"perplexity: `reference` holds {own.language} text, and `models` a model for it; take one of them out"
            )
        given = {"file": None, "hash": file_hash(_local(own.path)), "estimator": "given"}
        models[own.language] = {**given, "normaliser": NORMALISERS[own.normaliser].identity()}
    scoring.write_index(folder, models)
    references.write_trusted(np.concatenate(digests), folder)
    return {"models": models}


def _local(path: str) -> Path:
    if not Path(path).is_file():
        raise references.ReferenceTextError(f"perplexity: KenLM reads local files only; copy {path} to this machine")
    return Path(path)


def _program(name: str, instead: str) -> str:
    program = shutil.which(name)
    if program is None:
        raise references.ReferenceTextError(f"perplexity: `{name}` is not on PATH; install KenLM, or set {instead}")
    return program


def _binary(path: Path) -> Path:
    """The model as KenLM's trie, which workers map and share."""
    target = path.with_suffix(".binary")
    command = [_program("build_binary", "binary: false"), "trie", str(path), str(target)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise references.ReferenceTextError(f"perplexity: build_binary failed on {path.name}: {_reason(done.stderr)}")
    return target


def _reason(said: bytes) -> str:
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it gave no reason"


def _with_own(texts: Iterable[str], params: Any, path: Path) -> tuple[dict[str, Any], Any]:
    corpus = references.corpus(texts, NORMALISERS[params.normaliser])
    needed = BYTES * params.order * len(corpus.stream)
    if needed > params.memory:
        raise references.ReferenceTextError(
            f"perplexity: the {path.stem} reference of {corpus.tokens:,} tokens needs about {needed / 1e9:.1f} GB, "
            f"memory is {params.memory / 1e9:.1f} GB; raise it, take a smaller sample, or set estimator: lmplz"
        )
    try:
        model = ngram.estimate(corpus.stream, len(corpus.vocabulary), params.order, params.prune)
    except ngram.TooSmallError as error:
        raise references.ReferenceTextError(f"perplexity: no {path.stem} model: {error}; name more text") from error
    arpa.write(model, corpus.vocabulary, path)
    about = {
        "order": len(model.orders),
        "ngrams": [len(order.words) for order in model.orders],
        "discounts": [list(d) for d in model.discounts],
        "documents": corpus.documents,
        "lines": corpus.lines,
        "tokens": corpus.tokens,
    }
    return about, corpus.digests


def _with_lmplz(texts: Iterable[str], params: Any, path: Path) -> tuple[dict[str, Any], Any]:
    prune = [str(n) for n in ngram.prune_limits(params.prune, params.order)]
    command = [_program("lmplz", "estimator: own"), "-o", str(params.order), "--discount_fallback", "--prune", *prune]
    command += ["--arpa", str(path), "-T", f"{path.parent}/", "-S", f"{params.memory}b"]
    counted = {"order": params.order, "documents": 0, "lines": 0, "tokens": 0}
    digests: list[int] = []
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said) as process:
            assert process.stdin is not None
            try:
                for block in _normalised(texts, params.normaliser, counted, digests):
                    process.stdin.write(block)
                process.stdin.close()
            except BrokenPipeError:
                pass  # it has failed, and said why
        if process.returncode:
            said.seek(0)
            reason = _reason(said.read())
            raise references.ReferenceTextError(f"perplexity: no {path.stem} model: lmplz failed: {reason}")
    return counted, np.array(digests, np.uint64)


def _normalised(texts: Iterable[str], normaliser: str, counted: dict[str, int], digests: list[int]) -> Iterator[bytes]:
    """Units of the texts, a batch at a time; on the way they are counted and their digests noted."""
    for batch in references.batches(texts):
        units = NORMALISERS[normaliser].units_of(batch)
        digests += map(references.digest, batch)
        counted["documents"] += len(batch)
        counted["lines"] += int(units.lines.sum())
        counted["tokens"] += int(units.tokens.sum())
        yield units.text.tobytes()
