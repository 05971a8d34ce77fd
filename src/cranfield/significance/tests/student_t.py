"""Student's t-test, paired and not, and Welch's."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.significance.options import Options
from cranfield.significance.outcome import Outcome, TInterval, joined, t_pvalue
from cranfield.significance.pairs import ROUNDING, Pairs
from cranfield.significance.registry import PLAIN, TestInfo, declared

CONSTANT = (
    "Differences that are all the same have no variance: p is 1 if they are 0, and 0 otherwise."
)


@declared(
    TestInfo(
        name="t",
        aliases=("paired-t", "t-paired", "student", "t-test", "ttest"),
        title="Paired t-test",
        asks="Is the mean of the differences, topic by topic, other than zero?",
        null="The mean difference is zero.",
        assumes="Topics are independent; the mean of the differences is nearly normal, which "
        "it is from a few dozen topics on unless they are very skewed.",
        when="Two systems on the same topics: the usual choice. For more than two systems, "
        "two-way ANOVA with Tukey's HSD, of which this is the special case; or, where systems "
        "differ in variance, this test with the correction max-t or holm.",
        formula=r"t = \frac{\bar{d}}{s_d / \sqrt{n}}, \quad n - 1 \text{ degrees of freedom}",
        statistic="t",
        effect="Cohen's d of the differences: their mean by their standard deviation",
        source="Student (1908); Ferro and Maistro (2024), section 4",
        convention=CONSTANT,
        corrections=("holm", "max-t", *(one for one in PLAIN if one != "holm")),
    )
)
def t_test(pairs: Pairs, options: Options) -> Outcome:
    """Do the paired t-test on each pair."""
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
        interval=TInterval(mean, error, n - 1),
        interval_of="mean difference",
        n=np.full(len(pairs), n),
        zeros=zeros,
        ties=np.zeros_like(zeros),
        details={"df": float(n - 1)},
    )


def spread(differences: Floats, mean: Floats, rounding: Floats) -> Floats:
    """Return standard deviations over topics; 0 where the differences vary by rounding only."""
    centred = differences - mean[:, None]
    some = np.abs(centred).max(axis=1) > rounding
    squares = np.einsum("pt,pt->p", centred, centred)
    return np.asarray(np.where(some, np.sqrt(squares / (differences.shape[1] - 1)), 0.0))


def ratio(mean: Floats, error: Floats) -> Floats:
    """Divide; 0 by 0 is 0, and anything else by 0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(mean == 0, 0.0, mean / error))


def p_of(t: Floats, error: Floats, df: Floats | float, alternative: str) -> Floats:
    """Return p-values; where nothing differs, and nothing varies, there is no evidence at all."""
    nothing = (t == 0) & (error == 0)
    return np.asarray(np.where(nothing, 1.0, t_pvalue(t, df, alternative)))


@declared(
    TestInfo(
        name="t-unpaired",
        aliases=("student-unpaired", "two-sample-t"),
        title="Two-sample t-test (Student)",
        asks="Do the mean scores of two systems differ, whatever their topics?",
        null="Both systems have the same mean.",
        assumes="All scores are independent, both systems have the same variance, and means are "
        "nearly normal.",
        when="Two systems that were tested on different topics. Prefer Welch's, which does not "
        "assume equal variances.",
        formula=r"t = \frac{\bar{x} - \bar{y}}{s \sqrt{1/n + 1/m}}, \quad "
        r"s^2 = \frac{(n - 1) s_x^2 + (m - 1) s_y^2}{n + m - 2}",
        statistic="t",
        effect="Hedges' g without small-sample correction: mean difference by pooled deviation",
        source="Student (1908)",
        convention=CONSTANT,
        paired=False,
    )
)
def unpaired_t_test(pairs: Pairs, options: Options) -> Outcome:
    """Do the two-sample t-test on each pair, with one variance for both systems."""
    return _unpaired(pairs, options, pooled=True)


@declared(
    TestInfo(
        name="welch",
        aliases=("welch-t",),
        title="Welch's t-test",
        asks="Do the mean scores of two systems differ, whatever their topics?",
        null="Both systems have the same mean.",
        assumes="All scores are independent; means are nearly normal.",
        when="Two systems that were tested on different topics.",
        formula=r"t = \frac{\bar{x} - \bar{y}}{\sqrt{s_x^2 / n + s_y^2 / m}}",
        statistic="t",
        effect="mean difference by the root of the mean of both variances",
        source="Welch (1947)",
        convention="Degrees of freedom by Welch and Satterthwaite. " + CONSTANT,
        paired=False,
    )
)
def welch_test(pairs: Pairs, options: Options) -> Outcome:
    """Do Welch's test on each pair."""
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
    difference = mean[i] - mean[j]
    difference[np.abs(difference) <= pairs.rounding] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = squares / (count - 1)
        if pooled:
            df = n + m - 2.0
            common = (squares[i] + squares[j]) / df
            error = np.sqrt(common * (1 / n + 1 / m))
        else:
            a, b = variance[i] / n, variance[j] / m
            df = np.nan_to_num((a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1)), nan=1.0)
            common = (variance[i] + variance[j]) / 2
            error = np.sqrt(a + b)
    t = ratio(difference, error)
    none = np.zeros_like(n)
    return Outcome(
        statistic=t,
        pvalue=p_of(t, error, df, options.alternative),
        effect=ratio(difference, np.sqrt(common)),
        interval=TInterval(difference, error, df),
        interval_of="difference of means",
        n=n + m,
        zeros=none,
        ties=none,
        details={"df": df},
    )
