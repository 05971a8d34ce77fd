"""Meta-analysis: differences of systems over several collections.

Differences y and their variances v have shape (pairs, collections). A missing difference has
y = 0 and an infinite v, so that its weight is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from scipy.special import chdtrc

from cranfield.base.arrays import Bools, Floats, Indices, slice_rows
from cranfield.base.errors import CranfieldError, PolicyError, quote
from cranfield.base.kinds import OneOf, check_arguments
from cranfield.base.streams import make_stream
from cranfield.base.text import format_prefix, inflect, list_some, sanitise
from cranfield.result import Column, Columns, Result, declare_bounds
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.differences import (
    BLOCK_VALUES,
    PAIR_COLUMNS,
    Bounds,
    Level,
    Outcome,
    Pairs,
    append_values,
    bound_by_t,
    compute_difference_pvalues,
    make_pair_frame,
    make_pairs,
    standardise_difference,
)
from cranfield.significance.effects import compute_bias_correction
from cranfield.significance.prepare import as_scores, find_baselines, prepare_scores
from cranfield.significance.registry import CORRECTIONS, RESAMPLES, TestOptions, find_test

ArrayFunction = Callable[[Floats], Floats]

LIKELIHOOD_GRID = np.concatenate([[0.0], np.logspace(-8, 1, 73)])
"""Grid of tau^2, in units of the squared range of the estimates, to maximise the likelihood."""

DRAW_GRID = np.concatenate([[0.0], np.logspace(-3, 9, 37)])
"""Grid of tau^2, in units of its estimate from Q, to interpolate draws."""

MIN_VARIANCE = 2.0**-100  # relative to the largest; smaller variances would not change weights
N_BISECTIONS = 80  # of an interval that contains a root; more than the 53 bits of a float


@dataclass(frozen=True, eq=False)
class Estimates:
    """Results of a meta-analysis by row; NaN if they require more collections than there are."""

    n_collections: Indices
    estimate: Floats
    error: Floats  # standard error of the estimate
    tau2: Floats  # variance between collections
    q: Floats  # Cochran's Q
    q_pvalue: Floats
    i2: Floats  # proportion of the variance that is between collections


def pool_estimates(y: Floats, v: Floats, tau2_by: str, errors: str) -> Estimates:
    """Pool the estimates of each row with weights 1 / (v + tau^2)."""
    has_estimate = np.isfinite(v)
    # In units of the largest standard error, so that squares of weights do not overflow.
    unit = np.sqrt(np.where(has_estimate, v, 0.0).max(axis=1, initial=0.0))
    unit[unit == 0] = 1.0
    y, v = y / unit[:, None], np.maximum(v / unit[:, None] / unit[:, None], MIN_VARIANCE)
    n_collections = has_estimate.sum(axis=1)
    is_pooled = n_collections > 1
    df = n_collections - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        fixed_weights = 1 / v
        _, q = _compute_mean_and_ss(y, fixed_weights)
        tau2 = np.where(is_pooled, np.maximum(TAU2_BY[tau2_by].estimate(y, v, df), 0.0), 0.0)
        weights = 1 / (v + tau2[:, None])
        estimate, ss = _compute_mean_and_ss(y, weights)
        standard_error = ERRORS[errors](ss / df) / np.sqrt(weights.sum(axis=1))
        # The variance of a typical estimate (Higgins and Thompson, 2002, equation 9).
        sum_of_weights = fixed_weights.sum(axis=1)
        typical_v = df * sum_of_weights / (sum_of_weights**2 - (fixed_weights**2).sum(axis=1))
        i2 = tau2 / (tau2 + typical_v)

    def set_nan_unless_pooled(values: Floats) -> Floats:
        return np.where(is_pooled, values, np.nan)

    return Estimates(
        n_collections=n_collections,
        estimate=estimate * unit,
        error=set_nan_unless_pooled(standard_error * unit),
        tau2=set_nan_unless_pooled(tau2 * unit**2),
        q=set_nan_unless_pooled(q),
        q_pvalue=set_nan_unless_pooled(chdtrc(df, q)),
        i2=set_nan_unless_pooled(i2),
    )


def bound_predictions(y: Floats, v: Floats, level: float, resamples: int, seed: int) -> Bounds:
    """Return the prediction interval of the true value in another collection, by row.

    The parametric bootstrap of Nagashima, Noma and Furukawa (2019) draws tau^2, then a mean given
    tau^2, then a value around this mean. The interval is infinite for fewer than two collections.
    """
    low, high = np.full(len(y), -np.inf), np.full(len(y), np.inf)
    has_estimate = np.isfinite(v)
    for row in np.flatnonzero(has_estimate.sum(axis=1) > 1):
        columns = has_estimate[row]
        n_collections = int(columns.sum())
        rng = make_stream(seed, n_collections)
        chi2 = rng.chisquare(1, (resamples, n_collections - 1))
        normal_draws = rng.normal(size=resamples)
        student_draws = rng.standard_t(n_collections - 1, resamples)
        # In units of the largest standard error, so that squares of weights do not overflow.
        unit = float(np.sqrt(v[row, columns].max())) or 1.0
        variances = np.maximum(v[row, columns] / unit / unit, MIN_VARIANCE)
        estimates = y[row, columns] / unit
        tau2 = _draw_tau2(estimates, variances, chi2)
        weights = 1 / (variances + tau2[:, None])
        mean, ss = _compute_mean_and_ss(estimates, weights)
        standard_error = np.sqrt(ss / (n_collections - 1) / weights.sum(axis=1))
        predictions = mean + normal_draws * np.sqrt(tau2) - student_draws * standard_error
        low[row], high[row] = unit * np.quantile(predictions, [(1 - level) / 2, (1 + level) / 2])
    return low, high


def _draw_tau2(y: Floats, v: Floats, chi2: Floats) -> Floats:
    """Draw tau^2 from its confidence distribution: the values that give the observed Q."""
    w = 1 / v
    _, q = _compute_mean_and_ss(y, w)
    products = np.outer(w, w) / w.sum()
    np.fill_diagonal(products, 0.0)
    # The diagonal is a sum of products, as differences of large weights would cancel.
    form = np.diag(products.sum(axis=1)) - products
    # Q exceeds k - 1 by tau^2 times the trace on average.
    grid = DRAW_GRID * max(float(q), 1.0) / np.trace(form)
    # Given tau^2, Q is a sum of chi-squared variables, weighted by eigenvalues that depend on it.
    deviations = np.sqrt(v + grid[:, None])
    forms = deviations[:, :, None] * form * deviations[:, None, :]
    sums = chi2 @ np.linalg.eigvalsh(forms)[:, 1:].T
    end_index = np.minimum((sums < q).sum(axis=1), grid.size - 1)
    start_index = np.maximum(end_index - 1, 0)
    draws = np.arange(len(chi2))
    start, end = sums[draws, start_index], sums[draws, end_index]
    fraction = np.divide(q - start, end - start, out=np.zeros(len(chi2)), where=end > start)
    steps = grid[end_index] - grid[start_index]
    return np.asarray(grid[start_index] + np.clip(fraction, 0, 1) * steps)


def _compute_mean_and_ss(y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the weighted mean of each row, and the weighted sum of squares around it."""
    mean = (weights * y).sum(axis=-1) / weights.sum(axis=-1)
    return mean, (weights * (y - mean[..., None]) ** 2).sum(axis=-1)


def _estimate_by_moments(y: Floats, v: Floats, df: Floats) -> Floats:
    """Estimate tau^2 by DerSimonian and Laird (1986), equation 8."""
    weights = 1 / v
    _, q = _compute_mean_and_ss(y, weights)
    sum_of_weights = weights.sum(axis=1)
    divisor = sum_of_weights - (weights**2).sum(axis=1) / sum_of_weights
    return np.asarray((q - df) / divisor)


def _estimate_by_paule_mandel(y: Floats, v: Floats, df: Floats) -> Floats:
    """Estimate tau^2 such that the weighted sum of squares is k - 1 (Paule and Mandel, 1982)."""

    def compute_excess(tau2: Floats) -> Floats:
        return _compute_mean_and_ss(y, 1 / (v + tau2[:, None]))[1] - df

    upper_bound = _compute_mean_and_ss(y, np.isfinite(v).astype(np.float64))[1] / df
    return _find_root(compute_excess, np.zeros(len(y)), upper_bound)


def _estimate_by_reml(y: Floats, v: Floats, df: Floats) -> Floats:
    """Estimate tau^2 by restricted maximum likelihood (Viechtbauer, 2005)."""
    has_estimate = np.isfinite(v)
    max_y = np.where(has_estimate, y, -np.inf).max(axis=1)
    span = max_y - np.where(has_estimate, y, np.inf).min(axis=1)
    unit = np.where(span > 0, span, 1.0)
    z, u = y / unit[:, None], v / unit[:, None] ** 2
    # The likelihood may have several maxima: the highest on a grid is refined by bisection.
    best_index = np.empty(len(y), dtype=np.intp)
    for rows in slice_rows(len(y), y.shape[1] * LIKELIHOOD_GRID.size, BLOCK_VALUES):
        log_likelihood = _compute_log_likelihood(
            z[rows, None], u[rows, None], LIKELIHOOD_GRID[:, None]
        )
        best_index[rows] = log_likelihood.argmax(axis=1)

    def compute_slope(tau2: Floats) -> Floats:
        w = 1 / (u + tau2[:, None])
        mean, _ = _compute_mean_and_ss(z, w)
        sum_of_squares, sum_of_weights = (w**2).sum(axis=1), w.sum(axis=1)
        deviations = ((w * (z - mean[:, None])) ** 2).sum(axis=1)
        return np.asarray(deviations - (sum_of_weights - sum_of_squares / sum_of_weights))

    low = LIKELIHOOD_GRID[np.maximum(best_index - 1, 0)]
    high = LIKELIHOOD_GRID[np.minimum(best_index + 1, LIKELIHOOD_GRID.size - 1)]
    return np.asarray(np.where(span > 0, _find_root(compute_slope, low, high) * unit**2, 0.0))


def _compute_log_likelihood(y: Floats, v: Floats, tau2: Floats) -> Floats:
    """Return twice the restricted log-likelihood, up to a constant."""
    weights = 1 / (v + tau2)
    log_weights = np.log(weights, where=weights > 0, out=np.zeros_like(weights)).sum(axis=-1)
    return np.asarray(
        log_weights - np.log(weights.sum(axis=-1)) - _compute_mean_and_ss(y, weights)[1]
    )


def _find_root(function: ArrayFunction, low: Floats, high: Floats) -> Floats:
    """Find the roots of decreasing functions between bounds; `low` if not positive there."""
    is_at_start, start = function(low) <= 0, low
    for _ in range(N_BISECTIONS):
        middle = (low + high) / 2
        is_above = function(middle) > 0
        low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
    return np.asarray(np.where(is_at_start, start, (low + high) / 2))


class Estimator(NamedTuple):
    """An estimator of tau^2, the variance between collections."""

    title: str
    estimate: Callable[[Floats, Floats, Floats], Floats]  # from y, v and k - 1


TAU2_BY = {
    "reml": Estimator("restricted maximum likelihood", _estimate_by_reml),
    "paule-mandel": Estimator("Paule and Mandel", _estimate_by_paule_mandel),
    "dersimonian-laird": Estimator("DerSimonian and Laird", _estimate_by_moments),
}
"""Estimators of the variance between collections, by name."""

ERRORS: dict[str, ArrayFunction] = {
    "hartung-knapp": np.sqrt,
    "hartung-knapp-ad-hoc": lambda ratio: np.sqrt(np.maximum(ratio, 1.0)),
    "normal": np.ones_like,
}
"""Standard errors by name: their ratio to the classical one, 1 / sqrt(sum of weights), given the
weighted mean square of the estimates around their mean."""


@dataclass(frozen=True, eq=False)
class CommonPairs:
    """Pairs of systems that one or more collections have, with systems matched by name."""

    names: tuple[str, ...]  # of collections
    n_topics: tuple[int, ...]  # of each collection
    measures: tuple[str, ...]
    systems: tuple[str, ...]  # of all collections, in order of appearance
    first: Indices
    second: Indices
    mean: Floats  # of the differences of a pair on a collection; NaN where it lacks the pair
    deviation: Floats
    notes: tuple[str, ...]  # on excluded topics, and systems that some collections lack

    def __len__(self) -> int:
        """Return the number of pairs."""
        return int(self.first.size)

    def make_frame(self) -> pl.DataFrame:
        """Return the names of both systems, a row for each pair."""
        return make_pair_frame(self.systems, self.first, self.second)


def match_pairs(
    collections: Mapping[str, Any], baseline: str | Sequence[str] | None, missing: str | None
) -> CommonPairs:
    """Match systems by name, apply the policy for missing scores, and summarise all pairs."""
    if not isinstance(collections, Mapping):
        kind = type(collections).__name__
        raise PolicyError(f"expected a mapping of collections to scores, got {kind}")
    if (n := len(collections)) < 2:
        raise PolicyError(f"a meta-analysis requires at least two collections, got {n}")
    test = find_test("t").info
    all_inputs = {}
    for name, data in collections.items():
        scores = data.scores if isinstance(data, PairwiseComparison) else as_scores(data)
        all_inputs[str(name)] = prepare_scores(scores, test, missing)
    all_scores = {name: inputs.scores for name, inputs in all_inputs.items()}
    if len({scores.lower_is_better for scores in all_scores.values()}) > 1:
        names = [quote(name) for name, scores in all_scores.items() if scores.lower_is_better]
        raise PolicyError(
            "expected measures of one direction, got lower_is_better=True only for"
            f" {list_some(names, 5)}"
        )
    systems = tuple(dict.fromkeys(name for s in all_scores.values() for name in s.systems))
    pairs = make_pairs(np.empty((0, len(systems))), find_baselines(systems, baseline))
    mean, deviation = np.full((2, len(pairs), len(all_scores)), np.nan)
    for k, inputs in enumerate(all_inputs.values()):
        index_of = {system: index for index, system in enumerate(inputs.scores.systems)}
        indices = np.array([index_of.get(system, -1) for system in systems])
        first, second = indices[pairs.first], indices[pairs.second]
        rows = np.flatnonzero((first >= 0) & (second >= 0))
        if rows.size:
            moments = Pairs(inputs.topic_scores, first[rows], second[rows]).compute_moments()
            mean[rows, k], deviation[rows, k], _ = moments
    has_pair = ~np.isnan(mean).all(axis=1)
    if not has_pair.any():
        raise CranfieldError("no collection has scores of both systems of a pair to compare")
    notes = [f"{name}: {note}" for name, inputs in all_inputs.items() for note in inputs.notes]
    notes += dict.fromkeys(note for s in all_scores.values() for note in s.get_direction_notes())
    for name, scores in all_scores.items():
        if missing_systems := [quote(s) for s in systems if s not in scores.systems]:
            notes.append(f"{name} lacks {list_some(missing_systems, 5)}")
    if not has_pair.all():
        pairs_text = inflect(int((~has_pair).sum()), "pair")
        notes.append(f"{pairs_text} excluded: no collection has both systems")
    return CommonPairs(
        names=tuple(all_scores),
        n_topics=tuple(len(scores.topics) for scores in all_scores.values()),
        measures=tuple(scores.measure for scores in all_scores.values()),
        systems=systems,
        first=pairs.first[has_pair],
        second=pairs.second[has_pair],
        mean=mean[has_pair],
        deviation=deviation[has_pair],
        notes=tuple(notes),
    )


@dataclass(frozen=True, eq=False, repr=False)
class MetaAnalysis(Result):
    """Pooled differences of pairs of systems; returned by :func:`meta_analysis`.

    Attributes
    ----------
    pairs
        The pairs, and the collections that have them.
    difference, error
        Mean differences and their standard errors, shape (pairs, collections); NaN where a
        collection lacks the pair, or the differences do not vary, or topics are too few.
    pooled
        By pair: number of collections, pooled difference and its standard error, tau^2, Q and its
        p-value, I^2. For a pair on a single collection, values that require two are NaN.
    standardised, tau2_by, errors, correction, alpha, resamples, seed
        Options of :func:`meta_analysis`.
    raw_pvalues, adjusted_pvalues
        P-values against a pooled difference of 0, by pair, before and after the correction.
    interval
        Confidence interval of the pooled difference at confidence 1 - alpha, by pair.
    interval_kind
        The comparisons for which the intervals hold jointly.
    prediction
        Prediction interval, at 1 - alpha, of the true difference on another collection, by pair.
    notes
        Notes on systems that collections lack, and on excluded topics, pairs and collections.
    """

    columns: ClassVar[Columns] = {
        **PAIR_COLUMNS,
        "collections": Column("Number of pooled collections."),
        "difference": Column(
            "Pooled difference, first minus second; null with no collection to pool."
        ),
        **declare_bounds("confidence interval", "; infinite with fewer than two collections"),
        "p": Column("Adjusted p-value; 1 with fewer than two collections.", is_pvalue=True),
        **declare_bounds(
            "prediction interval of the true difference on another collection",
            "; infinite with fewer than two collections",
            prefix="predicted ",
        ),
        "tau": Column("SD of the true differences between collections; null if Q is null."),
        "I^2": Column("Proportion of the variance that is between collections; null if Q is null."),
        "Q": Column("Cochran's Q of heterogeneity; null with fewer than two collections."),
        "p of Q": Column("p-value of Q; null if Q is null.", is_pvalue=True),
    }

    pairs: CommonPairs
    difference: Floats
    error: Floats
    pooled: Estimates
    standardised: bool
    tau2_by: str
    errors: str
    correction: str
    alpha: float
    raw_pvalues: Floats
    adjusted_pvalues: Floats
    interval: Bounds
    interval_kind: str
    prediction: Bounds
    resamples: int
    seed: int
    notes: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)

    def _frame(self) -> pl.DataFrame:
        pooled = self.pooled
        estimates = pooled.estimate, *self.interval, self.adjusted_pvalues, *self.prediction
        heterogeneity = np.sqrt(pooled.tau2), pooled.i2, pooled.q, pooled.q_pvalue
        values = pooled.n_collections, *estimates, *heterogeneity
        return append_values(self.pairs.make_frame(), self.columns, *values).fill_nan(None)

    def tabulate_collections(self) -> pl.DataFrame:
        """Return a row for each pair and collection: topics, difference, standard error, weight.

        Weights are those of the pooled difference; collections that it excludes are omitted.
        """
        tau2 = np.nan_to_num(self.pooled.tau2)[:, None]
        weight = 1 / (self.error**2 + tau2)
        weight /= np.nansum(weight, axis=1, keepdims=True)
        row, collection = np.nonzero(~np.isnan(weight))
        columns = {"difference": self.difference, "standard error": self.error, "weight": weight}
        return self.pairs.make_frame()[row].with_columns(
            pl.Series("collection", self.pairs.names, dtype=pl.String).gather(collection),
            pl.Series("topics", self.pairs.n_topics, dtype=pl.Int64).gather(collection),
            **{name: pl.Series(values[row, collection]) for name, values in columns.items()},
        )

    def heading(self) -> list[str]:
        pairs = self.pairs
        measures = ", ".join(dict.fromkeys(filter(None, pairs.measures)))
        unit = "standardised differences" if self.standardised else "differences"
        title = CORRECTIONS[self.correction].title
        level = f"{100 * (1 - self.alpha):.4g}%"
        names_and_topics = zip(pairs.names, pairs.n_topics, strict=True)
        collections = [f"{sanitise(name)} ({inflect(n, 'topic')})" for name, n in names_and_topics]
        return [
            f"{format_prefix(measures)}random-effects meta-analysis of {unit}; {title}, alpha"
            f" {self.alpha:g}",
            f"{inflect(len(collections), 'collection')}: {', '.join(collections)}",
            f"variance between collections by {TAU2_BY[self.tau2_by].title}, standard errors"
            f" {self.errors}",
            f"low, high: {level} confidence interval of the mean difference over the"
            f" population of collections, {self.interval_kind}",
            f"predicted low, high: {level} prediction interval of the difference on another"
            f" collection, by parametric bootstrap, {self.resamples:,} samples, seed {self.seed}",
        ]


def meta_analysis(
    collections: Mapping[str, Any],
    *,
    baseline: str | Sequence[str] | None = None,
    standardised: bool = False,
    tau2_by: Annotated[str, OneOf(tuple(TAU2_BY))] = "reml",
    errors: Annotated[str, OneOf(tuple(ERRORS))] = "hartung-knapp",
    correction: str = "holm",
    alpha: float = 0.05,
    missing: str = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> MetaAnalysis:
    r"""Pool the differences of systems over several collections.

    On collection c the mean difference :math:`y_c` of a pair has the variance :math:`v_c`, the
    variance of its differences by topic divided by the number of topics. With the variance
    :math:`\tau^2` of true differences between the k collections, the pooled difference and its
    standard error are

    .. math:: \hat\mu = \frac{\sum_c w_c y_c}{\sum_c w_c}, \quad w_c = \frac{1}{v_c + \tau^2},
        \quad SE^2 = \frac{1}{\sum_c w_c} \cdot \frac{\sum_c w_c (y_c - \hat\mu)^2}{k - 1}

    The confidence interval :math:`\hat\mu \pm t_{k-1} SE` is that of Hartung and Knapp (2001) and
    of Sidik and Jonkman (2002). The prediction interval of the true difference on another
    collection is the parametric bootstrap interval of Nagashima, Noma and Furukawa (2019). Unlike
    the interval :math:`\hat\mu \pm t_{k-1} \sqrt{SE^2 + \tau^2}`, it accounts for the uncertainty
    of :math:`\tau^2`. It does not depend on `tau2_by` and `errors`.

    The collections are assumed to be a random sample of all collections of interest, with normally
    distributed true differences, no topics in common, and approximately normal means over topics.
    With two or three collections intervals are wide.

    Parameters
    ----------
    collections
        Mapping of collection names to scores, as :func:`cranfield.compare` takes them, or to
        comparisons. Systems are matched by name.
    baseline
        System or systems to compare all others with; by default, all pairs are compared.
    standardised
        Whether to pool standardised differences (Hedges' g of paired differences), instead of
        differences in the unit of the scores; requires three topics.
    tau2_by
        Estimator of tau^2: `reml`, `paule-mandel` or `dersimonian-laird`.
    errors
        `hartung-knapp`: the standard error above; `hartung-knapp-ad-hoc`: the same, but at least
        the classical one, from the weights alone; `normal`: the classical one with the normal
        distribution, which has too many Type I errors with few collections.
    correction
        Correction for pairs: `none`, `bonferroni`, `sidak`, `holm`, `hommel`, `bh` or `by`.
    alpha
        Significance level.
    missing
        `error`; `drop` excludes topics that lack a score; `zero` replaces missing scores by 0.
    resamples, seed
        Number of resamples of prediction intervals, and seed of their random numbers.

    Raises
    ------
    PolicyError
        For an invalid option, fewer than two collections, or measures that cannot be pooled.
    CranfieldError
        For missing or infinite scores, and if no collection has both systems of a pair.

    Notes
    -----
    Sources: for `tau2_by`, Viechtbauer (2005) on REML, Paule and Mandel (1982), DerSimonian and
    Laird (1986); for Hedges' g with its variance :math:`1/n + g^2/(2n)`, Hedges (1981) and
    Viechtbauer (2010); for I^2, Higgins and Thompson (2002).

    Examples
    --------
    >>> a = {"old": [0.2, 0.4, 0.3, 0.5], "new": [0.4, 0.5, 0.5, 0.6]}
    >>> b = {"old": [0.1, 0.3, 0.2, 0.2], "new": [0.2, 0.5, 0.2, 0.4]}
    >>> c = {"old": [0.5, 0.7, 0.6, 0.4], "new": [0.6, 0.7, 0.8, 0.6], "other": [0, 0, 0, 0.1]}
    >>> pooled = meta_analysis({"a": a, "b": b, "c": c}, baseline="old").pooled
    >>> pooled.estimate.round(4).tolist(), pooled.n_collections.tolist()
    ([0.1395, -0.525], [3, 1])
    """
    check_arguments(meta_analysis, locals())
    adjustment = CORRECTIONS[CORRECTIONS.find(correction)]
    if adjustment.families is not None:
        names_text = ", ".join(name for name, c in CORRECTIONS.items() if c.families is None)
        raise PolicyError(
            f"correction {adjustment.name} cannot be combined with a meta-analysis; use one of:"
            f" {names_text}"
        )
    options = TestOptions(alpha=alpha, resamples=resamples, seed=seed)
    common_pairs = match_pairs(collections, baseline, missing)
    if not standardised and len({*common_pairs.measures}) > 1:
        names = ", ".join(map(quote, dict.fromkeys(common_pairs.measures)))
        raise PolicyError(f"differences of {names} have no common unit; use standardised=True")
    topics = np.array(common_pairs.n_topics)
    # The bias correction of standardised differences requires three topics.
    has_error = (common_pairs.deviation > 0) & (topics > (2 if standardised else 1))
    difference = np.where(has_error, common_pairs.mean, np.nan)
    deviation = np.where(has_error, common_pairs.deviation, np.nan)
    if standardised:
        difference *= compute_bias_correction(topics - 1.0) / deviation
        standard_error = np.sqrt(1 / topics + difference**2 / (2 * topics))
    else:
        standard_error = deviation / np.sqrt(topics)
    y = np.where(has_error, difference, 0.0)
    v = np.where(has_error, standard_error**2, np.inf)
    pooled = pool_estimates(y, v, tau2_by, errors)
    is_pooled = pooled.n_collections > 1
    df = np.where(is_pooled, np.inf if errors == "normal" else pooled.n_collections - 1.0, 1.0)

    def compute_interval(level: Level) -> Bounds:
        # Without an error the interval is infinite.
        low, high = bound_by_t(pooled.estimate, pooled.error, df, level)
        return np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf)

    t = standardise_difference(pooled.estimate, pooled.error)
    pvalue = np.where(is_pooled, compute_difference_pvalues(t, pooled.error, df, "two-sided"), 1.0)
    outcome = Outcome(t, pvalue, pooled.estimate, compute_interval, pooled.n_collections)
    pairs = Pairs(np.empty((0, len(common_pairs.systems))), common_pairs.first, common_pairs.second)
    corrected_outcome = adjustment.run(outcome, pairs, options)
    return MetaAnalysis(
        pairs=common_pairs,
        difference=difference,
        error=standard_error,
        pooled=pooled,
        standardised=standardised,
        tau2_by=tau2_by,
        errors=errors,
        correction=adjustment.name,
        alpha=alpha,
        raw_pvalues=pvalue,
        adjusted_pvalues=corrected_outcome.pvalue,
        interval=corrected_outcome.interval(1 - alpha),
        interval_kind=corrected_outcome.interval_kind,
        prediction=bound_predictions(y, v, 1 - alpha, resamples, seed),
        resamples=resamples,
        seed=seed,
        notes=(*common_pairs.notes, *_describe_exclusions(common_pairs, has_error, pooled)),
    )


def _describe_exclusions(pairs: CommonPairs, has_error: Bools, pooled: Estimates) -> list[str]:
    notes = []
    is_varying = pairs.deviation > 0
    if n_constant := int((~is_varying & ~np.isnan(pairs.mean)).sum()):
        notes.append(
            f"{inflect(n_constant, 'combination')} of pair and collection excluded: the difference"
            " is the same on all topics, so its standard error cannot be estimated"
        )
    if n_small := int((is_varying & ~has_error).sum()):
        notes.append(
            f"{inflect(n_small, 'combination')} of pair and collection excluded: a standardised"
            " difference requires three topics"
        )
    if n_not_pooled := int((pooled.n_collections < 2).sum()):
        notes.append(
            f"{inflect(n_not_pooled, 'pair')} with fewer than two collections to pool: p is 1,"
            " and the intervals are infinite"
        )
    return notes
