"""Analysis of variance on ranks: the tests of Kruskal and Wallis, and of Friedman."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from cranfield.base.errors import CranfieldError
from cranfield.significance.models.by_model import by_model
from cranfield.significance.models.fitted_model import Model
from cranfield.significance.options import Options
from cranfield.significance.outcome import Outcome
from cranfield.significance.pairs import ROUNDING, Pairs
from cranfield.significance.ranks import mid_ranks, ranked_together


@dataclass(frozen=True)
class Omnibus:
    """The answer to 'do the systems differ at all?'.

    Attributes
    ----------
    name
        Of the statistic.
    statistic, df, pvalue
        Its value, degrees of freedom and p-value.
    effect, effect_name
        How strong the differences are, from 0 to 1.
    ties
        Scores that share their rank.
    """

    name: str
    statistic: float
    df: float
    pvalue: float
    effect: float
    effect_name: str
    ties: int = 0


def kruskal_wallis_test(pairs: Pairs, options: Options) -> Outcome:
    """Compare systems by their mean ranks among all scores."""
    data = pairs.scores
    ranks, ties, tied = ranked_together(data)
    counts = (~np.isnan(data)).sum(axis=0).astype(np.float64)
    number = counts.sum()
    if number <= data.shape[1]:
        raise CranfieldError("the Kruskal-Wallis test needs a system with two scores at least")
    means = np.nansum(ranks, axis=0) / counts
    variance = number * (number + 1) / 12 - ties / (12 * (number - 1))
    spread = float((counts * (means - (number + 1) / 2) ** 2).sum())
    h = spread / variance if variance > 0 else 0.0
    df = data.shape[1] - 1.0
    omnibus = Omnibus(
        "H", h, df, float(chdtrc(df, h)), h / (number - 1), "epsilon squared", int(tied)
    )
    model = Model(means, float(variance), counts, np.inf, "mean rank", number + 1)
    return by_model(model, pairs, options, paired=False, details={"omnibus": omnibus})


def friedman_test(pairs: Pairs, options: Options) -> Outcome:
    """Compare systems by their mean ranks within topics."""
    data = pairs.scores
    topics, systems = data.shape
    order = np.argsort(data, axis=1, kind="stable")
    gap = np.full(topics, ROUNDING * np.abs(data).max(initial=0.0))
    doubled, ties = mid_ranks(np.take_along_axis(data, order, axis=1), gap)
    ranks = np.empty_like(data)
    np.put_along_axis(ranks, order, doubled / 2, axis=1)
    means = ranks.mean(axis=0)
    variance = systems * (systems + 1) / 12 - ties.sum() / (12 * topics * (systems - 1))
    spread = topics * float(((means - (systems + 1) / 2) ** 2).sum())
    variance = variance if variance > 1e-9 else 0.0
    chi2 = spread / variance if variance else 0.0
    df = systems - 1.0
    tied = int((np.diff(doubled, axis=1) == 0).sum())
    p = float(chdtrc(df, chi2))
    omnibus = Omnibus("chi-squared", chi2, df, p, chi2 / (topics * df), "Kendall's W", tied)
    counts = np.full(systems, float(topics))
    model = Model(means, float(variance), counts, np.inf, "mean rank", systems + 1)
    return by_model(model, pairs, options, paired=True, details={"omnibus": omnibus})
