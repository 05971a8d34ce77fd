"""Comparisons that hold at every number of topics, however often one looks."""
