"""Analysis of variance with one, two and three factors: the models MD1, MD2 and MD3."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError
from cranfield.significance.models.anova_table import AnovaTable, made_table
from cranfield.significance.models.anova_with_gaps import three_way_with_gaps
from cranfield.significance.models.fitted_model import Model
from cranfield.significance.options import Options
from cranfield.significance.outcome import Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.registry import PLAIN, TestInfo, declared

MODEL_CORRECTIONS = ("tukey", "dunnett", *PLAIN)


@declared(
    TestInfo(
        name="anova-1",
        aliases=("md1", "anova-one-way"),
        title="One-way ANOVA (MD1)",
        asks="Do the mean scores of the systems differ, whatever their topics?",
        null="All systems have the same mean.",
        assumes="All scores are independent, errors are normal, with one variance.",
        when="Systems that were tested on different topics. On the same topics it takes the large "
        "differences between topics for noise, and misses most of what two-way ANOVA sees.",
        formula=r"y_{ij} = \mu_{\cdot\cdot} + \alpha_j + \varepsilon_{ij}",
        statistic="t; with Tukey's HSD q",
        effect="mean difference by the standard deviation of the error",
        source="Ferro and Sanderson (2022), section 3.1; Ferrante, Ferro and Fuhr (2021), "
        "section 7.3",
        convention="With two systems it is the two-sample t-test. Systems may have scores for "
        "different numbers of topics; Tukey's HSD is then Tukey and Kramer's.",
        paired=False,
        model=True,
        corrections=MODEL_CORRECTIONS,
        baseline_correction="dunnett",
    )
)
def one_way_test(pairs: Pairs, options: Options, data: Floats) -> Outcome:
    """Compare systems by one-way ANOVA."""
    table, model = one_way(data)
    return compared(table, model, pairs, options)


@declared(
    TestInfo(
        name="anova-2",
        aliases=("anova", "md2", "anova-two-way"),
        title="Two-way ANOVA (MD2)",
        asks="Do the mean scores of the systems differ, apart from what is due to topics?",
        null="All systems have the same effect.",
        assumes="Scores add up from topic and system; errors are independent and normal, with "
        "one variance. The F-test is robust to violations of the last two with 20 topics or more; "
        "comparisons of pairs are not where systems differ much in variance: compare then with "
        "the test t and Holm's correction.",
        when="Several systems on the same topics: the usual choice, with Tukey's HSD.",
        formula=r"Y_{ij} = \mu_{\cdot\cdot} + \tau_i + \alpha_j + \varepsilon_{ij}",
        statistic="t; with Tukey's HSD q",
        effect="mean difference by the standard deviation of the error",
        source="Ferro and Maistro (2024), equation 7; Tague-Sutcliffe and Blustein (1994)",
        convention="With two systems it is the paired t-test.",
        model=True,
        corrections=MODEL_CORRECTIONS,
        baseline_correction="dunnett",
    )
)
def two_way_test(pairs: Pairs, options: Options, data: Floats) -> Outcome:
    """Compare systems by two-way ANOVA."""
    table, model = two_way(data)
    return compared(table, model, pairs, options)


@declared(
    TestInfo(
        name="anova-3",
        aliases=("md3", "anova-three-way"),
        title="Three-way ANOVA on shards (MD3)",
        asks="Do the mean scores of the systems differ, apart from what is due to topics, to "
        "shards, and to interactions of two of the three factors?",
        null="All systems have the same effect.",
        assumes="Errors are independent and normal, with one variance.",
        when="Scores by shard of the collection. It finds many more differences than two-way "
        "ANOVA, above all with few topics, at the price of some that other topics contradict.",
        formula=r"y_{ijk} = \mu_{\cdot\cdot\cdot} + \tau_i + \alpha_j + \beta_k + "
        r"(\tau\alpha)_{ij} + (\tau\beta)_{ik} + (\alpha\beta)_{jk} + \varepsilon_{ijk}",
        statistic="t; with Tukey's HSD q",
        effect="mean difference by the standard deviation of the error",
        source="Ferro and Sanderson (2022), section 3.1",
        convention="Topics without relevant documents in a shard leave gaps: see the policy "
        "`missing`. With gaps, sums of squares are of type II, by exact least squares.",
        model=True,
        corrections=MODEL_CORRECTIONS,
        baseline_correction="dunnett",
    )
)
def three_way_test(pairs: Pairs, options: Options, data: Floats) -> Outcome:
    """Compare systems by three-way ANOVA on topics, systems and shards."""
    table, model = three_way(data)
    return compared(table, model, pairs, options)


_FAKE = TestInfo(
    name="anova-2f",
    aliases=("md2f",),
    title="Fake two-way ANOVA (MD2f)",
    asks="Do the mean scores differ at all?",
    null="None: any difference counts.",
    assumes="Nothing.",
    when="Never to compare systems. It is the upper bound of what a test can find, for "
    "studies of tests.",
    formula=r"p = 0 \text{ if } \bar{x} \ne \bar{y}",
    statistic="t; with Tukey's HSD q",
    effect="mean difference by the standard deviation of the error",
    source="Ferro and Sanderson (2022), section 3.1",
    model=True,
    corrections=("none",),
    baseline_correction="none",
)


@declared(_FAKE)
def fake_two_way_test(pairs: Pairs, options: Options, data: Floats) -> Outcome:
    """Call all systems with different means different."""
    return faked(two_way_test(pairs, options, data))


@declared(
    replace(
        _FAKE,
        name="anova-3f",
        aliases=("md3f",),
        title="Fake three-way ANOVA (MD3f)",
        asks="Do the mean scores over shards differ at all?",
    )
)
def fake_three_way_test(pairs: Pairs, options: Options, data: Floats) -> Outcome:
    """Call all systems with different means over shards different."""
    return faked(three_way_test(pairs, options, data))


def faked(outcome: Outcome) -> Outcome:
    """Replace p-values by 0, or by 1 where there is no difference at all."""
    same = outcome.statistic == 0
    return replace(outcome, pvalue=np.where(same, 1.0, 0.0))


def compared(table: AnovaTable, model: Model, pairs: Pairs, options: Options) -> Outcome:
    """Compare pairs by the model, and keep its table."""
    paired = "Topic" in table.sources
    outcome = model.outcome(pairs, options.alternative, paired=paired)
    return replace(outcome, table=table)


def one_way(values: Floats) -> tuple[AnovaTable, Model]:
    """Analyse scores by system; NaN is no score.

    Parameters
    ----------
    values
        Shape (topics, systems).

    Returns
    -------
    AnovaTable, Model
    """
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
    """Analyse scores by topic and system, every cell having one.

    Parameters
    ----------
    values
        Shape (topics, systems), at least two of each.
    """
    topics, systems = values.shape
    if topics < 2:
        raise CranfieldError("two-way ANOVA needs two topics at least")
    grand = values.mean()
    of_topics, of_systems = values.mean(axis=1), values.mean(axis=0)
    fitted = of_topics[:, None] + (of_systems - grand)
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


def three_way(values: Floats) -> tuple[AnovaTable, Model]:
    """Analyse scores by topic, system and shard, with the interactions of any two of them.

    Parameters
    ----------
    values
        Shape (topics, systems, shards), at least two of each; NaN where a topic has no score in a
        shard, for all systems.
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
