"""Analysis of variance on ranks: the tests of Kruskal and Wallis, and of Friedman."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError
from cranfield.base.scale_types import Scale
from cranfield.significance.models.fitted_model import Model
from cranfield.significance.options import Options
from cranfield.significance.outcome import Outcome
from cranfield.significance.pairs import ROUNDING, Pairs, mid_ranks
from cranfield.significance.registry import PLAIN, TestInfo, declared

RANK_CORRECTIONS = ("tukey", *PLAIN)


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


@declared(
    TestInfo(
        name="kruskal-wallis",
        aliases=("kruskal",),
        title="Kruskal-Wallis test",
        asks="Do scores of some systems tend to be higher than those of others, whatever their "
        "topics?",
        null="The scores of all systems have the same distribution.",
        assumes="All scores are independent: nothing is paired.",
        when="Several systems on different topics, on a scale that is only ordinal. On the same "
        "topics, Friedman's test.",
        formula=r"H = \frac{\frac{12}{N (N + 1)} \sum_j R_j^2 / n_j - 3 (N + 1)}"
        r"{1 - \sum (t^3 - t) / (N^3 - N)}",
        statistic="z; with Tukey's HSD q, of the mean ranks",
        effect="difference of mean ranks by the standard deviation of a rank",
        source="Kruskal and Wallis (1952); Ferrante, Ferro and Fuhr (2021), section 7.3",
        convention="Scores that are equal within rounding share their mid-rank. Pairs are "
        "compared on mean ranks, with the variance corrected for ties and infinite degrees of "
        "freedom.",
        scale=Scale.ORDINAL,
        paired=False,
        model=True,
        corrections=RANK_CORRECTIONS,
    )
)
def kruskal_wallis_test(pairs: Pairs, options: Options, data: Floats) -> Outcome:
    """Compare systems by their mean ranks among all scores."""
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
    model = Model(means, float(variance), counts, np.inf, "mean rank")
    return ranked_outcome(model, omnibus, pairs, options, paired=False)


@declared(
    TestInfo(
        name="friedman",
        title="Friedman test",
        asks="Do some systems tend to rank above others, topic by topic?",
        null="On each topic, every order of the systems is as likely.",
        assumes="Topics are independent of each other.",
        when="Several systems on the same topics, on a scale that is only ordinal.",
        formula=r"\chi^2 = \frac{n \sum_j (\bar{R}_j - (k + 1) / 2)^2}{s^2}, \quad "
        r"s^2 = \frac{k (k + 1)}{12} - \frac{\sum (t^3 - t)}{12 n (k - 1)}",
        statistic="z; with Tukey's HSD q, of the mean ranks",
        effect="difference of mean ranks by the standard deviation of a rank",
        source="Friedman (1937, 1939); Ferrante, Ferro and Fuhr (2021), section 7.3",
        convention="Scores that are equal within rounding share their mid-rank. Pairs are "
        "compared on mean ranks, with the variance corrected for ties and infinite degrees of "
        "freedom; with Tukey's HSD that is Nemenyi's test.",
        scale=Scale.ORDINAL,
        model=True,
        corrections=RANK_CORRECTIONS,
    )
)
def friedman_test(pairs: Pairs, options: Options, data: Floats) -> Outcome:
    """Compare systems by their mean ranks within topics."""
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
    omnibus = Omnibus(
        "chi-squared",
        chi2,
        df,
        float(chdtrc(df, chi2)),
        chi2 / (topics * df),
        "Kendall's W",
        tied,
    )
    model = Model(means, float(variance), np.full(systems, float(topics)), np.inf, "mean rank")
    return ranked_outcome(model, omnibus, pairs, options, paired=True)


def ranked_together(values: Floats) -> tuple[Floats, float, int]:
    """Rank all scores together, equal ones by their mid-rank.

    Returns
    -------
    ranks
        In the shape of the scores, NaN where there is none.
    ties
        Sum of t^3 - t over groups of t equal scores.
    tied
        Scores that follow an equal one.
    """
    flat = values.ravel()
    order = np.argsort(flat, kind="stable")[: int((~np.isnan(flat)).sum())]
    ordered = flat[order][None]
    gap = ROUNDING * np.abs(ordered).max(initial=0.0)
    doubled, ties = mid_ranks(ordered, np.array([gap]))
    ranks = np.full(flat.shape, np.nan)
    ranks[order] = doubled[0] / 2
    return ranks.reshape(values.shape), float(ties[0]), int((np.diff(doubled[0]) == 0).sum())


def ranked_outcome(
    model: Model, omnibus: Omnibus, pairs: Pairs, options: Options, *, paired: bool
) -> Outcome:
    """Compare pairs by their mean ranks, and keep the test of all together."""
    outcome = model.outcome(pairs, options.alternative, paired=paired)
    return replace(outcome, details={"omnibus": omnibus})
