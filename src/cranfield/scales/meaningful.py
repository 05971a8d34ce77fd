"""Whether what a comparison says is meaningful: it holds on every admissible scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import CranfieldError, MeasureError, PolicyError, as_array, check_several
from cranfield.base.scale_types import Scale, a_scale
from cranfield.base.text import counted, plain
from cranfield.measures import parse_measure
from cranfield.measures.base import Measure
from cranfield.scales.admissible import Dominance, dominance
from cranfield.scales.interval_scaled import Interval
from cranfield.scales.runs import depends_on_topic
from cranfield.significance.comparison.compare import compare
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.corrections.correction import CORRECTIONS
from cranfield.significance.pairwise.test import TESTS
from cranfield.tabular import text_table

POWERS = (0.1, 0.5, 2.0, 10.0)
"""Exponents that are tried: the lower draw high scores together, the higher low ones."""


def decisions_kept(comparison: PairwiseComparison, powers: Sequence[float] = POWERS) -> Bools:
    r"""Decide again with powers of the scores: is each decision of the test the same?

    Parameters
    ----------
    comparison
        What :func:`cranfield.compare` returns.
    powers
        Exponents p above 0. Each score x becomes

        .. math:: x^p, \quad \text{or } (x - \min x)^p \text{ where some score is below 0},

        which is an increasing transformation, and so admitted by an ordinal scale.

    Returns
    -------
    array
        Shape (powers, pairs): whether the pair is called different as it was, and if so in the same
        direction; or is not, as it was not. Where a test cannot be done with such scores it is not.

    Raises
    ------
    PolicyError
        For what is no comparison, and for powers that are not above 0.

    Notes
    -----
    That means keep their order (:func:`dominance`) does not make a difference significant: the
    t-test and the analysis of variance weigh it by a spread that changes with the spacing. Tests
    by the order of scores alone decide the same under every increasing transformation of all
    scores, and nothing is computed for them. For others these are examples: a decision that holds
    for some powers may still change under another transformation. Random tests draw the same
    numbers again.

    Source: the definition of a meaningful statement in Ferrante, Ferro and Fuhr (2021), section
    2.4; the powers are our choice.

    Examples
    --------
    >>> import cranfield as cf
    >>> a = [0.1, 0.2, 0.3, 0.4, 0.9, 0.5, 0.7]
    >>> found = cf.compare({"a": a, "b": [x - 0.05 for x in a]}, test="t")
    >>> found.is_significant().tolist(), decisions_kept(found, [1, 2, 10])[:, 0].tolist()
    ([True], [True, True, False])
    """
    check_several("powers", powers)
    if not isinstance(comparison, PairwiseComparison):
        kind = type(comparison).__name__
        raise PolicyError(f"decisions_kept takes what compare() returns, not {kind}")
    wrong = "powers are numbers above 0, such as [0.5, 2]"
    exponents = np.atleast_1d(as_array(powers, wrong))
    if exponents.dtype.kind not in "iuf" or exponents.ndim != 1 or not (exponents > 0).all():
        raise PolicyError(wrong)
    if comparison.info.scale <= Scale.ORDINAL:
        return np.ones((exponents.size, len(comparison)), dtype=np.bool_)
    before = _decided(comparison)
    values = comparison.scores.values
    shifted = values - min(np.nanmin(values, initial=0.0), 0.0)
    # A unit is no matter, and large scores have no large powers.
    unit = np.nanmax(shifted, initial=0.0) or 1.0
    again = [_again(comparison, (shifted / unit) ** power) for power in exponents.tolist()]
    return np.array([one == before for one in again]).reshape(exponents.size, len(comparison))


def _decided(comparison: PairwiseComparison) -> Floats:
    """1 or -1 for a pair that differs, by the higher one, and 0 for others."""
    sign = np.where(comparison.is_significant(), np.sign(comparison.difference), 0.0)
    # Different without a difference of means is a decision, too.
    return np.asarray(np.where(comparison.is_significant() & (sign == 0), 2.0, sign))


def _again(comparison: PairwiseComparison, values: Floats) -> Floats:
    try:
        found = compare(
            replace(comparison.scores, values=values),
            test=comparison.test,
            correction=comparison.correction,
            baseline=comparison.baselines or None,
            missing="available" if np.isnan(values).any() else None,
            **comparison.options,
        )
    except CranfieldError:
        return np.full(len(comparison), np.nan)
    return _decided(found)


MEANINGFUL = "meaningful"
NOT_INVARIANT = "not invariant"
UNKNOWN = "unknown"

SOON = 2_000_000
"""Random samples times pairs that are drawn again for a line of text; some 0.1 s a power."""


@dataclass(frozen=True, eq=False, repr=False)
class Meaning:
    """What may be said of a comparison.

    Attributes
    ----------
    comparison
        What was compared.
    needs, has
        The scale that the test, or a statement on means, takes for granted, and the one that the
        measure declares; None where it is not known.
    by_topic
        Whether the scale depends on the recall base, so that topics are on scales of their own.
    by_size
        Whether it is an interval scale for retrieved sets of one size only, as SetP is.
    verdict
        `meaningful`: the statement keeps its truth under every transformation that the scale
        admits; `not invariant`: some admissible transformation may change it; `unknown`.
    dominance
        For each pair, whether the order of means survives every increasing transformation, which
        is the freedom that an ordinal scale leaves.
    """

    comparison: PairwiseComparison
    needs: Scale
    has: Scale | None
    by_topic: bool
    by_size: bool
    verdict: str
    dominance: Dominance

    @property
    def by_user(self) -> bool:
        """Whether the user declared the scale, instead of the measure."""
        return self.comparison.scores.scale_source == "user"

    @property
    def holds(self) -> int:
        """Pairs found to differ whose order survives every increasing transformation."""
        return int((self.comparison.is_significant() & self.dominance.holds).sum())

    @cached_property
    def kept(self) -> Mapping[float, Bools]:
        """Of each pair, by power p: whether it differs, and still does for x^p, in the same order.

        See :func:`cranfield.scales.decisions_kept`, which a test that draws random numbers may make
        slow: it is done anew for each power.
        """
        star = self.comparison.is_significant()
        return dict(zip(POWERS, decisions_kept(self.comparison) & star, strict=True))

    @property
    def first_line(self) -> str:
        """The verdict, and why."""
        name = plain(self.comparison.measure) or "the measure"
        test = self.comparison.info.title
        if self.has is None:
            return f"unknown: {test} needs {a_scale(self.needs)}; nothing is known of {name}"
        if self.verdict == MEANINGFUL:
            declared = "declared by the user to be " if self.by_user else ""
            return (
                f"meaningful: {test} needs {a_scale(self.needs)}; {name} is {declared}"
                f"{a_scale(self.has)}"
            )
        if self.has >= self.needs and self.by_size and not self.by_topic:
            return (
                f"not invariant: {name} is {a_scale(self.has)} for retrieved sets of one size only;"
                f" {test} takes scores of all sizes for one"
            )
        if self.has >= self.needs:
            return (
                f"not invariant: {name} depends on the recall base, so that topics are on scales of"
                f" their own; {test} puts them together"
            )
        return (
            f"not invariant: {test} needs {a_scale(self.needs)}, and {name} is declared"
            f" {self.has}; what it says may depend on how the scale is spaced"
        )

    def lines(self) -> list[str]:
        """Return the verdict, and what holds without any assumption on the scale."""
        lines, found = [self.first_line], self.comparison.count()
        if found and self.verdict != MEANINGFUL:
            lines.append(order_kept(found, self.holds))
            lines.append(self._decisions())
            if example := self._example():
                lines.append(example)
        return lines

    def _decisions(self) -> str:
        """Say how many differ still when scores are transformed, where that is soon found out."""
        one = self.comparison
        if self.needs <= Scale.ORDINAL:
            return (
                "the test finds the same under every increasing transformation of all scores alike,"
                " as it goes by their order"
            )
        them = "it" if one.count() == 1 else "them"
        start = f"whether the test finds {them} then is another matter"
        random = one.info.random or CORRECTIONS[one.correction].random
        if random and one.options["resamples"] * len(one) > SOON:
            return f"{start}; with so many random samples it is left to decisions_kept()"
        if one.count() == 1:
            yes, no = (
                [f"{power:g}" for power, kept in self.kept.items() if kept.any() == found]
                for found in (True, False)
            )
            parts = [
                f"{does} for p = {', '.join(powers)}"
                for does, powers in (("does", yes), ("does not", no))
                if powers
            ]
            return f"{start}: with x^p for each score x it {', and '.join(parts)}"
        counts = [f"{kept.sum():,} for p = {power:g}" for power, kept in self.kept.items()]
        every = np.logical_and.reduce(list(self.kept.values())).sum()
        return (
            f"{start}: with x^p for each score x it finds {', '.join(counts)}, and {every:,} for"
            " all of these"
        )

    def _example(self) -> str:
        """Show the clearest of the differences that a transformation turns over.

        The better system stands first: with the lower mean where low is good, and the bar is
        then what scores are to stay below.
        """
        one = self.comparison
        turned = np.flatnonzero(one.is_significant() & self.dominance.reversed)
        if not turned.size:
            return ""
        # The order of means, which is not that of mean ranks where a test goes by these.
        means = one.scores.grand_mean()
        apart = means[one.first] - means[one.second]
        k = int(turned[np.argmax(np.abs(apart[turned]))])
        low, (of_first, of_second) = one.scores.lower_is_better, self._good
        pair = [(one.first[k], of_first[k]), (one.second[k], of_second[k])]
        if (-apart[k] if low else apart[k]) < 0:
            pair.reverse()
        a, b = (plain(one.systems[system]) for system, _ in pair)
        scored = [int(self._scored[system]) for system, _ in pair]
        topics = [counted(int(pair[0][1]), "topic"), str(pair[1][1])]
        if scored[0] != scored[1]:
            topics = [f"{pair[side][1]} of {scored[side]} topics" for side in (0, 1)]
        better = f"better than {b} by its mean, which is lower" if low else f"above {b} by its mean"
        return (
            f"for example: {a} is {better}, but not if what counts is a score"
            f" {'up to' if low else 'above'} {self.dominance.threshold[k]:.4g}, which {a} has on"
            f" {topics[0]} and {b} on {topics[1]}"
        )

    @cached_property
    def _scored(self) -> Indices:
        """Topics on which each system has a score."""
        one = self.comparison
        values = one.scores.values.reshape(len(one.scores.topics), len(one.systems), -1)
        return np.asarray((~np.isnan(values)).any(axis=2).sum(axis=0), dtype=np.intp)

    @property
    def _good(self) -> tuple[Indices, Indices]:
        """Topics on which both systems of each pair are on the good side of the threshold."""
        one, above = self.comparison, self.dominance
        if not one.scores.lower_is_better:
            return above.above_first, above.above_second
        first, second = self._scored[one.first], self._scored[one.second]
        return first - above.above_first, second - above.above_second

    def alternatives(self) -> list[str]:
        """Return the names of tests that the scale of the measure allows, on the same topics."""
        if self.has is None:
            return []
        paired = self.comparison.info.paired
        most = Scale.ORDINAL if self.by_size else self.has
        return [
            name
            for name, test in TESTS.items()
            if test.info.scale <= most
            and test.info.paired == paired
            and (test.info.within_topics or not self.by_topic)
            and not (test.info.bound or test.info.shards == "needed")
        ]

    def require(self) -> None:
        """Raise a PolicyError unless the comparison is meaningful."""
        if self.verdict == MEANINGFUL:
            return
        name = plain(self.comparison.measure) or "the measure"
        cures = []
        if tests := self.alternatives():
            cures.append(f"take {' or '.join(tests)}")
        uneven = self.has is None or self.has < Scale.INTERVAL
        measure = measure_of(self.comparison.measure)
        if uneven and not self.by_topic and _can_be_scaled(measure):
            cures.append(f"or the interval-scaled interval({name}), with a cutoff")
        raise PolicyError("; ".join([self.first_line, *([", ".join(cures)] if cures else [])]))

    def to_text(self, limit: int = 20) -> str:
        """Write the verdict and the pairs that differ, those that may turn over first."""
        one = self.comparison
        star = one.is_significant()
        order = np.argsort(self.dominance.holds[star], kind="stable")
        chosen = np.flatnonzero(star)[order][:limit]
        found, good = self.dominance, self._good

        def row(k: int) -> list[str]:
            turned = bool(found.reversed[k])
            return [
                one.systems[one.first[k]],
                one.systems[one.second[k]],
                f"{one.difference[k]:.4f}",
                "turns over" if turned else "always",
                f"{found.threshold[k]:.4g}" if turned else "",
                *(str(of_side[k]) if turned else "" for of_side in good),
            ]

        rows = [row(k) for k in chosen]
        bar = f"by scores {'up to' if one.scores.lower_is_better else 'above'}"
        head = ["first", "second", "difference", "order of means", bar, "first", "second"]
        parts = ["\n".join(self.lines())]
        if rows:
            parts.append(text_table(head, rows, left=(0, 1, 3)))
        if int(star.sum()) > len(rows):
            parts[-1] += f"\n… {int(star.sum()) - len(rows):,} more"
        return "\n\n".join(parts)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"Meaning({self.first_line})"


def order_kept(
    found: int, holds: int, one: str = "pair that differs", more: str = "pairs that differ"
) -> str:
    """Say of those found to differ how many keep their order of means on any scale."""
    if found == 1:
        said = f"the {one} {'keeps' if holds else 'does not keep'}"
    else:
        kept = f"{holds:,} keep" if holds > 1 else f"{holds or 'none'} keeps"
        said = f"of {found:,} {more}, {kept}"
    return f"{said} the order of means under every increasing transformation of the scores"


def measure_of(name: str) -> Measure | None:
    """The measure that was compared; None for one that is not known."""
    try:
        return parse_measure(name)
    except MeasureError:
        return None


def _can_be_scaled(measure: Measure | None) -> bool:
    try:
        return measure is not None and bool(Interval(measure))
    except MeasureError:
        return False


def meaning(comparison: PairwiseComparison) -> Meaning:
    """Judge whether the statements of a comparison are meaningful.

    A statement is meaningful when it stays true, or false, under every transformation that the
    scale of its numbers admits (Ferrante, Ferro and Fuhr 2021, section 2.4). What a test needs is
    compared with what the measure declares. And without any stance in that debate: for each pair,
    whether the order of the means survives every increasing transformation of the scores, which is
    so exactly when the scores of the better system dominate stochastically.

    Parameters
    ----------
    comparison
        What :func:`cranfield.compare` returns.

    Raises
    ------
    PolicyError
        For anything but a comparison.

    Notes
    -----
    SetP, SetF, SetE and most utilities are interval scales for retrieved sets of one size only,
    and scores do not tell the sizes: what needs more than an order is not invariant for them.
    Neither this nor the recall base matters for a scale that the user declared, see
    :meth:`cranfield.Scores.with_scale`.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:4], covid.qrels, ["nDCG@20", "interval(RR@5)"])
    >>> meaning(cf.compare(ev["nDCG@20"])).verdict
    'not invariant'
    >>> meaning(cf.compare(ev["nDCG@20"], test="friedman")).verdict
    'meaningful'
    >>> meaning(cf.compare(ev["interval(RR@5)"])).verdict
    'meaningful'
    """
    if not isinstance(comparison, PairwiseComparison):
        raise PolicyError(f"meaning takes what compare() returns, not {type(comparison).__name__}")
    needs = comparison.info.scale
    has = comparison.measure_scale
    measure = measure_of(comparison.measure)
    if has is None and measure is not None:
        has = measure.scale
    by_user = comparison.scores.scale_source == "user"
    by_topic = not by_user and measure is not None and differs_by_topic(measure)
    by_size = not by_user and measure is not None and measure.needs_one_size
    apart = by_topic and not comparison.info.within_topics
    verdict = MEANINGFUL
    if has is None:
        verdict = UNKNOWN
    elif has < needs or apart or (by_size and needs > Scale.ORDINAL):
        verdict = NOT_INVARIANT
    found = dominance(comparison.scores, comparison.first, comparison.second)
    return Meaning(comparison, needs, has, by_topic, by_size, verdict, found)


def differs_by_topic(measure: Measure) -> bool:
    """Tell whether the scale depends on the topic: on its recall base, or its ideal ranking."""
    # Ranks are the same on all topics; what they are ranks of is not. Risk is a difference.
    while isinstance(measure, Interval) or measure.info.family == "risk":
        if getattr(measure, "feasible", False):
            # Ranks among the runs that a topic has enough relevant documents for.
            return True
        measure = getattr(measure, "inner")  # noqa: B009
    try:
        return depends_on_topic(measure)
    except CranfieldError:
        # What it needs besides judgments, such as intents and lengths, each topic has its own.
        return True
