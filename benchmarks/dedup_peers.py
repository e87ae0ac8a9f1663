"""What `benchmarks/dedup.py` runs in a peer's own environment: `PYTHON dedup_peers.py PEER FILE`; prints JSON.

FILE: a JSON list of texts. Peers: datasketch, rensa (signatures on ready-made shingles), datatrove (its four MinHash
steps, in one process).
"""

from __future__ import annotations

import json
import re
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PERMUTATIONS, WORDS = 128, 5


def shingles(texts: list[str]) -> list[list[bytes]]:
    """Every 5 words of each text; a shorter text is one shingle."""
    found = []
    for text in texts:
        words = re.findall(r"\w+", text.lower())
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
    RMinHash.digest_matrix_from_token_sets(ready[:10], PERMUTATIONS, 1)
    started, used = time.perf_counter(), processor()
    RMinHash.digest_matrix_from_token_sets(ready, PERMUTATIONS, 1)
    bulk = {"seconds": time.perf_counter() - started, "processor": processor() - used}
    used = processor()
    for own in ready:
        single = RMinHash(num_perm=PERMUTATIONS, seed=1)
        single.update(own)
        single.digest()
    return bulk | {"one_by_one": processor() - used}


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
    print(json.dumps({"datasketch": datasketch, "rensa": rensa, "datatrove": datatrove}[sys.argv[1]](given)))
