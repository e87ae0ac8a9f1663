"""Hand-written scanners for the common pre-tokenisation patterns, over raw UTF-8.

`scan` takes segments (byte ranges of one buffer, each valid UTF-8) and returns where their pieces end. A segment is
scanned in two passes: `find_runs` lists the runs of characters of one class, and one of the `split_…` functions walks
over the runs. Both are called once per segment: a function that takes arrays is never called per piece, since such a
call counts references even when it is inlined. All arithmetic is int64.
"""

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from kernels.unicode_tables import BLANK, DIGIT, END, LOWER, MARK, NEWLINE, OTHER, QUOTE, SLASH, SPACE, UNCASED, UPPER

GPT2, CL100K, O200K = range(3)  # families of patterns, one scanner each
PLACE = 4  # bits of a run below the place where it begins
KIND = 15  # mask of its class

BYTES = types.Array(types.uint8, 1, "C", readonly=True)
INTEGERS = types.Array(types.int64, 1, "C", readonly=True)
OUTPUT = types.Array(types.int64, 1, "C")
RESULT = types.Tuple((OUTPUT, OUTPUT))


def family_table(classes: NDArray[np.uint8], family: int) -> NDArray[np.uint8]:
    """The class table a family needs: without case, marks and the slash unless it is o200k."""
    if family == O200K:
        return classes
    table = classes.copy()
    table[(classes == UPPER) | (classes == UNCASED)] = LOWER
    table[(classes == MARK) | (classes == SLASH)] = OTHER
    return table


@njit(nogil=True)
def width(b: Any) -> Any:
    """Bytes of the character whose first byte is b."""
    return 1 + (b >= 0xC0) + (b >= 0xE0) + (b >= 0xF0)


@njit(nogil=True)
def find_runs(text: Any, table: Any, runs: Any) -> None:
    """Runs of characters of one class in valid UTF-8: the place where each begins << PLACE | class.

    Three of END stand behind the last. runs needs room for three more than text has bytes.
    """
    n = len(text)
    found = i = 0
    before = np.int64(END)
    while i < n:
        b = np.int64(text[i])
        run = i << PLACE
        if b < 0x80:
            kind = np.int64(table[b])
            i += 1
        else:
            if b < 0xE0:
                code = (b & 0x1F) << 6 | (text[i + 1] & 0x3F)
            elif b < 0xF0:
                code = (b & 0x0F) << 12 | (text[i + 1] & 0x3F) << 6 | (text[i + 2] & 0x3F)
            else:
                code = (b & 0x07) << 18 | (text[i + 1] & 0x3F) << 12 | (text[i + 2] & 0x3F) << 6 | (text[i + 3] & 0x3F)
            kind = np.int64(table[code])
            i += width(b)
        runs[found] = run | kind
        found += kind != before  # else the next one takes its place
        before = kind
    for k in range(found, found + 3):
        runs[k] = n << PLACE | END


@njit(nogil=True)
def contraction(a: Any, b: Any) -> Any:
    """Bytes of (?i:[sdmt]|ll|ve|re) at the start of the bytes a, b; 0 if none. U+017F is an s to (?i)."""
    if a == 0xC5 and b == 0xBF:
        return 2
    if a < 0x40:
        return 0
    x = a | 0x20
    if x == ord("s") or x == ord("d") or x == ord("m") or x == ord("t"):
        return 1
    y = b | 0x20
    if b >= 0x40 and ((x == ord("l") and y == ord("l")) or (y == ord("e") and (x == ord("v") or x == ord("r")))):
        return 2
    return 0


@njit(nogil=True, inline="always")
def all_but_one(text: Any, i: Any, j: Any, r: Any) -> Any:
    """White space from i to j, where run r begins, less its last character if it has more: its end, the run there."""
    last = j - 1
    while text[last] & 0xC0 == 0x80:
        last -= 1
    return (last, r - 1) if last > i else (j, r)


@njit(nogil=True, inline="always")
def white_space(text: Any, runs: Any, r: Any, i: Any) -> Any:
    """\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+ from i on, in run r: its end, and the run there."""
    line = 0  # the run behind the last line break
    while SPACE <= runs[r] & KIND <= BLANK:
        r += 1
        if runs[r - 1] & KIND == NEWLINE:
            line = r
    if line > 0:
        return runs[line] >> PLACE, line
    j = runs[r] >> PLACE
    return all_but_one(text, i, j, r) if j < len(text) else (j, r)


@njit(nogil=True)
def split_gpt2(text: Any, runs: Any, digits: Any, ends: Any) -> Any:
    """'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+

    With digits = 1 (starcoder) each digit is cut out first, and white space before one stands before an end of text.
    """
    n = len(text)
    found = i = r = 0  # r: the run that holds i
    while i < n:
        first = runs[r] & KIND
        end = runs[r + 1] >> PLACE
        suffix = 0
        if first == QUOTE and i + 1 < n and text[i + 1] >= ord("a"):  # lower case only, and no U+017F
            b = np.int64(text[i + 2]) if i + 2 < n else 0
            if text[i + 1] < 0x80 and (b >= ord("a") or contraction(np.int64(text[i + 1]), 0) == 1):
                suffix = contraction(np.int64(text[i + 1]), b)
        blank = first == BLANK and end == i + 1
        body = runs[r + 1] & KIND if blank else first
        if digits == 1 and body == DIGIT:
            body = BLANK if blank else END
        if suffix > 0:
            j = i + 1 + suffix
            r += 1
            r += j == runs[r + 1] >> PLACE
        elif body == END:
            j = i + width(text[i])
            r += j == end
        elif body in (LOWER, DIGIT):
            r += 1 + blank
            j = runs[r] >> PLACE
        elif body in (OTHER, QUOTE):
            r += 1
            while runs[r] & KIND in (OTHER, QUOTE):
                r += 1
            j = runs[r] >> PLACE
        else:
            while SPACE <= runs[r] & KIND <= BLANK:
                r += 1
            j = runs[r] >> PLACE
            if j < n and not (digits == 1 and runs[r] & KIND == DIGIT):
                j, r = all_but_one(text, i, j, r)
        ends[found] = j
        found += 1
        i = j
    return found


@njit(nogil=True)
def split_cl100k(text: Any, runs: Any, digits: Any, ends: Any) -> Any:
    """cl100k and its kin, with at most `digits` digits in a number; see tokenizer/patterns.py."""
    n = len(text)
    found = i = r = 0  # r: the run that holds i
    while i < n:
        first = runs[r] & KIND
        second = runs[r + 1] & KIND
        end = runs[r + 1] >> PLACE
        alone = end == i + width(text[i])  # the first character, before another class
        suffix = 0
        if first == QUOTE and i + 1 < n:
            suffix = contraction(np.int64(text[i + 1]), np.int64(text[i + 2]) if i + 2 < n else 0)
        if first == LOWER:
            r += 1
            j = end
        elif suffix > 0:
            j = i + 1 + suffix
            r += 1
            r += j == runs[r + 1] >> PLACE
        elif alone and second == LOWER and first != DIGIT and first != NEWLINE:
            r += 2
            j = runs[r] >> PLACE
        elif first == DIGIT:
            j = i
            for _ in range(digits):
                if j < end:
                    j += width(text[j])
            r += j == end
        elif first in (OTHER, QUOTE) or (alone and first == BLANK and second in (OTHER, QUOTE)):
            r += 1
            while runs[r] & KIND in (OTHER, QUOTE):
                r += 1
            r += runs[r] & KIND == NEWLINE
            j = runs[r] >> PLACE
        else:
            j, r = white_space(text, runs, r, i)
        ends[found] = j
        found += 1
        i = j
    return found


@njit(nogil=True)
def is_word(kind: Any) -> Any:
    """Letters and marks."""
    return LOWER <= kind <= MARK


@njit(nogil=True)
def is_sign(kind: Any) -> Any:
    """What is no letter, number or white space, as long as it is no mark."""
    return kind == OTHER or QUOTE <= kind <= SLASH


@njit(nogil=True)
def split_o200k(text: Any, runs: Any, ends: Any) -> Any:
    """o200k: words cut where case falls; see tokenizer/patterns.py.

    A word is an optional prefix (no letter, number or line break), a head of characters that are not lower case, and
    a tail of characters that are not upper case, at least one. Letters without case and marks may stand in both. With
    no lower-case letter behind the head, the tail is what the head gives back: the word ends behind its last
    character that has no case, and only a head of nothing but capitals makes a word alone.
    """
    n = len(text)
    found = i = r = 0  # r: the run that holds i
    while i < n:
        first = runs[r] & KIND
        end = runs[r + 1] >> PLACE
        j = i + width(text[i])
        alone = end == j
        second = runs[r + 1] & KIND if alone else first
        if first != DIGIT and first != NEWLINE and (is_word(first) or is_word(second)):
            after = r + alone  # the run behind the first character
            if not is_word(first) or first == MARK:
                r = after
            caseless = 0  # the run behind the last character that may also stand in a tail
            while UPPER <= runs[r] & KIND <= MARK:
                r += 1
                if runs[r - 1] & KIND != UPPER:
                    caseless = r
            if runs[r] & KIND == LOWER:
                while runs[r] & KIND == LOWER or UNCASED <= runs[r] & KIND <= MARK:
                    r += 1
            elif caseless > 0:
                r = caseless
            elif first == MARK:  # nothing behind it can be a tail: the mark is no prefix but the word
                r = after
            j = runs[r] >> PLACE
            if runs[r] & KIND == QUOTE and j + 1 < n:
                suffix = contraction(np.int64(text[j + 1]), np.int64(text[j + 2]) if j + 2 < n else 0)
                if suffix > 0:
                    j += 1 + suffix
                    while runs[r + 1] >> PLACE <= j < n:
                        r += 1
        elif first == DIGIT:
            for _ in range(2):
                if j < end:
                    j += width(text[j])
            r += j == end
        elif is_sign(first) or (first == BLANK and alone and is_sign(second)):
            r += 1
            while is_sign(runs[r] & KIND) or runs[r] & KIND == MARK:
                r += 1
            while runs[r] & KIND in (NEWLINE, SLASH):
                r += 1
            j = runs[r] >> PLACE
        else:
            j, r = white_space(text, runs, r, i)
        ends[found] = j
        found += 1
        i = j
    return found


@njit(RESULT(BYTES, INTEGERS, INTEGERS, BYTES, types.int64, types.int64), nogil=True, cache=True)
def scan(data: Any, starts: Any, stops: Any, table: Any, family: Any, digits: Any) -> Any:
    """Pieces of the segments data[starts[s]:stops[s]].

    Returns the end of every piece (bytes, from the start of data) and, for every segment and once more at the end, the
    number of pieces before it. table is the family's class table, shape (0x110000,).
    """
    total = longest = np.int64(0)
    for s in range(len(starts)):
        size = stops[s] - starts[s]
        total += size
        longest = max(longest, size)
    ends = np.empty(total, np.int64)  # a piece has at least one byte; memory that is not written costs nothing
    before = np.zeros(len(starts) + 1, np.int64)
    runs = np.empty(longest + 3, np.int64)
    found = np.int64(0)
    for s in range(len(starts)):
        text = data[starts[s] : stops[s]]
        find_runs(text, table, runs)
        if family == GPT2:
            more = split_gpt2(text, runs, digits, ends[found:])
        elif family == CL100K:
            more = split_cl100k(text, runs, digits, ends[found:])
        else:
            more = split_o200k(text, runs, ends[found:])
        for k in range(found, found + more):
            ends[k] += starts[s]
        found += more
        before[s + 1] = found
    return ends[:found].copy(), before
