r"""Risk-sensitive evaluation, which gives losses against other systems more weight than gains.

Against one baseline there are :math:`U_{risk}` and its standardised form :math:`T_{risk}`; among
many systems, without a baseline, there are :math:`Z_{risk}` and :math:`Geo_{risk}`, for which a
system's expected score on a topic follows from its own mean and the topic's difficulty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import ndtr, stdtr

from cranfield.base.errors import CranfieldError, check_number
from cranfield.base.text import inflect
from cranfield.measures.wrapping import compute_standard_errors, weigh_losses
from cranfield.result import Column, Columns, TableResult
from cranfield.significance.prepare import as_scores, find_baseline


@dataclass(frozen=True, eq=False, repr=False)
class Risk(TableResult):
    """Risk of each system; returned by :func:`risk`.

    Without a baseline the table has the columns system, z_risk and geo_risk.

    Attributes
    ----------
    baseline, alpha
        Options of :func:`risk`.
    n_topics
        Number of topics.
    """

    columns: ClassVar[Columns] = {
        "system": Column("System.", key=True),
        "u_risk": Column("Mean difference from the baseline, with losses weighted by 1 + alpha."),
        "t_risk": Column(
            "u_risk divided by its standard error; null for one topic, or if the error is 0."
        ),
        "pvalue": Column(
            "Two-sided p-value of the null hypothesis that the mean weighted difference is 0, by"
            " Student's t-test. With an alpha above 0 the p-value does not test whether the systems"
            " differ: the mean weighted difference of two equally good systems is negative."
        ),
        "wins": Column("Number of topics on which the system is better than the baseline.", 0),
        "losses": Column("Number of topics on which the system is worse than the baseline.", 0),
        "z_risk": Column(
            "Sum over topics of the standardised differences from the expected scores, with losses"
            " weighted by 1 + alpha. The expected score is the sum of the system times the sum of"
            " the topic, divided by the sum of all scores."
        ),
        "geo_risk": Column(
            "Geometric mean of two numbers: the mean score, and the standard normal distribution"
            " function at z_risk divided by the number of topics."
        ),
    }

    baseline: str | None
    alpha: float
    n_topics: int

    def heading(self) -> list[str]:
        baseline = f", baseline {self.baseline}" if self.baseline else ""
        text = f"{inflect(self.rows.height, 'system')}, {inflect(self.n_topics, 'topic')}"
        return [f"{text}{baseline}, alpha {self.alpha:g}"]


def risk(scores: Any, *, baseline: str | int | None = None, alpha: float = 1.0) -> Risk:
    r"""Compute the risk measures URisk, TRisk, ZRisk and GeoRisk of each system.

    Parameters
    ----------
    scores
        Scores of one measure, at least 0, where higher is better: :class:`Scores`, or any input
        that can be read as such.
    baseline
        System to compare all others with, by name or by index from 0; without a baseline only
        z_risk and geo_risk are computed.
    alpha
        Additional weight of a loss, relative to a gain; with 0 losses and gains have equal weight.

    Raises
    ------
    PolicyError
        For an unknown baseline, or an alpha below 0.
    CranfieldError
        For no, missing, infinite or negative scores, and if lower scores are better.

    Notes
    -----
    Against a baseline (Wang, Bennett and Collins-Thompson 2012; Dinçer, Macdonald and Ounis 2014),
    with :math:`\Delta` the difference from the baseline, n topics and :math:`w = 1 + \alpha` for
    losses and 1 for gains, and s the sample standard deviation:

    .. math:: U_{risk} = \frac{1}{n} \sum_t w_t \Delta_t, \quad
        T_{risk} = \frac{U_{risk}}{s(w \Delta) / \sqrt{n}}

    Among many systems (Dinçer, Macdonald and Ounis 2016), with scores :math:`x_{st}`, their sums
    :math:`S_s` by system, :math:`T_t` by topic and N over all, :math:`e_{st} = S_s T_t / N`, and
    the standard normal distribution function :math:`\Phi`; scores below e are losses:

    .. math:: Z_{risk}(s) = \sum_t w_{st} \frac{x_{st} - e_{st}}{\sqrt{e_{st}}}, \quad
        Geo_{risk}(s) = \sqrt{\frac{S_s}{n} \, \Phi\!\left(\frac{Z_{risk}(s)}{n}\right)}

    Examples
    --------
    >>> scores = {"old": [0.5, 0.4, 0.3], "new": [0.7, 0.5, 0.2]}
    >>> result = risk(scores, baseline="old", alpha=5)
    >>> result.u_risk.round(4).tolist(), result.losses.tolist()
    ([0.0, -0.1], [0.0, 1.0])
    >>> print(result)
    2 systems, 3 topics, baseline old, alpha 5
    <BLANKLINE>
    system   u_risk   t_risk  pvalue  wins  losses   z_risk  geo_risk
    old      0.0000                      0       0  -0.4332    0.4208
    new     -0.1000  -0.3974  0.7295     2       1  -0.7115    0.4354
    """
    check_number("alpha", alpha, 0)
    table = as_scores(scores).check_finite().average_shards()
    values = table.values
    if (cells := np.argwhere(np.isnan(values))).size:
        raise CranfieldError(f"{table.describe_cell(cells[0])} lacks a score that risk requires")
    if not values.size:
        raise CranfieldError("risk requires scores of at least one system on one topic, got none")
    if table.lower_is_better:
        raise CranfieldError("risk requires that higher is better, got lower_is_better=True")
    if (values < 0).any():
        raise CranfieldError(f"risk requires scores of at least 0, got {values.min():g}")
    n_topics = len(values)
    with np.errstate(over="ignore", invalid="ignore"):
        estimates = np.outer(values.sum(axis=1), values.sum(axis=0)) / max(values.sum(), 1e-300)
        root = np.sqrt(estimates)
        residuals = np.divide(values - estimates, root, out=np.zeros_like(values), where=root > 0)
    z_risk = (np.where(residuals < 0, 1.0 + float(alpha), 1.0) * residuals).sum(axis=0)
    geo_risk = np.sqrt(values.mean(axis=0) * ndtr(z_risk / n_topics))
    columns: dict[str, Any] = {"system": pl.Series(table.systems, dtype=pl.String)}
    baseline_name = None
    if baseline is not None:
        index = find_baseline(table.systems, baseline)
        baseline_name, baseline_values = table.systems[index], values[:, [index]]
        differences = weigh_losses(values, baseline_values, float(alpha))
        u_risk, errors = differences.mean(axis=0), compute_standard_errors(differences)
        t_risk = np.divide(u_risk, errors, out=np.full_like(u_risk, np.nan), where=errors > 0)
        columns |= {
            "u_risk": u_risk,
            "t_risk": t_risk,
            "pvalue": 2.0 * stdtr(max(n_topics - 1, 1), -np.abs(t_risk)),
            "wins": (values > baseline_values).sum(axis=0).astype(np.float64),
            "losses": (values < baseline_values).sum(axis=0).astype(np.float64),
        }
    rows = pl.DataFrame(columns | {"z_risk": z_risk, "geo_risk": geo_risk}).fill_nan(None)
    return Risk(rows, baseline_name, float(alpha), n_topics)
