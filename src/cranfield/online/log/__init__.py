"""Query logs: reading them, sessions, and anomalies."""
