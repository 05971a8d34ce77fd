"""What several tests use: labelled scores, and tables of refused calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from cranfield.scores import Scores


def scored(values: ArrayLike, **more: Any) -> Scores:
    """Label topics q0, q1, ... and systems s0, s1, ... of an array, which may have shards."""
    table = np.asarray(values, dtype=np.float64)
    topics, systems = table.shape[:2]
    return Scores(
        table, tuple(f"q{t}" for t in range(topics)), tuple(f"s{s}" for s in range(systems)), **more
    )


Refusals = dict[str, list[tuple[Callable[[], Any], str]]]
"""Calls that are refused, each with words of the message, by concept."""


def options(
    call: Callable[..., Any], *refused: tuple[dict[str, Any], str]
) -> list[tuple[Callable[[], Any], str]]:
    """Return a call with each of several options, with the words of its refusal."""
    return [(partial(call, **wrong), words) for wrong, words in refused]


def cases(refusals: Refusals) -> list[Any]:
    """Return the parameters of a test of refusals."""
    return [
        pytest.param(call, words, id=f"{concept}-{number}")
        for concept, calls in refusals.items()
        for number, (call, words) in enumerate(calls)
    ]
