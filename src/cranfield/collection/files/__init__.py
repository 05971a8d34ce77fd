"""Files, mappings and data frames as judgments and runs, and back."""
