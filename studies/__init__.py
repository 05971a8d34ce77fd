"""Studies: longer checks and the making of data, one script a question."""
