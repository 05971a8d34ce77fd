"""Confidence sets of the ranks of systems, from their scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, row_slices
from cranfield.significance.bootstrap_t import topic_counts
from cranfield.significance.comparison.compare import compare
from cranfield.significance.comparison.rank_sets import RankSets
from cranfield.significance.corrections.bootstrap_tukey import (
    SAMPLED,
    PooledErrors,
    divided,
    pvalues_of,
)
from cranfield.significance.options import Options
from cranfield.significance.pairs import all_pairs
from cranfield.significance.prepare import Ready
from cranfield.significance.topic_statistic import transformed


def rank_sets(
    scores: Any,
    *,
    alpha: float = 0.05,
    missing: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    jobs: int | None = None,
) -> RankSets:
    r"""Compute confidence sets of the rank of each system, all together and each alone.

    The rank of a system is 1 plus the number of systems that are truly better. Its set is

    .. math:: \{1 + |N^-|, \dots, S - |N^+|\}

    with the systems N- that are significantly better, and N+ that are significantly worse. The
    pairs are compared as :func:`cranfield.compare` does by default, by simultaneous intervals of
    Tukey's HSD bootstrapped over topics. With one family of all pairs the sets contain all true
    ranks with probability 1 - alpha; with a family for each system, which are its pairs with the
    others, each set alone does, and is smaller.

    Source: Mogstad, Romano, Shaikh and Wilhelm (2024), who take intervals of each pair's own
    variance. It assumes that topics are a random sample, a dozen at least.

    Parameters
    ----------
    scores
        Of one measure, as :func:`cranfield.compare` takes them.
    alpha
        1 minus the confidence.
    missing
        `error`, the default; `drop` excludes topics that lack a score; `zero` counts 0.
    resamples, seed
        Number B of resamples of topics, and the seed.
    jobs
        Threads; it never changes a result.

    Raises
    ------
    CranfieldError
        When scores are missing, infinite or too few.
    PolicyError
        For an option out of its range.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ap = cf.evaluate(covid.runs[:4], covid.qrels, "AP")["AP"]
    >>> sets = rank_sets(ap, seed=1)
    >>> [limit.tolist() for limit in sets.interval]
    [[1, 1, 3, 3], [2, 2, 4, 4]]
    """
    found = compare(scores, alpha=alpha, missing=missing, resamples=resamples, seed=seed, jobs=jobs)
    options = Options(alpha=alpha, resamples=resamples, seed=seed, jobs=jobs)
    ready = Ready(found.scores, found.scores.over_shards().values, ())
    values = transformed(ready, found.statistic_of_topics).flat
    pairs = all_pairs(values[~np.isnan(values).any(axis=1)])
    family = PooledErrors.of(pairs)
    own = None
    if family.error:
        statistic = np.abs(found.matrix(family.t))
        statistic[pairs.second, pairs.first] = statistic[pairs.first, pairs.second]
        np.fill_diagonal(statistic, 0.0)
        maxima = own_maxima(family, options)
        own = np.array([pvalues_of(*row) for row in zip(statistic, maxima, strict=True)])
    return replace(found.rank_sets(), own_pvalues=own)


def own_maxima(family: PooledErrors, options: Options) -> Floats:
    """Return the largest statistic of each system with any other, by system and resample.

    Shape (systems, resamples), ascending along the resamples.
    """
    topics = family.pairs.topics
    counts = topic_counts(options.resamples, topics, options.seed)
    out = np.empty((family.pairs.systems, options.resamples))
    for part in row_slices(options.resamples, len(out), SAMPLED):
        means, error = family.resampled(counts[part])
        farthest = np.maximum(means - means.min(axis=0), means.max(axis=0) - means)
        out[:, part] = divided(farthest, error)
    return np.sort(out, axis=1)
