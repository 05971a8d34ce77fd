"""Analysis of variance with one, two and three factors: the models MD1, MD2 and MD3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError
from cranfield.significance.models.anova_table import AnovaTable, made_table
from cranfield.significance.models.anova_with_gaps import three_way_with_gaps
from cranfield.significance.models.by_model import by_model
from cranfield.significance.models.factorial import factorial
from cranfield.significance.models.fitted_model import Model
from cranfield.significance.models.sphericity import sphericity
from cranfield.significance.options import Options
from cranfield.significance.outcome import Outcome
from cranfield.significance.pairs import Pairs


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
