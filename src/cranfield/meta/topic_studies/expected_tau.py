"""Expected correlation of a ranking of systems with their true ranking, from a set of topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import gammaln, ndtri, stdtr

from cranfield.base.arrays import Floats, argsort_best, slice_rows
from cranfield.base.kinds import check_arguments
from cranfield.base.streams import make_stream
from cranfield.base.text import format_prefix, inflect
from cranfield.meta.study import Study
from cranfield.meta.study_options import Resamples, Seed
from cranfield.meta.topic_studies.sample_study import prepare_topic_scores
from cranfield.result import Column, Columns
from cranfield.significance.differences import (
    BLOCK_VALUES,
    Pairs,
    compute_deviations,
    pair_all,
    rank_rows,
    standardise_difference,
)
from cranfield.significance.resampling import as_integers, draw_topic_counts

SPLITS, MAX_SIZES = 100, 20
"""Number of random splits per size of the halves, and maximum number of sizes."""


class ExpectedTau(Study):
    """Expected correlation of a ranking of systems with the true ranking of these systems.

    Attributes
    ----------
    measure, n_systems, n_topics
        Text form of the measure, and numbers of systems and topics.
    tau, tau_ap
        Expected tau and tau AP by estimation method; NaN for `split-half` with fewer than four
        topics, or if only one size of halves has reversed pairs.
    notes
        Topics or scores that were excluded or imputed.
    """

    name: ClassVar[str] = "expected tau"
    table_attributes: ClassVar[Sequence[str]] = ("_make_table",)
    columns: ClassVar[Columns] = {
        "method": Column("Estimation method.", key=True),
        "tau": Column("Expected Kendall's tau with the true ranking; null if not estimable."),
        "tau AP": Column("Expected tau AP with the true ranking; null if not estimable."),
    }

    def _make_table(self) -> pl.DataFrame:
        rows = [(method, tau, self.tau_ap[method]) for method, tau in self.tau.items()]
        return pl.DataFrame(rows, list(self.columns), orient="row").fill_nan(None)

    def heading(self) -> list[str]:
        return [
            f"{format_prefix(self.measure)}expected correlation of the ranking of"
            f" {inflect(self.n_systems, 'system')} by {inflect(self.n_topics, 'topic')} with the"
            " true ranking"
        ]


def expected_tau(
    scores: Any, *, missing: str | None = None, resamples: Resamples = 1000, seed: Seed = 0
) -> ExpectedTau:
    r"""Estimate the agreement of the ranking by mean scores with the ranking by true means.

    With systems numbered by descending observed means, and the probability :math:`P_{ij}` that the
    true means of systems i and j are in the reverse order,

    .. math:: E[\tau] = 1 - \frac{4}{m(m-1)} \sum_{i<j} P_{ij}, \quad
        E[\tau_{AP}] = 1 - \frac{2}{m-1} \sum_{j=2}^m \frac{1}{j-1} \sum_{i<j} P_{ij}

    - `ml`: :math:`P_{ij} = T_{n-1}(-\sqrt{n}\, \bar{d} / \hat\sigma)` by Student's distribution,
      with the mean of the differences of scores, and an estimate of their standard deviation that
      is unbiased for normal differences.
    - `msqd`: as `ml`, but :math:`\hat\sigma` is the slope of a regression through the origin of
      the ordered differences on the normal quantiles of k / (n + 1); ties have their mean rank.
    - `resampling`: the proportion of bootstrap samples of topics with the reverse order.
    - `split-half`: :math:`(1 - \tau) / 2` for two disjoint sets of up to n / 2 topics, extrapolated
      to n as an exponential function of their size.

    Source: Urbano and Marrero (2016). In their simulations from TREC 6 to 8, the mean absolute
    error of tau is .07 for `msqd`, .08 for `ml`, .10 for `resampling` and .13 for `split-half` with
    10 topics, and .03, .03, .03 and .05 with 50 topics; `msqd` is therefore preferable. Topics are
    assumed to be a random sample. Systems with equal scores on all topics are tied, with P = 1/2 (0
    for `split-half`).

    Parameters
    ----------
    scores, missing
        As for :func:`generalizability`.
    resamples, seed
        Number of bootstrap samples, and seed of the random numbers.

    Raises
    ------
    CranfieldError
        If scores are missing, infinite or too few.
    PolicyError
        For an option that is unknown or out of range, or scores by shard.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ap = cf.evaluate(covid.runs, covid.qrels, "AP")["AP"]
    >>> print(expected_tau(ap))
    AP: expected correlation of the ranking of 40 systems by 50 topics with the true ranking
    <BLANKLINE>
    method         tau  tau AP
    msqd        0.9281  0.8706
    ml          0.9287  0.8722
    resampling  0.9319  0.8771
    split-half  0.9465  0.8820
    """
    call = check_arguments(expected_tau, locals())
    complete_scores = prepare_topic_scores(scores, missing)
    order = argsort_best(
        complete_scores.topic_scores.mean(axis=0), complete_scores.scores.lower_is_better
    )
    values = complete_scores.topic_scores[:, order]
    if complete_scores.scores.lower_is_better:
        values = -values
    pairs = pair_all(values)
    n, m = values.shape
    p_reversed = _estimate_by_moments(pairs)
    p_reversed["resampling"] = _estimate_by_resampling(pairs, resamples, seed)
    weight = 1 / pairs.second
    split_half_tau, split_half_tau_ap = _estimate_by_halves(values, pairs, seed)
    tau = {name: 1 - 2 * float(p.mean()) for name, p in p_reversed.items()}
    tau_ap = {name: 1 - 2 * float((weight * p).sum()) / (m - 1) for name, p in p_reversed.items()}
    return ExpectedTau(
        call,
        measure=complete_scores.scores.measure,
        n_systems=m,
        n_topics=n,
        tau=tau | {"split-half": split_half_tau},
        tau_ap=tau_ap | {"split-half": split_half_tau_ap},
        notes=complete_scores.notes,
    )


def _estimate_by_moments(pairs: Pairs) -> dict[str, Floats]:
    """Estimate the probability of the reverse order of each pair, by Student's distribution."""
    n = pairs.n_topics
    bias_correction = np.exp(gammaln((n - 1) / 2) - gammaln(n / 2)) * np.sqrt((n - 1) / 2)

    def estimate(_: slice, block: Pairs) -> list[Floats]:
        differences, rounding = block.compute_differences(), block.rounding
        mean = differences.mean(axis=1)
        deviation = compute_deviations(differences, mean, rounding)
        sorted_differences = np.sort(differences, axis=1)
        quantile = ndtri(rank_rows(sorted_differences, rounding)[0] / 2 / (n + 1))
        sum_of_squares = np.maximum((quantile**2).sum(axis=1), np.finfo(float).tiny)
        sum_of_products = (sorted_differences * quantile).sum(axis=1)
        slope = np.where(deviation > 0, sum_of_products / sum_of_squares, 0.0)
        t = [standardise_difference(mean, sd) for sd in (slope, deviation * bias_correction)]
        return [stdtr(n - 1, -np.sqrt(n) * statistic) for statistic in t]

    return dict(zip(("msqd", "ml"), pairs.map_blocks(estimate), strict=True))


def _estimate_by_resampling(pairs: Pairs, resamples: int, seed: int) -> Floats:
    """Return the proportion of topic samples with the reverse order; ties count half."""
    integers, _ = as_integers(pairs.values, pairs.n_topics)
    counts = draw_topic_counts(resamples, pairs.n_topics, seed)
    sum_of_signs = np.zeros(len(pairs))
    for rows in slice_rows(resamples, len(pairs), BLOCK_VALUES):
        sum_of_signs += np.sign(_subtract_pairs(counts[rows] @ integers, pairs)).sum(axis=0)
    return (1 - sum_of_signs / resamples) / 2


def _subtract_pairs(values: Floats, pairs: Pairs) -> Floats:
    """Return the differences of values of systems, shape (samples, systems), by pair."""
    return np.asarray(values[:, pairs.first] - values[:, pairs.second])


def _estimate_by_halves(values: Floats, pairs: Pairs, seed: int) -> tuple[float, float]:
    """Extrapolate tau and tau AP of disjoint halves to all topics; NaN below 4 topics."""
    n, m = values.shape
    sizes = np.unique(np.round(np.linspace(1, n // 2, MAX_SIZES + 1)))[1:].astype(np.intp)
    if sizes.size == 1:
        sizes = np.append(1, sizes)
    rows: list[Floats] = []
    for size in sizes:
        orders = make_stream(seed, int(size)).permuted(np.tile(np.arange(n), (SPLITS, 1)), axis=1)
        means = values[orders[:, :size]].mean(axis=1)
        other_means = values[orders[:, size : 2 * size]].mean(axis=1)
        is_reversed = _subtract_pairs(means, pairs) * _subtract_pairs(other_means, pairs) < 0
        # Rank, from 0, of the lower-ranked system of each pair in the second ranking.
        rank = np.argsort(np.argsort(-other_means, axis=1, kind="stable"), axis=1)
        lower_rank = np.maximum(rank[:, pairs.first], rank[:, pairs.second])
        p_reversed = is_reversed.mean(axis=1)
        p_reversed_ap = (is_reversed / lower_rank).sum(axis=1) / (m - 1)
        rows.append(np.stack([np.full(SPLITS, float(size)), p_reversed, p_reversed_ap]))
    if not rows:
        return np.nan, np.nan
    row_sizes, *proportions = np.concatenate(rows, axis=1)
    tau, tau_ap = (_extrapolate_tau(row_sizes, row, n) for row in proportions)
    return tau, tau_ap


def _extrapolate_tau(sizes: Floats, proportions: Floats, n_topics: int) -> float:
    """Extrapolate tau by an exponential fit to the proportions of reversed pairs."""
    is_positive = proportions > 0
    if np.unique(sizes[is_positive]).size < 2:
        return 1.0 if not is_positive.any() else np.nan
    slope, intercept = np.polyfit(sizes[is_positive], np.log(proportions[is_positive]), 1)
    return 1 - 2 * min(1.0, float(np.exp(intercept + slope * n_topics)))
