"""Measures of how exposure is shared among groups of documents."""
