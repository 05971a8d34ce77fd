"""Agreement of assessors, with confidence intervals over topics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.assess.agreement.coefficients import (
    MIN_SPREAD,
    Coefficient,
    Tables,
    bootstrap_topics,
    compute_jackknife_intervals,
    compute_percentile_intervals,
    parse_coefficients,
    read_ratings,
)
from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import CranfieldError, PolicyError, check_choice, check_list, quote
from cranfield.base.kinds import Integer, OneOf, UnitInterval, check_arguments
from cranfield.base.text import inflect
from cranfield.result import Column, Columns, Result
from cranfield.tabular import Table, format_number

MAX_PRINTED = 40  # Maximum number of comparisons that are printed
MIN_TOPICS = 10  # Number of topics below which intervals are reported as approximate


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Result):
    """Agreement of assessors; returned by :func:`agreement_of`.

    Each comparison is between all assessors jointly, or between two of them.

    Attributes
    ----------
    measures
        Text forms of the coefficients.
    comparisons
        Names of the assessors of each comparison.
    value, low, high
        Value of each coefficient, and bounds of its confidence interval; NaN if undefined; shape
        (comparisons, measures).
    n_units, n_topics
        Numbers of units with at least two labels and of their topics; shape (comparisons,). For
        differences, the smaller number of units, and the topics of either comparison.
    interval
        `jackknife`, `bootstrap` or `none`.
    confidence
        Confidence level of the intervals.
    resamples, seed
        Number of resamples and seed of the bootstrap; None without a bootstrap.
    replicates
        Values without each topic (jackknife) or of resampled topics (bootstrap); shape (topics or
        resamples, comparisons, measures).
    topic_names
        Names of the topics, in the order of jackknife replicates.
    has_units
        Whether a topic has units with at least two labels; shape (topics, comparisons).
    notes
        Notes on undefined values, on missing or approximate intervals, and on labels.
    is_pairwise
        Whether each comparison is of a pair of assessors; False for differences.
    is_difference
        Whether the values are differences of agreement.
    """

    name: ClassVar[str] = "agreement"
    columns: ClassVar[Columns] = {
        "assessors": Column(
            "Assessors or their number, or two comparisons whose difference is the value; absent if"
            " rows are pairs.",
            key=True,
        ),
        "first": Column("First assessor of a pair; absent unless rows are pairs.", key=True),
        "second": Column("Second assessor of a pair; absent unless rows are pairs.", key=True),
        "measure": Column("Measure of agreement.", key=True),
        "value": Column(
            "Value of the coefficient, or the difference of two values; null if undefined."
        ),
        "low": Column("Lower bound of the confidence interval over topics; null if undefined."),
        "high": Column("Upper bound of the same confidence interval as `low`."),
        "units": Column("Number of units, such as documents of topics, with at least two labels."),
        "topics": Column("Number of topics that have units with at least two labels."),
    }

    measures: tuple[str, ...]
    comparisons: tuple[tuple[str, ...], ...]
    value: Floats
    low: Floats
    high: Floats
    n_units: Ints
    n_topics: Ints
    interval: str
    confidence: float
    resamples: int | None
    seed: int | None
    replicates: Floats
    topic_names: tuple[str, ...]
    has_units: Bools
    notes: tuple[str, ...] = ()
    is_pairwise: bool = False
    is_difference: bool = False

    def pick(self, *assessors: str) -> Agreement:
        """Return the comparison between these assessors, in any order.

        Raises
        ------
        PolicyError
            If the assessors were not compared.
        """
        assessor_sets = [{*comparison} for comparison in self.comparisons]
        if {*assessors} not in assessor_sets:
            listing = ", ".join(map(quote, assessors))
            raise PolicyError(f"expected assessors that were compared, got {listing}")
        index = assessor_sets.index({*assessors})
        rows = slice(index, index + 1)
        row_fields = ("comparisons", "value", "low", "high", "n_units", "n_topics")
        fields = {name: getattr(self, name)[rows] for name in row_fields}
        fields |= {name: getattr(self, name)[:, rows] for name in ("replicates", "has_units")}
        return replace(self, **fields)

    def subtract(self, other: Agreement) -> Agreement:
        """Compute differences from another agreement over the same topics, with intervals.

        Replicates of both agreements exclude or resample the same topics: topic effects cancel.

        Parameters
        ----------
        other
            Agreement with the same measures, topics and options of intervals; it has as many
            comparisons as this agreement, or only one.

        Returns
        -------
        Agreement
            Differences of the values; jackknife intervals are t intervals of the differences.

        Raises
        ------
        PolicyError
            If the measures, topics, options of intervals or numbers of comparisons do not match.

        Examples
        --------
        >>> import numpy as np
        >>> from cranfield.assess import agreement_of
        >>> rng = np.random.default_rng(1)
        >>> human, noise = rng.integers(0, 3, 400), rng.integers(0, 3, (2, 400))
        >>> good, poor = np.where(rng.random((2, 400)) < [[0.7], [0.4]], human, noise)
        >>> pairs = agreement_of(
        ...     np.column_stack([human, good, poor]),
        ...     "kappa",
        ...     topics=np.repeat(range(20), 20),
        ...     names=["human", "good", "poor"],
        ...     reference="human",
        ... )
        >>> print(pairs.pick("human", "good").subtract(pairs.pick("human", "poor")))
        difference of kappa: 1 comparison, 20 topics, 95% confidence intervals by jackknife ...
        <BLANKLINE>
        assessors                      units  topics   kappa          interval
        human, good minus human, poor    400      20  0.2818  [0.1900, 0.3736]
        """
        for name in ("measures", "topic_names", "interval", "confidence", "resamples", "seed"):
            values = getattr(self, name), getattr(other, name)
            if values[0] != values[1]:
                expected = f"both agreements must have the same {name.replace('_', ' ')}"
                raise PolicyError(f"{expected}, got {' and '.join(map(quote, values))}")
        n_own, n_other = len(self.comparisons), len(other.comparisons)
        if n_other not in {1, n_own}:
            raise PolicyError(
                f"the agreement to subtract must have as many comparisons as this one ({n_own}), or"
                f" only one, got {n_other}"
            )
        pairs = zip(self.comparisons, other.comparisons * (n_own // n_other), strict=True)
        names = [(f"{', '.join(first)} minus {', '.join(second)}",) for first, second in pairs]
        difference = replace(
            self,
            comparisons=tuple(names),
            value=self.value - other.value,
            n_units=np.minimum(self.n_units, other.n_units),
            replicates=self.replicates - other.replicates,
            has_units=self.has_units | other.has_units,
            notes=(),
            is_pairwise=False,
            is_difference=True,
        )
        return difference._add_intervals(is_bounded=False)

    def _add_intervals(self, is_bounded: bool = True, lower_bounds: Any = -np.inf) -> Agreement:
        """Add confidence intervals from replicates; the jackknife clips them to lower bounds."""
        n_topics = self.has_units.sum(axis=0)
        low, high = np.full((2, *self.value.shape), np.nan)
        if self.interval == "bootstrap":
            low, high = compute_percentile_intervals(self.replicates, self.confidence)
            is_undefined = (n_topics < 2)[:, None] | ~(high - low > MIN_SPREAD)
            low, high = np.where(is_undefined, np.nan, (low, high))
        elif self.interval == "jackknife":
            low, high = compute_jackknife_intervals(
                self.value,
                self.replicates,
                np.broadcast_to(self.has_units[:, :, None], self.replicates.shape),
                self.confidence,
                is_bounded=is_bounded,
                is_proportion=np.equal(lower_bounds, 0),
            )
            # With missing labels, a coefficient may itself be below its bound.
            low = np.where(self.value < lower_bounds, low, np.maximum(low, lower_bounds))
        agreement = replace(self, low=low, high=high, n_topics=n_topics)
        return replace(agreement, notes=(*self.notes, *agreement._list_interval_notes()))

    def _list_interval_notes(self) -> list[str]:
        is_undefined, has_several_topics = np.isnan(self.value), self.n_topics > 1
        notes = []
        if n_undefined := int(is_undefined.sum()):
            notes.append(
                f"{inflect(n_undefined, 'value')} undefined: no unit has two labels, or too few"
                " distinct grades occur"
            )
        if self.interval == "none":
            return notes
        if (self.n_topics == 1).any():
            notes.append("no confidence interval for one topic: at least two are required")
        if (has_several_topics & (self.n_topics < MIN_TOPICS)).any():
            notes.append(
                f"confidence intervals over fewer than {MIN_TOPICS} topics are approximate"
            )
        has_no_interval = np.isnan(self.low) & ~is_undefined & has_several_topics[:, None]
        if n_missing := int(has_no_interval.sum()):
            notes.append(
                f"{inflect(n_missing, 'value')} without a confidence interval: agreement is equal"
                " in all topics, or undefined if a topic is excluded (jackknife)"
            )
        n_excluded = int(np.isnan(self.replicates).any(axis=(1, 2)).sum())
        if n_excluded and self.interval == "bootstrap":
            notes.append(
                f"{inflect(n_excluded, 'resample')} of the topics with undefined values, excluded"
                " from the intervals of these values"
            )
        return notes

    def matrix(self, measure: str | None = None) -> pl.DataFrame:
        """Return a data frame of the agreement of pairs; null if not compared or undefined.

        Parameters
        ----------
        measure
            Text form of a coefficient; by default the first of `measures`.

        Raises
        ------
        PolicyError
            If comparisons are not pairwise, or for an unknown measure.
        """
        if not self.is_pairwise:
            raise PolicyError("a matrix requires pairwise comparisons; use pairs=True")
        measure = self.measures[0] if measure is None else measure
        check_choice("measure", measure, self.measures)
        column = self.measures.index(measure)
        names = list(dict.fromkeys(name for pair in self.comparisons for name in pair))
        values = np.full((len(names), len(names)), np.nan)
        for pair, value in zip(self.comparisons, self.value[:, column], strict=True):
            first, second = map(names.index, pair)
            values[first, second] = values[second, first] = value
        key = "assessor"
        while key in names:
            key += "_"
        return pl.DataFrame({key: names} | dict(zip(names, values.T, strict=True))).fill_nan(None)

    def _frame(self) -> pl.DataFrame:
        n_comparisons, n_measures = self.value.shape
        fields: dict[str, Any] = {"units": self.n_units, "topics": self.n_topics}
        if self.is_pairwise:
            fields["first"], fields["second"] = zip(*self.comparisons, strict=True)
        else:
            fields["assessors"] = list(map(format_assessors, self.comparisons))
        columns = {name: np.repeat(values, n_measures) for name, values in fields.items()}
        columns |= {name: getattr(self, name).ravel() for name in ("value", "low", "high")}
        columns["measure"] = list(self.measures) * n_comparisons
        return pl.DataFrame({k: columns[k] for k in self.columns if k in columns}).fill_nan(None)

    def make_table(self, places: int = 4, limit: int | None = None) -> Table:
        """Return a formatted table with a row for each comparison and a column for each measure.

        Parameters
        ----------
        places
            Number of decimals.
        limit
            Maximum number of comparisons; None for all. A note reports how many are not shown.
        """
        has_intervals = self.interval != "none"
        head = ["assessors", "units", "topics"]
        for measure in self.measures:
            head += [measure, "interval"] if has_intervals else [measure]
        rows = []
        for k, names in enumerate(self.comparisons[:limit]):
            row = [format_assessors(names), f"{self.n_units[k]:,}", f"{self.n_topics[k]:,}"]
            for cell in zip(self.value[k], self.low[k], self.high[k], strict=True):
                value, low, high = (format_number(bound, places) for bound in cell)
                row.append(value or "-")
                if has_intervals:
                    row.append(f"[{low}, {high}]" if low else "-")
            rows.append(row)
        n_hidden = len(self.comparisons) - len(rows)
        remarks = [f"{inflect(n_hidden, 'other comparison')} not shown"] if n_hidden else []
        name = "Difference of agreement" if self.is_difference else "Agreement"
        title = f"{name} over {self._describe_intervals()}"
        return Table(title, head, rows, remarks=[*self.notes, *remarks])

    def _describe_intervals(self) -> str:
        topics = inflect(len(self.topic_names), "topic")
        if self.interval == "none":
            return topics
        level = f"{100 * self.confidence:g}% confidence intervals"
        resampling = f" ({self.resamples:,} resamples, seed {self.seed})" if self.resamples else ""
        return f"{topics}, {level} by {self.interval} over topics{resampling}"

    def heading(self) -> list[str]:
        size = f"{inflect(len(self.comparisons), 'comparison')}, {self._describe_intervals()}"
        measures = ", ".join(self.measures)
        return [f"{'difference of ' if self.is_difference else ''}{measures}: {size}"]

    def format_notes(self) -> list[str]:
        return []  # The table has the notes below it

    def tables(self) -> list[Table]:
        return [replace(self.make_table(limit=MAX_PRINTED), title="")]


def format_assessors(names: tuple[str, ...]) -> str:
    """Return the names of up to two assessors, or the number of assessors."""
    return ", ".join(names) if len(names) < 3 else f"all {len(names)}"


INTERVAL_METHODS = ("jackknife", "bootstrap", "none")


def agreement_of(
    annotations: Any,
    measures: str | Coefficient | Iterable[str | Coefficient] | None = None,
    *,
    pairs: bool = False,
    reference: str | None = None,
    rel: Annotated[int, Integer(0)] | None = None,
    grades: Iterable[Any] | None = None,
    topics: Iterable[Any] | None = None,
    names: Iterable[Any] | None = None,
    axis: int | None = None,
    interval: Annotated[str, OneOf(INTERVAL_METHODS)] = "jackknife",
    confidence: Annotated[float, UnitInterval()] = 0.95,
    resamples: Annotated[int, Integer(1)] = 10_000,
    seed: Annotated[int, Integer(0)] = 0,
) -> Agreement:
    r"""Compute the agreement of assessors on the same units, with intervals over topics.

    Parameters
    ----------
    annotations
        :class:`Labels`, or any input of :func:`read_labels`, such as a dict of judgments by
        assessor; or ratings, NaN for missing ones: an array with `axis` or `names`, or a data frame
        with a row for each unit and a column of numbers for each assessor.
    measures
        Agreement coefficients: `observed`, `positive`, `negative`, `overlap`, `kappa` (two
        assessors), `fleiss`, `alpha`, `AC1`, `AC2`. An argument `rel=GRADE` makes grades binary;
        `kappa`, `fleiss`, `alpha` and `AC2` accept a distance (`nominal`, `linear`, `quadratic` or
        `interval`, `ratio`, or, except `AC2`, `ordinal`): `kappa(quadratic)`, `kappa(rel=2)`. By
        default `observed`, `kappa` (`fleiss` for more than two assessors jointly), `alpha`, `AC1`.
    pairs
        Whether to compare each pair of assessors with a unit in common, instead of all assessors
        jointly.
    reference
        Name of an assessor with whom each other assessor is compared, in pairs.
    rel
        Lowest relevant grade, which makes grades binary, for coefficients that do not set it. By
        default 1 for `positive`, `negative` and `overlap`; others then use all grades.
    grades
        Grades of the scale, if some do not occur: AC1 and AC2 depend on them.
    topics, names
        For ratings: the topic of each unit, and the names of assessors if no columns name them.
    axis
        For ratings: 0 if each row is an assessor, as in the package `krippendorff`; 1 if each
        column is. Required unless columns of a data frame name the assessors, or the array is not
        square and the number of `names` or `topics` identifies the axis.
    interval
        Method for the confidence intervals over topics. `jackknife`: t intervals from the values
        without each topic, on the scale of :math:`\ln(1 - \theta)`, with lower bounds of at least
        -1 (AC2 has none); for proportions, on the scale of log odds unless a value is 0 or 1.
        `bootstrap`: percentiles over resampled topics. `none`: no intervals.
    confidence
        Confidence level of the intervals.
    resamples
        Number of bootstrap resamples of the topics.
    seed
        Seed of the bootstrap.

    Returns
    -------
    Agreement
        Result with a row per comparison and measure.

    Raises
    ------
    InputError
        For labels that cannot be read.
    PolicyError
        For unknown or invalid options, ratings that are not numbers, and too large tables.
    CranfieldError
        For a single assessor, no ratings, infinite or unknown grades, no common unit, and too many
        pairs of labels.

    Notes
    -----
    Counts are summed over topics, so a topic with many units has more weight. Intervals assume that
    topics are a random sample; units of one topic may depend on each other in any way. If an
    assessor has several labels of a unit, the last counts, with a note. Pairs of assessors are
    compared on units that both judged.

    Examples
    --------
    >>> first = {"q1": {"a": 1, "b": 0, "c": 0}, "q2": {"a": 1, "b": 1, "c": 0}}
    >>> other = {"q1": {"a": 1, "b": 1, "c": 0}, "q2": {"a": 1, "b": 1, "c": 0}}
    >>> labels = {"ann": first, "bob": other}
    >>> print(agreement_of(labels, ["observed", "kappa"], interval="none"))
    observed, kappa: 1 comparison, 2 topics
    <BLANKLINE>
    assessors  units  topics  observed   kappa
    ann, bob       6       2    0.8333  0.6667
    """
    check_arguments(agreement_of, locals())
    check_list("grades", grades)
    check_list("topics", topics)
    check_list("names", names)
    ratings = read_ratings(annotations, topics=topics, grades=grades, names=names, axis=axis)
    if len(ratings.assessors) < 2:
        raise CranfieldError("expected at least two assessors, got one")
    is_pairwise = pairs or reference is not None
    coefficients = parse_coefficients(measures, rel, is_pairwise or len(ratings.assessors) == 2)
    comparisons, tables = ratings.count_pairs(reference) if is_pairwise else ratings.count_labels()

    def compute_values(sums: Tables) -> Floats:
        return np.stack([measure.compute(sums) for measure in coefficients], axis=-1)

    notes = ratings.notes
    # Units with a label add 1 to the proportions; those with several labels also to the units.
    n_single = round(float(tables.proportions.sum() - tables.units.sum()))
    if not is_pairwise and n_single and any(str(c).startswith("AC") for c in coefficients):
        units = inflect(n_single, "unit")
        note = f"AC1 and AC2: chance agreement is also estimated from {units} with only one label"
        notes = (*notes, note)
    value = compute_values(tables.sum_topics())
    has_units = tables.units.sum(axis=(-2, -1)) > 0
    replicates = np.empty((0, *value.shape))
    if interval == "jackknife":
        replicates = compute_values(tables.sum_other_topics())
    elif interval == "bootstrap":
        replicates = bootstrap_topics(tables, compute_values, resamples, seed)
    agreement = Agreement(
        measures=tuple(map(str, coefficients)),
        comparisons=tuple(comparisons),
        value=value,
        low=np.full(value.shape, np.nan),
        high=np.full(value.shape, np.nan),
        n_units=np.rint(tables.units.sum(axis=(0, -2, -1))).astype(np.int64),
        n_topics=has_units.sum(axis=0),
        interval=interval,
        confidence=confidence,
        resamples=resamples if interval == "bootstrap" else None,
        seed=seed if interval == "bootstrap" else None,
        replicates=replicates,
        topic_names=ratings.topics,
        has_units=has_units,
        notes=notes,
        is_pairwise=is_pairwise,
    )
    return agreement._add_intervals(
        lower_bounds=np.array([measure.formula.min_value for measure in coefficients])
    )
