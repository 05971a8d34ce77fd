"""Rank correlation of measures: their agreement on the order of systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations_with_replacement
from os import PathLike
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import bdtr

from cranfield.base.arrays import Floats, to_order
from cranfield.base.errors import CranfieldError, PolicyError, check_share, quoted
from cranfield.base.kinds import OneOf, check_arguments
from cranfield.base.text import counted, names_or_count
from cranfield.correlation import kendall_tau, tau_ap
from cranfield.correlation.overlap import check, overlap, places_of_scores
from cranfield.evaluation.scorefiles import read_scores_by_measure
from cranfield.meta.study import MEASURE_PAIR, Study
from cranfield.result import Column, Columns
from cranfield.scores import Scores
from cranfield.scores.one_measure import align_scores, complete_scores
from cranfield.significance.differences import ROUNDING
from cranfield.significance.prepare import as_scores
from cranfield.tabular import Table, format_number


def by_measure(data: Any) -> dict[str, Scores]:
    """Return scores by the text form of their measure, in order.

    Accepts a mapping of measures to what :func:`cranfield.compare` takes, :class:`Scores` of one
    measure, or a table or file that :func:`cranfield.read_scores_by_measure` reads.
    """
    if isinstance(data, Scores):
        return {data.measure: data}
    if isinstance(data, (str, PathLike)) or hasattr(type(data), "columns"):
        return read_scores_by_measure(data)
    if not isinstance(data, Mapping):
        kind = type(data).__name__
        raise PolicyError(f"scores by measure must be a mapping, a table or a file, got {kind}")
    if not data:
        raise PolicyError("expected at least one measure, got none")
    scores = {str(name): as_scores(table) for name, table in data.items()}
    if len(scores) < len(data):
        raise PolicyError("two measures have the same name")
    return scores


def higher_is_better(scores: Iterable[Scores]) -> Floats:
    """Return the values of several measures, negated where lower is better; measures first."""
    return np.stack([-table.values if table.lower_is_better else table.values for table in scores])


def name_pairs(names: Sequence[str]) -> dict[str, Any]:
    """Return the columns `first` and `second` of a table of all pairs of names."""
    labels = pl.Series(names, dtype=pl.String)
    indices = np.triu_indices(len(names), 1)
    return {side: labels.gather(k) for side, k in zip(("first", "second"), indices, strict=True)}


def signs(values: Floats, first: Any, second: Any) -> Floats:
    """Return the preferences of measures between systems on a topic, shape (measures, pairs).

    Scores, of shape (measures, systems), are better if higher; indices are of the systems of each
    pair. 1 is for the first system, -1 for the second, 0 for a tie, NaN for a missing score.
    """
    slack = ROUNDING * np.nanmax(np.abs(values), axis=1, initial=0.0, keepdims=True)
    difference = values[:, first] - values[:, second]
    return np.asarray(np.where(np.abs(difference) <= slack, 0.0, np.sign(difference)))


def sign_pvalue(wins: Any, losses: Any) -> Floats:
    """Return the exact two-sided p-values of the sign test; 1 without wins and losses."""
    won, lost = np.asarray(wins), np.asarray(losses)
    tail = 2 * bdtr(np.minimum(won, lost), won + lost, 0.5)
    return np.asarray(np.where(won + lost > 0, np.minimum(1.0, tail), 1.0))


METHODS = {
    "tau": "Kendall's tau-b",
    "tau-a": "Kendall's tau-a",
    "tau-ap": "Symmetric tau AP",
    "rbo": "Rank-biased overlap",
    "pearson": "Pearson's correlation",
    "spearman": "Spearman's rho",
}
"""Correlation coefficients, with their titles."""


def levels_of(values: Floats, gap: Floats) -> Floats:
    """Return the order of systems by each measure as integers from 0, equal for ties.

    Values and result have shape (measures, systems); neighbours in order that differ by at most
    `gap`, shape (measures,), are tied.
    """
    by_value = np.argsort(values, axis=1, kind="stable")
    steps = np.diff(np.take_along_axis(values, by_value, axis=1), axis=1) > gap[:, None]
    levels = np.zeros(values.shape)
    np.put_along_axis(levels, by_value[:, 1:], np.cumsum(steps, axis=1), axis=1)
    return levels


def check_options(method: str, ties: str, p: Any) -> dict[str, Any]:
    """Check the options of a method, and return those that it has."""
    if method == "rbo":
        return {"ties": ties, "p": check(p, ties)}
    if method == "tau-ap":
        if ties not in {"a", "b"}:
            raise PolicyError(f"unknown ties {quoted(ties)} of tau-ap; expected one of: a, b")
        return {"ties": ties}
    return {}


def agreement(values: Floats, levels: Floats, method: str, options: Mapping[str, Any]) -> Floats:
    """Return a coefficient for each pair of measures, shape (measures, measures).

    Values and the levels of their order have shape (measures, systems).
    """
    if method == "spearman":
        from scipy.stats import rankdata

        return _pearson(rankdata(levels, axis=1), levels)
    if method == "pearson":
        return _pearson(values, levels)
    measures = len(levels)
    first, second = np.triu_indices(measures)
    matrix = np.empty((measures, measures))
    if method in {"tau", "tau-a"}:
        variant = "b" if method == "tau" else "a"
        matrix[first, second] = kendall_tau(levels[first], levels[second], variant=variant)
    elif method == "tau-ap":
        matrix[first, second] = tau_ap(levels[first], levels[second], symmetric=True, **options)
    else:
        places = [places_of_scores(row) for row in levels]
        matrix[first, second] = [
            overlap(a, b, options["p"], options["ties"])[0]
            for a, b in combinations_with_replacement(places, 2)
        ]
    matrix[second, first] = matrix[first, second]
    return matrix


def _pearson(values: Floats, levels: Floats) -> Floats:
    """Compute Pearson's correlation; NaN where all values are tied within rounding."""
    with np.errstate(invalid="ignore", divide="ignore"):
        # Scaling keeps squares from vanishing or overflowing.
        scaled = values / np.abs(values).max(axis=1, keepdims=True)
        scaled = scaled - scaled.mean(axis=1, keepdims=True)
        unit = scaled / np.sqrt((scaled**2).sum(axis=1, keepdims=True))
        correlation = np.clip(unit @ unit.T, -1.0, 1.0)
    is_constant = (levels == levels[:, :1]).all(axis=1)
    return np.where(is_constant | is_constant[:, None], np.nan, correlation)


class Correlations(Study):
    """Rank correlations of all pairs of measures.

    Attributes
    ----------
    measures
        The measures, in order.
    overall
        Correlations of the systems' values over all topics; shape (measures, measures).
    topicwise
        Correlations of their scores on each topic, NaN where a measure ties all systems; shape
        (topics, measures, measures).
    by_topic, lowest
        Mean and lowest of `topicwise` over the topics that have a value; shape (measures,
        measures).
    counted_topics
        Number of those topics; shape (measures, measures).
    topics, systems
        The topics that were used, and the systems.
    lower_is_better
        The measures for which lower scores are better; their scores were negated.
    notes
        Topics or scores that were excluded or imputed.
    options
        Options of the coefficient: `ties` for `tau-ap` and `rbo`, and `p` for `rbo`.
    """

    name = "correlations"
    reference: ClassVar[str] = "Ferrante, Ferro and Fuhr (2021)"
    parts: ClassVar[Sequence[str]] = ("pairs",)
    columns: ClassVar[Columns] = {
        **MEASURE_PAIR,
        "overall": Column(
            "Coefficient of the systems' values over all topics; null if it is not defined."
        ),
        "by topic": Column("Mean over topics of the coefficient on each topic."),
        "lowest": Column("Lowest coefficient on a topic."),
        "lowest topic": Column("That topic.", key=True),
        "topics": Column("Number of topics on which it is defined."),
    }

    @property
    def pairs(self) -> pl.DataFrame:
        """The table, a row for each pair of measures."""
        indices = np.triu_indices(len(self.measures), 1)
        coefficients = self.topicwise[:, *indices]
        lowest = np.where(np.isnan(coefficients), np.inf, coefficients).argmin(axis=0)
        pairs = {
            **name_pairs(self.measures),
            "overall": self.overall[indices],
            "by topic": self.by_topic[indices],
            "lowest": self.lowest[indices],
            "lowest topic": pl.Series(self.topics, dtype=pl.String).gather(lowest),
            "topics": self.counted_topics[indices],
        }
        topic = pl.when(pl.col("topics") > 0).then("lowest topic").alias("lowest topic")
        return pl.DataFrame(pairs).fill_nan(None).with_columns(topic)

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.pairs.drop_nulls("overall").sort("overall")
        if rows.is_empty():
            return ()
        low, high = rows["overall"][0], rows["overall"][-1]

        def pairs(extreme: float) -> str:
            """Name the pairs of measures whose coefficient is the same to the printed digits."""
            equal_rows = rows.filter(pl.col("overall").round(2) == round(extreme, 2))
            pair_names = equal_rows.select(pl.format("{}/{}", "first", "second"))
            return names_or_count(pair_names.to_series().to_list(), "pair")

        lead = f"{pairs(high)}: {self.method} {high:.2f}."
        if low < high:
            lead = (
                f"The orders of systems agree most for {pairs(high)} ({self.method} {high:.2f}),"
                f" least for {pairs(low)} ({low:.2f})."
            )
        return (
            lead,
            f"The orders are by the means of {counted(len(self.systems), 'system')} over"
            f" {counted(len(self.topics), 'topic')}.",
        )

    def heading(self) -> list[str]:
        return [
            f"{METHODS[self.method]}: {counted(len(self.measures), 'measure')},"
            f" {counted(len(self.systems), 'system')}, {counted(len(self.topics), 'topic')}"
        ]

    def facts(self) -> dict[str, Any]:
        return {
            "study": self.name,
            "measures": self.measures,
            "coefficient": self.method,
            "coefficient options": self.options,
            "systems": len(self.systems),
            "topics": len(self.topics),
            "missing": self.missing,
        }

    def tables(self) -> list[Table]:
        titles = {
            "of the orders of systems over all topics": self.overall,
            "topic by topic, mean over topics": self.by_topic,
        }
        tables = []
        for title, values in titles.items():
            rows = [
                [measure, *(format_number(float(value), 3) for value in row)]
                for measure, row in zip(self.measures, values, strict=True)
            ]
            tables.append(Table(f"{METHODS[self.method]} {title}", ["", *self.measures], rows))
        return tables


def correlate(
    scores_by_measure: Any,
    *,
    method: Annotated[str, OneOf(tuple(METHODS))] = "tau",
    missing: str = "error",
    ties: str = "b",
    p: float = 0.9,
) -> Correlations:
    """Correlate the orders of systems by all pairs of measures.

    Parameters
    ----------
    scores_by_measure
        Scores by measure, such as an :class:`cranfield.Evaluation`: two measures or more, of the
        same systems on the same topics, in any order; scores as for :func:`cranfield.compare`.
    method
        Correlation coefficient between the orders of systems. `tau`: Kendall's tau-b. `tau-a`: its
        version without correction for ties. `tau-ap`: tau AP, averaged over both directions. `rbo`:
        rank-biased overlap, extrapolated. `pearson`: of the scores themselves, which requires
        interval scales. `spearman`: of their mid-ranks.
    missing
        `error`; `drop`: exclude topics that lack a score of any system by any measure; `zero`:
        count a missing score as 0.
    ties, p
        For `tau-ap`: `a` or `b`; for `rbo`: `a`, `b` or `w`, and a proportion p between 0 and 1.
        With `a`, the coefficient of a measure with ties and itself is below 1.

    Returns
    -------
    Correlations
        Overall, by the measure's own value over topics (its mean, geometric mean or sum);
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
    9 of the source; scores on a topic are tied if they differ by rounding only. `pearson` uses the
    raw scores. A topic on which all systems are tied by one of two measures has no coefficient
    (except by `tau-a`, where it is 0, and by `rbo`), and is excluded from their mean.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:6], covid.qrels, ["P@10", "nDCG@10", "RR"])
    >>> study = correlate(ev)
    >>> study
    Correlations(Kendall's tau-b: 3 measures, 6 systems, 50 topics)
    >>> study.overall.shape, study.pairs.columns[:4]
    ((3, 3), ['first', 'second', 'overall', 'by topic'])
    """
    call = check_arguments(correlate, locals())
    check_share("p", p)
    options = check_options(method, ties, p)
    by_name = by_measure(scores_by_measure)
    if len(by_name) < 2:
        raise PolicyError(f"a correlation requires at least two measures, got {len(by_name)}")
    scores, notes = complete_scores(align_scores(by_name), missing)
    reference = next(iter(scores.values()))
    if len(reference.systems) < 2 or not reference.topics:
        sizes = counted(len(reference.systems), "system"), counted(len(reference.topics), "topic")
        raise CranfieldError(
            f"a correlation requires at least two systems, got {sizes[0]} on {sizes[1]}"
        )
    is_lower_better = np.array([table.lower_is_better for table in scores.values()])
    totals = np.array([table.overall() for table in scores.values()])
    totals[is_lower_better] *= -1
    cells = np.ascontiguousarray(np.swapaxes(higher_is_better(scores.values()), 0, 1))
    order = levels_of(to_order(totals), np.zeros(len(totals)))
    topicwise = np.empty((len(cells), len(scores), len(scores)))
    for topic, values in enumerate(cells):
        levels = levels_of(values, ROUNDING * np.abs(values).max(axis=1))
        topicwise[topic] = agreement(values, levels, method, options)
    is_defined = ~np.isnan(topicwise)
    n_topics = is_defined.sum(axis=0).astype(np.int64)
    with np.errstate(invalid="ignore"):
        mean = np.where(is_defined, topicwise, 0.0).sum(axis=0) / n_topics
    lowest = np.where(is_defined, topicwise, np.inf).min(axis=0)
    return Correlations(
        call,
        measures=tuple(scores),
        overall=agreement(totals, order, method, options),
        topicwise=topicwise,
        by_topic=mean,
        lowest=np.where(n_topics > 0, lowest, np.nan),
        counted_topics=n_topics,
        topics=reference.topics,
        systems=reference.systems,
        lower_is_better=tuple(name for name, table in scores.items() if table.lower_is_better),
        notes=notes,
        options=options,
    )
