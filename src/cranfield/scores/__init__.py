"""Scores: values by topic and system, of one measure or of several."""

from cranfield.scores.one_measure import Scores

__all__ = ["Scores"]
