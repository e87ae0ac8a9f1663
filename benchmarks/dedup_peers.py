"""What `benchmarks/dedup.py` runs in a peer's own environment: `PYTHON dedup_peers.py PEER FILE`; prints JSON.

FILE: a JSON list of texts. Peers: datasketch, rensa (signatures on ready-made shingles; the texts are normalised, their
words have a blank between them), datatrove (its four MinHash steps, in one process).
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PERMUTATIONS, WORDS = 128, 5


def shingles(texts: list[str]) -> list[list[bytes]]:
    """Every 5 words of each normalised text; a shorter text is one shingle."""
    found = []
    for text in texts:
        words = text.split()
        found.append([" ".join(words[k : k + WORDS]).encode() for k in range(max(1, len(words) - WORDS + 1))])
    return found


def processor() -> float:
    """Seconds of processor time of this process and its finished children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usages)


def datasketch(texts: list[str]) -> dict[str, float]:
    from datasketch import MinHash

    ready = shingles(texts)
    started, used = time.perf_counter(), processor()
    MinHash.bulk(ready, num_perm=PERMUTATIONS, seed=1)
    return {"seconds": time.perf_counter() - started, "processor": processor() - used}


def rensa(texts: list[str]) -> dict[str, float]:
    from rensa import RMinHash

    ready = [[s.decode() for s in own] for own in shingles(texts)]

    def bulk() -> None:
        RMinHash.digest_matrix_from_token_sets(ready, PERMUTATIONS, 1)

    def one_by_one() -> None:
        for own in ready:
            single = RMinHash(num_perm=PERMUTATIONS, seed=1)
            single.update(own)
            single.digest()

    return {"processor": best(bulk), "one_by_one": best(one_by_one)}


def best(run: Callable[[], None]) -> float:
    """Least processor time of nine calls."""
    found = []
    for _ in range(9):
        used = processor()
        run()
        found.append(processor() - used)
    return min(found)


def estimates(texts: list[str]) -> dict[str, list[list[int]]]:
    """Signatures of rensa's full-set sketch with the seeds 1 to 5, a list for each seed: of all texts, in one row."""
    from rensa import RMinHash

    ready = [[s.decode() for s in own] for own in shingles(texts)]
    found = []
    for seed in range(1, 6):
        matrix = RMinHash.digest_matrix_from_token_sets(ready, PERMUTATIONS, seed)
        found.append([value for row in matrix.to_rows() for value in row])
    return {"signatures": found}


def datatrove(texts: list[str]) -> dict[str, Any]:
    from datatrove.data import Document
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline import dedup
    from datatrove.pipeline.base import PipelineStep
    from datatrove.utils.hashing import HashConfig

    class Given(PipelineStep):  # type: ignore[misc]
        """Hands over the texts."""

        def run(self, data: Any, rank: int = 0, world_size: int = 1) -> Any:
            yield from (Document(text=text, id=str(k)) for k, text in enumerate(texts))

    config = dedup.MinhashConfig(
        n_grams=WORDS, num_buckets=16, hashes_per_bucket=8, hash_config=HashConfig(precision=64, hash_fc="xxhash")
    )
    with tempfile.TemporaryDirectory() as folder:
        signatures, buckets, removed = (f"{folder}/{name}" for name in ("signatures", "buckets", "removed"))
        steps: list[tuple[list[Any], int]] = [
            ([Given(), dedup.MinhashDedupSignature(signatures, config)], 1),
            ([dedup.MinhashDedupBuckets(signatures, buckets, config=config)], config.num_buckets),
            ([dedup.MinhashDedupCluster(buckets, removed, config=config)], 1),
            ([Given(), dedup.MinhashDedupFilter(removed)], 1),
        ]
        seconds, used = [], processor()
        for number, (pipeline, tasks) in enumerate(steps):
            started = time.perf_counter()
            LocalPipelineExecutor(pipeline, tasks=tasks, workers=1, logging_dir=f"{folder}/logs-{number}").run()
            seconds.append(time.perf_counter() - started)
        count = sum(p.stat().st_size // 4 for p in Path(removed).rglob("*.remove"))
    return {"seconds": sum(seconds), "processor": processor() - used, "steps": seconds, "removed": count}


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    print(
        json.dumps(
            {"datasketch": datasketch, "rensa": rensa, "estimates": estimates, "datatrove": datatrove}[sys.argv[1]](
                given
            )
        )
    )
