"""The tests that model all systems together, as they are declared."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from cranfield.base.scale_types import Scale
from cranfield.significance.declaration import TestInfo

OWN_EFFECT = "Cohen's d of the differences of the pair: their mean by their standard deviation"
POOLED_EFFECT = "mean difference by the standard deviation of the error of all systems"

_by_errors = partial(
    TestInfo,
    statistic="t; with Tukey's HSD q",
    effect=OWN_EFFECT,
    interval="difference of means",
    model=True,
)
_anova = partial(_by_errors, family="anova", correction="tukey", baseline_correction="dunnett")
_by_ranks = partial(
    TestInfo,
    family="ranks",
    statistic="z; with Tukey's HSD q, of the mean ranks",
    symbol="z",
    effect="difference of mean ranks by the standard deviation of a rank",
    effect_unit="SD of ranks",
    interval="difference of mean ranks",
    scale=Scale.ORDINAL,
    model=True,
    correction="tukey",
)

_ANY_DIFFERENCE = _by_errors(
    name="anova-2f",
    aliases=("md2f",),
    function="models.anova:fake_two_way_test",
    fit="models.anova:two_way_model",
    title="Fake two-way ANOVA (MD2f)",
    family="bound",
    asks="Do the mean scores differ at all?",
    null="None: any difference counts.",
    assumes="Nothing.",
    when="Never to compare systems. It is the upper bound of what a test can find, for "
    "studies of tests.",
    formula=r"p = 0 \text{ if } \bar{x} \ne \bar{y}",
    source="Ferro and Sanderson (2022), section 3.1",
    correction="none",
    baseline_correction="none",
)

OF_ALL = (
    _anova(
        name="anova-1",
        aliases=("md1", "anova-one-way"),
        function="models.anova:one_way_test",
        fit="models.anova:one_way_model",
        effect=POOLED_EFFECT,
        effect_unit="SD of error",
        title="One-way ANOVA (MD1)",
        asks="Do the mean scores of the systems differ, whatever their topics?",
        null="All systems have the same mean.",
        assumes="All scores are independent, errors are normal, with one variance.",
        when="Systems that were tested on different topics. On the same topics it takes the large "
        "differences between topics for noise, and misses most of what two-way ANOVA sees.",
        formula=r"y_{ij} = \mu_{\cdot\cdot} + \alpha_j + \varepsilon_{ij}",
        source="Ferro and Sanderson (2022), section 3.1; Ferrante, Ferro and Fuhr (2021), "
        "section 7.3",
        convention="With two systems it is the two-sample t-test. Systems may have scores for "
        "different numbers of topics; Tukey's HSD is then Tukey and Kramer's.",
        paired=False,
    ),
    _anova(
        name="anova-2",
        aliases=("anova", "md2", "anova-two-way"),
        function="models.anova:two_way_test",
        fit="models.anova:two_way_model",
        title="Two-way ANOVA (MD2)",
        error="two-way ANOVA error",
        asks="Do the mean scores of the systems differ, apart from what is due to topics?",
        null="All systems have the same effect.",
        assumes="Scores add up from topic and system; errors are independent and normal, with "
        "one variance, so that all differences of two systems vary alike (sphericity). Scores of "
        "real systems are not so: with covariances of 15 to 129 runs the F of all systems errs "
        "in 10 to 26 of 100 cases at .05. Read its p-value corrected for that by Greenhouse and "
        "Geisser, under the table. The tables of Tukey's and Dunnett's tests assume all this, too; "
        "bootstrapped over topics, Tukey's HSD does not.",
        when="Several systems on the same topics: the usual choice, with Tukey's HSD bootstrapped "
        "over topics.",
        formula=r"Y_{ij} = \mu_{\cdot\cdot} + \tau_i + \alpha_j + \varepsilon_{ij}",
        source="Ferro and Maistro (2024), equation 7; Tague-Sutcliffe and Blustein (1994)",
        convention="With two systems it is the paired t-test. The F of more is corrected by "
        "Greenhouse and Geisser (1959) and by Huynh and Feldt (1976), as car for R does; "
        "Lecoutre's correction (1991) changes nothing where all topics are one group.",
        additive=True,
        one_variance=True,
        default_for="many systems",
    ),
    _anova(
        name="random-topics",
        aliases=("mixed", "anova-random"),
        function="models.random_topics:random_topics_test",
        fit="models.random_topics:random_topics_model",
        title="ANOVA with random topics",
        error="two-way ANOVA error of topic means over shards",
        asks="Do the mean scores of the systems differ, beyond what their differences vary from "
        "topic to topic?",
        null="All systems have the same effect.",
        assumes="Topics are a random sample of all topics; effects of topics, of topics by "
        "systems, of cells and errors are independent and normal, each with one variance.",
        when="Scores by shard of the collection, or of several variations of each topic's query: "
        "what it finds is meant to hold for other topics too.",
        formula=r"y_{tsk} = \mu + \alpha_s + \tau_t + (\tau\alpha)_{ts} + (\tau\beta)_{tk} + "
        r"\varepsilon_{tsk}, \quad F = \frac{\mathit{MS}_{System}}{\mathit{MS}_{Topic:System}}",
        source="Scheffé (1959), chapter 8; Patterson and Thompson (1971); Satterthwaite (1946); "
        "for query variations Culpepper et al. (2022)",
        convention="Without gaps it is two-way ANOVA of each topic's mean over its shards. With "
        "gaps, which are the same for all systems (see the policy `missing`), variances are "
        "estimated by restricted maximum likelihood, differences by generalised least squares, "
        "and degrees of freedom by Satterthwaite's formula, as lme4 and lmerTest do. Where the "
        "variance of topics or of cells would be below 0 it is shown as 0, and the others stay; "
        "lme4 estimates them again under that bound, which may change errors by a tenth.",
        one_variance=True,
        shards="needed",
        default_for="shards",
    ),
    _anova(
        name="anova-3",
        aliases=("md3", "anova-three-way"),
        function="models.random_topics:three_way_test",
        fit="models.anova:three_way_model",
        title="Three-way ANOVA on shards (MD3)",
        asks="Do the mean scores of the systems on these topics differ, apart from what is due to "
        "topics, to shards, and to interactions of two of the three factors?",
        null="All systems have the same effect.",
        assumes="Topics are all that there are: what systems do on other topics is not asked. "
        "Errors are independent and normal, with one variance.",
        when="Never to say which system is better on other topics: the error leaves out how much "
        "differences vary from topic to topic, and differences that other topics contradict "
        "are called significant. It is here as the model of the paper; take random-topics.",
        formula=r"y_{ijk} = \mu_{\cdot\cdot\cdot} + \tau_i + \alpha_j + \beta_k + "
        r"(\tau\alpha)_{ij} + (\tau\beta)_{ik} + (\alpha\beta)_{jk} + \varepsilon_{ijk}",
        source="Ferro and Sanderson (2022), section 3.1",
        convention="Topics without relevant documents in a shard leave gaps: see the policy "
        "`missing`. With gaps, sums of squares are of type II, by exact least squares. A note "
        "gives the F of random-topics beside its own.",
        samples_topics=False,
        shards="needed",
    ),
    _ANY_DIFFERENCE,
    replace(
        _ANY_DIFFERENCE,
        name="anova-3f",
        aliases=("md3f",),
        function="models.anova:fake_three_way_test",
        fit="models.anova:three_way_model",
        title="Fake three-way ANOVA (MD3f)",
        asks="Do the mean scores over shards differ at all?",
        shards="needed",
    ),
    _by_ranks(
        name="kruskal-wallis",
        aliases=("kruskal",),
        function="models.anova:kruskal_wallis_test",
        title="Kruskal-Wallis test",
        asks="Do scores of some systems tend to be higher than those of others, whatever their "
        "topics?",
        null="The scores of all systems have the same distribution.",
        assumes="All scores are independent: nothing is paired.",
        when="Several systems on different topics, on a scale that is only ordinal. On the same "
        "topics, Friedman's test.",
        formula=r"H = \frac{\frac{12}{N (N + 1)} \sum_j R_j^2 / n_j - 3 (N + 1)}"
        r"{1 - \sum (t^3 - t) / (N^3 - N)}",
        source="Kruskal and Wallis (1952); Ferrante, Ferro and Fuhr (2021), section 7.3",
        convention="Scores that are equal within rounding share their mid-rank. Pairs are "
        "compared on mean ranks, with the variance corrected for ties and infinite degrees of "
        "freedom.",
        paired=False,
    ),
    _by_ranks(
        name="friedman",
        function="models.anova:friedman_test",
        title="Friedman test",
        asks="Do some systems tend to rank above others, topic by topic?",
        null="On each topic, every order of the systems is as likely.",
        assumes="Topics are independent of each other. Corrections of its pairs bound errors where "
        "all systems are equal; where some differ, others that do not may be called different more "
        "often.",
        when="Several systems on the same topics, on a scale that is only ordinal: do they differ "
        "at all? Of pairs it is a poor judge: mean ranks depend on which other systems take part, "
        "and so does what is said of a pair. Take the test sign, or signed-rank, with Holm's "
        "correction, which are about medians (Benavoli, Corani and Mangili, 2016).",
        formula=r"\chi^2 = \frac{n \sum_j (\bar{R}_j - (k + 1) / 2)^2}{s^2}, \quad "
        r"s^2 = \frac{k (k + 1)}{12} - \frac{\sum (t^3 - t)}{12 n (k - 1)}",
        source="Friedman (1937, 1939); Ferrante, Ferro and Fuhr (2021), section 7.3",
        convention="Scores that are equal within rounding share their mid-rank. Pairs are "
        "compared on mean ranks, with the variance corrected for ties and infinite degrees of "
        "freedom; with Tukey's HSD that is Nemenyi's test.",
        within_topics=True,
        of_pairs="what is said of a pair depends on the other systems, and errors are bounded only "
        "where all are equal; sign or signed-rank with holm take each pair by itself",
    ),
    TestInfo(
        name="bootstrap-anova",
        aliases=("banova",),
        function="models.random_topics:bootstrap_anova_test",
        title="Bootstrap ANOVA",
        family="bootstrap",
        asks="If the residuals of the model fell otherwise on the scores, and two systems did not "
        "differ, how often would their effects be as far apart as they are?",
        null="The two systems have the same effect.",
        assumes="Residuals are exchangeable: independent, with one distribution, of any shape. "
        "With shards, topics are all that there are, as in three-way ANOVA.",
        when="Several systems on the same topics, when errors are far from normal. With scores by "
        "shard what it says holds for these topics only: the error leaves out how much differences "
        "vary from topic to topic.",
        formula=r"p = \frac{|\{b : |t^{*b}_{uv}| \ge |t_{uv}|\}| + 1}{B + 1}, \quad "
        r"t_{uv} = \frac{\hat{\alpha}_u - \hat{\alpha}_v}{\sqrt{\mathit{MS}_{Error}}}",
        statistic="difference of means",
        symbol="",
        effect=POOLED_EFFECT,
        effect_unit="SD of error",
        interval="difference of means",
        source="Voorhees, Samarov and Soboroff (2017)",
        convention="The model is topic + system, and with shards also topic:system. Residuals "
        "are drawn with replacement from all of them, and the model is fitted again. Differences "
        "are divided by the error of that fit; otherwise small experiments reject too often. The "
        "interval is by the quantile of |t| over the same fits; of a one-sided test, by that of t.",
        model=True,
        random=True,
        samples_topics=False,
        shards="taken",
        correction="bh",
        baseline_correction="bh",
    ),
)
