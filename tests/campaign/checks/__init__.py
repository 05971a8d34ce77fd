"""Checks of runs that are handed in."""
