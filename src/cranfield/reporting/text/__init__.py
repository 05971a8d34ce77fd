"""Scores, comparisons and scales as text."""
