"""Paths of files, and patterns that name several."""

from __future__ import annotations

from collections.abc import Callable
from glob import glob, has_magic
from pathlib import Path

_LONGEST = 4096
"""What is longer than any path would take minutes as a pattern."""


def matches(path: str) -> list[str] | None:
    """Files and folders that a pattern names, in order of name; None for what is no pattern.

    Examples
    --------
    >>> matches("runs/bm25.gz") is None, matches("no/such/*.gz")
    (True, [])
    """
    if len(path) > _LONGEST or not has_magic(path) or asks(Path.exists, path):
        return None
    # Path.glob takes no absolute pattern.
    return sorted(glob(path, recursive=True))  # noqa: PTH207


def asks(test: Callable[[Path], bool], path: str | Path) -> bool:
    """Ask about a path; what cannot even be a path, or be reached, is nothing."""
    try:
        return test(Path(path))
    except (OSError, ValueError):
        return False
