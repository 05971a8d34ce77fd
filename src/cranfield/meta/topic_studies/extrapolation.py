"""Expected significant pairs, correlations and generalizability by number of topics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import gammainccinv, gammaincinv, ndtr, stdtr, stdtrit, xlogy

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, check_choice, check_list
from cranfield.base.kinds import check_arguments
from cranfield.base.text import format_prefix, inflect
from cranfield.meta.study import MEASURE_COLUMN, Study
from cranfield.meta.study_options import Proportion
from cranfield.meta.test_studies.fast_tests import check_topic_sizes
from cranfield.meta.topic_studies.sample_study import prepare_topic_scores
from cranfield.meta.topic_studies.variance_components import Generalizability
from cranfield.result import Column, Columns
from cranfield.significance.corrections.studentised import studentised_range_isf
from cranfield.significance.differences import ROUNDING, pair_all
from cranfield.significance.models.anova import fit_two_way
from cranfield.significance.registry import CORRECTIONS, TestOptions


def compute_t_test_power(noncentrality: Floats, df: int, critical_value: float) -> Floats:
    r"""Compute the power of a two-sided t-test: P(|T| >= c) for a noncentral T.

    .. math:: P(|T| \ge c) = \int_0^\infty f_\phi(s)
        \left[ \Phi(\lambda - c s) + \Phi(-\lambda - c s) \right] ds

    where :math:`f_\phi` is the density of an estimated standard deviation with :math:`\phi` = `df`
    degrees of freedom, for a true value of 1; `noncentrality` is :math:`\lambda` of each pair, and
    `critical_value` is c.

    >>> compute_t_test_power(np.array([0.0, 2.0]), 98, 1.984467).round(4).tolist()
    [0.05, 0.5082]
    """
    bounds = np.sqrt([gammaincinv(df / 2, 1e-17) * 2 / df, gammainccinv(df / 2, 1e-17) * 2 / df])
    nodes, weights = _compute_nodes(256 if df <= 50 else 48)
    s = bounds.mean() + nodes * (bounds[1] - bounds[0]) / 2
    # Logarithms of the density, up to a constant.
    logs = xlogy(df - 1, s) - df * s**2 / 2
    weights = weights * np.exp(logs - logs.max())
    weights /= weights.sum()
    t_test_power = np.zeros(noncentrality.shape)
    for value, weight in zip(s, weights, strict=True):
        if weight > 1e-18:
            t_test_power += weight * (
                ndtr(noncentrality - critical_value * value)
                + ndtr(-noncentrality - critical_value * value)
            )
    return t_test_power


@lru_cache(maxsize=4)
def _compute_nodes(n_nodes: int) -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(n_nodes)


SOURCES = ("system", "topic", "system:topic")
"""Sources of variance; the interaction includes the residual error."""


def generalizability(
    scores: Any,
    *,
    confidence: Proportion = 0.95,
    missing: str | None = None,
    target: Proportion = 0.95,
) -> Generalizability:
    r"""Estimate variance components of scores, and their generalizability to other topics.

    Topics are assumed to be a random sample of all topics, and systems of all systems:

    .. math:: x_{ts} = \mu + \nu_s + \nu_t + \nu_{st}, \quad
        \hat\sigma^2_{st} = MS_{st}, \quad
        \hat\sigma^2_s = \frac{MS_s - MS_{st}}{n}, \quad
        \hat\sigma^2_t = \frac{MS_t - MS_{st}}{m}

    with n topics, m systems, and the mean squares MS of two-way analysis of variance.

    Parameters
    ----------
    scores
        Scores of one measure, as for :func:`cranfield.compare`, of at least two systems and two
        topics.
    confidence
        Confidence level of the intervals.
    missing
        How to treat topics without a score of a system: `error` (default), `drop` (exclude them) or
        `zero` (count missing scores as 0).
    target
        Generalizability coefficient, between 0 and 1, for which to compute the number of topics.

    Returns
    -------
    Generalizability
        Variance components, coefficients by number of topics, and the number of topics needed for a
        coefficient.

    Raises
    ------
    CranfieldError
        If scores are missing, infinite, too few, or all equal.
    PolicyError
        For an option out of range, or scores by shard.

    Notes
    -----
    Source: Brennan (2001), Generalizability theory, chapters 2 and 6; for test collections Bodoff
    and Li (2007), Kanoulas and Aslam (2009), and Urbano, Marrero and Martín (2013). Negative
    estimates are set to 0 and reported in a note; if the estimated variance of topics is
    negative, the dependability equals the relative coefficient.

    With :math:`r = \sigma^2_s / \sigma^2_{st}`, the bounds of the relative coefficient follow from
    the bounds of r, which are exact for normal effects (Feldt 1965),

    .. math:: r_{1-\alpha} = \frac{1}{n} \left( \frac{MS_s}{MS_{st} F_{\alpha}} - 1 \right), \quad
        F_{\alpha} = F_{\alpha; m-1, (m-1)(n-1)}

    and those of the dependability from the bounds of
    :math:`\sigma^2_s / (\sigma^2_t + \sigma^2_{st})` by Arteaga, Jeyaratnam and Franklin (1982),

    .. math:: \frac{m}{n} \cdot
        \frac{MS_s^2 - F' MS_s MS_{st} + (F' - F_{\alpha}) F_{\alpha} MS_{st}^2}
        {(m-1) F' MS_s MS_{st} + F'' MS_s MS_t}, \quad
        F' = F_{\alpha; m-1, \infty}, \quad F'' = F_{\alpha; m-1, n-1}

    where :math:`F_\alpha` is exceeded with probability :math:`\alpha`, which is (1 - `confidence`)
    / 2 for the lower bound and (1 + `confidence`) / 2 for the upper bound. A bound is 0 where
    :math:`MS_s \le F_{\alpha} MS_{st}`.

    Both coefficients depend on the systems: outliers, such as runs with errors, increase them.
    Studies often exclude the lowest quarter of the systems.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs, covid.qrels, "nDCG@20")
    >>> study = generalizability(ev["nDCG@20"])
    >>> round(study.compute_relative(50).value, 3), round(study.compute_absolute(50).value, 3)
    (0.989, 0.973)
    >>> study.find_required_topics(0.95)
    RequiredTopics(target=0.95, n_topics=11, low=7, high=17)
    """
    call = check_arguments(generalizability, locals())
    complete_scores = prepare_topic_scores(scores, missing)
    table, _ = fit_two_way(complete_scores.topic_scores)
    sources = [table.sources.index(name) for name in ("System", "Topic", "Error")]
    mean_squares, df = table.ms[sources], table.df[sources]
    n_topics, n_systems = complete_scores.topic_scores.shape
    ms_system, ms_topic, error_variance = mean_squares
    estimates = np.array(
        [
            (ms_system - error_variance) / n_topics,
            (ms_topic - error_variance) / n_systems,
            error_variance,
        ]
    )
    # Differences of mean squares within rounding are 0.
    estimates[np.abs(estimates) <= ROUNDING * mean_squares.max()] = 0.0
    variances = np.maximum(estimates, 0.0)
    if not variances.any():
        raise CranfieldError("variance components require different scores, got equal scores")
    notes = tuple(
        f"the estimated variance of {source}s, {estimate:.3g}, is negative and set to 0"
        for source, estimate in zip(SOURCES, estimates, strict=True)
        if estimate < 0
    )
    if not variances[[0, 2]].any():
        notes += ("the coefficients are not defined, as all systems have the same scores",)
    return Generalizability(
        call,
        measure=complete_scores.scores.measure,
        n_systems=n_systems,
        n_topics=n_topics,
        components=pl.DataFrame(
            {
                "source": SOURCES,
                "df": df.astype(np.int64),
                "mean square": mean_squares,
                "variance": variances,
                "proportion": variances / variances.sum(),
                "estimate": estimates,
            }
        ),
        notes=(*complete_scores.notes, *notes),
    )


SCORE_FREE_CORRECTIONS = ("tukey", "none", "bonferroni")
"""Corrections whose critical value does not depend on the scores."""

SIZES = (10, 25, 50, 75, 100, 150, 200, 300, 500, 1000)
"""Default numbers of topics, besides the number in the scores."""

MAX_TOPICS = 10_000_000
"""Maximum number of topics of an extrapolation."""

MEAN_ASSUMPTIONS = ("observed", "shrunk", "normal", "normal low", "normal high")
"""Assumptions on the true means of the systems."""


class Extrapolation(Study):
    """Expected significant pairs and correlations of rankings by number of topics.

    Attributes
    ----------
    measure, n_systems, n_topics
        Text form of the measure, and numbers of systems and topics.
    n_pairs, n_significant
        Number of pairs of systems, and number of significant pairs on all topics.
    curve
        The table `extrapolation`, without the column `measure`.
    generalizability
        The variance components.
    notes
        Notes on topics or scores that were excluded or imputed, and on estimates set to 0.
    """

    name = "extrapolation"
    reference: ClassVar[str] = "Brennan (2001); Louis (1984)"
    table_attributes: ClassVar[Sequence[str]] = ("curve",)
    titles: ClassVar[Mapping[str, str]] = {
        "extrapolation": (
            "Expected number of significant pairs by number of topics, and expected Kendall's"
            " tau with the true ranking and with a ranking by other topics"
        )
    }
    columns: ClassVar[Mapping[str, Columns]] = {
        "extrapolation": {
            **MEASURE_COLUMN,
            "topics": Column("Number of topics.", key=True),
            "means": Column(
                "Assumption on the true means: `observed`, equal to the observed means; `shrunk`,"
                " the observed means shrunk towards their overall mean; `normal`, a sample of a"
                " normal distribution (`normal low` and `normal high`: at bounds of its variance).",
                key=True,
            ),
            "significant": Column("Expected number of significant pairs.", decimals=1),
            "tau truth": Column(
                "Expected Kendall's tau with the ranking by the true means.", decimals=2
            ),
            "tau repeat": Column(
                "Expected Kendall's tau with the ranking by the same number of other topics.",
                decimals=2,
            ),
        }
    }

    curve: pl.DataFrame

    @property
    def verdict(self) -> tuple[str, ...]:
        size = self.curve["topics"].max()
        curve = self.curve.filter(pl.col("topics") == size)
        rows = curve.rows_by_key("means", named=True, unique=True)
        shrunk, low, high = (rows[name] for name in ("shrunk", "normal low", "normal high"))
        return (
            f"{format_prefix(self.measure)}of {inflect(self.n_pairs, 'pair')} of systems,"
            f" {self.n_significant:,} differ significantly on {inflect(self.n_topics, 'topic')}; on"
            f" {inflect(shrunk['topics'], 'topic')} the expected number is"
            f" {shrunk['significant']:.0f}, and the expected Kendall's tau with the true order is"
            f" {shrunk['tau truth']:.2f}.",
            "This assumes that scores are sums of a system effect, a topic effect and normal errors"
            " of equal variance, and that the observed means vary more than the true means."
            f" If true means are normally distributed, {low['significant']:.0f} to"
            f" {high['significant']:.0f} significant pairs are expected"
            f" ({100 * self.confidence:g}% confidence interval).",
        )

    def heading(self) -> list[str]:
        return [
            f"{format_prefix(self.measure)}{inflect(self.n_systems, 'system')},"
            f" {inflect(self.n_topics, 'topic')}: {self.n_significant} of"
            f" {inflect(self.n_pairs, 'pair')} significant by two-way ANOVA with"
            f" {self.correction}, alpha {self.alpha:g}"
        ]


def extrapolate(
    scores: Any,
    sizes: Iterable[int] | None = None,
    *,
    correction: str = "tukey",
    alpha: float = 0.05,
    confidence: float = 0.95,
    missing: str | None = None,
) -> Extrapolation:
    r"""Estimate the number of significant pairs for other numbers of topics, by two-way ANOVA.

    Parameters
    ----------
    scores, missing
        As for :func:`cranfield.meta.topic_studies.extrapolation.generalizability`.
    sizes
        Numbers of topics, 2 or more; by default ten from 10 to 1000, and the number in `scores`.
    correction, alpha
        Correction for the tests of all pairs (`tukey`, `none` or `bonferroni`), and significance
        level.
    confidence
        Confidence level of the rows `normal low` and `normal high`, between 0 and 1.

    Raises
    ------
    CranfieldError
        If scores are missing, infinite, too few, or sums of topic and system effects without error.
    PolicyError
        For an option that is unknown or out of range, or scores by shard.

    Notes
    -----
    Scores are assumed to be sums of effects of topic and system and independent normal errors with
    one variance, estimated by :math:`MS_E`. With n topics, m systems and true means :math:`\mu_i`,
    the null hypothesis for the pair i, j is then rejected with the power of a t-test with the
    pooled error variance,

    .. math:: P(|T| \ge c_n), \quad T \sim t(\phi; \lambda), \quad
        \phi = (n - 1)(m - 1), \quad \lambda = \frac{\mu_i - \mu_j}{\sigma \sqrt{2 / n}}

    where :math:`c_n` is :math:`q_\alpha(m, \phi) / \sqrt{2}` for Tukey's HSD, and a quantile of t
    without correction or with Bonferroni's. The sum over pairs is the expected number of
    significant pairs. The observed means of a pair are in their true order with probability
    :math:`\Phi(|\lambda|)`. Therefore the mean over pairs of :math:`2\Phi(|\lambda|) - 1` is the
    expected tau with the true ranking, and the mean of its square the expected tau of the rankings
    by two sets of n topics. (A true tie counts 0 in both.)

    The true means are unknown, and estimated in several ways, with the generalizability coefficient
    :math:`E\rho^2(n)` for n topics and the variances as for :func:`generalizability`:

    - `observed`: the means of the scores. They vary more than the true means, by
      :math:`\sigma^2_{st} / n`, so that numbers of significant pairs and taus are
      overestimated, most of all with few topics.
    - `shrunk`: the observed means, with their distances from the overall mean multiplied by
      :math:`\sqrt{E\rho^2(n)}` for the number of topics in `scores`. Their variance is the
      estimated variance of the true means (Louis 1984).
    - `normal`: a normal sample with the estimated variance of systems instead of these systems. The
      probability for a pair and both expected taus then have the closed forms

      .. math:: P\left(|t_\phi| \ge \frac{c_n}{\sqrt{1 + n \sigma^2_s / \sigma^2_{st}}}\right),
          \quad \frac{2}{\pi} \arcsin \sqrt{E\rho^2(n)}, \quad \frac{2}{\pi} \arcsin E\rho^2(n)

    - `normal low`, `normal high`: as `normal`, with the confidence bounds of
      :math:`\sigma^2_s / \sigma^2_{st}`.

    The systems of a collection are often far from a normal sample; for example many have similar
    means and a few failed. `shrunk` preserves the shape of the distribution of the means, and is
    the recommended row; `normal low` and `normal high` show the uncertainty of the variance of
    systems.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs, covid.qrels, "nDCG@20")
    >>> study = extrapolate(ev["nDCG@20"], [50, 200])
    >>> study
    Extrapolation(nDCG@20: 40 systems, 50 topics: 473 of 780 pairs significant by two-way ANOVA ...)
    >>> study.curve.filter(means="shrunk")["significant"].round().to_list()
    [471.0, 610.0]
    """
    call = check_arguments(extrapolate, locals())
    check_list("sizes", sizes)
    correction_name = CORRECTIONS.find(correction)
    check_choice("correction", correction_name, SCORE_FREE_CORRECTIONS)
    TestOptions(alpha=alpha)
    complete_scores = prepare_topic_scores(scores, missing)
    study = generalizability(complete_scores.scores, confidence=confidence)
    n, m = study.n_topics, study.n_systems
    parsed_sizes = sorted({*SIZES, n} if sizes is None else check_topic_sizes(sizes, MAX_TOPICS))
    error_variance = float(study.components["mean square"][2])
    if error_variance <= 0:
        raise CranfieldError(
            "expected scores with error variance, got none: results do not depend on the number of"
            " topics"
        )
    means = complete_scores.topic_scores.mean(axis=0)
    shrunk_means = means.mean() + np.sqrt(study.compute_relative().value) * (means - means.mean())
    # A coefficient r for one topic corresponds to the ratio of variances r / (1 - r).
    coefficient = study.compute_relative(1)
    # To keep the ratio finite, a coefficient of 1 is replaced by the next lower float.
    values = (coefficient.value, coefficient.low, coefficient.high)
    ratios = [r / (1 - r) for r in (min(value, math.nextafter(1, 0)) for value in values)]
    rows: list[tuple[Any, ...]] = []
    for size in parsed_sizes:
        critical_value = _compute_critical_t(correction_name, alpha, m, (size - 1) * (m - 1))
        expectations = [
            _compute_expectations(mu, error_variance, size, critical_value)
            for mu in (means, shrunk_means)
        ]
        expectations += [
            _compute_normal_expectations(ratio, m, size, critical_value) for ratio in ratios
        ]
        assumptions = zip(MEAN_ASSUMPTIONS, expectations, strict=True)
        rows += [(size, name, *expected_values) for name, expected_values in assumptions]
    differences = np.abs(pair_all(means[None]).subtract(means))
    threshold = _compute_critical_t(correction_name, alpha, m, (n - 1) * (m - 1))
    threshold *= np.sqrt(2 * error_variance / n)
    is_different = differences > ROUNDING * float(np.abs(complete_scores.topic_scores).max())
    return Extrapolation(
        call,
        measure=study.measure,
        n_systems=m,
        n_topics=n,
        correction=correction_name,
        n_pairs=int(differences.size),
        n_significant=int((is_different & (differences >= threshold)).sum()),
        curve=pl.DataFrame(rows, list(Extrapolation.columns["extrapolation"])[1:], orient="row"),
        generalizability=study,
        notes=(*complete_scores.notes, *study.notes),
    )


def _compute_expectations(
    means: Floats, error_variance: float, n_topics: int, critical_value: float
) -> tuple[float, float, float]:
    """Return the expected number of significant pairs, and both taus, for known true means."""
    standard_error = np.sqrt(2 * error_variance / n_topics)
    noncentrality = np.abs(pair_all(means[None]).subtract(means)) / standard_error
    df = (n_topics - 1) * (means.size - 1)
    n_significant = compute_t_test_power(noncentrality, df, critical_value).sum()
    expected_tau = 2 * ndtr(noncentrality) - 1
    return float(n_significant), float(expected_tau.mean()), float((expected_tau**2).mean())


def _compute_normal_expectations(
    ratio: float, n_systems: int, n_topics: int, critical_value: float
) -> tuple[float, float, float]:
    """Return the expected number of significant pairs, and both taus, for a normal sample."""
    df = (n_topics - 1) * (n_systems - 1)
    p_significant = 2 * float(stdtr(df, -critical_value / np.sqrt(1 + n_topics * ratio)))
    coefficient = n_topics * ratio / (1 + n_topics * ratio)
    tau_truth, tau_repeat = 2 / np.pi * np.arcsin([np.sqrt(coefficient), coefficient])
    return p_significant * n_systems * (n_systems - 1) / 2, float(tau_truth), float(tau_repeat)


@lru_cache(maxsize=256)  # studies of several tests need the same values
def _compute_critical_t(correction: str, alpha: float, n_systems: int, df: int) -> float:
    """Return the critical value of the absolute t statistic."""
    if correction == "tukey":
        return studentised_range_isf(alpha, n_systems, df) / float(np.sqrt(2))
    n_tests = n_systems * (n_systems - 1) // 2 if correction == "bonferroni" else 1
    return float(-stdtrit(df, alpha / n_tests / 2))
