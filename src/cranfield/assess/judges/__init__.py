"""LLM judges: labels, comparison with human labels, and bias."""
