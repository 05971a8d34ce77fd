"""Bars that show how far a command has come, on a terminal, and how long it has worked."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Event, Thread
from typing import Any

Progress = Callable[[int, int], None]

SHOW_PROGRESS_FROM = 4
"""Runs that are worth a bar."""

SILENT = 2.0
"""Seconds after which a command says that it works."""

_BARS: list[str] = []
"""The bars that are shown, which say that, too."""


@contextmanager
def saying_that_it_works() -> Iterator[None]:
    """Tell on a terminal how long it takes, where no bar does; it is gone in the end."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    start, ended = time.monotonic(), Event()

    def say() -> None:
        wait, said = SILENT, ""
        while not ended.wait(wait):
            wait = 1.0
            if not _BARS:
                said = f"working, {time.monotonic() - start:.0f} s"
                sys.stderr.write(f"{said}\r")
                sys.stderr.flush()
        if said:
            sys.stderr.write(" " * len(said) + "\r")
            sys.stderr.flush()

    # An interpreter that ends does not wait for it.
    thread = Thread(target=say, daemon=True)

    def end() -> None:
        ended.set()
        thread.join(1.0)

    thread.start()
    with _before_writing(sys.stdout, end):
        try:
            yield
        finally:
            end()


@contextmanager
def _before_writing(stream: Any, then: Callable[[], None]) -> Iterator[None]:
    """Do something before a terminal is written to."""
    if stream is None or not stream.isatty():
        yield
        return
    plain = stream.write

    def write(text: str) -> int:
        then()
        return int(plain(text))

    stream.write = write
    try:
        yield
    finally:
        stream.write = plain


@contextmanager
def progress_bar(what: str, total: int | None = None) -> Iterator[Progress | None]:
    """Show a bar on a terminal, as long as it takes."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        _BARS.append(what)
        try:
            yield lambda done, of: bar.update(task, completed=done, total=of)
        finally:
            _BARS.remove(what)


def progress_of(runs: Sequence[Any]) -> AbstractContextManager[Progress | None]:
    enough = len(runs) >= SHOW_PROGRESS_FROM
    return progress_bar("judging", len(runs)) if enough else nullcontext()
