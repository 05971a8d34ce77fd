"""Preferences between rankings, which compare systems without scores and assume no scale."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices, Ints
from cranfield.base.errors import CranfieldError, PolicyError, check_choice
from cranfield.base.kinds import Integer, check_arguments
from cranfield.base.text import inflect
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.evaluation.evaluation import Evaluation
from cranfield.result import Column, Columns, TableResult
from cranfield.significance.comparison.compare import compare
from cranfield.significance.corrections.pvalue_corrections import adjust_pvalues
from cranfield.significance.differences import append_values, make_pair_frame, make_pairs
from cranfield.significance.pairwise.ranks import compute_binomial_pvalues
from cranfield.significance.prepare import find_baseline

NOT_RETRIEVED = np.inf  # rank of a relevant document that a system did not retrieve
_ROUNDING = 1e-12  # largest rounding error of a mean of signs

PreferenceFunction = Callable[[Floats, Floats], Floats]
"""Takes ascending ranks of relevant documents by the first and by the second system of each pair,
shape (pairs, documents); returns a preference by pair, positive for the first system."""


def _make_recall_paired_preference(weigh: Callable[[Floats], Floats]) -> PreferenceFunction:
    """Return a recall-paired preference; `weigh` returns the weights of recall levels."""

    def prefer(first: Floats, second: Floats) -> Floats:
        weights = weigh(np.arange(1.0, first.shape[1] + 1))
        mean = _compare_ranks(first, second) @ weights / weights.sum()
        return np.where(np.abs(mean) < _ROUNDING, 0.0, mean)

    return prefer


def _compare_ranks(first: Floats, second: Floats) -> Floats:
    """Return 1 if the first rank is better, -1 if the second is, and 0 if they are equal."""
    return (first < second).astype(float) - (first > second)


def _select_first_nonzero(differences: Floats) -> Floats:
    """Return the first value of each row that is not 0, or 0."""
    rows = np.arange(len(differences))
    return np.asarray(differences[rows, (differences != 0).argmax(axis=1)])


PREFERENCES: dict[str, PreferenceFunction] = {
    "RPP": _make_recall_paired_preference(np.ones_like),
    "RPP-inverse": _make_recall_paired_preference(lambda level: 1 / level),
    "RPP-DCG": _make_recall_paired_preference(lambda level: 1 / np.log2(level + 1)),
    "lexiprecision": lambda first, second: _select_first_nonzero(_compare_ranks(first, second)),
    "lexirecall": lambda first, second: _select_first_nonzero(
        _compare_ranks(first, second)[:, ::-1]
    ),
    "rr-lexiprecision": lambda first, second: _select_first_nonzero(1 / first - 1 / second),
}
"""Preferences by name."""

DEFAULT_PREFERENCES = ("RPP", "lexiprecision", "lexirecall", "innate@10")
NAME_COLUMNS = ("system", "other")  # columns with the names of a pair
OPEN = 2  # code of two rankings without an innate order


def find_innate_order(first: Ints, second: Ints) -> Ints:
    """Return the innate order of pairs of rankings, from grades by rank, shape (pairs, ranks).

    The order is 1 if all measures that reward relevance and higher ranks prefer the first ranking,
    -1 if all prefer the second, 0 if the rankings have the same grades, and otherwise `OPEN`.
    """
    is_better = np.ones(len(first), dtype=bool)
    is_worse = is_better.copy()
    for grade in range(1, int(max(first.max(initial=0), second.max(initial=0))) + 1):
        lead = np.cumsum((first >= grade).astype(np.int64) - (second >= grade), axis=1)
        is_better &= (lead >= 0).all(axis=1)
        is_worse &= (lead <= 0).all(axis=1)
    return np.where(is_better | is_worse, is_better.astype(np.int64) - is_worse, OPEN)


def order_pairs(grades: Ints, first: Indices, second: Indices) -> Ints:
    """Order pairs of systems for each topic, from grades by topic, system and rank."""
    return np.array([find_innate_order(topic[first], topic[second]) for topic in grades])


def _parse_depth(name: str) -> int | None:
    """Return the depth of an innate order, such as innate@10; None for other preferences."""
    match = re.fullmatch(r"innate@([1-9]\d{0,3})", name)
    return int(match[1]) if match else None


@dataclass(frozen=True, eq=False, repr=False)
class PreferenceComparison(TableResult):
    """Preferences between pairs of systems; returned by :func:`compare_preferences`.

    Attributes
    ----------
    n_topics
        Number of topics with a relevant document.
    rel, correction
        Options of :func:`compare_preferences`.
    notes
        Notes on excluded topics, and on runs of different depths.
    """

    name: ClassVar[str] = "preferences"
    columns: ClassVar[Columns] = {
        "preference": Column("Name of the preference, such as RPP.", key=True),
        "system": Column("First system of the pair.", key=True),
        "other": Column("Second system.", key=True),
        "mean": Column("Mean preference over topics, from -1 to 1; above 0 for the first system."),
        "wins": Column("Number of topics on which the first system is preferred.", 0),
        "losses": Column("Number of topics on which the second system is preferred.", 0),
        "ties": Column("Number of topics without a preference.", 0),
        "p": Column("p-value of the exact two-sided sign test of wins and losses.", is_pvalue=True),
        "adjusted p": Column(
            "p-value, corrected for all pairs by this preference.", is_pvalue=True
        ),
    }

    n_topics: int
    rel: int
    correction: str
    notes: tuple[str, ...] = ()

    def heading(self) -> list[str]:
        return [
            f"preferences between rankings: {inflect(self.n_topics, 'topic')}, relevant from grade"
            f" {self.rel}; sign test, correction {self.correction}"
        ]


def compare_preferences(
    judged: JudgedRuns,
    preferences: str | Iterable[str] = DEFAULT_PREFERENCES,
    *,
    rel: Annotated[int, Integer(1)] = 1,
    baseline: str | int | None = None,
    correction: str = "holm",
) -> PreferenceComparison:
    r"""Compare systems by preferences between their rankings of each topic.

    A preference compares the ranks :math:`x_i` and :math:`y_i` of the i-th relevant document in two
    rankings of a topic with m relevant documents. It does not use scores, so it assumes no scale.
    Documents that are not retrieved have rank infinity.

    .. math:: RPP(x, y) = \sum_{i=1}^{m} w_i \, \mathrm{sgn}(y_i - x_i), \quad \sum_i w_i = 1

    - `RPP`, recall-paired preference: all recall levels i have the same weight. In `RPP-inverse`
      the weights are proportional to :math:`1/i`, in `RPP-DCG` to :math:`1/\log_2(i + 1)`.
    - `lexiprecision`: 1 or -1, decided at the lowest level i at which the ranks differ, 0 if they
      are equal. `rr-lexiprecision` is the difference of reciprocal ranks at that level.
    - `lexirecall`: 1 or -1, decided at the highest level at which the ranks differ.
    - `innate@10`, or another depth: 1 or -1 if the first 10 ranks of one ranking are better by all
      measures that increase if a document becomes more relevant, or if a more relevant document
      moves up; 0 if the grades are the same or measures disagree (see
      :func:`cranfield.meta.innate_orders`).

    Parameters
    ----------
    judged
        Judged runs of at least two systems, from :func:`cranfield.judge`.
    preferences
        Names of preferences.
    rel
        Lowest relevant grade.
    baseline
        System to compare all others with, by name or by index from 0; by default, all pairs.
    correction
        Correction by preference: `none`, `bonferroni`, `sidak`, `holm`, `hommel`, `bh` or `by`.

    Returns
    -------
    PreferenceComparison
        A row for each preference and pair of systems.

    Raises
    ------
    PolicyError
        For an invalid argument, or an unknown preference or baseline.
    CranfieldError
        For fewer than two systems, or no topic with a relevant document.

    Notes
    -----
    Sources: RPP, Diaz and Ferraro (2022); lexiprecision, Diaz (2023); lexirecall, Diaz, Ekstrand
    and Mitra (2025); the sign test of innate orders, Moffat and Mackenzie (2024). RPP,
    lexiprecision and lexirecall are defined as in the authors' software, with binary relevance
    (grades of at least `rel`); innate orders use all grades. Topics without a relevant document are
    excluded.

    Neither RPP nor its mean over topics is transitive, so neither can rank more than two systems.
    Below the end of a shorter run the longer run is preferred, so compare runs of the same depth.
    The sign test assumes that topics are independent; it ignores the size of preferences.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> print(compare_preferences(cf.judge(covid.runs[:2], covid.qrels)))
    preferences between rankings: 50 topics, relevant from grade 1; sign test, correction holm
    <BLANKLINE>
    preference     system         other              mean  wins  losses  ties       p  adjusted p
    RPP            UPrrf93-wt-r5  UPrrf102-wt-r5  -0.0027    21      27     2  0.4709      0.4709
    lexiprecision  UPrrf93-wt-r5  UPrrf102-wt-r5  -0.2800    18      32     0  0.0649      0.0649
    lexirecall     UPrrf93-wt-r5  UPrrf102-wt-r5  -0.0400    24      26     0  0.8877      0.8877
    innate@10      UPrrf93-wt-r5  UPrrf102-wt-r5  -0.0600    10      13    27  0.6776      0.6776
    """
    check_arguments(compare_preferences, locals())
    if not isinstance(judged, JudgedRuns):
        raise PolicyError(f"expected judged runs, from judge(), got {type(judged).__name__}")
    judged.policies.require_order("preferences between rankings")
    names = [preferences] if isinstance(preferences, str) else list(dict.fromkeys(preferences))
    for name in names:
        if _parse_depth(name) is None:
            check_choice("preference", name, (*PREFERENCES, "innate@10"))
    systems = judged.systems
    if len(systems) < 2:
        raise CranfieldError(f"preferences require at least two systems, got {len(systems)}")
    baselines = [] if baseline is None else [find_baseline(systems, baseline)]
    pairs = make_pairs(np.empty((0, len(systems))), baselines)
    first, second = pairs.first, pairs.second
    has_relevant = judged.recall_base(rel)[:, 0] > 0
    if not has_relevant.any():
        raise CranfieldError(f"no topic has a relevant document (grade {rel} or higher)")
    n_topics, ranks = int(has_relevant.sum()), list(_iterate_ranks(judged, rel))
    pair_rows = make_pair_frame(systems, first, second, NAME_COLUMNS)
    frames = []
    for name in names:
        if depth := _parse_depth(name):
            orders = order_pairs(judged.grades_by_rank(depth)[has_relevant], first, second)
            values = np.where(orders == OPEN, 0.0, orders)
        else:
            prefer = PREFERENCES[name]
            values = np.array([prefer(r[first], r[second]) for r in ranks])
        wins, losses = (values > 0).sum(axis=0), (values < 0).sum(axis=0)
        pvalues = compute_binomial_pvalues(wins, losses)
        counts = wins, losses, n_topics - wins - losses
        adjusted_pvalues = adjust_pvalues(pvalues, correction)
        rows = pair_rows.select(pl.lit(name).alias("preference"), pl.all())
        columns = values.mean(axis=0), *counts, pvalues, adjusted_pvalues
        frames.append(append_values(rows, PreferenceComparison.columns, *columns))
    notes = []
    if n_excluded := len(judged.topics) - n_topics:
        notes.append(f"{inflect(n_excluded, 'topic')} excluded for lack of a relevant document")
    depths = judged.n_retrieved.max(axis=0)
    if depths.min() < depths.max():
        notes.append(
            f"runs have different depths ({depths.min():,} to {depths.max():,} documents); below"
            " the end of a shorter run the longer run is preferred; pass depth=... when judging to"
            " cut all runs at the same depth"
        )
    return PreferenceComparison(pl.concat(frames), n_topics, int(rel), correction, tuple(notes))


def _iterate_ranks(judged: JudgedRuns, rel: int) -> Iterator[Floats]:
    """Yield the ascending ranks of relevant documents, by system, for topics that have any."""
    rows = judged.relevant(rel)
    n_relevant = judged.recall_base(rel)[:, 0]
    n_topics, n_systems = judged.shape
    for topic in np.flatnonzero(n_relevant):
        ranks = np.full((n_systems, n_relevant[topic]), NOT_RETRIEVED)
        indices = np.flatnonzero(rows.topic == topic)
        ranks[rows.cell[indices] // n_topics, rows.row_numbers[indices] - 1] = rows.rank[indices]
        yield ranks


@dataclass(frozen=True, eq=False, repr=False)
class Corroboration(TableResult):
    """Differences by one measure, and innate sign tests; returned by :func:`corroborate`.

    Attributes
    ----------
    measure
        The measure.
    depth
        Number of top ranks of the innate orders: the cutoff of the measure.
    n_topics
        Number of topics.
    alpha
        Significance level of both tests.
    method
        Test of differences by the measure, and its correction.
    notes
        Notes of the comparison by the measure.
    seed
        Seed if the test or the correction draws random numbers, else None.
    """

    name: ClassVar[str] = "corroboration"
    columns: ClassVar[Columns] = {
        "system": Column("First system of the pair.", key=True),
        "other": Column("Second system.", key=True),
        "difference": Column("Mean of the first system minus that of the second, or as noted."),
        "p": Column("p-value of the test of the measure, corrected for the pairs.", is_pvalue=True),
        "better": Column(
            "Number of topics on which the first ranking is innately better: preferred by all"
            " measures that reward relevance and higher ranks.",
            0,
        ),
        "worse": Column("Number of topics on which the second ranking is innately better.", 0),
        "same": Column("Number of topics on which the rankings have the same grades.", 0),
        "open": Column("Number of topics on which measures may prefer different rankings.", 0),
        "innate p": Column(
            "p-value of the exact two-sided sign test of better and worse topics, corrected for"
            " the pairs by Holm's method.",
            is_pvalue=True,
        ),
        "corroborated": Column(
            "For pairs that differ significantly by the measure: `yes` if the sign test of better"
            " and worse topics is significant in the same direction, `contradicted` if in the"
            " opposite direction, otherwise `no`. Null for other pairs."
        ),
    }

    measure: str
    depth: int
    n_topics: int
    alpha: float
    method: str
    notes: tuple[str, ...] = ()
    seed: int | None = None

    def heading(self) -> list[str]:
        outcomes = self.rows["corroborated"].drop_nulls().to_list()
        pairs_text = inflect(len(outcomes), "significant pair")
        verdict = f"{outcomes.count('yes')} of {pairs_text} corroborated"
        if n_contradicted := outcomes.count("contradicted"):
            verdict += f", {n_contradicted} contradicted"
        return [
            f"{self.measure}: {self.method}; innate: sign test of topics on which one ranking of"
            f" {inflect(self.depth, 'rank')} is innately better, with Holm's correction;"
            f" {inflect(self.n_topics, 'topic')}, alpha {self.alpha:g}",
            verdict,
        ]


def corroborate(evaluation: Evaluation, **options: Any) -> Corroboration:
    r"""Test differences by one measure, and corroborate them by the innate sign test.

    Instead of a table of many measures, choose one measure and test whether all others agree. On a
    topic, one of two rankings is innately better if it is preferred by all measures that increase
    if a document becomes more relevant, or if a more relevant document moves up
    (:func:`cranfield.meta.innate_orders`). If the first ranking is innately better on b topics, and
    innately worse on w topics, the p-value of the sign test is

    .. math:: p = \min\Bigl(1, \; 2 \sum_{i=0}^{\min(b, w)} \binom{b + w}{i} 2^{-(b + w)}\Bigr)

    Parameters
    ----------
    evaluation
        Evaluation of at least two systems by one measure, from :func:`cranfield.evaluate`. Rankings
        are compared down to the cutoff of the measure.
    **options
        Options of :func:`cranfield.compare` for the test of the measure.

    Returns
    -------
    Corroboration
        A row for each pair of systems.

    Raises
    ------
    PolicyError
        For several measures, a measure without a cutoff, or an invalid argument.
    CranfieldError
        For fewer than two systems or topics, and for other scores that `compare` refuses.

    Notes
    -----
    Source: Moffat and Mackenzie (2024). Topics on which rankings are the same, or measures may
    disagree, are excluded from the sign test. A pair with few remaining topics is not corroborated,
    which does not mean that measures disagree. Unjudged documents count as not relevant.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> evaluation = cf.evaluate([covid.runs[0], covid.runs[20]], covid.qrels, "nDCG@10")
    >>> corroborate(evaluation).rows["better", "worse", "open", "corroborated"].rows()
    [(33, 3, 8, 'yes')]
    """
    judged = getattr(evaluation, "judged", None)
    if not isinstance(judged, JudgedRuns):
        raise PolicyError(f"expected an evaluation of runs, got {type(evaluation).__name__}")
    if len(evaluation) != 1:
        raise PolicyError(f"expected a single measure, got {', '.join(map(str, evaluation))}")
    (measure,) = evaluation.measures
    judged.policies.require_order("innate orders of rankings")
    if measure.cutoff is None:
        raise PolicyError(f"expected a measure with a cutoff, such as {measure}@10, got {measure}")
    comparison = compare(evaluation, **options)
    indices = np.array([judged.systems.index(system) for system in comparison.systems])
    first, second = comparison.first, comparison.second
    grades = judged.grades_by_rank(measure.cutoff)
    orders = order_pairs(grades, indices[first], indices[second])
    n_better, n_worse, n_same, n_open = ((orders == code).sum(axis=0) for code in (1, -1, 0, OPEN))
    pvalues = adjust_pvalues(compute_binomial_pvalues(n_better, n_worse), "holm")
    notes = comparison.notes
    if comparison.mean_of != "mean":
        start = "log ratios of" if comparison.mean_of == "geometric mean" else "of"
        end = ", where rank 1 is the best" if comparison.mean_of == "mean rank" else ""
        notes = (f"the differences shown are {start} {comparison.mean_of}s{end}", *notes)
    agreement = np.where(
        pvalues <= comparison.alpha, comparison.direction * np.sign(n_better - n_worse), 0
    )
    outcomes = pl.Series(np.array(["contradicted", "no", "yes"])[agreement.astype(int) + 1])
    outcomes = outcomes.set(pl.Series(~comparison.is_significant()), None)
    pair_rows = make_pair_frame(comparison.systems, first, second, NAME_COLUMNS)
    counts = n_better, n_worse, n_same, n_open
    columns = comparison.difference, comparison.adjusted_pvalues, *counts, pvalues, outcomes
    rows = append_values(pair_rows, Corroboration.columns, *columns)
    return Corroboration(
        rows,
        str(measure),
        measure.cutoff,
        len(judged.topics),
        comparison.alpha,
        comparison.method,
        notes,
        comparison.seed,
    )
