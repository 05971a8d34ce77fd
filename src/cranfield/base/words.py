"""Words for numbers, as messages and representations use them."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def capitalised(line: str) -> str:
    return line[:1].upper() + line[1:]


def some_of(words: Iterable[str], most: int) -> str:
    """List the first few words, and say so when there are more.

    Examples
    --------
    >>> some_of(["a", "b", "c"], 2)
    'a, b, …'
    """
    listed = list(words)
    return ", ".join(listed[:most]) + (", …" if len(listed) > most else "")
