"""Pairs compared by a model of all systems."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Indices
from cranfield.significance.difference_by_error import p_of, ratio, spread, t_limits
from cranfield.significance.models.fitted_model import Model
from cranfield.significance.options import Options
from cranfield.significance.outcome import Outcome
from cranfield.significance.pairs import Pairs


def by_model(model: Model, pairs: Pairs, options: Options, *, paired: bool, **more: Any) -> Outcome:
    """Compare pairs by the model's t; `paired` if scores are of the same topics.

    The effect size of paired means is that of the pair alone, which does not depend on the other
    systems: the mean difference by the standard deviation of the differences.
    """
    difference = model.differences(pairs)
    error = model.standard_errors(pairs)
    t = ratio(difference, error)
    none = np.zeros(len(pairs), dtype=np.intp)
    effect = ratio(difference, np.sqrt(np.full(len(pairs), model.error)))
    if paired:
        n = np.full(len(pairs), pairs.topics)
        zeros, deviation = _of_differences(pairs)
        if model.of == "mean":
            effect = ratio(difference, deviation)
    else:
        scores = (~np.isnan(pairs.values)).sum(axis=0)
        n, zeros = scores[pairs.first] + scores[pairs.second], none
    return Outcome(
        statistic=t,
        pvalue=p_of(t, error, model.df, options.alternative),
        effect=effect,
        interval=partial(t_limits, difference, error, model.df),
        n=n,
        zeros=zeros,
        ties=none,
        model=model,
        **more,
    )


def _of_differences(pairs: Pairs) -> tuple[Indices, Floats]:
    """Return the number of zero differences and the standard deviation, by pair."""
    zeros, deviations = [], []
    for block in pairs.blocks():
        differences = block.differences()
        zeros.append((differences == 0).sum(axis=1))
        deviations.append(spread(differences, differences.mean(axis=1), block.rounding))
    return np.concatenate(zeros), np.concatenate(deviations)
