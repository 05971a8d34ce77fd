"""Measures of the grades of a ranking, from precision to measures of sampled judgments."""
