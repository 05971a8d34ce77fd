"""Judged runs: rankings turned into grades."""
