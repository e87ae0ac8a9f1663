"""Print one month as a small calendar, computing the weekday without any library.

The weekday comes from counting the days since 1 January of year 1, which was
a Monday in the Gregorian calendar extended backwards.
"""

import sys

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_leap(year: int) -> bool:
    """Every fourth year, except the centuries that 400 does not divide."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def month_length(year: int, month: int) -> int:
    """Return the number of days of a month, where January is 1."""
    return LENGTHS[month - 1] + (1 if month == 2 and is_leap(year) else 0)


def weekday(year: int, month: int, day: int) -> int:
    """Return 0 for Monday up to 6 for Sunday."""
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400
    days += sum(month_length(year, earlier) for earlier in range(1, month))
    return (days + day - 1) % 7


def render(year: int, month: int) -> str:
    """Lay out the month in weeks that begin on Monday."""
    cells = ["  "] * weekday(year, month, 1)
    cells += [f"{day:2d}" for day in range(1, month_length(year, month) + 1)]
    weeks = [" ".join(cells[start : start + 7]) for start in range(0, len(cells), 7)]
    title = f"{MONTHS[month - 1]} {year}".center(20).rstrip()
    return "\n".join([title, "Mo Tu We Th Fr Sa Su", *weeks])


def main(arguments: list[str]) -> int:
    """Read year and month from the command line; show February 2024 by default."""
    try:
        year, month = (int(word) for word in arguments) if arguments else (2024, 2)
    except ValueError:
        print("usage: month_calendar.py YEAR MONTH, both as whole numbers", file=sys.stderr)
        return 2
    if year < 1 or not 1 <= month <= 12:
        print("the year must be 1 or later and the month between 1 and 12", file=sys.stderr)
        return 2
    print(render(year, month))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
