"""Measures of sessions of several queries."""
