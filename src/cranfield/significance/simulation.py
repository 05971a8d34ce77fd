"""Simulation of new topics from real scores.

Scores are scaled to 0 to 1. Every distribution is a table of its distribution function at points
that all systems share. Between the points of a continuous one it is linear, so that its mean is
known exactly.

The families, and the number of parameters of a kernel (the sum of each score's weight in its own
estimate), are those of Urbano and Nagler (2018). As in their package simIReff, shapes of beta
distributions are at least 1; those of beta-binomial distributions may be smaller here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, gammaln, log_ndtr, ndtr, ndtri, stdtr, xlog1py, xlogy
from scipy.stats import rankdata

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import (
    CranfieldError,
    PolicyError,
    check_choice,
    check_number,
    check_whole,
    indices,
    numbers,
    quoted,
)
from cranfield.base.streams import stream
from cranfield.base.text import counted
from cranfield.scores.averages import Averages
from cranfield.scores.one_measure import label_index
from cranfield.significance.prepare import as_scores, check_squarable

CRITERIA = ("aic", "bic", "likelihood")
"""Criteria of choice: the smallest AIC or BIC, or the largest likelihood."""

POINTS = 1025  # points of a table between 0 and 1
EDGE = 1e-6  # distance by which scores of 0 and 1 are moved inside, to have a finite density

MIN_SD = 0.05
"""Smallest standard deviation of a truncated normal distribution, before it is cut off."""

MIN_LOG_SHAPE = -4.0
"""Logarithm of the smallest shape of a beta-binomial distribution: nearly all scores are 0 or 1."""

LogLikelihood = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class FittedFamily:
    """A family fitted to all systems; `weights` are probabilities or densities at the points."""

    family: str
    loglike: Floats
    parameters: Floats
    weights: Floats


def fit_continuous(values: Floats) -> tuple[Floats, list[FittedFamily]]:
    """Fit continuous families; returns the points of their tables, too."""
    points = np.linspace(0.0, 1.0, POINTS)
    families = (_fit_beta, _fit_normal, _fit_normal_kernel, _fit_beta_kernel)
    return points, [fit(values, points) for fit in families]


def fit_discrete(values: Floats, support: Floats) -> list[FittedFamily]:
    """Fit discrete families to scores that are values of a support."""
    places = np.abs(support[:, None, None] - values).argmin(axis=0)
    levels = np.arange(len(support))[:, None]
    counts = np.stack([(places == level).sum(axis=0) for level in levels], axis=1).astype(float)
    return [_fit_beta_binomial(counts), _fit_discrete_kernel(counts)]


def _maximise(
    loglike: LogLikelihood, first: Floats, second: Floats, lower: float = -np.inf
) -> tuple[Floats, Floats]:
    """Find the two parameters of largest likelihood, `lower` or more, for all systems at once.

    Each step goes to the best of eight neighbours; the steps halve if none is better, and grow
    otherwise.
    """
    sides = np.array([(0, 0), *((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)])
    step = np.full(first.shape, 1.0)
    systems = np.arange(first.size)
    for _ in range(1500):
        moves = [
            np.maximum(start + step * sides[:, [k]], lower)
            for k, start in enumerate((first, second))
        ]
        best = np.argmax(loglike(*moves), axis=0)
        first, second = (candidates[best, systems] for candidates in moves)
        step = np.where(best == 0, step / 2, np.minimum(1.0, step * 1.5))
        if (step < 1e-7).all():
            break
    return first, second


def _shapes(logs: Floats) -> Floats:
    """Return shapes of a beta distribution from their logarithms."""
    return np.asarray(np.exp(np.minimum(logs, 12.0)))


def _start(mean: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return the logarithms of the shapes that a beta distribution of some moments has."""
    mean = np.clip(mean, 0.01, 0.99)
    total = np.clip(mean * (1 - mean) / np.maximum(spread, 1e-4) - 1, 0.5, 1e4)
    return np.log(mean * total), np.log((1 - mean) * total)


def _fit_beta(values: Floats, points: Floats) -> FittedFamily:
    """Fit a beta distribution; its shapes are at least 1, so that densities stay finite."""
    interior = np.clip(values, EDGE, 1 - EDGE)
    logs, logs_up = np.log(interior).mean(axis=0), np.log1p(-interior).mean(axis=0)

    def loglike(first: Floats, second: Floats) -> Floats:
        a, b = _shapes(first), _shapes(second)
        return np.asarray((a - 1) * logs + (b - 1) * logs_up - betaln(a, b))

    estimates = _maximise(loglike, *_start(values.mean(axis=0), values.var(axis=0)), lower=0.0)
    a, b = (_shapes(logs_of_shape)[:, None] for logs_of_shape in estimates)
    weights = np.exp(xlogy(a - 1, points) + xlog1py(b - 1, -points) - betaln(a, b))
    return FittedFamily("beta", len(values) * loglike(*estimates), np.full(len(a), 2.0), weights)


def _fit_normal(values: Floats, points: Floats) -> FittedFamily:
    """Fit a normal distribution cut off at 0 and 1."""
    mean, square = values.mean(axis=0), (values**2).mean(axis=0)
    spread = np.maximum(values.std(axis=0), MIN_SD)

    def center_and_sd(pull: Floats, logs: Floats) -> tuple[Floats, Floats]:
        # Far from the middle only the pull, the mean by the variance, is well determined.
        sd = MIN_SD + np.exp(np.minimum(logs, 3.0))
        return pull / spread * sd**2, sd

    def loglike(pull: Floats, logs: Floats) -> Floats:
        center, sd = center_and_sd(pull, logs)
        squares = (square - 2 * center * mean + center**2) / sd**2
        # In the smaller tail no digits are lost.
        low, high = -center / sd, (1 - center) / sd
        flip = low > 0
        low, high = np.where(flip, -high, low), np.where(flip, -low, high)
        log_inside = log_ndtr(high) + np.log(-np.expm1(log_ndtr(low) - log_ndtr(high)))
        return np.asarray(-squares / 2 - np.log(sd) - np.log(2 * np.pi) / 2 - log_inside)

    estimates = _maximise(loglike, mean / spread, np.log(np.maximum(spread - MIN_SD, 0.01)))
    center, sd = (parameter[:, None] for parameter in center_and_sd(*estimates))
    logs = -(((points - center) / sd) ** 2) / 2
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return FittedFamily("normal", len(values) * loglike(*estimates), np.full(len(sd), 2.0), weights)


def _fit_normal_kernel(values: Floats, points: Floats) -> FittedFamily:
    """Smooth scores by normal kernels, cut off at 0 and 1; Silverman's rule of thumb (1986)."""
    low, high = np.quantile(values, [0.25, 0.75], axis=0)
    quartile = (high - low) / 1.34
    spread = values.std(axis=0, ddof=1)
    spread = np.where(quartile > 0, np.minimum(spread, quartile), spread)
    width = np.maximum(0.9 * spread * len(values) ** -0.2, 0.005)

    def density(x: Floats) -> Floats:
        # Distances of x from all scores, shape (numbers, topics, systems).
        distances = (x[:, None] - values) / width
        peak = np.sqrt(2 * np.pi) * width
        return np.asarray((np.exp(-(distances**2) / 2) / peak).mean(axis=1))

    inside = (ndtr((1 - values) / width) - ndtr(-values / width)).mean(axis=0)
    heights = density(values)
    parameters = (1 / (np.sqrt(2 * np.pi) * width) / heights).mean(axis=0)
    loglike = np.log(heights / inside).sum(axis=0)
    return FittedFamily("normal kernel", loglike, parameters, _tabulate(density, points))


def _fit_beta_kernel(values: Floats, points: Floats) -> FittedFamily:
    """Smooth scores by the beta kernels of Chen (1999), whose bandwidth is n^(-2/5)."""
    width = len(values) ** -0.4
    interior = np.clip(values, EDGE, 1 - EDGE)
    logs, logs_up = np.log(interior), np.log1p(-interior)

    def density(x: Floats) -> Floats:
        a, b = (x / width)[:, None], ((1 - x) / width)[:, None]
        return np.asarray(np.exp(a * logs + b * logs_up - betaln(a + 1, b + 1)).mean(axis=1))

    weights = _tabulate(density, points)
    total = np.trapezoid(weights, points, axis=1)
    heights = density(interior)
    a, b = interior / width, (1 - interior) / width
    peak = np.exp(a * logs + b * logs_up - betaln(a + 1, b + 1))
    parameters = (peak / heights).mean(axis=0)
    return FittedFamily("beta kernel", np.log(heights / total).sum(axis=0), parameters, weights)


def _tabulate(density: Callable[[Floats], Floats], points: Floats) -> Floats:
    """Return the density of each system at the points, some of them at a time."""
    parts = [density(subset[:, None]) for subset in np.array_split(points, 32)]
    return np.concatenate(parts).T


def _fit_beta_binomial(counts: Floats) -> FittedFamily:
    """Fit a beta-binomial distribution to counts of the values of the support."""
    trials = counts.shape[1] - 1
    k = np.arange(trials + 1.0)
    choices = gammaln(trials + 1) - gammaln(k + 1) - gammaln(trials - k + 1)

    def logs(a: Floats, b: Floats) -> Floats:
        up, down = a[..., None] + k, b[..., None] + trials - k
        return np.asarray(choices + betaln(up, down) - betaln(a, b)[..., None])

    def loglike(first: Floats, second: Floats) -> Floats:
        return np.asarray((logs(_shapes(first), _shapes(second)) * counts).sum(axis=-1))

    mean, square = (counts @ (k / trials) ** power / counts.sum(axis=1) for power in (1, 2))
    estimates = _maximise(loglike, *_start(mean, square - mean**2), lower=MIN_LOG_SHAPE)
    weights = np.exp(logs(*map(_shapes, estimates)))
    return FittedFamily("beta-binomial", loglike(*estimates), np.full(len(counts), 2.0), weights)


def _fit_discrete_kernel(counts: Floats) -> FittedFamily:
    r"""Smooth by the kernel of Wang and van Ryzin (1981).

    It is 1 - h for the same value, and (1 - h) h^d / 2 for one that is d values away. The
    bandwidth h has the largest cross-validated likelihood of each topic from all others.
    """
    size = counts.shape[1]
    distances = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    topics = counts.sum(axis=1, keepdims=True)
    fits: list[tuple[Floats, Floats, Floats, Floats]] = []
    for h in np.linspace(0.025, 0.975, 39):
        kernel = np.where(distances == 0, 1 - h, (1 - h) * h**distances / 2)
        kernel /= kernel.sum(axis=1, keepdims=True)
        leave_one_out = (counts @ kernel - kernel.diagonal()) / (topics - 1)
        weights = counts @ kernel / topics
        cross_loglike = xlogy(counts, np.maximum(leave_one_out, 1e-300)).sum(axis=1)
        parameters = (counts * kernel.diagonal() / np.maximum(weights, 1e-300)).sum(axis=1)
        loglike = xlogy(counts, np.maximum(weights, 1e-300)).sum(axis=1)
        fits.append((cross_loglike, loglike, parameters / topics[:, 0], weights))
    best = np.argmax([fit[0] for fit in fits], axis=0)
    systems = np.arange(len(counts))
    loglike, parameters, weights = (
        np.stack([fit[k] for fit in fits])[best, systems] for k in (1, 2, 3)
    )
    return FittedFamily("discrete kernel", loglike, parameters, weights)


_MAX_SCORES = 1 << 28  # scores that are drawn together, 2 GiB


@dataclass(frozen=True, eq=False)
class Resampled:
    """A population whose topics are the real ones, each equally likely.

    Spreads, correlations, ties and the shape of distributions stay those of the real scores, and
    the true means are those of the real scores.

    Attributes
    ----------
    values
        Scores, shape (topics, systems), or (topics, systems, shards); NaN is 'no score'.

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
        """Return the population with other true means: each system's scores move by a constant.

        With one mean for all it is a null hypothesis of equal means that keeps all other
        differences of real systems. Scores may leave the range of their measure; and two systems
        that score alike on most topics differ by a constant there, which no measure would give
        them.
        """
        shift = numbers(means, "means") - self.means
        return replace(self, values=self.values + shift.reshape(-1, *[1] * (self.values.ndim - 2)))

    def draw(self, topics: int, seed: int, *key: int) -> Floats:
        """Return the scores of new topics, of the stream that belongs to a seed and a key."""
        check_whole("topics", topics, 1, _MAX_SCORES // max(1, self.values[0].size))
        check_whole("seed", seed, 0)
        return self.values[stream(seed, *key).integers(len(self.values), size=topics)]


COPULAS = ("gaussian", "t", "empirical")
MIN_TOPICS = 5  # to fit distributions
MIN_REPEATS = 10  # mean number of scores of each value from which scores are discrete


@dataclass(frozen=True, eq=False)
class Simulator:
    """A population of topics with the distribution of each system's scores, and their dependence.

    Attributes
    ----------
    systems
        Names.
    families
        The selected family of distributions of each system.
    points
        Scores at which the distributions are known, ascending, shape (points,).
    below
        The distribution function of each system there, shape (systems, points).
    steps
        Whether scores have only these values; otherwise distribution functions are linear between.
    mixed
        Normal scores of the real topics, whose columns have length 1, shape (real topics, systems):
        new topics are mixtures of them.
    shrinkage
        Shrinkage of correlations towards their mean, from 0 to 1.
    df
        Degrees of freedom of the t copula; None for the Gaussian one.
    ranks
        For the empirical copula, ranks of the real topics from 0, shape (real topics, systems).
    """

    systems: tuple[str, ...]
    families: tuple[str, ...]
    points: Floats = field(repr=False)
    below: Floats = field(repr=False)
    steps: bool
    mixed: Floats = field(repr=False)
    shrinkage: float = 0.0
    df: float | None = None
    ranks: Indices | None = field(default=None, repr=False)

    @cached_property
    def means(self) -> Floats:
        """True means, shape (systems,): expected scores."""
        return _mean_of(self.points, self.below, self.steps)

    @property
    def correlation(self) -> Floats:
        """Correlation of the copula, shape (systems, systems)."""
        sample_correlation = self.mixed.T @ self.mixed
        correlation = (1 - self.shrinkage) * sample_correlation + self.shrinkage * self._common
        np.fill_diagonal(correlation, 1.0)
        return np.asarray(correlation)

    @cached_property
    def _common(self) -> float:
        """Mean correlation of two systems; below 0 only by sampling error."""
        systems = self.mixed.shape[1]
        total = float((self.mixed.sum(axis=1) ** 2).sum()) - systems
        return float(max(0.0, total / max(1, systems * (systems - 1))))

    def with_means(self, means: ArrayLike) -> Simulator:
        r"""Return the population with other true means.

        With one mean for all it is a null hypothesis under which means are equal exactly, while
        shapes, spreads and correlations change as little as possible. A distribution F becomes

        .. math:: F^a \text{ for a higher mean}, \quad 1 - (1 - F)^b \text{ for a lower one,}
            \quad a, b \ge 1

        the smallest change by a beta distribution, as Urbano and Nagler (2018), section 3.4, have
        it. All scores remain possible.

        Raises
        ------
        CranfieldError
            For a mean that the scores of a system cannot have.
        """
        values = numbers(means, "means")
        if values.shape not in ((), (1,), self.means.shape):
            systems = counted(len(self.systems), "system")
            raise PolicyError(f"means must be one number, or one for each of {systems}")
        targets = np.broadcast_to(values, self.means.shape)
        rises = targets > self.means
        # The base of the power: the distribution function, or its complement.
        base = np.where(rises[:, None], self.below, 1 - self.below)

        def raise_to(power: Floats) -> Floats:
            risen = base ** power[:, None]
            return np.where(rises[:, None], risen, 1 - risen)

        low, high = np.zeros(len(targets)), np.full(len(targets), 14.0)
        for _ in range(60):
            middle = (low + high) / 2
            moved_means = _mean_of(self.points, raise_to(np.exp(middle)), self.steps)
            too_far = np.where(rises, moved_means >= targets, moved_means <= targets)
            low, high = np.where(too_far, low, middle), np.where(too_far, middle, high)
        # A power of 1 changes nothing, not even by rounding.
        is_unchanged = targets == self.means
        below = np.where(is_unchanged[:, None], self.below, raise_to(np.exp(high)))
        new_means = _mean_of(self.points, below, self.steps)
        unreached = np.flatnonzero(~(np.abs(new_means - targets) <= 1e-9 * np.ptp(self.points)))
        if unreached.size:
            more_systems = (
                f" and {counted(unreached.size - 1, 'other')}" if unreached.size > 1 else ""
            )
            name = f"{quoted(self.systems[unreached[0]])}{more_systems}"
            raise CranfieldError(f"scores of {name} cannot have the mean {targets[unreached[0]]:g}")
        return replace(self, below=below)

    def with_margin_of(self, system: str) -> Simulator:
        """Return the population in which all systems have the distribution of one of them.

        That is the null hypothesis of Urbano, Lima and Hanjalic (2019b), section 3: not only means
        are equal, but spreads too. Under a Gaussian or a t copula two such systems can be
        exchanged: their differences are symmetric, and the Type I errors of tests that need this,
        such as the signed-rank test, do not show. Use the empirical copula to see them.
        """
        margin = self.below[label_index(system, self.systems)]
        return replace(self, below=np.tile(margin, (len(self.systems), 1)))

    def select(self, systems: Any) -> Simulator:
        """Return the population of some systems, by their indices."""
        places = indices(systems, "systems", len(self.systems))
        return replace(
            self,
            systems=tuple(self.systems[k] for k in places),
            families=tuple(self.families[k] for k in places),
            below=self.below[places],
            mixed=self.mixed[:, places],
            ranks=None if self.ranks is None else self.ranks[:, places],
        )

    def draw(self, topics: int, seed: int, *key: int) -> Floats:
        """Return the scores of new topics, of the stream that belongs to a seed and a key.

        Shape (topics, systems). Topics are independent of each other: many data sets at once are
        one of many topics, reshaped.
        """
        check_whole("topics", topics, 1)
        check_whole("seed", seed, 0)
        random = stream(seed, *key)
        if self.ranks is not None:
            topic, position = random.random((topics, 2)).T
            n = len(self.ranks)
            return self._scores((self.ranks[(topic * n).astype(int)] + position[:, None]) / n)
        mixture = random.normal(size=(topics, len(self.mixed)))
        # A product by the library of linear algebra would depend on its number of threads.
        normal = np.einsum("ij,jk->ik", mixture, self.mixed)
        if self.shrinkage:
            common = random.normal(size=(topics, 1)) * np.sqrt(self._common)
            independent = random.normal(size=normal.shape) * np.sqrt(1 - self._common)
            normal = np.sqrt(1 - self.shrinkage) * normal
            normal += np.sqrt(self.shrinkage) * (common + independent)
        if self.df is None:
            probabilities = ndtr(normal)
        else:
            scale = np.sqrt(random.chisquare(self.df, size=(topics, 1)) / self.df)
            probabilities = stdtr(self.df, normal / scale)
        return self._scores(np.clip(probabilities, 1e-15, 1 - 1e-15))

    def _scores(self, probabilities: Floats) -> Floats:
        """Return the quantiles of each system."""
        out = np.empty(probabilities.shape)
        for k, below in enumerate(self.below):
            if self.steps:
                indices = np.searchsorted(below, probabilities[:, k])
                out[:, k] = self.points[np.minimum(indices, len(below) - 1)]
            else:
                out[:, k] = np.interp(probabilities[:, k], below, self.points)
        return out


def _mean_of(points: Floats, below: Floats, steps: bool) -> Floats:
    """Return means: the area over the distribution function."""
    heights = below[:, :-1] if steps else (below[:, 1:] + below[:, :-1]) / 2
    return np.asarray(points[0] + ((1 - heights) * np.diff(points)).sum(axis=1))


def fit_simulator(
    scores: Any,
    *,
    discrete_scores: bool | None = None,
    criterion: str = "aic",
    copula: str = "gaussian",
    shrinkage: float = 0.0,
    df: float = 5.0,
) -> Simulator:
    """Fit distributions and a copula to real scores, from which new topics can be drawn.

    The scores of each system follow a distribution of a family: continuous ones a beta or a
    truncated normal distribution, or smoothed by truncated normal or beta kernels; discrete ones a
    beta-binomial distribution, or smoothed by a discrete kernel. Systems depend on each other by a
    Gaussian copula, or a t copula, with the correlation of their normal scores (ties have their
    mid-rank), or as on one of the real topics (`empirical`). Source: Urbano and Nagler (2018);
    Urbano, Lima and Hanjalic (2019b), who take vine copulas, and break ties at random.

    It assumes that topics are drawn independently of each other, that the dependence of scores is
    that of the copula, and that the distributions, fitted to some tens of topics, are right. But
    for the empirical one a copula is the same from below and from above, so that differences are
    more symmetric than real ones. Continuous distributions have no ties: scores of exactly 0, and
    topics on which two systems score alike, are not simulated. With more systems than topics
    correlations are singular, which does not prevent drawing.

    Parameters
    ----------
    scores
        As :func:`compare` takes them; complete, of 5 topics or more, and not by shard.
    discrete_scores
        Whether scores have only the values that occur, such as P@10; by default, if each value
        occurs 10 times on average. Gaps between equispaced values are filled.
    criterion
        `aic`, `bic`, or `likelihood`, which nearly always chooses the kernels.
    copula
        `gaussian`, `t`, or `empirical`: each new topic has the ranks that systems have on a real
        one, and a place between two ranks that all of them share. Of two systems one may then be
        far better on few topics, and a little worse on many, as real ones are.
    shrinkage
        Shrinkage of correlations towards their mean, from 0 to 1; not for the
        empirical copula. Runs that are nearly the same become less so.
    df
        Degrees of freedom of the t copula, in which systems fail together more often the lower they
        are.

    Returns
    -------
    Simulator
        Its true means are those of the real scores. Scores not between 0 and 1 are fitted between
        the lowest and the highest one.

    Raises
    ------
    CranfieldError
        When scores are missing or too few, or a system has the same score for each topic.
    PolicyError
        For an option out of its range.

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
    check_choice("criterion", criterion, CRITERIA)
    check_number("shrinkage", shrinkage, 0, 1)
    check_choice("copula", copula, COPULAS)
    check_number("df", df, above=0, maximum=np.inf)
    score_table = as_scores(scores)
    if score_table.shards:
        raise PolicyError("scores by shard cannot be simulated")
    score_table, _ = check_squarable(score_table).complete("error")
    values = score_table.values
    if len(values) < MIN_TOPICS:
        n_topics = counted(len(values), "topic")
        raise CranfieldError(f"distributions require at least {MIN_TOPICS} topics, got {n_topics}")
    constant = np.flatnonzero(np.ptp(values, axis=0) <= 1e-12 * np.abs(values).max(initial=0.0))
    if constant.size:
        name = quoted(score_table.systems[constant[0]])
        raise CranfieldError(
            f"system {name} has the same score for each topic: no distribution to fit"
        )
    low, high = min(0.0, float(values.min())), max(1.0, float(values.max()))
    if (low, high) != (0.0, 1.0):
        low, high = float(values.min()), float(values.max())
    unit = (values - low) / (high - low)
    distinct = np.unique(unit.round(9))
    if distinct.size < 2:
        raise CranfieldError("scores that differ by less than 1e-9 cannot be simulated")
    if discrete_scores is None:
        discrete_scores = MIN_REPEATS * distinct.size <= unit.size
    if discrete_scores:
        points = _fill_gaps(distinct)
        families = fit_discrete(unit, points)
        cdfs = [np.cumsum(family.weights, axis=1) for family in families]
    else:
        points, families = fit_continuous(unit)
        cdfs = [_cumulate(family.weights) for family in families]
    penalty = {"aic": 2.0, "bic": float(np.log(len(values))), "likelihood": 0.0}[criterion]
    best = np.argmin([penalty * f.parameters - 2 * f.loglike for f in families], axis=0)
    cdf = np.stack(cdfs)[best, np.arange(len(best))]
    # Normal scores of mid-ranks, each system's of length 1.
    normal = ndtri(rankdata(values, axis=0) / (len(values) + 1))
    normal -= normal.mean(axis=0)
    # Ranks of topics, from 0: of tied topics the easier one is above.
    easiness = np.broadcast_to(values.mean(axis=1)[:, None], values.shape)
    ranks = np.argsort(np.lexsort((easiness, values), axis=0), axis=0)
    simulator = Simulator(
        systems=score_table.systems,
        families=tuple(families[k].family for k in best),
        points=low + (high - low) * points,
        below=np.minimum(cdf / cdf[:, -1:], 1.0),
        steps=discrete_scores,
        mixed=normal / np.sqrt((normal**2).sum(axis=0)),
        shrinkage=shrinkage,
        df=df if copula == "t" else None,
        ranks=ranks if copula == "empirical" else None,
    )
    return simulator.with_means(values.mean(axis=0))


def _fill_gaps(values: Floats) -> Floats:
    """Fill gaps between equispaced values, such as those of P@10; leave others unchanged."""
    step = float(np.diff(values).min())
    multiples = values / step
    number = round(1 / step)
    if abs(number * step - 1) < 1e-6 and np.abs(multiples - multiples.round()).max() < 1e-6:
        return np.linspace(0.0, 1.0, number + 1)
    return values


def _cumulate(weights: Floats) -> Floats:
    """Return the distribution function at points, from the density there."""
    areas = (weights[:, 1:] + weights[:, :-1]) / 2
    return np.concatenate([np.zeros((len(weights), 1)), np.cumsum(areas, axis=1)], axis=1)
