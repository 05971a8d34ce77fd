"""Preferences between rankings, which compare systems without scores and assume no scale."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices, Ints
from cranfield.base.errors import CranfieldError, PolicyError, check_choice, check_whole
from cranfield.base.kinds import check_arguments
from cranfield.base.text import counted
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.result import Column, Columns, TableResult
from cranfield.scores.one_measure import place_of
from cranfield.significance.corrections.pvalue_corrections import adjust_pvalues
from cranfield.significance.pairwise.ranks import binomial_pvalues

NOT_RETRIEVED = np.inf
"""Rank of a relevant document that a system did not retrieve."""

_ROUNDING = 1e-12
"""Means of signs below it are 0 within rounding."""

Preference = Callable[[Floats, Floats], Floats]
"""Compares the ranks of relevant documents, shape (pairs, documents): positive for the first."""


def _by_level(weights: Callable[[Floats], Floats]) -> Preference:
    """Return a preference that sums over levels of recall with these weights."""

    def prefer(first: Floats, second: Floats) -> Floats:
        weight = weights(np.arange(1.0, first.shape[1] + 1))
        mean = _signs(first, second) @ weight / weight.sum()
        return np.where(np.abs(mean) < _ROUNDING, 0.0, mean)

    return prefer


def _signs(first: Floats, second: Floats) -> Floats:
    """Return 1 where the first rank is better, -1 where the second is; infinities are equal."""
    return (first < second).astype(float) - (first > second)


def _at_first_difference(first: Floats, second: Floats) -> Floats:
    signs = _signs(first, second)
    return np.asarray(signs[np.arange(len(signs)), (signs != 0).argmax(axis=1)])


def _at_last_difference(first: Floats, second: Floats) -> Floats:
    return _at_first_difference(first[:, ::-1], second[:, ::-1])


def _difference_of_reciprocals(first: Floats, second: Floats) -> Floats:
    rows = np.arange(len(first))
    level = (first != second).argmax(axis=1)
    return np.asarray(1 / first[rows, level] - 1 / second[rows, level])


PREFERENCES: dict[str, Preference] = {
    "RPP": _by_level(np.ones_like),
    "RPP-inverse": _by_level(lambda level: 1 / level),
    "RPP-DCG": _by_level(lambda level: 1 / np.log2(level + 1)),
    "lexiprecision": _at_first_difference,
    "lexirecall": _at_last_difference,
    "rr-lexiprecision": _difference_of_reciprocals,
}
"""Preferences by name."""

DEFAULT = ("RPP", "lexiprecision", "lexirecall", "innate@10")

OPEN = 2
"""Code of two rankings without an innate order."""


def innate_order(first: Ints, second: Ints) -> Ints:
    """Order two rankings where all measures agree, from grades by rank, shape (pairs, ranks).

    1 where the first is better, -1 where the second is, 0 where both are the same, else `OPEN`.
    """
    above = np.ones(len(first), dtype=bool)
    below = above.copy()
    for grade in range(1, int(max(first.max(initial=0), second.max(initial=0))) + 1):
        lead = np.cumsum((first >= grade).astype(np.int64) - (second >= grade), axis=1)
        above &= (lead >= 0).all(axis=1)
        below &= (lead <= 0).all(axis=1)
    return np.where(above | below, above.astype(np.int64) - below, OPEN)


def _depth_of(name: str) -> int | None:
    """Return the depth of an innate order, such as innate@10; None for other preferences."""
    match = re.fullmatch(r"innate@([1-9]\d{0,3})", name)
    return int(match[1]) if match else None


@dataclass(frozen=True, eq=False, repr=False)
class PreferenceComparison(TableResult):
    """Preferences between systems, pair by pair; made by :func:`compare_preferences`.

    Attributes
    ----------
    topics
        Number of topics with a relevant document.
    rel
        Lowest relevant grade.
    correction
        Correction for the pairs of each preference.
    notes
        Topics that are excluded, and runs of different depths.
    """

    name: ClassVar[str] = "preferences"
    columns: ClassVar[Columns] = {
        "preference": Column("Preference.", key=True),
        "system": Column("First system of the pair.", key=True),
        "other": Column("Second system.", key=True),
        "mean": Column("Mean preference over topics, from -1 to 1; above 0 for the first system."),
        "wins": Column("Number of topics on which the first system is preferred.", 0),
        "losses": Column("Number of topics on which the second one is preferred.", 0),
        "ties": Column("Number of topics without a preference.", 0),
        "p": Column("p-value of the exact two-sided sign test of wins and losses.", pvalue=True),
        "adjusted p": Column("The same, corrected for the pairs of the preference.", pvalue=True),
    }

    topics: int
    rel: int
    correction: str
    notes: tuple[str, ...] = ()

    def heading(self) -> list[str]:
        """Return one line: the number of topics, the lowest relevant grade and the test."""
        return [
            f"preferences between rankings: {counted(self.topics, 'topic')}, grades from"
            f" {self.rel}; sign test, {self.correction}"
        ]


def compare_preferences(
    judged: JudgedRuns,
    preferences: str | Iterable[str] = DEFAULT,
    *,
    rel: int = 1,
    baseline: str | None = None,
    correction: str = "holm",
) -> PreferenceComparison:
    r"""Compare systems by preferences between their rankings of each topic.

    A preference looks at the ranks of the relevant documents, the first, the second and so on, in
    two rankings :math:`x` and :math:`y` of a topic with m relevant documents. It gives no scores,
    so no scale is assumed. Documents that are not retrieved have rank infinity.

    .. math:: RPP(x, y) = \sum_{i=1}^{m} w_i \, \mathrm{sgn}(y_i - x_i), \quad \sum_i w_i = 1

    - `RPP`, recall-paired preference: all levels of recall weigh the same; in `RPP-inverse`
      :math:`1/i`, in `RPP-DCG` :math:`1/\log_2(i + 1)` before division by their sum.
    - `lexiprecision`: 1 or -1, decided at the lowest level i where the ranks differ, 0 if they
      never do. `rr-lexiprecision` is the difference of reciprocal ranks there.
    - `lexirecall`: the same, decided at the highest level where the ranks differ.
    - `innate@10`: 1 or -1 where each measure that rewards a more relevant document and a swap of it
      upwards agrees on the first ten ranks, whatever the measure; 0 where rankings are the same or
      measures may disagree (see :func:`cranfield.meta.innate_orders`).

    Parameters
    ----------
    judged
        The outcome of :func:`cranfield.judge`, of at least two systems.
    preferences
        Names of preferences.
    rel
        Lowest relevant grade.
    baseline
        Compare the other systems with this one only.
    correction
        Correction for the pairs of each preference: `none`, `bonferroni`, `sidak`, `holm`,
        `hommel`, `bh` or `by`.

    Returns
    -------
    PreferenceComparison
        A row for each preference and pair of systems.

    Raises
    ------
    PolicyError
        For arguments other than these, or an unknown baseline.
    CranfieldError
        For fewer than two systems, or no topic with a relevant document.

    Notes
    -----
    Sources: RPP, Diaz and Ferraro (2022); lexiprecision, Diaz (2023); lexirecall, Diaz, Ekstrand
    and Mitra (2025); the sign test of innate orders beside one measure, Moffat and Mackenzie
    (2024). The definitions of the first three follow the authors' program, with binary relevance
    from `rel` on; innate orders look at all grades. Topics without a relevant document are
    excluded.

    RPP is not transitive, nor is any mean over topics: more than two systems are not ranked by it.
    A run that is longer is preferred where the other one has ended, so compare runs of one depth.
    The sign test assumes that topics are drawn independently; it ignores the size of preferences.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> print(compare_preferences(cf.judge(covid.runs[:2], covid.qrels)))
    preferences between rankings: 50 topics, grades from 1; sign test, holm
    <BLANKLINE>
    preference     system         other              mean  wins  losses  ties       p  adjusted p
    RPP            UPrrf93-wt-r5  UPrrf102-wt-r5  -0.0027    21      27     2  0.4709      0.4709
    lexiprecision  UPrrf93-wt-r5  UPrrf102-wt-r5  -0.2800    18      32     0  0.0649      0.0649
    lexirecall     UPrrf93-wt-r5  UPrrf102-wt-r5  -0.0400    24      26     0  0.8877      0.8877
    innate@10      UPrrf93-wt-r5  UPrrf102-wt-r5  -0.0600    10      13    27  0.6776      0.6776
    """
    check_arguments(compare_preferences, locals())
    if not isinstance(judged, JudgedRuns):
        raise PolicyError(f"expected judged runs of judge(), got {type(judged).__name__}")
    judged.policies.require_order("preferences between rankings")
    check_whole("rel", rel, 1)
    names = [preferences] if isinstance(preferences, str) else list(dict.fromkeys(preferences))
    for name in names:
        if _depth_of(name) is None:
            check_choice("preference", name, (*PREFERENCES, "innate@10"))
    systems = judged.systems
    if len(systems) < 2:
        raise CranfieldError(f"preferences require at least two systems, got {len(systems)}")
    first, second = np.triu_indices(len(systems), 1)
    if baseline is not None:
        place = place_of(baseline, systems)
        first = np.flatnonzero(np.arange(len(systems)) != place)
        second = np.full_like(first, place)
    sizes = judged.recall_base(rel)[:, 0]
    if not sizes.any():
        raise CranfieldError(f"no topic has a relevant document (grade {rel} or higher)")
    frames = [
        _frame(
            name, _values(judged, name, (first, second), rel), systems, (first, second), correction
        )
        for name in names
    ]
    topics = int((sizes > 0).sum())
    notes = _notes(judged, topics, rel)
    return PreferenceComparison(pl.concat(frames), topics, int(rel), correction, notes)


def _values(judged: JudgedRuns, name: str, pairs: tuple[Indices, Indices], rel: int) -> Floats:
    """Return one preference for each topic with relevant documents; shape (topics, pairs)."""
    first, second = pairs
    depth = _depth_of(name)
    if depth is None:
        prefer = PREFERENCES[name]
        ranks = _ranks_by_topic(judged, rel)
        return np.array([prefer(topic[first], topic[second]) for topic in ranks])
    grades = judged.grades_by_rank(depth)[judged.recall_base(rel)[:, 0] > 0]
    orders = np.array([innate_order(topic[first], topic[second]) for topic in grades])
    return np.where(orders == OPEN, 0.0, orders)


def _ranks_by_topic(judged: JudgedRuns, rel: int) -> Iterator[Floats]:
    """Yield, for each topic with relevant documents, their ranks in each system, in rising order.

    Shape (systems, relevant documents of the topic).
    """
    rows = judged.relevant(rel)
    sizes = judged.recall_base(rel)[:, 0]
    topics, systems = judged.shape
    for topic in np.flatnonzero(sizes):
        ranks = np.full((systems, sizes[topic]), NOT_RETRIEVED)
        indices = np.flatnonzero(rows.topic == topic)
        ranks[rows.cell[indices] // topics, rows.seen[indices] - 1] = rows.rank[indices]
        yield ranks


def _frame(
    name: str,
    values: Floats,
    systems: Sequence[str],
    pairs: tuple[Indices, Indices],
    correction: str,
) -> pl.DataFrame:
    """Return the rows of one preference; values have shape (topics, pairs)."""
    wins, losses = (values > 0).sum(axis=0), (values < 0).sum(axis=0)
    pvalues = binomial_pvalues(wins, losses)
    labels = pl.Series(systems, dtype=pl.String)
    columns: dict[str, Any] = {
        "preference": pl.Series([name] * len(wins), dtype=pl.String),
        "system": labels[pairs[0]],
        "other": labels[pairs[1]],
        "mean": values.mean(axis=0),
        "wins": wins,
        "losses": losses,
        "ties": len(values) - wins - losses,
        "p": pvalues,
        "adjusted p": adjust_pvalues(pvalues, correction),
    }
    return pl.DataFrame(columns)


def _notes(judged: JudgedRuns, topics: int, rel: int) -> tuple[str, ...]:
    notes = []
    if n_excluded := len(judged.topics) - topics:
        notes.append(f"{counted(n_excluded, 'topic')} without a relevant document excluded")
    depths = judged.retrieved.max(axis=0)
    if depths.min() < depths.max():
        notes.append(
            f"runs have different depths ({depths.min():,} to {depths.max():,} documents); below"
            " the end of the shorter one the longer one is preferred: depth= cuts all at one depth"
        )
    return tuple(notes)
