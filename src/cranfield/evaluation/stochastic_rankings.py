"""Fairness over several rankings: expected exposure, and equity of attention.

Both compare the exposure of each document, aggregated over rankings, with its relevance. Documents
must therefore be identified across rankings. Judged runs identify only groups of documents, so with
`by='document'` each document becomes a group of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError, warn
from cranfield.base.text import inflect
from cranfield.collection.document_tables import DocumentTable
from cranfield.collection.files.many_runs import read_runs
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import judge
from cranfield.collection.judged.rows import divide, find_positions
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.evaluation.evaluation import describe_effect_of_orders
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.measures.fairness.attention import InequityOfAttention
from cranfield.measures.fairness.exposure import ExpectedExposure
from cranfield.result import Column, Columns, TableResult
from cranfield.scores import Scores
from cranfield.scores.replicates import split_run_names

MeasureType = TypeVar("MeasureType", bound=Measure)
EXPOSURE = ("EEL", "EED", "EER")  # measures of expected exposure
EQUITY = ("IAA(browsing='geometric')",)  # measures of equity of attention


def make_document_groups(runs: Iterable[Run], qrels: Qrels) -> DocumentTable:
    """Return a table of groups in which each document of runs or judgments is its own group."""
    docs = pl.concat([*(run.docs.unique() for run in runs), qrels.docs.unique()]).unique().sort()
    numbers = np.arange(len(docs))
    return DocumentTable(docs.rechunk(), np.ones(len(docs)), numbers, tuple(docs), "documents")


def expected_exposure(
    runs: Any, qrels: Any, measures: Any = EXPOSURE, *, replicates: Any = None, **options: Any
) -> dict[str, Scores]:
    r"""Score stochastic rankings by expected exposure, from several rankings of each system.

    The exposure of a document (or group, with `by='group'`) is a mean over the rankings of a system
    for a topic, with 0 where it is not retrieved; EEL, EED and EER are computed from these means:

    .. math:: EE\text{-}L = \sum_d (\bar\varepsilon_d - \varepsilon^*_d)^2, \quad
        EE\text{-}D = \sum_d \bar\varepsilon_d^2, \quad
        EE\text{-}R = \sum_d \bar\varepsilon_d \varepsilon^*_d, \quad
        \bar\varepsilon_d = \frac1R \sum_r \varepsilon_{dr}

    over all documents that are retrieved or judged; the target exposure of unjudged ones is 0.

    Parameters
    ----------
    runs, qrels
        As for :func:`cranfield.evaluate`; runs are samples of the rankings of systems.
    measures
        `EEL`, `EED` or `EER`, with parameters and cutoffs, such as `EEL(p=0.8)@20`.
    replicates
        A table with the columns `run`, `system` and `replicate`. By default the names of runs have
        the form `SYSTEM@REPLICATE`; a run with another name is a system with one ranking per topic.
    options
        As for :func:`cranfield.judge`.

    Returns
    -------
    dict
        By measure, the :class:`Scores` by topic and system; NaN without a scored ranking.

    Raises
    ------
    MeasureError
        For other measures.

    Notes
    -----
    Source: Diaz, Mitra, Ekstrand, Biega and Carterette (2020). With one ranking of each system the
    scores are equal to the result of :func:`cranfield.evaluate`. With several, the mean of those
    scores over rankings is not expected exposure: it can be the same for a system that always
    returns one ranking, and for a system that distributes exposure over several.

    Examples
    --------
    >>> runs = {
    ...     "fair@1": {"q": {"a": 3, "b": 2, "c": 1}}, "fair@2": {"q": {"c": 3, "a": 2, "b": 1}},
    ... }
    >>> scores = expected_exposure(runs, {"q": {"a": 1, "b": 1, "c": 0}})
    >>> {name: table["fair"]["q"] for name, table in scores.items()}
    {'EEL': 0.28125, 'EED': 1.09375, 'EER': 1.0}
    """
    parsed = _parse_family(measures, ExpectedExposure, "EEL, EED or EER")
    scores: dict[str, Scores] = {}
    for measure, judged in _judge_by_measure(parsed, runs, qrels, options):
        systems, run_systems = _find_systems(judged, replicates)
        values = _score_exposure(measure, judged, run_systems, len(systems))
        settings = judged.describe_settings(measure)
        table = Scores(values, judged.topics, systems, definition=measure, settings=settings)
        if not scores:
            judged.coverage.warn()
        score = partial(_score_exposure, measure, run_systems=run_systems, n_systems=len(systems))
        aggregate = partial(_compute_overall, table)
        notes = describe_effect_of_orders(judged, [measure], score, aggregate, systems, run_systems)
        for note in notes:
            warn(note)
        scores[measure.label] = table
    return scores


def _compute_overall(table: Scores, values: Floats) -> Floats:
    return replace(table, values=values).overall()


def _parse_family(measures: Any, family: type[MeasureType], names: str) -> list[MeasureType]:
    """Parse measures of a family; `names` describes them in messages."""
    parsed = []
    for measure in parse_measures(measures):
        if not isinstance(measure, family):
            raise MeasureError(f"expected {names}, got {measure}")
        parsed.append(measure)
    return parsed


def _judge_by_measure(
    measures: Sequence[Any], runs: Any, qrels: Any, options: dict[str, Any]
) -> list[tuple[Any, JudgedRuns]]:
    """Judge runs for each measure, with the groups of the caller or of one document each."""
    run_list, judgments = read_runs(runs), read_qrels(qrels)
    judged_by_unit = {}
    for unit in dict.fromkeys(measure.by for measure in measures):
        groups = {"groups": make_document_groups(run_list, judgments)} if unit == "document" else {}
        judged_by_unit[unit] = judge(run_list, judgments, **(options | groups))
    for measure in measures:
        measure.require_complete()
        measure.require_readable(judged_by_unit[measure.by])
    return [(measure, judged_by_unit[measure.by]) for measure in measures]


def _find_systems(judged: JudgedRuns, replicates: Any) -> tuple[tuple[str, ...], Ints]:
    """Return the systems whose rankings the runs contain, and the index of the system per run."""
    names = [
        system for system, _ in split_run_names(judged.systems, replicates, allows_single=True)
    ]
    systems = tuple(dict.fromkeys(names))
    return systems, np.array([systems.index(name) for name in names])


def _score_exposure(
    measure: ExpectedExposure, judged: JudgedRuns, run_systems: Ints, n_systems: int
) -> Floats:
    """Return the scores by expected exposure; shape (topics, systems)."""
    view = measure.cut_off(judged)
    n_topics, n_groups = view.shape[0], len(view.groups(str(measure)).names)
    rows, exposure = measure.sum_exposure_by_group(view)
    n_rankings = _sum_by_system(view.is_scored.astype(np.float64), run_systems, n_systems)
    cell = run_systems[rows.cell // n_topics] * n_topics + rows.topic
    keys, positions = np.unique(cell * n_groups + rows.grade, return_inverse=True)
    exposure_sums = np.bincount(positions, exposure * rows.at(view.is_scored), keys.size)
    mean_exposure = divide(exposure_sums, n_rankings.T.ravel()[keys // n_groups])
    target_keys, targets = _sum_by_group(measure, view, measure.compute_targets(view.judgments))
    positions, is_judged = find_positions(target_keys, keys % (n_topics * n_groups))
    target = np.where(is_judged, np.append(targets, 0.0)[positions], 0.0)
    disparity, relevance = (
        np.bincount(keys // n_groups, values, n_topics * n_systems).reshape(n_systems, n_topics).T
        for values in (mean_exposure**2, mean_exposure * target)
    )
    target_squares = np.bincount(target_keys // n_groups, targets**2, n_topics)[:, None]
    values = {
        "EED": disparity,
        "EER": relevance,
        "EEL": np.maximum(disparity - 2 * relevance + target_squares, 0.0),
    }[measure.info.name]
    return np.where(n_rankings > 0, values, np.nan)


def _sum_by_system(values: Floats, run_systems: Ints, n_systems: int) -> Floats:
    """Sum values of runs, shape (topics, runs), by system; shape (topics, systems)."""
    sums = np.zeros((n_systems, values.shape[0]))
    np.add.at(sums, run_systems, values.T)
    return sums.T


def _sum_by_group(measure: Measure, judged: JudgedRuns, values: Floats) -> tuple[Ints, Floats]:
    """Sum the values of judgments by topic and group; keys are topic * n_groups + group."""
    judgments, groups = judged.judgments, judged.groups(str(measure))
    group_keys = judgments.topic[groups.judgment] * len(groups.names) + groups.group
    keys, positions = np.unique(group_keys, return_inverse=True)
    sums = np.bincount(positions, groups.weight * values[groups.judgment], keys.size)
    return keys, sums.astype(np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class EquityOfAttention(TableResult):
    """Equity of attention over a series of rankings; returned by :func:`equity_of_attention`.

    Attributes
    ----------
    measure
        The measure, with its parameters.
    notes
        Notes on the coverage of runs by judgments, effects of ties, and excluded rankings.
    """

    name: ClassVar[str] = "equity"
    columns: ClassVar[Columns] = {
        "system": Column("System.", key=True),
        "rankings": Column("Number of rankings in the series, except excluded ones."),
        "recurring": Column("Number of documents or groups with attention in several rankings."),
        "unfairness": Column(
            "Sum of the absolute differences between accumulated attention and accumulated"
            " relevance, from 0 to twice the number of rankings; lower is better."
        ),
        "per ranking": Column(
            "Unfairness divided by the number of rankings, from 0 to 2; 0 without rankings."
        ),
    }

    measure: str
    notes: tuple[str, ...] = ()

    def heading(self) -> list[str]:
        return [f"equity of attention by {self.measure}, accumulated over all rankings"]


def equity_of_attention(
    runs: Any, qrels: Any, measure: Any = EQUITY[0], *, replicates: Any = None, **options: Any
) -> EquityOfAttention:
    r"""Compare the attention of documents or groups over a series of rankings with their relevance.

    The series of a system has the rankings of all topics, and all replicates of each. With the
    attention :math:`a_{dr}` and the relevance :math:`\rho_{dr}` in ranking r, each summing to 1
    over a ranking,

    .. math:: \sum_d \Bigl| \sum_r a_{dr} - \sum_r \rho_{dr} \Bigr|

    Parameters
    ----------
    runs, qrels
        As for :func:`cranfield.evaluate`.
    measure
        `IAA` with parameters: `browsing` and `p` define the attention at each rank, a cutoff the
        ranks with attention, `gains` the relevance of a grade, and `by` whether documents or groups
        are compared.
    replicates
        As for :func:`expected_exposure`.
    options
        As for :func:`cranfield.judge`, such as `groups`.

    Returns
    -------
    EquityOfAttention
        A row for each system.

    Raises
    ------
    MeasureError
        For other measures.

    Notes
    -----
    Source: Biega, Gummadi and Weikum (2018). The order of rankings does not matter. A document, or
    group, that lacks attention in one ranking can receive it in another only if it recurs.
    Empty rankings and rankings of topics without relevant documents are excluded, and counted in a
    note.

    Examples
    --------
    >>> runs = {"s@1": {"q": {"a": 2, "b": 1}}, "s@2": {"q": {"b": 2, "a": 1}}}
    >>> print(equity_of_attention(runs, {"q": {"a": 3, "b": 2}}))
    equity of attention by IAA(browsing='geometric'), accumulated over all rankings
    <BLANKLINE>
    system  rankings  recurring  unfairness  per ranking
    s              2          2      0.4000       0.2000
    """
    measures = _parse_family(measure, InequityOfAttention, "IAA")
    if len(measures) > 1:
        raise MeasureError(f"expected one measure, got {len(measures)}")
    [(parsed, judged)] = _judge_by_measure(measures, runs, qrels, options)
    systems, run_systems = _find_systems(judged, replicates)
    table, n_excluded = _accumulate_attention(parsed, judged, systems, run_systems)

    def compute_unfairness(order: JudgedRuns) -> Floats:
        table, _ = _accumulate_attention(parsed, order, systems, run_systems)
        return table["per ranking"].to_numpy()

    tie_notes = describe_effect_of_orders(
        judged, measures, compute_unfairness, np.asarray, systems, run_systems
    )
    notes = [*judged.coverage.notes, *tie_notes]
    if n_excluded:
        rankings = inflect(n_excluded, "ranking")
        notes.append(f"{rankings} excluded: empty, or of a topic without relevant documents")
    return EquityOfAttention(table, str(parsed), tuple(notes))


def _accumulate_attention(
    measure: InequityOfAttention, judged: JudgedRuns, systems: Sequence[str], run_systems: Ints
) -> tuple[pl.DataFrame, int]:
    """Return the table of equity of attention, and the number of excluded rankings."""
    view = measure.cut_off(judged)
    n_topics, n_groups = view.shape[0], len(view.groups(str(measure)).names)
    rows, exposure = measure.sum_exposure_by_group(view)
    attention = divide(exposure, rows.at(rows.total(exposure)))
    keys, relevance = _sum_by_group(measure, view, measure.compute_judgment_gains(view))
    topic, group = keys // n_groups, keys % n_groups
    topic_relevance = np.bincount(topic, relevance, n_topics)
    is_counted = (rows.total(exposure) > 0) & (topic_relevance > 0)[:, None] & view.is_scored
    cell = run_systems[rows.cell // n_topics], rows.grade
    # By system and group: number of rankings with attention, and attention minus relevance.
    n_exposed, differences = np.zeros((2, len(systems), n_groups))
    np.add.at(n_exposed, cell, rows.at(is_counted))
    np.add.at(differences, cell, attention * rows.at(is_counted))
    n_counted = _sum_by_system(is_counted.astype(np.float64), run_systems, len(systems))
    proportion = divide(relevance, topic_relevance[topic])
    np.subtract.at(differences.T, group, n_counted[topic] * proportion[:, None])
    unfairness, n_rankings = np.abs(differences).sum(axis=1), n_counted.sum(axis=0)
    columns = {
        "system": systems,
        "rankings": n_rankings.astype(np.int64),
        "recurring": (n_exposed > 1).sum(axis=1),
        "unfairness": unfairness,
        "per ranking": divide(unfairness, n_rankings),
    }
    return pl.DataFrame(columns), int((view.is_scored & ~is_counted).sum())
