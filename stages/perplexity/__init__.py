"""Perplexity under a language model trained in the run: estimator, scorer, band, and the judge that ties them together.

`normalise` text to units, `references` to ids, `counts` of n-grams (in files of `columns`), `ngram` smoothing with
sums over `contexts`, `arpa` and `probing` files, `training` that does all this, `scoring` with KenLM, `band` fitting,
`judge` the stage.
"""

from stages.perplexity.judge import Perplexity, PerplexityParams

__all__ = ["Perplexity", "PerplexityParams"]
