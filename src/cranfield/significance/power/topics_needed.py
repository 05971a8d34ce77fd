"""Topic set size design: how many topics an experiment needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.checks import check_choice, check_share
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.words import counted
from cranfield.scores import Scores
from cranfield.significance.models.anova import one_way, two_way
from cranfield.significance.power.power_and_width import (
    MODELS,
    check_positive,
    expected_width,
    power_anova,
    power_t,
)

DESIGNS = ("t", "anova-1", "anova-2", "interval")
"""What topics can be needed for."""

MOST_TOPICS = 10_000_000
"""No design with more topics is looked for."""


@dataclass(frozen=True)
class TopicsNeeded:
    """The smallest number of topics that meets a requirement.

    Attributes
    ----------
    design
        `t`, `anova-1`, `anova-2` or `interval`.
    topics
        Number of topics.
    achieved
        The power with so many topics; for `interval` the expected width.
    power, width
        What was required: the power, or the width; the other is None.
    difference
        The smallest difference that has to be found; None for `interval`.
    variance
        Variance of a score that the design assumes.
    systems
        Number of systems.
    alpha
        Significance level; the confidence level is 1 - alpha.
    alternative
        Of the t-test.
    epsilon
        How far differences of systems are from varying alike, which is 1; of `anova-2`.
    """

    design: str
    topics: int
    achieved: float
    power: float | None
    width: float | None
    difference: float | None
    variance: float
    systems: int
    alpha: float
    alternative: str
    epsilon: float = 1.0

    def __str__(self) -> str:
        options = f"variance of a score {self.variance:.4g}, alpha {self.alpha:g}"
        if self.design == "interval":
            return (
                f"{counted(self.topics, 'topic')}: the {1 - self.alpha:.4g} confidence interval of"
                f" the difference of two systems has an expected width of {self.achieved:.4f},"
                f" at most {self.width:g}\n{options}"
            )
        if self.design == "t":
            side = "" if self.alternative == "two-sided" else f", one-sided ({self.alternative})"
            name, what = f"paired t-test{side}", f"a difference of {self.difference:g}"
        else:
            way = {"anova-1": "one-way", "anova-2": "two-way"}[self.design]
            name = f"{way} ANOVA of {counted(self.systems, 'system')}"
            if self.design == "anova-2" and self.systems > 2:
                alike = self.epsilon == 1
                options += ", sphericity assumed" if alike else f", epsilon {self.epsilon:g}"
            what = f"that not all are equal, if best and worst differ by {self.difference:g},"
        return (
            f"{counted(self.topics, 'topic')}: {name} finds {what} with power"
            f" {self.achieved:.4f}, at least {self.power:g}\n{options}"
        )


def topics_needed(
    design: str = "anova-2",
    *,
    variance: float,
    difference: float | None = None,
    width: float | None = None,
    systems: int = 2,
    alpha: float = 0.05,
    power: float = 0.8,
    alternative: str = "two-sided",
    epsilon: float = 1.0,
) -> TopicsNeeded:
    """Find the smallest number of topics that reaches a power, or a width of the interval.

    Source: Sakai (2016), Topic set size design; Sakai (2018).

    Parameters
    ----------
    design
        `t`: paired t-test of two systems; `anova-1`, `anova-2`: the F-test of the analysis of
        variance, which finds that not all systems are equal, not which of them differ; `interval`:
        confidence interval of the difference of two systems.
    variance
        Variance of a score, above 0: see :func:`variance`.
    difference
        Smallest difference that has to be found, above 0; of the analyses of variance that between
        the best and the worst system. Not for `interval`.
    width
        Largest expected width, above 0; for `interval` only.
    systems
        Number of systems; 2 but for the analyses of variance.
    alpha
        Significance level; the confidence level is 1 - alpha.
    power
        Required power, between 0 and 1; it means nothing for `interval`.
    alternative
        Of `t`.
    epsilon
        Of `anova-2`, as for :func:`power_anova`: by default differences of all pairs of systems are
        taken to vary alike (sphericity), which those of real systems do not.

    Returns
    -------
    TopicsNeeded
        With 2 topics at least.

    Raises
    ------
    PolicyError
        For an unknown design, or an option that is missing, out of its range or not of the design.
    CranfieldError
        When more than ten million topics would be needed.

    Examples
    --------
    >>> print(topics_needed("t", difference=0.05, variance=0.01))
    65 topics: paired t-test finds a difference of 0.05 with power 0.8016, at least 0.8
    variance of a score 0.01, alpha 0.05
    >>> topics_needed("interval", width=0.05, variance=0.01).topics
    125
    """
    check_choice("design", design, DESIGNS)
    by_width = design == "interval"
    goal, other = (width, difference) if by_width else (difference, width)
    names = ("width", "difference") if by_width else ("difference", "width")
    if goal is None or other is not None:
        raise PolicyError(f"design {design!r} needs {names[0]}, and no {names[1]}")
    if design in {"t", "interval"} and systems != 2:
        raise PolicyError(f"design {design!r} is for two systems, not {systems}")
    if design != "t" and alternative != "two-sided":
        raise PolicyError(f"design {design!r} is two-sided")
    if design != "anova-2" and epsilon != 1:
        raise PolicyError(f"epsilon is of design 'anova-2', not of {design!r}")
    check_share("power", power)

    shared = {"variance": variance, "alpha": alpha}
    of_design: dict[str, Callable[..., Floats]] = {
        "interval": partial(expected_width, **shared),
        "t": partial(power_t, difference=goal, alternative=alternative, **shared),
    }
    by_anova = partial(
        power_anova, systems=systems, difference=goal, model=design, epsilon=epsilon, **shared
    )

    def reached(topics: int) -> float:
        return float(of_design.get(design, by_anova)(topics))

    check_positive(**{names[0]: goal})
    enough = (lambda n: reached(n) <= goal) if by_width else (lambda n: reached(n) >= power)
    topics = smallest(enough)
    return TopicsNeeded(
        design=design,
        topics=topics,
        achieved=reached(topics),
        power=None if by_width else power,
        width=width,
        difference=difference,
        variance=variance,
        systems=systems,
        alpha=alpha,
        alternative=alternative,
        epsilon=float(epsilon),
    )


def smallest(enough: Callable[[int], bool], most: int = MOST_TOPICS) -> int:
    """Find the first number from 2 on that is enough, when all larger ones are too."""
    low, high = 1, 2
    while not enough(high):
        if high > most:
            raise CranfieldError(f"more than {most:,} topics would be needed")
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def variance(scores: Scores | Iterable[Scores], *, model: str = "anova-2") -> float:
    r"""Estimate the variance of a score from existing scores, as topic set size design needs it.

    .. math:: V_{E1} = \frac{\sum_{ts} (x_{ts} - \bar{x}_{\cdot s})^2}{m(n - 1)}, \quad
        V_{E2} = \frac{\sum_{ts} (x_{ts} - \bar{x}_{t\cdot} - \bar{x}_{\cdot s}
        + \bar{x}_{\cdot\cdot})^2}{(m - 1)(n - 1)}

    Source: Sakai (2016), Topic set size design; Sakai (2018).

    Parameters
    ----------
    scores
        Scores, or several, whose variances are pooled with their degrees of freedom as weights.
    model
        `anova-1`: the variance within systems, which contains the differences between topics and
        so asks for more topics; NaN is left out. `anova-2`: the variance apart from topics and
        systems; every system needs a score for every topic.

    Returns
    -------
    float
        In squared units of the scores.

    Raises
    ------
    PolicyError
        For an unknown model, or something that is not scores.
    CranfieldError
        For scores that are too few, by shard, infinite or missing.

    Examples
    --------
    >>> some = Scores([[0.1, 0.3], [0.2, 0.8]], topics=["q1", "q2"], systems=["a", "b"])
    >>> round(variance(some), 4), round(variance(some, model="anova-1"), 4)
    (0.04, 0.065)
    """
    check_choice("model", model, MODELS)
    several = [scores] if isinstance(scores, Scores) else list(scores)
    if not several:
        raise CranfieldError("a variance needs scores")
    # Scores beyond what floats can square have an infinite variance.
    with np.errstate(over="ignore", invalid="ignore"):
        parts = [_residual(one, model) for one in several]
    return sum(ms * df for ms, df in parts) / sum(df for _, df in parts)


def _residual(scores: Scores, model: str) -> tuple[float, float]:
    """Return mean square and degrees of freedom of the error."""
    if not isinstance(scores, Scores):
        raise PolicyError(f"a variance is estimated from Scores, not {type(scores).__name__}")
    values = scores.finite().flat("the variance of scores by shard is no matter of topics alone")
    if model == "anova-1":
        values = values[:, ~np.isnan(values).all(axis=0)]
        if (~np.isnan(values)).sum() <= values.shape[1]:
            raise CranfieldError("a variance needs a system with two scores at least")
        table, _ = one_way(values)
        return table.ms_error, table.df_error
    if np.isnan(values).any():
        place = scores.cell(np.argwhere(np.isnan(values))[0])
        raise CranfieldError(f"{place} has no score; model='anova-1' can do without it")
    if min(values.shape) < 2:
        raise CranfieldError(
            f"model 'anova-2' needs two topics and two systems at least, not {values.shape[0]}"
            f" and {values.shape[1]}"
        )
    table, _ = two_way(values)
    return table.ms_error, table.df_error
