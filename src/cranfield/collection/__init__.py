"""Collections: judgments, runs, and judged runs, which are both together."""
