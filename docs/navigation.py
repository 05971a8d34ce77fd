"""Sections of the site's navigation, found by their title for the hooks that fill them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def section(nav: list[Any] | None, title: str) -> list[Any]:
    """Return the entries of a section, wherever it is, to be added to in place."""
    return next(entries for name, entries in sections(nav or []) if name == title)


def sections(nav: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yield all sections, each before those in it."""
    for entry in nav:
        for name, inside in entry.items() if isinstance(entry, dict) else ():
            if isinstance(inside, list):
                yield name, inside
                yield from sections(inside)
