"""Hand-written scanners for the common pre-tokenisation patterns, over raw UTF-8.

`scan` takes segments (byte ranges of one buffer, each valid UTF-8) and returns where their pieces end. A segment is
scanned in two passes: `classify` gives every byte the class of its character, and one of the `split_…` functions
walks over the classes. Both are called once per segment: a function that takes arrays is never called per piece,
since such a call counts references even when it is inlined. All arithmetic is int64.
"""

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from kernels.unicode_tables import BLANK, DIGIT, END, LOWER, MARK, NEWLINE, OTHER, QUOTE, SLASH, SPACE, UNCASED, UPPER

GPT2, CL100K, O200K = range(3)  # families of patterns, one scanner each
KIND = 15  # mask of the class
MORE = 16  # flag: the 2nd to 4th byte of a character

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
def classify(text: Any, table: Any, classes: Any) -> Any:
    """Class of every byte of valid UTF-8, with MORE on the later bytes of a character, and END after the last."""
    n = len(text)
    i = 0
    while i < n:
        b = np.int64(text[i])
        if b < 0x80:
            classes[i] = table[b]
            i += 1
            continue
        if b < 0xE0:
            size, code = 2, b & 0x1F
        elif b < 0xF0:
            size, code = 3, b & 0x0F
        else:
            size, code = 4, b & 0x07
        for k in range(i + 1, i + size):
            code = code << 6 | (text[k] & 0x3F)
        kind = table[code]
        classes[i] = kind
        for k in range(i + 1, i + size):
            classes[k] = kind | MORE
        i += size
    classes[n] = END


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


@njit(nogil=True)
def split_gpt2(text: Any, classes: Any, digits: Any, ends: Any) -> Any:
    """'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+

    With digits = 1 (starcoder) each digit is cut out first, and white space before one stands before an end of text.
    """
    n = len(text)
    found = i = 0
    while i < n:
        first = classes[i]
        j = i + 1
        suffix = 0
        if first == QUOTE and j < n and text[j] >= ord("a"):  # lower case only, and no U+017F
            b = np.int64(text[j + 1]) if j + 1 < n else 0
            if text[j] < 0x80 and (b >= ord("a") or contraction(np.int64(text[j]), 0) == 1):
                suffix = contraction(np.int64(text[j]), b)
        body = classes[j] & KIND if first == BLANK else first
        if digits == 1 and body == DIGIT:
            body = BLANK if first == BLANK else END
        if suffix > 0:
            j += suffix
        elif body == END:
            while classes[j] & MORE:
                j += 1
        elif body in (LOWER, DIGIT):
            while classes[j] & KIND == body:
                j += 1
        elif body in (OTHER, QUOTE):
            while classes[j] & KIND == OTHER or classes[j] == QUOTE:
                j += 1
        else:
            last = i  # first byte of the last white-space character
            while classes[j] & MORE:
                j += 1
            while SPACE <= classes[j] & KIND <= BLANK:
                if not classes[j] & MORE:
                    last = j
                j += 1
            if j < n and last > i and not (digits == 1 and classes[j] == DIGIT):
                j = last
        ends[found] = j
        found += 1
        i = j
    return found


@njit(nogil=True)
def split_cl100k(text: Any, classes: Any, digits: Any, ends: Any) -> Any:
    """cl100k and its kin, with at most `digits` digits in a number; see tokenizer/patterns.py."""
    n = len(text)
    found = i = 0
    while i < n:
        first = classes[i]
        j = i + 1
        while classes[j] & MORE:
            j += 1
        second = classes[j]
        suffix = 0
        if first == QUOTE and j < n:
            suffix = contraction(np.int64(text[j]), np.int64(text[j + 1]) if j + 1 < n else 0)
        if suffix > 0:
            j += suffix
        elif first == LOWER or (second == LOWER and first != DIGIT and first != NEWLINE):
            while classes[j] & KIND == LOWER:
                j += 1
        elif first == DIGIT:
            more = digits - 1
            while classes[j] & MORE or (classes[j] == DIGIT and more > 0):
                more -= classes[j] == DIGIT
                j += 1
        elif first in (OTHER, QUOTE) or (first == BLANK and second in (OTHER, QUOTE)):
            while classes[j] & KIND == OTHER or classes[j] == QUOTE:
                j += 1
            while classes[j] == NEWLINE:
                j += 1
        else:
            last = i  # first byte of the last white-space character
            line = j if first == NEWLINE else 0  # end of the last line break
            while SPACE <= classes[j] & KIND <= BLANK:
                if not classes[j] & MORE:
                    last = j
                j += 1
                if classes[last] == NEWLINE:
                    line = j
            if line > 0:
                j = line
            elif j < n and last > i:
                j = last
        ends[found] = j
        found += 1
        i = j
    return found


@njit(nogil=True)
def is_word(kind: Any) -> Any:
    """Letters and marks."""
    return LOWER <= kind <= MARK


@njit(nogil=True)
def split_o200k(text: Any, classes: Any, ends: Any) -> Any:
    """o200k: words cut where case falls; see tokenizer/patterns.py.

    A word is an optional prefix (no letter, number or line break), a head of characters that are not lower case, and
    a tail of characters that are not upper case, at least one. Letters without case and marks may stand in both. With
    no lower-case letter behind the head, the tail is what the head gives back: the word ends behind its last
    character that has no case, and only a head of nothing but capitals makes a word alone.
    """
    n = len(text)
    found = i = 0
    while i < n:
        first = classes[i]
        j = i + 1
        while classes[j] & MORE:
            j += 1
        second = classes[j]
        word = i  # where the head begins
        if not is_word(first) or first == MARK:
            word = j
        end = 0
        if first != DIGIT and first != NEWLINE and (is_word(first) or is_word(second)):
            k = word
            caseless = 0  # end of the last character that may also stand in a tail
            while UPPER <= classes[k] & KIND <= MARK:
                k += 1
                if classes[k - 1] & KIND != UPPER:
                    caseless = k
            if classes[k] & KIND == LOWER:
                while classes[k] & KIND == LOWER or UNCASED <= classes[k] & KIND <= MARK:
                    k += 1
                end = k
            elif caseless > 0:
                end = caseless
            elif first == MARK:  # nothing behind it can be a tail: the mark is no prefix but the word
                end = j
            else:
                end = k
        if end > 0:
            j = end
            if classes[j] == QUOTE and j + 1 < n:
                suffix = contraction(np.int64(text[j + 1]), np.int64(text[j + 2]) if j + 2 < n else 0)
                if suffix > 0:
                    j += 1 + suffix
        elif first == DIGIT:
            more = 2
            while classes[j] & MORE or (classes[j] == DIGIT and more > 0):
                more -= classes[j] == DIGIT
                j += 1
        elif (
            first == OTHER
            or QUOTE <= first <= SLASH
            or (first == BLANK and (second == OTHER or QUOTE <= second <= SLASH))
        ):
            while classes[j] & KIND == OTHER or classes[j] & KIND == MARK or QUOTE <= classes[j] <= SLASH:
                j += 1
            while classes[j] == NEWLINE or classes[j] == SLASH:
                j += 1
        else:
            last = i  # first byte of the last white-space character
            line = j if first == NEWLINE else 0  # end of the last line break
            while SPACE <= classes[j] & KIND <= BLANK:
                if not classes[j] & MORE:
                    last = j
                j += 1
                if classes[last] == NEWLINE:
                    line = j
            if line > 0:
                j = line
            elif j < n and last > i:
                j = last
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
    classes = np.empty(longest + 1, np.uint8)
    found = np.int64(0)
    for s in range(len(starts)):
        text = data[starts[s] : stops[s]]
        classify(text, table, classes)
        if family == GPT2:
            more = split_gpt2(text, classes, digits, ends[found:])
        elif family == CL100K:
            more = split_cl100k(text, classes, digits, ends[found:])
        else:
            more = split_o200k(text, classes, ends[found:])
        for k in range(found, found + more):
            ends[k] += starts[s]
        found += more
        before[s + 1] = found
    return ends[:found].copy(), before
