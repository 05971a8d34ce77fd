"""Systems in order of their overall scores: ranks, and how two such orders agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, to_order
from cranfield.base.checks import check_choice
from cranfield.base.errors import PolicyError
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.correlation import kendall_tau
from cranfield.evaluation.evaluation import score
from cranfield.measures import Measure, parse_measures
from cranfield.scores import Scores

LISTS = ("raw", "condensed")
"""Kinds of ranked lists: as retrieved, and without unjudged documents."""


@dataclass(frozen=True)
class Wanted:
    """What is computed of judged runs: measures on kinds of lists."""

    measures: tuple[Measure, ...]
    lists: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        return [one.label for one in self.measures]

    @property
    def lower(self) -> NDArray[np.bool_]:
        """Whether a low score is the good one, by measure."""
        return np.array([one.info.lower_is_better for one in self.measures])

    @property
    def places(self) -> list[tuple[int, int]]:
        """Index of the list and of the measure of each kind of score, measures first."""
        return [(k, m) for m in range(len(self.measures)) for k in range(len(self.lists))]


def wanted_of(measures: Any, lists: str | Sequence[str], compat: str | None) -> Wanted:
    """Read measures, each once, and check kinds of lists."""
    every = tuple(dict.fromkeys(parse_measures(measures, compat=compat)))
    chosen = (lists,) if isinstance(lists, str) else tuple(dict.fromkeys(lists))
    for one in chosen:
        check_choice("list", one, LISTS)
    if not chosen:
        raise PolicyError(f"no kind of list was given; there are {', '.join(LISTS)}")
    return Wanted(every, chosen)


def overall(parts: Iterable[JudgedRuns], wanted: Wanted) -> Floats:
    """Compute the overall score of each system; shape (lists, measures, systems)."""
    found = [[[one.overall() for one in of] for of in _scored(part, wanted)] for part in parts]
    return np.concatenate([np.array(one) for one in found], axis=-1)


def by_topic(parts: Iterable[JudgedRuns], wanted: Wanted) -> list[Scores]:
    """Score runs, some systems in each part, and put the parts together; in order of places."""
    found = [_scored(part, wanted) for part in parts]
    return [
        replace(
            found[0][k][m],
            values=np.concatenate([part[k][m].values for part in found], axis=1),
            systems=tuple(name for part in found for name in part[k][m].systems),
        )
        for k, m in wanted.places
    ]


def _scored(judged: JudgedRuns, wanted: Wanted) -> list[list[Scores]]:
    views = [judged if kind == "raw" else judged.condensed() for kind in wanted.lists]
    return [[*score(view, wanted.measures).values()] for view in views]


def ranks(values: Floats, others: Floats, lower_is_better: bool = False) -> Floats:
    """Rank of each system by its value among the values of the other systems.

    Systems that differ by rounding only are tied, and tied systems have the best of their ranks.
    Ranks are from 1; NaN is no score, and no rank. While a system is ranked, all others have the
    score that `others` say. All have shape (systems,).

    Examples
    --------
    >>> before = np.array([0.5, 0.4, 0.4, 0.1])
    >>> ranks(before, before).tolist()
    [1.0, 2.0, 2.0, 4.0]
    >>> ranks(np.array([0.3, 0.4, 0.4, 0.1]), before).tolist()
    [3.0, 2.0, 2.0, 4.0]
    """
    sign = -1.0 if lower_is_better else 1.0
    mine, theirs = to_order(sign * values), to_order(sign * others)
    better = theirs > mine[:, None]
    np.fill_diagonal(better, False)
    return np.where(np.isnan(mine), np.nan, 1.0 + better.sum(axis=1))


def agreement(before: Floats, after: Floats) -> float:
    """Kendall's tau-b of two orders of the systems that have a score; NaN where all are tied."""
    known = ~(np.isnan(before) | np.isnan(after))
    rounded = [to_order(one[known]) for one in (before, after)]
    return float(kendall_tau(*rounded))
