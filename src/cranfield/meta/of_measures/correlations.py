"""How far measures agree on the order of systems: over means, and topic by topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints, to_order
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.words import counted, names_or_count
from cranfield.meta.of_measures.coefficients import (
    METHODS,
    Ordered,
    agreement,
    options_of,
    ordered,
)
from cranfield.meta.study import Study
from cranfield.meta.work.options import OneOf, check_options
from cranfield.scores import Scores
from cranfield.scores.several_measures import aligned, complete
from cranfield.significance.pairs import ROUNDING
from cranfield.significance.prepare import as_scores
from cranfield.tabular import Table, number


@dataclass(frozen=True, eq=False, repr=False)
class Correlations(
    Study,
    name="correlations",
    source="Ferrante, Ferro and Fuhr (2021)",
    keys={"correlations": ("first", "second", "lowest topic")},
    main="table",
):
    """How far measures agree, each with each.

    Attributes
    ----------
    measures, method
        The measures, in order; the coefficient.
    overall
        Of the systems' values over all topics; shape (measures, measures).
    topicwise
        Of their scores on each topic, NaN where a measure tells no systems apart; shape (topics,
        measures, measures).
    by_topic, lowest
        Mean and lowest of `topicwise` over the topics that have a value; shape (measures,
        measures).
    counted_topics
        Number of those topics; shape (measures, measures).
    topics, systems
        The topics that were used, and the systems.
    turned
        The measures for which lower scores are better; their scores were negated.
    missing, notes
        The policy for missing scores; what was left out or filled in.
    options
        Options of the coefficient: `ties` for `tau-ap` and `rbo`, and `p` for `rbo`.
    """

    measures: tuple[str, ...]
    method: str
    overall: Floats
    topicwise: Floats
    by_topic: Floats
    lowest: Floats
    counted_topics: Ints
    topics: tuple[str, ...]
    systems: tuple[str, ...]
    turned: tuple[str, ...]
    missing: str
    notes: tuple[str, ...]
    options: dict[str, Any]

    @property
    def table(self) -> pl.DataFrame:
        """A row a pair of measures.

        `first`, `second`; `overall`, `by topic` and `lowest`, null where there is no value; the
        `lowest topic`, and the number of `topics` that have a value.
        """
        one, other = np.triu_indices(len(self.measures), 1)
        each = self.topicwise[:, one, other]
        worst = np.where(np.isnan(each), np.inf, each).argmin(axis=0)
        some = self.counted_topics[one, other]
        return pl.DataFrame(
            {
                "first": [self.measures[k] for k in one],
                "second": [self.measures[k] for k in other],
                "overall": self.overall[one, other],
                "by topic": self.by_topic[one, other],
                "lowest": self.lowest[one, other],
                "lowest topic": [
                    self.topics[t] if n else None for t, n in zip(worst, some, strict=True)
                ],
                "topics": some,
            },
            {
                **dict.fromkeys(("first", "second"), pl.String),
                **dict.fromkeys(("overall", "by topic", "lowest"), pl.Float64),
                "lowest topic": pl.String,
                "topics": pl.Int64,
            },
        ).with_columns(pl.col(pl.Float64).fill_nan(None))

    def to_polars(self) -> pl.DataFrame:
        """Return the table with a row a pair of measures."""
        return self.table

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.frames()["correlations"].drop_nulls("overall").sort("overall")
        if rows.is_empty():
            return ()
        low, high = rows.row(0, named=True), rows.row(-1, named=True)
        if low["overall"] == high["overall"]:
            every = "" if len(rows) == 1 else f", each of the {len(rows)} pairs of measures"
            lead = f"{_pairs(rows, high)}: {self.method} {high['overall']:.2f}{every}."
        else:
            lead = (
                f"Most alike order the systems {_pairs(rows, high)} ({self.method}"
                f" {high['overall']:.2f}), least {_pairs(rows, low)} ({low['overall']:.2f})."
            )
        return (
            lead,
            f"That is by the means of {counted(len(self.systems), 'system')} over"
            f" {counted(len(self.topics), 'topic')}.",
        )

    def frames(self) -> dict[str, pl.DataFrame]:
        return {"correlations": self.table}

    def about(self) -> dict[str, Any]:
        return {"coefficient": self.method, "coefficient options": self.options}

    def tables(self) -> list[Table]:
        name = METHODS[self.method]
        return [
            Table(
                title,
                ["", *self.measures],
                [
                    [measure, *(number(float(value), 3) for value in row)]
                    for measure, row in zip(self.measures, values, strict=True)
                ],
            )
            for title, values in (
                (f"{name} of the orders of systems over all topics", self.overall),
                (f"{name} topic by topic, mean over topics", self.by_topic),
            )
        ]

    def __repr__(self) -> str:
        return (
            f"Correlations({self.method}: {counted(len(self.measures), 'measure')},"
            f" {counted(len(self.systems), 'system')}, {counted(len(self.topics), 'topic')})"
        )


def _pairs(rows: pl.DataFrame, extreme: Mapping[str, Any]) -> str:
    """Name the pairs of measures whose coefficient is the same to the printed digits."""
    same = rows.filter(pl.col("overall").round(2) == round(extreme["overall"], 2))
    named = [f"{first}/{second}" for first, second in same.select("first", "second").iter_rows()]
    return names_or_count(named, "pair")


def correlate(
    scores_by_measure: Mapping[str, Any],
    *,
    method: Annotated[str, OneOf(tuple(METHODS))] = "tau",
    missing: str = "error",
    ties: str = "b",
    p: float = 0.9,
) -> Correlations:
    """Compare the orders of systems by several measures, each with each.

    Parameters
    ----------
    scores_by_measure
        Scores by measure, such as an :class:`cranfield.Evaluation`: two measures or more, of the
        same systems on the same topics, in any order; scores as for :func:`cranfield.compare`.
    method
        `tau`: Kendall's tau-b. `tau-a`: its version without correction for ties. `tau-ap`: the
        average of both ways of tau AP. `rbo`: rank-biased overlap, extrapolated. `pearson`: of the
        scores themselves, which asks for interval scales. `spearman`: of their mid-ranks.
    missing
        `error`; `drop`: leave out topics that lack a score of any system by any measure; `zero`:
        count a missing score as 0.
    ties, p
        For `tau-ap`: `a` or `b`; for `rbo`: `a`, `b` or `w`, and a proportion p between 0 and 1.
        With `a`, a measure with ties agrees with itself less than fully.

    Returns
    -------
    Correlations
        Overall, which takes the measure's own value over topics (its mean, geometric mean or sum);
        and topic by topic, the mean and the lowest over topics (Ferrante, Ferro and Fuhr 2021,
        section 3.3).

    Raises
    ------
    PolicyError
        For an unknown method or policy, scores by shard, or fewer than two measures.
    CranfieldError
        For different systems or topics, fewer than two systems, infinite or missing scores.

    Notes
    -----
    Measures for which lower scores are better are negated first, so that measures that agree
    on the better system correlate positively, whatever their direction.

    Values over topics are rounded to 8 decimals before systems are ordered by them, as in footnote
    9 of the source; scores on a topic are tied if they differ by rounding only. `pearson` takes
    all as they are. A topic on which all systems are tied by one of two measures has no coefficient
    (but by `tau-a`, where it is 0, and by `rbo`), and does not count in their mean.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:6], covid.qrels, ["P@10", "nDCG@10", "RR"])
    >>> found = correlate(ev)
    >>> found
    Correlations(tau: 3 measures, 6 systems, 50 topics)
    >>> found.overall.shape, found.table.columns[:4]
    ((3, 3), ['first', 'second', 'overall', 'by topic'])
    """
    check_options(correlate, locals())
    options = options_of(method, ties, p)
    scores, notes = complete(_comparable(scores_by_measure), missing)
    names = tuple(scores)
    some = next(iter(scores.values()))
    turned = tuple(name for name, one in scores.items() if one.lower_is_better)
    sign = np.array([-1.0 if one.lower_is_better else 1.0 for one in scores.values()])
    totals = np.array([one.overall() for one in scores.values()]) * sign[:, None]
    cells = np.stack([one.values for one in scores.values()], axis=1) * sign[:, None]
    overall = agreement(_over_topics(totals), method, options)
    topicwise = np.array([agreement(_on_topic(values), method, options) for values in cells])
    known = ~np.isnan(topicwise)
    number = known.sum(axis=0).astype(np.int64)
    with np.errstate(invalid="ignore"):
        mean = np.where(known, topicwise, 0.0).sum(axis=0) / number
    low = np.where(known, topicwise, np.inf).min(axis=0)
    return Correlations(
        measures=names,
        method=method,
        overall=overall,
        topicwise=topicwise,
        by_topic=mean,
        lowest=np.where(number > 0, low, np.nan),
        counted_topics=number,
        topics=some.topics,
        systems=some.systems,
        turned=turned,
        missing=missing,
        notes=notes,
        options=options,
    )


def _over_topics(values: Floats) -> Ordered:
    return ordered(values, to_order(values), np.zeros(len(values)))


def _on_topic(values: Floats) -> Ordered:
    return ordered(values, values, ROUNDING * np.abs(values).max(axis=1))


def _comparable(scores_by_measure: Any) -> dict[str, Scores]:
    """Take the scores of each measure, all in the order of topics and systems of the first."""
    if not isinstance(scores_by_measure, Mapping) or len(scores_by_measure) < 2:
        raise PolicyError("measures are compared as a mapping of two or more of them to scores")
    scores = {str(name): as_scores(one) for name, one in scores_by_measure.items()}
    if len(scores) < len(scores_by_measure):
        raise PolicyError("two measures have the same name")
    scores = aligned(scores)
    first, *_ = scores.values()
    if len(first.systems) < 2 or not first.topics:
        some = counted(len(first.systems), "system"), counted(len(first.topics), "topic")
        raise CranfieldError(f"two systems at least are ordered, and {some[0]} on {some[1]} given")
    return scores
