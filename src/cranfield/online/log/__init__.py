"""Query logs: reading, sessions, and anomalies."""
