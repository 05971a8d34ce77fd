"""Measures of answers, citations and summaries."""
