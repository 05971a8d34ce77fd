"""Simulation of new topics from real scores.

Scores are scaled to the range from 0 to 1. A distribution is stored as its cumulative distribution
function (CDF) at points that all systems share. The CDF of a continuous distribution is linear
between the points, so that the mean of the distribution is exact.

The families, and the effective number of parameters of a kernel estimate (the sum of each score's
weight in its own estimate), are those of Urbano and Nagler (2018). As in their package simIReff,
shapes of beta distributions are at least 1; those of beta-binomial distributions may be smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import cumulative_trapezoid
from scipy.special import betaln, gammaln, log_ndtr, ndtr, ndtri, stdtr, xlog1py, xlogy
from scipy.stats import rankdata

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import (
    CranfieldError,
    PolicyError,
    as_indices,
    as_numbers,
    check_integer,
    quote,
)
from cranfield.base.kinds import OneOf, RealNumber, check_arguments
from cranfield.base.streams import make_stream
from cranfield.base.text import inflect
from cranfield.scores.averages import Averages
from cranfield.scores.one_measure import find_label
from cranfield.significance.prepare import as_scores, check_squarable

CRITERIA = ("aic", "bic", "likelihood")  # the smallest AIC or BIC, or the largest likelihood
N_POINTS = 1025  # points from 0 to 1 at which continuous distributions are stored
EDGE = 1e-6  # smallest distance of a score from 0 and 1, so that beta densities are finite
MIN_SD = 0.05  # smallest standard deviation of a normal distribution before truncation
MIN_LOG_SHAPE = -4.0  # log of the smallest shape of a beta-binomial: nearly all scores are 0 or 1
LogLikelihood = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class FittedFamily:
    """A family of distributions, fitted to the scores of each system."""

    family: str
    loglike: Floats  # log-likelihood of each system's scores, shape (systems,)
    n_parameters: Floats  # effective number of parameters, shape (systems,)
    weights: Floats  # probabilities, or densities up to a factor, shape (systems, points)


def fit_continuous(values: Floats) -> tuple[Floats, list[FittedFamily]]:
    """Fit the continuous families; return the points of their densities, and the families."""
    points = np.linspace(0.0, 1.0, N_POINTS)
    families = (_fit_beta, _fit_normal, _fit_normal_kernel, _fit_beta_kernel)
    return points, [fit(values, points) for fit in families]


def fit_discrete(values: Floats, support: Floats) -> list[FittedFamily]:
    """Fit the discrete families to scores that are all in the support."""
    point_of = np.abs(support[:, None, None] - values).argmin(axis=0)
    counts = np.stack([(point_of == k).sum(axis=0) for k in range(len(support))], axis=1) * 1.0
    return [_fit_beta_binomial(counts), _fit_discrete_kernel(counts)]


def _maximise(
    evaluate: LogLikelihood, first: Floats, second: Floats, lower: float = -np.inf
) -> tuple[Floats, Floats]:
    """Maximise the likelihood of two parameters, at least `lower`, for all systems at once."""
    # Compass search: each step moves to the best of eight neighbours; the step is halved if none
    # is better, and grows otherwise.
    directions = np.array([(0, 0), *((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)])
    step, systems = np.ones(first.shape), np.arange(first.size)
    for _ in range(1500):
        candidates = [
            np.maximum(parameter + step * directions[:, [k]], lower)
            for k, parameter in enumerate((first, second))
        ]
        best_direction = np.argmax(evaluate(*candidates), axis=0)
        first, second = (parameters[best_direction, systems] for parameters in candidates)
        step = np.where(best_direction == 0, step / 2, np.minimum(1.0, step * 1.5))
        if (step < 1e-7).all():
            break
    return first, second


def _compute_shapes(log_shapes: Floats) -> Floats:
    """Return the shapes of beta distributions from their logarithms, at most exp(12)."""
    return np.asarray(np.exp(np.minimum(log_shapes, 12.0)))


def _estimate_log_shapes(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Estimate the logarithms of the shapes of beta distributions by the method of moments."""
    mean = np.clip(mean, 0.01, 0.99)
    sum_of_shapes = np.clip(mean * (1 - mean) / np.maximum(variance, 1e-4) - 1, 0.5, 1e4)
    return np.log(mean * sum_of_shapes), np.log((1 - mean) * sum_of_shapes)


def _fit_beta(values: Floats, points: Floats) -> FittedFamily:
    """Fit a beta distribution; its shapes are at least 1, so that densities stay finite."""
    interior_values = np.clip(values, EDGE, 1 - EDGE)
    mean_log_x = np.log(interior_values).mean(axis=0)
    mean_log_1_minus_x = np.log1p(-interior_values).mean(axis=0)

    def evaluate(log_a: Floats, log_b: Floats) -> Floats:
        a, b = _compute_shapes(log_a), _compute_shapes(log_b)
        return np.asarray((a - 1) * mean_log_x + (b - 1) * mean_log_1_minus_x - betaln(a, b))

    start = _estimate_log_shapes(values.mean(axis=0), values.var(axis=0))
    estimates = _maximise(evaluate, *start, lower=0.0)
    a, b = (_compute_shapes(log_shapes)[:, None] for log_shapes in estimates)
    weights = np.exp(xlogy(a - 1, points) + xlog1py(b - 1, -points) - betaln(a, b))
    return FittedFamily("beta", len(values) * evaluate(*estimates), np.full(len(a), 2.0), weights)


def _fit_normal(values: Floats, points: Floats) -> FittedFamily:
    """Fit a normal distribution truncated to the range from 0 to 1."""
    mean, mean_square = values.mean(axis=0), (values**2).mean(axis=0)
    sample_sd = np.maximum(values.std(axis=0), MIN_SD)

    def compute_location_and_sd(ratio: Floats, log_sd: Floats) -> tuple[Floats, Floats]:
        # If the location is far outside, only its ratio to the variance is well determined.
        sd = MIN_SD + np.exp(np.minimum(log_sd, 3.0))
        return ratio / sample_sd * sd**2, sd

    def evaluate(ratio: Floats, log_sd: Floats) -> Floats:
        location, sd = compute_location_and_sd(ratio, log_sd)
        mean_squared_z = (mean_square - 2 * location * mean + location**2) / sd**2
        # The probability of the range, from the left tail to avoid cancellation.
        low, high = -location / sd, (1 - location) / sd
        is_right = low > 0
        low, high = np.where(is_right, -high, low), np.where(is_right, -low, high)
        log_inside = log_ndtr(high) + np.log(-np.expm1(log_ndtr(low) - log_ndtr(high)))
        return np.asarray(-mean_squared_z / 2 - np.log(sd) - np.log(2 * np.pi) / 2 - log_inside)

    estimates = _maximise(evaluate, mean / sample_sd, np.log(np.maximum(sample_sd - MIN_SD, 0.01)))
    location, sd = (parameter[:, None] for parameter in compute_location_and_sd(*estimates))
    log_weights = -(((points - location) / sd) ** 2) / 2
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return FittedFamily(
        "normal", len(values) * evaluate(*estimates), np.full(len(sd), 2.0), weights
    )


def _fit_normal_kernel(values: Floats, points: Floats) -> FittedFamily:
    """Smooth scores by truncated normal kernels; bandwidth by Silverman's rule of thumb (1986)."""
    first_quartile, third_quartile = np.quantile(values, [0.25, 0.75], axis=0)
    robust_sd = (third_quartile - first_quartile) / 1.34
    sd = values.std(axis=0, ddof=1)
    sd = np.where(robust_sd > 0, np.minimum(sd, robust_sd), sd)
    bandwidth = np.maximum(0.9 * sd * len(values) ** -0.2, 0.005)
    normaliser = np.sqrt(2 * np.pi) * bandwidth

    def compute_density(x: Floats) -> Floats:
        # Distances of x from all scores, in bandwidths, shape (points, topics, systems).
        distances = (x[:, None] - values) / bandwidth
        return np.asarray((np.exp(-(distances**2) / 2) / normaliser).mean(axis=1))

    mass_inside = (ndtr((1 - values) / bandwidth) - ndtr(-values / bandwidth)).mean(axis=0)
    densities = compute_density(values)
    n_parameters = (1 / normaliser / densities).mean(axis=0)
    loglike = np.log(densities / mass_inside).sum(axis=0)
    return FittedFamily("normal kernel", loglike, n_parameters, _tabulate(compute_density, points))


def _fit_beta_kernel(values: Floats, points: Floats) -> FittedFamily:
    """Smooth scores by the beta kernels of Chen (1999), with the bandwidth n^(-2/5)."""
    bandwidth = len(values) ** -0.4
    interior_values = np.clip(values, EDGE, 1 - EDGE)
    log_x, log_1_minus_x = np.log(interior_values), np.log1p(-interior_values)

    def compute_kernel(centre: Floats) -> Floats:
        a, b = centre / bandwidth, (1 - centre) / bandwidth
        return np.asarray(np.exp(a * log_x + b * log_1_minus_x - betaln(a + 1, b + 1)))

    def compute_density(x: Floats) -> Floats:
        return np.asarray(compute_kernel(x[:, None]).mean(axis=1))

    weights, densities = _tabulate(compute_density, points), compute_density(interior_values)
    n_parameters = (compute_kernel(interior_values) / densities).mean(axis=0)
    loglike = np.log(densities / np.trapezoid(weights, points, axis=1)).sum(axis=0)
    return FittedFamily("beta kernel", loglike, n_parameters, weights)


def _tabulate(density: Callable[[Floats], Floats], points: Floats) -> Floats:
    """Return the density of each system at the points, computed in chunks to bound the memory."""
    chunks = [density(chunk[:, None]) for chunk in np.array_split(points, 32)]
    return np.concatenate(chunks).T


def _fit_beta_binomial(counts: Floats) -> FittedFamily:
    """Fit a beta-binomial distribution to the number of topics with each value of the support."""
    n = counts.shape[1] - 1
    k = np.arange(n + 1.0)
    log_binomial = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)

    def compute_log_probabilities(log_a: Floats, log_b: Floats) -> Floats:
        a, b = _compute_shapes(log_a)[..., None], _compute_shapes(log_b)[..., None]
        return np.asarray(log_binomial + betaln(a + k, b + n - k) - betaln(a, b))

    def evaluate(log_a: Floats, log_b: Floats) -> Floats:
        return np.asarray((compute_log_probabilities(log_a, log_b) * counts).sum(axis=-1))

    mean, mean_square = (counts @ (k / n) ** power / counts.sum(axis=1) for power in (1, 2))
    start = _estimate_log_shapes(mean, mean_square - mean**2)
    estimates = _maximise(evaluate, *start, lower=MIN_LOG_SHAPE)
    weights = np.exp(compute_log_probabilities(*estimates))
    return FittedFamily("beta-binomial", evaluate(*estimates), np.full(len(counts), 2.0), weights)


def _fit_discrete_kernel(counts: Floats) -> FittedFamily:
    """Smooth counts by the kernel of Wang and van Ryzin (1981)."""
    # The bandwidth h maximises the leave-one-out likelihood.
    values = np.arange(counts.shape[1])
    distances = np.abs(np.subtract.outer(values, values))
    n_topics = counts.sum(axis=1, keepdims=True)
    fits: list[tuple[Floats, Floats, Floats, Floats]] = []
    for h in np.linspace(0.025, 0.975, 39):
        kernel = np.where(distances == 0, 1 - h, (1 - h) * h**distances / 2)
        kernel /= kernel.sum(axis=1, keepdims=True)
        leave_one_out = (counts @ kernel - kernel.diagonal()) / (n_topics - 1)
        weights = counts @ kernel / n_topics
        cross_loglike = xlogy(counts, np.maximum(leave_one_out, 1e-300)).sum(axis=1)
        leverage_sum = (counts * kernel.diagonal() / np.maximum(weights, 1e-300)).sum(axis=1)
        loglike = xlogy(counts, np.maximum(weights, 1e-300)).sum(axis=1)
        fits.append((cross_loglike, loglike, leverage_sum / n_topics[:, 0], weights))
    cross_loglikes, *estimates = map(np.stack, zip(*fits, strict=True))
    best_fit, systems = cross_loglikes.argmax(axis=0), np.arange(len(counts))
    return FittedFamily("discrete kernel", *(array[best_fit, systems] for array in estimates))


_MAX_SCORES = 1 << 28  # scores in one draw, 2 GiB


@dataclass(frozen=True, eq=False)
class Resampled:
    """A population whose topics are the real topics, each equally likely.

    It has the means, variances, correlations, ties and distributions of the real scores.

    Attributes
    ----------
    values
        Scores, shape (topics, systems), or (topics, systems, shards); NaN marks a missing score.

    Examples
    --------
    >>> import numpy as np
    >>> real = Resampled(np.array([[0.2, 0.5], [0.4, 0.9]]))
    >>> equal = real.with_means(0.5)
    >>> real.means.round(3).tolist(), equal.means.round(3).tolist()
    ([0.3, 0.7], [0.5, 0.5])
    >>> equal.draw(3, seed=1).round(3).tolist()
    [[0.4, 0.3], [0.6, 0.7], [0.6, 0.7]]
    """

    values: Floats

    @cached_property
    def means(self) -> Floats:
        """True means, shape (systems,): over topics, and over shards."""
        return Averages(self.values).mean_along(0, *range(2, self.values.ndim))

    def with_means(self, means: ArrayLike) -> Resampled:
        """Return a population with these true means: each system's scores shift by a constant.

        With equal means, the population satisfies the null hypothesis and keeps all other
        differences between the real systems. Scores may leave the range of their measure. Two
        systems with equal scores on most topics then differ by a constant, which is unrealistic.
        """
        shifts = as_numbers(means, "means") - self.means
        return replace(self, values=self.values + shifts.reshape(-1, *[1] * (self.values.ndim - 2)))

    def draw(self, n_topics: int, seed: int, *key: int) -> Floats:
        """Draw the scores of new topics; `seed` and `key` select the random stream."""
        check_integer("n_topics", n_topics, 1, _MAX_SCORES // max(1, self.values[0].size))
        check_integer("seed", seed, 0)
        return self.values[make_stream(seed, *key).integers(len(self.values), size=n_topics)]


COPULAS = ("gaussian", "t", "empirical")
MIN_TOPICS = 5  # to fit distributions
MIN_REPEATS = 10  # smallest mean frequency of the distinct values of discrete scores


@dataclass(frozen=True, eq=False)
class Simulator:
    """A population of topics: the distribution of each system's scores, and their dependence.

    Attributes
    ----------
    systems
        Names of the systems.
    families
        The selected family of distributions of each system.
    points
        Scores at which the distributions are known, ascending, shape (points,).
    cdf
        Cumulative distribution function of each system at the points, shape (systems, points).
    is_discrete
        Whether all scores are among the points; otherwise the CDF is linear between points.
    normal_scores
        Normal scores of the real topics, shape (real topics, systems), scaled such that columns
        have Euclidean norm 1. New topics are random linear combinations of the rows, except with
        the empirical copula.
    shrinkage
        Shrinkage of correlations towards their mean, from 0 to 1.
    df
        Degrees of freedom of the t copula; None for the other copulas.
    ranks
        For the empirical copula, ranks of the real topics from 0, shape (real topics, systems).
    """

    systems: tuple[str, ...]
    families: tuple[str, ...]
    points: Floats = field(repr=False)
    cdf: Floats = field(repr=False)
    is_discrete: bool
    normal_scores: Floats = field(repr=False)
    shrinkage: float = 0.0
    df: float | None = None
    ranks: Indices | None = field(default=None, repr=False)

    @cached_property
    def means(self) -> Floats:
        """True means, shape (systems,): expected scores."""
        return _compute_means(self.points, self.cdf, self.is_discrete)

    @property
    def correlation(self) -> Floats:
        """Correlation matrix of the Gaussian or t copula, shape (systems, systems)."""
        observed_matrix = self.normal_scores.T @ self.normal_scores
        matrix = (1 - self.shrinkage) * observed_matrix + self.shrinkage * self._mean_correlation
        np.fill_diagonal(matrix, 1.0)
        return np.asarray(matrix)

    @cached_property
    def _mean_correlation(self) -> float:
        n_systems = self.normal_scores.shape[1]
        sum_of_pairs = float((self.normal_scores.sum(axis=1) ** 2).sum()) - n_systems
        return float(max(0.0, sum_of_pairs / max(1, n_systems * (n_systems - 1))))

    def with_means(self, means: ArrayLike) -> Simulator:
        r"""Return a population with these true means.

        With equal means, the population satisfies the null hypothesis exactly, while shapes,
        variances and correlations change as little as possible. A CDF F becomes

        .. math:: F^a \text{ for a higher mean}, \quad 1 - (1 - F)^b \text{ for a lower mean,}
            \quad a, b \ge 1

        which is the smallest change by a beta distribution (Urbano and Nagler 2018, section 3.4).
        All scores remain possible.

        Raises
        ------
        CranfieldError
            For a mean that the scores of a system cannot have.
        PolicyError
            For means of another shape.
        """
        values = as_numbers(means, "means")
        if values.shape not in ((), (1,), self.means.shape):
            raise PolicyError(
                "means must be one number, or one number for each of"
                f" {inflect(len(self.systems), 'system')}; got an array of shape {values.shape}"
            )
        targets = np.broadcast_to(values, self.means.shape)
        is_rise = targets > self.means
        # The base of the power: the CDF, or its complement.
        base = np.where(is_rise[:, None], self.cdf, 1 - self.cdf)

        def raise_base(exponent: Floats) -> Floats:
            powers = base ** exponent[:, None]
            return np.where(is_rise[:, None], powers, 1 - powers)

        # Bounds of the logarithm of the exponent.
        low, high = np.zeros(len(targets)), np.full(len(targets), 14.0)
        for _ in range(60):
            middle = (low + high) / 2
            middle_means = _compute_means(self.points, raise_base(np.exp(middle)), self.is_discrete)
            is_enough = np.where(is_rise, middle_means >= targets, middle_means <= targets)
            low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
        # Avoid the rounding errors of a power of 1.
        is_unchanged = targets == self.means
        cdf = np.where(is_unchanged[:, None], self.cdf, raise_base(np.exp(high)))
        new_means = _compute_means(self.points, cdf, self.is_discrete)
        failures = np.flatnonzero(~(np.abs(new_means - targets) <= 1e-9 * np.ptp(self.points)))
        if failures.size:
            name = quote(self.systems[failures[0]])
            if failures.size > 1:
                name += f" and {inflect(failures.size - 1, 'other system')}"
            raise CranfieldError(f"scores of {name} cannot have the mean {targets[failures[0]]:g}")
        return replace(self, cdf=cdf)

    def with_margin_of(self, system: str) -> Simulator:
        """Return a population in which all systems have the marginal distribution of `system`.

        This is the null hypothesis of Urbano, Lima and Hanjalic (2019b), section 3: means and
        variances are equal. Under a Gaussian or a t copula two such systems are exchangeable and
        their differences symmetric, so that tests that assume symmetry, such as the signed-rank
        test, keep their Type I error rate. Under the empirical copula they do not.
        """
        margin = self.cdf[find_label(system, self.systems)]
        return replace(self, cdf=np.tile(margin, (len(self.systems), 1)))

    def select(self, systems: Any) -> Simulator:
        """Return the population of a subset of the systems, selected by their indices."""
        subset = as_indices(systems, "systems", len(self.systems))
        return replace(
            self,
            systems=tuple(self.systems[k] for k in subset),
            families=tuple(self.families[k] for k in subset),
            cdf=self.cdf[subset],
            normal_scores=self.normal_scores[:, subset],
            ranks=None if self.ranks is None else self.ranks[:, subset],
        )

    def draw(self, n_topics: int, seed: int, *key: int) -> Floats:
        """Draw the scores of new topics; `seed` and `key` select the random stream.

        The result has shape (topics, systems). Topics are independent: to draw several data sets
        at once, draw all their topics and reshape.
        """
        check_integer("n_topics", n_topics, 1)
        check_integer("seed", seed, 0)
        rng = make_stream(seed, *key)
        if self.ranks is not None:
            real_topic, offset = rng.random((n_topics, 2)).T
            n = len(self.ranks)
            ranks = self.ranks[(real_topic * n).astype(int)]
            return self._compute_quantiles((ranks + offset[:, None]) / n)
        weights = rng.normal(size=(n_topics, len(self.normal_scores)))
        # A matrix product by BLAS would depend on its number of threads.
        z = np.einsum("ij,jk->ik", weights, self.normal_scores)
        if self.shrinkage:
            common_part = rng.normal(size=(n_topics, 1)) * np.sqrt(self._mean_correlation)
            independent_part = rng.normal(size=z.shape) * np.sqrt(1 - self._mean_correlation)
            z = np.sqrt(1 - self.shrinkage) * z
            z += np.sqrt(self.shrinkage) * (common_part + independent_part)
        probabilities = ndtr(z)
        if self.df is not None:
            scale = np.sqrt(rng.chisquare(self.df, size=(n_topics, 1)) / self.df)
            probabilities = stdtr(self.df, z / scale)
        return self._compute_quantiles(np.clip(probabilities, 1e-15, 1 - 1e-15))

    def _compute_quantiles(self, probabilities: Floats) -> Floats:
        """Return the scores at cumulative probabilities, shape (topics, systems)."""
        out = np.empty(probabilities.shape)
        for k, cdf in enumerate(self.cdf):
            if self.is_discrete:
                positions = np.searchsorted(cdf, probabilities[:, k])
                out[:, k] = self.points[np.minimum(positions, len(cdf) - 1)]
            else:
                out[:, k] = np.interp(probabilities[:, k], cdf, self.points)
        return out


def _compute_means(points: Floats, cdf: Floats, is_discrete: bool) -> Floats:
    """Return the mean of each distribution: the area above its CDF."""
    heights = cdf[:, :-1] if is_discrete else (cdf[:, 1:] + cdf[:, :-1]) / 2
    return np.asarray(points[0] + ((1 - heights) * np.diff(points)).sum(axis=1))


def fit_simulator(
    scores: Any,
    *,
    discrete_scores: bool | None = None,
    criterion: Annotated[str, OneOf(CRITERIA)] = "aic",
    copula: Annotated[str, OneOf(COPULAS)] = "gaussian",
    shrinkage: Annotated[float, RealNumber(0, 1)] = 0.0,
    df: Annotated[float, RealNumber(maximum=np.inf, above=0)] = 5.0,
) -> Simulator:
    """Fit distributions and a copula to real scores, to simulate new topics.

    The scores of each system have a distribution of the family that fits best. Continuous families
    are the beta and the truncated normal distribution, and kernel estimates with truncated normal
    or beta kernels; discrete families are the beta-binomial distribution and a discrete kernel
    estimate. The dependence between systems is modelled by a Gaussian copula or a t copula, with
    the correlations of the normal scores of mid-ranks, or by the empirical copula of the real
    topics. Sources: Urbano and Nagler (2018); Urbano, Lima and Hanjalic (2019b), who use vine
    copulas and break ties at random.

    The simulation assumes that topics are independent, that the copula describes the dependence of
    scores, and that the distributions, fitted to a few dozen topics, are correct. Gaussian and t
    copulas are symmetric, so that differences are more symmetric than differences of real scores.
    Continuous distributions have no ties: scores of exactly 0, and topics on which two systems have
    equal scores, are not simulated. With more systems than topics the correlation matrix is
    singular, which is not a problem.

    Parameters
    ----------
    scores
        Scores as for :func:`compare`, complete, of at least 5 topics, not by shard.
    discrete_scores
        Whether to simulate only the observed values, such as those of P@10, and the values in their
        gaps if they are equispaced. By default True if values occur 10 times or more on average.
    criterion
        Criterion that selects the families: `aic`, `bic`, or `likelihood`, which nearly always
        selects kernel estimates.
    copula
        `gaussian`, `t`, or `empirical`, which gives the systems their ranks on a random real topic,
        plus one random fraction of a rank. As with real scores, a system may then be far better
        than another on few topics, and slightly worse on many.
    shrinkage
        Shrinkage of correlations towards their mean, from 0 to 1; not used by the empirical copula.
        It makes nearly identical runs less similar.
    df
        Degrees of freedom of the t copula; with fewer, systems fail on the same topics more often.

    Returns
    -------
    Simulator
        The true means are the means of the real scores. If scores are outside the range from 0 to
        1, distributions are fitted between the smallest and the largest score.

    Raises
    ------
    CranfieldError
        When scores are missing, infinite or too few, or a system has the same score for each topic.
    PolicyError
        For an option out of its range, or scores by shard.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> scores = cf.evaluate(covid.runs[:3], covid.qrels, "nDCG@20")["nDCG@20"]
    >>> fitted = fit_simulator(scores)
    >>> equal = fitted.with_means(0.5)
    >>> equal.means.round(6).tolist(), equal.draw(1000, seed=1).mean(axis=0).round(2).tolist()
    ([0.5, 0.5, 0.5], [0.49, 0.49, 0.49])
    """
    check_arguments(fit_simulator, locals())
    score_table = as_scores(scores)
    score_table.require_two_axes("scores by shard cannot be simulated")
    score_table, _ = check_squarable(score_table).complete("error")
    values = score_table.values
    if len(values) < MIN_TOPICS:
        raise CranfieldError(
            f"fitting distributions requires at least {MIN_TOPICS} topics, got {len(values)}"
        )
    indices = np.flatnonzero(np.ptp(values, axis=0) <= 1e-12 * np.abs(values).max(initial=0.0))
    if indices.size:
        name = quote(score_table.systems[indices[0]])
        raise CranfieldError(
            f"cannot fit a distribution: system {name} has the same score for each topic"
        )
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    scaled_values = (values - low) / (high - low)
    distinct_values = np.unique(scaled_values.round(9))
    if distinct_values.size < 2:
        raise CranfieldError("scores that differ by less than 1e-9 cannot be simulated")
    if discrete_scores is None:
        discrete_scores = MIN_REPEATS * distinct_values.size <= scaled_values.size
    if discrete_scores:
        points = _fill_gaps(distinct_values)
        families = fit_discrete(scaled_values, points)
        cdfs = [np.cumsum(family.weights, axis=1) for family in families]
    else:
        points, families = fit_continuous(scaled_values)
        # Unnormalised: the last value of each row, by which it is divided below, is not 1.
        cdfs = [cumulative_trapezoid(family.weights, initial=0) for family in families]
    penalty = {"aic": 2.0, "bic": float(np.log(len(values))), "likelihood": 0.0}[criterion]
    best_family = np.argmin([penalty * f.n_parameters - 2 * f.loglike for f in families], axis=0)
    cdf = np.stack(cdfs)[best_family, np.arange(len(best_family))]
    # Normal scores of mid-ranks, centred and scaled to Euclidean norm 1.
    normal_scores = ndtri(rankdata(values, axis=0) / (len(values) + 1))
    normal_scores -= normal_scores.mean(axis=0)
    # Ranks of topics, from 0: ties are broken by the mean score of the topic.
    topic_means = np.broadcast_to(values.mean(axis=1)[:, None], values.shape)
    ranks = np.argsort(np.lexsort((topic_means, values), axis=0), axis=0)
    simulator = Simulator(
        systems=score_table.systems,
        families=tuple(families[k].family for k in best_family),
        points=low + (high - low) * points,
        cdf=np.minimum(cdf / cdf[:, -1:], 1.0),
        is_discrete=discrete_scores,
        normal_scores=normal_scores / np.sqrt((normal_scores**2).sum(axis=0)),
        shrinkage=shrinkage,
        df=df if copula == "t" else None,
        ranks=ranks if copula == "empirical" else None,
    )
    return simulator.with_means(values.mean(axis=0))


def _fill_gaps(values: Floats) -> Floats:
    """Fill gaps between equispaced values, such as those of P@10; leave others unchanged."""
    step = float(np.diff(values).min())
    multiples = values / step
    n_steps = round(1 / step)
    if abs(n_steps * step - 1) < 1e-6 and np.abs(multiples - multiples.round()).max() < 1e-6:
        return np.linspace(0.0, 1.0, n_steps + 1)
    return values
