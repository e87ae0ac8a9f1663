"""Words, lines and symbols of UTF-8 documents: one pass over Arrow buffers, no Python string per document.

A *word* is, between Unicode white space, a run of characters that holds at least one letter or number. In scripts that
put no space between words (`UNSPACED_SCRIPTS`) one character, with the marks that follow it, is a word of its own, also
inside a run of other characters. So a document of any mixture of scripts has one reading.

`kernels.word_tables` says which class every code point has.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import boolean, int32, int64, njit, types, uint8, void
from numpy.typing import NDArray

from kernels.word_tables import BULLET, CLOSING, DOT, LETTER, MARK, NUMBER, SPACE, TERMINAL, UNIT, UPPER, class_table

STOP_WORDS: Final = ("the", "be", "to", "of", "and", "that", "have", "with")
"""Rae et al. 2021, appendix A1.1."""

SHORT: Final = 30  # characters; a line with fewer is short

COLUMNS: Final = (
    *("characters", "words", "units", "spaced_characters", "alphabetic", "stop_words", "hashes", "ellipses"),
    *("lines", "bullet_lines", "ellipsis_lines", "terminal_lines", "short_lines"),
    *("sentences", "curly_brackets", "lorem_ipsum"),
    *("white_space", "letters", "upper_case", "numbers", "url_characters", "longest_line"),
)
"""What is counted: characters are code points, `spaced_characters` those of words that are no units, `stop_words`
the distinct ones of STOP_WORDS."""
(CHARACTERS, WORDS, UNITS, SPACED_CHARACTERS, ALPHABETIC, STOPS, HASHES, ELLIPSES) = range(8)
(LINES, BULLET_LINES, ELLIPSIS_LINES, TERMINAL_LINES, SHORT_LINES) = range(8, 13)
(SENTENCES, BRACES, LOREM_IPSUM) = range(13, 16)
(WHITE_SPACE, LETTERS, UPPER_CASE, NUMBERS, URL_CHARACTERS, LONGEST_LINE) = range(16, 22)


def _packed(word: str) -> int:
    key = 0
    for letter in word:
        key = key << 5 | (ord(letter) & 31)
    return key


_STOP_KEYS: Final = tuple(_packed(w) for w in STOP_WORDS)
_CLOSING: Final = tuple(map(ord, CLOSING))
_LOREM: Final = tuple(map(ord, "lorem ipsum"))
_SEED: Final = 0x2545F4914F6CDD1D
_SPREAD: Final = 0x1FB21C651E98DF25  # odd, below 2^63

_U8 = types.Array(uint8, 1, "C", readonly=True)
_I64 = types.Array(int64, 1, "C", readonly=True)
_OUT8, _OUT32, _OUT64 = uint8[::1], int32[::1], int64[::1]


@njit(int64(_U8, int64, int64, _U8, _OUT32, _OUT8), nogil=True, cache=True)
def _decode(data: Any, start: Any, end: Any, table: Any, points: Any, classes: Any) -> Any:
    """Code points and classes of valid UTF-8, closed by a newline of its own; returns how many, without it."""
    n = 0
    i = start
    while i < end:
        b = np.int64(data[i])
        if b < 0x80:
            size, code = 1, b
        elif b < 0xE0:
            size, code = 2, b & 0x1F
        elif b < 0xF0:
            size, code = 3, b & 0x0F
        else:
            size, code = 4, b & 0x07
        for k in range(i + 1, i + size):
            code = code << 6 | (np.int64(data[k]) & 0x3F)
        points[n] = code
        classes[n] = table[code]
        n += 1
        i += size
    points[n] = 10
    classes[n] = table[10]
    return n


@njit(int64(_OUT32, int64, int64), nogil=True, cache=True)
def _hash(points: Any, start: Any, end: Any) -> Any:
    """64-bit hash of code points, two at a time."""
    h = np.int64(_SEED) ^ (end - start)
    i = start
    while i + 1 < end:
        h = (h ^ np.int64(points[i]) ^ np.int64(points[i + 1]) << 32) * _SPREAD
        h ^= h >> 32
        i += 2
    if i < end:
        h = (h ^ np.int64(points[i])) * _SPREAD
        h ^= h >> 32
    return h


@njit(int64(_OUT32, int64, int64), nogil=True, cache=True)
def _stop_bit(points: Any, first: Any, last: Any) -> Any:
    """The bit of the stop word that stands at first..last, in either letter case; 0 if none does."""
    if last - first > 3 or last - first < 1:
        return 0
    key = np.int64(0)
    for i in range(first, last + 1):
        letter = points[i] | 0x20
        if letter < 0x61 or letter > 0x7A:
            return 0
        key = key << 5 | (letter & 31)
    for k, stop in enumerate(_STOP_KEYS):
        if key == stop:
            return 1 << k
    return 0


@njit(int64(_OUT32, _OUT8, int64, _OUT64, _OUT32, int64, _OUT64), nogil=True, cache=True)
def _words(points: Any, classes: Any, n: Any, hashes: Any, lengths: Any, found: Any, counts: Any) -> Any:
    """Append the words of one document to `hashes` and `lengths` from position `found`; returns the new end."""
    stops = 0
    i = 0
    while i < n:
        c = classes[i]
        if c & SPACE:
            i += 1
            continue
        start = i
        if c & UNIT:
            i += 1
            while classes[i] & MARK:
                i += 1
            letter = c & LETTER
            counts[UNITS] += 1
        else:
            letter = 0
            number = 0
            first = -1
            last = -1
            while not c & (SPACE | UNIT):
                letter |= c & LETTER
                number |= c & NUMBER
                if c & (LETTER | NUMBER | MARK):
                    last = i
                    if first < 0:
                        first = i
                i += 1
                c = classes[i]
            if letter | number == 0:
                continue
            counts[SPACED_CHARACTERS] += i - start
            stops |= _stop_bit(points, first, last)
        hashes[found] = _hash(points, start, i)
        lengths[found] = i - start
        counts[ALPHABETIC] += letter > 0
        counts[WORDS] += 1
        found += 1
    while stops:
        counts[STOPS] += stops & 1
        stops >>= 1
    return found


@njit(void(_OUT32, _OUT8, int64, _OUT64), nogil=True, cache=True)
def _symbols(points: Any, classes: Any, n: Any, counts: Any) -> Any:
    """Count the runs of `#` and the ellipses: runs of dots that are three or more or hold an ellipsis character."""
    i = 0
    while i < n:
        if classes[i] & (LETTER | SPACE):
            i += 1
        elif points[i] == 0x23:
            counts[HASHES] += 1
            while points[i] == 0x23:
                i += 1
        elif classes[i] & DOT:
            start = i
            single = False
            while classes[i] & DOT:
                single |= points[i] == 0x2026 or points[i] == 0x22EF
                i += 1
            counts[ELLIPSES] += single or i - start >= 3
        else:
            counts[BRACES] += points[i] == 0x7B
            i += 1


@njit(void(_OUT32, _OUT8, int64, _OUT64), nogil=True, cache=True)
def _sentences(points: Any, classes: Any, n: Any, counts: Any) -> Any:
    """Count the runs of terminal punctuation that end a sentence, and the places that say "lorem ipsum".

    A run ends one before white space, the end or a unit (closing quotes and brackets aside), a full-width one always.
    """
    i = 0
    while i < n:
        if classes[i] & TERMINAL:
            while classes[i] & TERMINAL:
                i += 1
            after = i
            while points[after] in _CLOSING:
                after += 1
            counts[SENTENCES] += (classes[after] & (SPACE | UNIT)) > 0 or points[i - 1] >= 0x3000
        else:
            k = 0
            while k < len(_LOREM) and points[i + k] | 0x20 == _LOREM[k] and points[i + k] != 0:
                k += 1
            counts[LOREM_IPSUM] += k == len(_LOREM)
            i += 1


@njit(int64(_OUT32, int64, int64), nogil=True, cache=True)
def _scheme(points: Any, colon: Any, least: Any) -> Any:
    """Where "http" or "https" before a colon begins, not before `least`; -1 if none does."""
    last = colon - (points[max(colon - 1, 0)] | 0x20 == 0x73)
    if last - 4 < least:
        return -1
    h, t, u, p = points[last - 4] | 0x20, points[last - 3] | 0x20, points[last - 2] | 0x20, points[last - 1] | 0x20
    return last - 4 if h == 0x68 and t == 0x74 and u == 0x74 and p == 0x70 else -1


@njit(boolean(_OUT32, int64), nogil=True, cache=True)
def _www(points: Any, at: Any) -> Any:
    """Does "www" stand before that place?"""
    return points[at - 1] | 0x20 == 0x77 and points[at - 2] | 0x20 == 0x77 and points[at - 3] | 0x20 == 0x77


@njit(void(_OUT8, int64, _OUT64), nogil=True, cache=True)
def _kinds(classes: Any, n: Any, counts: Any) -> Any:
    """Count characters by their class."""
    spaces = letters = uppers = numbers = np.int64(0)
    for i in range(n):
        c = np.int64(classes[i])
        spaces += (c & SPACE) > 0
        letters += (c & LETTER) > 0
        uppers += c & (UPPER | LETTER) == UPPER | LETTER
        numbers += (c & NUMBER) > 0
    counts[WHITE_SPACE], counts[LETTERS], counts[UPPER_CASE], counts[NUMBERS] = spaces, letters, uppers, numbers


@njit(void(_OUT32, _OUT8, int64, _OUT64), nogil=True, cache=True)
def _urls(points: Any, classes: Any, n: Any, counts: Any) -> Any:
    """Characters from `http://`, `https://` or `www.` (in either letter case) to the next white space or unit."""
    end: Any = np.int64(0)
    for i in range(n):
        if points[i] & ~0x14 != 0x2A:  # neither . nor :
            continue
        start: Any = np.int64(-1)
        if points[i] == 0x3A and points[i + 1] == 0x2F:
            if i + 2 < n and points[i + 2] == 0x2F:
                start = _scheme(points, i, end)
        elif points[i] == 0x2E and i - 3 >= end and _www(points, i):
            start = i - 3
        if start >= 0:
            end = i
            while not classes[end] & (SPACE | UNIT):
                end += 1
            counts[URL_CHARACTERS] += end - start


@njit(void(_OUT32, _OUT8, int64, int64, _OUT64), nogil=True, cache=True)
def _line_ends(points: Any, classes: Any, first: Any, last: Any, counts: Any) -> Any:
    """Does the line first..last (white space stripped) begin with a bullet, how does it end, is it short?"""
    p = points[first]
    marker = p == 0x2A or p == 0x2B or p == 0x2D  # * + - mark an item only before white space
    if classes[first] & (BULLET | LETTER) == BULLET or (marker and first < last and classes[first + 1] & SPACE):
        counts[BULLET_LINES] += 1
    i = last
    single = False
    while i >= first and classes[i] & DOT:
        single |= points[i] == 0x2026 or points[i] == 0x22EF
        i -= 1
    counts[ELLIPSIS_LINES] += single or last - i >= 3
    i = last
    while i > first and points[i] in _CLOSING:
        i -= 1
    counts[TERMINAL_LINES] += (classes[i] & TERMINAL) > 0
    counts[SHORT_LINES] += last + 1 - first < SHORT


@njit(int64(_OUT32, _OUT8, int64, _OUT64, _OUT32, int64, _OUT64), nogil=True, cache=True)
def _lines(points: Any, classes: Any, n: Any, hashes: Any, lengths: Any, found: Any, counts: Any) -> Any:
    """Append the lines of one document, stripped of white space, blank ones in a row as one of length 0."""
    begin = found
    first = -1
    last = -1
    for i in range(n + 1):
        if not classes[i] & SPACE:
            last = i
            if first < 0:
                first = i
        elif points[i] == 10:
            if first < 0:
                if found > begin and lengths[found - 1] == 0:
                    continue
                hashes[found] = 0
                lengths[found] = 0
            else:
                hashes[found] = _hash(points, first, last + 1)
                lengths[found] = last + 1 - first
                counts[LINES] += 1
                counts[LONGEST_LINE] = max(counts[LONGEST_LINE], np.int64(last + 1 - first))
                _line_ends(points, classes, first, last, counts)
            found += 1
            first = -1
    return found


@njit(
    void(_I64, _U8, _U8, int64[:, ::1], _OUT64, _OUT32, _OUT64, _OUT64, _OUT32, _OUT64),
    nogil=True,
    cache=True,
)
def _scan(
    offsets: Any,
    data: Any,
    table: Any,
    counts: Any,
    word_hashes: Any,
    word_lengths: Any,
    word_ends: Any,
    line_hashes: Any,
    line_lengths: Any,
    line_ends: Any,
) -> Any:
    largest = np.int64(0)
    for d in range(len(offsets) - 1):
        largest = max(largest, offsets[d + 1] - offsets[d])
    points = np.empty(largest + 1, np.int32)
    classes = np.empty(largest + 1, np.uint8)
    words = np.int64(0)
    lines = np.int64(0)
    for d in range(len(offsets) - 1):
        n = _decode(data, offsets[d], offsets[d + 1], table, points, classes)
        counts[d, CHARACTERS] = n
        words = _words(points, classes, n, word_hashes, word_lengths, words, counts[d])
        _symbols(points, classes, n, counts[d])
        _sentences(points, classes, n, counts[d])
        _kinds(classes, n, counts[d])
        _urls(points, classes, n, counts[d])
        lines = _lines(points, classes, n, line_hashes, line_lengths, lines, counts[d])
        word_ends[d] = words
        line_ends[d] = lines


class Scan:
    """What one pass found in a block of documents.

    counts: int64 (documents, COLUMNS). words, lines: hash (int64) and length in code points (int32) of each, all
    documents in one row, and the end of each document in it (int64). Blank lines in a row are one line of length 0.
    """

    def __init__(self, offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> None:
        """`offsets` (documents + 1) into `data`, valid UTF-8: the buffers of an Arrow large_string array."""
        documents = len(offsets) - 1
        size = int(offsets[-1] - offsets[0])
        self.counts = np.zeros((documents, len(COLUMNS)), np.int64)
        words = size // 2 + documents  # a word takes a separator, or three bytes and more
        self.word_hashes, self.word_lengths = np.empty(words, np.int64), np.empty(words, np.int32)
        lines = size + documents
        self.line_hashes, self.line_lengths = np.empty(lines, np.int64), np.empty(lines, np.int32)
        self.word_ends, self.line_ends = np.empty(documents, np.int64), np.empty(documents, np.int64)
        words_out = (self.word_hashes, self.word_lengths, self.word_ends)
        lines_out = (self.line_hashes, self.line_lengths, self.line_ends)
        _scan(offsets, data, class_table(), self.counts, *words_out, *lines_out)
