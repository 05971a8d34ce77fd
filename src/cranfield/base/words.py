"""Words for numbers, as messages and representations use them."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Write a number with its noun.

    Examples
    --------
    >>> counted(1, "topic"), counted(2000, "run")
    ('1 topic', '2,000 runs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
