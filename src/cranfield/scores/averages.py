"""Averages of topic scores, some of which may be missing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices, Ints
from cranfield.base.errors import CranfieldError, PolicyError, check_choice
from cranfield.base.text import counted

FLOOR = 1e-5
"""Minimum of scores in a geometric mean, as in trec_eval's gm_map."""


@dataclass(frozen=True, eq=False)
class Averages:
    """Averages of values over their first axis, for scores the topics; NaN is 'no score'."""

    values: Floats

    def _over_topics(self, function: Callable[..., Floats]) -> Floats:
        """Apply a function to each system's scores; NaN for a system without any."""
        out = np.full(self.values.shape[1:], np.nan)
        has_scores = ~np.isnan(self.values).all(axis=0)
        if has_scores.any():
            # A sum too large for floats is infinite.
            with np.errstate(over="ignore"):
                out[has_scores] = function(self.values[:, has_scores], axis=0)
        return out

    def counts(self) -> Ints:
        """Number of topics with a score; shape (systems,)."""
        return np.asarray((~np.isnan(self.values)).sum(axis=0))

    def mean(self) -> Floats:
        """Arithmetic mean over the topics with a score; shape (systems,)."""
        return self._over_topics(np.nanmean)

    def median(self) -> Floats:
        """Median over the topics with a score; shape (systems,)."""
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
            raise PolicyError(f"floor must be a number from 0, got {floor!r}")
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(self.values, floor))
        return np.exp(Averages(logs).mean())

    def mean_along(self, *axes: int) -> Floats:
        """Arithmetic mean along any axes, ignoring missing scores."""
        with warnings.catch_warnings():
            # The mean of no scores is NaN.
            warnings.simplefilter("ignore", RuntimeWarning)
            return np.asarray(np.nanmean(self.values, axis=axes))


MISSING = ("error", "drop", "zero")
"""Policies for missing scores: refuse, exclude topics that lack any, or count 0."""


def fill_missing(
    tables: Sequence[Floats],
    missing: str,
    cell: Callable[[int, Indices], str],
    hint: str = "",
    suffix: str = "",
) -> tuple[list[Floats], Bools, tuple[str, ...]]:
    """Apply a policy to all tables; return them, the mask of their topics, and notes.

    `cell` describes a cell of a table, `hint` ends the message on a missing score, and `suffix`
    that on topics without scores.
    """
    check_choice("missing", missing, MISSING)
    gaps_of = [np.isnan(table) for table in tables]
    total = sum(int(gaps.sum()) for gaps in gaps_of)
    all_topics = np.ones(len(tables[0]), dtype=bool)
    if not total:
        return list(tables), all_topics, ()
    if missing == "error":
        first = next(k for k, gaps in enumerate(gaps_of) if gaps.any())
        raise CranfieldError(
            f"{cell(first, np.argwhere(gaps_of[first])[0])} ({counted(total, 'score')} missing);"
            f" missing='drop' excludes topics that lack one, missing='zero' counts 0{hint}"
        )
    if missing == "zero":
        zeros = [np.where(gaps, 0.0, table) for gaps, table in zip(gaps_of, tables, strict=True)]
        return zeros, all_topics, (f"{counted(total, 'missing score')} counted as 0",)
    is_complete = ~np.any([gaps.reshape(len(gaps), -1).any(axis=1) for gaps in gaps_of], axis=0)
    if not is_complete.any():
        raise CranfieldError(f"no topic has a score of every system{suffix}")
    note = f"{counted(int((~is_complete).sum()), 'topic')} excluded: no score"
    return [table[is_complete] for table in tables], is_complete, (note,)
