"""Comparisons of systems: tests of pairs, groups, equivalence and confidence sets of ranks."""
