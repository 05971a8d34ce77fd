"""Readers of per-topic scores: tables, and the output of other programs."""

from cranfield.evaluation.scorefiles.reading import read_scores, read_scores_by_measure

__all__ = ["read_scores", "read_scores_by_measure"]
