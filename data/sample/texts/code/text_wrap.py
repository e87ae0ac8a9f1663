"""Wrap a paragraph so that the right edge is as even as possible.

A greedy wrapper fills each line and may leave an ugly gap later. Here dynamic
programming finds the breaks whose squared gaps, without the last line, are smallest.
"""

TEXT = (
    "Old harbours were built where a river meets the sea, because ships could be "
    "loaded there from barges, and because fresh water was close at hand for the crew."
)


def wrap(text: str, width: int) -> list[str]:
    """Return the lines of the best layout; a word longer than the width gets its own line."""
    words = text.split()
    count = len(words)
    # best[i] is the smallest cost of setting the words from i to the end.
    best = [0.0] * (count + 1)
    following = [count] * (count + 1)
    for first in range(count - 1, -1, -1):
        best[first] = float("inf")
        length = -1
        for last in range(first, count):
            length += 1 + len(words[last])
            if length > width and last > first:
                break
            gap = max(0, width - length)
            cost = 0.0 if last == count - 1 else gap**2 + best[last + 1]
            if cost < best[first]:
                best[first] = cost
                following[first] = last + 1
    lines, position = [], 0
    while position < count:
        lines.append(" ".join(words[position : following[position]]))
        position = following[position]
    return lines


def show(lines: list[str], width: int) -> None:
    """Print the lines inside a frame that makes the gaps visible."""
    for line in lines:
        print(f"|{line:<{width}}|")


if __name__ == "__main__":
    for measure in (28, 40):
        show(wrap(TEXT, measure), measure)
        print()
