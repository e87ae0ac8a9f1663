"""The Python API: run a config, open a finished run, ask it in SQL."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kernels
from pipeline.config import RunConfig, load
from pipeline.engines import LocalEngine
from pipeline.execution import Policy
from pipeline.observe import Observer
from pipeline.runner import Outcome, read_run
from pipeline.runner import run as run_pipeline
from stages.registry import registry

if TYPE_CHECKING:
    import duckdb

PRELOAD = ("pipeline.steps", "pipeline.reading", "kernels.preload")


class Run:
    """A run folder: `sql` over its views, `report` as plain data, `computed` and `reused` of the call that made it."""

    def __init__(self, root: Path, outcome: Outcome | None = None) -> None:
        self.root = root
        self.computed: tuple[str, ...] = outcome.computed if outcome else ()
        self.reused: int = outcome.reused if outcome else 0
        self.provenance: str | None = outcome.provenance if outcome else None
        self._db: duckdb.DuckDBPyConnection | None = None

    def sql(self, query: str, parameters: Sequence[Any] | None = None) -> duckdb.DuckDBPyConnection:
        """Run a query over the views (see docs/architecture.md); fetch from what it returns."""
        if self._db is None:
            from report.views import connect

            self._db = connect(self.root)
        return self._db.cursor().execute(query, parameters)

    def report(self) -> dict[str, Any]:
        """The funnel and the tokenizer's summary as plain JSON values."""
        from report.funnel import funnel

        return funnel(self.root)

    def __repr__(self) -> str:
        return f"Run({str(self.root)!r})"


def run(
    config: str | Path,
    *,
    run_dir: str | Path | None = None,
    workers: int | None = None,
    until: str | None = None,
    limit: int | None = None,
    overrides: Sequence[str] = (),
    policy: Policy | None = None,
    allow_code: bool = False,
    observer: Observer | None = None,
) -> Run:
    """Execute a config; results that are there already are reused. `overrides` are `KEY=VALUE` texts, as for --set.

    Raises ConfigError for a config that cannot run, and what `pipeline.runner.run` raises.
    """
    checked = check(config, overrides, allow_code)
    root = folder_of(checked, run_dir, limit)
    outcome = start(checked, root, workers, policy or Policy(), observer or Observer(), until, limit)
    return Run(root, outcome)


def open(run_dir: str | Path) -> Run:
    """A finished (or interrupted) run. Raises NoRunError for a folder that holds none."""
    from report.views import manifests

    root = Path(run_dir)
    manifests(root)
    return Run(root)


def check(config: str | Path, overrides: Sequence[str] = (), allow_code: bool = False) -> RunConfig:
    """Read and check a config. Raises ConfigError."""
    path = Path(config)
    return load(path, registry(allow_code, path.resolve().parent), overrides)


def folder_of(config: RunConfig, run_dir: str | Path | None, limit: int | None) -> Path:
    """The run folder: as given, else `runs/<name>`; a trial gets one of its own."""
    if run_dir is not None:
        return Path(run_dir)
    return Path("runs") / (config.settings.name + (f"-limit-{limit}" if limit else ""))


def start(
    config: RunConfig,
    root: Path,
    workers: int | None,
    policy: Policy,
    observer: Observer,
    until: str | None,
    limit: int | None,
) -> Outcome:
    """Run a checked config with a local engine. `workers`: processes, by default one for each core."""
    names = [use.name for use in config.stages]
    if until is not None and until not in names:
        from pipeline.config import ConfigError

        raise ConfigError(config.file, None, "--until", f"no stage {until!r}; this config has: {', '.join(names)}")
    if (
        limit is not None
        and not policy.dry
        and (before := read_run(root)).get("stages")
        and before.get("limit") is None
    ):
        from pipeline.config import ConfigError

        advice = "leave out --run-dir (a trial gets a folder of its own), or name another folder"
        raise ConfigError(
            config.file, None, "--limit", f"{root} holds a whole run, which a trial would replace: {advice}"
        )
    for use in config.stages:
        for warning in use.stage.foretell(use.params)[1]:
            observer.note(f"{use.name}: {warning}")
    engine = LocalEngine(workers or os.cpu_count() or 1, PRELOAD, lambda: kernels.compile_all(observer.note))
    return run_pipeline(config, root, engine, policy, observer, until=until, limit=limit)
