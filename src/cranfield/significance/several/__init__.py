"""Comparisons over several measures, or several collections."""
