"""Forms of logs, and how each becomes tables."""
