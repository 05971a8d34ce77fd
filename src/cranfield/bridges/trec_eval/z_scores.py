"""Scores as standard deviations above the mean that systems have for a topic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import quoted
from cranfield.sources.schemas import Column, Lines, Schema
from cranfield.sources.tables import read_table
from cranfield.sources.values import ID, NUMBER

_NO_Z = -1_000_000.0
"""The Z score of what the file of means has no line for."""

_MEANS = Schema(
    "table of means",
    (
        Column("topic", ID),
        Column("measure", ID),
        Column("mean", NUMBER),
        Column("deviation", NUMBER, called="standard deviation"),
    ),
    formats=frozenset(),
    lines=Lines(("topic", "measure", "mean", "deviation"), 4),
)


def as_z(
    values: Floats,
    name: str,
    topics: list[str],
    known: Mapping[tuple[str, str], tuple[float, float]],
) -> Floats:
    """Return how many standard deviations values are above the means of their topics."""
    pairs = [known.get((topic, name), (math.nan, math.nan)) for topic in topics]
    mean, deviation = np.array(pairs).reshape(-1, 2).T
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where((deviation == 0) & (values == mean), 0.0, (values - mean) / deviation)
    return np.where(np.isfinite(z), z, _NO_Z)


def read_z_scores(path: Any) -> dict[tuple[str, str], tuple[float, float]]:
    """Read a file of means: topic, measure, mean and standard deviation a line.

    Raises
    ------
    InputError
        A line has not four columns or no numbers in them, or a mean stands twice; with its place.
    """
    table = read_table(path, _MEANS)
    twice = table.frame.select("topic", "measure").is_duplicated()
    table.refuse(twice, lambda row: f"measure {quoted(row['measure'])} stands twice")
    return {(topic, name): (mean, deviation) for topic, name, mean, deviation in table.rows()}
