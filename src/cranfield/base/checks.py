"""Checks of options that many parts share."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.errors import PolicyError


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Refuse what is no whole number within limits.

    Parameters
    ----------
    name
        What the number is, for the message.
    value
        The number.
    least, most
        Its limits, both allowed.

    Raises
    ------
    PolicyError
        For anything else; True and False are no numbers.

    Examples
    --------
    >>> check_whole("repeats", 10, 1)
    >>> check_whole("repeats", 0, 1)
    Traceback (most recent call last):
        ...
    cranfield.PolicyError: repeats must be a whole number from 1, not 0
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        limits = f"from {least}" if most is None else f"from {least} to {most:,}"
        raise PolicyError(f"{name} must be a whole number {limits}, not {value!r}")
