"""Statements about systems, and which of them a scale allows."""
