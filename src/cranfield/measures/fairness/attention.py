r"""Measures of the attention to documents or groups, and exposure models.

A document at rank r has the exposure

==================  =========================================================================
`log2(rank)`        :math:`1 / \log_2 \max(r, 2)`, of the TREC Fair Ranking tracks 2021 and 2022
`log2(rank+1)`      :math:`1 / \log_2 (r + 1)`, of DCG and of Singh and Joachims (2018)
`geometric`         :math:`p^{r-1}`, of RBP
`cascade`           :math:`p^{r-1} (1 - stop)^n` after n relevant documents, of ERR
==================  =========================================================================

Every retrieved document receives attention, whether or not it is judged or belongs to a group.

Equity of attention is attention in proportion to relevance. With the attention :math:`a_d` that a
ranking gives and the relevance :math:`\rho_d`, each summing to 1 over a topic (Biega, Gummadi and
Weikum 2018),

.. math:: IAA = \sum_d | a_d - \rho_d |

The source sums attention and relevance over many rankings before comparing them, so that rankings
can compensate each other, as does :func:`cranfield.equity_of_attention`. The mean of IAA over
topics compares each ranking separately.

Attention-weighted rank fairness compares groups with a target. With the exposure
:math:`\varepsilon_r` of rank r, the weight :math:`a_{dg}` of document d in group g, and a target
distribution :math:`\tau` over the groups,

.. math:: AWRF = 1 - JS(\varepsilon \,\|\, \tau), \quad
    \varepsilon_g = \frac{\sum_r \varepsilon_r a_{d_r g}}{\sum_{r, h} \varepsilon_r a_{d_r h}}

where JS is the Jensen-Shannon divergence, as in the TREC Fair Ranking tracks 2021 and 2022, after
Sapiezynski and others (2019).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError, quote
from cranfield.base.spec import (
    OPEN_PROBABILITY,
    PROBABILITY,
    NamedWeights,
    choice,
    named_weights,
    optional,
    parameter,
)
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Groups, Rows, divide
from cranfield.measures.base import measure
from cranfield.measures.gains import GAINS_DOC, LINEAR_GAIN, Gain, check_nonnegative, sum_by_topic
from cranfield.measures.ranked.precision import RelevanceMeasure

EXPOSURE_MODELS = ("log2(rank)", "log2(rank+1)", "geometric", "cascade")
BROWSING_DOC = "how attention decreases with rank: " + ", ".join(map(repr, EXPOSURE_MODELS))


class ExposureMeasure(RelevanceMeasure, family="fairness"):
    """Base class of measures of exposure by a browsing model."""

    browsing: str = parameter("log2(rank)", choice(*EXPOSURE_MODELS), BROWSING_DOC)
    p: float = parameter(
        0.5,
        OPEN_PROBABILITY,
        "persistence: probability of continuing to the next document (geometric, cascade)",
    )
    stop: float = parameter(
        0.5,
        PROBABILITY,
        "probability that a relevant document satisfies a user, who then stops (cascade)",
    )

    def compute_weights(self, ranks: Floats | Ints) -> Floats:
        """Compute the attention that users who are not yet satisfied pay to each rank."""
        if self.browsing == "log2(rank)":
            return np.asarray(1.0 / np.log2(np.maximum(ranks, 2)))
        if self.browsing == "log2(rank+1)":
            return np.asarray(1.0 / np.log2(ranks + 1.0))
        return np.asarray(self.p ** (ranks - 1.0), dtype=np.float64)

    def compute_exposure(self, judged: JudgedRuns, rows: Rows) -> Floats:
        """Return the exposure of each row."""
        weights = rows.map_ranks(self.compute_weights)
        if self.browsing != "cascade":
            return weights
        keys = judged.relevant(self.rel).keys
        n_above = np.searchsorted(keys, rows.keys)
        n_above -= np.searchsorted(keys, rows.cell << 32)
        return np.asarray(weights * (1.0 - self.stop) ** n_above)

    def sum_exposure(self, judged: JudgedRuns, power: int = 1) -> Floats:
        """Sum the exposures, raised to a power, over each ranking; shape (topics, systems)."""
        depth = int(judged.n_retrieved.max(initial=0))
        weights = self.compute_weights(np.arange(1, depth + 1)) ** power
        cumulative_weights = np.concatenate(([0.0], np.cumsum(weights)))
        sums = np.asarray(cumulative_weights[judged.n_retrieved])
        if self.browsing != "cascade":
            return sums
        # Each relevant document multiplies the weights of all ranks below by the same factor.
        hits = judged.relevant(self.rel)
        factor = (1.0 - self.stop) ** power
        decrease = factor ** (hits.row_numbers - 1.0) - factor ** (hits.row_numbers * 1.0)
        return sums - hits.total(decrease * (hits.at(sums) - cumulative_weights[hits.rank]))

    def sum_exposure_by_group(self, judged: JudgedRuns) -> tuple[Rows, Floats]:
        """Sum exposure by group in each ranking; the result is that of :func:`sum_by_group`."""
        groups = judged.groups(str(self))
        exposure = self.compute_exposure(judged, groups.rows) * groups.rows.gains
        return sum_by_group(groups.rows, exposure, len(groups.names))


def sum_by_group(rows: Rows, values: Floats, n_groups: int) -> tuple[Rows, Floats]:
    """Sum values by cell and group; return rows with the group as grade, and their sums."""
    keys, positions = np.unique(rows.cell * n_groups + rows.grade, return_inverse=True)
    sums: Floats = np.bincount(positions, weights=values, minlength=keys.size).astype(np.float64)
    pairs = Rows(keys // n_groups, np.zeros_like(keys), keys % n_groups, rows.shape)
    return pairs, sums


def sum_judgments(judged: JudgedRuns, groups: Groups, values: Floats) -> Floats:
    """Sum values of judgments by group, weighted by membership; shape (topics, groups)."""
    n_groups = len(groups.names)
    judgments = judged.judgments
    is_judged = judgments.grade[groups.judgment] >= judgments.judged_from
    keys = judgments.topic[groups.judgment] * n_groups + groups.group
    sums = np.bincount(
        keys,
        weights=np.where(is_judged, groups.weight * values[groups.judgment], 0.0),
        minlength=judgments.n_topics * n_groups,
    )
    return sums.reshape(judgments.n_topics, n_groups).astype(np.float64)


def find_group_index(groups: Groups, group: str | None, name: str) -> int:
    """Return the index of a group; `name` is the name of the measure, for messages."""
    choices = f"one of: {', '.join(map(quote, groups.names[:10]))}"
    choices += ", …" if len(groups.names) > 10 else ""
    if group is None:
        raise MeasureError(f"{name} requires protected='GROUP', {choices}")
    if group not in groups.names:
        raise MeasureError(f"{name}: unknown group {quote(group)}; expected {choices}")
    return groups.names.index(group)


@measure(
    "IAA",
    summary="Distance between the distribution of attention and that of relevance.",
    formula=r"\sum_d \left| \frac{\varepsilon_d}{\sum_{d'} \varepsilon_{d'}}"
    r" - \frac{g_d}{\sum_{d'} g_{d'}} \right|",
    source="Biega, Gummadi and Weikum (2018), for one ranking",
    range=(0.0, 2.0),
    lower_is_better=True,
    needs="graded or binary judgments; groups of documents for by='group'",
    scale_note="not known to be on an interval scale",
    beyond_grades="which documents are retrieved",
)
class InequityOfAttention(ExposureMeasure):
    """Inequity of attention; 0 is fair. The score of a topic without relevant documents is 0, too.

    The sum is over all documents of the topic, also those that are relevant but not retrieved, or
    retrieved but not relevant or not judged. For groups, the distributions of attention and
    relevance include only documents with a group. An empty ranking scores 1.

    FairRankTune 0.0.7 (`IAA`) compares sums of attention and relevance that are not normalised.
    """

    gains: Gain = parameter(LINEAR_GAIN, check_nonnegative, GAINS_DOC + ", compared with attention")
    by: str = parameter(
        "document", choice("document", "group"), "unit of attention: 'document' or 'group'"
    )

    def values(self, judged: JudgedRuns) -> Floats:
        if self.by == "group":
            rows, attention, relevance = self.compute_group_proportions(judged)
            has_documents = rows.total(attention) > 0
            has_relevance = self._compute_group_relevance(judged).sum(axis=1)[:, None] > 0
        else:
            gains = self.compute_judgment_gains(judged)
            total_gain = sum_by_topic(judged.judgments, gains)
            rows = judged.relevant(self.rel)
            rows = rows.where(gains[rows.judgment] > 0)
            attention = divide(
                self.compute_exposure(judged, rows), rows.at(self.sum_exposure(judged))
            )
            relevance = divide(gains[rows.judgment], total_gain[rows.topic, 0])
            has_documents, has_relevance = judged.n_retrieved > 0, total_gain > 0
        # Documents and groups without a row have either attention or relevance, but not both.
        missing_attention = np.where(has_documents, 1.0 - rows.total(attention), 0.0)
        missing_relevance = 1.0 - rows.total(relevance)
        distance = rows.total(np.abs(attention - relevance)) + missing_attention + missing_relevance
        return np.where(has_relevance, np.clip(distance, 0.0, 2.0), 0.0)

    def compute_group_proportions(self, judged: JudgedRuns) -> tuple[Rows, Floats, Floats]:
        """Return the proportions of attention and of relevance of the groups of each ranking."""
        rows, exposure = self.sum_exposure_by_group(judged)
        attention = divide(exposure, rows.at(rows.total(exposure)))
        return rows, attention, self._compute_group_relevance(judged)[rows.topic, rows.grade]

    def _compute_group_relevance(self, judged: JudgedRuns) -> Floats:
        """Return the proportion of relevance of each group; shape (topics, groups)."""
        relevance = sum_judgments(
            judged, judged.groups(str(self)), self.compute_judgment_gains(judged)
        )
        return divide(relevance, relevance.sum(axis=1, keepdims=True))

    def compute_judgment_gains(self, judged: JudgedRuns) -> Floats:
        """Return the gain of each judgment; 0 below the lowest relevant grade."""
        grades = judged.judgments.grade
        is_relevant = grades >= max(self.rel, judged.judgments.judged_from)
        return np.where(is_relevant, self.gains.compute_gains(grades), 0.0)


_TARGETS = ("relevant", "judged", "equal")

TARGET_DOC = (
    "target distribution of groups: 'relevant' or 'judged', that of the relevant or all judged"
    " documents of the topic; 'equal', equal proportions; or a mapping of groups to proportions"
)


def check_target_distribution(value: Any) -> str | NamedWeights:
    if not isinstance(value, str):
        return named_weights(value)
    if value not in _TARGETS:
        raise ValueError(f"one of {', '.join(map(repr, _TARGETS))}, or {{group: proportion}}")
    return value


def compute_target_distribution(
    judged: JudgedRuns, groups: Groups, target: str | NamedWeights, rel: int, name: str
) -> Floats:
    """Compute the target distribution of each topic; shape (topics, groups)."""
    shape = judged.judgments.n_topics, len(groups.names)
    if isinstance(target, NamedWeights):
        return np.broadcast_to(_fix_distribution(target, groups, name), shape)
    if target == "equal":
        return np.full(shape, 1.0 / len(groups.names))
    min_grade = rel if target == "relevant" else judged.judgments.judged_from
    counts = sum_judgments(judged, groups, (judged.judgments.grade >= min_grade).astype(np.float64))
    return divide(counts, counts.sum(axis=1, keepdims=True))


def _fix_distribution(target: NamedWeights, groups: Groups, name: str) -> Floats:
    for group, _ in target.pairs:
        # Refuses unknown groups.
        find_group_index(groups, group, name)
    return np.array(target.compute_proportions(groups.names))


@measure(
    "AWRF",
    summary="Similarity of the distribution of attention over groups to a target distribution.",
    formula=r"1 - JS(\varepsilon \,\|\, \tau), \quad"
    r" \varepsilon_g \propto \sum_r \varepsilon_r a_{d_r g}",
    source="Sapiezynski and others (2019); as in Ekstrand and others (2021)",
    inputs=("groups",),
    needs="groups of documents",
    scale_note="not known to be on an interval scale, as it is a divergence of distributions",
    elsewhere={"TREC Fair Ranking 2021, 2022": "AWRF of task 1"},
)
class AttentionWeightedRankFairness(ExposureMeasure):
    """AWRF; 1 if exposure matches the target.

    Documents without a known group receive attention, but are excluded from the distributions. The
    score is 0 if no retrieved document has a group, or if the target is empty, such as, without a
    `population`, on a topic whose relevant documents have no group.

    The TREC Fair Ranking tracks use the natural logarithm, with which the lowest score is
    1 - ln 2 = 0.307; with `base='2'` it is 0. The target of the tracks is the mean of the
    distribution of relevant documents and a `population`, or the population alone if no relevant
    document has a group. Sapiezynski and others use a test in place of a divergence.
    """

    target: str | NamedWeights = parameter("relevant", check_target_distribution, TARGET_DOC)
    population: NamedWeights | None = parameter(
        None, optional(named_weights), "proportions of groups; the target is averaged with them"
    )
    base: str = parameter("e", choice("e", "2"), "base of the logarithm: 'e' or '2'")

    def values(self, judged: JudgedRuns) -> Floats:
        groups = judged.groups(str(self))
        target = self._mix_target(judged, groups)
        pairs, exposure = self.sum_exposure_by_group(judged)
        is_exposed = exposure > 0
        pairs, exposure = pairs.where(is_exposed), exposure[is_exposed]
        total_exposure = pairs.total(exposure)
        attention = exposure / pairs.at(total_exposure)
        row_target = target[pairs.topic, pairs.grade]
        mixture = (attention + row_target) / 2
        terms = attention * np.log(attention / mixture)
        has_target = row_target > 0
        logs = np.log(row_target[has_target] / mixture[has_target])
        terms[has_target] += row_target[has_target] * logs
        # A group without exposure adds ln 2 times its target.
        unexposed_target = target.sum(axis=1)[:, None] - pairs.total(row_target)
        divergence = (pairs.total(terms) + unexposed_target * np.log(2.0)) / 2
        divisor = np.log(2.0) if self.base == "2" else 1.0
        is_defined = (total_exposure > 0) & (target.sum(axis=1) > 0)[:, None]
        return np.where(is_defined, np.clip(1.0 - divergence / divisor, 0.0, 1.0), 0.0)

    def _mix_target(self, judged: JudgedRuns, groups: Groups) -> Floats:
        """Average the target of each topic with the population; shape (topics, groups)."""
        target = compute_target_distribution(judged, groups, self.target, self.rel, str(self))
        if self.population is None:
            return target
        mixed_target = target + _fix_distribution(self.population, groups, str(self))
        return divide(mixed_target, mixed_target.sum(axis=1, keepdims=True))
