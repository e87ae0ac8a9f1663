"""Where anything could be found: the compiled scan, told what these settings look for."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kernels.candidate_tables import ENCODED, KINDS, LITERAL, SECRET, Tables, tables
from stages.pii import addresses, credentials
from stages.pii.params import JOINER, PIIParams, placeholders

_BY_ENTITY: Final = {
    "email": ("email", "encoded"),
    "ip": ("ipv4", "ipv6"),
    "cn_id": ("cn_id",),
    "us_ssn": ("us_number",),
    "us_itin": ("us_number",),
    "card": ("card",),
    "iban": ("iban",),
    "national_id": ("national",),
    "secret": ("secret", "password"),
}
_BY_COUNTRY: Final = {"us": ("us_address", "box"), "cn": ("cn_house",)}


def candidates(text: str, params: PIIParams) -> dict[str, list[int]]:
    """Places of `text`, in code points, where a match of each kind (`kernels.candidates.KINDS`) can begin."""
    from kernels.candidates import candidates as scan

    found = scan(text.encode(), _tables(_tokens(params)), _wanted(params))
    return {KINDS[kind]: places for kind, places in found.items()}


def suspects(column: pa.ChunkedArray, params: PIIParams) -> npt.NDArray[np.bool_]:
    """Which values of a string column could hold an entity or text that looks like a special token.

    Of the others nothing changes, and they are never made into Python strings. NULL holds nothing.
    """
    from kernels.candidates import any_in

    if params.custom or {"person", "place"} & set(params.entities):
        return np.array(column.is_valid())
    found = [np.empty(0, np.bool_)]
    for chunk in column.chunks:
        array = chunk.cast(pa.large_string())
        _, offsets, data = array.buffers()
        if len(array) and data is not None:
            places = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
            found.append(any_in(places, np.frombuffer(data, np.uint8), _tables(_tokens(params)), _wanted(params)))
        else:
            found.append(np.zeros(len(array), np.bool_))
    return np.concatenate(found)


def _tokens(params: PIIParams) -> tuple[str, ...]:
    return (*placeholders(params), *params.special_tokens)


def _wanted(params: PIIParams) -> int:
    names = {"wide", "literal"}.union(*(_BY_ENTITY.get(entity, ()) for entity in params.entities))
    if "phone" in params.entities:
        names |= {"phone", "mobile"} if "CN" in params.phone_regions else {"phone"}
    if "address" in params.entities:
        names = names.union(*(_BY_COUNTRY[country] for country in params.addresses))
    return sum(1 << KINDS.index(name) for name in names)


@lru_cache(maxsize=16)
def _tables(tokens: tuple[str, ...]) -> Tables:
    literals = [(anchor, SECRET, free) for anchor, free in credentials.ANCHORS] + [("%40", ENCODED, False)]
    for token in tokens:
        literals += [(token[:2], LITERAL, False), (token[0] + JOINER, LITERAL, False)]
    return tables(literals, addresses.STREET_WORDS)
