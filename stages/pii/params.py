"""What the PII editor may be told: which entities, what stands in their place, and what happens to a document."""

from __future__ import annotations

import difflib
import re
from typing import Final, Literal

from pydantic import Field, field_validator, model_validator

from pipeline.stage import Params
from tokenizer.expressions import checked

ENTITIES: Final[dict[str, str]] = {
    "email": "<|email|>",
    "phone": "<|phone|>",
    "ip": "<|ip|>",
    "card": "<|card|>",
    "iban": "<|iban|>",
    "us_ssn": "<|ssn|>",
    "us_itin": "<|itin|>",
    "cn_id": "<|cn_id|>",
    "address": "<|address|>",
    "secret": "<|secret|>",
    "national_id": "<|national_id|>",
}
"""Every entity with its default placeholder, in the order in which placeholders are declared to a tokenizer."""

JOINER: Final = "\u2060"
"""WORD JOINER: invisible, no white space, no line break; put behind the first character of a look-alike token."""

NAMES: Final[dict[str, str]] = {"person": "<|person|>", "place": "<|place|>"}
"""Entities that need an installed model, with their default placeholders; never on by themselves."""

_KNOWN: Final = ENTITIES | NAMES

Action = Literal["replace", "drop_document", "keep"]
Country = Literal["us", "cn"]

_PLACEHOLDER = re.compile(r"<\|[A-Za-z0-9_-]+\|>")


class Custom(Params):
    """A recogniser of one's own: an entity under a name of its own.

    `pattern` is an expression of the `regex` module, which knows all of Python's `re`; its group 1, if it has groups,
    is the entity, else the whole match.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,31}$", description="the entity's name: a-z, 0-9, _")
    pattern: str = Field(description="regular expression of the `regex` module; group 1 is the entity, if there is one")
    validator: Literal["luhn", "mod_97", "mod_11_2"] | None = Field(
        default=None, description="check digits over the letters and digits of the match"
    )
    context: tuple[str, ...] = Field(default=(), description="words; one must stand shortly before the match")
    placeholder: str | None = Field(default=None, description="default: <|name|>")

    @field_validator("pattern")
    @classmethod
    def _usable(cls, pattern: str) -> str:
        checked(pattern)
        return pattern


class PIIParams(Params):
    """Settings of the PII editor.

    `entities` and `special_tokens` are stored in one order, whatever order they are given in. `special_tokens` are the
    tokenizer's own declared specials (without the placeholders): text that looks like one of them is neutralised.
    """

    entities: tuple[str, ...] = Field(default=tuple(ENTITIES), description="what to look for")
    phone_regions: tuple[str, ...] = Field(
        default=("US", "CN"), description="ISO 3166 regions of numbers without a `+`"
    )
    ip: Literal["public", "all"] = Field(default="public", description="addresses of the public internet, or every one")
    addresses: tuple[Country, ...] = Field(default=("us", "cn"), description="countries of exact postal addresses")
    replace: dict[str, str] = Field(default={}, description="placeholder by entity, where the default is not wanted")
    actions: dict[str, Action] = Field(default={}, description="replace (default), drop_document, or keep (only count)")
    custom: tuple[Custom, ...] = Field(default=(), description="recognisers of one's own")
    names_model: str = Field(
        default="en_core_web_sm", description="installed spaCy model for the entities `person` and `place`"
    )
    max_per_document: int | None = Field(default=None, ge=0, description="more than this many entities drop a document")
    special_tokens: tuple[str, ...] = Field(default=(), description="the tokenizer's other declared specials")

    @field_validator("entities")
    @classmethod
    def _known_entities(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in _KNOWN:
                raise ValueError(f"{name!r} is no PII entity; {_nearest(name, tuple(_KNOWN))}")
        return tuple(name for name in _KNOWN if name in names)

    @field_validator("phone_regions")
    @classmethod
    def _known_regions(cls, regions: tuple[str, ...]) -> tuple[str, ...]:
        from phonenumbers import SUPPORTED_REGIONS

        for region in regions:
            if region not in SUPPORTED_REGIONS:
                known = tuple(sorted(SUPPORTED_REGIONS))
                near = difflib.get_close_matches(region.upper(), known, n=3, cutoff=0.3)
                hint = f"; the nearest are {', '.join(near)}" if near else ""
                raise ValueError(f"{region!r} is no phone region (two capital letters, as US or CN){hint}")
        return regions

    @field_validator("special_tokens")
    @classmethod
    def _breakable(cls, tokens: tuple[str, ...]) -> tuple[str, ...]:
        for token in tokens:
            if len(token) < 2 or JOINER in token:
                raise ValueError(
                    f"special token {token!r} cannot be told from ordinary text: it needs at least two characters"
                    " and no U+2060"
                )
        return tuple(sorted(set(tokens)))

    @model_validator(mode="after")
    def _coherent(self) -> PIIParams:
        names = [custom.name for custom in self.custom]
        for name in names:
            if name in _KNOWN or names.count(name) > 1:
                raise ValueError(f"custom: the name {name!r} is taken; each entity needs a name of its own")
        self._check_tokens()
        return self

    def _check_tokens(self) -> None:
        active = entities(self)
        for setting, names in (("replace", self.replace), ("actions", self.actions)):
            for name in names:
                if name not in active:
                    raise ValueError(f"{setting}: {name!r} is not an active entity; {_nearest(name, active)}")
        own = {custom.name: custom.placeholder for custom in self.custom if custom.placeholder is not None}
        for name, token in (own | self.replace).items():
            if not _PLACEHOLDER.fullmatch(token):
                raise ValueError(
                    f"replace: {name}: {token!r} is no placeholder; write <|name|> with letters, digits, _ or -"
                )
        for token in placeholders(self):
            if token in self.special_tokens:
                raise ValueError(
                    f"the placeholder {token} is also a special token of the tokenizer; rename one of them"
                    " (`replace:` renames a placeholder)"
                )


def entities(params: PIIParams) -> tuple[str, ...]:
    """Every active entity, custom ones last, in the order in which placeholders are declared."""
    return (*params.entities, *(custom.name for custom in params.custom))


def placeholder(params: PIIParams, entity: str) -> str:
    """The token that stands for an entity."""
    own = {custom.name: custom.placeholder or f"<|{custom.name}|>" for custom in params.custom}
    return params.replace.get(entity) or own.get(entity) or _KNOWN[entity]


def action(params: PIIParams, entity: str) -> Action:
    """What happens where an entity is found."""
    return params.actions.get(entity, "replace")


def placeholders(params: PIIParams) -> list[str]:
    """The tokens this editor can write, each once, in the order of `entities`: they join the declared specials."""
    written = (placeholder(params, e) for e in entities(params) if action(params, e) == "replace")
    return list(dict.fromkeys(written))


def _nearest(name: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}(active entities: {', '.join(known)})" if known else "no entity is active"
