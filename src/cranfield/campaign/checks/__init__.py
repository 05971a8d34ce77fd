"""Checks of runs and judgments, which report all faults at once."""
