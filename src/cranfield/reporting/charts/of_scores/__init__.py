"""Charts of scores and comparisons."""
