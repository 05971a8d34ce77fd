"""Limits of the noncentrality of Student's t and of F, of which limits of effects are made."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import chndtr, ndtr, ndtri

from cranfield.base.arrays import Floats, row_slices
from cranfield.significance.corrections.studentised import NEGLIGIBLE, STRIP
from cranfield.significance.outcome import Limits
from cranfield.significance.pairs import BLOCK


def deviations(df: float, step: float) -> tuple[Floats, Floats]:
    """Return values of the root of chi-squared by its degrees of freedom, and their weights.

    They stand for its distribution in expectations of smooth functions, by the trapezoidal rule in
    the logarithm; SciPy's noncentral t and F return NaN where they underflow (1.17).
    """
    part = NEGLIGIBLE / df
    left, right = -(part + 0.5 + np.sqrt(part)), 0.5 * np.log1p(2 * (part + np.sqrt(part)))
    x = np.arange(left, right, min(0.5 / np.sqrt(2 * df), step))
    s = np.exp(x)
    logs = df * (x - s**2 / 2)
    weights = np.exp(logs - logs.max())
    return s, weights / weights.sum()


LARGE = 2.0**9
"""A t beyond which limits of the noncentrality are proportional to it."""


def noncentrality(t: Floats, df: float, confidence: float) -> Limits:
    """Return confidence limits of the noncentrality of Student's t, for each t.

    The lower one is that from which a larger t has the probability (1 - confidence) / 2, and the
    upper one that from which a smaller t has it.
    """
    tail = (1 - confidence) / 2
    scale = np.maximum(np.abs(t) / LARGE, 1.0)
    found = np.empty((2, t.size))
    # The larger t, the closer the values of S have to be.
    classes = np.ceil(np.log2(np.maximum(np.abs(t / scale), 4.0)))
    for one in np.unique(classes):
        s, weights = deviations(df, min(STRIP, 0.25 / 2**one))
        same = np.flatnonzero(classes == one)
        for part in row_slices(same.size, s.size, BLOCK):
            some = same[part]
            # The larger t of one is the smaller one of -t, whose probability is not next to 1.
            for k, sign in enumerate((-1, 1)):
                found[k, some] = sign * _with_below(sign * (t / scale)[some], s, weights, df, tail)
    return found[0] * scale, found[1] * scale


def _with_below(t: Floats, s: Floats, weights: Floats, df: float, below: float) -> Floats:
    """Return the noncentrality with which a smaller t has the probability `below`.

    By Newton's method on the normal quantile of that probability, which is nearly a line, halving
    where it would leave what is known to enclose the solution.
    """
    wanted = float(ndtri(below))
    high = 10 * np.abs(t) + 40
    low = -high
    centre = t - wanted * np.sqrt(1 + t**2 / (2 * df))
    for _ in range(100):
        away = t[:, None] * s - centre[:, None]
        quantile = ndtri(np.clip(ndtr(away) @ weights, 1e-300, 1 - 1e-16))
        density = np.exp((quantile[:, None] ** 2 - away**2) / 2) @ weights
        low, high = (
            np.where(quantile > wanted, centre, low),
            np.where(quantile > wanted, high, centre),
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            guess = centre + (quantile - wanted) / density
        inside = (guess > low) & (guess < high)
        guess = np.where(inside, guess, np.where(quantile == wanted, centre, (low + high) / 2))
        step, centre = np.abs(guess - centre), guess
        if (step <= 1e-13 * (1 + np.abs(centre))).all():
            break
    return centre


def noncentrality_of_f(
    f: float, first: float, second: float, confidence: float
) -> tuple[float, float]:
    """Return confidence limits of the noncentrality of F, from 0."""
    s, weights = deviations(second, STRIP)
    tail = (1 - confidence) / 2

    def below(centre: float, wanted: float) -> float:
        return float(chndtr(first * f * s**2, first, centre) @ weights) - wanted

    found = []
    for wanted in (1 - tail, tail):
        # The probability of a smaller F falls with the noncentrality.
        high = first * f + 10 * (1 + np.sqrt(first * f))
        while below(high, wanted) > 0:
            high *= 2
        some = below(0.0, wanted) > 0
        found.append(brentq(below, 0.0, high, args=(wanted,), xtol=1e-12) if some else 0.0)
    return found[0], found[1]
