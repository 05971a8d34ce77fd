"""Simulation of new topics from real scores.

Scores are between 0 and 1 here. All distributions are tables in the end: of their distribution
function at points that all systems share. Between the points of a continuous one it is linear, so
that its mean is known exactly.

Urbano and Nagler (2018) have these families, and count the parameters of a kernel as its part in
its own estimate. As in their package simIReff shapes of beta distributions are 1 at least; those of
beta-binomial ones may be less here. Bandwidths are chosen as said at each.
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
from cranfield.scores.one_measure import place_of
from cranfield.significance.prepare import as_scores, squarable

CRITERIA = ("aic", "bic", "likelihood")
"""Criteria of choice: the smallest AIC or BIC, or the largest likelihood."""

POINTS = 1025  # points of a table between 0 and 1
EDGE = 1e-6  # scores of 0 and 1 count as so far inside, where a density may be 0 or infinite there

NARROWEST = 0.05
"""Smallest standard deviation of a truncated normal distribution, before it is cut off."""

FLATTEST = -4.0
"""Logarithm of the smallest shape of a beta-binomial distribution: nearly all scores are 0 or 1."""

LoglikeOf = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Fitted:
    """A family fitted to all systems; weights of points are as their probability or density."""

    family: str
    loglike: Floats
    parameters: Floats
    weights: Floats


def continuous(values: Floats) -> tuple[Floats, list[Fitted]]:
    """Fit continuous families; returns the points of their tables, too."""
    points = np.linspace(0.0, 1.0, POINTS)
    return points, [
        family(values, points) for family in (_beta, _normal, _normal_kernel, _beta_kernel)
    ]


def discrete(values: Floats, support: Floats) -> list[Fitted]:
    """Fit discrete families to scores that are values of a support."""
    places = np.abs(support[:, None, None] - values).argmin(axis=0)
    levels = np.arange(len(support))[:, None]
    counts = np.stack([(places == level).sum(axis=0) for level in levels], axis=1)
    return [_beta_binomial(counts.astype(np.float64)), _discrete_kernel(counts.astype(np.float64))]


def _climb(
    loglike: LoglikeOf, first: Floats, second: Floats, lower: float = -np.inf
) -> tuple[Floats, Floats]:
    """Find the two parameters of largest likelihood, `lower` or more, for all systems at once.

    Each step goes to the best of eight neighbours; the steps halve if none is better, and grow
    otherwise.
    """
    sides = np.array([(0, 0), *((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)])
    step = np.full(first.shape, 1.0)
    every = np.arange(first.size)
    for _ in range(1500):
        tried = [
            np.maximum(start + step * sides[:, [k]], lower)
            for k, start in enumerate((first, second))
        ]
        at = np.argmax(loglike(*tried), axis=0)
        first, second = (candidates[at, every] for candidates in tried)
        step = np.where(at == 0, step / 2, np.minimum(1.0, step * 1.5))
        if (step < 1e-7).all():
            break
    return first, second


def _shape(logs: Floats) -> Floats:
    """Return shapes of a beta distribution from their logarithms."""
    return np.asarray(np.exp(np.minimum(logs, 12.0)))


def _start(mean: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return the logarithms of the shapes that a beta distribution of some moments has."""
    mean = np.clip(mean, 0.01, 0.99)
    total = np.clip(mean * (1 - mean) / np.maximum(spread, 1e-4) - 1, 0.5, 1e4)
    return np.log(mean * total), np.log((1 - mean) * total)


def _beta(values: Floats, points: Floats) -> Fitted:
    """Fit a beta distribution; its shapes are 1 at least, so that densities stay finite."""
    inside = np.clip(values, EDGE, 1 - EDGE)
    logs, logs_up = np.log(inside).mean(axis=0), np.log1p(-inside).mean(axis=0)

    def loglike(first: Floats, second: Floats) -> Floats:
        a, b = _shape(first), _shape(second)
        return np.asarray((a - 1) * logs + (b - 1) * logs_up - betaln(a, b))

    estimates = _climb(loglike, *_start(values.mean(axis=0), values.var(axis=0)), lower=0.0)
    a, b = (_shape(logs_of_shape)[:, None] for logs_of_shape in estimates)
    weights = np.exp(xlogy(a - 1, points) + xlog1py(b - 1, -points) - betaln(a, b))
    return Fitted("beta", len(values) * loglike(*estimates), np.full(len(a), 2.0), weights)


def _normal(values: Floats, points: Floats) -> Fitted:
    """Fit a normal distribution cut off at 0 and 1."""
    mean, square = values.mean(axis=0), (values**2).mean(axis=0)
    spread = np.maximum(values.std(axis=0), NARROWEST)

    def center_and_sd(pull: Floats, logs: Floats) -> tuple[Floats, Floats]:
        # Far from the middle only the pull, the mean by the variance, is well known.
        sd = NARROWEST + np.exp(np.minimum(logs, 3.0))
        return pull / spread * sd**2, sd

    def loglike(pull: Floats, logs: Floats) -> Floats:
        center, sd = center_and_sd(pull, logs)
        away = (square - 2 * center * mean + center**2) / sd**2
        # The larger of both tails has the digits.
        low, high = -center / sd, (1 - center) / sd
        flip = low > 0
        low, high = np.where(flip, -high, low), np.where(flip, -low, high)
        part = log_ndtr(high) + np.log(-np.expm1(log_ndtr(low) - log_ndtr(high)))
        return np.asarray(-away / 2 - np.log(sd) - np.log(2 * np.pi) / 2 - part)

    estimates = _climb(loglike, mean / spread, np.log(np.maximum(spread - NARROWEST, 0.01)))
    center, sd = (parameter[:, None] for parameter in center_and_sd(*estimates))
    logs = -(((points - center) / sd) ** 2) / 2
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return Fitted("normal", len(values) * loglike(*estimates), np.full(len(sd), 2.0), weights)


def _normal_kernel(values: Floats, points: Floats) -> Fitted:
    """Smooth scores by normal kernels, cut off at 0 and 1; Silverman's rule of thumb (1986)."""
    low, high = np.quantile(values, [0.25, 0.75], axis=0)
    quartile = (high - low) / 1.34
    spread = values.std(axis=0, ddof=1)
    spread = np.where(quartile > 0, np.minimum(spread, quartile), spread)
    width = np.maximum(0.9 * spread * len(values) ** -0.2, 0.005)

    def density(at: Floats) -> Floats:
        # Shape (numbers, systems): the distance of each score from each requested number.
        away = (at[:, None] - values) / width
        peak = np.sqrt(2 * np.pi) * width
        return np.asarray((np.exp(-(away**2) / 2) / peak).mean(axis=1))

    inside = (ndtr((1 - values) / width) - ndtr(-values / width)).mean(axis=0)
    own = density(values)
    parameters = (1 / (np.sqrt(2 * np.pi) * width) / own).mean(axis=0)
    return Fitted(
        "normal kernel", np.log(own / inside).sum(axis=0), parameters, _grid(density, points)
    )


def _beta_kernel(values: Floats, points: Floats) -> Fitted:
    """Smooth scores by the beta kernels of Chen (1999), whose bandwidth is n^(-2/5)."""
    width = len(values) ** -0.4
    inside = np.clip(values, EDGE, 1 - EDGE)
    logs, logs_up = np.log(inside), np.log1p(-inside)

    def density(at: Floats) -> Floats:
        a, b = (at / width)[:, None], ((1 - at) / width)[:, None]
        return np.asarray(np.exp(a * logs + b * logs_up - betaln(a + 1, b + 1)).mean(axis=1))

    weights = _grid(density, points)
    total = np.trapezoid(weights, points, axis=1)
    own = density(inside)
    a, b = inside / width, (1 - inside) / width
    peak = np.exp(a * logs + b * logs_up - betaln(a + 1, b + 1))
    parameters = (peak / own).mean(axis=0)
    return Fitted("beta kernel", np.log(own / total).sum(axis=0), parameters, weights)


def _grid(density: Callable[[Floats], Floats], points: Floats) -> Floats:
    """Return the density of each system at the points, some of them at a time."""
    parts = [density(some[:, None]) for some in np.array_split(points, 32)]
    return np.concatenate(parts).T


def _beta_binomial(counts: Floats) -> Fitted:
    """Fit a beta-binomial distribution to places in the support."""
    trials = counts.shape[1] - 1
    k = np.arange(trials + 1.0)
    choices = gammaln(trials + 1) - gammaln(k + 1) - gammaln(trials - k + 1)

    def logs(a: Floats, b: Floats) -> Floats:
        up, down = a[..., None] + k, b[..., None] + trials - k
        return np.asarray(choices + betaln(up, down) - betaln(a, b)[..., None])

    def loglike(first: Floats, second: Floats) -> Floats:
        return np.asarray((logs(_shape(first), _shape(second)) * counts).sum(axis=-1))

    mean, square = (counts @ (k / trials) ** power / counts.sum(axis=1) for power in (1, 2))
    estimates = _climb(loglike, *_start(mean, square - mean**2), lower=FLATTEST)
    weights = np.exp(logs(*map(_shape, estimates)))
    return Fitted("beta-binomial", loglike(*estimates), np.full(len(counts), 2.0), weights)


def _discrete_kernel(counts: Floats) -> Fitted:
    r"""Smooth by the kernel of Wang and van Ryzin (1981).

    It is 1 - h for the same value, and (1 - h) h^d / 2 for one that is d values away. Of several
    bandwidths h the one is taken under which each topic is likeliest from all others.
    """
    size = counts.shape[1]
    away = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    topics = counts.sum(axis=1, keepdims=True)
    fits: list[tuple[Floats, Floats, Floats, Floats]] = []
    for h in np.linspace(0.025, 0.975, 39):
        kernel = np.where(away == 0, 1 - h, (1 - h) * h**away / 2)
        kernel /= kernel.sum(axis=1, keepdims=True)
        others = (counts @ kernel - kernel.diagonal()) / (topics - 1)
        weights = counts @ kernel / topics
        crossed = xlogy(counts, np.maximum(others, 1e-300)).sum(axis=1)
        parameters = (counts * kernel.diagonal() / np.maximum(weights, 1e-300)).sum(axis=1)
        loglike = xlogy(counts, np.maximum(weights, 1e-300)).sum(axis=1)
        fits.append((crossed, loglike, parameters / topics[:, 0], weights))
    best = np.argmax([fit[0] for fit in fits], axis=0)
    every = np.arange(len(counts))
    loglike, parameters, weights = (
        np.stack([fit[k] for fit in fits])[best, every] for k in (1, 2, 3)
    )
    return Fitted("discrete kernel", loglike, parameters, weights)


_MOST = 1 << 28  # scores that are drawn together: 2 GiB


@dataclass(frozen=True, eq=False)
class Resampled:
    """A population whose topics are the real ones, each as likely.

    Spreads, correlations, ties and the shape of distributions stay those of the real scores, and
    the true means are known: they are the means of the real scores.

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
        moved = numbers(means, "means") - self.means
        return replace(self, values=self.values + moved.reshape(-1, *[1] * (self.values.ndim - 2)))

    def draw(self, topics: int, seed: int, *key: int) -> Floats:
        """Return the scores of new topics, of the stream that belongs to a seed and a key."""
        check_whole("topics", topics, 1, _MOST // max(1, self.values[0].size))
        check_whole("seed", seed, 0)
        return self.values[stream(seed, *key).integers(len(self.values), size=topics)]


COPULAS = ("gaussian", "t", "empirical")  # how systems depend on each other
FEWEST = 5  # topics that distributions can be fitted to
MANY_TIMES = 10  # scores are discrete where a value is there so often on average


@dataclass(frozen=True, eq=False)
class Simulator:
    """A population of topics with the distribution of each system's scores, and their dependence.

    Attributes
    ----------
    systems
        Names.
    families
        The family of distributions that was chosen for each system.
    points
        Scores at which the distributions are known, ascending, shape (points,).
    below
        The distribution function of each system there, shape (systems, points).
    steps
        Whether scores are only these values; else the distribution function is linear between them.
    mixed
        Normal scores of the real topics, whose columns have length 1, shape (real topics, systems):
        new topics are mixed of them.
    shrinkage
        How far correlations are drawn to their mean.
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
        """True means, shape (systems,): expected values of what is drawn."""
        return _mean_of(self.points, self.below, self.steps)

    @property
    def correlation(self) -> Floats:
        """Correlation of the copula, shape (systems, systems)."""
        real = self.mixed.T @ self.mixed
        shrunk = (1 - self.shrinkage) * real + self.shrinkage * self._common
        np.fill_diagonal(shrunk, 1.0)
        return np.asarray(shrunk)

    @cached_property
    def _common(self) -> float:
        """Mean correlation of two systems; below 0 only by sampling error."""
        systems = self.mixed.shape[1]
        total = float((self.mixed.sum(axis=1) ** 2).sum()) - systems
        return float(max(0.0, total / max(1, systems * (systems - 1))))

    def with_means(self, means: ArrayLike) -> Simulator:
        r"""Return the population with other true means.

        With one mean for all it is a null hypothesis under which means are equal exactly, while
        shapes, spreads and correlations stay as near as they can. A distribution function F becomes

        .. math:: F^a \text{ for a higher mean}, \quad 1 - (1 - F)^b \text{ for a lower one,}
            \quad a, b \ge 1

        the smallest change by a beta distribution, as Urbano and Nagler (2018), section 3.4, have
        it. All scores stay possible ones.

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
        up = targets > self.means
        # What rises: the distribution function, or its complement from the other end.
        base = np.where(up[:, None], self.below, 1 - self.below)

        def changed(power: Floats) -> Floats:
            risen = base ** power[:, None]
            return np.where(up[:, None], risen, 1 - risen)

        low, high = np.zeros(len(targets)), np.full(len(targets), 14.0)
        for _ in range(60):
            middle = (low + high) / 2
            beyond = _mean_of(self.points, changed(np.exp(middle)), self.steps)
            too_far = np.where(up, beyond >= targets, beyond <= targets)
            low, high = np.where(too_far, low, middle), np.where(too_far, middle, high)
        # A power of 1 changes nothing, not even by rounding.
        stays = targets == self.means
        below = np.where(stays[:, None], self.below, changed(np.exp(high)))
        reached = _mean_of(self.points, below, self.steps)
        off = np.flatnonzero(~(np.abs(reached - targets) <= 1e-9 * np.ptp(self.points)))
        if off.size:
            others = f" and {counted(off.size - 1, 'other')}" if off.size > 1 else ""
            name = f"{quoted(self.systems[off[0]])}{others}"
            raise CranfieldError(f"scores of {name} cannot have the mean {targets[off[0]]:g}")
        return replace(self, below=below)

    def with_margin_of(self, system: str) -> Simulator:
        """Return the population in which all systems have the distribution of one of them.

        That is the null hypothesis of Urbano, Lima and Hanjalic (2019b), section 3: not only means
        are equal, but spreads too. Under a Gaussian or a t copula two such systems can be
        exchanged: their differences are symmetric, and the Type I errors of tests that need this,
        such as the signed-rank test, do not show. Use the empirical copula to see them.
        """
        margin = self.below[place_of(system, self.systems)]
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
            topic, within = random.random((topics, 2)).T
            real = len(self.ranks)
            return self._scores((self.ranks[(topic * real).astype(int)] + within[:, None]) / real)
        mixture = random.normal(size=(topics, len(self.mixed)))
        # A product by the library of linear algebra would depend on its number of threads.
        normal = np.einsum("ij,jk->ik", mixture, self.mixed)
        if self.shrinkage:
            common = random.normal(size=(topics, 1)) * np.sqrt(self._common)
            own = random.normal(size=normal.shape) * np.sqrt(1 - self._common)
            normal = np.sqrt(1 - self.shrinkage) * normal
            normal += np.sqrt(self.shrinkage) * (common + own)
        if self.df is None:
            shares = ndtr(normal)
        else:
            scale = np.sqrt(random.chisquare(self.df, size=(topics, 1)) / self.df)
            shares = stdtr(self.df, normal / scale)
        return self._scores(np.clip(shares, 1e-15, 1 - 1e-15))

    def _scores(self, shares: Floats) -> Floats:
        """Return the quantiles of each system."""
        out = np.empty(shares.shape)
        for k, below in enumerate(self.below):
            if self.steps:
                at = np.searchsorted(below, shares[:, k])
                out[:, k] = self.points[np.minimum(at, len(below) - 1)]
            else:
                out[:, k] = np.interp(shares[:, k], below, self.points)
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
        Whether scores are only values that are there, such as P@10; by default, where each value is
        there 10 times on average. Equispaced values are filled up.
    criterion
        `aic`, `bic`, or `likelihood`, which has the kernels nearly always.
    copula
        `gaussian`, `t`, or `empirical`: each new topic has the ranks that systems have on a real
        one, and a place between two ranks that all of them share. Of two systems one may then be
        far better on few topics, and a little worse on many, as real ones are.
    shrinkage
        Between 0 and 1: how far correlations are drawn to their mean, but not those of the
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
    table_of_scores = as_scores(scores)
    if table_of_scores.shards:
        raise PolicyError("scores by shard cannot be simulated")
    table_of_scores, _ = squarable(table_of_scores).complete("error")
    values = table_of_scores.values
    if len(values) < FEWEST:
        some = counted(len(values), "topic")
        raise CranfieldError(f"distributions require at least {FEWEST} topics, got {some}")
    constant = np.flatnonzero(np.ptp(values, axis=0) <= 1e-12 * np.abs(values).max(initial=0.0))
    if constant.size:
        name = quoted(table_of_scores.systems[constant[0]])
        raise CranfieldError(
            f"system {name} has the same score for each topic: no distribution to fit"
        )
    low, high = min(0.0, float(values.min())), max(1.0, float(values.max()))
    if (low, high) != (0.0, 1.0):
        low, high = float(values.min()), float(values.max())
    unit = (values - low) / (high - low)
    seen = np.unique(unit.round(9))
    if seen.size < 2:
        raise CranfieldError("scores that differ by less than 1e-9 cannot be simulated")
    by_steps = MANY_TIMES * seen.size <= unit.size if discrete_scores is None else discrete_scores
    if by_steps:
        points = _filled(seen)
        fitted = discrete(unit, points)
        below = [np.cumsum(family.weights, axis=1) for family in fitted]
    else:
        points, fitted = continuous(unit)
        below = [_cumulated(family.weights) for family in fitted]
    price = {"aic": 2.0, "bic": float(np.log(len(values))), "likelihood": 0.0}[criterion]
    best = np.argmin([price * family.parameters - 2 * family.loglike for family in fitted], axis=0)
    every = np.arange(len(best))
    table = np.stack(below)[best, every]
    # Normal scores of mid-ranks, each system's of length 1.
    normal = ndtri(rankdata(values, axis=0) / (len(values) + 1))
    normal -= normal.mean(axis=0)
    # Ranks of topics, from 0: of tied topics the easier one is above.
    easy = np.broadcast_to(values.mean(axis=1)[:, None], values.shape)
    ranks = np.argsort(np.lexsort((easy, values), axis=0), axis=0)
    simulator = Simulator(
        systems=table_of_scores.systems,
        families=tuple(fitted[k].family for k in best),
        points=low + (high - low) * points,
        below=np.minimum(table / table[:, -1:], 1.0),
        steps=by_steps,
        mixed=normal / np.sqrt((normal**2).sum(axis=0)),
        shrinkage=shrinkage,
        df=df if copula == "t" else None,
        ranks=ranks if copula == "empirical" else None,
    )
    return simulator.with_means(values.mean(axis=0))


def _filled(seen: Floats) -> Floats:
    """Fill up values that are multiples of one, such as those of P@10; leave others unchanged."""
    step = float(np.diff(seen).min())
    places = seen / step
    number = round(1 / step)
    whole = abs(number * step - 1) < 1e-6 and np.abs(places - places.round()).max() < 1e-6
    return np.linspace(0.0, 1.0, number + 1) if whole else seen


def _cumulated(weights: Floats) -> Floats:
    """Return the distribution function from a density at points: the areas to their left."""
    areas = (weights[:, 1:] + weights[:, :-1]) / 2
    return np.concatenate([np.zeros((len(weights), 1)), np.cumsum(areas, axis=1)], axis=1)
