"""Balanced analysis of variance by a list of terms."""

from __future__ import annotations

import math

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.significance.models.anova_table import AnovaTable, made_table

FACTORS = ("Topic", "System", "Shard")
"""What the axes of scores are, in their order."""


def factorial(values: Floats, *terms: str) -> AnovaTable:
    """Analyse scores without gaps by terms such as `Topic` and `Topic:System`, the smaller first.

    An effect is the mean of a cell above the grand mean and the effects of the terms before it
    that lie within its own. So `Topic:Shard` without `Shard` is of shards nested in topics.
    """
    fitted = grand = np.asarray(values.mean()).reshape((1,) * values.ndim)
    effects: dict[str, Floats] = {}
    factors: dict[str, tuple[float, float]] = {}
    means: dict[str, Floats] = {}
    for term in terms:
        names = term.split(":")
        others = tuple(k for k in range(values.ndim) if FACTORS[k] not in names)
        of_cells = values.mean(axis=others, keepdims=True)
        within = [one for one in effects if set(one.split(":")) < set(names)]
        effect = of_cells - grand - sum(effects[one] for one in within)
        df = of_cells.size - 1.0 - sum(factors[one][1] for one in within)
        effects[term] = effect
        factors[term] = values.size / effect.size * float((effect**2).sum()), df
        fitted = fitted + effect
        if len(names) == 1:
            means[term] = of_cells.ravel()
    fitted = np.broadcast_to(fitted, values.shape)
    rest = values.size - 1.0 - math.fsum(df for _, df in factors.values())
    return made_table(
        f"score ~ {' + '.join(term.lower() for term in terms)}",
        factors,
        (float(((values - fitted) ** 2).sum()), rest),
        values=values,
        fitted=fitted,
        means=means,
    )
