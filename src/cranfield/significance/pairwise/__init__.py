"""Significance tests of pairs of systems."""
