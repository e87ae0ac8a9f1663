"""One YAML file describes a run. It is checked as a whole before any work: a wrong key, type or value stops it.

The engine names no stage: `load` is given a registry that knows which class a stage name stands for.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, Field, ValidationError

from pipeline import yaml_lines
from pipeline.inputs import MissingInputError, resolve, source_files
from pipeline.sources import Source, SourceStage
from pipeline.stage import Closing, Params, Stage, StageUse

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Registry:
    """Which stages there are. The engine knows none by itself."""

    find: Callable[[str], type[Stage]]  # raises KeyError for a name it does not know
    names: tuple[str, ...]  # all names, for messages
    always: tuple[str, ...] = ()  # closing steps that end every run
    keyed: tuple[str, ...] = ()  # closing steps that a top-level key of their name asks for


class ConfigError(Exception):
    """A config that cannot run: file, line, key, what is wrong, and what to write instead."""

    def __init__(self, file: str, line: int | None, key: str, message: str) -> None:
        place = f"{file}:{line}" if line else file
        super().__init__(f"{place}: {key}: {message}" if key else f"{place}: {message}")
        self.file, self.line, self.key, self.message = file, line, key, message


class RunSettings(Params):
    """The keys of a config that belong to the run as a whole."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="Name of the run; `runs/<name>` by default.")
    sources: tuple[Source, ...] = Field(min_length=1, description="Declared inputs, in order of priority.")
    max_quarantine_share: float = Field(
        0.05, ge=0, le=1, description="A run stops after ingest when more of a source's records than this are unusable."
    )
    memory: int = Field(
        2 << 30, ge=256 << 20, le=1 << 50, description="Bytes that a sort, join or fit may take (or 4GB, 500MB)."
    )


@dataclass(frozen=True)
class RunConfig:
    """A checked config: settings, the stages in order, closing steps last."""

    file: str
    base: Path  # folder that relative paths start from
    settings: RunSettings
    stages: tuple[StageUse, ...]

    def source_order(self) -> tuple[str, ...]:
        """Names of the sources, first in priority first: by `priority`, then as declared."""
        ranked = sorted(
            enumerate(self.settings.sources), key=lambda p: (p[1].priority is None, p[1].priority or 0, p[0])
        )
        return tuple(source.name for _, source in ranked)


def load(file: Path, registry: Registry, overrides: Sequence[str] = ()) -> RunConfig:
    """Read and check a config; `overrides` are `KEY=VALUE` texts. Raises ConfigError."""
    shown = str(file)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(shown, None, "", _unreadable(error)) from error
    try:
        data, lines = yaml_lines.load(text)
    except yaml_lines.YamlError as error:
        raise ConfigError(shown, error.line, error.key, f"{error}") from error
    if not isinstance(data, dict):
        raise ConfigError(shown, 1, "", "a config is a mapping with at least `name`, `sources` and `stages`")
    return _Check(shown, lines, registry).run(data, file.parent, overrides)


def _unreadable(error: OSError | UnicodeDecodeError) -> str:
    """Why a config cannot be read, and what to do."""
    match error:
        case FileNotFoundError():
            return "there is no such config; check the path, or write one with: curate init DIR"
        case IsADirectoryError():
            return "is a folder; give the config in it, such as its curate.yaml"
        case UnicodeDecodeError():
            return f"is no UTF-8 text (byte {error.start}); save it as UTF-8, or give the YAML file of the run"
    return f"cannot be read: {error.strerror or error}; give yourself access to it, or a copy"


def check_params(kind: type[M], value: Any, stage: str, registry: Registry, shown: str) -> M:
    """Settings of one stage, checked as a config's are; `shown` says where they come from. Raises ConfigError."""
    return _Check(shown, {}, registry).model(kind, value, (stage,))


def set_values(data: dict[str, Any], overrides: Sequence[str], shown: str, registry: Registry) -> None:
    """Apply `KEY=VALUE` texts to a config's plain data: `gopher.min_words=30`, `sources.essays.weight=2`, `name=x`."""
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ConfigError(shown, None, text, "write --set KEY=VALUE, for example --set gopher.min_words=30")
        try:
            _set(data, key.strip().split("."), yaml.safe_load(value), text, shown, registry)
        except yaml.YAMLError as error:
            said = getattr(error, "problem", None) or str(error).splitlines()[0]
            raise ConfigError(shown, None, text, f"the value is not YAML: {said}; put it in quotes") from error


def _set(data: dict[str, Any], path: list[str], value: Any, text: str, shown: str, registry: Registry) -> None:
    head, rest = path[0], path[1:]
    target: Any = None
    if head == "sources" and len(rest) >= 2:
        listed = data.get("sources") if isinstance(data.get("sources"), list) else []
        target = next((s for s in listed or [] if isinstance(s, dict) and s.get("name") == rest[0]), None)
        rest = rest[1:]
    elif rest and (head in registry.keyed or isinstance(data.get(head), dict)):
        target = data.setdefault(head, {})
    elif rest:
        for i, item in enumerate(data["stages"] if isinstance(data.get("stages"), list) else []):
            if not isinstance(item, str) and (not isinstance(item, dict) or len(item) != 1):
                continue  # said when the stages are read
            name, params = (item, {}) if isinstance(item, str) else next(iter(item.items()))
            if head in (name, _own_name(name, registry)) or (isinstance(params, dict) and params.get("as") == head):
                target = dict(params or {})
                data["stages"][i] = {name: target}
    else:
        data[head] = value
        return
    if target is None:
        raise ConfigError(shown, None, text, f"--set names no stage or source of this config: {head}")
    for part in rest[:-1]:
        target = target.setdefault(part, {})
        if not isinstance(target, dict):
            raise ConfigError(shown, None, text, f"{part} holds no settings")
    target[rest[-1]] = value


def _own_name(name: str, registry: Registry) -> str | None:
    """The name that a stage from a user's module gives itself."""
    try:
        return registry.find(name).name if ":" in name else None
    except KeyError:
        return None


class _Check:
    def __init__(self, shown: str, lines: dict[yaml_lines.Place, int], registry: Registry) -> None:
        self.shown, self.lines, self.registry = shown, lines, registry

    def run(self, data: dict[str, Any], base: Path, overrides: Sequence[str]) -> RunConfig:
        data = dict(data)
        data["stages"] = list(data["stages"]) if isinstance(data.get("stages"), list) else data.get("stages")
        set_values(data, overrides, self.shown, self.registry)
        if isinstance(data.get("memory"), str):
            data["memory"] = self.bytes_of(data["memory"])
        others = ("stages", *self.registry.keyed)
        own = {k: v for k, v in data.items() if k not in others}
        settings = self.model(RunSettings, own, (), extra=others)
        self.distinct_sources(settings)
        listed = self.stage_list(data, settings)
        linked = self.link(listed, settings.sources)
        self.inputs_exist(settings, listed, base)
        return RunConfig(self.shown, base, settings, linked)

    def inputs_exist(
        self, settings: RunSettings, uses: Sequence[tuple[StageUse, yaml_lines.Place]], base: Path
    ) -> None:
        """Every path of the config points to a file before any work begins."""
        at: yaml_lines.Place = ()
        try:
            for i, source in enumerate(settings.sources):
                at = ("sources", i, "path")
                source_files(source.path, base)
            for use, at in uses:  # noqa: B007 - `at` says where it failed
                resolve(use.params, base, lambda path: "")
        except MissingInputError as error:
            raise self.fail(at, str(error)) from error

    def fail(self, at: yaml_lines.Place, message: str, key: str | None = None) -> ConfigError:
        line = next((self.lines[at[:n]] for n in range(len(at), 0, -1) if at[:n] in self.lines), None)
        dotted = ".".join(str(p) for p in at if not isinstance(p, int)) if key is None else key
        return ConfigError(self.shown, line, dotted, message)

    def bytes_of(self, text: str) -> int:
        units = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
        number, unit = text.strip()[:-2], text.strip()[-2:].upper()
        try:
            return int(float(number) * units[unit])
        except (KeyError, ValueError, OverflowError):
            raise self.fail(("memory",), f"{text!r} is no size; write for example 4GB or 500MB") from None

    def model(self, kind: type[M], value: Any, at: yaml_lines.Place, extra: Sequence[str] = ()) -> M:
        if value is None:
            value = {}
        if not isinstance(value, Mapping):
            raise self.fail(at, f"needs settings (key: value), not {value!r}")
        for place, number in _whole_numbers(value):
            if abs(number) >= 1 << 63:
                raise self.fail((*at, *place), f"{number} is too large; no setting takes more than {(1 << 63) - 1}")
        try:
            return kind.model_validate(dict(value))
        except ValidationError as error:
            # a misspelt key is the reason for the missing one
            first = min(error.errors(include_url=False), key=lambda e: e["type"] != "extra_forbidden")
            raise self.explain(kind, first, at, value, extra) from error

    def explain(
        self, kind: type[BaseModel], error: Any, at: yaml_lines.Place, value: Any, extra: Sequence[str]
    ) -> ConfigError:
        place = (*at, *_keys_in(value, error["loc"]))
        if error["type"] == "extra_forbidden":
            key = str(place[-1])
            known = [*_fields_at(kind, place[len(at) : -1]), *extra]
            return self.fail(place, f"unknown key{_nearest(key, known)}")
        if error["type"] == "missing":
            return self.fail(place, "is required")
        message = str(error["msg"]).removeprefix("Value error, ").replace("valid tuple", "list, as [a, b]")
        given = error.get("input")
        if isinstance(given, bool) and "string" in message:
            message += f" (YAML reads an unquoted yes/no/on/off as {given}: put it in quotes)"
        elif given is not None and not isinstance(given, dict) and repr(given) not in message:
            message += f", got {given!r}"
        return self.fail(place, message[0].lower() + message[1:])

    def distinct_sources(self, settings: RunSettings) -> None:
        seen: set[str] = set()
        for i, source in enumerate(settings.sources):
            if source.name.casefold() in seen:
                raise self.fail(("sources", i, "name"), f"two sources are called {source.name!r}")
            seen.add(source.name.casefold())

    def stage_list(self, data: dict[str, Any], settings: RunSettings) -> list[tuple[StageUse, yaml_lines.Place]]:
        listed = data.get("stages")
        if not isinstance(listed, list) or not listed:
            raise self.fail(("stages",), "a list of stages is required, the first of them `ingest`", "stages")
        uses: list[tuple[StageUse, yaml_lines.Place]] = []
        for i, item in enumerate(listed):
            name, params = (item, {}) if isinstance(item, str) else self.single(item, i)
            uses.append((self.use(name, params, ("stages", i, name)), ("stages", i, name)))
        uses += [(self.use(name, {}, ("stages",)), ("stages",)) for name in self.registry.always]
        for name in self.registry.keyed:
            if data.get(name) is not None:
                uses.append((self.use(name, data[name], (name,)), (name,)))
        self.check_order(uses)
        return uses

    def single(self, item: Any, i: int) -> tuple[str, Any]:
        if not isinstance(item, dict) or len(item) != 1:
            raise self.fail(("stages", i), f"each stage is `- name: {{settings}}`, not {item!r}", "stages")
        name, params = next(iter(item.items()))
        return str(name), params

    def use(self, name: str, params: Any, at: yaml_lines.Place) -> StageUse:
        try:
            stage = self.registry.find(name)
        except KeyError as error:
            if ":" in name:
                raise self.fail(at, str(error.args[0]), "stages") from error
            raise self.fail(at, f"unknown stage{_nearest(name, self.registry.names)}", name) from error
        alias = name if ":" not in name else stage.name
        if isinstance(params, Mapping) and "as" in params:
            params = dict(params)
            alias = params.pop("as")
            if not isinstance(alias, str) or not alias.replace("_", "").replace("-", "").isalnum():
                raise self.fail((*at, "as"), f"{alias!r} is no name; use letters, digits, - and _")
        return StageUse(alias, stage, self.model(stage.Params, params, at))

    def check_order(self, uses: Sequence[tuple[StageUse, yaml_lines.Place]]) -> None:
        seen: set[str] = set()
        kinds: set[str] = set()
        for i, (use, at) in enumerate(uses):
            if issubclass(use.stage, SourceStage) != (i == 0):
                raise self.fail(
                    at, "the first stage, and no other, reads the sources: begin with `- ingest: {}`", use.name
                )
            if issubclass(use.stage, Closing) and at[0] == "stages" and len(at) > 1:
                raise self.fail(at, "is added at the end by itself; take it out of `stages`", use.name)
            if use.name != use.stage.name and use.name.casefold() in (*self.registry.always, *self.registry.keyed):
                raise self.fail(at, "is the name of a closing step; choose another with `as: NAME`", use.name)
            if use.name.casefold() in seen:
                raise self.fail(at, "stands twice; give the second one a name of its own with `as: NAME`", use.name)
            for other in use.stage.requires:
                if other not in kinds:
                    raise self.fail(at, f"needs the stage {other!r} before it", use.name)
            seen.add(use.name.casefold())  # views and some file systems know no letter case
            kinds.add(use.stage.name)

    def link(
        self, uses: Sequence[tuple[StageUse, yaml_lines.Place]], sources: Sequence[Source]
    ) -> tuple[StageUse, ...]:
        """Let each stage see the others' settings: the tokenizer takes over the placeholders, for example."""
        plain = [use for use, _ in uses]
        linked = []
        for use, at in uses:
            try:
                params = use.stage.link(use.params, plain, sources)
            except ValueError as error:
                raise self.fail(at, str(error), use.name) from error
            linked.append(StageUse(use.name, use.stage, params))
        return tuple(linked)


def _whole_numbers(value: Any, place: yaml_lines.Place = ()) -> Iterator[tuple[yaml_lines.Place, int]]:
    """The whole numbers of a part of the config, each with its place in it."""
    if isinstance(value, int):
        yield place, value
    elif isinstance(value, (Mapping, list)):
        inner = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, part in inner:
            yield from _whole_numbers(part, (*place, key))


def _keys_in(value: Any, place: Sequence[str | int]) -> list[str | int]:
    """The keys of a place that the config itself has, a missing last one included: pydantic names its types there."""
    kept: list[str | int] = []
    for i, part in enumerate(place):
        inside = (isinstance(value, Mapping) and part in value) or (isinstance(value, list) and isinstance(part, int))
        if inside:
            value = value[part]
        elif i < len(place) - 1 or not isinstance(value, Mapping):
            continue
        kept.append(part)
    return kept


def _fields_at(kind: type[BaseModel], path: Sequence[Any]) -> list[str]:
    """Field names of the (possibly nested) model at a path."""
    for part in path:
        if isinstance(part, int):
            continue
        annotation = kind.model_fields[part].annotation if part in kind.model_fields else None
        inner = [t for t in _types_in(annotation) if isinstance(t, type) and issubclass(t, BaseModel)]
        if not inner:
            return []
        kind = inner[0]
    return list(kind.model_fields)


def _types_in(annotation: Any) -> list[Any]:
    found = [annotation]
    for argument in getattr(annotation, "__args__", ()):
        found += _types_in(argument)
    return found


def _nearest(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known here: {', '.join(sorted(known))}" if known else ""
