"""Generalised linear models of scores from 0 to 1, with topics and systems as factors.

The link g of the expected score is the sum of an effect of the topic and an effect of the system.
Models are fitted by iteratively reweighted least squares. The effects of topics are eliminated from
the equations of each step, which leaves one equation for each system.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, fdtrc, logit, ndtr, ndtri, xlogy

from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import CranfieldError, PolicyError, quote
from cranfield.base.kinds import Probability, check_arguments
from cranfield.base.scale_types import Scale
from cranfield.base.spec import Spec, choice, parameter
from cranfield.base.text import format_prefix, inflect, list_some
from cranfield.result import Column, Columns, TableResult
from cranfield.significance.differences import (
    PAIR_COLUMNS,
    ROUNDING,
    Outcome,
    Pairs,
    SystemModel,
    append_values,
    bound_by_t,
    compute_difference_pvalues,
    make_pair_frame,
    pair_all,
    standardise_difference,
)
from cranfield.significance.prepare import as_scores, prepare_scores
from cranfield.significance.registry import CORRECTIONS, Test, TestOptions, find_test, register_test
from cranfield.tabular import format_pvalue

LinkFunction = Callable[[Floats], Floats]

LINKS: dict[str, tuple[LinkFunction, LinkFunction, LinkFunction]] = {
    "logit": (logit, expit, lambda eta: expit(eta) * expit(-eta)),
    "probit": (ndtri, ndtr, lambda eta: np.exp(-(eta**2) / 2) / np.sqrt(2 * np.pi)),
    "cloglog": (
        lambda mean: np.log(-np.log1p(-mean)),
        lambda eta: -np.expm1(-np.exp(eta)),
        lambda eta: np.exp(eta - np.exp(eta)),
    ),
    "loglog": (
        lambda mean: -np.log(-np.log(mean)),
        lambda eta: np.exp(-np.exp(-eta)),
        lambda eta: np.exp(-eta - np.exp(-eta)),
    ),
    "identity": (np.array, np.array, np.ones_like),
}
"""Link functions of the mean by name, with the inverse and the derivative of the inverse."""

FAMILIES = {
    "quasi-binomial": ("logit", "probit", "cloglog", "loglog"),
    "gaussian": ("logit", "identity"),
}
"""Links that each family supports."""

MAX_STEPS = 100  # of iteratively reweighted least squares
TOLERANCE = 1e-11  # largest change of the linear predictor at convergence
MAX_CHANGE = 4.0  # largest change of the linear predictor in one step
MAX_ETA = 30.0  # largest linear predictor, above which effects diverge
MIN_VARIANCE = 1e-14  # smallest value of the variance function

ERROR_RATES = "its family-wise error rate on real scores is up to 0.48 at alpha 0.05"
"""Reason not to compare systems by these models; see docs/calibration.md."""


class GeneralisedLinearModel(Spec):
    """A generalised linear model, by its family and link: `glm`, or `glm(link='probit')`.

    The family is `quasi-binomial`, with a variance proportional to m (1 - m) for an expected score
    m, or `gaussian`, with constant variance. The link is `logit`; for the quasi-binomial family
    also `probit`, `cloglog` or `loglog`; for the Gaussian family also `identity` (two-way ANOVA).

    Examples
    --------
    >>> scores = np.array([[0.2, 0.5], [0.4, 0.6], [0.1, 0.1]])
    >>> GeneralisedLinearModel(link="probit").fit(scores).model.means.round(4).tolist()
    [-0.2594, 0.2594]
    """

    name = "glm"
    family: str = parameter("quasi-binomial", choice(*FAMILIES), "distribution of the scores")
    link: str = parameter("logit", choice(*LINKS), "link function of the expected score")

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        if self.link not in FAMILIES[self.family]:
            raise self.error(
                f"glm: link {self.link!r} cannot be combined with family {self.family!r}; use"
                f" {' or '.join(FAMILIES[self.family])}"
            )

    def compute_variance(self, mean: Floats) -> Floats:
        """Return the variance function: the variance of a score divided by the scale."""
        if self.family == "gaussian":
            return np.ones_like(mean)
        return np.maximum(mean * (1 - mean), MIN_VARIANCE)

    def compute_deviance(self, values: Floats, mean: Floats) -> float:
        """Return the deviance of scores from their expected values."""
        if self.family == "gaussian":
            return float(((values - mean) ** 2).sum())
        upper = xlogy(values, values) - xlogy(values, mean)
        lower = xlogy(1 - values, 1 - values) - xlogy(1 - values, 1 - mean)
        return 2 * float((upper + lower).sum())

    def fit(self, values: Floats) -> GlmFit:
        """Fit the model to complete scores, shape (topics, systems).

        With links other than `identity`, topics on which all systems score 0, or all 1, have no
        finite effect and are excluded, which changes no other effect. So are systems that score 0,
        or 1, on all topics.

        Raises
        ------
        CranfieldError
            If fewer than two topics or systems have finite effects, or the fit does not converge.
        """
        has_topic, has_system = self._find_finite_effects(values)
        cells = np.ix_(has_topic, has_system)
        scores = values[cells]
        n_topics, n_systems = scores.shape
        if min(n_topics, n_systems) < 2:
            raise CranfieldError(
                "glm requires at least two topics and two systems whose scores are not all 0 or all"
                f" 1, got {n_topics} and {n_systems}"
            )
        mean, effects, weights = self._fit_iteratively(scores)
        residuals = scores - mean
        residuals[np.abs(residuals) <= ROUNDING] = 0.0
        df = (n_topics - 1.0) * (n_systems - 1)
        scale = float((residuals**2 / self.compute_variance(mean)).sum()) / df
        deviance = self.compute_deviance(scores, mean)
        f = pvalue = np.nan
        if scale > 0:
            null_deviance = self.compute_deviance(scores, scores.mean(axis=1, keepdims=True))
            # With equal means of systems, rounding may make the difference negative.
            f = max(0.0, null_deviance - deviance) / (n_systems - 1) / scale
            pvalue = float(fdtrc(n_systems - 1, df, f))
        fitted, all_effects = values.copy(), np.full(has_system.size, np.nan)
        fitted[cells], all_effects[has_system] = mean, effects
        covariance = np.full((has_system.size, has_system.size), np.nan)
        covariance[np.ix_(has_system, has_system)] = np.linalg.inv(_make_laplacian(weights))
        counts = np.full(has_system.size, float(n_topics))
        model = LinkModel(all_effects, scale, counts, df, location="effect", covariance=covariance)
        return GlmFit(has_topic, has_system, fitted, model, deviance, f, pvalue)

    def _find_finite_effects(self, values: Floats) -> tuple[Bools, Bools]:
        """Return masks of the topics and the systems with finite effects."""
        has_topic, has_system = (np.ones(size, dtype=bool) for size in values.shape)
        n_included = -1
        while self.link != "identity" and n_included != has_topic.sum() + has_system.sum():
            n_included = has_topic.sum() + has_system.sum()
            if has_system.any():
                has_topic &= _is_inside(values[:, has_system].mean(axis=1))
            if has_topic.any():
                has_system &= _is_inside(values[has_topic].mean(axis=0))
        return has_topic, has_system

    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def _fit_iteratively(self, scores: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the expected scores, the effects of systems, and the weights of the last step."""
        link, inverse, derivative = LINKS[self.link]
        eta = np.repeat(link(scores.mean(axis=1, keepdims=True)), scores.shape[1], axis=1)
        effects = np.zeros(scores.shape[1])
        for _ in range(MAX_STEPS):
            mean, slope = inverse(eta), derivative(eta)
            ratio = slope / self.compute_variance(mean)
            weights, residuals = ratio * slope, ratio * (scores - mean)
            topic_weights = weights.sum(axis=1)
            topic_changes = residuals.sum(axis=1) / topic_weights
            right_side = residuals.sum(axis=0) - weights.T @ topic_changes
            try:
                system_changes = np.linalg.solve(_make_laplacian(weights), right_side)
            except np.linalg.LinAlgError:
                break
            topic_changes = topic_changes - weights @ system_changes / topic_weights
            changes = topic_changes[:, None] + system_changes
            largest_change = float(np.abs(changes).max())
            damping = MAX_CHANGE / max(largest_change, MAX_CHANGE)
            eta, effects = eta + damping * changes, effects + damping * system_changes
            if self.link != "identity" and not np.abs(eta).max() <= MAX_ETA:
                break
            if largest_change <= TOLERANCE:
                return inverse(eta), effects, weights
        raise CranfieldError(
            f"{self} did not converge, which happens if effects of topics or systems are"
            " infinite; differences then have no p-values"
        )


def _is_inside(means: Floats) -> Bools:
    """Return a mask of the means that are neither 0 nor 1, within rounding."""
    return np.asarray((means > ROUNDING) & (means < 1 - ROUNDING))


def _make_laplacian(weights: Floats) -> Floats:
    """Return the matrix of the equations of systems, after elimination of the topics."""
    topic_part = weights.T @ (weights / weights.sum(axis=1, keepdims=True))
    matrix = np.diag(weights.sum(axis=0)) - topic_part
    # A constant makes the matrix regular, without changing differences of effects.
    return np.asarray(matrix + np.trace(matrix) / len(matrix) ** 2)


@dataclass(frozen=True, eq=False, kw_only=True)
class LinkModel(SystemModel):
    """Effects of systems on the scale of the link; standard errors differ between pairs."""

    covariance: Floats  # of the effects, divided by the scale, up to a constant

    def estimate_errors(self, pairs: Pairs) -> Floats:
        variances = np.diag(self.covariance)
        covariances = self.covariance[pairs.first, pairs.second]
        relative_variances = variances[pairs.first] + variances[pairs.second] - 2 * covariances
        return np.asarray(np.sqrt(self.error_variance * np.maximum(relative_variances, 0.0)))


@dataclass(frozen=True, eq=False)
class GlmFit:
    """A fitted generalised linear model."""

    has_topic: Bools  # mask of the topics that the fit includes
    has_system: Bools
    fitted: Floats  # expected scores, shape (topics, systems); observed ones in excluded cells
    model: LinkModel  # effects of systems (NaN for excluded systems), and the scale
    deviance: float  # of the included scores
    f: float  # of the test that all systems are equal; NaN if no residuals remain
    pvalue: float


@register_test(
    "glm",
    aliases=("generalised-linear-model", "generalized-linear-model"),
    spec=GeneralisedLinearModel(),
    family="glm",
    has_model=True,
    requires_bounded_scores=True,
    scale=Scale.RATIO,
    refusal=f"{ERROR_RATES}; use anova-2 with the correction bootstrap-tukey",
)
def glm_test(pairs: Pairs, options: TestOptions, spec: GeneralisedLinearModel) -> Outcome:
    r"""Generalised linear model.

    asks: Do the effects of the systems differ, after effects of topics, on the scale of the link
        function?
    null: The two systems have the same effect; with the quasi-binomial family and the logit link,
        equal effects mean equal mean scores.
    assumes: Effects of topic and system add up on the scale of the link; errors are independent,
        and their variance is the scale times m (1 - m) for an expected score m, or constant for the
        Gaussian family. The variances of differences between real systems are more unequal.
    when: Only for studies of tests, with scores from 0 to 1. Do not use it to claim that systems
        differ: its error rates on real scores are above alpha.
    formula: g(E[y_{ij}]) = \mu + \tau_i + \alpha_j, \quad t = \frac{\hat{\alpha}_u -
        \hat{\alpha}_v}{\sqrt{\hat{\phi} \, c_{uv}}}, \quad \hat{\phi} = \frac{1}{(n - 1)(S - 1)}
        \sum_{ij} \frac{(y_{ij} - \hat{m}_{ij})^2}{V(\hat{m}_{ij})}
    statistic: Wald's t on the scale of the link, or q with Tukey's HSD
    effect: difference of average expected scores
    interval: difference of effects on the scale of the link
    source: Nelder and Wedderburn (1972); Wedderburn (1974)
    convention: The scale is always estimated, by Pearson's chi-squared. Except with the identity
        link, topics on which all systems score 0, or all 1, are excluded, as their effect is
        infinite; so are systems with 0 or 1 on all topics, whose pairs have no p-value and are not
        significant. A model that does not converge has no p-values. Beta regression is not offered:
        with topics as fixed effects its likelihood ratio test rejects far too often.
    """
    fit = spec.fit(pairs.values)
    model = fit.model
    difference, standard_error = model.subtract(pairs), model.estimate_errors(pairs)
    t = standardise_difference(difference, standard_error)
    pvalue = compute_difference_pvalues(t, standard_error, model.df, options.alternative)
    return Outcome(
        statistic=t,
        pvalue=np.where(np.isnan(difference), np.nan, pvalue),
        effect=pairs.subtract(fit.fitted.mean(axis=0)),
        interval=partial(bound_by_t, difference, standard_error, model.df),
        n=np.full(len(pairs), int(fit.has_topic.sum())),
        model=model,
    )


def correct_testable_pairs(
    test: Test, correction: str, pairs: Pairs, options: TestOptions
) -> tuple[Outcome, Floats]:
    """Compare pairs; return the outcome and adjusted p-values, NaN for pairs without a p-value."""
    outcome = test.run(pairs, options)
    is_testable = ~np.isnan(outcome.pvalue)
    pvalues = np.full(len(pairs), np.nan)
    if is_testable.any():
        subset = replace(pairs, first=pairs.first[is_testable], second=pairs.second[is_testable])
        subset_outcome = outcome if is_testable.all() else test.run(subset, options)
        pvalues[is_testable] = CORRECTIONS[correction].run(subset_outcome, subset, options).pvalue
    return outcome, pvalues


@dataclass(frozen=True, eq=False, repr=False)
class GlmComparison(TableResult):
    """Comparison of systems by a generalised linear model; returned by :func:`compare_glm`.

    Attributes
    ----------
    measure
        The measure; empty if it is not known.
    model, correction, alpha
        Text form of the model, name of the correction, and significance level.
    n_topics, deviance, scale, df
        Number of topics of the fit, deviance, estimated scale, and residual degrees of freedom.
    f, pvalue
        F test that all systems are equal.
    notes
        Notes on excluded topics and systems, and on the error rates of the test.
    """

    name: ClassVar[str] = "pairs"
    columns: ClassVar[Columns] = {
        **PAIR_COLUMNS,
        "estimate": Column("Difference of effects on the link scale; null for excluded systems."),
        "se": Column("Standard error of the estimate; null without an estimate."),
        "t": Column("Wald statistic: the estimate divided by its standard error."),
        "raw p": Column("p-value of the pair, uncorrected; null if not tested.", is_pvalue=True),
        "p": Column("p-value after the correction; null if not tested.", is_pvalue=True),
        "difference": Column("Difference of the average expected scores of the systems."),
    }

    measure: str
    model: str
    correction: str
    alpha: float
    n_topics: int
    deviance: float
    scale: float
    df: float
    f: float
    pvalue: float
    notes: tuple[str, ...] = ()

    def heading(self) -> list[str]:
        return [
            f"{format_prefix(self.measure)}generalised linear model {self.model}, correction"
            f" {self.correction}",
            f"{inflect(self.n_topics, 'topic')}, {inflect(self.rows.height, 'pair')}:"
            f" {(self.rows['p'] <= self.alpha).sum():,} with p at most {self.alpha:g}; deviance"
            f" {self.deviance:.4g}, scale {self.scale:.4g}, {self.df:.0f} degrees of freedom",
            f"test that all systems are equal: F = {self.f:.4f}, p = {format_pvalue(self.pvalue)}",
        ]


def compare_glm(
    scores: Any,
    model: str | GeneralisedLinearModel = "glm",
    *,
    correction: str | None = None,
    alpha: Probability = 0.05,
    missing: str | None = None,
) -> GlmComparison:
    """Compare all pairs of systems by a generalised linear model of scores from 0 to 1.

    Fixed effects of topics and of systems add up on the scale of the link. The family-wise error
    rate on real scores is above alpha, so :func:`cranfield.compare` does not offer the test.

    Parameters
    ----------
    scores
        Scores of one measure: :class:`Scores`, or any input that can be read as such.
    model
        `glm`, quasi-binomial with the logit link; or another family and link, such as
        `glm(link='probit')` or `glm(family='gaussian', link='identity')`.
    correction
        Correction for multiple comparisons; by default Holm's. Tukey's HSD is exact only for the
        Gaussian family with the identity link.
    alpha
        Significance level.
    missing
        Policy for missing scores: `error`, the default; `drop` excludes topics that lack a score;
        `zero` replaces missing scores by 0.

    Raises
    ------
    PolicyError
        For an unknown family, link or correction, an invalid alpha, or scores by shard.
    CranfieldError
        For scores below 0 or above 1, missing or too few scores, or a model that does not converge.

    Notes
    -----
    Sources: Nelder and Wedderburn (1972); Wedderburn (1974). The F of all S systems is the
    difference of the deviances without and with systems, divided by S - 1 and the scale.

    Examples
    --------
    >>> scores = {"a": [0.2, 0.4, 0.3], "b": [0.3, 0.5, 0.5], "c": [0.8, 0.7, 0.9]}
    >>> comparison = compare_glm(scores)
    >>> comparison.estimate.round(4).tolist(), comparison.p.round(4).tolist()
    ([-0.589, -2.2733, -1.6842], [0.207, 0.0199, 0.0331])
    """
    check_arguments(compare_glm, locals())
    test = find_test(str(model))
    spec = test.spec
    if not isinstance(spec, GeneralisedLinearModel):
        raise PolicyError(f"expected a generalised linear model such as glm, got {str(model)!r}")
    correction_name = test.info.find_correction(correction or test.info.correction)
    inputs = prepare_scores(as_scores(scores), test.info, missing)
    pairs, fit = pair_all(inputs.topic_scores), spec.fit(inputs.topic_scores)
    options = TestOptions(alpha=alpha)
    outcome, pvalues = correct_testable_pairs(test, correction_name, pairs, options)
    used_scores, link_model = inputs.scores, fit.model
    estimates = link_model.subtract(pairs), link_model.estimate_errors(pairs), outcome.statistic
    names = make_pair_frame(used_scores.systems, pairs.first, pairs.second)
    values = *estimates, outcome.pvalue, pvalues, outcome.effect
    rows = append_values(names, GlmComparison.columns, *values)
    notes = [*inputs.notes, f"do not use this test to claim that systems differ: {ERROR_RATES}"]
    if excluded_topics := np.array(used_scores.topics)[~fit.has_topic].tolist():
        notes.append(describe_excluded_topics(excluded_topics))
    if excluded_systems := np.array(used_scores.systems)[~fit.has_system].tolist():
        notes.append(
            f"pairs with {list_some(map(quote, excluded_systems), 3)} are not tested, as these"
            " systems have only scores of 0, or only scores of 1"
        )
    return GlmComparison(
        rows.fill_nan(None),
        measure=used_scores.measure or "",
        model=str(spec),
        correction=correction_name,
        alpha=alpha,
        n_topics=int(fit.has_topic.sum()),
        deviance=fit.deviance,
        scale=link_model.error_variance,
        df=link_model.df,
        f=fit.f,
        pvalue=fit.pvalue,
        notes=tuple(notes),
    )


def describe_excluded_topics(topics: Sequence[str]) -> str:
    """Return a note on topics that a model excludes."""
    return (
        f"glm excludes {inflect(len(topics), 'topic')} with only scores of 0, or only scores of 1:"
        f" {list_some(map(quote, topics), 3)}"
    )
