"""Coefficients of agreement between all pairs of several orders of the same systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError, quoted
from cranfield.correlation import tau_ap
from cranfield.correlation.overlap import overlap
from cranfield.correlation.rbo import check, places_of_scores

METHODS = {
    "tau": "Kendall's tau-b",
    "tau-a": "Kendall's tau-a",
    "tau-ap": "Symmetric tau AP",
    "rbo": "Rank-biased overlap",
    "pearson": "Pearson's correlation",
    "spearman": "Spearman's rho",
}
"""The coefficients, and what they are called."""


@dataclass(frozen=True, eq=False)
class Ordered:
    """Values of systems by several measures, and as whole numbers from 0 the order they make.

    Shape (measures, systems); levels are equal for values that are tied.
    """

    values: Floats
    levels: Floats


def ordered(values: Floats, compared: Floats, gap: Floats) -> Ordered:
    """Order systems by what is compared in place of the values; shapes (measures, systems).

    Neighbours in order that are no further apart than `gap`, shape (measures,), are tied.
    """
    by_value = np.argsort(compared, axis=1, kind="stable")
    steps = np.diff(np.take_along_axis(compared, by_value, axis=1), axis=1) > gap[:, None]
    levels = np.zeros(values.shape)
    climbed = np.concatenate([np.zeros((len(values), 1)), np.cumsum(steps, axis=1)], axis=1)
    np.put_along_axis(levels, by_value, climbed, axis=1)
    return Ordered(values, levels)


def options_of(method: str, ties: str, p: Any) -> dict[str, Any]:
    """Return the options that a method has, checked."""
    if method == "rbo":
        return {"ties": ties, "p": check(p, ties)}
    if method == "tau-ap":
        if ties not in {"a", "b"}:
            raise PolicyError(f"ties {quoted(ties)} of tau-ap is none of a, b")
        return {"ties": ties}
    return {}


def agreement(orders: Ordered, method: str, options: Mapping[str, Any]) -> Floats:
    """Return a coefficient for each pair of measures, shape (measures, measures)."""
    if method in {"tau", "tau-a"}:
        return _tau(orders.levels, method)
    if method == "tau-ap":
        return _symmetric(orders, lambda a, b: tau_ap(a, b, symmetric=True, **options))
    if method == "rbo":
        places = [places_of_scores(levels) for levels in orders.levels]
        pairs = combinations_with_replacement(places, 2)
        found = [overlap(a, b, options["p"], options["ties"])[0] for a, b in pairs]
        return _symmetric(orders, lambda a, b: np.array(found))
    if method == "spearman":
        from scipy.stats import rankdata

        return _pearson(rankdata(orders.levels, axis=1), orders.levels)
    return _pearson(orders.values, orders.levels)


def _symmetric(orders: Ordered, coefficient: Any) -> Floats:
    """Fill a matrix from its upper half, in order of rows."""
    measures = len(orders.levels)
    one, other = np.triu_indices(measures)
    out = np.empty((measures, measures))
    out[one, other] = coefficient(orders.levels[one], orders.levels[other])
    out[other, one] = out[one, other]
    return out


def _tau(levels: Floats, method: str) -> Floats:
    """Kendall's tau of all pairs of measures: one product of the signs of all pairs of systems."""
    first, second = np.triu_indices(levels.shape[1], 1)
    signs = np.sign(levels[:, first] - levels[:, second])
    agree = signs @ signs.T
    if method == "tau-a":
        return np.asarray(agree / first.size)
    untied = np.diag(agree)
    with np.errstate(invalid="ignore"):
        return np.asarray(agree / np.sqrt(untied[:, None] * untied))


def _pearson(values: Floats, levels: Floats) -> Floats:
    """Pearson's correlation; none where all values are tied, whatever rounding left of them."""
    with np.errstate(invalid="ignore", divide="ignore"):
        # So scaled, squares neither vanish nor overflow.
        scaled = values / np.abs(values).max(axis=1, keepdims=True)
        scaled = scaled - scaled.mean(axis=1, keepdims=True)
        unit = scaled / np.sqrt((scaled**2).sum(axis=1, keepdims=True))
        found = np.clip(unit @ unit.T, -1.0, 1.0)
    constant = (levels == levels[:, :1]).all(axis=1)
    return np.where(constant | constant[:, None], np.nan, found)
