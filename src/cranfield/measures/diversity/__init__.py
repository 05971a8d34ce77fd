"""Measures of rankings for queries with several intents."""
