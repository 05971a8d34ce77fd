"""The tests, as they are declared.

A new test is a module with a function that takes pairs and options, and a declaration: here, or in
`models/catalogue.py` if it models all systems together. Plain tests come before those that draw
random numbers.
"""

from __future__ import annotations

from typing import Any

from cranfield.base.scale_types import Scale
from cranfield.significance.declaration import Test, TestInfo
from cranfield.significance.models.catalogue import OF_ALL
from cranfield.significance.registry import registry

CONSTANT = (
    "Differences that are all the same have no variance: p is that of exact sign flips, or without "
    "pairing of exact permutations."
)

_OF_PAIRS = (
    TestInfo(
        name="sign",
        function="pairwise.ranks:sign_test",
        title="Sign test",
        family="order",
        asks="Does one system score higher on more topics than the other?",
        null="The median of the differences is zero: each system is as likely to win a topic.",
        assumes="Topics are independent of each other; nothing on the size of differences. Its "
        "hypothesis is of their median, not of their mean: where differences are skewed, one can "
        "be 0 and the other not.",
        when="Scores that are only ordinal, such as RR. It ignores how large differences are, "
        "and so often misses what other tests see. A statement about mean scores is none of its "
        "business: of systems with equal means and skewed differences it calls too many different.",
        formula=r"S = |\{t : d_t > 0\}|, \quad"
        r" p = \min(1,\, 2\, P(B \le \min(S, n - S))), \quad B \sim \text{Bin}(n, 1/2)",
        statistic="topics that the first system wins",
        symbol="wins",
        effect="(wins - losses) / (wins + losses)",
        interval="median of the differences that are not 0",
        source="Gibbons and Chakraborti (2011); Ferro and Maistro (2024), section 4; for the "
        "threshold Urbano, Lima and Hanjalic (2019b), who take .01",
        convention="Topics with equal scores are left out, and counted; with a `threshold` also "
        "those whose scores differ by no more than that. The interval is of the median of the "
        "other differences, from order statistics, so that it leaves out 0 exactly where p is at "
        "most alpha.",
        scale=Scale.ORDINAL,
        within_topics=True,
        always_exact=True,
        threshold=True,
    ),
    TestInfo(
        name="signed-rank",
        aliases=("wilcoxon", "wilcoxon-signed-rank"),
        function="pairwise.ranks:signed_rank_test",
        title="Wilcoxon signed rank test",
        family="order",
        asks="Are the differences in favour of one system larger, by rank, than those against it?",
        null="The differences are symmetric around zero.",
        assumes="Topics are independent; the distribution of differences is symmetric. Only then "
        "is its hypothesis, of the pseudo-median, also one of the mean.",
        when="Paired scores with outliers, and differences that are about symmetric. It ranks "
        "differences, so it needs a scale on which differences can be compared. Of systems with "
        "equal means and skewed differences it calls too many different.",
        formula=r"W^+ = \sum_{t : d_t > 0} \text{rank}(|d_t|)",
        statistic="W+, the sum of ranks of the topics that the first system wins",
        symbol="W+",
        effect="rank-biserial correlation: (W+ - W-) / (W+ + W-)",
        interval="pseudo-median of the differences that are not 0",
        source="Wilcoxon (1945); Gibbons and Chakraborti (2011)",
        convention="Zero differences are left out. Differences that are equal within rounding "
        "share their mid-rank. Up to 25 differences (`exact_n`) the p-value is exact, with ties "
        "too; above, normal with the variance corrected for ties, without continuity correction. "
        "The interval is of the pseudo-median, from Walsh averages of the differences that are "
        "not 0, by the distribution of the same ranks, ties and all: it leaves out 0 exactly where "
        "p is at most alpha.",
    ),
    TestInfo(
        name="rank-sum",
        aliases=("mann-whitney", "u-test", "wilcoxon-rank-sum"),
        function="pairwise.ranks:rank_sum_test",
        title="Wilcoxon rank sum test (Mann-Whitney U)",
        family="order",
        asks="Does a score of one system tend to be higher than a score of the other, whatever "
        "their topics?",
        null="The scores of both systems have the same distribution.",
        assumes="All scores are independent: those of the two systems are not paired.",
        when="Systems that were tested on different topics, on a scale that is only ordinal. On "
        "the same topics it wastes what the pairing tells; take a paired test.",
        formula=r"U = |\{(s, t) : x_s > y_t\}| + \tfrac{1}{2} |\{(s, t) : x_s = y_t\}|",
        statistic="U of the first system",
        symbol="U",
        effect="Cliff's delta: 2 U / (n m) - 1",
        interval="shift between the systems",
        source="Mann and Whitney (1947); Gibbons and Chakraborti (2011)",
        convention="Normal, with the variance corrected for ties and with continuity correction; "
        "exact on request, with ties too. The interval is of the shift between the systems.",
        scale=Scale.ORDINAL,
        paired=False,
    ),
    TestInfo(
        name="t",
        aliases=("paired-t", "t-paired", "student", "t-test", "ttest"),
        function="pairwise.means:t_test",
        title="Paired t-test",
        family="t",
        asks="Is the mean of the differences, topic by topic, other than zero?",
        null="The mean difference is zero.",
        assumes="Topics are independent; the mean of the differences is nearly normal, which "
        "it is from a few dozen topics on unless they are very skewed.",
        when="Two systems on the same topics, and readers who expect it. For more than two "
        "systems, two-way ANOVA, of which with Tukey's HSD this is the special case.",
        formula=r"t = \frac{\bar{d}}{s_d / \sqrt{n}}, \quad n - 1 \text{ degrees of freedom}",
        statistic="t",
        effect="Cohen's d of the differences: their mean by their standard deviation",
        interval="mean difference",
        source="Student (1908); Ferro and Maistro (2024), section 4",
        convention=CONSTANT,
        of_two="the paired t-test is two-way ANOVA with Tukey's HSD of two systems",
    ),
    TestInfo(
        name="t-unpaired",
        aliases=("student-unpaired", "two-sample-t"),
        function="pairwise.means:unpaired_t_test",
        title="Two-sample t-test (Student)",
        family="t",
        asks="Do the mean scores of two systems differ, whatever their topics?",
        null="Both systems have the same mean.",
        assumes="All scores are independent, both systems have the same variance, and means are "
        "nearly normal.",
        when="Two systems that were tested on different topics. Prefer Welch's, which does not "
        "assume equal variances.",
        formula=r"t = \frac{\bar{x} - \bar{y}}{s \sqrt{1/n + 1/m}}, \quad "
        r"s^2 = \frac{(n - 1) s_x^2 + (m - 1) s_y^2}{n + m - 2}",
        statistic="t",
        effect="Hedges' g without small-sample correction: mean difference by pooled deviation",
        interval="difference of means",
        source="Student (1908)",
        convention=CONSTANT,
        paired=False,
    ),
    TestInfo(
        name="welch",
        aliases=("welch-t",),
        function="pairwise.means:welch_test",
        title="Welch's t-test",
        family="t",
        asks="Do the mean scores of two systems differ, whatever their topics?",
        null="Both systems have the same mean.",
        assumes="All scores are independent; means are nearly normal.",
        when="Two systems that were tested on different topics.",
        formula=r"t = \frac{\bar{x} - \bar{y}}{\sqrt{s_x^2 / n + s_y^2 / m}}",
        statistic="t",
        effect="mean difference by the root of the mean of both variances",
        interval="difference of means",
        source="Welch (1947)",
        convention="Degrees of freedom by Welch and Satterthwaite. " + CONSTANT,
        paired=False,
    ),
    TestInfo(
        name="randomisation",
        aliases=("randomization", "permutation", "fisher"),
        function="pairwise.means:randomisation_test",
        title="Randomisation test (Fisher)",
        family="randomisation",
        asks="If the two systems' labels were swapped at random, topic by topic, how often would "
        "their means differ as much as they do?",
        null="The two systems are the same: it makes no difference which is called which.",
        assumes="Topics are independent. Nothing on distributions, nor that topics are a sample.",
        when="Two systems on the same topics, without the t-test's assumption. For many systems, "
        "with the randomised Tukey HSD, if all vary alike; real ones do not.",
        formula=r"p = \frac{|\{b : |\sum_t s_{bt} d_t| \ge |\sum_t d_t|\}| + 1}{B + 1}, "
        r"\quad s_{bt} = \pm 1",
        statistic="mean difference",
        symbol="",
        effect="Cohen's d of the differences: their mean by their standard deviation",
        interval="mean difference",
        source="Fisher (1935); Smucker, Allan and Carterette (2007)",
        convention="Two-sided by the absolute value of the statistic (SciPy doubles the smaller "
        "tail). All 2^n assignments are counted, exactly, where that is feasible; there p is "
        "count / 2^n. Else B of them are drawn, the same for all pairs. The interval holds the "
        "shifts that the test does not reject, by the same assignments: it is between two means "
        "of subsets of the topics. After an exact test of more than 16 topics, or of many pairs, "
        "it is of B random ones (interval resamples and interval seed in the details).",
        one_variance=True,
        random=True,
        correction="randomised-tukey",
    ),
    TestInfo(
        name="bootstrap",
        aliases=("paired-bootstrap", "bootstrap-paired"),
        function="pairwise.bootstrap:bootstrap_test",
        title="Studentised bootstrap test",
        family="bootstrap",
        asks="If topics were drawn anew from topics like these, and the systems did not differ, "
        "how often would t be as large as it is?",
        null="The mean difference is zero.",
        assumes="Topics are a random sample; nothing on the shape of the distribution.",
        when="Two systems on the same topics, with differences that are far from normal, and a "
        "few dozen topics at least.",
        formula=r"p = \frac{|\{b : |t(w^{*b})| \ge |t(z)|\}| + 1}{B + 1}, \quad "
        r"t(z) = \frac{\bar{z}}{\bar{\sigma} / \sqrt{n}}, \quad w_i = z_i - \bar{z}",
        statistic="t",
        effect="Cohen's d of the differences: their mean by their standard deviation",
        interval="mean difference",
        source="Efron and Tibshirani (1993); Sakai (2013), figures 11 and 12",
        convention="The paper's p is count / B. The same topics are drawn for all pairs. The "
        "interval is the bootstrap-t interval by the same samples: symmetric, from the quantile of "
        "|t|, so that it leaves out 0 exactly where p is at most alpha; of a one-sided test, from "
        "the quantile of t on its side. "
        "A resample without any variation counts as extreme.",
        default_for="two systems",
        random=True,
        correction="bootstrap-max-t",
        baseline_correction="bootstrap-max-t",
    ),
    TestInfo(
        name="bootstrap-shift",
        aliases=("shift-bootstrap",),
        function="pairwise.bootstrap:shift_bootstrap_test",
        title="Paired bootstrap test by shifting",
        family="bootstrap",
        asks="If topics were drawn anew from topics like these, and the systems did not differ, "
        "how often would their means differ as much as they do?",
        null="The mean difference is zero.",
        assumes="Topics are a random sample, and so many that the mean is known to vary as it does "
        "in samples of them.",
        when="To compare with studies that used it. With few topics it finds too much: the samples "
        "vary less than the mean does, by a factor of 1 - 1/n in the variance, and their tails are "
        "thinner than those of t. Take the test bootstrap, which divides by the error of each "
        "sample.",
        formula=r"p = \frac{|\{b : |\bar{w}^{*b}| \ge |\bar{z}|\}| + 1}{B + 1}, \quad "
        r"w_i = z_i - \bar{z}",
        statistic="mean difference",
        symbol="",
        effect="Cohen's d of the differences: their mean by their standard deviation",
        interval="mean difference",
        source="Efron and Tibshirani (1993); Urbano, Lima and Hanjalic (2019b)",
        convention="Two-sided by the absolute value of the mean; the paper shifts by the "
        "mean of the samples, not by that of the topics, and its p is count / B. The same topics "
        "are drawn for all pairs, and for the test bootstrap. The interval is symmetric, from the "
        "quantile of the absolute value; of a one-sided test, from that of the mean on its side.",
        random=True,
    ),
    TestInfo(
        name="bootstrap-unpaired",
        aliases=("unpaired-bootstrap",),
        function="pairwise.bootstrap:unpaired_bootstrap_test",
        title="Unpaired bootstrap test",
        family="bootstrap",
        asks="If both systems' scores were drawn from all of their scores together, how often "
        "would their means differ as much as they do?",
        null="The scores of both systems come from one distribution.",
        assumes="All scores are a random sample, independent of each other.",
        when="Two systems that were tested on different topics.",
        formula=r"p = \frac{|\{b : |\bar{x}^{*b} - \bar{y}^{*b}| \ge |\bar{x} - \bar{y}|\}| + 1}"
        r"{B + 1}",
        statistic="difference of means",
        symbol="",
        effect="Hedges' g without small-sample correction: mean difference by pooled deviation",
        interval="difference of means",
        source="Efron and Tibshirani (1993); Sakai (2013), figures 13 and 14",
        convention="The paper's p is count / B. The interval is the bootstrap-t interval with "
        "Welch's standard error, where each system's scores are drawn from its own: symmetric, "
        "from the quantile of |t|; of a one-sided test, from the quantile of t on its side. It "
        "does not take both distributions for the same, as the p-value does, so that the two may "
        "disagree where a difference is barely significant.",
        paired=False,
        random=True,
    ),
    TestInfo(
        name="bootstrap-median",
        function="pairwise.bootstrap:bootstrap_median_test",
        title="Bootstrap test of medians",
        family="medians",
        asks="If topics were drawn anew from topics like these, and the systems had the same "
        "median score, how often would their medians be as far apart as they are?",
        null="The median scores of the two systems are the same.",
        assumes="Topics are a random sample, and so many that medians vary as they do in samples "
        "of them.",
        when="The median is the statistic of interest, as where a few topics have extreme scores. "
        "It is of the difference of medians, not of the median difference, which the sign test is "
        "about. Its error rates on real scores have not been measured.",
        formula=r"p = \frac{|\{b : |(\tilde{x}^{*b} - \tilde{x}) - (\tilde{y}^{*b} - \tilde{y})| "
        r"\ge |\tilde{x} - \tilde{y}|\}| + 1}{B + 1}",
        statistic="difference of medians",
        symbol="",
        effect="difference of medians by the mean interquartile range of the systems",
        effect_unit="IQR",
        interval="difference of medians",
        source="Efron and Tibshirani (1993); for statistics other than the mean Sakai (2013)",
        convention="Not studentised, as the standard error of a median has no plain estimate. The "
        "same topics are drawn for all systems. Of many pairs the largest centred difference of "
        "each resample counts (correction bootstrap-max).",
        random=True,
        correction="bootstrap-max",
        baseline_correction="bootstrap-max",
    ),
)

TESTS = registry("test", map(Test, (*_OF_PAIRS, *OF_ALL)))
"""Tests by name."""


def find_test(name: Any) -> Test:
    """Find a test by any of its names; a PolicyError suggests the nearest ones if it has none."""
    return TESTS.named(name)


def default_test(systems: int, by_shard: bool) -> Test:
    """Return the test that is taken of scores when none is named."""
    scores = "shards" if by_shard else "two systems" if systems == 2 else "many systems"
    return next(test for test in TESTS.values() if test.info.default_for == scores)
