"""When to stop judging."""
