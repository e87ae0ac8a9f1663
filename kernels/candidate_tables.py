"""What the scan for candidates looks for: kinds, properties of bytes, literal texts, street words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

KINDS: Final = (
    *("email", "ipv4", "ipv6", "cn_id", "us_number", "card", "iban", "mobile", "phone", "us_address", "cn_house"),
    *("national", "box", "password", "wide", "encoded", "secret", "literal"),
)
"""Kinds in the order of their numbers.

The place of a candidate is the first character of a match, but a colon for `ipv6`, the @ for `email`, the closing
号 or 室 for `cn_house`, the x for `box`, the colon of :// for `password`, a full-width digit or @ for `wide`, and for
the last three a character of their literal text.
"""
(EMAIL, IPV4, IPV6, CN_ID, US_NUMBER, CARD, IBAN, MOBILE, PHONE, US_ADDRESS, CN_HOUSE) = range(11)
(NATIONAL, BOX, PASSWORD, WIDE, ENCODED, SECRET, LITERAL) = range(11, 18)
ALL: Final = (1 << len(KINDS)) - 1

DIGIT, UPPER, LOWER, HEX, SCORE, HIGH, PHONE_SIGN, HOT = (1 << k for k in range(8))
ALNUM: Final = DIGIT | UPPER | LOWER
WORD: Final = ALNUM | SCORE

_PLAIN: Final = " etaoinsrhldcumfpgwybvkxjqz"  # from frequent to rare


class Tables(NamedTuple):
    """What a scan looks for besides shapes.

    classes: uint8 (256), properties of a byte. first: int64 (257), the literals triggered by a byte are
    first[b]:first[b + 1]. about: int64 (4 × literals): where its bytes begin, how many, which of them is the trigger,
    and its kind (plus 64 where no word character may stand before it). text: their bytes. streets: int64, the street
    words, packed.
    """

    classes: NDArray[np.uint8]
    first: NDArray[np.int64]
    about: NDArray[np.int64]
    text: NDArray[np.uint8]
    streets: NDArray[np.int64]


def tables(literals: Iterable[tuple[str, int, bool]], streets: Iterable[str]) -> Tables:
    """Tables for `literals` (text, kind, must it stand free of word characters before it) and street words a-z."""
    found = []
    for literal, kind, free in dict.fromkeys(literals):
        data = literal.encode()
        trigger = max(range(len(data)), key=lambda k: (_rarity(data[k]), -k))
        found.append((data[trigger], data, trigger, kind + 64 * free))
    found.sort()
    first, about, text = np.zeros(257, np.int64), [], b""
    for byte, data, trigger, kind in found:
        first[byte + 1 :] += 1
        about += [len(text), len(data), trigger, kind]
        text += data
    hot = {byte for byte, *_ in found} | set(b"@:xX+(0123456789\xe5\xe8\xef")
    classes = np.array([_class(byte) | HOT * (byte in hot) for byte in range(256)], np.uint8)
    return Tables(
        classes,
        first,
        np.array(about, np.int64),
        np.frombuffer(text, np.uint8),
        np.array(sorted({_packed(word) for word in streets}), np.int64),
    )


def _rarity(byte: int) -> int:
    return _PLAIN.find(chr(byte)) if chr(byte) in _PLAIN else len(_PLAIN) - (byte == 0x2D)


def _class(byte: int) -> int:
    c = chr(byte) if byte < 0x80 else ""
    kind = DIGIT * c.isdigit() | UPPER * c.isupper() | LOWER * c.islower() | SCORE * (c == "_") | HIGH * (not c)
    return kind | HEX * (c != "" and c in "0123456789abcdefABCDEF") | PHONE_SIGN * (c != "" and c in "0123456789 ()./-")


def _packed(word: str) -> int:
    key = 0
    for letter in word:
        key = key << 5 | (ord(letter) & 31)
    return key
