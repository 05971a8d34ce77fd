r"""How much a system risks: what it loses where it is worse than others, weighed against its gains.

Against one baseline there are :math:`U_{risk}` and its standardised form :math:`T_{risk}`; among
many systems, without a baseline, there are :math:`Z_{risk}` and :math:`Geo_{risk}`, for which a
system's expected score on a topic is what its own mean and the topic's difficulty make of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.measures.risk import standard_error, weighed
from cranfield.scores import Scores
from cranfield.significance.prepare import as_scores
from cranfield.tabular.frames import Framed


@dataclass(frozen=True, eq=False, repr=False)
class Risk(Framed):
    """Risk of each system; made by :func:`risk`.

    Attributes
    ----------
    systems
        The systems, in order.
    baseline
        The system that the others are compared with; None without one.
    alpha
        How much more a loss weighs than a gain.
    topics
        Number of topics.
    u_risk
        Mean weighed difference to the baseline.
    t_risk
        U_risk over its standard error; NaN where that is 0, as for the baseline itself.
    pvalue
        Two-sided, of t_risk by Student's t distribution with n - 1 degrees of freedom: that the
        mean weighed difference is 0. With an alpha above 0 this does not test whether the systems
        differ: of two systems that are equally good, that mean is negative.
    wins, losses
        Topics on which the system scores more or less than the baseline.
    z_risk
        Sum of the standardised differences to the expected scores, losses weighed with 1 + alpha.
    geo_risk
        Geometric mean of the mean score and of the chance that the normal distribution gives to
        z_risk over the number of topics.
    """

    systems: tuple[str, ...]
    baseline: str | None
    alpha: float
    topics: int
    u_risk: Floats
    t_risk: Floats
    pvalue: Floats
    wins: Floats
    losses: Floats
    z_risk: Floats
    geo_risk: Floats

    def to_polars(self) -> pl.DataFrame:
        """Return one row a system; the columns of a baseline only where there is one."""
        table: dict[str, Any] = {"system": pl.Series(self.systems, dtype=pl.String)}
        against = ("u_risk", "t_risk", "pvalue", "wins", "losses") if self.baseline else ()
        for name in (*against, "z_risk", "geo_risk"):
            table[name] = pl.Series(getattr(self, name)).fill_nan(None)
        return pl.DataFrame(table)

    def __repr__(self) -> str:
        against = f" against {quoted(self.baseline)}" if self.baseline else ""
        size = f"{counted(len(self.systems), 'system')}, {counted(self.topics, 'topic')}"
        return f"Risk({size}{against}, alpha={self.alpha:g})"


def risk(scores: Any, *, baseline: str | None = None, alpha: float = 1.0) -> Risk:
    r"""Compute how much each system risks.

    Parameters
    ----------
    scores
        Scores of one measure, at least 0, where more is better: :class:`Scores`, or what can be
        read as such.
    baseline
        The system that the others are compared with; without one only z_risk and geo_risk are
        computed, and the others are NaN.
    alpha
        How much more a loss weighs than a gain; 0 weighs them the same.

    Raises
    ------
    PolicyError
        For an unknown baseline, or an alpha below 0.
    CranfieldError
        For scores that are missing or negative, or of which less is better.

    Notes
    -----
    With :math:`\Delta` the difference to the baseline, n topics and :math:`w = 1 + \alpha` for
    losses and 1 for gains (Wang, Bennett and Collins-Thompson 2012; Dinçer, Macdonald and Ounis
    2014):

    .. math:: U_{risk} = \frac{1}{n} \sum_t w_t \Delta_t, \quad
        T_{risk} = \frac{U_{risk}}{s(w \Delta) / \sqrt{n}}

    With the score :math:`x_{st}`, sums :math:`S_s` over topics, :math:`T_t` over systems and N over
    all, and :math:`e_{st} = S_s T_t / N` (Dinçer, Macdonald and Ounis 2016):

    .. math:: Z_{risk}(s) = \sum_t w_{st} \frac{x_{st} - e_{st}}{\sqrt{e_{st}}}, \quad
        Geo_{risk}(s) = \sqrt{\frac{S_s}{n} \, \Phi\!\left(\frac{Z_{risk}(s)}{n}\right)}

    Examples
    --------
    >>> scores = {"old": [0.5, 0.4, 0.3], "new": [0.7, 0.5, 0.2]}
    >>> found = risk(scores, baseline="old", alpha=5)
    >>> found.u_risk.round(4).tolist(), found.losses.tolist()
    ([0.0, -0.1], [0.0, 1.0])
    """
    _check_alpha(alpha)
    ready = as_scores(scores)
    values = _complete(ready)
    topics = values.shape[0]
    weight = 1.0 + float(alpha)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = np.outer(values.sum(axis=1), values.sum(axis=0)) / max(values.sum(), 1e-300)
        root = np.sqrt(expected)
        standard = np.divide(values - expected, root, out=np.zeros_like(values), where=root > 0)
    z_risk = (np.where(standard < 0, weight, 1.0) * standard).sum(axis=0)
    from scipy.special import ndtr, stdtr

    geo_risk = np.sqrt(values.mean(axis=0) * ndtr(z_risk / topics))
    nothing = np.full(len(ready.systems), np.nan)
    u_risk, t_risk, pvalue, wins, losses = (nothing.copy() for _ in range(5))
    if baseline is not None:
        if baseline not in ready.systems:
            known = ", ".join(quoted(name) for name in ready.systems[:5])
            raise PolicyError(f"no system is called {quoted(baseline)}; the first are {known}")
        reference = values[:, [ready.systems.index(baseline)]]
        gains = weighed(values, reference, float(alpha))
        u_risk = gains.mean(axis=0)
        spread = standard_error(gains)
        t_risk = np.divide(u_risk, spread, out=nothing.copy(), where=spread > 0)
        pvalue = 2.0 * stdtr(max(topics - 1, 1), -np.abs(t_risk))
        wins = (values > reference).sum(axis=0).astype(np.float64)
        losses = (values < reference).sum(axis=0).astype(np.float64)
    of_baseline = (u_risk, t_risk, pvalue, wins, losses)
    return Risk(ready.systems, baseline, float(alpha), topics, *of_baseline, z_risk, geo_risk)


def _check_alpha(alpha: Any) -> None:
    if isinstance(alpha, bool) or not isinstance(alpha, Real) or not isfinite(alpha):
        raise PolicyError(f"alpha {quoted(alpha)} is no number")
    if alpha < 0:
        raise PolicyError(f"alpha {alpha:g} is below 0: a loss would weigh less than a gain")


def _complete(scores: Scores) -> Floats:
    values = scores.over_shards().values
    if not values.size or not np.isfinite(values).all():
        raise CranfieldError("risk needs a score of every system for every topic")
    if scores.lower_is_better:
        raise CranfieldError(f"risk needs scores where more is better, and {scores.measure} is not")
    if (values < 0).any():
        raise CranfieldError("risk needs scores of at least 0")
    return values
