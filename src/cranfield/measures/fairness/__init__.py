"""Measures of fairness: the distribution of exposure over documents or groups."""
