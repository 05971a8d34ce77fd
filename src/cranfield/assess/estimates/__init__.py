"""Scores from few judgments of people and many of a machine, with intervals."""
