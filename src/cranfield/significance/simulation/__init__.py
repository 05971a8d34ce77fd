"""Scores of topics that were never judged: populations whose true means are known."""
