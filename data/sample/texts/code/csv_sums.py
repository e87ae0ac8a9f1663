"""Add up the numeric columns of a CSV table.

Usage: python csv_sums.py [table.csv]
Without an argument a small built-in table is used.
"""

import csv
import io
import sys
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

EXAMPLE = """item,count,weight
apples,12,1.80
pears,7,1.15
plums,30,0.90
walnuts,,0.40
"""


def column_sums(lines: Iterable[str]) -> dict[str, Decimal]:
    """Return the sum of every column whose filled cells are all numbers."""
    reader = csv.DictReader(lines)
    names = list(reader.fieldnames or [])
    sums = {name: Decimal(0) for name in names}
    textual: set[str] = set()
    for row in reader:
        for name in names:
            cell = (row[name] or "").strip()
            if not cell:
                continue  # an empty cell adds nothing and does not spoil the column
            try:
                sums[name] += Decimal(cell)
            except InvalidOperation:
                textual.add(name)
    return {name: total for name, total in sums.items() if name not in textual}


def main(arguments: list[str]) -> int:
    """Print one line per numeric column."""
    if arguments:
        with open(arguments[0], newline="", encoding="utf-8") as table:
            result = column_sums(table)
    else:
        result = column_sums(io.StringIO(EXAMPLE))
    width = max((len(name) for name in result), default=0)
    for name, total in result.items():
        print(f"{name:<{width}}  {total}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
