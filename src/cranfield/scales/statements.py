"""Meaningfulness of a comparison: whether its statements hold on every admissible scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import CranfieldError, MeasureError, PolicyError, as_array, check_list
from cranfield.base.scale_types import Scale, format_scale_type
from cranfield.base.text import sanitise
from cranfield.measures import parse_measure
from cranfield.measures.base import Measure
from cranfield.scales.admissible import Dominance, dominance
from cranfield.scales.interval_scaled import Interval
from cranfield.scales.runs import depends_on_topic
from cranfield.significance.comparison.compare import compare
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.registry import CORRECTIONS, TESTS
from cranfield.tabular import align_rows

POWERS = (0.1, 0.5, 2.0, 10.0)
"""Exponents of scores; those below 1 bring high scores closer together, others low scores."""


def invariant_decisions(comparison: PairwiseComparison, powers: Sequence[float] = POWERS) -> Bools:
    r"""Determine which decisions of a test stay the same if scores are raised to powers.

    Parameters
    ----------
    comparison
        Result of :func:`cranfield.compare`.
    powers
        Exponents p above 0. Each score x becomes

        .. math:: x^p, \quad \text{or } (x - \min x)^p \text{ where some score is below 0},

        which is an increasing transformation, and therefore admitted by an ordinal scale.

    Returns
    -------
    array
        Shape (powers, pairs): True if the decision on the pair and its direction stay the same;
        False if not, or if the test cannot be computed with the transformed scores.

    Raises
    ------
    PolicyError
        If `comparison` is not a result of :func:`cranfield.compare`, or a power is not above 0.

    Notes
    -----
    Means that keep their order (:func:`dominance`) need not stay significantly different: the
    t-test and the analysis of variance divide by a spread that depends on the spacing of the
    scores. The decisions of tests that use only the order of scores are the same under every
    increasing transformation of all scores, so that these tests are not repeated. For other tests
    the powers are examples: a decision that is the same for some powers may still change under
    another transformation. Randomised tests use the same random numbers for all powers.

    Source: the definition of a meaningful statement in Ferrante, Ferro and Fuhr (2021), section
    2.4. The choice of powers is our own.

    Examples
    --------
    >>> import cranfield as cf
    >>> a = [0.1, 0.2, 0.3, 0.4, 0.9, 0.5, 0.7]
    >>> comparison = cf.compare({"a": a, "b": [x - 0.05 for x in a]}, test="t")
    >>> comparison.is_significant().tolist()
    [True]
    >>> invariant_decisions(comparison, [1, 2, 10])[:, 0].tolist()
    [True, True, False]
    """
    check_list("powers", powers)
    if not isinstance(comparison, PairwiseComparison):
        kind = type(comparison).__name__
        raise PolicyError(f"expected the result of compare(), got {kind}")
    message = f"powers must be positive numbers, such as [0.5, 2], got {powers!r}"
    exponents = np.atleast_1d(as_array(powers, message))
    if exponents.dtype.kind not in "iuf" or exponents.ndim != 1 or not (exponents > 0).all():
        raise PolicyError(message)
    if comparison.info.scale <= Scale.ORDINAL:
        return np.ones((exponents.size, len(comparison)), dtype=np.bool_)
    decisions = _decide_pairs(comparison)
    values = comparison.scores.values
    nonnegative_values = values - min(np.nanmin(values, initial=0.0), 0.0)
    # The unit does not change decisions, but powers of large scores could overflow without it.
    unit = np.nanmax(nonnegative_values, initial=0.0) or 1.0
    is_same = [
        _repeat_decisions(comparison, (nonnegative_values / unit) ** power) == decisions
        for power in exponents.tolist()
    ]
    return np.array(is_same).reshape(exponents.size, len(comparison))


def _decide_pairs(comparison: PairwiseComparison) -> Floats:
    """Return the direction of significant pairs, and 0 for others."""
    return np.where(comparison.is_significant(), comparison.direction, 0.0)


def _repeat_decisions(comparison: PairwiseComparison, values: Floats) -> Floats:
    try:
        repeated_comparison = compare(
            replace(comparison.scores, values=values),
            test=comparison.test,
            correction=comparison.correction,
            baseline=comparison.baselines or None,
            missing="available" if np.isnan(values).any() else None,
            **comparison.options,
        )
    except CranfieldError:
        return np.full(len(comparison), np.nan)
    return _decide_pairs(repeated_comparison)


MEANINGFUL = "meaningful"
NOT_MEANINGFUL = "not meaningful"
UNKNOWN = "unknown"

MAX_SAMPLES = 2_000_000
"""Maximum number of resamples times pairs for which sensitivity is shown (0.1 s for each power)."""


@dataclass(frozen=True, eq=False, repr=False)
class Meaningfulness:
    """Meaningfulness of the statements of a comparison.

    Attributes
    ----------
    comparison
        The comparison of systems by :func:`cranfield.compare`.
    required_scale
        The scale that the test requires.
    scale
        The scale that the user or else the measure declares; None if unknown.
    depends_on_topic
        Whether the scale depends on the judgments of the topic, so that each topic has its own;
        False for a scale declared by the user.
    depends_on_size
        Whether the measure (such as SetP) is an interval scale only for retrieved sets of one size;
        False for a scale declared by the user.
    verdict
        `meaningful`: the statements stay true, or false, under every transformation that the scale
        admits; `not meaningful`: some admissible transformation may change this; `unknown`: the
        scale is not known.
    dominance
        For each pair, whether the order of means survives every increasing transformation, that
        is, every transformation that an ordinal scale admits.
    """

    comparison: PairwiseComparison
    required_scale: Scale
    scale: Scale | None
    depends_on_topic: bool
    depends_on_size: bool
    verdict: str
    dominance: Dominance

    @property
    def is_declared_by_user(self) -> bool:
        """True if the scale was declared by the user, not by the measure."""
        return self.comparison.scores.scale_source == "user"

    @property
    def n_invariant(self) -> int:
        """Number of significant pairs whose order survives every increasing transformation."""
        return int((self.comparison.is_significant() & self.dominance.holds).sum())

    @cached_property
    def masks_by_power(self) -> Mapping[float, Bools]:
        """Masks of the pairs that stay significant in the same direction, by power of the scores.

        Computing the masks is slow for randomised tests, as the test is repeated for each power;
        see :func:`cranfield.scales.invariant_decisions`.
        """
        is_significant = self.comparison.is_significant()
        masks = invariant_decisions(self.comparison) & is_significant
        return dict(zip(POWERS, masks, strict=True))

    @property
    def first_line(self) -> str:
        """The verdict and its reason."""
        name = sanitise(self.comparison.measure) or "the measure"
        test = self.comparison.info.title
        if self.scale is None:
            return (
                f"unknown: {test} needs {format_scale_type(self.required_scale)}, but the scale"
                f" of {name} is not declared"
            )
        declaration = "declared by the user to be " if self.is_declared_by_user else ""
        if self.verdict == MEANINGFUL:
            return (
                f"meaningful: {test} needs {format_scale_type(self.required_scale)}; {name} is"
                f" {declaration}{format_scale_type(self.scale)}"
            )
        if self.scale >= self.required_scale and self.depends_on_size and not self.depends_on_topic:
            return (
                f"not meaningful: {test} combines scores of retrieved sets of different sizes, but"
                f" {name} is {format_scale_type(self.scale)} only for sets of one size"
            )
        if self.scale >= self.required_scale:
            return (
                f"not meaningful: {test} combines scores of different topics, but {name} depends"
                " on the judgments of the topic, so each topic has its own scale"
            )
        return (
            f"not meaningful: {test} needs {format_scale_type(self.required_scale)}, but {name} is"
            f" {declaration}{format_scale_type(self.scale)}; results of the test may depend on how"
            " scores are spaced"
        )

    def describe_lines(self, *, has_details: bool = True) -> list[str]:
        """Return the verdict and, unless `meaningful`, results on the significant pairs, if any.

        The details are the sensitivity to powers of the scores, and an example of a reversed pair.
        """
        lines, n_significant = [self.first_line], self.comparison.count()
        if n_significant and self.verdict != MEANINGFUL:
            lines.append(describe_order(n_significant, self.n_invariant))
            if has_details:
                lines.append(f"sensitivity: {describe_sensitivity(self)}")
                lines += filter(None, [self._describe_example()])
        return lines

    def _describe_example(self) -> str:
        """Describe the significant pair with the largest difference that can be reversed."""
        comparison = self.comparison
        reversed_pairs = np.flatnonzero(comparison.is_significant() & self.dominance.is_reversed)
        if not reversed_pairs.size:
            return ""
        # Some tests compare mean ranks, whose order may differ from the order of means.
        means = comparison.scores.system_means()
        difference = means[comparison.first] - means[comparison.second]
        k = int(reversed_pairs[np.argmax(np.abs(difference[reversed_pairs]))])
        lower_is_better = comparison.scores.lower_is_better
        first_counts, second_counts = self._n_good_topics
        pair = [(comparison.first[k], first_counts[k]), (comparison.second[k], second_counts[k])]
        if (-difference[k] if lower_is_better else difference[k]) < 0:
            pair.reverse()
        a, b = (sanitise(comparison.systems[system]) for system, _ in pair)
        n_scored = [int(self._n_scored[system]) for system, _ in pair]
        phrase, counts = "on more topics", [str(count) for _, count in pair]
        if n_scored[0] != n_scored[1]:
            phrase = "on a larger proportion of topics"
            counts = [f"{count} of {n}" for count, n in zip(counts, n_scored, strict=True)]
        side = "up to" if lower_is_better else "above"
        return (
            f"for example: {a} has the {'lower, better' if lower_is_better else 'higher'} mean, but"
            f" {b} has scores {side} {self._format_threshold(k)} {phrase}"
            f" ({counts[1]}, {a}: {counts[0]})"
        )

    def _format_threshold(self, k: int) -> str:
        """Format the threshold of a pair, or a number above it that separates the same scores."""
        comparison, threshold = self.comparison, self.dominance.threshold[k]
        pair = [comparison.first[k], comparison.second[k]]
        scores = comparison.scores.average_shards().values[:, pair]
        next_score = scores[scores > threshold].min()
        numbers = threshold, (threshold + next_score) / 2
        # The threshold with 17 digits is exact.
        texts = (f"{number:.{digits}g}" for digits in range(4, 18) for number in numbers)
        return next(text for text in texts if threshold <= float(text) < next_score)

    @cached_property
    def _n_scored(self) -> Indices:
        """Number of topics on which each system has a score."""
        values = self.comparison.scores.values
        has_score = ~np.isnan(values.reshape(*values.shape[:2], -1)).all(axis=2)
        return np.asarray(has_score.sum(axis=0), dtype=np.intp)

    @property
    def _n_good_topics(self) -> tuple[Indices, Indices]:
        """Number of topics with scores above (if lower is better, up to) the threshold, by pair."""
        n_first, n_second = self.dominance.n_above_first, self.dominance.n_above_second
        comparison, n_scored = self.comparison, self._n_scored
        if comparison.scores.lower_is_better:
            n_first = n_scored[comparison.first] - n_first
            n_second = n_scored[comparison.second] - n_second
        return n_first, n_second

    def list_alternatives(self) -> list[str]:
        """Return the tests of the same design that the scale of the measure admits."""
        if self.scale is None:
            return []
        is_paired = self.comparison.info.is_paired
        max_scale = Scale.ORDINAL if self.depends_on_size else self.scale
        return [
            name
            for name, test in TESTS.items()
            if test.info.scale <= max_scale
            and test.info.is_paired == is_paired
            and (test.info.is_within_topics or not self.depends_on_topic)
            and not (test.info.refusal or test.info.shards == "required")
        ]

    def require(self) -> None:
        """Raise a PolicyError unless the comparison is meaningful."""
        if self.verdict == MEANINGFUL:
            return
        name = sanitise(self.comparison.measure) or "the measure"
        alternatives = self.list_alternatives()
        is_below_interval = self.scale is None or self.scale < Scale.INTERVAL
        measure = parse_measure_or_none(self.comparison.measure)
        if is_below_interval and not self.depends_on_topic and _can_be_scaled(measure):
            suffix = "" if measure and measure.cutoff else " with a cutoff"
            alternatives.append(f"the interval-scaled measure interval({name}){suffix}")
        advice = f"; use {' or '.join(alternatives)}" if alternatives else ""
        raise PolicyError(f"{self.first_line}{advice}")

    def to_text(self, limit: int = 20) -> str:
        """Format the verdict and the significant pairs; pairs that may be reversed are first."""
        comparison = self.comparison
        is_significant = comparison.is_significant()
        order = np.argsort(self.dominance.holds[is_significant], kind="stable")
        pairs = np.flatnonzero(is_significant)[order]
        n_good_topics = self._n_good_topics
        rows = []
        for k in pairs[:limit]:
            systems = (comparison.systems[s] for s in (comparison.first[k], comparison.second[k]))
            order_of_means = ["invariant" if self.dominance.holds[k] else "equal", "", "", ""]
            if self.dominance.is_reversed[k]:
                counts = (str(counts[k]) for counts in n_good_topics)
                order_of_means = ["reversed", self._format_threshold(k), *counts]
            rows.append([*systems, f"{comparison.difference[k]:.4f}", *order_of_means])
        side = "up to" if comparison.scores.lower_is_better else "above"
        count_columns = [f"topics {side}: {system}" for system in ("first", "second")]
        header = ["first", "second", "difference", "order of means", "threshold", *count_columns]
        sections = ["\n".join(self.describe_lines())]
        if rows:
            sections.append(align_rows(header, rows, left=(0, 1, 3)))
        if len(pairs) > len(rows):
            sections[-1] += f"\n… {len(pairs) - len(rows):,} more"
        return "\n\n".join(sections)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"Meaningfulness({self.first_line})"


def describe_order(
    n_significant: int,
    n_invariant: int,
    singular: str = "significant pair",
    plural: str = "significant pairs",
) -> str:
    """Describe how many significant pairs keep their order of means under any rescaling."""
    if n_significant == 1:
        opening = f"the {singular} {'keeps' if n_invariant else 'does not keep'} its order"
    else:
        verb = "keeps its" if n_invariant == 1 else "keep their"
        quantifier = "all" if n_invariant == n_significant else f"{n_invariant:,} of"
        opening = f"{quantifier} {n_significant:,} {plural} {verb} order"
    return (
        f"{opening} of means under every increasing transformation of the scores (stochastic"
        " dominance)"
    )


def describe_sensitivity(result: Meaningfulness) -> str:
    """Describe for how many significant pairs the test still rejects with transformed scores."""
    comparison, n_significant = result.comparison, result.comparison.count()
    if result.required_scale <= Scale.ORDINAL:
        return (
            "the decisions of the test are the same under every increasing transformation of"
            " all scores, as the test depends only on the order of the scores"
        )
    is_random = comparison.info.is_random or CORRECTIONS[comparison.correction].is_random
    if is_random and comparison.options["resamples"] * len(comparison) > MAX_SAMPLES:
        return (
            "decisions with transformed scores were not computed, as they require many random"
            " samples"
        )
    masks = result.masks_by_power
    counts = [int(mask.sum()) for mask in masks.values()]
    if n_significant == 1:
        same_powers, changed_powers = (
            ", ".join(f"{p:g}" for p, n in zip(POWERS, counts, strict=True) if n == n_pairs)
            for n_pairs in (1, 0)
        )
        text = f"this pair is {'still' if same_powers else 'not'} significantly different if scores"
        text += f" are raised to the power {same_powers or changed_powers}"
        return f"{text}, but not to {changed_powers}" if same_powers and changed_powers else text
    texts = [f"{n:,} with the power {p:g}" for p, n in zip(POWERS[1:], counts[1:], strict=True)]
    n_all = int(np.logical_and.reduce(list(masks.values())).sum())
    if {*counts} == {n_all}:
        count = {0: "none", n_significant: "all"}.get(n_all, f"{n_all:,}")
        *powers, last_power = (f"{power:g}" for power in POWERS)
        return (
            f"of these {n_significant:,} pairs, {count} {'is' if n_all <= 1 else 'are'} still"
            f" significantly different if scores are raised to the power {', '.join(powers)} or"
            f" {last_power}"
        )
    return (
        f"of these {n_significant:,} pairs, {counts[0]:,} {'is' if counts[0] == 1 else 'are'} still"
        f" significantly different if scores are raised to the power {POWERS[0]:g},"
        f" {', '.join(texts)}, and {n_all:,} with all four powers"
    )


def parse_measure_or_none(name: str) -> Measure | None:
    """Parse the name of a measure; None if it is unknown."""
    try:
        return parse_measure(name)
    except MeasureError:
        return None


def _can_be_scaled(measure: Measure | None) -> bool:
    try:
        return measure is not None and bool(Interval(measure))
    except MeasureError:
        return False


def meaningfulness(comparison: PairwiseComparison) -> Meaningfulness:
    """Determine whether the statements of a comparison are meaningful.

    A statement is meaningful if it stays true, or false, under every transformation that the scale
    of its numbers admits (Ferrante, Ferro and Fuhr 2021, section 2.4). The scale that the test
    requires is compared with the scale that the measure declares. The result also shows for which
    pairs the order of the means survives every increasing transformation of the scores, regardless
    of the declared scale: it survives if, and only if, the scores of one system stochastically
    dominate those of the other.

    Parameters
    ----------
    comparison
        Result of :func:`cranfield.compare`.

    Raises
    ------
    PolicyError
        If `comparison` is not the result of :func:`cranfield.compare`.

    Notes
    -----
    SetP, SetF, SetE and most utilities are interval scales only for retrieved sets of one size, and
    scores do not include the sizes: for these measures, statements that require more than an order
    are not meaningful. Neither the sizes nor the recall base matter for a scale declared by the
    user, see :meth:`cranfield.Scores.with_scale`.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:4], covid.qrels, ["nDCG@20", "interval(RR@5)"])
    >>> meaningfulness(cf.compare(ev["nDCG@20"])).verdict
    'not meaningful'
    >>> meaningfulness(cf.compare(ev["nDCG@20"], test="friedman")).verdict
    'meaningful'
    >>> meaningfulness(cf.compare(ev["interval(RR@5)"])).verdict
    'meaningful'
    """
    if not isinstance(comparison, PairwiseComparison):
        raise PolicyError(f"expected the result of compare(), got {type(comparison).__name__}")
    required_scale = comparison.info.scale
    scale = comparison.measure_scale
    measure = parse_measure_or_none(comparison.measure)
    if scale is None and measure is not None:
        scale = measure.scale
    is_declared = comparison.scores.scale_source == "user"
    is_topic_dependent = not is_declared and measure is not None and differs_by_topic(measure)
    is_size_dependent = not is_declared and measure is not None and measure.needs_one_size
    combines_scales = (is_topic_dependent and not comparison.info.is_within_topics) or (
        is_size_dependent and required_scale > Scale.ORDINAL
    )
    verdict = MEANINGFUL
    if scale is None:
        verdict = UNKNOWN
    elif scale < required_scale or combines_scales:
        verdict = NOT_MEANINGFUL
    pair_dominance = dominance(comparison.scores, comparison.first, comparison.second)
    scales, dependencies = (required_scale, scale), (is_topic_dependent, is_size_dependent)
    return Meaningfulness(comparison, *scales, *dependencies, verdict, pair_dominance)


def differs_by_topic(measure: Measure) -> bool:
    """Return True if the scale of a measure depends on the judgments of the topic."""
    # Interval-scaled ranks and risk depend on the topic if the measure inside does.
    while isinstance(measure, Interval) or measure.info.family == "risk":
        if getattr(measure, "feasible", False):
            # Ranks are computed among the runs that are possible for the topic.
            return True
        measure = getattr(measure, "inner")  # noqa: B009
    try:
        return depends_on_topic(measure)
    except CranfieldError:
        # Other inputs, such as intents and lengths, differ by topic.
        return True
