"""Judged documents with their gains: those retrieved, and those of the ideal ranking."""

from __future__ import annotations

from cranfield.collection.judged import JudgedRuns, Rows
from cranfield.measures.gains import Gain

GAINS_DOC = "gain of a grade: 'linear', 'exponential' (2^g - 1), or a mapping of grades to gains"


def gained(judged: JudgedRuns, gains: Gain) -> Rows:
    """Judged retrieved documents whose gain is not 0, with their gains."""
    rows = judged.judged()
    worth = gains.of(rows.grade)
    chosen = worth != 0
    kept = rows.where(chosen)
    return Rows(kept.cell, kept.rank, kept.grade, kept.shape, worth[chosen])


def ideal(judged: JudgedRuns, gains: Gain) -> Rows:
    """The ideal ranking of each topic: all judged documents with a positive gain, best first."""
    return judged.judgments.ideal(gains.of(judged.judgments.grade))
