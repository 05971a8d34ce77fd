"""Pools, judgments, scores, sheets and comparisons of a campaign's runs."""
