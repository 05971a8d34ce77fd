"""P-values of which of two systems is better, for sets of ranks: by the bootstrap, step by step."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Indices, row_slices
from cranfield.base.threads import in_threads
from cranfield.significance.bootstrap_t import RELATIVE, topic_counts
from cranfield.significance.corrections.bootstrap_max_t import SAMPLED, CentredPairs
from cranfield.significance.options import Options
from cranfield.significance.pairs import Pairs, all_pairs
from cranfield.significance.resampling import monte_carlo

HELD = 2**21
"""Resampled t that are held at a time."""

Singles = NDArray[np.float32]
"""Enough for a t: rounding keeps the order, and makes equal at most what is nearly so."""


def directional_pvalues(
    values: Floats, options: Options, *, moderated: bool
) -> tuple[Floats, Floats]:
    """Return adjusted p-values that of two systems the one with the better mean is the better one.

    `values` have shape (topics, systems) and no gaps; both results have shape (systems, systems).
    The first is of one family for all pairs. In the second, each row is a family of its own: that
    system with the others.

    A family has two hypotheses a pair, that one system is not better than the other, and that it is
    not worse. They are tested by the bootstrap of centred studentised differences, as Romano and
    Wolf (2005) do step by step; so the direction is part of what is found. A hypothesis against the
    observed direction is never rejected: it stays in the family to the end.
    """
    pairs = all_pairs(values)
    centred = CentredPairs.of(pairs, moderated=moderated)
    order = np.argsort(np.abs(centred.t), kind="stable")
    families = _of_systems(pairs, order)
    with np.errstate(over="ignore"):
        least = (np.abs(centred.t) * (1 - RELATIVE)).astype(np.float32)
    work = partial(
        _count,
        centred=centred,
        counts=topic_counts(options.resamples, pairs.topics, options.seed),
        order=order,
        families=families,
        least=least,
    )
    parts = list(row_slices(options.resamples, len(pairs), HELD))
    found = in_threads(work, parts, options.jobs)
    together, by_system = (
        _falling(monte_carlo(np.sum(one, axis=0), options.resamples))
        for one in zip(*found, strict=True)
    )
    pvalues, own = np.ones((2, pairs.systems, pairs.systems))
    first, second = pairs.first[order], pairs.second[order]
    pvalues[first, second] = pvalues[second, first] = together
    row = np.arange(pairs.systems)[:, None]
    own[row, pairs.first[families] + pairs.second[families] - row] = by_system
    return pvalues, own


def _of_systems(pairs: Pairs, order: Indices) -> Indices:
    """Return for each system its pairs, those with a small t first; shape (systems, others)."""
    system = np.concatenate([pairs.first[order], pairs.second[order]])
    # Each pair is of two systems; a stable sort keeps the order within a system.
    place = np.tile(np.arange(len(pairs)), 2)
    by_system = np.lexsort((place, system))
    return order[place[by_system]].reshape(pairs.systems, -1)


def _count(
    part: slice,
    centred: CentredPairs,
    counts: Floats,
    order: Indices,
    families: Indices,
    least: Singles,
) -> tuple[Indices, Indices]:
    """Count, for all pairs and by system, the samples in which a family's largest t is as large."""
    some = counts[part]
    t = np.empty((len(order), len(some)), dtype=np.float32)
    direction = np.where(centred.t < 0, -1.0, 1.0)[:, None]
    with np.errstate(over="ignore"):
        for few in row_slices(len(some), len(order), SAMPLED):
            np.multiply(centred.resampled(some[few]), direction, out=t[:, few], casting="same_kind")
    own = [_reaching(t[family], least[family]) for family in families]
    return _reaching(t[order], least[order]), np.array(own)


def _reaching(t: Singles, least: Singles) -> Indices:
    """Count the samples in which a pair, or one below it, reaches what it has; pairs ascend.

    Besides these, all hypotheses against the observed direction count, whose t is the negative.
    """
    np.maximum(t[0], -t.min(axis=0), out=t[0])
    np.maximum.accumulate(t, axis=0, out=t)
    reached = (t >= least[:, None]).astype(np.float32)
    return (reached @ np.ones(reached.shape[1], dtype=np.float32)).astype(np.intp)


def _falling(pvalues: Floats) -> Floats:
    """From the largest t down, which is at the end, p may not fall."""
    return np.asarray(np.maximum.accumulate(pvalues[..., ::-1], axis=-1)[..., ::-1])
