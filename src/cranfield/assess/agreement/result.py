"""Agreement of assessors, with intervals over topics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.assess.agreement.coefficients import (
    Coefficient,
    bootstrap,
    coefficients,
    limits,
    remarks,
)
from cranfield.assess.agreement.tables import Tables, labelled
from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import (
    CranfieldError,
    PolicyError,
    check_choice,
    check_several,
    check_share,
    check_whole,
    quoted,
)
from cranfield.base.kinds import OneOf, Whole
from cranfield.base.text import counted
from cranfield.result import Column, Columns, Result
from cranfield.tabular import Table, format_number

SHOWN = 40
"""Comparisons that are printed."""


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Result):
    """Agreement of assessors; made by :func:`agreement_of`.

    A comparison is of all assessors, or of two of them.

    Attributes
    ----------
    measures
        Text forms of the coefficients.
    comparisons
        Names of the assessors of each comparison.
    value, low, high
        The columns of that name; shape (comparisons, measures). NaN stands for null.
    units, topics
        The columns of that name; shape (comparisons,).
    interval
        `jackknife`, `bootstrap` or `none`.
    confidence
        Confidence level of the intervals.
    resamples, seed
        Number of resamples and seed of the bootstrap; else None.
    replicates
        Values without each topic, or of drawn topics; shape (topics or resamples, comparisons,
        measures).
    topic_names
        The topics, in the order of the replicates of a jackknife.
    has_units
        Whether a topic has units of a comparison; shape (topics, comparisons).
    notes
        Undefined values, missing intervals and repeated labels.
    paired
        Whether comparisons are of two assessors each.
    difference
        Whether the values are differences.
    """

    name: ClassVar[str] = "agreement"
    columns: ClassVar[Columns] = {
        "assessors": Column("Assessors of the comparison, unless it is of pairs.", key=True),
        "first": Column("First assessor of a pair.", key=True),
        "second": Column("Second assessor of a pair.", key=True),
        "measure": Column("Measure of agreement.", key=True),
        "value": Column(
            "Value of the coefficient, or the difference of two values; null where not defined."
        ),
        "low": Column("Lower bound of the confidence interval over topics; null without one."),
        "high": Column("Upper bound of the interval."),
        "units": Column("Number of units, such as judged pairs, with two labels or more."),
        "topics": Column("Number of topics with units of two labels or more."),
    }

    measures: tuple[str, ...]
    comparisons: tuple[tuple[str, ...], ...]
    value: Floats
    low: Floats
    high: Floats
    units: Ints
    topics: Ints
    interval: str
    confidence: float
    resamples: int | None
    seed: int | None
    replicates: Floats
    topic_names: tuple[str, ...]
    has_units: Bools
    notes: tuple[str, ...] = ()
    paired: bool = False
    difference: bool = False

    def pick(self, *assessors: str) -> Agreement:
        """Return one comparison, by the names of its assessors, in any order.

        Raises
        ------
        PolicyError
            If they were not compared.
        """
        for place, names in enumerate(self.comparisons):
            if {*names} == {*assessors}:
                row = slice(place, place + 1)
                per_row = ("comparisons", "value", "low", "high", "units", "topics")
                return replace(
                    self,
                    **{name: getattr(self, name)[row] for name in per_row},
                    replicates=self.replicates[:, row],
                    has_units=self.has_units[:, row],
                )
        raise PolicyError(f"{quoted(' and '.join(assessors))} were not compared")

    def minus(self, other: Agreement) -> Agreement:
        """Return differences from another agreement over the same topics, with intervals.

        Both exclude, or draw, the same topics, so that effects of topics cancel.

        Parameters
        ----------
        other
            An agreement by the same measures, topics and interval; with as many comparisons or one.

        Returns
        -------
        Agreement
            Values are differences; the intervals of a jackknife are t intervals of them.

        Raises
        ------
        PolicyError
            For agreements that cannot be compared.

        Examples
        --------
        >>> import numpy as np
        >>> from cranfield.assess import agreement_of
        >>> rng = np.random.default_rng(1)
        >>> human, noise = rng.integers(0, 3, 400), rng.integers(0, 3, (2, 400))
        >>> one, other = np.where(rng.random((2, 400)) < [[0.7], [0.4]], human, noise)
        >>> pairs = agreement_of(
        ...     np.column_stack([human, one, other]),
        ...     "kappa",
        ...     topics=np.repeat(range(20), 20),
        ...     names=["human", "one", "other"],
        ...     against="human",
        ... )
        >>> print(pairs.pick("human", "one").minus(pairs.pick("human", "other")))
        difference of kappa: 1 comparison, 20 topics, 95% confidence intervals by jackknife ...
        <BLANKLINE>
        assessors                      units  topics   kappa          interval
        human, one minus human, other    400      20  0.2818  [0.1900, 0.3736]
        """
        for name in ("measures", "topic_names", "interval", "confidence", "resamples", "seed"):
            if getattr(self, name) != getattr(other, name):
                raise PolicyError(f"the two agreements differ in their {name.replace('_', ' ')}")
        if len(other.comparisons) not in {1, len(self.comparisons)}:
            raise PolicyError(
                f"expected 1 or {len(self.comparisons)} other comparisons,"
                f" got {len(other.comparisons)}"
            )
        copies = len(self.comparisons) // len(other.comparisons)
        names = [
            (f"{', '.join(first)} minus {', '.join(second)}",)
            for first, second in zip(self.comparisons, other.comparisons * copies, strict=True)
        ]
        has_units = self.has_units | other.has_units
        value, replicates = self.value - other.value, self.replicates - other.replicates
        low, high = limits(
            value, replicates, has_units, self.interval, self.confidence, bounded=False
        )
        return replace(
            self,
            comparisons=tuple(names),
            value=value,
            low=low,
            high=high,
            units=np.minimum(self.units, other.units),
            topics=has_units.sum(axis=0),
            replicates=replicates,
            has_units=has_units,
            notes=remarks(value, low, replicates, has_units, self.interval),
            paired=False,
            difference=True,
        )

    def matrix(self, measure: str | None = None) -> pl.DataFrame:
        """Return a square table of the values of each two assessors, for one measure.

        Parameters
        ----------
        measure
            Text form of a coefficient; by default the first.

        Raises
        ------
        PolicyError
            If assessors were not compared by pairs, or not by this measure.
        """
        if not self.paired:
            raise PolicyError("a matrix requires pairwise comparisons: use pairs=True")
        if measure is not None:
            check_choice("measure", measure, self.measures)
        column = 0 if measure is None else self.measures.index(measure)
        names = list(dict.fromkeys(name for pair in self.comparisons for name in pair))
        place = {name: k for k, name in enumerate(names)}
        square = np.full((len(names), len(names)), np.nan)
        for pair, value in zip(self.comparisons, self.value[:, column], strict=True):
            first, second = place[pair[0]], place[pair[1]]
            square[first, second] = square[second, first] = value
        columns = {name: square[:, k] for k, name in enumerate(names)}
        head = "assessor"
        while head in columns:
            head += "_"
        return pl.DataFrame({head: names} | columns).fill_nan(None)

    def _frame(self) -> pl.DataFrame:
        rows, columns = self.value.shape
        if self.paired:
            who = dict(zip(("first", "second"), zip(*self.comparisons, strict=True), strict=True))
        else:
            who = {"assessors": tuple(map(label, self.comparisons))}
        return pl.DataFrame(
            {
                **{name: np.repeat(values, columns) for name, values in who.items()},
                "measure": list(self.measures) * rows,
                **{name: getattr(self, name).ravel() for name in ("value", "low", "high")},
                "units": np.repeat(self.units, columns),
                "topics": np.repeat(self.topics, columns),
            }
        ).fill_nan(None)

    def table(self, places: int = 4, limit: int | None = None) -> Table:
        """Return a table for reading: a row for each comparison, with a value for each measure.

        Parameters
        ----------
        places
            Decimals.
        limit
            Maximum number of comparisons; None for all. A remark gives the number of the others.
        """
        intervals = self.interval != "none"
        head = ["assessors", "units", "topics"]
        for measure in self.measures:
            head += [measure, "interval"][: 1 + intervals]
        rows = []
        for k, names in enumerate(self.comparisons[:limit]):
            row = [label(names), f"{self.units[k]:,}", f"{self.topics[k]:,}"]
            for cell in zip(self.value[k], self.low[k], self.high[k], strict=True):
                value, low, high = (format_number(bound, places) for bound in cell)
                row += [value or "-", f"[{low}, {high}]" if low else "-"][: 1 + intervals]
            rows.append(row)
        hidden = len(self.comparisons) - len(rows)
        remark = [f"{counted(hidden, 'other comparison')} not shown"] if hidden else []
        title = "Difference of agreement" if self.difference else "Agreement"
        return Table(f"{title} over {self._basis()}", head, rows, remarks=[*self.notes, *remark])

    def _basis(self) -> str:
        topics = counted(len(self.topic_names), "topic")
        if self.interval == "none":
            return topics
        level = f"{100 * self.confidence:g}% confidence intervals"
        resampling = f" ({self.resamples:,} resamples, seed {self.seed})" if self.resamples else ""
        return f"{topics}, {level} by {self.interval} over topics{resampling}"

    def heading(self) -> list[str]:
        """Return one line: measures, number of topics, and the intervals."""
        size = counted(len(self.comparisons), "comparison")
        measures = ", ".join(self.measures)
        return [f"{'difference of ' if self.difference else ''}{measures}: {size}, {self._basis()}"]

    def note_lines(self) -> list[str]:
        """Return no lines: the notes stand below the table."""
        return []

    def tables(self) -> list[Table]:
        """Return the first comparisons for reading."""
        return [replace(self.table(limit=SHOWN), title="")]


def label(names: tuple[str, ...]) -> str:
    """Name one or two assessors; count more."""
    return ", ".join(names) if len(names) < 3 else f"all {len(names)}"


INTERVALS = ("jackknife", "bootstrap", "none")


def agreement_of(
    annotations: Any,
    measures: str | Coefficient | Iterable[str | Coefficient] | None = None,
    *,
    pairs: bool = False,
    against: str | None = None,
    rel: int | None = None,
    grades: Iterable[Any] | None = None,
    topics: Iterable[Any] | None = None,
    names: Iterable[Any] | None = None,
    axis: int | None = None,
    interval: Annotated[str, OneOf(INTERVALS)] = "jackknife",
    confidence: float = 0.95,
    resamples: Annotated[int, Whole(1)] = 10_000,
    seed: Annotated[int, Whole(0)] = 0,
) -> Agreement:
    r"""Measure the agreement of assessors on the same units, with intervals over topics.

    Parameters
    ----------
    annotations
        :class:`Labels`, or anything that :func:`read_labels` reads, such as a dict of judgments by
        the assessor's name; or ratings, NaN for missing ones: an array with `axis` or `names`, or a
        data frame with a row for each unit and a column of numbers for each assessor.
    measures
        Agreement coefficients: `observed`, `positive`, `negative`, `overlap`, `kappa` (two
        assessors), `fleiss`, `alpha`, `AC1`, `AC2`. In brackets a distance (`nominal`, `linear`,
        `quadratic` or `interval`, `ordinal`, `ratio`), and `rel=` and a grade where all grades are
        cut in two: `kappa(quadratic)`, `alpha(nominal)`, `kappa(rel=2)`. By default observed
        agreement, kappa (for more than two assessors Fleiss'), ordinal alpha and AC1.
    pairs
        Whether to compare each pair of assessors with a document in common, instead of all
        together.
    against
        Compare each assessor with this one only.
    rel
        Lowest relevant grade, for coefficients that do not set it themselves.
    grades
        The scale, if not all of its grades occur: AC1 and AC2 depend on it.
    topics, names
        With ratings: the topic of each unit. With an array: the names of the assessors.
    axis
        With an array: the axis of the assessors. 0 if each row is an assessor, as in the package
        `krippendorff`; 1 if each column is. Required, unless the array is not square and the number
        of `names` or `topics` tells rows from columns.
    interval
        Method for the confidence intervals over topics. `jackknife`: t intervals from the values
        without each topic, on the scale of :math:`\ln(1 - \theta)`, cut at -1; for proportions, of
        log odds. `bootstrap`: percentiles over resampled topics. `none`.
    confidence
        Confidence level of the intervals.
    resamples
        Number of bootstrap resamples of the topics.
    seed
        Seed of the bootstrap.

    Returns
    -------
    Agreement
        With a row per comparison and measure.

    Raises
    ------
    InputError
        For labels that cannot be read.
    PolicyError
        For unknown measures, distances, intervals or assessors.
    CranfieldError
        For a single assessor, or tables too large.

    Notes
    -----
    Counts are summed over the topics, so a topic with many units weighs more. Topics are a random
    sample; units of one topic may depend on each other in any way. If a worker has several labels
    of a unit, the last counts, with a note. Pairs of assessors are compared on units that both
    judged.

    Examples
    --------
    >>> first = {"q1": {"a": 1, "b": 0, "c": 0}, "q2": {"a": 1, "b": 1, "c": 0}}
    >>> other = {"q1": {"a": 1, "b": 1, "c": 0}, "q2": {"a": 1, "b": 1, "c": 0}}
    >>> print(agreement_of({"ann": first, "bob": other}, ["observed", "kappa"], interval="none"))
    observed, kappa: 1 comparison, 2 topics
    <BLANKLINE>
    assessors  units  topics  observed   kappa
    ann, bob       6       2    0.8333  0.6667
    """
    check_several("grades", grades)
    check_several("topics", topics)
    check_several("names", names)
    check_choice("interval", interval, INTERVALS)
    check_share("confidence", confidence)
    check_whole("resamples", resamples, 1)
    check_whole("seed", seed, 0)
    if rel is not None:
        check_whole("rel", rel, 0)
    ratings = labelled(annotations, topics=topics, grades=grades, names=names, axis=axis)
    if len(ratings.assessors) < 2:
        raise CranfieldError("expected at least two assessors, got one")
    paired = pairs or against is not None
    chosen = coefficients(measures, rel, paired or len(ratings.assessors) == 2)
    comparisons: list[tuple[str, ...]] = [ratings.assessors]
    if paired:
        couples, tables = ratings.by_pair(against)
        comparisons = [*couples]
    else:
        tables = ratings.together()

    def law(sums: Tables) -> Floats:
        return np.stack([measure.of(sums) for measure in chosen], axis=-1)

    value = law(tables.total())
    has_units = tables.units.sum(axis=(-2, -1)) > 0
    replicates = np.empty((0, *value.shape))
    if interval == "jackknife":
        replicates = law(tables.without_each())
    elif interval == "bootstrap":
        replicates = bootstrap(tables, law, resamples, seed)
    lowest = np.array([measure.law.lowest for measure in chosen])
    low, high = limits(
        value, replicates, has_units, interval, confidence, bounded=True, shares=lowest == 0
    )
    if interval == "jackknife":
        # With gaps, a coefficient may itself be below its bound.
        low = np.where(value < lowest, low, np.maximum(low, lowest))
    return Agreement(
        measures=tuple(map(str, chosen)),
        comparisons=tuple(comparisons),
        value=value,
        low=low,
        high=high,
        units=np.rint(tables.units.sum(axis=(0, -2, -1))).astype(np.int64),
        topics=has_units.sum(axis=0),
        interval=interval,
        confidence=confidence,
        resamples=resamples if interval == "bootstrap" else None,
        seed=seed if interval == "bootstrap" else None,
        replicates=replicates,
        topic_names=ratings.topics,
        has_units=has_units,
        notes=(*ratings.notes, *remarks(value, low, replicates, has_units, interval)),
        paired=paired,
    )
