"""Study of correlations of measures: their agreement on the order of systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations_with_replacement
from os import PathLike
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, round_for_ranking
from cranfield.base.errors import CranfieldError, PolicyError, check_proportion, quote
from cranfield.base.kinds import OneOf, check_arguments
from cranfield.base.text import format_names, inflect
from cranfield.correlation import kendall_tau, tau_ap
from cranfield.correlation.overlap import check_rbo_options, compute_rbo, group_scores
from cranfield.evaluation.scorefiles import read_scores_by_measure
from cranfield.meta.study import MEASURE_PAIR, Study
from cranfield.result import Column, Columns
from cranfield.scores import Scores
from cranfield.scores.one_measure import align_scores, complete_scores
from cranfield.significance.differences import ROUNDING, encode_scores, make_pair_frame
from cranfield.significance.prepare import as_scores
from cranfield.sources.columns import is_frame
from cranfield.tabular import Table, format_number


def read_measure_scores(data: Any) -> dict[str, Scores]:
    """Read scores by measure: a mapping, `Scores`, a table or a file."""
    if isinstance(data, Scores):
        return {data.measure: data}
    if isinstance(data, (str, PathLike)) or is_frame(data):
        return read_scores_by_measure(data)
    if not isinstance(data, Mapping):
        name = type(data).__name__
        raise PolicyError(f"scores by measure must be a mapping, a table or a file, got {name}")
    if not data:
        raise PolicyError("expected at least one measure, got none")
    scores: dict[str, Scores] = {}
    for measure, table in data.items():
        name = str(measure)
        if name in scores:
            raise PolicyError(f"names of measures must be unique, got {quote(name)} twice")
        scores[name] = as_scores(table)
    return scores


def orient_values(scores: Iterable[Scores]) -> Floats:
    """Stack the values of measures, negated if lower is better; the first axis is measures."""
    return np.stack([-table.values if table.lower_is_better else table.values for table in scores])


def name_pairs(names: Sequence[str]) -> dict[str, pl.Series]:
    """Return the columns `first` and `second` of a table of all pairs of names."""
    return make_pair_frame(names, *np.triu_indices(len(names), 1)).to_dict()


def compute_preference_signs(values: Floats, first: Any, second: Any) -> Floats:
    """Return 1 where a measure prefers the first system of a pair, -1 the second, 0 for a tie.

    `values` are scores on a topic, higher is better, shape (measures, systems). NaN gives NaN.
    """
    tolerance = ROUNDING * np.nanmax(np.abs(values), axis=1, initial=0.0, keepdims=True)
    difference = values[:, first] - values[:, second]
    return np.asarray(np.where(np.abs(difference) <= tolerance, 0.0, np.sign(difference)))


METHODS = {
    "tau": "Kendall's tau-b",
    "tau-a": "Kendall's tau-a",
    "tau-ap": "Symmetric tau AP",
    "rbo": "Rank-biased overlap",
    "pearson": "Pearson's correlation",
    "spearman": "Spearman's rho",
}
"""Correlation coefficients, with their titles."""


def check_options(method: str, ties: str, p: Any) -> dict[str, Any]:
    """Check the options of a method, and return those that apply to it."""
    if method == "rbo":
        return {"ties": ties, "p": check_rbo_options(p, ties)}
    if method == "tau-ap":
        if ties not in {"a", "b"}:
            raise PolicyError(f"unknown ties {quote(ties)} for tau-ap; expected one of: a, b")
        return {"ties": ties}
    return {}


def compute_correlation_matrix(
    values: Floats, levels: Floats, method: str, options: Mapping[str, Any]
) -> Floats:
    """Compute a coefficient of each pair of measures.

    `values` have shape (measures, systems), and `levels` are the indices of the distinct values of
    each row in ascending order, so that tied systems have the same level.
    """
    if method == "spearman":
        from scipy.stats import rankdata

        return _compute_pearson(rankdata(levels, axis=1), levels)
    if method == "pearson":
        return _compute_pearson(values, levels)
    n_measures = len(levels)
    first, second = np.triu_indices(n_measures)
    matrix = np.empty((n_measures, n_measures))
    if method in {"tau", "tau-a"}:
        variant = "b" if method == "tau" else "a"
        matrix[first, second] = kendall_tau(levels[first], levels[second], variant=variant)
    elif method == "tau-ap":
        matrix[first, second] = tau_ap(levels[first], levels[second], symmetric=True, **options)
    else:
        positions = [group_scores(row) for row in levels]
        matrix[first, second] = [
            compute_rbo(a, b, options["p"], options["ties"])[0]
            for a, b in combinations_with_replacement(positions, 2)
        ]
    matrix[second, first] = matrix[first, second]
    return matrix


def _compute_pearson(values: Floats, levels: Floats) -> Floats:
    """Compute Pearson's correlation of all pairs of rows; NaN for a row with a single level."""
    with np.errstate(invalid="ignore", divide="ignore"):
        # Scaling prevents squares from underflow and overflow.
        ratios = values / np.abs(values).max(axis=1, keepdims=True)
        deviations = ratios - ratios.mean(axis=1, keepdims=True)
        unit_vectors = deviations / np.sqrt((deviations**2).sum(axis=1, keepdims=True))
        correlation = np.clip(unit_vectors @ unit_vectors.T, -1.0, 1.0)
    is_constant = (levels == levels[:, :1]).all(axis=1)
    return np.where(is_constant | is_constant[:, None], np.nan, correlation)


class Correlations(Study):
    """Correlations of the orders of systems by all pairs of measures.

    Attributes
    ----------
    measures
        Text forms of the measures, in order.
    overall
        Correlations of the overall values of systems; shape (measures, measures).
    topicwise
        Correlations of scores on each topic, NaN where they are undefined; shape (topics, measures,
        measures).
    by_topic, lowest
        Mean and minimum of `topicwise` over the topics where it is defined, NaN without such
        topics; shape (measures, measures).
    n_defined_topics
        Number of topics where `topicwise` is defined; shape (measures, measures).
    topics, systems
        Names of the compared topics and systems.
    lower_is_better
        The measures for which lower scores are better; their scores were negated.
    notes
        Notes on topics or scores that were excluded or imputed.
    options
        Options of the coefficient: `ties` for `tau-ap` and `rbo`, and `p` for `rbo`.
    """

    name = "correlations"
    reference: ClassVar[str] = "Ferrante, Ferro and Fuhr (2021)"
    table_attributes: ClassVar[Sequence[str]] = ("pairs",)
    columns: ClassVar[Columns] = {
        **MEASURE_PAIR,
        "overall": Column(
            "Correlation of the overall scores of systems by the two measures; null if undefined."
        ),
        "by topic": Column("Mean over topics of the correlation on each; null if never defined."),
        "lowest": Column("Lowest correlation on a topic; null if never defined."),
        "lowest topic": Column("First topic with the lowest correlation, or null.", key=True),
        "topics": Column("Number of topics on which the correlation is defined."),
    }

    @property
    def pairs(self) -> pl.DataFrame:
        """The table `correlations`, a row for each pair of measures."""
        indices = np.triu_indices(len(self.measures), 1)
        coefficients = self.topicwise[:, *indices]
        lowest_index = np.where(np.isnan(coefficients), np.inf, coefficients).argmin(axis=0)
        pairs = {
            **name_pairs(self.measures),
            "overall": self.overall[indices],
            "by topic": self.by_topic[indices],
            "lowest": self.lowest[indices],
            "lowest topic": pl.Series(self.topics, dtype=pl.String).gather(lowest_index),
            "topics": self.n_defined_topics[indices],
        }
        topic = pl.when(pl.col("topics") > 0).then("lowest topic").alias("lowest topic")
        return pl.DataFrame(pairs).fill_nan(None).with_columns(topic)

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.pairs.drop_nulls("overall").sort("overall")
        if rows.is_empty():
            return ()
        low, high = rows["overall"][0], rows["overall"][-1]

        def name_pairs_at(extreme: float) -> str:
            """Name the pairs of measures with this coefficient, to two decimals."""
            equal_rows = rows.filter(pl.col("overall").round(2) == round(extreme, 2))
            names = equal_rows.select(pl.format("{}/{}", "first", "second"))
            return format_names(names.to_series().to_list(), "pair")

        lead = f"The orders of systems by {name_pairs_at(high)} have {self.method} {high:.2f}."
        if low < high:
            lead = (
                f"The orders of systems agree most for {name_pairs_at(high)} ({self.method}"
                f" {high:.2f}), least for {name_pairs_at(low)} ({low:.2f})."
            )
        return (
            lead,
            f"The orders are by overall scores of {inflect(len(self.systems), 'system')} on"
            f" {inflect(len(self.topics), 'topic')}.",
        )

    def heading(self) -> list[str]:
        return [
            f"{METHODS[self.method]}: {inflect(len(self.measures), 'measure')},"
            f" {inflect(len(self.systems), 'system')}, {inflect(len(self.topics), 'topic')}"
        ]

    def facts(self) -> dict[str, Any]:
        return {
            "study": self.name,
            "measures": self.measures,
            "coefficient": self.method,
            "coefficient options": self.options,
            "n_systems": len(self.systems),
            "n_topics": len(self.topics),
            "missing": self.missing,
        }

    def tables(self) -> list[Table]:
        titles = {
            "of the orders of systems over all topics": self.overall,
            "of the orders of systems on each topic, mean over topics": self.by_topic,
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
        Scores by measure, such as an :class:`cranfield.Evaluation`, of at least two measures with
        the same systems and topics in any order; scores as for :func:`cranfield.compare`.
    method
        Correlation coefficient between the orders of systems. `tau`: Kendall's tau-b. `tau-a`:
        Kendall's tau without correction for ties. `tau-ap`: tau AP, averaged over both directions.
        `rbo`: extrapolated rank-biased overlap. `pearson`: Pearson's correlation of the scores,
        which requires interval scales. `spearman`: Pearson's correlation of mid-ranks.
    missing
        `error`; `drop`: exclude topics on which a system has no score by a measure; `zero`: count
        missing scores as 0.
    ties, p
        For `tau-ap`, ties `a` or `b`; for `rbo`, ties `a`, `b` or `w`, and persistence p between 0
        and 1. With `a`, a measure with ties has a coefficient below 1 with itself.

    Returns
    -------
    Correlations
        Correlations of the orders of systems by their values over all topics (mean, geometric mean
        or sum), and of the orders on each topic, with the mean and the minimum over topics
        (Ferrante, Ferro and Fuhr 2021, section 3.3).

    Raises
    ------
    PolicyError
        For an unknown method or policy, scores by shard, or fewer than two measures.
    CranfieldError
        For different systems or topics, fewer than two systems, infinite or missing scores.

    Notes
    -----
    Scores of measures for which lower is better are negated first, so that measures that agree on
    the better system correlate positively.

    Values over topics are rounded to 8 decimals before systems are ordered by them, as in footnote
    9 of the source; scores on a topic are tied if they differ by no more than rounding. `pearson`
    uses raw scores. If a measure ties all systems on a topic, its coefficients there are undefined
    and excluded from means (except by `tau-a`, and `tau-ap` with ties `a`, where they are 0, and by
    `rbo`).

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
    check_proportion("p", p)
    options = check_options(method, ties, p)
    all_scores = read_measure_scores(scores_by_measure)
    if len(all_scores) < 2:
        raise PolicyError(f"a correlation requires at least two measures, got {len(all_scores)}")
    scores, notes = complete_scores(align_scores(all_scores), missing)
    reference = next(iter(scores.values()))
    if len(reference.systems) < 2 or not reference.topics:
        raise CranfieldError(
            "a correlation requires at least two systems and one topic, got"
            f" {inflect(len(reference.systems), 'system')} on"
            f" {inflect(len(reference.topics), 'topic')}"
        )
    overall_values = np.array(
        [-s.overall() if s.lower_is_better else s.overall() for s in scores.values()]
    )
    topic_values = np.ascontiguousarray(np.swapaxes(orient_values(scores.values()), 0, 1))
    overall_levels = np.array(
        [np.unique(row, return_inverse=True)[1] for row in round_for_ranking(overall_values)],
        dtype=np.float64,
    )
    topicwise = np.empty((len(topic_values), len(scores), len(scores)))
    for topic, values in enumerate(topic_values):
        levels = np.stack([encode_scores(row) for row in values]).astype(np.float64)
        topicwise[topic] = compute_correlation_matrix(values, levels, method, options)
    is_defined = ~np.isnan(topicwise)
    n_defined_topics = is_defined.sum(axis=0).astype(np.int64)
    with np.errstate(invalid="ignore"):
        mean_by_topic = np.where(is_defined, topicwise, 0.0).sum(axis=0) / n_defined_topics
    lowest = np.where(is_defined, topicwise, np.inf).min(axis=0)
    return Correlations(
        call,
        measures=tuple(scores),
        overall=compute_correlation_matrix(overall_values, overall_levels, method, options),
        topicwise=topicwise,
        by_topic=mean_by_topic,
        lowest=np.where(n_defined_topics > 0, lowest, np.nan),
        n_defined_topics=n_defined_topics,
        topics=reference.topics,
        systems=reference.systems,
        lower_is_better=tuple(name for name, table in scores.items() if table.lower_is_better),
        notes=notes,
        options=options,
    )
