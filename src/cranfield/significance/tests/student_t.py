"""Student's t-test, paired and not, and Welch's."""

from __future__ import annotations

from functools import partial

import numpy as np

from cranfield.significance.difference_by_error import p_of, ratio, spread, t_limits
from cranfield.significance.options import Options
from cranfield.significance.outcome import Outcome, joined
from cranfield.significance.pairs import ROUNDING, Pairs


def t_test(pairs: Pairs, options: Options) -> Outcome:
    return joined([_paired(block, options) for block in pairs.blocks()])


def _paired(pairs: Pairs, options: Options) -> Outcome:
    differences = pairs.differences()
    n = pairs.topics
    mean = differences.mean(axis=1)
    deviation = spread(differences, mean, pairs.rounding)
    error = deviation / np.sqrt(n)
    t = ratio(mean, error)
    zeros = (differences == 0).sum(axis=1)
    return Outcome(
        statistic=t,
        pvalue=p_of(t, error, n - 1, options.alternative),
        effect=ratio(mean, deviation),
        interval=partial(t_limits, mean, error, n - 1),
        n=np.full(len(pairs), n),
        zeros=zeros,
        ties=np.zeros_like(zeros),
        details={"df": float(n - 1)},
    )


def unpaired_t_test(pairs: Pairs, options: Options) -> Outcome:
    return _unpaired(pairs, options, pooled=True)


def welch_test(pairs: Pairs, options: Options) -> Outcome:
    return _unpaired(pairs, options, pooled=False)


def _unpaired(pairs: Pairs, options: Options, *, pooled: bool) -> Outcome:
    count = (~np.isnan(pairs.values)).sum(axis=0)
    mean = np.nanmean(pairs.values, axis=0)
    centred = pairs.values - mean
    largest = np.nanmax(np.abs(pairs.values), axis=0)
    constant = np.nanmax(np.abs(centred), axis=0) <= ROUNDING * largest
    squares = np.where(constant, 0.0, np.nansum(centred**2, axis=0))
    i, j = pairs.first, pairs.second
    n, m = count[i], count[j]
    difference = pairs.differences_of(mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = squares / (count - 1)
        if pooled:
            df = n + m - 2.0
            common = (squares[i] + squares[j]) / df
            error = np.sqrt(common * (1 / n + 1 / m))
        else:
            a, b = variance[i] / n, variance[j] / m
            # By shares, as the squares of variances may be too large or too small for a float.
            share = a / (a + b)
            df = np.nan_to_num(1 / (share**2 / (n - 1) + (1 - share) ** 2 / (m - 1)), nan=1.0)
            common = (variance[i] + variance[j]) / 2
            error = np.sqrt(a + b)
    t = ratio(difference, error)
    none = np.zeros_like(n)
    return Outcome(
        statistic=t,
        pvalue=p_of(t, error, df, options.alternative),
        effect=ratio(difference, np.sqrt(common)),
        interval=partial(t_limits, difference, error, df),
        n=n + m,
        zeros=none,
        ties=none,
        details={"df": df},
    )
