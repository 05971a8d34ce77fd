"""Judged documents with their gains: those retrieved, and those of the ideal ranking."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.measures.gains import Gain, gain

GAINS_DOC = "gain of a grade: 'linear', 'exponential' (2^g - 1), or a mapping of grades to gains"


def gained(judged: JudgedRuns, gains: Gain) -> Rows:
    """Judged retrieved documents whose gain is not 0, with their gains."""
    if isinstance(gains.kind, str) and gains.kind != "levels":
        # The gain of these is above 0 from grade 1 on, and 0 below.
        return relevant(judged, 1, gains)
    key = ("gained", gains)
    found: Rows | None = judged.views.get(key)
    if found is None:
        rows = judged.judged()
        worth = gains.of(rows.grade)
        found = judged.views[key] = replace(rows, gains=worth).where(worth != 0)
    return found


def relevant(judged: JudgedRuns, rel: int, gains: Gain) -> Rows:
    """Retrieved documents with grade >= rel, with their gains, which may be 0."""
    key = ("relevant", max(rel, judged.judgments.judged_from), gains)
    found: Rows | None = judged.views.get(key)
    if found is None:
        rows = judged.relevant(rel)
        found = judged.views[key] = rows.with_gains(gains.of(rows.grade))
    return found


def ideal(judged: JudgedRuns, gains: Gain, rel: int | None = None) -> Rows:
    """The ideal ranking of each topic: all judged documents with a positive gain, best first.

    With `rel`, documents of a lower grade have no gain.
    """
    judgments = judged.judgments
    key = ("ideal", gains, rel)
    found: Rows | None = judgments.kept.get(key)
    if found is None:
        worth = gains.of(judgments.grade)
        if rel is not None:
            worth[judgments.grade < max(rel, judgments.judged_from)] = 0.0
        found = judgments.kept[key] = judgments.ideal(worth)
    return found


def upto(best: Rows, running: Floats, topic: Ints, rank: Ints) -> tuple[Floats, Ints]:
    """Value of a running total of the ideal ranking at a rank, or at its end; and that rank."""
    length = best.count[:, 0]
    first = np.cumsum(length) - length
    at = np.minimum(rank, length[topic])
    # A topic without an ideal ranking has no value; row 0 stands in and is never used.
    rows = np.where(at > 0, first[topic] + at - 1, 0)
    return np.where(at > 0, running[rows] if running.size else 0.0, 0.0), at


def no_loss(value: Any) -> Gain:
    """Check a gain parameter whose gains must not be negative, for what is a share of a gain."""
    checked = gain(value)
    if isinstance(checked.kind, tuple) and any(worth < 0 for _, worth in checked.kind):
        raise ValueError("a mapping with gains of at least 0")
    return checked
