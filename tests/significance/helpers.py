"""What several tests use: labelled scores, and tables of refused calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

import cranfield as cf
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


GRID = """
    .3496 .4751 .5243 .2940 .2928 .3843 .4816 .5550 .5967 .3045 .4114 .4410
    .3705 .3800 .3845 .1893 .2485 .2046 .3365 .4926 .5967 .2848 .3366 .3600
    .6118 .6563 .6579 .3355 .4182 .4388 .7277 .7453 .8278 .5548 .5340 .6599
    .3104 .2468 .3160 .1900 .1257 .2293 .3002 .3589 .3652 .1954 .1999 .2202
"""
"""Scores on four topics: stop list (none, smart) by stemmer (none, porter) by three models."""

GRID_VALUES = np.array(GRID.split(), dtype=float).reshape(4, 12)


def covid(measure: str, runs: slice = slice(None)) -> Scores:
    """Return the scores of bundled runs by a measure."""
    bundled = cf.bundled.trec_covid()
    return cf.evaluate(bundled.runs[runs], bundled.qrels, measure)[measure]
