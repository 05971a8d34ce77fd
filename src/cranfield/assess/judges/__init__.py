"""LLM judges: labels, comparison with people, and bias."""
