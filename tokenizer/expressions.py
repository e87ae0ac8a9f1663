"""Regular expressions of the user's own: refused when they are read if they cannot work, bounded while they search.

They are searched with the `regex` module, which is spared most of the expressions that make `re` backtrack without end,
`(a+)+$` among them, and which can stop. Two guards:

  when read   an expression that can match no character at all is refused, and so is one that needs exponential time on
              short texts made of its own characters (a harmless one takes microseconds there, an exponential one
              years, so the answer does not depend on the machine)
  in use      a search that takes more than a minute and ten seconds per million characters ends with
              `SlowExpressionError`; it never changes what an expression finds
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

_REPEATS, _PAIRS = 80, 48  # of the characters and of the pairs that a probe repeats: 1.6 ** 48 steps are hours
_PATIENCE = 2.0, 6.0  # seconds for one probe, at the first and at the second try
_SECONDS, _SECONDS_PER_CHARACTER = 60.0, 1e-5
_USUAL = "aA0 -.@_:/é好"  # one of each kind of character, beside those of the expression itself
_STOPS = ("", "\x00", "!", "\n")  # what makes a match fail at the end
_OWN = 12  # characters of the expression that are probed in pairs
_WORD = re.compile("[A-Za-z0-9]{2,}")  # literal text of the expression


class SlowExpressionError(ValueError):
    """A search that did not end in time. `text`: what was searched."""

    def __init__(self, expression: str, text: str) -> None:
        super().__init__(expression, text)
        self.expression, self.text = expression, text

    def __str__(self) -> str:
        begin = self.text[:40] + ("…" if len(self.text) > 40 else "")
        return (
            f"the expression {self.expression!r} did not finish on a text of {len(self.text):,} characters "
            f"that begins {begin!r}; write it without repeats that can share their characters in many ways"
        )


@lru_cache(maxsize=256)
def checked(expression: str) -> Any:
    """The compiled expression. Raises ValueError where it is invalid, can match nothing, or takes exponential time."""
    import regex

    try:
        compiled = regex.compile(expression)
    except regex.error as error:
        raise ValueError(f"{expression!r} is not a valid regular expression: {error}") from error
    for text in _probes(expression):
        found = _searched(compiled, text)
        if found is None:
            raise ValueError(
                f"{expression!r} takes exponential time: {len(text)} characters such as {text[:8]!r}… were not searched"
                f" in {_PATIENCE[1]:.0f} s; write it without repeats that can share their characters in many ways"
            )
        if any(start == end for start, end in found):
            raise ValueError(
                f"{expression!r} can match an empty text; every match must hold a character (write + for *, say)"
            )
    return compiled


def _probes(expression: str) -> Iterator[str]:
    """Short texts that make a greedy repeat fail at the end: one character, two, or a word, again and again.

    Some end with all literal text of the expression, since a text without what a match must hold is not searched.
    """
    own = [c for c in dict.fromkeys(expression) if c.isalnum() or c in " -.@_:/,;#%&=~'\""]
    words = _WORD.findall(expression)
    stops = (*_STOPS, "\x00" + " ".join(["".join(own), *own, *words, expression.replace("\\", "")]))
    yield ""
    for character, stop in product(dict.fromkeys([*own, *_USUAL]), stops):
        yield character * _REPEATS + stop
    pairs = [one + other for one, other in product(own[:_OWN], repeat=2) if one != other]
    for unit, stop in product(dict.fromkeys([*pairs, *words]), (stops[0], stops[-1])):
        yield unit * _PAIRS + stop


def _searched(compiled: Any, text: str) -> list[tuple[int, int]] | None:
    """The spans of all matches; None if the search does not end. Twice, lest a machine that slept be the reason."""
    for patience in _PATIENCE:
        try:
            return [match.span() for match in compiled.finditer(text, timeout=patience)]
        except TimeoutError:
            continue
    return None


def matches(compiled: Any, text: str) -> Iterator[Any]:
    """As `compiled.finditer(text)`. Raises SlowExpressionError for a search that does not end in time."""
    patience = _SECONDS + _SECONDS_PER_CHARACTER * len(text)
    try:
        yield from compiled.finditer(text, timeout=patience)
    except TimeoutError:
        raise SlowExpressionError(compiled.pattern, text) from None
