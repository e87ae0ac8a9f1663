"""Keep the median of a stream of numbers with two heaps.

The lower half of the values lives in a max-heap and the upper half in a min-heap.
Both heaps differ in size by at most one, so the median is always at the top.
"""

import heapq


class RunningMedian:
    """The median of all values added so far."""

    def __init__(self) -> None:
        self._low: list[float] = []  # negated values, because heapq only offers a min-heap
        self._high: list[float] = []

    def add(self, value: float) -> None:
        """Insert one value in logarithmic time."""
        if self._low and value > -self._low[0]:
            heapq.heappush(self._high, value)
        else:
            heapq.heappush(self._low, -value)
        self._balance()

    def _balance(self) -> None:
        # The lower heap may hold one value more than the upper one, never fewer.
        if len(self._low) > len(self._high) + 1:
            heapq.heappush(self._high, -heapq.heappop(self._low))
        elif len(self._high) > len(self._low):
            heapq.heappush(self._low, -heapq.heappop(self._high))

    def median(self) -> float:
        """Return the middle value, or the mean of the two middle values."""
        if not self._low:
            raise ValueError("no values yet: call add() before median()")
        if len(self._low) > len(self._high):
            return -self._low[0]
        return (self._high[0] - self._low[0]) / 2


def main() -> None:
    """Show how the median moves while temperatures arrive."""
    tracker = RunningMedian()
    for reading in (14.0, 15.5, 13.0, 21.0, 16.0, 12.5):
        tracker.add(reading)
        print(f"read {reading:5.1f}  median {tracker.median():5.2f}")


if __name__ == "__main__":
    main()
