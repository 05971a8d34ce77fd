"""LLM judges, compared with people."""
