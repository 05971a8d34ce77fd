"""How far apart two grades are: what the disagreement of two assessors weighs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.checks import check_choice
from cranfield.base.errors import PolicyError


def _nominal(grades: Floats) -> Floats:
    return np.asarray(grades[..., :, None] != grades[..., None, :], dtype=np.float64)


def _linear(grades: Floats) -> Floats:
    return np.abs(grades[..., :, None] - grades[..., None, :])


def _quadratic(grades: Floats) -> Floats:
    return _linear(grades) ** 2


def _ratio(grades: Floats) -> Floats:
    if (grades < 0).any():
        raise PolicyError("ratios are of grades from 0; there are some below")
    sums = grades[..., :, None] + grades[..., None, :]
    return np.asarray((_linear(grades) / np.where(sums > 0, sums, 1)) ** 2)


LAWS: dict[str, Callable[[Floats], Floats]] = {
    "nominal": _nominal,
    "ordinal": _quadratic,
    "interval": _quadratic,
    "ratio": _ratio,
    "linear": _linear,
    "quadratic": _quadratic,
}
"""Distances by name; those of `ordinal` are of mean ranks, which depend on the labels."""


def distances(name: str, grades: Floats, frequencies: Floats | None = None) -> Floats:
    r"""Return the distance of each two grades, in ascending order; shape (..., grades, grades).

    `nominal`: 1 for two different grades. `linear`: :math:`|c - v|`. `quadratic`, or `interval`:
    :math:`(c - v)^2`. `ratio`: :math:`((c - v)/(c + v))^2`. `ordinal`, by the frequencies of the
    grades: :math:`(\sum_{g=c}^{v} n_g - (n_c + n_v)/2)^2`. Grades are scaled to a range of 1 first.
    Sources: Cohen (1968) for weights, Krippendorff (2011) for the levels.

    >>> distances("linear", np.array([0.0, 1.0, 2.0])).tolist()
    [[0.0, 0.5, 1.0], [0.5, 0.0, 0.5], [1.0, 0.5, 0.0]]
    >>> distances("ordinal", np.array([0.0, 1.0]), np.array([3.0, 1.0])).tolist()
    [[0.0, 4.0], [4.0, 0.0]]
    """
    check_choice("distance", name, LAWS)
    if name == "ordinal":
        if frequencies is None:
            raise PolicyError("ordinal distances are of grades and how often each occurs")
        # The labels from the middle of one grade to the middle of the other: their mean ranks.
        return _quadratic(np.cumsum(frequencies, axis=-1) - frequencies / 2)
    span = np.ptp(grades) if grades.size else 0.0
    return LAWS[name](grades / span if span > 0 else grades)
