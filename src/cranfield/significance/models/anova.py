"""Analysis of variance with one, two or three factors, on scores or on their ranks.

A topic without relevant documents in a shard has no score there, for any system. So every system
has the same cells (topic, shard), and the model falls into two parts that are orthogonal: the means
over systems, with topic, shard and their interaction; and what each system is above that mean, with
its own additive part of topic and shard. All systems share one small least squares problem.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import CranfieldError
from cranfield.significance.differences import (
    ROUNDING,
    Model,
    Outcome,
    Pairs,
    mid_ranks,
    p_of,
    ranked_together,
    ratio,
    spread,
    t_limits,
)
from cranfield.significance.models.anova_table import AnovaTable, made_table, sphericity
from cranfield.significance.registry import Options

FACTORS = ("Topic", "System", "Shard")
"""What the axes of scores are, in their order."""


def factorial(values: Floats, *terms: str) -> AnovaTable:
    """Analyse scores without gaps by terms such as `Topic` and `Topic:System`, the smaller first.

    An effect is the mean of a cell above the grand mean and the effects of the terms before it
    that lie within its own. So `Topic:Shard` without `Shard` is of shards nested in topics.
    """
    fitted = grand = np.asarray(values.mean()).reshape((1,) * values.ndim)
    effects: dict[str, Floats] = {}
    factors: dict[str, tuple[float, float]] = {}
    means: dict[str, Floats] = {}
    for term in terms:
        names = term.split(":")
        others = tuple(k for k in range(values.ndim) if FACTORS[k] not in names)
        of_cells = values.mean(axis=others, keepdims=True)
        within = [one for one in effects if set(one.split(":")) < set(names)]
        effect = of_cells - grand - sum(effects[one] for one in within)
        df = of_cells.size - 1.0 - sum(factors[one][1] for one in within)
        effects[term] = effect
        factors[term] = values.size / effect.size * float((effect**2).sum()), df
        fitted = fitted + effect
        if len(names) == 1:
            means[term] = of_cells.ravel()
    fitted = np.broadcast_to(fitted, values.shape)
    rest = values.size - 1.0 - math.fsum(df for _, df in factors.values())
    return made_table(
        f"score ~ {' + '.join(term.lower() for term in terms)}",
        factors,
        (float(((values - fitted) ** 2).sum()), rest),
        values=values,
        fitted=fitted,
        means=means,
    )


def three_way_with_gaps(values: Floats) -> tuple[AnovaTable, int]:
    """Analyse scores by topic, system and shard, which are NaN for all systems or for none.

    Sums of squares are of type II. Also returned is how many cells (topic, shard) have scores.
    """
    topics, shards = known_cells(values)
    systems = values.shape[1]
    cells = values[topics, :, shards]
    mean = cells.mean(axis=1)
    above = cells - mean[:, None]
    both = np.concatenate([mean[:, None], above], axis=1)
    by_topic, t = _left_over(both, topics)
    by_shard, k = _left_over(both, shards)
    fit, rank = _additive(both, topics, shards)
    left = ((both - fit) ** 2).sum(axis=0)
    df_error = (systems - 1.0) * (len(cells) - rank)
    if df_error <= 0:
        raise CranfieldError("too few topics have scores in several shards to estimate an error")
    of_systems = cells.mean(axis=0)
    fitted = np.full(values.shape, np.nan)
    fitted[topics, :, shards] = mean[:, None] + fit[:, 1:]
    table = made_table(
        "score ~ topic + system + shard + topic:system + topic:shard + system:shard",
        {
            "Topic": (systems * (by_shard[0] - left[0]), rank - k),
            "System": (len(cells) * float(((of_systems - mean.mean()) ** 2).sum()), systems - 1.0),
            "Shard": (systems * (by_topic[0] - left[0]), rank - t),
            "Topic:System": (float((by_shard - left)[1:].sum()), (systems - 1.0) * (rank - k)),
            "Topic:Shard": (systems * left[0], len(cells) - rank),
            "System:Shard": (float((by_topic - left)[1:].sum()), (systems - 1.0) * (rank - t)),
        },
        (float(left[1:].sum()), df_error),
        values=values,
        fitted=fitted,
        means={
            "Topic": _means(mean, topics, values.shape[0]),
            "System": of_systems,
            "Shard": _means(mean, shards, values.shape[2]),
        },
    )
    return table, len(cells)


def known_cells(values: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return topic and shard of each cell that has scores, which are of all systems or of none."""
    missing = np.isnan(values)
    if (missing.any(axis=1) != missing.all(axis=1)).any():
        raise CranfieldError("some systems have no score where others have one, in the same shard")
    topics, shards = np.nonzero(~missing.any(axis=1))
    return topics, shards


def _means(values: Floats, group: NDArray[np.intp], groups: int) -> Floats:
    """Return the mean by group; NaN for a group that is empty."""
    count = np.bincount(group, minlength=groups)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(group, values, minlength=groups) / count)


def _left_over(columns: Floats, group: NDArray[np.intp]) -> tuple[Floats, float]:
    """Return the sum of squares within groups, by column, and the number of groups."""
    _, code = np.unique(group, return_inverse=True)
    groups = int(code.max()) + 1
    sums = np.zeros((groups, columns.shape[1]))
    np.add.at(sums, code, columns)
    means = sums / np.bincount(code)[:, None]
    return ((columns - means[code]) ** 2).sum(axis=0), float(groups)


def _additive(
    columns: Floats, topics: NDArray[np.intp], shards: NDArray[np.intp]
) -> tuple[Floats, float]:
    """Fit each column by topic + shard; return the fit and the rank of the design."""
    _, topic = np.unique(topics, return_inverse=True)
    _, shard = np.unique(shards, return_inverse=True)
    # Topics are swept out; what is left is a problem as small as there are shards.
    dummies = (shard[:, None] == np.arange(shard.max() + 1)).astype(np.float64)
    counts = np.bincount(topic).astype(np.float64)

    def swept(matrix: Floats) -> tuple[Floats, Floats]:
        sums = np.zeros((counts.size, matrix.shape[1]))
        np.add.at(sums, topic, matrix)
        means = (sums / counts[:, None])[topic]
        return matrix - means, means

    design, _ = swept(dummies)
    rest, means = swept(columns)
    # A basis of the few columns of the design is cheaper than a solution for each of the many.
    basis, sizes, _ = np.linalg.svd(design, full_matrices=False)
    basis = basis[:, sizes > 1e-10 * sizes[0]]
    return means + basis @ (basis.T @ rest), float(basis.shape[1] + counts.size)


def by_model(model: Model, pairs: Pairs, options: Options, *, paired: bool, **more: Any) -> Outcome:
    """Compare pairs by the model's t; `paired` if scores are of the same topics.

    The effect size of paired means is that of the pair alone, which does not depend on the other
    systems: the mean difference by the standard deviation of the differences.
    """
    difference = model.differences(pairs)
    error = model.standard_errors(pairs)
    t = ratio(difference, error)
    none = np.zeros(len(pairs), dtype=np.intp)
    effect = ratio(difference, np.sqrt(np.full(len(pairs), model.error)))
    if paired:
        n = np.full(len(pairs), pairs.topics)
        zeros, deviation = _of_differences(pairs)
        if model.of == "mean":
            effect = ratio(difference, deviation)
    else:
        scores = (~np.isnan(pairs.values)).sum(axis=0)
        n, zeros = scores[pairs.first] + scores[pairs.second], none
    return Outcome(
        statistic=t,
        pvalue=p_of(t, error, model.df, options.alternative),
        effect=effect,
        interval=partial(t_limits, difference, error, model.df),
        n=n,
        zeros=zeros,
        ties=none,
        model=model,
        **more,
    )


def _of_differences(pairs: Pairs) -> tuple[Indices, Floats]:
    """Return the number of zero differences and the standard deviation, by pair."""
    zeros, deviations = [], []
    for block in pairs.blocks():
        differences = block.differences()
        zeros.append((differences == 0).sum(axis=1))
        deviations.append(spread(differences, differences.mean(axis=1), block.rounding))
    return np.concatenate(zeros), np.concatenate(deviations)


def one_way(values: Floats) -> tuple[AnovaTable, Model]:
    """Analyse scores by system, shape (topics, systems); NaN is no score."""
    counts = (~np.isnan(values)).sum(axis=0).astype(np.float64)
    number, systems = counts.sum(), values.shape[1]
    if number <= systems:
        raise CranfieldError("one-way ANOVA needs a system with two scores at least")
    means = np.nanmean(values, axis=0)
    grand = np.nanmean(values)
    fitted = np.broadcast_to(means, values.shape)
    table = made_table(
        "score ~ system",
        {"System": (float((counts * (means - grand) ** 2).sum()), systems - 1.0)},
        (float(np.nansum((values - fitted) ** 2)), float(number - systems)),
        values=values,
        fitted=fitted,
        means={"System": means},
    )
    return table, Model(means, table.ms_error, counts, table.df_error)


def two_way(values: Floats) -> tuple[AnovaTable, Model]:
    """Analyse scores by topic and system, at least two of each, every cell having one."""
    topics, systems = values.shape
    if topics < 2:
        raise CranfieldError("two-way ANOVA needs two topics at least")
    table = factorial(values, "Topic", "System")
    table = replace(table, sphericity=sphericity(values, table.f_of("System")[0]))
    counts = np.full(systems, float(topics))
    return table, Model(table.means["System"], table.ms_error, counts, table.df_error)


def two_way_model(values: Floats) -> Model:
    """Fit the model of topics and systems without its table, which takes longer."""
    topics, systems = values.shape
    of_systems = values.mean(axis=0)
    fitted = values.mean(axis=1)[:, None] + (of_systems - float(values.mean()))
    df = (topics - 1.0) * (systems - 1)
    error = float(((values - fitted) ** 2).sum()) / df
    return Model(of_systems, error, np.full(systems, float(topics)), df)


def three_way(values: Floats) -> tuple[AnovaTable, Model]:
    """Analyse scores by topic, system and shard, with the interactions of any two of them.

    There are at least two of each; a score is NaN where a topic has none in a shard, for all
    systems.
    """
    if values.ndim != 3 or min(values.shape) < 2:
        raise CranfieldError("three-way ANOVA needs two topics, systems and shards at least")
    if np.isnan(values).any():
        table, cells = three_way_with_gaps(values)
        counts = np.full(values.shape[1], float(cells))
    else:
        both = ("Topic:System", "Topic:Shard", "System:Shard")
        table = factorial(values, "Topic", "System", "Shard", *both)
        counts = np.full(values.shape[1], float(values.shape[0] * values.shape[2]))
    return table, Model(table.means["System"], table.ms_error, counts, table.df_error)


Analysis = Callable[[Floats], tuple[AnovaTable, Model]]


def _compared(analysis: Analysis, paired: bool, pairs: Pairs, options: Options) -> Outcome:
    table, model = analysis(pairs.scores)
    return by_model(model, pairs, options, paired=paired, table=table)


def _faked(analysis: Analysis, pairs: Pairs, options: Options) -> Outcome:
    """Call all systems different but those whose means are the same."""
    outcome = _compared(analysis, True, pairs, options)
    return replace(outcome, pvalue=np.where(outcome.statistic == 0, 1.0, 0.0))


def _fitted(analysis: Analysis, values: Floats) -> Model:
    return analysis(values)[1]


one_way_model = partial(_fitted, one_way)
three_way_model = partial(_fitted, three_way)
one_way_test = partial(_compared, one_way, False)
two_way_test = partial(_compared, two_way, True)
fake_two_way_test = partial(_faked, two_way)
fake_three_way_test = partial(_faked, three_way)


@dataclass(frozen=True)
class Omnibus:
    """The answer to 'do the systems differ at all?'.

    Attributes
    ----------
    name
        Of the statistic.
    statistic, df, pvalue
        Its value, degrees of freedom and p-value.
    effect, effect_name
        How strong the differences are, from 0 to 1.
    ties
        Scores that share their rank.
    """

    name: str
    statistic: float
    df: float
    pvalue: float
    effect: float
    effect_name: str
    ties: int = 0


def kruskal_wallis_test(pairs: Pairs, options: Options) -> Outcome:
    """Compare systems by their mean ranks among all scores."""
    data = pairs.scores
    ranks, ties, tied = ranked_together(data)
    counts = (~np.isnan(data)).sum(axis=0).astype(np.float64)
    number = counts.sum()
    if number <= data.shape[1]:
        raise CranfieldError("the Kruskal-Wallis test needs a system with two scores at least")
    means = np.nansum(ranks, axis=0) / counts
    variance = number * (number + 1) / 12 - ties / (12 * (number - 1))
    spread = float((counts * (means - (number + 1) / 2) ** 2).sum())
    h = spread / variance if variance > 0 else 0.0
    df = data.shape[1] - 1.0
    omnibus = Omnibus(
        "H", h, df, float(chdtrc(df, h)), h / (number - 1), "epsilon squared", int(tied)
    )
    model = Model(means, float(variance), counts, np.inf, "mean rank", number + 1)
    return by_model(model, pairs, options, paired=False, details={"omnibus": omnibus})


def friedman_test(pairs: Pairs, options: Options) -> Outcome:
    """Compare systems by their mean ranks within topics."""
    data = pairs.scores
    topics, systems = data.shape
    order = np.argsort(data, axis=1, kind="stable")
    gap = np.full(topics, ROUNDING * np.abs(data).max(initial=0.0))
    doubled, ties = mid_ranks(np.take_along_axis(data, order, axis=1), gap)
    ranks = np.empty_like(data)
    np.put_along_axis(ranks, order, doubled / 2, axis=1)
    means = ranks.mean(axis=0)
    variance = systems * (systems + 1) / 12 - ties.sum() / (12 * topics * (systems - 1))
    spread = topics * float(((means - (systems + 1) / 2) ** 2).sum())
    variance = variance if variance > 1e-9 else 0.0
    chi2 = spread / variance if variance else 0.0
    df = systems - 1.0
    tied = int((np.diff(doubled, axis=1) == 0).sum())
    p = float(chdtrc(df, chi2))
    omnibus = Omnibus("chi-squared", chi2, df, p, chi2 / (topics * df), "Kendall's W", tied)
    counts = np.full(systems, float(topics))
    model = Model(means, float(variance), counts, np.inf, "mean rank", systems + 1)
    return by_model(model, pairs, options, paired=True, details={"omnibus": omnibus})
