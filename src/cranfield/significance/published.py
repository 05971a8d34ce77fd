"""Effect size and power of published tests, from their t and number of topics alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.special import stdtr

from cranfield.base.errors import CranfieldError, check_choice, check_share
from cranfield.base.kinds import OneOf
from cranfield.base.text import counted
from cranfield.result import Column, Columns, TableResult
from cranfield.significance.power_and_width import noncentral_t_sf, t_power
from cranfield.significance.registry import ALTERNATIVES
from cranfield.significance.topic_set_size import MAX_TOPICS, find_smallest
from cranfield.sources import schemas
from cranfield.sources.columns import read_table
from cranfield.sources.schemas import Schema
from cranfield.sources.values import LABEL, NUMBER, WHOLE

_TESTS = Schema(
    "table of published tests",
    (
        schemas.Column("t", NUMBER),
        schemas.Column("topics", WHOLE),
        schemas.optional("name", LABEL),
    ),
    called="the tests",
    otherwise="csv",
    tuples=("t", "topics", "name"),
)


@dataclass(frozen=True, eq=False, repr=False)
class PublishedPower(TableResult):
    """Effect sizes and power of published tests; made by :func:`power_of_published`.

    Attributes
    ----------
    rows
        The table, a row for each test.
    alpha, goal, alternative
        Significance level, required power, and alternative hypothesis.
    notes
        Tests whose effect would require too many topics.
    """

    name: ClassVar[str] = "power"
    columns: ClassVar[Columns] = {
        "name": Column("Name of the test; its number where it has none.", key=True),
        "t": Column("The published t statistic of a paired t-test."),
        "topics": Column("Number of topics n."),
        "p": Column("p-value of t.", pvalue=True),
        "effect": Column("Effect size, t over the square root of n: mean over SD of differences."),
        "low": Column("Lower bound of its confidence interval, of level 1 - alpha."),
        "high": Column("Upper bound of the interval."),
        "power": Column("Power of the test if the true effect were the observed one."),
        "needed": Column("Topics that reach the required power for the observed effect, or null."),
        "needed at bound": Column(
            "The same for the bound of the interval nearer to 0; null if the interval contains 0."
        ),
    }

    alpha: float
    goal: float
    alternative: str
    notes: tuple[str, ...] = ()

    def heading(self) -> list[str]:
        side = "" if self.alternative == "two-sided" else f", one-sided ({self.alternative})"
        return [
            f"{counted(self.rows.height, 'paired t-test')}{side}, alpha {self.alpha:g}; topics"
            f" needed for a power of {self.goal:g}",
            "the power for an observed effect follows from its p-value and adds nothing to it; of"
            " significant results the effect is overestimated: plan with the bound",
        ]


def power_of_published(
    tests: Any,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    alternative: Annotated[str, OneOf(ALTERNATIVES)] = "two-sided",
) -> PublishedPower:
    r"""Estimate effect size, power and the topics needed, from published paired t-tests.

    .. math:: d = \frac{t}{\sqrt{n}}, \qquad \text{interval: } \lambda / \sqrt{n} \text{ with }
        P(T_{n-1}(\lambda) > t) = \alpha / 2 \text{ and } 1 - \alpha / 2

    Power is that of the noncentral t-distribution with :math:`\lambda = t`, as if the observed
    effect were the true one. Such post-hoc power is a function of the p-value: 0.5 where p is about
    alpha. Use it to see how small published studies are (Sakai 2016), not to excuse a result.

    Parameters
    ----------
    tests
        Rows of t and number of topics, and perhaps a name; or a table with the columns `t`,
        `topics`, `name`: a file or a data frame. t is positive where the first system is better.
    alpha
        Significance level; for a one-sided test below one half.
    power
        Required power, between 0 and 1, for the topics needed.
    alternative
        Alternative hypothesis of the tests.

    Returns
    -------
    PublishedPower
        With a row for each test.

    Raises
    ------
    InputError
        Naming file and line, for a test of fewer than 2 topics.

    References
    ----------
    Sakai, T. (2016). Statistical significance, power, and sample sizes: a systematic review of
    SIGIR and TOIS, 2006-2015. SIGIR 2016, 5-14.

    Examples
    --------
    >>> result = power_of_published([(2.4, 50), (1.1, 25)])
    >>> result.effect.round(3).tolist(), result.power.round(3).tolist(), result.needed.tolist()
    ([0.339, 0.22], [0.653, 0.184], [71, 165])
    """
    check_share("alpha", alpha)
    check_share("power", power)
    check_choice("alternative", alternative, ALTERNATIVES)
    table = read_table(tests, _TESTS)
    too_few = (table.frame["topics"] < 2).arg_true()
    if len(too_few):
        row = int(too_few[0])
        raise table.wrong(row, f"expected topics >= 2, got {table.frame['topics'][row]}")
    rows, notes = [], []
    for number, (t, topics, name) in enumerate(table.frame.rows(), 1):
        effect, df = t / np.sqrt(topics), topics - 1
        low, high = (bound / np.sqrt(topics) for bound in _noncentralities(t, df, alpha))
        bound = 0.0 if low <= 0 <= high else min((low, high), key=abs)
        label = name or str(number)
        needed = _topics_needed(effect, alpha, power, alternative)
        if needed is None and effect != 0:
            notes.append(f"{label}: the effect would require more than {MAX_TOPICS:,} topics")
        rows.append(
            {
                "name": label,
                "t": t,
                "topics": topics,
                "p": _pvalue(t, df, alternative),
                "effect": effect,
                "low": low,
                "high": high,
                "power": _power(effect, topics, alpha, alternative),
                "needed": needed,
                "needed at bound": _topics_needed(bound, alpha, power, alternative),
            }
        )
    whole = dict.fromkeys(("topics", "needed", "needed at bound"), pl.Int64)
    frame = pl.DataFrame(rows, schema_overrides=whole, infer_schema_length=None)
    return PublishedPower(frame, alpha, power, alternative, tuple(notes))


def _pvalue(t: float, df: int, alternative: str) -> float:
    if alternative == "two-sided":
        return float(2 * stdtr(df, -abs(t)))
    return float(stdtr(df, -t if alternative == "greater" else t))


def _power(effect: float, topics: int, alpha: float, alternative: str) -> float:
    """Compute the power for an effect; 0 in the direction against a one-sided alternative."""
    if (alternative == "greater" and effect < 0) or (alternative == "less" and effect > 0):
        return 0.0
    half, df = np.asarray(topics * effect**2 / 2), np.asarray(topics - 1.0)
    return float(t_power(half, df, alpha, alternative))


def _topics_needed(effect: float, alpha: float, power: float, alternative: str) -> int | None:
    """Find the smallest number of topics, or return None where none is enough."""
    if effect == 0 or _power(effect, MAX_TOPICS, alpha, alternative) < power:
        return None
    try:
        return find_smallest(lambda topics: _power(effect, topics, alpha, alternative) >= power)
    except CranfieldError:
        return None


def _noncentralities(t: float, df: int, alpha: float) -> tuple[float, float]:
    """Return the bounds of a confidence interval of the noncentrality of t."""

    def bound(probability: float) -> float:
        # The standard deviation of the noncentrality is about sqrt(1 + t^2 / 2 df).
        reach = 12.0 * np.sqrt(1.0 + t**2 / (2 * df))
        while noncentral_t_sf(t, df, t - reach) > probability:
            reach *= 2.0
        while noncentral_t_sf(t, df, t + reach) < probability:
            reach *= 2.0
        return float(
            brentq(lambda value: noncentral_t_sf(t, df, value) - probability, t - reach, t + reach)
        )

    return bound(alpha / 2), bound(1 - alpha / 2)
