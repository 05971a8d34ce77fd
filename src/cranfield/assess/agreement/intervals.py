"""Intervals over topics: what the value would have been without one, or with others drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cranfield.assess.agreement.tables import Tables
from cranfield.base.arrays import Bools, Floats, Ints, row_slices
from cranfield.base.streams import stream
from cranfield.base.words import counted

HELD = 2**22
"""Numbers held at a time for the tables of drawn topics."""

DRAWN = 500
"""Draws of one stream of random numbers."""

SAME = 1e-12
"""Spread of values that differ by rounding only."""

FEW = 10
"""Topics below which intervals are said to be rough."""


def without_each_topic(tables: Tables, law: Callable[[Tables], Floats]) -> Floats:
    """Return the values without each topic; shape (topics, ...)."""
    return law(tables.without_each())


def with_drawn_topics(
    tables: Tables, law: Callable[[Tables], Floats], resamples: int, seed: int
) -> Floats:
    """Return the values of topics drawn with replacement; shape (resamples, ...)."""
    topics = len(tables.pairs)
    chances = np.full(topics, 1 / topics)
    blocks = [
        stream(seed, start).multinomial(topics, chances, size=DRAWN)
        for start in range(0, resamples, DRAWN)
    ]
    counts = np.concatenate(blocks)[:resamples].astype(np.float64)
    size = sum(part[0].size for part in (tables.pairs, tables.units, tables.shares))
    parts = [law(tables.weighted(counts[some])) for some in row_slices(resamples, size * 2, HELD)]
    return np.concatenate(parts)


def jackknife(
    value: Floats,
    without: Floats,
    has: Bools,
    confidence: float,
    *,
    bounded: bool = True,
    shares: Any = False,
) -> tuple[Floats, Floats]:
    r"""Return t intervals from the values (...) and those without each topic (topics, ...).

    `has` says which topics a value is of. Intervals are of :math:`\ln(1 - \theta)` if values are
    `bounded` by 1, so that they end below 1; of `shares`, which lie from 0 to 1, of the log odds,
    but where a value is 0 or 1. With n topics, and the degrees of freedom of :func:`freedom`,

    .. math:: s^2 = \frac{n-1}{n} \sum_i (\theta_{(i)} - \bar\theta_{(\cdot)})^2

    Source: Efron and Stein (1981).
    """
    from scipy.special import expit, stdtrit

    number = has.sum(axis=0)
    odds = shares & np.where(has, (without > 0) & (without < 1), True).all(axis=0)

    def on_line(values: Floats) -> Floats:
        if not bounded:
            return values
        return np.asarray(np.where(odds, np.log(values), 0.0) - np.log1p(-values))

    def back(ends: Floats) -> Floats:
        return np.where(odds, expit(ends), -np.expm1(-ends)) if bounded else ends

    with np.errstate(divide="ignore", invalid="ignore"):
        centre, others = on_line(value), on_line(without)
        apart = np.where(has, others - np.where(has, others, 0).sum(axis=0) / number, 0)
        spread = np.sqrt((number - 1) / number * (apart**2).sum(axis=0))
        half = stdtrit(freedom(apart, number), (1 + confidence) / 2) * spread
        low, high = back(centre - half), back(centre + half)
    # Where topics do not differ at all, none of them tells how much others would.
    known = (number > 1) & np.isfinite(spread) & (spread > SAME)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def freedom(apart: Floats, number: Ints) -> Floats:
    r"""Estimate the degrees of freedom of a variance from deviations of topics (O'Neill 2014).

    .. math:: \nu = \min\left(n - 1, \frac{2n}{\hat\kappa - 1}\right), \qquad
        \hat\kappa = \frac{n \sum_i d_i^4}{(\sum_i d_i^2)^2}

    The fewer topics the deviations come from, the fewer there are. Deviations, shape (topics, ...),
    are 0 for topics that do not count; `number` is how many do.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        kurtosis = number * (apart**4).sum(axis=0) / (apart**2).sum(axis=0) ** 2
        normal = 2 * number / np.maximum(kurtosis - 1, SAME)
    return np.asarray(np.fmax(np.fmin(number - 1, normal), 1.0))


def percentiles(drawn: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return the limits between which a share of drawn values lies; undefined ones do not count."""
    known = ~np.isnan(drawn).all(axis=0)
    low, high = (np.full(drawn.shape[1:], np.nan) for _ in range(2))
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    if known.any():
        low[known], high[known] = np.nanquantile(drawn[:, known], tails, axis=0)
    return low, high


def limits(
    value: Floats,
    replicates: Floats,
    has: Bools,
    interval: str,
    confidence: float,
    *,
    bounded: bool,
    shares: Any = False,
) -> tuple[Floats, Floats]:
    """Return the limits of the intervals; NaN where there are none."""
    if interval == "none":
        return np.full(value.shape, np.nan), np.full(value.shape, np.nan)
    if interval == "jackknife":
        has = np.broadcast_to(has[:, :, None], replicates.shape)
        return jackknife(value, replicates, has, confidence, bounded=bounded, shares=shares)
    low, high = percentiles(replicates, confidence)
    none = (has.sum(axis=0) < 2)[:, None] | ~(high - low > SAME)
    return np.where(none, np.nan, low), np.where(none, np.nan, high)


def remarks(
    value: Floats, low: Floats, replicates: Floats, has: Bools, interval: str
) -> tuple[str, ...]:
    """Say what is not defined, and which intervals are not to be trusted."""
    notes = []
    undefined = int(np.isnan(value).sum())
    if undefined:
        notes.append(
            f"{counted(undefined, 'value')} not defined: no unit with two labels, or too few grades"
        )
    if interval == "none":
        return tuple(notes)
    topics = has.sum(axis=0)
    if (topics == 1).any():
        notes.append("intervals are over topics: with one topic there is none")
    if ((topics > 1) & (topics < FEW)).any():
        notes.append(f"intervals over fewer than {FEW} topics are rough")
    several = np.broadcast_to((topics > 1)[:, None], value.shape)
    without = int((np.isnan(low) & ~np.isnan(value) & several).sum())
    if without:
        notes.append(
            f"no interval can be computed for {counted(without, 'value')}: topics do not differ, or"
            " the value is undefined without one of them"
        )
    if interval == "bootstrap" and (lost := int(np.isnan(replicates).any(axis=(1, 2)).sum())):
        notes.append(f"{counted(lost, 'resample')} had a value that was not defined, left out")
    return tuple(notes)
