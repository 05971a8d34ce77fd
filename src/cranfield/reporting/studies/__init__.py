"""Studies as tables and as text."""
