"""Distributions of scores by system, fitted to real ones, and the best of several for each.

Scores are between 0 and 1 here. All distributions are tables in the end: of their distribution
function at points that all systems share. Between the points of a continuous one it is linear, so
that its mean is known exactly.

Urbano and Nagler (2018) have these families, and count the parameters of a kernel as its part in
its own estimate. As in their package simIReff shapes of beta distributions are 1 at least; those of
beta-binomial ones may be less here. Bandwidths are chosen as said at each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, gammaln, log_ndtr, ndtr, xlog1py, xlogy

from cranfield.base.arrays import Floats, Indices

CRITERIA = ("aic", "bic", "likelihood")
"""By what a distribution is chosen: the least AIC or BIC, or the largest likelihood."""

POINTS = 1025
"""Points of a table between 0 and 1."""

EDGE = 1e-6
"""Scores of 0 and 1 count as so far inside, where a density may be 0 or infinite there."""

NARROWEST = 0.05
"""Least standard deviation of a truncated normal distribution, before it is cut off."""

FLATTEST = -4.0
"""Logarithm of the least shape of a beta-binomial distribution: nearly all scores are 0 or 1."""

LoglikeOf = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Fitted:
    """A family fitted to all systems: log-likelihoods, free parameters, and weights of points.

    The weight of a point is its probability, or is proportional to its density.
    """

    family: str
    loglike: Floats
    parameters: Floats
    weights: Floats


def continuous(values: Floats) -> tuple[Floats, list[Fitted]]:
    """Fit continuous families; returns the points of their tables, too."""
    points = np.linspace(0.0, 1.0, POINTS)
    return points, [one(values, points) for one in (_beta, _normal, _normal_kernel, _beta_kernel)]


def discrete(values: Floats, support: Floats) -> list[Fitted]:
    """Fit discrete families to scores that are values of a support."""
    places = np.abs(support[:, None, None] - values).argmin(axis=0)
    levels = np.arange(len(support))[:, None]
    counts = np.stack([(places == level).sum(axis=0) for level in levels], axis=1)
    return [_beta_binomial(counts.astype(np.float64)), _discrete_kernel(counts.astype(np.float64))]


def best(fitted: list[Fitted], topics: int, criterion: str) -> Indices:
    """Say which family is best for each system."""
    price = {"aic": 2.0, "bic": float(np.log(topics)), "likelihood": 0.0}[criterion]
    cost = [price * one.parameters - 2 * one.loglike for one in fitted]
    return np.asarray(np.argmin(cost, axis=0))


def _climb(
    loglike: LoglikeOf, first: Floats, second: Floats, least: float = -np.inf
) -> tuple[Floats, Floats]:
    """Find the two parameters of largest likelihood, `least` or more, for all systems at once.

    From each place the best of its eight neighbours is the next one. Where there is none better,
    the steps halve, and else they grow.
    """
    sides = np.array([(0, 0), *((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)])
    step = np.full(first.shape, 1.0)
    every = np.arange(first.size)
    for _ in range(1500):
        tried = [
            np.maximum(one + step * sides[:, [k]], least) for k, one in enumerate((first, second))
        ]
        at = np.argmax(loglike(*tried), axis=0)
        first, second = (one[at, every] for one in tried)
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

    found = _climb(loglike, *_start(values.mean(axis=0), values.var(axis=0)), least=0.0)
    a, b = (_shape(one)[:, None] for one in found)
    weights = np.exp(xlogy(a - 1, points) + xlog1py(b - 1, -points) - betaln(a, b))
    return Fitted("beta", len(values) * loglike(*found), np.full(len(a), 2.0), weights)


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

    found = _climb(loglike, mean / spread, np.log(np.maximum(spread - NARROWEST, 0.01)))
    center, sd = (one[:, None] for one in center_and_sd(*found))
    logs = -(((points - center) / sd) ** 2) / 2
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return Fitted("normal", len(values) * loglike(*found), np.full(len(sd), 2.0), weights)


def _normal_kernel(values: Floats, points: Floats) -> Fitted:
    """Smooth scores by normal kernels, cut off at 0 and 1; Silverman's rule of thumb (1986)."""
    low, high = np.quantile(values, [0.25, 0.75], axis=0)
    quartile = (high - low) / 1.34
    spread = values.std(axis=0, ddof=1)
    spread = np.where(quartile > 0, np.minimum(spread, quartile), spread)
    width = np.maximum(0.9 * spread * len(values) ** -0.2, 0.005)

    def density(at: Floats) -> Floats:
        # Shape (numbers, systems): how near each score is to where the density is asked for.
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
    found = _climb(loglike, *_start(mean, square - mean**2), least=FLATTEST)
    weights = np.exp(logs(*map(_shape, found)))
    return Fitted("beta-binomial", loglike(*found), np.full(len(counts), 2.0), weights)


def _discrete_kernel(counts: Floats) -> Fitted:
    r"""Smooth by the kernel of Wang and van Ryzin (1981).

    It is 1 - h for the same value, and (1 - h) h^d / 2 for one that is d values away. Of several
    bandwidths h the one is taken under which each topic is likeliest from all others.
    """
    size = counts.shape[1]
    away = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    topics = counts.sum(axis=1, keepdims=True)
    found: list[tuple[Floats, Floats, Floats, Floats]] = []
    for h in np.linspace(0.025, 0.975, 39):
        kernel = np.where(away == 0, 1 - h, (1 - h) * h**away / 2)
        kernel /= kernel.sum(axis=1, keepdims=True)
        others = (counts @ kernel - kernel.diagonal()) / (topics - 1)
        weights = counts @ kernel / topics
        crossed = xlogy(counts, np.maximum(others, 1e-300)).sum(axis=1)
        parameters = (counts * kernel.diagonal() / np.maximum(weights, 1e-300)).sum(axis=1)
        loglike = xlogy(counts, np.maximum(weights, 1e-300)).sum(axis=1)
        found.append((crossed, loglike, parameters / topics[:, 0], weights))
    chosen = np.argmax([one[0] for one in found], axis=0)
    every = np.arange(len(counts))
    loglike, parameters, weights = (
        np.stack([one[k] for one in found])[chosen, every] for k in (1, 2, 3)
    )
    return Fitted("discrete kernel", loglike, parameters, weights)
