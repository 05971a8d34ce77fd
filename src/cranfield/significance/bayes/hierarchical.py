"""Gibbs sampling of systems that differ, on topics that are alike for similar systems."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy.special import ndtr, ndtri

from cranfield.base.arrays import Floats, Indices
from cranfield.base.streams import stream
from cranfield.significance.bayes.score_cells import Cells

CHAINS = 4

SCALE = 0.25
"""Of the half-Cauchy prior of effects, in standard deviations over topics."""

WARM_UP = 250
"""Steps of each chain that are left out."""

PRIOR_TOPICS = 1.0
"""The prior of covariances weighs as much as so many topics on which nothing is alike."""


def expected_scores(cells: Cells, steps: int, seed: int) -> Floats:
    """Return samples of the expected score of each system, shape (chains, steps, systems).

    Each draw of random numbers has a size that does not depend on what was drawn before, so that
    chains that start with the same seed stay together whatever the rounding.
    """
    random = stream(seed)
    topics, systems = cells.place.shape
    place = np.broadcast_to(cells.place, (CHAINS, topics, systems)).copy()
    # Chains start apart: at means that are as uncertain as those of a quarter of the topics.
    spread = cells.place.std(axis=0) * 2 / np.sqrt(topics)
    mean = cells.place.mean(axis=0) + spread * random.standard_normal((CHAINS, systems))
    centre, variance = mean.mean(axis=1), np.full(CHAINS, SCALE**2)
    shared = [(s, np.flatnonzero(cells.shared[:, s])) for s in range(systems)]
    shared = [(s, rows) for s, rows in shared if rows.size]
    found, own = np.empty((2, CHAINS, steps, systems))
    for step in range(-WARM_UP, steps):
        # The prior of the means tells of covariances what one more topic would.
        effect = (mean - centre[:, None]) / np.sqrt(variance)[:, None]
        rest = np.concatenate([place - mean[:, None], effect[:, None]], axis=1)
        half, inverse = _covariance(rest, random)
        precision = half @ half.transpose(0, 2, 1)
        weight = topics + 1 / variance
        pull = place.sum(axis=1) + (centre / variance)[:, None]
        normal = random.standard_normal((CHAINS, systems, 1))
        noise = (inverse.transpose(0, 2, 1) @ normal)[..., 0]
        mean = pull / weight[:, None] + noise / np.sqrt(weight)[:, None]
        ones = precision.sum(axis=2)
        total = ones.sum(axis=1)
        centre = (ones * mean).sum(axis=1) / total
        centre += np.sqrt(variance / total) * random.standard_normal(CHAINS)
        effect = np.einsum("cst,cs->ct", half, mean - centre[:, None])
        variance = _variance(effect, variance, random)
        for system, rows in shared:
            _move(place, mean, precision, cells, system, rows, random)
        if step >= 0:
            found[:, step], own[:, step] = mean, np.sqrt((inverse**2).sum(axis=1))
    return cells.expected(found, own)


def _covariance(rest: Floats, random: Generator) -> tuple[Floats, Floats]:
    """Draw a root of the precision matrix of the systems, by Bartlett, and its inverse."""
    chains, topics, systems = rest.shape
    prior = PRIOR_TOPICS * np.eye(systems)
    root = np.linalg.cholesky(rest.transpose(0, 2, 1) @ rest + prior)
    upper = root.transpose(0, 2, 1)
    drawn = np.tril(random.standard_normal((chains, systems, systems)), -1)
    freedom = topics + systems - np.arange(systems)
    diagonal = np.arange(systems)
    drawn[:, diagonal, diagonal] = np.sqrt(random.chisquare(freedom, (chains, systems)))
    half = np.linalg.solve(upper, drawn)
    return half, np.linalg.solve(drawn, upper)


def _variance(effect: Floats, variance: Floats, random: Generator) -> Floats:
    """Draw the variance of effects; its root has a half-Cauchy prior, in two steps."""
    chains, systems = effect.shape
    mixing = (1 / SCALE**2 + 1 / variance) / random.standard_exponential(chains)
    rate = 1 / mixing + (effect**2).sum(axis=1) / 2
    return np.asarray(rate / random.standard_gamma((systems + 1) / 2, chains))


def _move(
    place: Floats,
    mean: Floats,
    precision: Floats,
    cells: Cells,
    system: int,
    rows: Indices,
    random: Generator,
) -> None:
    """Draw the places of scores that are a cell, within it, given those of other systems."""
    at = place[:, rows]
    own = precision[:, system, system][:, None]
    pull = np.einsum("crs,cs->cr", at - mean[:, None], precision[:, :, system])
    middle, spread = at[:, :, system] - pull / own, 1 / np.sqrt(own)
    low = (cells.low[rows, system] - middle) / spread
    high = (cells.high[rows, system] - middle) / spread
    # Above the middle, tails are those of the other side: they lose no digits.
    turned = low > 0
    low, high = np.where(turned, -high, low), np.where(turned, -low, high)
    below, upto = ndtr(low), ndtr(high)
    drawn = below + random.random(low.shape) * (upto - below)
    # Far out in the tail all probabilities are 0, and all is at the nearer end of the cell.
    inside = np.clip(ndtri(np.maximum(drawn, 1e-320)), low, high)
    inside = np.where(upto > 0, inside, high)
    place[:, rows, system] = middle + spread * np.where(turned, -inside, inside)
