"""After a fork: threads are not copied, and what waits for those of Polars waits for ever."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from cranfield.base.errors import ForkError

_TASKS = Path("/proc/self/task")

_FORKED: list[str] = []
"""Why nothing may be done here, where that is so."""


def check_fork() -> None:
    """Refuse to work in a process that was forked from one whose Polars had begun to work."""
    if _FORKED:
        raise ForkError(_FORKED[0])


def _threads_of_polars() -> bool:
    """Tell whether the threads of Polars have begun; where that cannot be seen, they have."""
    if "polars" not in sys.modules:
        return False
    try:
        return any((one / "comm").read_text().startswith("polars") for one in _TASKS.iterdir())
    except OSError:
        return True


_BEFORE: list[bool] = []


def _before() -> None:
    _BEFORE[:] = [_threads_of_polars()]


def _in_child() -> None:
    if _BEFORE and _BEFORE[0] and not _FORKED:
        _FORKED.append(
            "this process was forked from one that had used Polars, whose threads a fork does not"
            " copy: start processes by 'spawn' or 'forkserver', such as"
            " multiprocessing.get_context('spawn').Pool(), or fork before anything is evaluated"
        )


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_in_child)
