"""Tests and confidence intervals of differences between variants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import CranfieldError, PolicyError, check_integer, quote
from cranfield.base.proportions import compute_wilson_intervals
from cranfield.base.streams import make_stream
from cranfield.online.experiments.estimates import (
    INFERENCE,
    ArmMeans,
    Bounds,
    CriticalValue,
    Effects,
    Metric,
    MetricColumns,
    Moments,
    Sequential,
    always_valid_inference,
    compute_half_width,
    compute_moments,
    compute_percentiles,
    compute_tail_pvalue,
    estimate_arms,
    resample_means,
)
from cranfield.online.experiments.units import Units
from cranfield.significance.differences import bound_by_fieller, bound_by_t, compute_t_quantile
from cranfield.significance.resampling import as_integers

SKEWNESS_FACTOR = 355  # Units per squared skewness that a mean needs (Boos and Hughes-Oliver, 2000)
MAX_ENUMERATED = 50_000  # Maximum number of assignments that are enumerated
TOLERANCE = 1e-12  # Maximum relative difference of statistics that is treated as rounding error


@dataclass(frozen=True)
class Distortion:
    r"""Skewness of a difference of two means, and its effect on Welch's test.

    With skewness :math:`\gamma` of the units and n units in the variant, m in the control, the
    difference of the means has the skewness

    .. math:: A = \gamma \frac{1/n^2 - 1/m^2}{(1/n + 1/m)^{3/2}}

    which is 0 for equal splits. It is negligible below :math:`1/\sqrt{355}`: for one mean this is
    the rule n > 355 :math:`\gamma^2` (Boos and Hughes-Oliver, 2000; Kohavi et al., 2014).
    """

    skewness: float  # Of the units of both variants
    difference_skewness: float  # A, of the difference of the means

    @classmethod
    def from_sizes(cls, gamma: float, n: float, m: float) -> Distortion:
        """Compute the distortion from skewness gamma, n units of the variant, m of the control."""
        return cls(gamma, gamma * (1 / n**2 - 1 / m**2) / (1 / n + 1 / m) ** 1.5)

    @property
    def is_large(self) -> bool:
        """Whether the skewness of the difference is not negligible."""
        return bool(abs(self.difference_skewness) * SKEWNESS_FACTOR**0.5 > 1)

    def compute_tail_probabilities(self, alpha: float) -> tuple[float, float]:
        r"""Compute the probabilities that Welch's test rejects in the lower and the upper tail.

        By the first term of the Edgeworth expansion of the studentised difference (Hall, 1992),
        :math:`\alpha/2 \pm A (2 z^2 + 1) \varphi(z) / 6`, plus for the lower tail, where z is the
        normal quantile of :math:`1 - \alpha/2` and :math:`\varphi` the normal density.

        >>> [round(p, 3) for p in Distortion(8.0, 0.4).compute_tail_probabilities(0.05)]
        [0.059, 0.0]
        """
        z = float(ndtri(1 - alpha / 2))
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        shift = self.difference_skewness * (2 * z**2 + 1) * density / 6
        lower, upper = (float(np.clip(alpha / 2 + sign * shift, 0, 1)) for sign in (1, -1))
        return lower, upper


@dataclass(frozen=True, eq=False)
class PermutationTest:
    """Studentised differences of one metric under random reassignment of the units.

    The statistic is Welch's, by the delta method for ratios. If the variants have the
    same distribution, the test is exact; if only their means are the same, it is valid in the
    limit of many units (Janssen, 1997; Chung and Romano, 2013).
    """

    observed_statistic: float  # Statistic of the variants as assigned
    statistics: Floats  # Statistics of the permutations, in ascending order
    is_exact: bool = False  # Whether all other assignments are enumerated

    def compute_one_sided_pvalue(self, statistic: float, alternative: str) -> float:
        """Compute the p-value (k + 1) / (B + 1), if k of B permutations are at least as extreme."""
        sign, tolerance = 1 if alternative == "greater" else -1, TOLERANCE * abs(statistic)
        is_extreme = sign * self.statistics >= sign * statistic - tolerance
        return float((is_extreme.sum() + 1) / (self.statistics.size + 1))

    def compute_pvalue(self) -> float:
        """Compute the two-sided p-value: twice the smaller one-sided p-value."""
        statistic, sides = self.observed_statistic, ("greater", "less")
        return min(1.0, 2 * min(self.compute_one_sided_pvalue(statistic, side) for side in sides))

    def compute_inference(self, effects: Effects, level: float) -> tuple[float, ...]:
        """Compute the bounds of the difference and of the lift (Fieller), and the p-value."""
        # The intervals exclude the differences and ratios that the test rejects.
        low, high = compute_percentiles(self.statistics, level)
        gaps = self.observed_statistic - np.array([high, low])
        # As in the p-value, a statistic that differs from the observed one by rounding is tied.
        is_tied = np.abs(gaps) <= TOLERANCE * abs(self.observed_statistic)
        bounds = (np.where(is_tied, 0.0, gaps) * float(effects.standard_error)).tolist()
        lifts = np.nan, np.nan
        if effects.control != 0 and not effects.has_zeros_only:
            if effects.control < 0:
                # The ratio is that of the negated values.
                low, high, is_tied = -high, -low, is_tied[::-1]
            # The lower bound is the lower root for `high`, or the upper root if `high` is negative;
            # the upper bound is the upper root for `low`, or the lower root if `low` is positive.
            lower, upper = (self._bound_ratios(effects, quantile) for quantile in (high, low))
            ratios = lower[0 if high >= 0 else 1], upper[1 if low <= 0 else 0]
            lifts = tuple(np.where(is_tied, 0.0, np.array(ratios) - 1).tolist())
        return (*bounds, *lifts, self.compute_pvalue())

    def _bound_ratios(self, effects: Effects, quantile: float) -> Bounds:
        square = np.array(min(abs(quantile), 1e50) ** 2)
        v, w = effects.control_squared_error, effects.treatment_squared_error
        return bound_by_fieller(effects.control, effects.treatment, v, w, np.zeros(()), square)


@dataclass(frozen=True)
class ExperimentOptions:
    """Options of :func:`analyse_experiment`."""

    theta: str
    lift: str
    errors: str
    correction: str
    alpha: float
    sequential: Sequential | None
    looks: Sequence[int] | None
    resamples: int
    draws: str
    seed: int
    srm: str
    segments: Sequence[str]
    oec: Mapping[str, float] | None


def run_permutation_test(
    columns: Floats,
    is_treated: Bools,
    metric: MetricColumns,
    all_units: Moments | None,
    options: ExperimentOptions,
    key: int,
) -> PermutationTest:
    """Run a permutation test of two variants, exact for up to MAX_ENUMERATED assignments."""
    covariate = (metric.covariate, metric.covariate_denominator) if metric.covariate >= 0 else ()
    indices = sorted({0, metric.numerator, metric.denominator, *covariate})
    if all_units is not None:
        scatter = all_units.scatter[np.ix_(indices, indices)]
        all_units = Moments(all_units.n_units, all_units.mean[indices], scatter)
    rng = make_stream(options.seed, key)
    arm_moments = permute_moments(columns[:, indices], is_treated, options.resamples, rng)
    local_columns = MetricColumns(*(k if k < 0 else indices.index(k) for k in astuple(metric)))
    arms = estimate_arms(arm_moments, local_columns, options.theta, all_units)
    statistics = Effects.from_arms(arms, 1).statistic
    statistics = np.where(np.isnan(statistics), 0.0, statistics)
    is_exact = comb(len(is_treated), int(is_treated.sum())) <= MAX_ENUMERATED
    return PermutationTest(float(statistics[0]), np.sort(statistics[1:]), is_exact)


def permute_moments(
    columns: Floats, is_treated: Bools, resamples: int, rng: np.random.Generator
) -> Moments:
    """Compute the moments as assigned and for each permutation, of shape (permutations + 1, 2)."""
    n_units, width = columns.shape
    centre = columns.mean(axis=0)
    residuals = columns - centre
    first, second = np.triu_indices(width)
    products = residuals.T[first] * residuals.T[second]
    # Sums of integers are exact, so that a seed gives the same result on any processor.
    scaled_columns = [as_integers(values, n_units) for values in (*residuals.T, *products)]
    integers, scales = zip(*scaled_columns, strict=True)
    features, scale = np.stack(integers), np.array(scales)
    # Sums of the constant column and its products are always 0.
    is_varying = features.any(axis=1)
    features = features[is_varying]
    # Only units of the smaller variant are drawn; sums of the larger one follow from the total.
    is_swapped = is_treated.sum() * 2 > n_units
    is_smaller = ~is_treated if is_swapped else is_treated
    size = int(is_smaller.sum())
    if (n_assignments := comb(n_units, size)) <= MAX_ENUMERATED:
        dtype, subsets = np.dtype((np.intp, size)), combinations(range(n_units), size)
        assignments = np.fromiter(subsets, dtype, n_assignments)
        assignments = assignments[(assignments != np.flatnonzero(is_smaller)).any(axis=1)]
        samples: Iterable[Indices] = np.array_split(assignments, n_assignments // 1000 + 1)
    else:
        shape, repeats = (1, size), range(resamples)
        samples = (rng.choice(n_units, shape, replace=False, shuffle=False) for _ in repeats)
    sample_sums = [features.take(rows, axis=1).sum(axis=-1) for rows in samples]
    observed_sums = features[:, is_smaller].sum(axis=1, keepdims=True)
    sums = np.hstack([observed_sums, *sample_sums]).T
    order = slice(None, None, -1 if is_swapped else 1)
    arm_sums = np.zeros((len(sums), 2, scale.size))
    arm_sums[..., is_varying] = np.stack([features.sum(axis=1) - sums, sums][order], axis=1)
    arm_sums *= scale
    sizes = np.array([n_units - size, size][order], dtype=np.float64)
    n_arm_units = np.broadcast_to(sizes, arm_sums.shape[:2])
    mean = arm_sums[..., :width] / n_arm_units[..., None]
    scatter = np.empty((*n_arm_units.shape, width, width))
    centred = arm_sums[..., width:] - n_arm_units[..., None] * mean[..., first] * mean[..., second]
    scatter[..., first, second] = scatter[..., second, first] = centred
    return Moments(n_arm_units, centre + mean, scatter)


TEST_METHODS = ("auto", "delta", "permutation", "bootstrap")
"""Tests of differences; `auto` selects `delta`, or `permutation` if Welch's test is unreliable."""

# Values of `lift` accepted by tests that have their own interval of the lift; others accept all
LIFT_INTERVALS_BY_TEST = {"permutation": ("log", "fieller"), "bootstrap": ("log",)}

OEC = "OEC"  # Name of the overall evaluation criterion

Pair = tuple[str, int]  # A metric, and the index of a variant

ComparisonRow = dict[str, Any]  # A comparison: columns of the report, and its `Distortion`


def compare_variants(
    units: Units,
    arm_means: Mapping[str, ArmMeans],
    metrics: Mapping[str, Metric],
    all_units: Moments,
    options: ExperimentOptions,
) -> tuple[list[ComparisonRow], pl.DataFrame | None]:
    """Compare each variant with the control by the chosen tests; also return the table of looks."""
    treatments = range(1, len(units.variants))
    pairs = [*product(arm_means, treatments)]
    # The overall criterion is a separate family in the correction.
    n_metrics, n_treatments = len(arm_means) - (OEC in arm_means), len(treatments)
    family_sizes = {name: n_treatments * (1 if name == OEC else n_metrics) for name in arm_means}
    levels = {name: _compute_level(options, size) for name, size in family_sizes.items()}
    is_bootstrap = options.errors == "bootstrap"
    bootstrap_values = _bootstrap_pairs(units, arm_means, levels, options) if is_bootstrap else {}
    looks, last_looks = None, dict[Pair, tuple[float, bool]]()
    if options.sequential is not None:
        looks, last_looks = _compare_looks(units, arm_means, options, options.sequential)
    rows, sizes, codes = [], [*units.counts.values()], units.variant_codes
    for name, treatment in pairs:
        effect, level = Effects.from_arms(arm_means[name], treatment), levels[name]
        is_compared = np.isin(codes, (0, treatment))
        columns, is_treated = units.columns[is_compared], codes[is_compared] == treatment
        gradient = arm_means[name].gradient[[0, treatment]].mean(axis=0)
        # Without variance, the skewness is that of rounding errors.
        gamma = units.compute_skewness(gradient, treatment) if effect.standard_error else 0.0
        distortion = Distortion.from_sizes(gamma, sizes[treatment], sizes[0])
        test = _choose_test(effect, distortion, options, is_metric=name in units.metric_columns)
        permutations: PermutationTest | None = None
        is_reversed = False
        values: Sequence[Any] = bootstrap_values.get((name, treatment), ())
        if test == "permutation":
            permutations = run_permutation_test(
                columns, is_treated, units.metric_columns[name], all_units, options, treatment
            )
            test = "exact permutation" if permutations.is_exact else test
            values = permutations.compute_inference(effect, level)
        elif test != "bootstrap":
            critical_value: CriticalValue = partial(compute_t_quantile, level)
            if (method := options.sequential) is not None:
                variance, alpha = effect.standard_error**2, options.alpha
                ratio = method.get_variance_ratio(variance, effect.n_units, alpha)
                critical_value = partial(np.full_like, fill_value=compute_half_width(ratio, alpha))
            values = effect.compute_inference(critical_value, options.lift)
            if (name, treatment) in last_looks:
                pvalue, is_reversed = last_looks[name, treatment]
                values = (*values[:-1], pvalue)
        # Bootstraps and always-valid tests are not valid for few units.
        if effect.has_few_units and test in {"bootstrap", "always valid"}:
            values = (np.nan,) * 5
        row: ComparisonRow = {
            "metric": name,
            "variant": units.variants[treatment],
            "control mean": float(effect.control),
            "mean": float(effect.treatment),
            "difference": float(effect.difference),
            "error": float(effect.standard_error),
            "lift": float(effect.lift),
            **dict(zip(INFERENCE, map(float, values), strict=True)),
            "noninferiority p": np.nan,
            "test": test,
            "reversed": is_reversed,
            "distortion": distortion,
        }
        if name == OEC:
            # A standardised sum has no lift.
            row |= dict.fromkeys(("lift", "lift low", "lift high"), np.nan)
        elif metrics[name].margin is not None:
            pvalue = _test_noninferiority(effect, metrics[name], permutations, options)
            row["noninferiority p"] = pvalue
        rows.append(row)
    return rows, looks


def _compute_level(options: ExperimentOptions, n_comparisons: int) -> float:
    """Return the level of each interval, simultaneous for `bonferroni` and `sidak`."""
    if options.correction == "bonferroni":
        return 1 - options.alpha / n_comparisons
    return float((1 - options.alpha) ** (1 / n_comparisons if options.correction == "sidak" else 1))


def _choose_test(
    effect: Effects, distortion: Distortion, options: ExperimentOptions, *, is_metric: bool
) -> str:
    if options.sequential is not None:
        return "always valid"
    if effect.standard_error == 0:
        return "exact permutation" if effect.difference else "delta"
    if options.errors == "bootstrap":
        return "bootstrap"
    is_unreliable = bool(effect.has_few_units | effect.is_constant) or distortion.is_large
    is_requested = options.errors == "permutation" or (options.errors == "auto" and is_unreliable)
    # Permutations would change the standard deviations in an overall criterion.
    is_possible = bool(np.isfinite(effect.standard_error)) and is_metric
    return "permutation" if is_requested and is_possible else "delta"


def _test_noninferiority(
    effect: Effects,
    metric: Metric,
    permutations: PermutationTest | None,
    options: ExperimentOptions,
) -> float:
    """Compute the one-sided p-value for the alternative that the loss is below the margin."""
    direction = metric.better or "higher"
    shifted_effect = effect.shift_by_margin(metric.margin or 0.0, direction)
    side = "greater" if direction == "higher" else "less"
    if permutations is not None:
        return permutations.compute_one_sided_pvalue(float(shifted_effect.statistic), side)
    if options.sequential is None:
        return float(shifted_effect.compute_pvalue(side))
    look = (shifted_effect.difference[None], shifted_effect.standard_error[None], effect.n_units)
    pvalue = always_valid_inference(*look, options.sequential, alpha=options.alpha)[2]
    # The two-sided p-value is valid as a one-sided p-value in the direction of the difference.
    return float(pvalue[0]) if (shifted_effect.difference > 0) == (direction == "higher") else 1.0


def _compare_looks(
    units: Units, arm_means: Mapping[str, ArmMeans], options: ExperimentOptions, method: Sequential
) -> tuple[pl.DataFrame, dict[Pair, tuple[float, bool]]]:
    """Return the table of looks; by pair, the smallest p-value, and whether the sign reversed."""
    n_variants, alpha = len(units.variants), options.alpha
    looks = _read_look_sizes(options.looks, len(units.variant_codes), units.times)
    look = np.searchsorted(looks, np.arange(len(units.variant_codes)), side="right")
    cells = look * n_variants + units.variant_codes
    moments_by_look = compute_moments(units.columns, cells, (looks.size, n_variants)).accumulate()
    frames, last_looks = [], {}
    for name, arm in arm_means.items():
        # An overall criterion is standardised by all units, so it has the last look only.
        columns = units.metric_columns.get(name)
        means = arm if columns is None else estimate_arms(moments_by_look, columns, options.theta)
        for variant in range(1, n_variants):
            effects = Effects.from_arms(means, variant)
            errors = np.where(effects.has_few_units, np.nan, effects.standard_error)
            difference, errors, n_units = np.atleast_1d(effects.difference, errors, effects.n_units)
            low, high, p = always_valid_inference(difference, errors, n_units, method, alpha=alpha)
            keys: dict[str, Any] = {"metric": name, "variant": units.variants[variant]}
            keys["units"] = looks[-1:] if columns is None else looks
            estimates = {"difference": difference, "low": low, "high": high, "p": p}
            frames.append(pl.DataFrame({**keys, **estimates}))
            is_reversed = difference[np.argmin(p)] * difference[-1] < 0
            last_looks[name, variant] = float(p[-1]), bool(is_reversed)
    return pl.concat(frames), last_looks


def _read_look_sizes(looks: Sequence[int] | None, n_units: int, times: pl.Series | None) -> Indices:
    """Return the numbers of units at looks, which include all units of the same time."""
    if looks is None:
        return np.array([n_units], dtype=np.intp)
    sizes = list(looks)
    for size in sizes:
        check_integer("a look", size, 1)
    if not sizes or sizes != sorted(set(sizes)):
        expected = "looks must be one or more ascending numbers of units"
        raise PolicyError(f"{expected}, got {quote(looks)}")
    # Units after the last look are analysed at the end.
    look_sizes = np.array([*(size for size in sizes if size < n_units), n_units], dtype=np.intp)
    if times is not None:
        time_codes = times.rle_id().to_numpy()
        look_sizes = np.searchsorted(time_codes, time_codes[look_sizes - 1], side="right")
    return np.unique(look_sizes)


def _bootstrap_pairs(
    units: Units,
    arm_means: Mapping[str, ArmMeans],
    levels: Mapping[str, float],
    options: ExperimentOptions,
) -> dict[Pair, tuple[float, ...]]:
    """Compute percentile intervals and p-values, with fixed coefficients of covariates."""
    sampling: Any = {"resamples": options.resamples, "weights": options.draws, "seed": options.seed}
    codes, n_variants = units.variant_codes, len(units.variants)
    column_means = resample_means(units.columns, codes, n_variants, **sampling)
    rows = dict[Pair, tuple[float, ...]]()
    for name, means in arm_means.items():
        values, level = means.evaluate(column_means), levels[name]
        for k in range(1, n_variants):
            difference = values[k] - values[0]
            with np.errstate(divide="ignore", invalid="ignore"):
                lifts = values[k] / values[0] - 1
            bounds = (*compute_percentiles(difference, level), *compute_percentiles(lifts, level))
            rows[name, k] = (*bounds, compute_tail_pvalue(difference))
    return rows


def combine_metrics(
    moments: Moments, arm_means: Mapping[str, ArmMeans], metrics: Mapping[str, Metric], weights: Any
) -> ArmMeans:
    """Compute the weighted sum of standardised metrics, with its squared standard error."""
    if not isinstance(weights, Mapping) or not weights:
        raise PolicyError(f"oec must be a mapping of metrics to weights, got {weights!r}")
    if OEC in metrics:
        raise PolicyError(f"a metric cannot be named {OEC} if oec is used")
    gradient, factors = np.zeros_like(moments.mean), dict[str, float]()
    for name, weight in weights.items():
        subject = f"oec weight of {quote(name)}"
        if name not in arm_means:
            names = ", ".join(arm_means)
            raise PolicyError(f"unknown metric {quote(name)} in oec; expected one of: {names}")
        if not (isinstance(weight, (int, float)) and np.isfinite(weight)):
            raise PolicyError(f"{subject} must be a finite number, got {quote(weight)}")
        is_lower_better = metrics[name].better == "lower"
        if is_lower_better and weight < 0:
            reason = "lower is better, so the sign of its values is already reversed"
            raise PolicyError(f"{subject} must be at least 0, got {weight}: {reason}")
        means = arm_means[name]
        deviation = float(np.sqrt(means.squared_error[0] * means.n_units[0]))
        if not deviation > 0:
            reason = "has no variance in the control, so it cannot be standardised for oec"
            raise CranfieldError(f"{name} {reason}")
        factors[name] = weight / deviation * (-1 if is_lower_better else 1)
        gradient = gradient + factors[name] * means.gradient

    def evaluate(mean: Floats) -> Floats:
        terms = (factor * arm_means[name].evaluate(mean) for name, factor in factors.items())
        return np.asarray(sum(terms))

    return ArmMeans.from_gradient(moments, evaluate(moments.mean), gradient, evaluate)


def compute_arm_intervals(units: Units, arm_means: Mapping[str, ArmMeans], level: float) -> Bounds:
    """Compute intervals of means: Wilson's of proportions, others by t (NaN if constant)."""
    intervals, quantile = [], compute_t_quantile(level, np.inf)
    for name, means in arm_means.items():
        columns = units.metric_columns.get(name)
        if columns is not None and units.is_proportion(columns):
            intervals.append(compute_wilson_intervals(means.value, means.n_units, quantile))
        else:
            errors = np.where(means.squared_error > 0, np.sqrt(means.squared_error), np.nan)
            intervals.append(bound_by_t(means.value, errors, means.n_units - 1, level))
    low, high = zip(*intervals, strict=True)
    return np.stack(low), np.stack(high)
