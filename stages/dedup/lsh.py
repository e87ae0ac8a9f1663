"""Locality-sensitive hashing of MinHash signatures: how bands and rows set what is found."""

from __future__ import annotations

RECALL = 0.94  # of pairs exactly at the threshold, what the default shape must find


def probability(jaccard: float, bands: int, rows: int) -> float:
    """Chance that a pair of this Jaccard shares a bucket: 1 - (1 - J^rows)^bands.

    Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, section 3.4.2. For 16 bands of 8 rows:

        J   0.3    0.4    0.5    0.6    0.7    0.8    0.85   0.9    0.95
        P   0.001  0.010  0.061  0.237  0.613  0.947  0.994  0.9999 1.0000
    """
    return 1.0 - (1.0 - jaccard**rows) ** bands


def shape(permutations: int, threshold: float, recall: float = RECALL) -> tuple[int, int]:
    """(bands, rows): the most rows, then the fewest bands, that find a pair at the threshold with this probability.

    More rows mean fewer pairs to verify. 128 permutations at 0.8 give 16 x 8. Where no shape reaches the probability,
    every value is a band of its own, which finds the most.
    """
    for rows in range(permutations, 0, -1):
        for bands in range(1, permutations // rows + 1):
            if probability(threshold, bands, rows) >= recall:
                return bands, rows
    return permutations, 1
