"""Images: the set of values that a measure takes on all runs of a length."""
