"""Policies that a study hands on to judging: an unknown one is refused in the study's own name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from cranfield.base.errors import PolicyError, quoted


def check_policies(study: str, policies: Mapping[str, Any], judging: Callable[..., Any]) -> None:
    """Refuse policies that there are not, before anything is read.

    Parameters
    ----------
    study
        Name of the function that they were given to.
    policies
        As they were given, by name.
    judging
        The function that takes them, by keyword.

    Raises
    ------
    PolicyError
        For a name that is no keyword of that function.

    Examples
    --------
    >>> from cranfield.meta.of_collections.tracing import traced
    >>> check_policies("pools", {"tie": "docid"}, traced)
    Traceback (most recent call last):
    cranfield.PolicyError: pools has no option 'tie'; of judging: ties, topics, negative, ...
    """
    known = [
        name
        for name, one in inspect.signature(judging).parameters.items()
        if one.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    for name in policies:
        if name not in known:
            names = ", ".join(known)
            raise PolicyError(f"{study} has no option {quoted(name)}; of judging: {names}")
