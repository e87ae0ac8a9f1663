"""YAML as plain values, with the line on which every key and item stands; duplicate keys are errors."""

from __future__ import annotations

from typing import Any

import yaml

Place = tuple[str | int, ...]
MOST_VALUES = 100_000


class YamlError(Exception):
    """Text that is no YAML mapping, with the line (from 1) where it goes wrong."""

    def __init__(self, message: str, line: int, key: str = "") -> None:
        super().__init__(message)
        self.line, self.key = line, key


def load(text: str) -> tuple[Any, dict[Place, int]]:
    """The value of a YAML text and the line (from 1) of each key path in it. Only safe types are made."""
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        lines: dict[Place, int] = {}
        if node is None:
            return None, lines
        _mark(loader, node, (), lines)
        return loader.construct_document(node), lines
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        raise YamlError(getattr(error, "problem", None) or str(error).splitlines()[0], line) from error
    except RecursionError as error:
        raise YamlError("an alias refers to itself", 1) from error


def _mark(loader: yaml.SafeLoader, node: yaml.Node, at: Place, lines: dict[Place, int]) -> None:
    lines.setdefault(at, node.start_mark.line + 1)
    if len(lines) > MOST_VALUES:
        raise YamlError(f"more than {MOST_VALUES:,} values, aliases written out; no config needs that", 1)
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                raise YamlError(f"the key {name!r} stands here twice", key.start_mark.line + 1, name)
            seen.add(name)
            lines[(*at, name)] = key.start_mark.line + 1
            _mark(loader, value, (*at, name), lines)
    elif isinstance(node, yaml.SequenceNode):
        for i, item in enumerate(node.value):
            _mark(loader, item, (*at, i), lines)
    else:
        try:
            loader.construct_object(node)
        except ValueError as error:  # 2024-13-45
            key = ".".join(str(part) for part in at if not isinstance(part, int))
            raise YamlError(f"cannot be read ({error}): put it in quotes", node.start_mark.line + 1, key) from error
