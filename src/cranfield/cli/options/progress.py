"""Bars that show how far a command has come, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

Progress = Callable[[int, int], None]

SHOW_PROGRESS_FROM = 4
"""Runs that are worth a bar."""


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
        yield lambda done, of: bar.update(task, completed=done, total=of)


def progress_of(runs: Sequence[Any]) -> AbstractContextManager[Progress | None]:
    enough = len(runs) >= SHOW_PROGRESS_FROM
    return progress_bar("judging", len(runs)) if enough else nullcontext()
