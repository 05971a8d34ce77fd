"""Scores of runs, sessions and answers by their judgments, or read from files."""
