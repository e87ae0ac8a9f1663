"""What the Gopher family measures in a document: one function, one formula and one source each.

Sources: *Rae* is Rae et al. 2021, "Scaling Language Models: Methods, Analysis & Insights from Training Gopher",
appendix A1.1 and table A1; *CS336* is the data assignment of Stanford's course CS336; *C4* is Raffel et al. 2020,
"Exploring the Limits of Transfer Learning", section 2.2; *FineWeb* is Penedo et al. 2024, "The FineWeb Datasets",
section 3.6. Where they leave something open the choice is stated.

Characters are code points. A word, also in scripts that write no spaces, is what `kernels.words` says. A line ends at
U+000A; white space at its ends is not part of it, and without any content it is not a line at all. A paragraph is a run
of lines with no blank one between. A share of nothing is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stages.gopher import stop_words as lists

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

BLOCK_BYTES: Final = 1 << 20
"""Text measured at a time: the kernels' tables stay in the cache, and memory is bounded by the longest document."""

Counts = dict[str, Ints]
"""What the kernels counted, an integer for each document: `kernels.words.COLUMNS`, `kernels.repetition.COLUMNS`; and
`has_stop_words`: 1 where the document's language has a list of stop words, or is not known."""


def _share(part: Ints, whole: Ints) -> Floats:
    result = np.zeros(len(part), np.float64)
    np.divide(part, whole, out=result, where=whole > 0)
    return result


def characters(c: Counts) -> Ints:
    """Code points of the text."""
    return c["characters"]


def words(c: Counts) -> Ints:
    """Number of words. Rae: "between 50 and 100,000 words"."""
    return c["words"]


def unspaced_ratio(c: Counts) -> Floats:
    """Words of scripts without spaces / words. Above one half, the document takes the profile `unspaced`."""
    return _share(c["units"], words(c))


def mean_word_length(c: Counts) -> Floats:
    """Characters of words of spaced scripts / number of those words. Rae: "mean word length"; the mean, no median."""
    return _share(c["spaced_characters"], words(c) - c["units"])


def symbol_ratio(c: Counts) -> Floats:
    """Larger of the numbers of hashes and of ellipses / words. Rae: "for either the hash symbol or the ellipsis".

    A run of `#` is one hash; a run of dots that are three or more, or hold an ellipsis character, is one ellipsis.
    """
    return _share(np.maximum(c["hashes"], c["ellipses"]), words(c))


def total_symbol_ratio(c: Counts) -> Floats:
    """(Hashes + ellipses) / words, both as in `symbol_ratio`. CS336: "ratio of symbols to words"."""
    return _share(c["hashes"] + c["ellipses"], words(c))


def alpha_word_ratio(c: Counts) -> Floats:
    """Words with a letter / words. Rae: "80% of words in a document contain at least one alphabetic character"."""
    return _share(c["alphabetic"], words(c))


def stop_words(c: Counts) -> pa.Array:
    """How many stop words of its language occur. Rae: "contains at least two of the following English words: the, be,

    to, of, and, that, have, with". In other spaced languages those of the package stopwordsiso. Each counts once;
    letter case and punctuation around it do not matter. A document of unknown language counts as English. NULL where
    there is no list for its language.
    """
    return pa.array(c["stop_words"], pa.int64(), mask=c["has_stop_words"] == 0)


def lines(c: Counts) -> Ints:
    """Number of lines that are not blank."""
    return c["lines"]


def bullet_line_ratio(c: Counts) -> Floats:
    """Lines that begin with a bullet / lines. Rae: "90% of lines starting with a bullet point".

    A bullet is a bullet character, or `-`, `*` or `+` before white space.
    """
    return _share(c["bullet_lines"], lines(c))


def ellipsis_line_ratio(c: Counts) -> Floats:
    """Lines that end with an ellipsis (as in `symbol_ratio`) / lines. Rae: "30% ending with an ellipsis"."""
    return _share(c["ellipsis_lines"], lines(c))


def terminal_line_ratio(c: Counts) -> Floats:
    """Lines that end with terminal punctuation / lines. FineWeb: "fraction of lines ending with punctuation".

    Terminal is what Unicode calls Sentence_Terminal, and the ellipsis; closing quotes and brackets may follow it.
    """
    return _share(c["terminal_lines"], lines(c))


def short_line_ratio(c: Counts) -> Floats:
    """Lines of fewer than 30 characters / lines. FineWeb: "fraction of lines shorter than 30 characters"."""
    return _share(c["short_lines"], lines(c))


def sentences(c: Counts) -> Ints:
    """Number of sentence ends. C4: "pages with fewer than 3 sentences".

    An end is a run of terminal punctuation before white space, the end of the text or a word of an unspaced script
    (closing quotes and brackets aside), and any run that closes with a full-width character.
    """
    return c["sentences"]


def curly_brackets(c: Counts) -> Ints:
    """Number of `{`. C4: "removed any pages that contained a curly bracket"."""
    return c["curly_brackets"]


def lorem_ipsum(c: Counts) -> Ints:
    """How often "lorem ipsum" occurs, in either letter case. C4: 'any page where the phrase "lorem ipsum" appeared'."""
    return c["lorem_ipsum"]


def duplicate_line_ratio(c: Counts) -> Floats:
    """Lines that stood before in the document / lines. Rae, table A1: "duplicate line fraction"."""
    return _share(c["duplicate_lines"], lines(c))


def duplicate_line_character_ratio(c: Counts) -> Floats:
    """Characters of lines that stood before / characters. Rae, table A1: "duplicate line character fraction"."""
    return _share(c["duplicate_line_characters"], characters(c))


def paragraphs(c: Counts) -> Ints:
    """Number of paragraphs."""
    return c["paragraphs"]


def duplicate_paragraph_ratio(c: Counts) -> Floats:
    """Paragraphs that stood before in the document / paragraphs. Rae, table A1: "duplicate paragraph fraction"."""
    return _share(c["duplicate_paragraphs"], paragraphs(c))


def duplicate_paragraph_character_ratio(c: Counts) -> Floats:
    """Characters of the lines of paragraphs that stood before / characters. Rae, table A1."""
    return _share(c["duplicate_paragraph_characters"], characters(c))


def top_ngram_ratio(n: int) -> Callable[[Counts], Floats]:
    def ratio(c: Counts) -> Floats:
        """Characters of words under the most frequent n-gram, each once / characters of words. Rae, table A1.

        An n-gram that occurs once is no repetition; of equally frequent ones the one that covers most is taken.
        """
        return _share(c[f"top_{n}grams"], c["word_characters"])

    return ratio


def duplicate_ngram_ratio(n: int) -> Callable[[Counts], Floats]:
    def ratio(c: Counts) -> Floats:
        """Characters of words under n-grams that occur twice or more, each once / characters of words. Rae, table A1:

        "the fraction of characters contained within all duplicate n-grams, taking care not to count characters that
        occur in overlapping n-grams more than once". All occurrences count, the first as well.
        """
        return _share(c[f"duplicate_{n}grams"], c["word_characters"])

    return ratio


def top3_ngrams_ratio(n: int) -> Callable[[Counts], Floats]:
    def ratio(c: Counts) -> Floats:
        """Occurrences of the three most frequent n-grams / occurrences of all n-grams. CS336.

        An n-gram that occurs once does not count among the three.
        """
        return _share(c[f"top3_{n}grams"], np.maximum(words(c) - n + 1, 0))

    return ratio


def digit_ratio(c: Counts) -> Floats:
    """Numbers (Unicode category N) / characters. In no preset: for corpora where tables and logs are in the way."""
    return _share(c["numbers"], characters(c))


def upper_case_ratio(c: Counts) -> Floats:
    """Upper-case letters (category Lu) / letters. In no preset: for headlines, warnings and shouting."""
    return _share(c["upper_case"], c["letters"])


def url_ratio(c: Counts) -> Floats:
    """Characters of addresses / characters. In no preset: for lists of links.

    An address goes from `http://`, `https://` or `www.` to the next white space, or word of an unspaced script.
    """
    return _share(c["url_characters"], characters(c))


def white_space_ratio(c: Counts) -> Floats:
    """White space (Unicode White_Space) / characters. In no preset: for layouts made of blanks."""
    return _share(c["white_space"], characters(c))


def longest_line(c: Counts) -> Ints:
    """Characters of the longest line. In no preset: for minified code and data in one line."""
    return c["longest_line"]


MEASURES: Final[dict[str, Callable[[Counts], Ints | Floats | pa.Array]]] = {
    f.__name__: f
    for f in (
        *(characters, words, unspaced_ratio, mean_word_length, symbol_ratio, total_symbol_ratio),
        *(alpha_word_ratio, stop_words, lines, bullet_line_ratio, ellipsis_line_ratio),
        *(terminal_line_ratio, short_line_ratio, sentences, curly_brackets, lorem_ipsum),
        *(duplicate_line_ratio, duplicate_line_character_ratio),
        *(paragraphs, duplicate_paragraph_ratio, duplicate_paragraph_character_ratio),
        *(digit_ratio, upper_case_ratio, url_ratio, white_space_ratio, longest_line),
    )
}
MEASURES.update({f"top_{n}gram_ratio": top_ngram_ratio(n) for n in (2, 3, 4)})
MEASURES.update({f"duplicate_{n}gram_ratio": duplicate_ngram_ratio(n) for n in range(5, 11)})
MEASURES.update({f"top3_{n}grams_ratio": top3_ngrams_ratio(n) for n in (2, 3)})

INTEGERS: Final = frozenset(
    {
        *("characters", "words", "stop_words", "lines", "sentences", "curly_brackets", "lorem_ipsum", "paragraphs"),
        "longest_line",
    }
)

SCHEMA: Final = pa.schema(
    [
        pa.field(name, pa.int64() if name in INTEGERS else pa.float64(), nullable=name == "stop_words")
        for name in MEASURES
    ]
)


def measure_texts(texts: pa.ChunkedArray, langs: list[str | None]) -> pa.Table:
    """All measures (SCHEMA) of texts (large_string, no NULL), a row for each; `langs` holds their languages."""
    from kernels import repetition as r  # numba is loaded only where something is measured
    from kernels import words as w

    stop_word_column = w.COLUMNS.index("stop_words")
    blocks = [np.zeros((0, len(w.COLUMNS) + len(r.COLUMNS)), np.int64)]
    first = 0
    for offsets, data in _blocks(texts):
        scan = w.Scan(offsets, data)
        last = first + len(offsets) - 1
        listed = lists.count(offsets, data, langs[first:last])
        scan.counts[:, stop_word_column] = np.where(listed >= 0, listed, scan.counts[:, stop_word_column])
        blocks.append(np.hstack([scan.counts, r.count_repetition(scan)]))
        first = last
    counts: Counts = dict(zip((*w.COLUMNS, *r.COLUMNS), np.concatenate(blocks).T, strict=True))
    counts["has_stop_words"] = np.array([lists.has_list(lang) for lang in langs], np.int64)
    columns = [pa.array(MEASURES[f.name](counts), f.type) for f in SCHEMA]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _blocks(texts: pa.ChunkedArray) -> Iterator[tuple[Ints, npt.NDArray[np.uint8]]]:
    """Offsets and bytes of consecutive documents, about BLOCK_BYTES at a time, never less than one."""
    for chunk in texts.chunks:
        _, offset_buffer, data_buffer = chunk.buffers()
        if len(chunk) == 0:
            continue
        all_offsets = np.frombuffer(offset_buffer, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
        data = np.frombuffer(data_buffer or b"", np.uint8)
        first = 0
        while first < len(chunk):
            beyond = int(np.searchsorted(all_offsets, all_offsets[first] + BLOCK_BYTES, side="right"))
            last = min(max(beyond - 1, first + 1), len(chunk))
            yield all_offsets[first : last + 1], data
            first = last
