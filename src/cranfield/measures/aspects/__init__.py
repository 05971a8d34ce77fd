"""Measures of several aspects of relevance."""
