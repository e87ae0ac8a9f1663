"""Document deduplication: `exact_dedup` by content hash, `minhash` by verified Jaccard of shingles."""

from stages.dedup.exact import ExactDedup
from stages.dedup.minhash import MinHash

__all__ = ["ExactDedup", "MinHash"]
