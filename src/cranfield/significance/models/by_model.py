"""Pairs compared by a model of all systems."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from cranfield.significance.difference_by_error import p_of, ratio, t_limits
from cranfield.significance.models.fitted_model import Model
from cranfield.significance.options import Options
from cranfield.significance.outcome import Outcome
from cranfield.significance.pairs import Pairs


def by_model(model: Model, pairs: Pairs, options: Options, *, paired: bool, **more: Any) -> Outcome:
    """Compare pairs by the model's t; `paired` if it knows that scores are of the same topics."""
    difference = model.differences(pairs)
    error = model.standard_errors(pairs)
    t = ratio(difference, error)
    none = np.zeros(len(pairs), dtype=np.intp)
    if paired:
        n = np.full(len(pairs), pairs.topics)
        zeros = np.concatenate([(d.differences() == 0).sum(axis=1) for d in pairs.blocks()])
    else:
        scores = (~np.isnan(pairs.values)).sum(axis=0)
        n, zeros = scores[pairs.first] + scores[pairs.second], none
    return Outcome(
        statistic=t,
        pvalue=p_of(t, error, model.df, options.alternative),
        effect=ratio(difference, np.sqrt(np.full(len(pairs), model.error))),
        interval=partial(t_limits, difference, error, model.df),
        n=n,
        zeros=zeros,
        ties=none,
        model=model,
        **more,
    )
