"""Tokenize an arithmetic expression and evaluate it by recursive descent, with this grammar:

sum     = product { ("+" | "-") product }
product = factor { ("*" | "/") factor }
factor  = number | "-" factor | "(" sum ")"
"""

import re

TOKEN = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<sign>[-+*/()]))")


def tokens(text: str) -> list[str]:
    """Return numbers and signs in order; raise ValueError at the first stranger."""
    found, position, text = [], 0, text.rstrip()
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"unexpected character at column {position + 1}: {text[position:]!r}")
        found.append(match.group("number") or match.group("sign"))
        position = match.end()
    return found


class Evaluator:
    """Walks once over the tokens; every method reads one rule of the grammar."""

    def __init__(self, text: str) -> None:
        self._tokens = [*tokens(text), ""]  # the empty string marks the end
        self._next = 0

    def _take(self) -> str:
        self._next += 1
        return self._tokens[self._next - 1]

    def evaluate(self) -> float:
        value = self.sum()
        if self._tokens[self._next]:
            raise ValueError(f"an operator was expected before {self._tokens[self._next]!r}")
        return value

    def sum(self) -> float:
        value = self.product()
        while self._tokens[self._next] in ("+", "-"):
            value = value + self.product() if self._take() == "+" else value - self.product()
        return value

    def product(self) -> float:
        value = self.factor()
        while self._tokens[self._next] in ("*", "/"):
            value = value * self.factor() if self._take() == "*" else value / self.factor()
        return value

    def factor(self) -> float:
        token = self._take()
        if token == "-":
            return -self.factor()
        if token == "(":
            value = self.sum()
            if self._take() == ")":
                return value
            raise ValueError("a closing bracket is missing")
        if not token or token in "+*/)":
            raise ValueError(f"a number was expected, found {token or 'the end'!r}")
        return float(token)


if __name__ == "__main__":
    for line in ("1 + 2 * 3", "(1 + 2) * 3", "-4 / (2 - 10)"):
        print(f"{line} = {Evaluator(line).evaluate():g}")
