r"""Measures of exposure: by relevance, or at parity between groups.

The target exposure :math:`\varepsilon^*` is that of a policy that ranks by relevance and orders
documents of equal grade at random: a grade with m documents, below b better ones, shares the
exposure of the ranks b + 1 to b + m. Of the exposure :math:`\varepsilon` of a ranking (Diaz and
others 2020),

.. math:: EE\text{-}L = \|\varepsilon - \varepsilon^*\|^2
    = \underbrace{\|\varepsilon\|^2}_{EE\text{-}D}
    - 2 \underbrace{\varepsilon^T \varepsilon^*}_{EE\text{-}R} + \|\varepsilon^*\|^2

over documents, or over groups of documents, whose exposure is the sum of that of their documents.
The measures score one ranking of a topic: for a policy that draws rankings at random they score
each draw, not the expectation, which has to be taken before the square, as
:func:`cranfield.expected_exposure` does.

With the exposure :math:`\varepsilon_d` and the utility :math:`u_d` of document d (Singh and
Joachims 2018), each group g has

.. math:: DP_g = \frac{1}{n_g} \sum_{d \in g} \varepsilon_d, \quad
    EUR_g = \frac{\sum_{d \in g} \varepsilon_d}{\sum_{d \in g} u_d}, \quad
    RUR_g = \frac{\sum_{d \in g} \varepsilon_d u_d}{\sum_{d \in g} u_d}

demographic parity, disparate treatment (exposed utility) and disparate impact (realised utility).
`DP`, `EUR` and `RUR` are the lowest of the groups over the highest, from 0 to 1, where 1 is parity;
`logDP`, `logEUR` and `logRUR` (Raj and Ekstrand 2022) are the logarithm of a protected group's over
that of all other documents with a group, where 0 is parity, and less is to its disadvantage.

Documents without a known group are in no group, but take their ranks. A group without documents,
or without utility, in the judgments of a topic is excluded. Where fewer than two remain, the
score is 0. A millionth is added to both sides before logarithms are taken, so that a side without
exposure has a finite score.
"""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.spec import choice, name, optional, parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Groups, Judgments, Rows, places_in, ratio
from cranfield.measures.base import measure
from cranfield.measures.fairness.attention import (
    BROWSING_DOC,
    MODELS,
    Exposing,
    group_index,
    sum_by_group,
    sum_judged,
)
from cranfield.measures.gains import Gain, nonnegative_gains

_INFINITY = float("inf")


class ExpectedExposure(
    Exposing,
    needs="graded or binary judgments; groups of documents for by='group'",
    scale_note="not known to be interval",
    range=(0.0, _INFINITY),
    beyond_grades="which documents they are",
):
    """Base class of measures of expected exposure."""

    browsing: str = parameter(
        "geometric",
        choice("geometric", "cascade"),
        "how attention decreases with rank: 'geometric' as in RBP, 'cascade' as in ERR",
    )
    by: str = parameter(
        "document", choice("document", "group"), "whether documents or groups are exposed"
    )
    corpus: str = parameter(
        "judged",
        choice("judged", "open"),
        (
            "how the ideal distributes the remaining exposure: 'judged', equally over the"
            " documents judged not relevant (as in the authors' program); 'open', over"
            " infinitely many documents, so that the share of each is 0"
        ),
    )

    def _products(self, judged: JudgedRuns) -> tuple[Floats, Floats, Floats]:
        """Compute the products of exposure with itself, with the target, and of the target alone.

        The first two have the shape (topics, systems), the last (topics, 1).
        """
        judgments, target = judged.judgments, self.targets(judged.judgments)
        if self.by == "group":
            rows, exposed = self.by_group(judged)
            target = sum_judged(judged, judged.groups(str(self)), target)
            relevance = rows.total(exposed * target[rows.topic, rows.grade])
            return rows.total(exposed**2), relevance, (target**2).sum(axis=1)[:, None]
        rows = judged.judged()
        relevance = rows.total(self.exposure(judged, rows) * target[rows.judgment])
        squares = np.bincount(judgments.topic, target**2, minlength=judgments.topics)
        return self.total(judged, 2), relevance, squares[:, None].astype(np.float64)

    def products(self, judged: JudgedRuns) -> tuple[Floats, Floats, Floats]:
        key = (
            "expected exposure",
            self.rel,
            self.browsing,
            self.p,
            self.stop,
            self.by,
            self.corpus,
        )
        return judged.view(key, lambda: self._products(judged))

    def targets(self, judgments: Judgments) -> Floats:
        """Return the target exposure of each judged document."""
        counts = judgments.grade >= judgments.judged_from
        # All grades that are not relevant are one level.
        level = np.where(judgments.grade >= self.rel, judgments.grade, self.rel - 1)
        continuation = 1.0 - self.stop if self.browsing == "cascade" else 1.0
        out = np.zeros(level.size)
        for grade in np.unique(level):
            is_level = (level == grade) & counts
            size = np.bincount(judgments.topic[is_level], minlength=judgments.topics)
            better = judgments.count(int(grade) + 1)[:, 0]
            if grade >= self.rel:
                fall = self.p * continuation
                first = fall**better
            elif self.corpus == "open":
                continue
            else:
                fall = self.p
                first = (continuation * self.p) ** better
            mean_exposure = ratio(first * (1.0 - fall**size), size * (1.0 - fall))
            out[is_level] = mean_exposure[judgments.topic[is_level]]
        return out


@measure(
    "EEL",
    summary=(
        "Squared distance between the exposure of documents, or groups, and their target exposure."
    ),
    formula=r"\|\varepsilon - \varepsilon^*\|^2",
    source="Diaz and others (2020)",
    lower_is_better=True,
    elsewhere={"TREC Fair Ranking 2019, 2020": "difference of expeval"},
)
class ExpectedExposureLoss(ExpectedExposure):
    """EE-L, the loss; 0 is fair. A single ranking only reaches 0 where grades leave no choice."""

    def values(self, judged: JudgedRuns) -> Floats:
        disparity, relevance, norm = self.products(judged)
        return np.maximum(disparity - 2 * relevance + norm, 0.0)


@measure(
    "EED",
    summary="Inequality of the exposure of documents, or groups, regardless of relevance.",
    formula=r"\|\varepsilon\|^2",
    source="Diaz and others (2020)",
    lower_is_better=True,
    elsewhere={"TREC Fair Ranking 2019, 2020": "disparity of expeval"},
)
class ExpectedExposureDisparity(ExpectedExposure):
    """EE-D, the disparity.

    Without groups, that of a single ranking depends only on its length and, with cascade browsing,
    on the ranks of relevant documents.
    """

    def values(self, judged: JudgedRuns) -> Floats:
        return self.products(judged)[0].copy()


@measure(
    "EER",
    summary="Agreement of the exposure of documents, or groups, with their target exposure.",
    formula=r"\varepsilon^T \varepsilon^*",
    source="Diaz and others (2020), without the factor 2 as in expeval",
    elsewhere={"TREC Fair Ranking 2019, 2020": "relevance of expeval"},
)
class ExpectedExposureRelevance(ExpectedExposure):
    """EE-R, the relevance."""

    def values(self, judged: JudgedRuns) -> Floats:
        return self.products(judged)[1].copy()


TRACE = 1e-6
"""Added to arguments of logarithms, as in the program of Raj and Ekstrand (2022)."""

_PROTECTED_DOC = "group that is compared with all other documents that have a group"
_SOURCE = "Singh and Joachims (2018)"
_LOG_SOURCE = "Raj and Ekstrand (2022), after Singh and Joachims (2018)"


class _Ratio(
    Exposing,
    inputs=("groups",),
    needs="groups of documents",
    scale_note="not known to be interval: a ratio",
):
    """Base class of measures of parity of exposure: the lowest value over the highest."""

    protected: str | None = parameter(
        None, optional(name), _PROTECTED_DOC + "; by default all groups are compared"
    )
    browsing: str = parameter("log2(rank+1)", choice(*MODELS), BROWSING_DOC)
    gains: Gain | None = parameter(
        None, optional(nonnegative_gains), "utility of a grade; by default 1 of relevant documents"
    )

    def _sides(self, groups: Groups) -> Ints:
        """Return the side of each group: its index, or 1 if it is protected and 0 if not."""
        number = len(groups.names)
        if self.protected is None:
            return np.arange(number)
        protected = group_index(groups, self.protected, str(self))
        return np.where(np.arange(number) == protected, 1, 0)

    def _values(self, judged: JudgedRuns, sides: Ints) -> tuple[Rows, Floats, Floats]:
        """Return rows of cell and side, their exposure per unit, and the units (topics, sides)."""
        groups = judged.groups(str(self))
        members = groups.rows
        rows = Rows(members.cell, members.rank, sides[members.grade], members.shape, members.gains)
        number = int(sides.max(initial=0)) + 1
        pairs, exposed = sum_by_group(rows, self._weigh_exposure(judged, groups), number)
        by_group = self._units(judged, groups)
        units = np.zeros((by_group.shape[0], number))
        np.add.at(units.T, sides, by_group.T)
        units = self._side_units(units)
        per_unit = ratio(exposed, units[pairs.topic, pairs.grade])
        return pairs, per_unit, units

    def _weigh_exposure(self, judged: JudgedRuns, groups: Groups) -> Floats:
        return np.asarray(self.exposure(judged, groups.rows) * groups.rows.gains)

    def _units(self, judged: JudgedRuns, groups: Groups) -> Floats:
        """Return the utility of each group in the judgments; shape (topics, groups)."""
        return sum_judged(judged, groups, self._utility(judged.judgments.grade))

    def _side_units(self, units: Floats) -> Floats:
        """Return the units of each side, from the sum over its groups."""
        return units

    def _utility(self, grades: Ints) -> Floats:
        if self.gains is None:
            return (grades >= self.rel).astype(np.float64)
        return np.where(grades >= self.rel, self.gains.for_grades(grades), 0.0)

    def values(self, judged: JudgedRuns) -> Floats:
        pairs, per_unit, units = self._values(judged, self._sides(judged.groups(str(self))))
        has_units = (units > 0)[pairs.topic, pairs.grade]
        pairs, per_unit = pairs.where(has_units), per_unit[has_units]
        n_sides = (units > 0).sum(axis=1)[:, None]
        highest = pairs.largest(per_unit)
        # The minimum is the highest value minus the largest distance from it.
        lowest = highest - pairs.largest(pairs.at(highest) - per_unit)
        # A side without documents in a ranking has no exposure.
        lowest = np.where(pairs.count < n_sides, 0.0, lowest)
        return np.where(n_sides > 1, ratio(lowest, highest), 0.0)


class _LogRatio(_Ratio, source=_LOG_SOURCE, range=(-_INFINITY, _INFINITY)):
    """Base class of the logarithmic measures of parity of exposure."""

    protected: str | None = parameter(None, optional(name), _PROTECTED_DOC + "; required")

    def values(self, judged: JudgedRuns) -> Floats:
        groups = judged.groups(str(self))
        group_index(groups, self.protected, str(self))
        pairs, per_unit, units = self._values(judged, self._sides(groups))
        has_both = (units > 0).sum(axis=1)[:, None] == 2
        sides = [np.log(pairs.total(per_unit * (pairs.grade == side)) + TRACE) for side in (1, 0)]
        return np.where(has_both, sides[0] - sides[1], 0.0)


class _Demographic(_Ratio):
    """Exposure per document of the group."""

    size: str = parameter(
        "judged",
        choice("judged", "none"),
        (
            "divisor of the exposure of a group: its number of judged documents of the topic"
            " ('judged'), or 1 ('none'), as in Raj and Ekstrand (2022)"
        ),
    )

    def _units(self, judged: JudgedRuns, groups: Groups) -> Floats:
        if self.size == "none":
            return np.ones((judged.judgments.topics, len(groups.names)))
        return sum_judged(judged, groups, np.ones(judged.judgments.grade.size))

    def _side_units(self, units: Floats) -> Floats:
        # A side counts as one unit, however many groups are on it.
        return np.ones(units.shape) if self.size == "none" else units


class _Realised(_Ratio):
    """Exposure of relevant documents, by the utility of the group."""

    def _weigh_exposure(self, judged: JudgedRuns, groups: Groups) -> Floats:
        rows, judged_rows = groups.rows, judged.judged()
        positions, is_judged = places_in(
            *(table.cell << 32 | table.rank for table in (judged_rows, rows))
        )
        utility = np.zeros(is_judged.size)
        utility[is_judged] = self._utility(judged_rows.grade)[positions[is_judged]]
        return super()._weigh_exposure(judged, groups) * utility


@measure(
    "DP",
    summary="Demographic parity: lowest exposure of a group over the highest.",
    formula=r"\frac{\min_g DP_g}{\max_g DP_g}, \quad"
    r" DP_g = \frac{1}{n_g} \sum_{d \in g} \varepsilon_d",
    source=_SOURCE,
    elsewhere={"FairRankTune": "EXP with MinMaxRatio"},
)
class DemographicParity(_Demographic):
    """Demographic parity, regardless of relevance; 1 where documents of all groups get the same."""


@measure(
    "EUR",
    summary="Parity of exposure by relevance: lowest of a group over the highest.",
    formula=r"\frac{\min_g EUR_g}{\max_g EUR_g}, \quad"
    r" EUR_g = \frac{\sum_{d \in g} \varepsilon_d}{\sum_{d \in g} u_d}",
    source=_SOURCE + ", disparate treatment",
    elsewhere={"FairRankTune": "EXPU with MinMaxRatio"},
)
class ExposedUtilityRatio(_Ratio):
    """Exposed utility ratio; 1 where groups are exposed in proportion to their relevance."""


@measure(
    "RUR",
    summary="Parity of exposed relevance by relevance: lowest of a group over the highest.",
    formula=r"\frac{\min_g RUR_g}{\max_g RUR_g}, \quad"
    r" RUR_g = \frac{\sum_{d \in g} \varepsilon_d u_d}{\sum_{d \in g} u_d}",
    source=_SOURCE + ", disparate impact",
)
class RealisedUtilityRatio(_Realised):
    """Realised utility ratio; 1 where relevant documents of all groups have the same exposure."""


@measure(
    "logDP",
    summary="Logarithm of a protected group's exposure over that of others; 0 is parity.",
    formula=r"\ln \frac{DP_{protected}}{DP_{others}}",
)
class LogDemographicParity(_LogRatio, _Demographic):
    """Demographic parity with a sign: below 0 to the disadvantage of the protected group."""


@measure(
    "logEUR",
    summary="Logarithm of a protected group's exposure by relevance over others'; 0 is parity.",
    formula=r"\ln \frac{EUR_{protected}}{EUR_{others}}",
)
class LogExposedUtilityRatio(_LogRatio):
    """Exposed utility ratio with a sign: below 0 to the disadvantage of the protected group."""


@measure(
    "logRUR",
    summary="Logarithm of a protected group's realised utility over others'; 0 is parity.",
    formula=r"\ln \frac{RUR_{protected}}{RUR_{others}}",
)
class LogRealisedUtilityRatio(_LogRatio, _Realised):
    """Realised utility ratio with a sign: below 0 to the disadvantage of the protected group."""
