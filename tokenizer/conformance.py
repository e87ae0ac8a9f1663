"""Texts on which an export must agree with our own encoder before it is published: the patterns' edge cases.

Only characters that Unicode had assigned by version 15 occur here: on younger ones a library with an older class table
may cut otherwise, which no export can mend.
"""

import itertools
from collections.abc import Iterator, Sequence

# One character or more of every class the patterns tell apart, and the strings that have rules of their own.
_CLASSES = (
    "a", "B", "ǅ", "ʰ", "日", "\u0301", "1", "²", " ", "\t", "\u3000", "\n", "\r\n", "!", "/", "'", "'s", "'LL", "😀",
)  # fmt: skip

_TEXTS = (
    "",
    " ",
    "  lead and trail  ",
    "x != y , z .",
    "a\r\n\r\nb\r",
    " \u3000\t",
    "︰ x² ﬁ １２",
    "é e\u0301",
    "👨\u200d👩\u200d👧🏽",
    "שָׁלוֹם مرحبا \u202bRTL\u202c",
    "می\u200cروم",
    "\x00\x1f\x7f\x85",
    "\ufeffbom",
    "中文，English混排",
    "I'm you're he's we'll they'd I've don't I'M YOU'RE HE'S WE'LL THEY'D I'VE 'ſ 'tis 'ɗ",
    "camelCase HTTPServer iPhone McDonald ABCdef ǅungla ΑΒγδ Ваше ÉCOLE été",
    "1 12 123 1234 12345678 3.14159 1,000,000 ١٢٣٤ ½¾ Ⅳ 10²³",
    "for (int i = 0; i < n; ++i) {\n\t\ta[i] += b[i]; // sum\n}\n\n\n",
    "https://example.org/a/b/?q=1&r=2#x\n//\n/ /\r\n",
    "नमस्ते दुनिया ที่นี่ ភាសាខ្មែរ မြန်မာ ລາວ தமிழ்",
    "\u2028\u2029\u00a0\u202f\u1680\u180e\u200b\u2003x\u2003\u2003y",
    "   \n   \n\n  x   \n ",
    "..." + "!" * 50 + "?" * 3 + "\n\n" + "-" * 70,
    "a" * 300 + " " * 300 + "^" * 300 + "\n" * 300 + "好" * 300,
    "".join(map(chr, range(0x250))),
)


def conformance_texts(specials: Sequence[str] = ()) -> Iterator[str]:
    """Edge cases, every string of three of the classes above, and texts around and across the special tokens."""
    yield from _TEXTS
    for parts in itertools.product(_CLASSES, repeat=3):
        yield "".join(parts)
    for special in specials:
        yield special
        yield f"a{special}b {special}\n{special}{special} "
        yield f"{special[:-1]} {special[1:]} {special[:1]}{special}{special[-1:]}"
    yield " ".join(specials)
    yield "".join(specials)
