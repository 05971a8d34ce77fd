"""ANOVA of scores by shard: with random topics (a mixed model), and three-way; bootstrap ANOVA.

With random topics, a score is the sum of a fixed effect of the system, random effects of the topic,
of topic by system and of topic by shard, and an error. All systems have the same cells (topic,
shard), so the model separates into two independent parts: the means over systems, and the
deviations of systems from them. Each is a one-way model of cells in random topics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cranfield.base.arrays import Floats, Indices, slice_rows
from cranfield.base.errors import CranfieldError
from cranfield.base.parallel import map_in_threads
from cranfield.base.streams import make_stream
from cranfield.significance.differences import (
    ROUNDING,
    Outcome,
    Pairs,
    SystemModel,
    compute_group_means,
    standardise_difference,
)
from cranfield.significance.models.anova import (
    ANOVA,
    ERROR_EFFECT,
    compare_by_analysis,
    find_scored_cells,
    fit_factorial,
    fit_three_way,
    fit_two_way,
    fit_two_way_model,
)
from cranfield.significance.models.anova_table import (
    AnovaTable,
    compute_f,
    compute_sphericity,
    make_table,
)
from cranfield.significance.registry import TestOptions, register_test
from cranfield.significance.resampling import (
    DRAWS_PER_BLOCK,
    RELATIVE_TOLERANCE,
    as_integers,
    bound_by_bootstrap_t,
    count_extremes,
    estimate_pvalues,
)
from cranfield.tabular import format_pvalue

VARIANCE_RATIOS = np.concatenate([[0.0], np.logspace(-6, 8, 113)])
"""Grid of ratios of the variance between groups to the variance within groups."""


@dataclass(frozen=True, eq=False)
class GroupsFit:
    """Means, the variance of a mean with its df, and the variances between and within groups."""

    mean: Floats
    variance: float
    df: float
    between_variance: float
    within_variance: float


class RandomGroups:
    r"""Observations in groups, by column: a mean, a random effect of the group, and an error.

    .. math:: y_{ti} = \mu + u_t + e_{ti}, \quad u_t \sim N(0, \sigma_u^2), \quad
        e_{ti} \sim N(0, \sigma_e^2), \quad i = 1, \dots, n_t

    Each column has its own mean; all share both variances. After a rotation, the columns are
    `n_samples` independent samples of this model: one for each column; one less if rows sum to 0.
    """

    def __init__(self, rows: Floats, labels: Indices, n_samples: int, tolerance: float) -> None:
        self.n_samples = n_samples
        # The group of each row, and the number of rows and the means of each group.
        self.group, self.counts, self.means = compute_group_means(rows, labels)
        self.centre = rows.mean(axis=0)
        self.deviations, residuals = self.means - self.centre, rows - self.means[self.group]
        for values in (self.deviations, residuals):
            values[np.abs(values) <= tolerance] = 0.0
        # Sums of squares between and within groups.
        self.ss_between = float((self.counts[:, None] * self.deviations**2).sum())
        self.ss_within = float((residuals**2).sum())

    def fit(self) -> GroupsFit:
        """Estimate means and variances by restricted maximum likelihood.

        If all groups have the same size, the mean square between groups gives the variance of the
        mean. Otherwise the model gives it, with Satterthwaite's degrees of freedom from the
        observed information, as in lmerTest; a variance of 0 between groups is treated as known.
        """
        n, n_groups = self.counts, self.counts.size
        n_rows, df = float(n.sum()), self.n_samples * (n_groups - 1.0)
        products = self.deviations @ self.deviations.T
        ratio = self._estimate_ratio(products)
        if np.isinf(ratio):
            weights = np.ones(n_groups)
            sigma2_u = _sum_squares(products, weights[None, :])[0].item() / df
            sigma2_e = 0.0 if n_rows > n_groups else np.nan
            variance = sigma2_u / n_groups
        else:
            weights = n / (1 + n * ratio)
            residual_ss = self.ss_within + _sum_squares(products, weights[None, :])[0].item()
            sigma2_e = residual_ss / (self.n_samples * (n_rows - 1))
            sigma2_u, variance = ratio * sigma2_e, sigma2_e / float(weights.sum())
        if (n == n[0]).all():
            variance = self.ss_between / df / n_rows
        elif ratio == 0:
            df = self.n_samples * (n_rows - 1)
        elif np.isfinite(ratio):
            df = self._compute_satterthwaite_df(
                weights, products / sigma2_e, self.ss_within / sigma2_e
            )
        mean = self.centre + weights @ self.deviations / weights.sum()
        return GroupsFit(mean, variance, df, sigma2_u, sigma2_e)

    def _estimate_ratio(self, products: Floats) -> float:
        """Return the REML estimate of the variance between groups divided by that within."""
        if self.ss_within == 0:
            return np.inf
        if not self.deviations.any():
            return 0.0
        deviance, _ = self._profile_likelihood(VARIANCE_RATIOS, products)
        best_index = int(deviance.argmin())
        if best_index == VARIANCE_RATIOS.size - 1:
            return np.inf
        low, high = VARIANCE_RATIOS[max(best_index - 1, 0)], VARIANCE_RATIOS[best_index + 1]

        def compute_slope(ratio: float) -> float:
            return float(self._profile_likelihood(np.array([ratio]), products)[1][0])

        if compute_slope(low) < 0 < compute_slope(high):
            # The optimisers of SciPy take long to load.
            from scipy.optimize import brentq

            return float(brentq(compute_slope, low, high, xtol=1e-300, rtol=1e-14))
        return float(VARIANCE_RATIOS[best_index])

    def _profile_likelihood(self, ratios: Floats, products: Floats) -> tuple[Floats, Floats]:
        """Return -2 restricted log likelihood, up to a constant, and its slope, by ratio."""
        n, n_rows = self.counts, self.counts.sum()
        weights = n / (1 + n * ratios[:, None])
        between_ss, squared_distances = _sum_squares(products, weights)
        sum_w = weights.sum(axis=1)
        residual_ss = self.ss_within + between_ss
        deviance = (n_rows - 1) * np.log(residual_ss) - np.log(weights).sum(axis=1) + np.log(sum_w)
        ss_slope = -(weights**2 * squared_distances).sum(axis=1)
        slope = (n_rows - 1) * ss_slope / residual_ss + sum_w - (weights**2).sum(axis=1) / sum_w
        return deviance, slope

    def _compute_satterthwaite_df(
        self, weights: Floats, products: Floats, ss_within: float
    ) -> float:
        """Return 2 E[V]^2 / Var[V] of the variance V of the mean; the error variance is 1."""
        n, p, w, sum_w = self.counts, self.n_samples, weights, weights.sum()
        proportions = w / sum_w
        centred_products = products - (products @ proportions)[:, None]
        centred_products = centred_products - proportions @ centred_products
        # First derivatives of the weights by the variances; derivatives of the deviance by weights.
        jacobian = -np.stack([w**2, w**2 / n])
        slope = p * (1 / sum_w - 1 / w) + np.diag(centred_products)
        hessian = p * (np.diag(1 / w**2) - 1 / sum_w**2) - 2 * centred_products / sum_w
        # Second derivatives of the weights by the variances, times the slope.
        second_order = 2 * np.stack([w**3, w**3 / n, w**3 / n**2]) @ slope
        information = jacobian @ hessian @ jacobian.T + second_order[[[0, 1], [1, 2]]]
        information[1, 1] += 2 * ss_within - p * (n.sum() - n.size)
        gradient = -jacobian.sum(axis=1) / sum_w**2
        covariance = 2 * np.linalg.inv(information)
        return float(2 / sum_w**2 / (gradient @ covariance @ gradient))


def _sum_squares(products: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return weighted sums of squares of rows, from their Gram matrix, and squared distances."""
    proportions = weights / weights.sum(axis=1, keepdims=True)
    products_with_mean = proportions @ products
    squared_distances = np.diag(products) - 2 * products_with_mean
    squared_distances += (products_with_mean * proportions).sum(axis=1, keepdims=True)
    return (weights * squared_distances).sum(axis=1), squared_distances


def fit_random_topics_model(values: Floats) -> SystemModel:
    """Fit the model of random topics; if no cells are missing, without the slower table."""
    if np.isnan(values).any():
        return fit_random_topics(values)[1]
    return fit_two_way_model(values.mean(axis=2))


@register_test(
    "random-topics",
    aliases=("mixed", "anova-random"),
    fit=fit_random_topics_model,
    error="two-way ANOVA error of topic means over shards",
    allows_unequal_variances=True,
    shards="required",
    **ANOVA,
)
def random_topics_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""ANOVA with random topics.

    asks: Do the mean scores of the systems differ by more than the variation of differences
        between topics explains?
    null: All systems have the same effect.
    assumes: Topics are a random sample of all topics; effects of topics, of topics by systems,
        of cells and errors are independent and normal, each with one variance.
    when: Scores by shard of the collection, or of several variations of each topic's query:
        results generalise to other topics.
    formula: y_{tsk} = \mu + \alpha_s + \tau_t + (\tau\alpha)_{ts} + (\tau\beta)_{tk} +
        \varepsilon_{tsk}, \quad F = \frac{\mathit{MS}_{System}}{\mathit{MS}_{Topic:System}}
    source: Scheffé (1959), chapter 8; Patterson and Thompson (1971); Satterthwaite (1946); for
        query variations Culpepper et al. (2022)
    convention: Without missing cells it is two-way ANOVA of each topic's mean over its shards. With
        missing cells, the same for all systems (see the policy `missing`), variances are
        estimated by restricted maximum likelihood, differences by generalised least squares,
        and degrees of freedom by Satterthwaite's formula, as in lme4 and lmerTest. A negative
        estimate of the variance of topics or of cells is reported as 0, without changing the other
        estimates; lme4 estimates them again under that bound, which may change standard errors
        by 10%.
    """
    return compare_by_analysis(fit_random_topics, pairs, options)


@register_test(
    "anova-3",
    aliases=("md3", "anova-three-way"),
    fit=lambda values: fit_three_way(values)[1],
    samples_topics=False,
    shards="required",
    **ANOVA,
)
def three_way_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Three-way ANOVA on shards (MD3).

    asks: Do the mean scores of the systems on these topics differ, after effects of topics,
        shards, and interactions of two of the three factors?
    null: All systems have the same effect.
    assumes: Topics are fixed: results do not generalise to other topics. Errors are independent and
        normal, with one variance.
    when: Only to reproduce the model of the paper; otherwise use random-topics. The error excludes
        the variation of differences between topics, so that differences may be significant that do
        not hold on other topics.
    formula: y_{ijk} = \mu_{\cdot\cdot\cdot} + \tau_i + \alpha_j + \beta_k + (\tau\alpha)_{ij} +
        (\tau\beta)_{ik} + (\alpha\beta)_{jk} + \varepsilon_{ijk}
    source: Ferro and Sanderson (2022), section 3.1
    convention: Topics without relevant documents in a shard leave missing cells: see the policy
        `missing`. Sums of squares are then of type II, by exact least squares. A note reports the F
        of random-topics for comparison.
    """
    outcome = compare_by_analysis(fit_three_way, pairs, options)
    assert outcome.table is not None
    return replace(outcome, notes=describe_fixed_topics(outcome.table, pairs.scores))


def describe_fixed_topics(table: AnovaTable, values: Floats) -> tuple[str, ...]:
    """Return a note that the results hold for these topics only, with the F of random topics."""
    note = (
        "the results of this test hold for these topics only, as its error excludes how differences"
        " of systems vary from topic to topic"
    )
    fixed_f, fixed_p = table.get_f("System")
    random_f, random_p = fit_random_topics(values)[0].get_f("System")
    if np.isnan([fixed_f, fixed_p, random_f, random_p]).any():
        return (f"{note}; the error of the test random-topics includes this variation",)
    return (
        f"{note}: with Error as the denominator, F of System is {fixed_f:.4g} (p"
        f" {format_pvalue(fixed_p)}); with Topic:System, as in the test random-topics, which holds"
        f" for other topics too, it is {random_f:.4g} (p {format_pvalue(random_p)})",
    )


def fit_random_topics(values: Floats) -> tuple[AnovaTable, SystemModel]:
    """Fit the ANOVA with random topics to scores of shape (topics, systems, shards).

    A cell of topic and shard has scores of all systems, or is NaN for all. The error of a
    difference is its variation between topics: the mean square of topic by system if all topics
    have the same number of scores, otherwise an estimate by :meth:`RandomGroups.fit`.
    """
    topic_of_cell, shard_of_cell = find_scored_cells(values)
    cells = values[topic_of_cell, :, shard_of_cell]
    n_systems, n_topics, n_cells = values.shape[1], np.unique(topic_of_cell).size, len(cells)
    if n_topics < 2:
        raise CranfieldError(
            f"ANOVA with random topics requires at least two topics with scores, got {n_topics}"
        )
    cell_means = cells.mean(axis=1, keepdims=True)
    tolerance = ROUNDING * float(np.abs(cells).max())
    deviations = cells - cell_means
    deviations[np.abs(deviations) <= tolerance] = 0.0
    averages = RandomGroups(cell_means, topic_of_cell, 1, tolerance)
    contrasts = RandomGroups(deviations, topic_of_cell, n_systems - 1, tolerance)
    averages_fit, fit = averages.fit(), contrasts.fit()
    means = averages_fit.mean + fit.mean
    fitted = np.full(values.shape, np.nan)
    fitted[topic_of_cell, :, shard_of_cell] = cell_means + contrasts.means[contrasts.group]
    table = make_table(
        "score ~ system + (1|topic) + (1|topic:system) + (1|topic:shard)",
        {
            "Topic": (n_systems * averages.ss_between, n_topics - 1.0),
            "System": (float(n_cells * (contrasts.centre**2).sum()), n_systems - 1.0),
            "Topic:System": (contrasts.ss_between, (n_topics - 1.0) * (n_systems - 1)),
            "Topic:Shard": (n_systems * averages.ss_within, float(n_cells - n_topics)),
        },
        (contrasts.ss_within, (n_cells - n_topics) * (n_systems - 1.0)),
        values=values,
        fitted=fitted,
        means={"System": means},
    )
    # Balanced: all topics with scores have the same number of shards.
    is_balanced = bool((contrasts.counts == contrasts.counts[0]).all())
    variance_of_means = float((fit.mean**2).sum()) / (n_systems - 1)
    f = compute_f(variance_of_means, fit.variance)
    approximation = f"a variance with {fit.df:.1f} degrees of freedom (Satterthwaite)"
    denominator = "Topic:System" if is_balanced else approximation
    table = table.with_f("Topic", np.nan, np.nan, n_cells)
    table = table.with_f("System", f, fit.df, n_topics * n_systems)
    components = {
        "Topic": max(0.0, averages_fit.between_variance - fit.between_variance / n_systems),
        "Topic:System": fit.between_variance,
        "Topic:Shard": max(0.0, averages_fit.within_variance - fit.within_variance / n_systems),
        "Error": fit.within_variance,
    }
    table = replace(
        table,
        components={} if np.isnan(fit.within_variance) else components,
        notes=(f"denominator of F: {denominator} for System, Error for the interactions",),
        sphericity=compute_sphericity(contrasts.means, f) if is_balanced else None,
    )
    counts = np.full(n_systems, float(n_topics))
    return table, SystemModel(means, n_topics * fit.variance, counts, fit.df)


@register_test(
    "bootstrap-anova",
    aliases=("banova",),
    family="bootstrap",
    symbol="",
    has_model=True,
    is_random=True,
    samples_topics=False,
    shards="accepted",
    correction="bh",
    baseline_correction="bh",
    **ERROR_EFFECT,
)
def bootstrap_anova_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Bootstrap ANOVA.

    asks: If two systems had the same effect and residuals were drawn anew, how often would their
        estimated effects differ at least as much as observed?
    null: The two systems have the same effect.
    assumes: Residuals are exchangeable: independent, with one distribution, of any shape. With
        shards, topics are fixed, as in three-way ANOVA.
    when: Several systems on the same topics, when errors are far from normal. With scores by
        shard the results hold for these topics only, as the error excludes the variation of
        differences between topics.
    formula: p = \frac{|\{b : |t^{*b}_{uv}| \ge |t_{uv}|\}| + 1}{B + 1}, \quad t_{uv} =
        \frac{\hat{\alpha}_u - \hat{\alpha}_v}{\sqrt{\mathit{MS}_{Error}}}
    statistic: difference of means
    interval: difference of means
    source: Voorhees, Samarov and Soboroff (2017)
    convention: The model is topic + system, with shards also topic:system. Residuals of all cells
        are drawn with replacement, and the model is fitted again. Differences are divided by the
        error of the new fit; otherwise small experiments reject too often. The interval uses the
        quantile of |t| over the same fits; the interval of a one-sided test, the quantile of t.
    """
    scores = pairs.scores
    if scores.ndim == 2:
        table, _ = fit_two_way(scores)
    elif scores.shape[2] < 2:
        raise CranfieldError(
            "bootstrap ANOVA of scores by shard requires at least two shards, got one"
        )
    else:
        # Shards are replicates.
        table = fit_factorial(scores, "Topic", "System", "Topic:System")
    difference = pairs.compute_mean_differences(table.means["System"])
    refits = Refits.draw(table.residuals.reshape(*scores.shape[:2], -1), options)
    root_ms_error = np.sqrt(table.ms_error)
    errors = np.full(len(pairs), root_ms_error)
    resample = partial(refits.studentise, root_ms_error=root_ms_error)
    t = standardise_difference(difference, errors)
    n_extreme = count_extremes(pairs, t, resample, options, rtol=RELATIVE_TOLERANCE)
    return Outcome(
        statistic=difference,
        pvalue=estimate_pvalues(n_extreme, options.resamples),
        effect=t,
        interval=partial(bound_by_bootstrap_t, pairs, difference, errors, resample, options),
        n=np.full(len(pairs), scores.shape[0]),
        details={"resamples": options.resamples, "seed": options.seed},
        table=table,
        notes=describe_fixed_topics(table, scores) if scores.ndim == 3 else (),
    )


@dataclass(frozen=True, eq=False)
class Refits:
    """Fits of the model to resampled residuals."""

    effects: Floats  # mean of each system's resampled residuals, shape (systems, resamples)
    root_ms_errors: Floats  # root of the mean square error of each fit, shape (resamples,)

    @classmethod
    def draw(cls, residuals: Floats, options: TestOptions) -> Refits:
        """Draw residuals, shape (topics, systems, shards), for every cell, and fit the model."""
        n_topics, n_systems, n_shards = residuals.shape
        cells = residuals.ravel()
        # Exact for twice the number of terms, so that differences of two sums are exact, too.
        integers, unit = as_integers(cells, 2 * cells.size)
        integer_squares, square_unit = as_integers((integers * unit) ** 2, cells.size)
        effects = np.empty((n_systems, options.resamples))
        root_ms_errors = np.empty(options.resamples)
        slices = list(slice_rows(options.resamples, cells.size, DRAWS_PER_BLOCK))

        def refit(k: int) -> None:
            rng = make_stream(options.seed, k)
            rows = slices[k]
            shape = (rows.stop - rows.start, n_systems, n_topics, n_shards)
            draws = rng.integers(0, cells.size, size=shape)
            values = integers[draws]
            system_sums = values.sum(axis=(2, 3))
            total_ss = integer_squares[draws].sum(axis=(1, 2, 3)) * square_unit
            if n_shards > 1:
                # Each topic and system has a mean of its own.
                explained_ss = sum_exact_squares(values.sum(axis=3), unit) / n_shards
                df = n_topics * n_systems * (n_shards - 1)
            else:
                explained_ss = (
                    sum_exact_squares(values.sum(axis=(1, 3)), unit) / n_systems
                    + sum_exact_squares(system_sums, unit) / n_topics
                    - sum_exact_squares(system_sums.sum(axis=1, keepdims=True), unit) / cells.size
                )
                df = (n_topics - 1) * (n_systems - 1)
            effects[:, rows] = system_sums.T * (unit / (n_topics * n_shards))
            root_ms_errors[rows] = np.sqrt(np.maximum(total_ss - explained_ss, 0.0) / df)

        map_in_threads(refit, range(len(slices)), options.jobs)
        return cls(effects, root_ms_errors)

    def studentise(self, pairs: Pairs, root_ms_error: float) -> Floats:
        """Divide differences of effects by the error of their fit; 0 if `root_ms_error` is 0."""
        if root_ms_error == 0:
            return np.zeros((len(pairs), self.root_ms_errors.size))
        differences = pairs.subtract(self.effects)
        with np.errstate(divide="ignore", invalid="ignore"):
            differences /= self.root_ms_errors
        differences[np.isnan(differences)] = 0.0
        return differences


def sum_exact_squares(sums: Floats, unit: float) -> Floats:
    """Return the sum of squares of each row, independent of the order of its terms."""
    terms = (sums.reshape(len(sums), -1) * unit) ** 2
    integers, square_unit = as_integers(terms, terms.shape[1])
    return np.asarray(integers.sum(axis=1) * square_unit)
