"""Count the words of a text and print the most frequent ones with a bar.

Reads from standard input when it is redirected, otherwise from a short example.
"""

import re
import sys
from collections import Counter

EXAMPLE = """
The tide lifts the boats in the harbour, and when the tide goes out the boats
lie on the mud. The children wait for the mud, because the mud is full of crabs.
"""

# Letters with an optional apostrophe inside, so that "don't" stays in one piece.
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def count_words(text: str) -> Counter[str]:
    """Return how often each word occurs, without regard to upper and lower case."""
    return Counter(match.group().casefold() for match in WORD.finditer(text))


def top(counts: Counter[str], limit: int) -> list[tuple[str, int]]:
    """Order by falling frequency, and by the alphabet where frequencies are equal."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]


def bar_chart(pairs: list[tuple[str, int]], width: int = 30) -> str:
    """Draw one line per word; the longest bar fills the whole width."""
    if not pairs:
        return "no words found"
    longest = max(len(word) for word, _ in pairs)
    highest = pairs[0][1]
    lines = []
    for word, count in pairs:
        bar = "#" * max(1, count * width // highest)
        lines.append(f"{word:<{longest}} {count:>4} {bar}")
    return "\n".join(lines)


def main() -> None:
    """Choose the input and print the chart."""
    text = EXAMPLE if sys.stdin.isatty() else sys.stdin.read() or EXAMPLE
    counts = count_words(text)
    print(bar_chart(top(counts, limit=8)))
    print(f"{counts.total()} words, {len(counts)} different ones")


if __name__ == "__main__":
    main()
