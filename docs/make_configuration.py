"""Writes docs/configuration.md from the models themselves: `make docs`. A test holds the page to them."""

from __future__ import annotations

import types
import typing
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from pipeline.config import RunSettings
from pipeline.sources import Source
from stages.registry import STAGES, registry

PAGE = Path(__file__).parent / "configuration.md"
INTRODUCTION = """# Configuration

<!-- made by `make docs` from the models; edit those -->

One YAML file describes a run. Paths are relative to it. A wrong key, type or value stops before any work, with file,
line and the nearest valid name. `--set KEY=VALUE` changes a setting for one call: `--set gopher.min_words=30`,
`--set sources.essays-en.weight=2`, `--set tokenizer.vocab_size=8192`, `--set name=trial`.

```yaml
name: example
sources:
  - {name: essays-en, path: ../data/sample/inputs/essays-en.jsonl, license: CC0-1.0}
stages:                     # in order; the same stage twice: give the second one `as: NAME`
  - ingest: {}
  - license: {allow: [CC0-1.0]}
  - exact_dedup: {}
tokenizer:                  # without this key the run ends with the curated shards
  vocab_size: 4096
```

*Decides* marks settings that only the verdicts, the fit or the training read: changing one never measures a document
again. All others are part of the key of the measures.
"""


def page() -> str:
    """The whole page as Markdown."""
    parts = [INTRODUCTION]
    keys = [f for f in RunSettings.model_fields if f != "sources"]
    parts.append(_section("Top level", "", RunSettings, keys))
    parts.append("`sources` (required), `stages` (required) and `tokenizer` are described below.\n")
    parts.append(_section("sources", "A list; each entry declares one input.", Source))
    found = registry()
    for name in STAGES:
        stage = found.find(name)
        if stage.Params.model_fields:
            title = name if name in found.keyed else f"stages: {name}"
            parts.append(_section(title, _first_line(stage.__doc__), stage.Params))
    return "\n".join(parts)


def _section(title: str, text: str, model: type[BaseModel], names: list[str] | None = None) -> str:
    lines = [f"## {title}", ""]
    if text:
        lines += [text, ""]
    lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
    inner: list[type[BaseModel]] = []
    for name, field in model.model_fields.items():
        if names is None or name in names:
            lines.append(_row(name, field))
            inner += [m for m in _models(field.annotation) if m not in inner]
    lines.append("")
    for other in inner:
        lines.append(
            _section(f"{title} · {other.__name__}", _first_line(other.__doc__), other).replace("## ", "### ", 1)
        )
    return "\n".join(lines)


def _row(name: str, field: FieldInfo) -> str:
    extra = field.json_schema_extra
    decides = isinstance(extra, dict) and extra.get("phase") == "decide"
    meaning = (field.description or "").strip()
    if meaning and not meaning.endswith("."):
        meaning += "."
    if decides:
        meaning += " *Decides.*"
    cells = [f"`{name}`", _type(field.annotation), _default(field), meaning.strip()]
    return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "**required**"
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined or value is None:
        return "none"
    if isinstance(value, BaseModel):
        return "see below"
    if isinstance(value, tuple):
        value = list(value)
    text = str(value)
    return f"`{text}`" if len(text) <= 120 else f"`{text[:117]}…`"


def _type(annotation: Any) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return "path or glob" if any(type(a).__name__ == "FilePath" for a in arguments) else _type(arguments[0])
    if origin is typing.Literal:
        return " or ".join(f"`{a}`" for a in arguments)
    if origin in (typing.Union, types.UnionType):
        shown = [a for a in arguments if a is not type(None) and a != tuple[()]]  # the empty tuple: no list is given
        return " or ".join(dict.fromkeys(map(_type, shown)))
    if origin in (list, tuple, frozenset, set):
        return f"list of {_type(arguments[0])}"
    if origin is dict:
        return f"mapping of {_type(arguments[0])} to {_type(arguments[1])}"
    names = {str: "text", int: "integer", float: "number", bool: "true or false"}
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for a in typing.get_args(annotation) for m in _models(a)]


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n\n")[0].replace("\n", " ").strip()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    print(f"wrote {PAGE.name}")
