"""Measures of one ranking by its grades: from precision to measures of sampled judgments."""
