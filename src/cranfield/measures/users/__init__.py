"""Measures that model how a user reads: C/W/L and what goes beyond it."""
