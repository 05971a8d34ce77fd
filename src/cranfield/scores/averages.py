"""Averages of topic scores, where some may be missing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import CranfieldError, PolicyError, check_choice
from cranfield.base.text import counted

FLOOR = 1e-5
"""Scores below it count as it in a geometric mean, as in trec_eval's gm_map."""


@dataclass(frozen=True, eq=False)
class Averages:
    """Values summed up along their first axis, for scores that of the topics; NaN is 'no score'."""

    values: Floats

    def _over_topics(self, function: Any) -> Floats:
        """Apply to each system's scores; NaN for a system that has none."""
        out = np.full(self.values.shape[1:], np.nan)
        some = ~np.isnan(self.values).all(axis=0)
        if some.any():
            # A sum that floats cannot hold is infinite.
            with np.errstate(over="ignore"):
                out[some] = function(self.values[:, some], axis=0)
        return out

    def counts(self) -> Any:
        """Topics that have a score; shape (systems,)."""
        return (~np.isnan(self.values)).sum(axis=0)

    def mean(self) -> Floats:
        """Arithmetic mean over the topics that have a score; shape (systems,)."""
        return self._over_topics(np.nanmean)

    def median(self) -> Floats:
        """Median over the topics that have a score; shape (systems,)."""
        return self._over_topics(np.nanmedian)

    def std(self) -> Floats:
        """Sample standard deviation over topics (divisor n - 1); NaN for one topic."""
        counts = self.counts()
        deviations = self.values - self.mean()
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return np.where(
                counts > 1, np.sqrt(np.nansum(deviations**2, axis=0) / (counts - 1)), np.nan
            )

    def sum(self) -> Floats:
        """Sum over topics; shape (systems,)."""
        return self._over_topics(np.nansum)

    def geometric_mean(self, floor: float = FLOOR) -> Floats:
        """Geometric mean, scores below `floor` taken as `floor`; shape (systems,)."""
        if isinstance(floor, bool) or not isinstance(floor, Real) or not floor >= 0:
            raise PolicyError(f"floor is a number from 0, not {floor!r}")
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(self.values, floor))
        return np.exp(Averages(logs).mean())

    def mean_along(self, *axes: int) -> Floats:
        """Arithmetic mean along any axes, of what has a score."""
        with warnings.catch_warnings():
            # What has no score at all has no mean.
            warnings.simplefilter("ignore", RuntimeWarning)
            return np.asarray(np.nanmean(self.values, axis=axes))


MISSING = ("error", "drop", "zero")
"""Refuse, leave out topics that lack a score in any table, or count a missing score as 0."""


def filled(
    tables: Sequence[Floats],
    missing: str,
    cell: Callable[[int, Indices], str],
    hint: str = "",
    by: str = "",
) -> tuple[list[Floats], Bools, tuple[str, ...]]:
    """Apply one policy to all tables; return them, which topics are left, and what was done.

    `cell` describes a place of a table, `hint` says what else can be done about a missing score,
    and `by` of how many measures a topic has to have scores.
    """
    check_choice("missing", missing, MISSING)
    absent = [np.isnan(table) for table in tables]
    number = sum(int(gaps.sum()) for gaps in absent)
    every = np.ones(len(tables[0]), dtype=bool)
    if not number:
        return list(tables), every, ()
    if missing == "error":
        first = next(k for k, gaps in enumerate(absent) if gaps.any())
        raise CranfieldError(
            f"{cell(first, np.argwhere(absent[first])[0])} ({counted(number, 'score')} missing);"
            f" missing='drop' leaves out topics that lack one, 'zero' counts 0{hint}"
        )
    if missing == "zero":
        zeros = [np.where(gaps, 0.0, table) for gaps, table in zip(absent, tables, strict=True)]
        return zeros, every, (f"{counted(number, 'missing score')} counted as 0",)
    kept = ~np.any([gaps.reshape(len(gaps), -1).any(axis=1) for gaps in absent], axis=0)
    if not kept.any():
        raise CranfieldError(f"no topic has a score of every system{by}")
    note = f"{counted(int((~kept).sum()), 'topic')} left out for lack of a score"
    return [table[kept] for table in tables], kept, (note,)
