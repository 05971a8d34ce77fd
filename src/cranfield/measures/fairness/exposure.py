r"""Measures of exposure: expected exposure, and parity of exposure between groups.

The target exposure :math:`\varepsilon^*` is that of a policy that ranks by relevance and orders
documents of equal grade at random: each of the m documents of a grade, below b better ones, has the
mean exposure of the ranks b + 1 to b + m. For the exposure :math:`\varepsilon` of a ranking (Diaz
and others 2020),

.. math:: EE\text{-}L = \|\varepsilon - \varepsilon^*\|^2
    = \underbrace{\|\varepsilon\|^2}_{EE\text{-}D}
    - 2 \underbrace{\varepsilon^T \varepsilon^*}_{EE\text{-}R} + \|\varepsilon^*\|^2

over documents, or over groups, whose exposure is the sum over their documents. The measures score
single rankings. For a stochastic policy the expectation of exposure has to be taken before the
square, as :func:`cranfield.expected_exposure` does.

With the exposure :math:`\varepsilon_d` and the utility :math:`u_d` of document d (Singh and
Joachims 2018), the formulas of `DP`, `EUR` and `RUR` define a value of each group g for demographic
parity, disparate treatment (exposed utility) and disparate impact (realised utility). The measures
are the ratio of the lowest value of a group to the highest, from 0 to 1, where 1 is parity;
`logDP`, `logEUR` and `logRUR` (Raj and Ekstrand 2022) are the logarithm of the ratio of the value
of a protected group to that of all other documents with a group, where 0 is parity, and negative
values mean that the protected group is at a disadvantage.

Documents without a known group occupy their ranks, but belong to no group. A group without
judged documents of a topic (DP), or without utility on it (EUR, RUR), is excluded, except for DP
with `size='none'`. If fewer than two groups remain, the score is 0. Before logarithms are taken,
1e-6 is added to both values, so that scores are finite without exposure.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.spec import any_name, choice, optional, parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Groups, Judgments, Rows, divide, find_positions
from cranfield.measures.base import measure
from cranfield.measures.fairness.attention import (
    BROWSING_DOC,
    EXPOSURE_MODELS,
    ExposureMeasure,
    find_group_index,
    sum_by_group,
    sum_judgments,
)
from cranfield.measures.gains import Gain, check_nonnegative, sum_by_topic

_INFINITY = float("inf")


class ExpectedExposure(
    ExposureMeasure,
    needs="graded or binary judgments; groups of documents for by='group'",
    scale_note="not known to be on an interval scale",
    range=(0.0, _INFINITY),
    beyond_grades="which documents are retrieved",
):
    """Base class of measures of expected exposure."""

    browsing: str = parameter(
        "geometric",
        choice("geometric", "cascade"),
        "how attention decreases with rank: 'geometric' as in RBP, 'cascade' as in ERR",
    )
    by: str = parameter(
        "document", choice("document", "group"), "unit of exposure: 'document' or 'group'"
    )
    corpus: str = parameter(
        "judged",
        choice("judged", "open"),
        "how the target distributes the remaining exposure: 'judged', equally over the documents"
        " judged not relevant (as in the authors' program); 'open', over infinitely many"
        " documents, so that each has exposure 0",
    )

    def _sum_products(self, judged: JudgedRuns) -> tuple[Floats, Floats, Floats]:
        target = self.compute_targets(judged.judgments)
        if self.by == "group":
            rows, exposure = self.sum_exposure_by_group(judged)
            target = sum_judgments(judged, judged.groups(str(self)), target)
            relevance = rows.total(exposure * target[rows.topic, rows.grade])
            return rows.total(exposure**2), relevance, (target**2).sum(axis=1)[:, None]
        rows = judged.judged()
        relevance = rows.total(self.compute_exposure(judged, rows) * target[rows.judgment])
        return self.sum_exposure(judged, 2), relevance, sum_by_topic(judged.judgments, target**2)

    def compute_products(self, judged: JudgedRuns) -> tuple[Floats, Floats, Floats]:
        """Return the scalar products exposure squared, exposure times target, and target squared.

        The first two have shape (topics, systems), the last (topics, 1). Results are cached.
        """
        parameters = (self.rel, self.browsing, self.p, self.stop, self.by, self.corpus)
        return judged.view(("expected exposure", *parameters), lambda: self._sum_products(judged))

    def compute_targets(self, judgments: Judgments) -> Floats:
        """Return the target exposure of each judged document."""
        is_judged = judgments.grade >= judgments.judged_from
        # Grades that are not relevant form one level.
        level = np.where(judgments.grade >= self.rel, judgments.grade, self.rel - 1)
        continuation = 1.0 - self.stop if self.browsing == "cascade" else 1.0
        targets = np.zeros(level.size)
        for grade in np.unique(level):
            if grade < self.rel and self.corpus == "open":
                continue
            is_level = (level == grade) & is_judged
            n_docs = np.bincount(judgments.topic[is_level], minlength=judgments.n_topics)
            n_better = judgments.count(int(grade) + 1)[:, 0]
            first_exposure = (self.p * continuation) ** n_better
            factor = self.p * continuation if grade >= self.rel else self.p
            total_exposure = first_exposure * (1.0 - factor**n_docs)
            mean_exposure = divide(total_exposure, n_docs * (1.0 - factor))
            targets[is_level] = mean_exposure[judgments.topic[is_level]]
        return targets


@measure(
    "EEL",
    summary="Squared distance between the exposure of documents, or groups, and its target.",
    formula=r"\|\varepsilon - \varepsilon^*\|^2",
    source="Diaz and others (2020)",
    lower_is_better=True,
    elsewhere={"TREC Fair Ranking 2019, 2020": "difference of expeval"},
)
class ExpectedExposureLoss(ExpectedExposure):
    """EE-L, the loss; by default a ranking scores 0 (fair) only if all grades differ."""

    def values(self, judged: JudgedRuns) -> Floats:
        disparity, relevance, norm = self.compute_products(judged)
        return np.maximum(disparity - 2 * relevance + norm, 0.0)


@measure(
    "EED",
    summary="Squared norm of the exposure of documents, or groups, regardless of its target.",
    formula=r"\|\varepsilon\|^2",
    source="Diaz and others (2020)",
    lower_is_better=True,
    elsewhere={"TREC Fair Ranking 2019, 2020": "disparity of expeval"},
)
class ExpectedExposureDisparity(ExpectedExposure):
    """EE-D, the disparity.

    Without groups, the score depends only on the length of the ranking and, with cascade browsing,
    on the ranks of relevant documents.
    """

    def values(self, judged: JudgedRuns) -> Floats:
        return self.compute_products(judged)[0].copy()


@measure(
    "EER",
    summary="Scalar product of the exposure of documents, or groups, and its target.",
    formula=r"\varepsilon^T \varepsilon^*",
    source="Diaz and others (2020), but without the factor 2, as in expeval",
    elsewhere={"TREC Fair Ranking 2019, 2020": "relevance of expeval"},
)
class ExpectedExposureRelevance(ExpectedExposure):
    """EE-R, the relevance."""

    def values(self, judged: JudgedRuns) -> Floats:
        return self.compute_products(judged)[1].copy()


LOG_OFFSET = 1e-6
"""Constant added to arguments of logarithms, as in the program of Raj and Ekstrand (2022)."""

_PROTECTED_DOC = "group that is compared with all other documents that have a group"
_SOURCE = "Singh and Joachims (2018)"
_LOG_SOURCE = "Raj and Ekstrand (2022), after Singh and Joachims (2018)"


class _ExposureRatio(
    ExposureMeasure,
    inputs=("groups",),
    needs="groups of documents",
    scale_note="not known to be on an interval scale, as it is based on a quotient of exposures",
):
    """Base class of measures of parity of exposure: the lowest value over the highest."""

    protected: str | None = parameter(
        None, optional(any_name), _PROTECTED_DOC + "; by default all groups are compared"
    )
    browsing: str = parameter("log2(rank+1)", choice(*EXPOSURE_MODELS), BROWSING_DOC)
    gains: Gain | None = parameter(
        None,
        optional(check_nonnegative),
        "utility of a grade; by default 1 for relevant documents",
    )

    def _compute_exposure_ratios(self, judged: JudgedRuns) -> tuple[Rows, Floats, Floats]:
        """Return a row for each cell and side, their exposure ratios, and divisors (topics, sides).

        A side is a group; with a protected group, side 1 is that group and side 0 all others.
        """
        groups = judged.groups(str(self))
        sides = np.arange(len(groups.names))
        if self.protected is not None:
            sides = np.where(sides == find_group_index(groups, self.protected, str(self)), 1, 0)
        rows = replace(groups.rows, grade=sides[groups.rows.grade])
        n_sides = int(sides.max(initial=0)) + 1
        pairs, exposure = sum_by_group(rows, self._weigh_exposure(judged, groups), n_sides)
        group_divisors = self._compute_divisors(judged, groups)
        divisors = np.zeros((len(group_divisors), n_sides))
        np.add.at(divisors.T, sides, group_divisors.T)
        divisors = self._adjust_divisors(divisors)
        exposure_ratio = divide(exposure, divisors[pairs.topic, pairs.grade])
        return pairs, exposure_ratio, divisors

    def _weigh_exposure(self, judged: JudgedRuns, groups: Groups) -> Floats:
        return np.asarray(self.compute_exposure(judged, groups.rows) * groups.rows.gains)

    def _compute_divisors(self, judged: JudgedRuns, groups: Groups) -> Floats:
        """Return the divisor of the exposure of each group, its utility; shape (topics, groups)."""
        return sum_judgments(judged, groups, self._compute_utility(judged.judgments.grade))

    def _adjust_divisors(self, divisors: Floats) -> Floats:
        """Return the divisor of each side, given the sum over its groups."""
        return divisors

    def _compute_utility(self, grades: Ints) -> Floats:
        if self.gains is None:
            return (grades >= self.rel).astype(np.float64)
        return np.where(grades >= self.rel, self.gains.compute_gains(grades), 0.0)

    def values(self, judged: JudgedRuns) -> Floats:
        pairs, exposure_ratio, divisors = self._compute_exposure_ratios(judged)
        has_divisor = (divisors > 0)[pairs.topic, pairs.grade]
        pairs, exposure_ratio = pairs.where(has_divisor), exposure_ratio[has_divisor]
        n_sides = (divisors > 0).sum(axis=1)[:, None]
        max_ratio = pairs.find_maxima(exposure_ratio)
        # Rows have no method for the smallest value: it is the highest minus the largest distance.
        min_ratio = max_ratio - pairs.find_maxima(pairs.at(max_ratio) - exposure_ratio)
        # A side without documents in a ranking has no exposure.
        min_ratio = np.where(pairs.n_rows < n_sides, 0.0, min_ratio)
        return np.where(n_sides > 1, divide(min_ratio, max_ratio), 0.0)


class _LogExposureRatio(_ExposureRatio, source=_LOG_SOURCE, range=(-_INFINITY, _INFINITY)):
    protected: str | None = parameter(None, optional(any_name), _PROTECTED_DOC + "; required")

    def values(self, judged: JudgedRuns) -> Floats:
        find_group_index(judged.groups(str(self)), self.protected, str(self))
        pairs, exposure_ratio, divisors = self._compute_exposure_ratios(judged)
        has_two_sides = (divisors > 0).sum(axis=1)[:, None] == 2
        protected_log, other_log = (
            np.log(pairs.total(exposure_ratio * (pairs.grade == side)) + LOG_OFFSET)
            for side in (1, 0)
        )
        return np.where(has_two_sides, protected_log - other_log, 0.0)


class _DemographicMeasure(_ExposureRatio):
    """Base class of measures of the exposure per document of a group."""

    size: str = parameter(
        "judged",
        choice("judged", "none"),
        "divisor of the exposure of a group: 'judged', its number of judged documents of the"
        " topic; 'none', 1, as in Raj and Ekstrand (2022)",
    )

    def _compute_divisors(self, judged: JudgedRuns, groups: Groups) -> Floats:
        if self.size == "none":
            return np.ones((judged.judgments.n_topics, len(groups.names)))
        return sum_judgments(judged, groups, np.ones(judged.judgments.grade.size))

    def _adjust_divisors(self, divisors: Floats) -> Floats:
        # The divisor of a side is 1 for any number of groups.
        return np.ones(divisors.shape) if self.size == "none" else divisors


class _RealisedUtilityMeasure(_ExposureRatio):
    """Base class of measures of the realised utility of a group, divided by its utility."""

    def _weigh_exposure(self, judged: JudgedRuns, groups: Groups) -> Floats:
        rows, judged_rows = groups.rows, judged.judged()
        positions, is_judged = find_positions(judged_rows.keys, rows.keys)
        utility = np.append(self._compute_utility(judged_rows.grade), 0.0)[positions]
        return super()._weigh_exposure(judged, groups) * np.where(is_judged, utility, 0.0)


@measure(
    "DP",
    summary="Demographic parity: the lowest mean exposure of a group divided by the highest.",
    formula=r"\frac{\min_g DP_g}{\max_g DP_g}, \quad"
    r" DP_g = \frac{1}{n_g} \sum_{d \in g} \varepsilon_d",
    source=_SOURCE,
    elsewhere={"FairRankTune": "EXP with MinMaxRatio"},
)
class DemographicParity(_DemographicMeasure):
    """Demographic parity, regardless of relevance; 1 if all groups have the same mean exposure."""


@measure(
    "EUR",
    summary="Parity of exposure per utility: the lowest of all groups divided by the highest.",
    formula=r"\frac{\min_g EUR_g}{\max_g EUR_g}, \quad"
    r" EUR_g = \frac{\sum_{d \in g} \varepsilon_d}{\sum_{d \in g} u_d}",
    source=_SOURCE + ", disparate treatment",
    elsewhere={"FairRankTune": "EXPU with MinMaxRatio"},
)
class ExposedUtilityRatio(_ExposureRatio):
    """Exposed utility ratio; 1 if groups are exposed in proportion to their utility."""


@measure(
    "RUR",
    summary="Parity of realised utility: the lowest of all groups divided by the highest.",
    formula=r"\frac{\min_g RUR_g}{\max_g RUR_g}, \quad"
    r" RUR_g = \frac{\sum_{d \in g} \varepsilon_d u_d}{\sum_{d \in g} u_d}",
    source=_SOURCE + ", disparate impact",
)
class RealisedUtilityRatio(_RealisedUtilityMeasure):
    """Realised utility ratio; 1 if all groups have the same mean exposure, weighted by utility."""


@measure(
    "logDP",
    summary="Log ratio of the mean exposure of a protected group to that of others; 0 is parity.",
    formula=r"\ln \frac{DP_{protected}}{DP_{others}}",
)
class LogDemographicParity(_LogExposureRatio, _DemographicMeasure):
    """Signed demographic parity: below 0 if the protected group is at a disadvantage."""


@measure(
    "logEUR",
    summary="Log ratio of the exposure per utility of a protected group to others; 0 is parity.",
    formula=r"\ln \frac{EUR_{protected}}{EUR_{others}}",
)
class LogExposedUtilityRatio(_LogExposureRatio):
    """Signed exposed utility ratio: below 0 if the protected group is at a disadvantage."""


@measure(
    "logRUR",
    summary="Log ratio of the realised utility of a protected group to others; 0 is parity.",
    formula=r"\ln \frac{RUR_{protected}}{RUR_{others}}",
)
class LogRealisedUtilityRatio(_LogExposureRatio, _RealisedUtilityMeasure):
    """Signed realised utility ratio: below 0 if the protected group is at a disadvantage."""
