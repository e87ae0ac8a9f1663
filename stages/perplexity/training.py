"""From references to model files: with the project's own estimator, or with `lmplz`."""

from __future__ import annotations

import contextlib
import errno
import shutil
import subprocess
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pipeline.hashing import file_hash
from stages.perplexity import arpa, counts, ngram, probing, references, scoring
from stages.perplexity.normalise import NORMALISERS

LIBRARIES: Final = 224 << 20
"""What the interpreter, libraries and compiled kernels take before any text is read; the rest of `memory` is room."""
LEAST_ROOM: Final = 32 << 20
TOKEN: Final = 64
"""What sorting takes for each token of a block. More memory than for MOST_SORTED tokens makes nothing faster."""
MOST_SORTED: Final = 1 << 21


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
        with _room_on_disk(language):
            about, seen = train(texts, params, path)
            file = _binary(path) if params.binary else _tables(path, folder) or path
        digests.append(seen)
        placed = {"file": file.name, "hash": file_hash(file), "listed": path.name if params.binary else None}
        models[language] = {**placed, "normaliser": normaliser, "estimator": params.estimator, **about}
    for own in params.models:
        if own.language in models:
            raise references.ReferenceTextError(
                f"perplexity: `reference` holds {own.language} text, and `models` a model for it; take one of them out"
            )
        with _room_on_disk(own.language):
            tables = _tables(_local(own.path), folder, own.language)
        given = {"file": tables and tables.name, "hash": file_hash(Path(own.path)), "estimator": "given"}
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


@contextlib.contextmanager
def _room_on_disk(language: str) -> Iterator[None]:
    """A full disk is an error that says what takes the room."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise references.ReferenceTextError(
            f"perplexity: no {language} model: {error.strerror} for its files, which lie in the run folder and take "
            "about 100 bytes for each word of the reference; make room, move the run, or take a smaller sample"
        ) from error


def _tables(path: Path, folder: Path, language: str = "") -> Path | None:
    """The model of an ARPA file as tables that workers map and share; None where KenLM alone can read it."""
    target = folder / f"{language or path.stem}.probing"
    try:
        probing.write(path, target)
    except probing.UnsuitableError:
        return None
    return target


def _with_own(texts: Iterable[str], params: Any, path: Path) -> tuple[dict[str, Any], NDArray[np.uint64]]:
    room = max(LEAST_ROOM, params.memory - LIBRARIES)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix="work-") as work:
            return _estimated(texts, params, path, Path(work), room)
    except ngram.TooSmallError as error:
        raise references.ReferenceTextError(f"perplexity: no {path.stem} model: {error}; name more text") from error


def _estimated(
    texts: Iterable[str], params: Any, path: Path, work: Path, room: int
) -> tuple[dict[str, Any], NDArray[np.uint64]]:
    corpus = references.corpus(texts, NORMALISERS[params.normaliser], work, min(references.MOST_SPLIT, room // 64))
    if len(corpus.ids) >= counts.MOST_TOKENS:
        raise references.ReferenceTextError(
            f"perplexity: the {path.stem} reference of {corpus.tokens:,} tokens is more than this estimator counts "
            f"({counts.MOST_TOKENS:,}); take a smaller sample, or set estimator: lmplz"
        )
    blocks = corpus.blocks(min(MOST_SORTED, room // TOKEN))
    model = ngram.estimate(blocks, len(corpus.vocabulary), params.order, params.prune, work, room)
    arpa.write(model, corpus.vocabulary, path)
    about = {
        "order": len(model.sizes),
        "ngrams": model.sizes,
        "discounts": [list(d) for d in model.discounts],
        "documents": corpus.documents,
        "lines": corpus.lines,
        "tokens": corpus.tokens,
    }
    return about, corpus.digests


def _with_lmplz(texts: Iterable[str], params: Any, path: Path) -> tuple[dict[str, Any], NDArray[np.uint64]]:
    prune = [str(n) for n in ngram.prune_limits(params.prune, params.order)]
    command = [_program("lmplz", "estimator: own"), "-o", str(params.order), "--discount_fallback", "--prune", *prune]
    command += ["--arpa", str(path), "-T", f"{path.parent}/", "-S", f"{params.memory}b"]
    counted = {"order": params.order, "lines": 0, "tokens": 0}
    digests = array("Q")
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said) as process:
            assert process.stdin is not None
            try:
                for block in _normalised(references.noted(texts, digests), params.normaliser, counted):
                    process.stdin.write(block)
                process.stdin.close()
            except BrokenPipeError:
                pass  # it has failed, and said why
        if process.returncode:
            said.seek(0)
            reason = _reason(said.read())
            raise references.ReferenceTextError(f"perplexity: no {path.stem} model: lmplz failed: {reason}")
    return {**counted, "documents": len(digests)}, references.unique(digests)


def _normalised(texts: Iterable[str], normaliser: str, counted: dict[str, int]) -> Iterator[bytes]:
    """Units of the texts, a batch at a time; on the way they are counted."""
    for batch in references.batches(texts):
        units = NORMALISERS[normaliser].units_of(batch)
        counted["lines"] += int(units.lines.sum())
        counted["tokens"] += int(units.tokens.sum())
        yield units.text.tobytes()
