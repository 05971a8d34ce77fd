"""A comparison: made, described, as tables, and its groups."""
