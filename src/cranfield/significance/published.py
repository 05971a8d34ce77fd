"""Effect sizes and power of published tests, from t statistics and numbers of topics alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import quote
from cranfield.base.kinds import OneOf, Probability, check_arguments
from cranfield.base.text import inflect
from cranfield.result import Column, Columns, TableResult, declare_bounds
from cranfield.significance.differences import append_values, compute_t_pvalue, orient
from cranfield.significance.effects import find_noncentrality
from cranfield.significance.power_and_width import compute_t_test_power
from cranfield.significance.registry import ALTERNATIVES
from cranfield.significance.topic_set_size import MAX_TOPICS, find_smallest
from cranfield.sources import schemas
from cranfield.sources.columns import Table, read_table
from cranfield.sources.schemas import Schema, fold_name
from cranfield.sources.values import INTEGER, NAME, NUMBER, is_absent

_TESTS = Schema(
    "table of published tests",
    (
        schemas.FileColumn("t", NUMBER),
        schemas.FileColumn("topics", INTEGER, "number of topics"),
        schemas.declare_optional("name", NAME, "name of a test"),
        schemas.declare_optional("test", NAME),
        schemas.declare_optional("alternative", NAME),
        schemas.declare_optional("alpha", replace(NUMBER, becomes_null=is_absent)),
    ),
    noun="the tests",
    default_format="csv",
    tuples=("t", "topics", "name"),
)
_PAIRED_T = ("t", "t-test", "paired t", "paired t-test", "Student")
_TWO_SIDED = ("two-sided", "two-tailed", "two", "2")
_ONE_SIDED = ("one-sided", "one-tailed", "one", "1")


@dataclass(frozen=True, eq=False, repr=False)
class PublishedPower(TableResult):
    """Effect sizes and power of published tests; returned by :func:`power_of_published`.

    Attributes
    ----------
    rows
        The table, a row for each test.
    alpha, required_power, alternative
        Significance level, required power, and alternative hypothesis.
    notes
        Notes on tests for which no number of topics is enough.
    """

    name: ClassVar[str] = "power"
    columns: ClassVar[Columns] = {
        "name": Column("Name of the test, or the number of an unnamed test.", key=True),
        "t": Column("The published t statistic of a paired t-test."),
        "topics": Column("Number of topics n."),
        "p": Column("p-value of t.", is_pvalue=True),
        "effect": Column(
            "Effect size t / sqrt(n): the mean divided by the standard deviation of differences."
        ),
        **declare_bounds("confidence interval of the effect, of level 1 - alpha"),
        "power": Column("Power of the test if the observed effect were the true effect."),
        "needed": Column(
            "Number of topics that reaches the required power if the observed effect were the true"
            f" effect; null if no number up to {MAX_TOPICS:,} does."
        ),
        "needed at bound": Column(
            "Number of topics that reaches the required power if the bound of the interval nearer"
            f" to 0 were the true effect; null if the interval contains 0, or no number up to"
            f" {MAX_TOPICS:,} does."
        ),
    }

    alpha: float
    required_power: float
    alternative: str
    notes: tuple[str, ...] = ()

    def heading(self) -> list[str]:
        side = "" if self.alternative == "two-sided" else f", one-sided ({self.alternative})"
        return [
            f"{inflect(self.rows.height, 'paired t-test')}{side}, alpha {self.alpha:g}; topics"
            f" needed for a power of {self.required_power:g}",
            "the power for an observed effect follows from the p-value and adds no information;"
            " effects of significant results are overestimated: plan with `needed at bound`",
        ]


def power_of_published(
    tests: Any,
    *,
    alpha: Probability = 0.05,
    power: Probability = 0.8,
    alternative: Annotated[str, OneOf(ALTERNATIVES)] = "two-sided",
) -> PublishedPower:
    r"""Estimate effect size, power and required number of topics of published paired t-tests.

    .. math:: d = \frac{t}{\sqrt{n}}, \qquad \text{interval: } \lambda / \sqrt{n} \text{ with }
        P(T_{n-1}(\lambda) > t) = \alpha / 2 \text{ and } 1 - \alpha / 2

    The power is computed from the noncentral t distribution with :math:`\lambda = t`, as if the
    observed effect were the true effect. This post-hoc power is a function of the p-value, about
    0.5 if p is near alpha. Use it to review the sample sizes of published studies (Sakai 2016), not
    to interpret a single result.

    Parameters
    ----------
    tests
        Rows of t, number of topics, and optionally a name; or a file or data frame with the columns
        `t`, `topics` (or `n`) and optionally `name`. Values of a column `test` must name a paired
        t-test, and those of columns `alternative` and `alpha` agree with the options. t is
        positive if the first system is better.
    alpha
        Significance level; below one half for a one-sided test.
    power
        Required power, between 0 and 1, for the number of topics.
    alternative
        Alternative hypothesis of the tests.

    Returns
    -------
    PublishedPower
        A row for each test.

    Raises
    ------
    InputError
        For a test with fewer than 2 topics, another test, or an `alternative` or `alpha` that
        differs from the options; the message names file and line.
    PolicyError
        For an option out of its range.

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
    check_arguments(power_of_published, locals())
    table = read_table(tests, _TESTS)
    _check_settings(table, alpha, alternative)
    n_topics = table.frame["topics"].to_numpy().astype(np.float64)
    if (n_topics < 2).any():
        row = int(np.argmax(n_topics < 2))
        raise table.make_row_error(row, f"expected topics >= 2, got {n_topics[row]:g}")
    t, df, root_n = table.frame["t"].to_numpy(), n_topics - 1, np.sqrt(n_topics)
    effect = t / root_n
    intervals = [find_noncentrality(t[[k]], df[k], 1 - alpha) for k in range(len(t))]
    low, high = np.reshape(intervals, (-1, 2)).T / root_n
    nearer_bound = np.where(np.abs(low) < np.abs(high), low, high)
    nearer_bound[(low <= 0) & (high >= 0)] = 0.0
    n_needed, n_needed_at_bound = (
        pl.Series(
            [_find_topics_needed(d, alpha, power, alternative) for d in effects], dtype=pl.Int64
        )
        for effects in (effect, nearer_bound)
    )
    numbers = pl.int_range(1, pl.len() + 1).cast(pl.String)
    names = table.frame.select(
        pl.col("name").fill_null(numbers), "t", pl.col("topics").cast(pl.Int64)
    )
    power_values = _compute_power(effect, n_topics, alpha, alternative), n_needed, n_needed_at_bound
    values = compute_t_pvalue(t, df, alternative), effect, low, high, *power_values
    rows = append_values(names, PublishedPower.columns, *values)
    unreachable_rows = rows.filter(n_needed.is_null(), pl.col("effect") != 0)
    notes = tuple(
        f"{name}: the effect is opposite to the alternative {alternative!r}, so no number of topics"
        " is enough"
        if orient(effect, alternative) < 0
        else f"{name}: the power of {power:g} for this effect requires more than"
        f" {MAX_TOPICS:,} topics"
        for name, effect in unreachable_rows["name", "effect"].rows()
    )
    return PublishedPower(rows, alpha, power, alternative, notes)


def _check_settings(table: Table, alpha: float, alternative: str) -> None:
    """Refuse rows of other tests, and rows whose alternative or alpha differs from the options."""
    sides = _TWO_SIDED if alternative == "two-sided" else (alternative, *_ONE_SIDED)
    for column, names, expected in (
        ("test", _PAIRED_T, "a paired t-test"),
        ("alternative", sides, f"alternative {quote(alternative)}, as in the options"),
    ):
        accepted = {fold_name(name) for name in names}
        is_other = [name and fold_name(name) not in accepted for name in table.frame[column]]
        for row in np.flatnonzero(is_other)[:1].tolist():
            raise table.make_row_error(
                row, f"expected {expected}, got {quote(table.frame[column][row])}"
            )
    for row in (table.frame["alpha"] != alpha).arg_true()[:1]:
        value = table.frame["alpha"][row]
        raise table.make_row_error(
            row, f"expected alpha {alpha:g}, as in the options, got {value:g}"
        )


def _compute_power(effect: Any, n_topics: Any, alpha: float, alternative: str) -> Floats:
    """Compute the power for an effect; below alpha if it contradicts a one-sided alternative."""
    half_noncentrality, df = np.asarray(n_topics * effect**2 / 2), np.asarray(n_topics - 1.0)
    sign = np.where(orient(np.asarray(effect), alternative) < 0, -1.0, 1.0)
    return compute_t_test_power(half_noncentrality, df, alpha, alternative, sign)


def _find_topics_needed(effect: float, alpha: float, power: float, alternative: str) -> int | None:
    """Find the smallest sufficient number of topics; None if there is none, or the effect is 0."""

    def is_enough(n_topics: int) -> bool:
        return bool(_compute_power(effect, n_topics, alpha, alternative) >= power)

    return find_smallest(is_enough) if effect and is_enough(MAX_TOPICS) else None
