"""Scores from elsewhere: tables of per-topic scores, and what other programs print."""

from cranfield.evaluation.scorefiles.reading import read_scores, read_scores_by_measure

__all__ = ["read_scores", "read_scores_by_measure"]
