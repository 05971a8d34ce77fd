"""Controlled experiments: assignment of units, sample sizes, and effects of variants."""
