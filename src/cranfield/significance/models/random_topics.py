"""Systems on topics that are a sample of all topics: a mixed model of scores by shard.

A score is the sum of a fixed effect of the system and of random effects: of the topic, of topic and
system, of topic and shard, and of the error. All systems have the same cells (topic, shard), so the
model falls into two parts that are independent of each other: the means over systems, and what each
system is above them. Both are one-way models of cells in random topics.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError
from cranfield.significance.models.anova import three_way, two_way_model
from cranfield.significance.models.anova_table import AnovaTable, made_table, shown_p
from cranfield.significance.models.anova_with_gaps import known_cells
from cranfield.significance.models.by_model import by_model
from cranfield.significance.models.fitted_model import Model
from cranfield.significance.models.random_groups import GroupsFit, RandomGroups
from cranfield.significance.models.sphericity import sphericity
from cranfield.significance.options import Options
from cranfield.significance.outcome import Outcome
from cranfield.significance.pairs import ROUNDING, Pairs


def random_topics_test(pairs: Pairs, options: Options) -> Outcome:
    """Compare systems by how their differences vary from topic to topic."""
    table, model = random_topics(pairs.scores)
    return by_model(model, pairs, options, paired=True, table=table)


def random_topics_model(values: Floats) -> Model:
    """Fit the model without its table, which takes longer."""
    if np.isnan(values).any():
        return random_topics(values)[1]
    return two_way_model(values.mean(axis=2))


def three_way_test(pairs: Pairs, options: Options) -> Outcome:
    """Compare systems by what scores vary between shards of these topics."""
    table, model = three_way(pairs.scores)
    notes = only_these_topics(table, pairs.scores)
    return by_model(model, pairs, options, paired=True, table=table, notes=notes)


def only_these_topics(table: AnovaTable, values: Floats) -> tuple[str, ...]:
    """Say that a model with topics as they are tells nothing of others, with the F that does."""
    said = (
        "what this test says holds for these topics only, as its error leaves out how differences"
        " vary from topic to topic"
    )
    narrow, wide = table.f_of("System"), random_topics(values)[0].f_of("System")
    if not np.isnan([narrow, wide]).any():
        said += (
            f": F of System is {narrow[0]:.4g} (p {shown_p(narrow[1])}) by the error, and"
            f" {wide[0]:.4g} (p {shown_p(wide[1])}) by Topic:System, which holds for other topics"
            " too"
        )
    return (f"{said}; test random-topics goes by that",)


def random_topics(values: Floats) -> tuple[AnovaTable, Model]:
    """Analyse scores by topic, system and shard; NaN is no score, of all systems or of none.

    The error of a difference is of the differences between topics: of as many scores each, by the
    mean square of topic and system; else by restricted maximum likelihood, which weighs topics by
    what is known of them, with Satterthwaite's degrees of freedom.
    """
    labels, shards = known_cells(values)
    cells = values[labels, :, shards]
    systems = values.shape[1]
    if np.unique(labels).size < 2:
        raise CranfieldError("random topics need two topics with scores at least")
    mean = cells.mean(axis=1, keepdims=True)
    least = ROUNDING * float(np.abs(cells).max())
    above = cells - mean
    above[np.abs(above) <= least] = 0.0
    common = RandomGroups.of(mean, labels, 1, least)
    apart = RandomGroups.of(above, labels, systems - 1, least)
    common_fit, fit = common.fit(), apart.fit()
    means = common_fit.mean + fit.mean
    fitted = np.full(values.shape, np.nan)
    fitted[labels, :, shards] = mean + apart.means[apart.group]
    groups, number = apart.counts.size, len(cells)
    table = made_table(
        "score ~ system + (1|topic) + (1|topic:system) + (1|topic:shard)",
        {
            "Topic": (systems * common.between, groups - 1.0),
            "System": (float(number * (apart.centre**2).sum()), systems - 1.0),
            "Topic:System": (apart.between, (groups - 1.0) * (systems - 1)),
            "Topic:Shard": (systems * common.within, float(number - groups)),
        },
        (apart.within, (number - groups) * (systems - 1.0)),
        values=values,
        fitted=fitted,
        means={"System": means},
    )
    # Topics without any score are none; the others have the same shards, or variations.
    balanced = bool((apart.counts == apart.counts[0]).all())
    f = _ratio(float((fit.mean**2).sum()) / (systems - 1), fit.variance)
    by = "Topic:System"
    if not balanced:
        by = f"a variance with {fit.df:.1f} degrees of freedom (Satterthwaite)"
    table = table.tested("Topic", np.nan, np.nan, number)
    table = table.tested("System", f, fit.df, groups * systems)
    table = replace(
        table,
        components=_components(common_fit, fit, systems),
        remarks=(f"F of System by {by}, of the others by Error",),
        sphericity=sphericity(apart.means, f) if balanced else None,
    )
    error = groups * fit.variance
    return table, Model(means, error, np.full(systems, float(groups)), fit.df)


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else np.inf if above > 0 else np.nan


def _components(common: GroupsFit, apart: GroupsFit, systems: int) -> dict[str, float]:
    """Take from the variances of means over systems what belongs to single systems."""
    if np.isnan(apart.within):
        return {}
    return {
        "Topic": max(0.0, common.between - apart.between / systems),
        "Topic:System": apart.between,
        "Topic:Shard": max(0.0, common.within - apart.within / systems),
        "Error": apart.within,
    }
