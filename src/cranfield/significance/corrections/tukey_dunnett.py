"""Tukey's and Dunnett's tests: all pairs of a model's systems, or several against one baseline."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
from scipy.special import ndtr

from cranfield.base.arrays import Floats, row_slices
from cranfield.base.errors import PolicyError
from cranfield.significance.corrections.studentised import (
    FAR,
    REACH,
    STEP,
    Studentised,
    any_of,
    studentised_range_isf,
    studentised_range_sf,
)
from cranfield.significance.difference_by_error import away, ratio, t_pvalue, t_quantile
from cranfield.significance.models.fitted_model import Model
from cranfield.significance.options import Options
from cranfield.significance.outcome import (
    ALL_COMPARISONS,
    TOGETHER,
    Corrected,
    Level,
    Limits,
    Outcome,
)
from cranfield.significance.pairs import Pairs


def dunnett(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    """Compare systems with a baseline, the second of each pair (Dunnett, 1955).

    The statistics of two systems have a correlation of 1/2 by the baseline that they share; p is
    the tail of the largest of them.
    """
    model, alternative = outcome.of_model, options.alternative
    if not model.balanced:
        raise PolicyError("Dunnett's test needs as many scores for each system; take holm instead")
    difference = model.differences(pairs)
    if model.error:
        t = difference / model.standard_errors(pairs)
    else:
        t = np.where(difference == 0, 0.0, np.copysign(np.inf, difference))
    if len(pairs) == 1:
        pvalue = t_pvalue(t, model.df, alternative)
    else:
        far = away(t, alternative)
        pvalue = maximum_sf(far, len(pairs), model.df, two_sided=options.two_sided)
        pvalue = pvalue if model.error else np.where(t == 0, 1.0, pvalue)
    limits = partial(dunnett_limits, model, pairs, options.two_sided)
    return Corrected(pvalue, statistic=t, interval=limits, holds_for=ALL_COMPARISONS)


def dunnett_limits(model: Model, pairs: Pairs, two_sided: bool, level: Level) -> Limits:
    """Return simultaneous limits of the differences from the baseline.

    For a one-sided test each limit holds on its own, with half of what two limits leave out.
    """
    if len(pairs) == 1:
        return model.limits(pairs, t_quantile(level, model.df))
    beyond = 1 - level if two_sided else (1 - level) / 2
    return model.limits(pairs, _maximum(len(pairs), two_sided, model.df).isf(beyond))


@lru_cache(maxsize=64)
def _maximum(comparisons: int, two_sided: bool, df: float) -> Studentised:
    """Return the distribution of the largest t; what was computed of it is kept."""
    return Studentised(partial(_tail, comparisons=comparisons, two_sided=two_sided), df)


def maximum_sf(t: Floats, comparisons: int, df: float, *, two_sided: bool) -> Floats:
    """Return P(largest of the t of 2 or more systems with one baseline >= t).

    Two-sided, absolute values count; else t may be negative. The degrees of freedom of the error
    may be infinite.
    """
    out = _maximum(comparisons, two_sided, df).sf(t)
    if not two_sided:
        low = np.flatnonzero(t <= 0)
        if low.size:
            # For negative values the tail is no longer close to a normal one: integrate over S.
            out[low] = 1 - _below(t[low], comparisons, df)
    return out


def _tail(w: Floats, comparisons: int, two_sided: bool) -> Floats:
    """Return the same with known variance; the integral is over the baseline's variable."""
    spread = np.sqrt(2) * np.minimum(w, FAR)[:, None]
    z = np.arange(-REACH - spread.max(initial=0.0), REACH + STEP, STEP)
    weights = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * STEP
    out = np.empty(spread.shape[0])
    for part in row_slices(out.size, z.size, 2**18):
        beyond = ndtr(-z - spread[part])
        if two_sided:
            beyond = beyond + ndtr(z - spread[part])
        out[part] = any_of(comparisons, beyond) @ weights
    return np.minimum(out, 1.0)


def _below(t: Floats, comparisons: int, df: float) -> Floats:
    """Return P(largest < t) for t up to 0, by symmetry a small number."""
    if np.isinf(df):
        return 1 - _tail(t, comparisons, two_sided=False)
    x = np.linspace(-1, 1, 201) * 9 / np.sqrt(2 * df) if df > 20 else np.linspace(-8, 2, 801)
    s = np.exp(x)
    log_density = df * (x - s**2 / 2)
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    inner = 1 - _tail((t[:, None] * s).ravel(), comparisons, two_sided=False)
    return np.asarray(inner.reshape(t.size, -1) @ weights)


def tukey(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    """Compare all pairs of a model's systems, whichever pairs are asked for.

    Ferro and Maistro (2024), equations 9 to 11: the signed studentised difference q, its p-value,
    and half the width of the interval around each mean. For means of different numbers of scores
    it is Tukey and Kramer's version, which has no such widths.
    """
    model, groups = outcome.of_model, outcome.of_model.means.size
    q = ratio(model.differences(pairs), model.standard_errors(pairs) / np.sqrt(2))
    # Before the quantile: the last bits of both depend on what the distribution computed first.
    pvalue = np.where(q == 0, 1.0, studentised_range_sf(np.abs(q), groups, model.df))
    halves = None
    if model.balanced:
        quantile = studentised_range_isf(options.alpha, groups, model.df)
        halves = np.asarray(quantile / 2 * np.sqrt(model.error / model.counts))
    return Corrected(
        pvalue,
        statistic=q,
        interval=partial(tukey_limits, model, pairs),
        holds_for=TOGETHER,
        half_widths=halves,
    )


def tukey_limits(model: Model, pairs: Pairs, level: Level) -> Limits:
    quantile = studentised_range_isf(1 - level, model.means.size, model.df)
    return model.limits(pairs, quantile / np.sqrt(2))
