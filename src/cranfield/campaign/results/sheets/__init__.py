"""Sheets of single runs, the overview of a task, and what teams get."""
