"""Checks of runs that are submitted."""
