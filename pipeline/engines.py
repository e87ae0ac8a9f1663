"""Where tasks run: in this process for one worker, else in a pool of processes that a fork server starts."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import FrameType
from typing import Protocol

from pipeline.sources import UnreadableFileError
from pipeline.tasks import Sidecar, Task, execute


class TaskError(Exception):
    """A task that failed: which one, and what was raised there."""

    def __init__(self, task: str, message: str, details: str = "") -> None:
        super().__init__(task, message, details)
        self.task, self.message, self.details = task, message, details

    def __str__(self) -> str:
        return f"{self.task}: {self.message}"


class Engine(Protocol):
    """Runs tasks; results come as they finish, in any order."""

    def run(self, tasks: Sequence[Task], root: Path) -> Iterator[Sidecar]: ...

    def close(self) -> None: ...


class LocalEngine:
    """Processes on this machine. The pool starts with the first task, so a run that reuses everything starts none.

    preload: modules that the process which workers are forked from imports. before: called once, before the first task.
    """

    def __init__(self, workers: int, preload: Sequence[str] = (), before: Callable[[], None] = lambda: None) -> None:
        self.workers, self.preload, self.before = workers, list(preload), before
        self.pool: ProcessPoolExecutor | None = None

    def run(self, tasks: Sequence[Task], root: Path) -> Iterator[Sidecar]:
        self.before()
        self.before = lambda: None
        if self.workers == 1:
            for task in tasks:
                yield _guarded(task, root)
            return
        pool = self.pool or self._start()
        waiting = list(reversed(tasks))
        running: set[Future[Sidecar]] = set()
        try:
            while waiting or running:
                while waiting and len(running) < 2 * self.workers:
                    with _uninterrupted():  # a worker that is not yet known here could not be stopped
                        running.add(pool.submit(_guarded, waiting.pop(), root))
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BrokenProcessPool as error:
            self.close()
            raise TaskError(
                tasks[0].name.split("/")[0],
                "a worker process died (killed, or out of memory; or a script that calls curate.run "
                'without `if __name__ == "__main__":`)',
            ) from error

    def close(self) -> None:
        """Stop the workers at once; whatever they had not published does not exist."""
        if self.pool is not None:
            workers = list(self.pool._processes.values())
            for process in workers:
                process.terminate()
            for process in workers:
                process.join(timeout=5)
            self.pool.shutdown(wait=False, cancel_futures=True)
            self.pool = None

    def _start(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(self.preload)
        self.pool = ProcessPoolExecutor(self.workers, mp_context=context, initializer=_quiet)
        return self.pool


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C and a SIGTERM that the program handles take effect at the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    handlers = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in handlers.items():
        if callable(handler):
            signal.signal(number, lambda *what: came.append(what))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, handler)
    for what in came[:1]:
        handler = handlers[signal.Signals(what[0])]
        assert callable(handler)
        handler(*what)


def _quiet() -> None:
    """Ctrl-C is the parent's to handle; a worker whose parent is gone ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A killed parent takes its workers along: one that lived on could publish over its successor's results."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _guarded(task: Task, root: Path) -> Sidecar:
    try:
        return execute(task, root)
    except UnreadableFileError:
        raise
    except SystemError as error:  # compiled code wraps what a signal handler raised
        if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise TaskError(task.name, f"SystemError: {error}", traceback.format_exc()) from error
    except OSError as error:
        raise TaskError(task.name, f"{error}") from error
    except Exception as error:
        raise TaskError(task.name, f"{type(error).__name__}: {error}", traceback.format_exc()) from error
