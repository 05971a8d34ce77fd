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
from cranfield.significance.models.fitted_model import Model
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
    of_topics, of_systems, grand, fitted = _topic_and_system(values)
    table = made_table(
        "score ~ topic + system",
        {
            "Topic": (float(systems * ((of_topics - grand) ** 2).sum()), topics - 1.0),
            "System": (float(topics * ((of_systems - grand) ** 2).sum()), systems - 1.0),
        },
        (float(((values - fitted) ** 2).sum()), (topics - 1.0) * (systems - 1)),
        values=values,
        fitted=fitted,
        means={"Topic": of_topics, "System": of_systems},
    )
    return table, Model(of_systems, table.ms_error, np.full(systems, float(topics)), table.df_error)


def two_way_model(values: Floats) -> Model:
    """Fit the model of topics and systems without its table, which takes longer."""
    topics, systems = values.shape
    _, of_systems, _, fitted = _topic_and_system(values)
    df = (topics - 1.0) * (systems - 1)
    error = float(((values - fitted) ** 2).sum()) / df
    return Model(of_systems, error, np.full(systems, float(topics)), df)


def _topic_and_system(values: Floats) -> tuple[Floats, Floats, float, Floats]:
    """Means of topics and systems, the grand mean, and what both effects make of each score."""
    of_topics, of_systems, grand = values.mean(axis=1), values.mean(axis=0), float(values.mean())
    return of_topics, of_systems, grand, of_topics[:, None] + (of_systems - grand)


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
        table = _balanced(values)
        counts = np.full(values.shape[1], float(values.shape[0] * values.shape[2]))
    return table, Model(table.means["System"], table.ms_error, counts, table.df_error)


def _balanced(values: Floats) -> AnovaTable:
    t, s, k = values.shape
    grand = values.mean()
    ts, tk, sk = values.mean(axis=2), values.mean(axis=1), values.mean(axis=0)
    of_t, of_s, of_k = tk.mean(axis=1), sk.mean(axis=1), sk.mean(axis=0)
    a, b, c = of_t - grand, of_s - grand, of_k - grand
    ab = ts - grand - a[:, None] - b
    ac = tk - grand - a[:, None] - c
    bc = sk - grand - b[:, None] - c
    fitted = ts[:, :, None] + (tk - of_t[:, None])[:, None, :] + bc
    error = values - fitted
    return made_table(
        "score ~ topic + system + shard + topic:system + topic:shard + system:shard",
        {
            "Topic": (s * k * float(a @ a), t - 1.0),
            "System": (t * k * float(b @ b), s - 1.0),
            "Shard": (t * s * float(c @ c), k - 1.0),
            "Topic:System": (k * float((ab**2).sum()), (t - 1.0) * (s - 1)),
            "Topic:Shard": (s * float((ac**2).sum()), (t - 1.0) * (k - 1)),
            "System:Shard": (t * float((bc**2).sum()), (s - 1.0) * (k - 1)),
        },
        (float((error**2).sum()), (t - 1.0) * (s - 1) * (k - 1)),
        values=values,
        fitted=fitted,
        means={"Topic": of_t, "System": of_s, "Shard": of_k},
    )


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
three_way_test = partial(_compared, three_way, True)
fake_two_way_test = partial(_faked, two_way)
fake_three_way_test = partial(_faked, three_way)
