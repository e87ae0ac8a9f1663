"""The command line. Facts go to stdout (with --json as JSON), progress and messages to stderr.

Exit codes: 0 done, 1 failed, 2 bad usage or config, 3 quarantine limit passed, 130 interrupted (resumable).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import click

import curate as package

FAILED, USAGE, QUARANTINED, INTERRUPTED = 1, 2, 3, 130


def fail(message: str, code: int = FAILED) -> NoReturn:
    """Say what went wrong on stderr and end with a code."""
    click.echo(f"curate: {message}", err=True)
    sys.exit(code)


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Turn the errors a user can meet into one line and an exit code; anything else is a fault of the program."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        from curate.errors import explain

        try:
            return command(*args, **kwargs)
        except (SystemExit, click.ClickException, click.exceptions.Exit):
            raise
        except KeyboardInterrupt:
            fail("interrupted; what was finished is kept, run the same command again to go on", INTERRUPTED)
        except BrokenPipeError:
            sys.exit(0)
        except Exception as error:
            found = explain(error)
            if found is None:
                raise
            fail(*found)

    return wrapped


class Lazy(click.Group):
    """Commands by name, each imported when it is called."""

    groups: ClassVar[dict[str, str]] = {
        "plan": "curate.commands_run", "run": "curate.commands_run", "status": "curate.commands_run",
        "clean": "curate.commands_run", "verify": "curate.commands_run",
        "report": "curate.commands_look", "sql": "curate.commands_look", "sample": "curate.commands_look",
        "trace": "curate.commands_look", "what-if": "curate.commands_what_if",
        "init": "curate.commands_init", "doctor": "curate.commands_doctor",
        "similar": "curate.commands_dedup", "index": "curate.commands_dedup",
        "tokenizer": "curate.commands_tokenizer",
    }  # fmt: skip

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.groups)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        import importlib

        if name not in self.groups:
            return None
        found: click.Command = getattr(importlib.import_module(self.groups[name]), name.replace("-", "_"))
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from difflib import get_close_matches

        if args and args[0] not in self.groups:
            close = get_close_matches(args[0], self.groups, n=1)
            ctx.fail(f"no command {args[0]!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
        return super().resolve_command(ctx, args)


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package.__version__, prog_name="curate")
def main() -> None:
    """Turn raw text into a clean corpus and a tokenizer, and show where every token came from."""


class RegularFile(click.Path):
    """A file that is there and ends: a pipe or a device is refused, since reading it may wait for ever."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.is_file():
            kind = "a named pipe" if path.is_fifo() else "a device or socket"
            self.fail(f"{click.format_filename(path)!r} is {kind}, no regular file; save what it gives to a file first")
        return path


def run_folder(function: Callable[..., Any]) -> Callable[..., Any]:
    """The argument RUN: a run folder."""
    return click.argument("root", metavar="RUN", type=click.Path(exists=True, file_okay=False, path_type=Path))(
        function
    )


def as_json(function: Callable[..., Any]) -> Callable[..., Any]:
    """The option --json."""
    return click.option("--json", "json_out", is_flag=True, help="Print JSON.")(function)
