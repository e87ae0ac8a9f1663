"""Interpolated modified Kneser-Ney smoothing as the papers state it: slow, over dictionaries of word tuples.

Chen & Goodman (1998), section 4.1.6 and equation 26; Heafield et al. (2013).
"""

from __future__ import annotations

from collections import Counter

Gram = tuple[str, ...]


class KneserNey:
    """probability: of every n-gram left in the model; backoff: of every n-gram that is a context."""

    def __init__(self, lines: list[list[str]], order: int, prune: list[int]) -> None:
        self.order = order
        self.raw: Counter[Gram] = Counter()
        for line in lines:
            words = ("<s>", *line, "</s>")
            for end in range(2, len(words) + 1):
                for n in range(1, min(order, end) + 1):
                    self.raw[words[end - n : end]] += 1
        self.words = sorted({g[0] for g in self.raw if len(g) == 1} | {"<unk>"})
        self.adjusted = {g: self._adjusted(g) for g in self.raw}
        self.kept = {g for g, c in self.raw.items() if c > prune[len(g) - 1]}
        self.discounts = [self._discounts(n) for n in range(1, order + 1)]
        self.backoff = {context: self._gamma(context) for context in {g[:-1] for g in self.raw}}
        self.probability = {g: self.p(g) for g in self.kept | {("<unk>",)}}

    def _adjusted(self, gram: Gram) -> int:
        if len(gram) == self.order or gram[0] == "<s>":
            return self.raw[gram]
        return len({g[0] for g in self.raw if len(g) == len(gram) + 1 and g[1:] == gram})

    def _discounts(self, n: int) -> list[float]:
        sizes = Counter(c for g, c in self.adjusted.items() if len(g) == n)
        if sizes[1] and sizes[2] and sizes[3]:
            y = sizes[1] / (sizes[1] + 2 * sizes[2])
            found = [k - (k + 1) * y * sizes[k + 1] / sizes[k] for k in (1, 2, 3)]
            if all(0 <= d <= k for k, d in enumerate(found, start=1)):
                return [0.0, *found]
        return [0.0, 0.5, 1.0, 1.5]

    def _gamma(self, context: Gram) -> float:
        d = self.discounts[len(context)]
        after = [g for g in self.raw if g[:-1] == context]
        mass = sum(d[min(self.adjusted[g], 3)] if g in self.kept else self.adjusted[g] for g in after)
        return mass / sum(self.adjusted[g] for g in after)

    def p(self, gram: Gram) -> float:
        """p(last word | the words before it), of an n-gram or word that is in the model."""
        context, n = gram[:-1], len(gram)
        lower = self.p(gram[1:]) if n > 1 else 1 / len(self.words)
        if context not in self.backoff:
            return lower
        own = 0.0
        if gram in self.kept:
            count = self.adjusted[gram]
            total = sum(c for g, c in self.adjusted.items() if g[:-1] == context)
            own = (count - self.discounts[n - 1][min(count, 3)]) / total
        return own + self.backoff[context] * lower
