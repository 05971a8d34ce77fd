"""Averages of topic scores, some of which may be missing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices, Ints
from cranfield.base.errors import CranfieldError, check_choice, check_number
from cranfield.base.text import inflect

FLOOR = 1e-5  # Lower bound of the scores in a geometric mean, as in trec_eval's gm_map


@dataclass(frozen=True, eq=False)
class Averages:
    """Averages over the first axis of an array of scores, the topics; NaN means no score."""

    values: Floats

    def _apply_over_topics(self, function: Callable[..., Floats]) -> Floats:
        """Apply a function to each system's scores; NaN for a system without scores."""
        averages = np.full(self.values.shape[1:], np.nan)
        has_scores = ~np.isnan(self.values).all(axis=0)
        if has_scores.any():
            # A sum too large for floats is infinite.
            with np.errstate(over="ignore"):
                averages[has_scores] = function(self.values[:, has_scores], axis=0)
        return averages

    def count_topics(self) -> Ints:
        """Count the topics with a score; shape (systems, ...)."""
        return np.asarray((~np.isnan(self.values)).sum(axis=0))

    def mean(self) -> Floats:
        """Compute the arithmetic mean over the topics with a score; shape (systems, ...)."""
        return self._apply_over_topics(np.nanmean)

    def median(self) -> Floats:
        """Compute the median over the topics with a score; shape (systems, ...)."""
        return self._apply_over_topics(np.nanmedian)

    def std(self) -> Floats:
        """Compute the standard deviation over topics, with divisor n - 1; NaN for n < 2."""
        counts = self.count_topics()
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            deviations = self.values - self.mean()
            deviation = np.sqrt(np.nansum(deviations**2, axis=0) / (counts - 1))
        return np.where(counts > 1, deviation, np.nan)

    def sum(self) -> Floats:
        """Compute the sum over the topics with a score; shape (systems, ...)."""
        return self._apply_over_topics(np.nansum)

    def geometric_mean(self, floor: float = FLOOR) -> Floats:
        """Compute the geometric mean of max(score, floor); shape (systems, ...)."""
        check_number("floor", floor, 0, float("inf"))
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(self.values, floor))
        return np.exp(Averages(logs).mean())

    def mean_along(self, *axes: int) -> Floats:
        """Compute the arithmetic mean along any axes, ignoring missing scores."""
        with warnings.catch_warnings():
            # The mean of no scores is NaN.
            warnings.simplefilter("ignore", RuntimeWarning)
            return np.asarray(np.nanmean(self.values, axis=axes))


MISSING = ("error", "drop", "zero")
"""Policies for missing scores: raise an error, exclude their topics, or count them as 0."""


def fill_missing(
    tables: Sequence[Floats],
    missing: str,
    describe_cell: Callable[[int, Indices], str],
    hint: str = "",
    suffix: str = "",
) -> tuple[list[Floats], Bools, tuple[str, ...]]:
    """Apply a policy for missing scores; return tables of included topics, their mask, and notes.

    `describe_cell` describes a missing score, given the indices of its table and its cell.
    `hint` ends the error for missing scores, `suffix` the error that no topic has all scores.
    """
    check_choice("missing", missing, MISSING)
    masks = [np.isnan(table) for table in tables]
    n_missing = sum(int(mask.sum()) for mask in masks)
    is_included = np.ones(len(tables[0]), dtype=bool)
    if not n_missing:
        return list(tables), is_included, ()
    is_complete = ~np.any([mask.reshape(len(mask), -1).any(axis=1) for mask in masks], axis=0)
    reason = f"no topic has a score of every system{suffix}"
    if missing == "error":
        table_index = next(k for k, mask in enumerate(masks) if mask.any())
        cell = describe_cell(table_index, np.argwhere(masks[table_index])[0])
        gap_text = f"{cell} ({inflect(n_missing, 'score')} missing)"
        problem, advice = gap_text, "missing='drop' excludes topics that lack a score"
        if not is_complete.any():
            problem = f"{reason}: {gap_text}"
            advice = "all sources must spell topic ids in the same way"
        raise CranfieldError(
            f"{problem}; {advice}, and missing='zero' counts missing scores as 0{hint}"
        )
    if missing == "zero":
        tables = [np.where(mask, 0.0, table) for mask, table in zip(masks, tables, strict=True)]
        return tables, is_included, (f"{inflect(n_missing, 'missing score')} counted as 0",)
    if not is_complete.any():
        raise CranfieldError(reason)
    note = f"{inflect(int((~is_complete).sum()), 'topic')} excluded: no score of some systems"
    return [table[is_complete] for table in tables], is_complete, (note,)
